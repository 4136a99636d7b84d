"""Long tables, a row for each value: the name of a series, a time and a value.

Monitoring systems export so. The series become columns, and rows of the same time one row.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from heatsoak.importer.source import Source
from heatsoak.importer.tables.derived import total
from heatsoak.importer.tables.headers import meaning
from heatsoak.importer.tables.layout import Layout, split
from heatsoak.importer.timestamps import read_times

#: What a value takes in memory.
_VALUE_BYTES = 200
#: Headers of the columns of a long table; of several that may name the series, the first.
_SERIES = ("_field", "field", "series", "metric", "counter", "quantity", "measurement",
           "_measurement", "sensor", "parameter", "variable", "name")  # fmt: skip
_VALUE = ("value", "_value", "val", "wert", "valeur", "valor")
_TIME = ("time", "_time", "timestamp", "date", "datetime", "ts", "t")
#: Labels that say which drive, and which host, a series is of.
_DRIVE = ("device", "disk", "drive", "dev", "name", "chip", "serial_number", "serial", "model")
_HOST = ("instance", "host", "hostname", "node")
#: A series as Prometheus and Grafana write it: ``node_disk_io_now{device="sda"}``.
_LABELLED = re.compile(r"([^{]*)\{(.*)\}\s*$")
_LABEL = re.compile(r'(\w+)\s*[=:]\s*"?([^",}]*)"?')
#: The kernel's sensors of an NVMe drive: the first is the composite one.
_HWMON = re.compile(r"temp(\d+)")
#: What exporters put before the names of quantities.
_EXPORTER = re.compile(r"^(?:node|smartctl|windows|telegraf)_(?:(?:hwmon|nvme|disk|device)_)*")
_NAMESPACE = re.compile(r"(nvme\d+)n\d+")


class Reading(NamedTuple):
    """A value of a series: what it is, of which drive and host (empty: of all), and when."""

    quantity: str
    drive: str
    host: str
    time: str
    value: str


def labelled(name: str, labels: dict[str, str]) -> tuple[str, str, str] | None:
    """Return the quantity, the drive and the host of a series with labels.

    None for what is neither a drive's nor the host's: a limit, another chip's sensor.
    """
    if (match := _LABELLED.match(name)) is not None:
        name, labels = match[1].strip(), {**labels, **dict(_LABEL.findall(match[2]))}
        name = name or labels.pop("__name__", "")
    name = _EXPORTER.sub("", name)
    drive = next((labels[key] for key in _DRIVE if labels.get(key)), "").removeprefix("/dev/")
    host = next((labels[key] for key in _HOST if labels.get(key)), "")
    if labels.get("temperature_type", "current") != "current":
        return None
    if (chip := labels.get("chip")) is not None:
        number = _HWMON.fullmatch(labels.get("sensor", ""))
        if chip.startswith("nvme"):
            first = number is None or number[1] == "1"
            which = "composite" if first or number is None else f"sensor {int(number[1]) - 1}"
            name, drive = f"{name} {which}", chip.removeprefix("nvme_")
        elif "coretemp" in chip or "k10temp" in chip:
            name, drive = f"cpu {name}", ""
        else:
            return None
    if (meaning(name) or total(name)) is None:
        return None
    return f"{name} [{unit}]" if (unit := labels.get("unit")) else name, drive, host


def widened(source: Source, readings: Iterable[Reading]) -> Iterator[dict[str, str]]:
    """Yield a row for each time and drive, in the order of time, with the series as columns."""
    rows: dict[tuple[str, str], dict[str, dict[str, str]]] = {}
    for one in readings:
        source.keep(_VALUE_BYTES)
        row = rows.setdefault((one.host, one.drive), {}).setdefault(one.time, {})
        row[one.quantity] = one.value
    if not rows:
        raise source.error("has no series of a drive's bytes, I/Os or temperature")
    for host, drive in list(rows):
        # a controller's temperature is that of its only namespace
        parts = [
            name for at, name in rows
            if at == host and (match := _NAMESPACE.fullmatch(name)) and match[1] == drive
        ]  # fmt: skip
        if len(parts) == 1:
            _lay(rows[host, parts[0]], rows.pop((host, drive)))
    for host in {host for host, drive in rows if drive}:
        everywhere = rows.pop((host, ""), {})
        for (at, _), own in rows.items():
            if at == host:
                _lay(own, everywhere)
    are_many = len({host for host, _ in rows}) > 1
    for (host, drive), own in rows.items():
        words = list(own)
        for index in np.argsort(read_times(words).t_s, kind="stable").tolist():
            named = {"device": f"{host} {drive}".strip() if are_many else drive}
            yield {
                "time": words[index],
                **(named if drive or are_many else {}),
                **own[words[index]],
            }


def _lay(own: dict[str, dict[str, str]], other: dict[str, dict[str, str]]) -> None:
    for time, values in other.items():
        own[time] = {**values, **own.get(time, {})}


def long_rows(source: Source, layout: Layout) -> Iterator[Reading] | None:
    """Return the values of a long table; None for a table of another layout."""
    names = [name.strip().lower() for name in layout.header]
    found = [next((n for n in known if n in names), "") for known in (_SERIES, _VALUE, _TIME)]
    if not all(found):
        return None
    return _readings(source, layout, names, *(names.index(name) for name in found))


def _readings(
    source: Source, layout: Layout, names: list[str], series: int, value: int, time: int
) -> Iterator[Reading]:
    others = [index for index in range(len(names)) if index not in (series, value, time)]
    known: dict[tuple[str, ...], tuple[str, str, str] | None] = {}
    for number, line in source.lines():
        cells = split(line, layout.delimiter)
        if number < layout.first or len(cells) != layout.width or cells[value] == names[value]:
            continue
        key = (cells[series], *(cells[index] for index in others))
        if key not in known:
            known[key] = labelled(
                cells[series], {names[index]: cells[index].strip() for index in others}
            )
        if (told := known[key]) is not None:
            yield Reading(*told, cells[time], cells[value])
