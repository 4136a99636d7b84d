"""sysstat's JSON, whole or cut off."""

from collections.abc import Iterator
from typing import Any

from pydantic_core import from_json

from heatsoak.importer import sysstat
from heatsoak.importer.formats.iostat.reports import Reader
from heatsoak.importer.source import Source


def take_json(source: Source, reader: Reader) -> None:
    """`-o JSON`: by lines as iostat writes them, however it was cut; else whole documents."""
    if not any(
        line.lstrip().startswith('{"disk_device"') and line.rstrip(" ,").endswith("}")
        for line in source.head_lines
    ):
        for document in source.documents():
            _take_document(reader, document.value)
        return
    bad, first_bad = 0, 0
    after_statistics = False
    for number, line in source.lines():
        body = line.strip()
        if body.startswith('{"disk_device"'):
            try:
                value = from_json(body.rstrip(","))
            except ValueError:
                bad, first_bad = bad + 1, first_bad or number
                continue
            _take_disk(reader, value)
        elif body.startswith('"disk"'):
            reader.header(("disk",))
        elif body.startswith('"timestamp"'):
            reader.stamp(sysstat.stamp(body.partition(":")[2].strip(' ",')))
        elif body.startswith('"avg-cpu"'):
            try:
                _take_cpu(reader, from_json(body.partition(":")[2].rstrip(" ,")))
            except ValueError:
                bad, first_bad = bad + 1, first_bad or number
        elif body.startswith('"date"'):
            reader.begin_call(sysstat.stamp(body.partition(":")[2].strip(' ",')))
        elif body.startswith('"statistics"'):
            after_statistics = True
            continue
        elif not body and after_statistics:
            reader.call.skipped_boot = True
        after_statistics = False
    if bad:
        source.remark(f"{bad} lines could not be read, the first is line {first_bad}")


def _take_document(reader: Reader, value: Any) -> None:
    for host in _items(_entry(_entry(value, "sysstat"), "hosts")):
        date = _entry(host, "date")
        reader.begin_call(sysstat.stamp(date) if isinstance(date, str) else "")
        for report in _items(_entry(host, "statistics")):
            time = _entry(report, "timestamp")
            reader.begin_report(sysstat.stamp(time) if isinstance(time, str) else "")
            _take_cpu(reader, _entry(report, "avg-cpu"))
            reader.header(("disk",))
            for disk in _items(_entry(report, "disk")):
                _take_disk(reader, disk)


def _entry(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _items(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        yield from value


def _take_cpu(reader: Reader, value: Any) -> None:
    idle, waiting = (sysstat.json_number(_entry(value, key)) for key in ("idle", "iowait"))
    if idle == idle:
        reader.cpu(idle + (0.0 if waiting != waiting else waiting))


def _take_disk(reader: Reader, value: Any) -> None:
    name = _entry(value, "disk_device")
    if not isinstance(name, str) or not name:
        return
    values = {}
    for key, number in value.items():
        column = sysstat.COLUMNS.get("%util" if key == "util" else key)
        if column is not None and column[0] not in values:
            values[column[0]] = sysstat.json_number(number) * column[1]
            if key.endswith("/s"):
                reader.headers[key] = None
    if "read_lat_us" in values:
        values.pop("lat_us", None)
    if not reader.call.stamps:
        reader.begin_report()
    reader.row(name, list(values.items()))
    for total in ("kB_read", "kB_wrtn", "MB_read", "MB_wrtn"):
        if total in value:
            reader.length(
                sysstat.json_number(value[total]), sysstat.json_number(value.get(f"{total}/s"))
            )
