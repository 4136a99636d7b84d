"""fio's terse output (``--minimal``): one line of means, which its JSON tells better."""

import re

from heatsoak.importer.formats.base import Format
from heatsoak.importer.log import Log, Options
from heatsoak.importer.source import Source

#: The version of the format, fio's own, then the job.
_LINE = re.compile(r"^[2-5];fio-\d[^;]*;")


def _recognises(source: Source) -> bool:
    lines = source.head.lstrip()[:100].decode("latin-1").splitlines()
    return bool(lines) and _LINE.match(lines[0]) is not None


def _read(source: Source, _: Options) -> list[Log]:
    raise source.error(
        "is fio's terse output, which is not read: its JSON tells the same, by "
        "--output-format=json, and as a series with --status-interval=1"
    )


FORMAT = Format("fio-terse", "fio's terse output", _recognises, _read, is_read=False)
