"""Which layout of `iostat`'s a file has, and who reads it."""

from typing import Literal

from heatsoak.importer.formats.base import Format
from heatsoak.importer.formats.iostat.documents import take_json
from heatsoak.importer.formats.iostat.reports import Reader
from heatsoak.importer.formats.iostat.runs import logs_of
from heatsoak.importer.formats.iostat.side_by_side import disks_of, take_bsd
from heatsoak.importer.formats.iostat.text import table_of, take_text, unprefixed
from heatsoak.importer.log import Log, Options
from heatsoak.importer.source import Source


def _recognises(source: Source) -> bool:
    return _kind(source) is not None


def _kind(source: Source) -> Literal["text", "json", "bsd"] | None:
    before = ""
    for line in source.head_lines:
        if '"disk_device"' in line:
            return "json"
        if "/s" in line or "%b" in line or "%util" in line:
            words = unprefixed(line.split())
            if len(words) > 2 and table_of(words) is not None:
                return "text"
            if "KB/t" in line and disks_of(before, line):
                return "bsd"
        elif "avg-cpu:" in line and "%iowait" in line:
            return "text"
        if line.strip():
            before = line
    return None


def _read(source: Source, options: Options) -> list[Log]:
    reader = Reader(source)
    kind = _kind(source)
    if kind == "json":
        take_json(source, reader)
    elif kind == "bsd":
        take_bsd(source, reader)
    else:
        take_text(source, reader)
    if not reader.devices.rows:
        raise source.error("holds no devices: only 'iostat' with devices (without -c) can be read")
    return logs_of(source, reader, options)


FORMAT = Format("iostat", "iostat", _recognises, _read)
