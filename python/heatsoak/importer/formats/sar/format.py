"""Which of `sar`'s and `sadf`'s outputs a file is, and who reads it."""

from typing import Literal

from heatsoak.importer.formats.base import Format
from heatsoak.importer.formats.sar.reports import Reader, table_of
from heatsoak.importer.formats.sar.sadf_json import take_json
from heatsoak.importer.formats.sar.sadf_text import pair_of, take_csv, take_pairs
from heatsoak.importer.formats.sar.text import TIME, take_text
from heatsoak.importer.log import Log, Options
from heatsoak.importer.source import Source

#: The first two bytes of a binary file, and what it is called.
_MAGIC = (b"\x96\xd5", b"\xd5\x96")


def _recognises(source: Source) -> bool:
    return _is_binary(source) or _kind(source) is not None


def _is_binary(source: Source) -> bool:
    return source.head[:2] in _MAGIC and b"\x21" in source.head[2:4]


def _kind(source: Source) -> Literal["text", "csv", "pairs", "json"] | None:
    for line in source.head_lines:
        if line.startswith("# hostname;interval;timestamp"):
            return "csv"
        if '"disk-device"' in line or '"file-date"' in line:
            return "json"
        if "\t" in line and pair_of(line.split("\t")) is not None:
            return "pairs"
        if ("tps" in line or "%idle" in line) and "/s" not in line[:6]:
            match = TIME.match(line)
            if match is not None and table_of(match.group(6).split()) is not None:
                return "text"
    return None


def _read(source: Source, options: Options) -> list[Log]:
    if _is_binary(source):
        raise source.error(
            "is sar's binary file: 'sadf -d FILE -- -d -u > FILE.csv' makes one to import"
        )
    reader = Reader(source)
    kind = _kind(source)
    if kind == "csv":
        logs = take_csv(source, reader, options)
    elif kind == "pairs":
        logs = take_pairs(source, reader, options)
    elif kind == "json":
        logs = take_json(source, reader, options)
    else:
        logs = take_text(source, reader, options)
    return logs


FORMAT = Format("sar", "sar", _recognises, _read)
