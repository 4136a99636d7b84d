"""Dumps of several hosts or files: ``HOST: `` or ``FILE:`` before each line.

So write ``pdsh``, ``ansible`` and ``grep -r``. The lines of each are read as a file of its own.
"""

import io
import re
from collections.abc import Callable
from typing import BinaryIO

from heatsoak.errors import UsageError
from heatsoak.importer.source import MAX_RUNS, Source

_PREFIX = re.compile(r"([A-Za-z./~][\w./@~-]{0,199}):[ \t]?")
#: Drives that a tool names before each line; readers know them.
_DRIVE = re.compile(r"/dev/.*|nvme\d.*|[shv]d[a-z]+\d*")
#: A host has more lines than this; other words before a colon name what follows.
_MIN_LINES_EACH = 4


def parts_of(source: Source) -> list[Source]:
    """Return a source for each host or file whose name stands before each line; none without."""
    try:
        lines = [line for line in source.head_lines if line.strip()]
    except UsageError:  # no text
        return []
    names: dict[str, None] = {}
    for line in lines:
        match = _PREFIX.match(line)
        if match is None or _DRIVE.fullmatch(match[1]):
            return []
        names[match[1]] = None
    if len(lines) < _MIN_LINES_EACH * len(names) or not names:
        return []
    for _, line in source.lines():
        if (match := _PREFIX.match(line)) is not None:
            names[match[1]] = None
        if len(names) > MAX_RUNS:
            return []
    return [Source(f"{source.name} ({name})", _opener(source, name)) for name in names]


def _opener(source: Source, name: str) -> Callable[[], BinaryIO]:
    def opened() -> BinaryIO:
        data = io.BytesIO()
        for _, line in source.lines():
            if (match := _PREFIX.match(line)) is not None and match[1] == name:
                data.write(line[match.end() :].encode("utf-8", "replace") + b"\n")
        source.keep(data.tell())
        data.seek(0)
        return data

    return opened
