"""`sadf`'s JSON (`-j`), whole or cut off."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from pydantic_core import from_json

from heatsoak.importer import sysstat
from heatsoak.importer.formats.sar.reports import ALL, Reader, sensor_name
from heatsoak.importer.formats.sar.runs import logs_of_words
from heatsoak.importer.log import Log, Options
from heatsoak.importer.source import Source

#: JSON's names, where they are not the headers of the text.
_JSON_NAMES = {"rkB": "rkB/s", "wkB": "wkB/s", "rd_sec": "rd_sec/s", "wr_sec": "wr_sec/s",
               "util-percent": "%util", "util": "%util"}  # fmt: skip


def take_json(source: Source, reader: Reader, options: Options) -> list[Log]:
    """Take JSON by lines as sadf writes them, however it was cut; else whole documents."""
    by_lines = any(
        line.lstrip().startswith('"timestamp"') and line.rstrip(" ,").endswith("}")
        for line in source.head_lines
    )
    if not by_lines:
        for document in source.documents():
            for host in _items(_entry(_entry(document.value, "sysstat"), "hosts")):
                for report in _items(_entry(host, "statistics")):
                    _take_report(reader, report)
                for restart in _items(_entry(host, "restarts")):
                    time, _ = _json_time(_entry(restart, "boot"))
                    if time is not None:
                        reader.restarts.append(time)
        return logs_of_words(source, reader, options)
    parts: dict[str, Any] = {}
    for number, line in source.lines():
        body = line.strip().rstrip(",")
        key = body.partition(":")[0]
        if not body.endswith("}") or not body.startswith(('"timestamp"', '"io"', '{"', '"boot"')):
            continue
        try:
            value = from_json(body if body[0] == "{" else body.partition(":")[2])
        except ValueError:
            reader.unread(number)
            continue
        if key == '"timestamp"':
            _take_report(reader, parts)
            parts = {"timestamp": value, "disk": [], "cpu-load": [], "temperature": []}
        elif key == '"io"':
            parts["io"] = value
        elif isinstance(value, dict):
            for name, kind in (
                ("disk-device", "disk"),
                ("cpu", "cpu-load"),
                ("degC", "temperature"),
            ):
                if name in value and kind in parts:
                    parts[kind].append(value)
            time, _ = _json_time(_entry(value, "boot"))
            if time is not None:
                reader.restarts.append(time)
    _take_report(reader, parts)
    return logs_of_words(source, reader, options)


def _take_report(reader: Reader, report: Any) -> None:
    time, lasted_s = _json_time(_entry(report, "timestamp"))
    if time is None:
        return
    for disk in _items(_entry(report, "disk")):
        name = _entry(disk, "disk-device")
        if isinstance(name, str) and name:
            _take_values(reader, name, disk, reader.number(time, lasted_s))
    io = _entry(report, "io")
    if isinstance(io, dict):
        flat = {
            f"{key}/s" if key in ("bread", "bwrtn") else key: value
            for part in ("io-reads", "io-writes")
            for key, value in (io[part].items() if isinstance(io.get(part), dict) else ())
        }
        _take_values(reader, ALL, flat, reader.number(time, lasted_s))
    for load in (*_items(_entry(report, "cpu-load")), *_items(_entry(report, "cpu-load-all"))):
        idle = sysstat.json_number(_entry(load, "idle"))
        if _entry(load, "cpu") in ("all", "-1") and idle == idle:
            waiting = sysstat.json_number(_entry(load, "iowait"))
            busy = 100.0 - idle - (0.0 if waiting != waiting else waiting)
            reader.share("cpu_pct", reader.number(time, lasted_s), busy)
    power = _entry(report, "power-management")
    for sensor in (*_items(_entry(report, "temperature")), *_items(_entry(power, "temperature"))):
        degrees = sysstat.json_number(_entry(sensor, "degC"))
        item, device = _entry(sensor, "number"), _entry(sensor, "device")
        if degrees == degrees and isinstance(item, (int, str)):
            name = sensor_name(str(item)[:20], str(device)[:100])
            reader.share(f"temp_c.{name}", reader.number(time, lasted_s), degrees)


def _take_values(reader: Reader, device: str, values: dict[str, Any], number: int) -> None:
    taken: dict[str, float] = {}
    for key in ("rkB", "wkB", *values):  # before the sectors that newer versions keep beside them
        header = _JSON_NAMES.get(key, key)
        column = sysstat.COLUMNS.get(header)
        if column is not None and key in values and column[0] not in taken:
            taken[column[0]] = sysstat.json_number(values[key]) * column[1]
            reader.headers[header] = None
    if taken:
        reader.devices.add(device, number, taken.items())


def _json_time(value: Any) -> tuple[str | None, float]:
    date, time = _entry(value, "date"), _entry(value, "time")
    if not isinstance(date, str) or not isinstance(time, str):
        return None, np.nan
    zone = " UTC" if _entry(value, "utc") == 1 else ""
    return f"{date} {time}{zone}", sysstat.json_number(_entry(value, "interval"))


def _entry(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _items(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list) else ()
