"""Dumps of several hosts or files: ``HOST: `` or ``FILE:`` before each line, or a line before each.

So write ``pdsh``, ``ansible`` and ``grep -r``; ``ansible`` and ``head`` write a line for
each as well. The lines of each are read as a file of its own.
"""

import io
import re
from collections.abc import Callable, Iterator
from typing import BinaryIO

from heatsoak.errors import UsageError
from heatsoak.importer.source import MAX_RUNS, Source

_PREFIX = re.compile(r"([A-Za-z./~][\w./@~-]{0,199}):([ \t]?)")
#: What stands above the lines of a host or file: ansible's, head's and tail's.
_HEAD = re.compile(
    r"(?P<ansible>\S{1,200}) \| [A-Z!]{2,20}(?: \| rc=-?\d{1,3})? >>|==> (?P<head>.{1,200}) <=="
)
#: Drives that a tool names before each line; readers know them.
_DRIVE = re.compile(r"/dev/.*|nvme\d.*|[shv]d[a-z]+\d*")
#: A host has more lines than this; other words before a colon name what follows.
_MIN_LINES_EACH = 4


def parts_of(source: Source) -> tuple[dict[str, Source], bool]:
    """Return a source for each host or file that is named before its lines; none without.

    And whether the names are of hosts: `pdsh` writes a blank behind each, and `grep` none.
    """
    try:
        lines = [line for line in source.head_lines if line.strip()]
    except UsageError:  # no text
        return {}, False
    head = _HEAD.fullmatch(lines[0].strip()) if lines else None
    labelled = _prefixed if head is None else _under_heads
    if head is None and not _are_prefixed(lines):
        return {}, False
    names: dict[str, None] = {}
    for name, _ in labelled(source):
        names[name] = None
        if len(names) > MAX_RUNS:
            return {}, False
    are_hosts = (
        head["ansible"] is not None
        if head
        else all(match[2] for line in lines if (match := _PREFIX.match(line)))
    )
    return {
        name: Source(f"{source.name} ({name})", _opener(source, name, labelled)) for name in names
    }, are_hosts


def _are_prefixed(lines: list[str]) -> bool:
    names = set()
    for line in lines:
        match = _PREFIX.match(line)
        if match is None or _DRIVE.fullmatch(match[1]):
            return False
        names.add(match[1])
    return bool(names) and len(lines) >= _MIN_LINES_EACH * len(names)


def _prefixed(source: Source) -> Iterator[tuple[str, str]]:
    """Each line without the name before it, and that name."""
    for _, line in source.lines():
        if (match := _PREFIX.match(line)) is not None:
            yield match[1], line[match.end() :]


def _under_heads(source: Source) -> Iterator[tuple[str, str]]:
    """Each line, and the name in the head above it."""
    name = ""
    for _, line in source.lines():
        if (head := _HEAD.fullmatch(line.strip()[:300])) is not None:
            name = head["ansible"] or head["head"]
        else:
            yield name, line


def _opener(
    source: Source, name: str, labelled: Callable[[Source], Iterator[tuple[str, str]]]
) -> Callable[[], BinaryIO]:
    def opened() -> BinaryIO:
        data = io.BytesIO()
        for whose, line in labelled(source):
            if whose == name:
                data.write(line.encode("utf-8", "replace") + b"\n")
        source.keep(data.tell())
        data.seek(0)
        return data

    return opened
