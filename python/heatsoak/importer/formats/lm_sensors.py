"""lm-sensors: what `sensors` and `sensors -j` print, again and again, with times between.

Only drives are read: NVMe (`nvme-pci-0100`) and, by the kernel's drivetemp, SATA and SCSI.
"""

import re
from typing import Any

from heatsoak.importer.format import Format
from heatsoak.importer.log import Log, Options
from heatsoak.importer.reading_logs import logs_of_readings
from heatsoak.importer.readings import (
    NO_FIELDS,
    Readings,
    degrees_c,
    json_number,
    without_escapes,
)
from heatsoak.importer.source import Source

_NAME = "lm_sensors"
_BUSES = "pci|isa|i2c|spi|virtual|acpi|hid|mdio|scsi|platform"
_CHIP = re.compile(rf"([A-Za-z]\w{{0,40}})-(?:{_BUSES})-[0-9a-f-]{{1,12}}", re.ASCII)
_TEXT = re.compile(rf"^{_CHIP.pattern}\s*\n(?:Adapter:|\S[^\n]{{0,60}}:\s)", re.MULTILINE)
_JSON = re.compile(rf'"{_CHIP.pattern}"\s*:\s*\{{')
_OF_A_CHIP = re.compile(r"[^:]{1,60}:\s|\(")
#: What chips of drives are called, and what their temperature is where it has no name.
_DRIVES = {"nvme": "temp_c.composite", "drivetemp": "temp_c.drive"}
_SENSOR = re.compile(r"Sensor (\d)")
_LIMITS = {"high": "warning_c", "crit": "critical_c"}
_LIMIT = re.compile(r"\b(high|crit)\s*=\s*([^,)]{1,20})")


def _recognises(source: Source) -> bool:
    head = "\n".join(source.head_lines)
    return _TEXT.search(head) is not None or _JSON.search(head) is not None


def _read(source: Source, options: Options) -> list[Log]:
    readings = Readings(source, options, _NAME, NO_FIELDS)
    if _JSON.search("\n".join(source.head_lines)) is not None:
        for value in readings.documents():
            _take_document(readings, value)
    else:
        _take_text(source, readings)
    if not readings.count:
        raise source.error(
            "is lm-sensors' output without any drive: its chips are named 'nvme-...', or "
            "'drivetemp-...' once 'modprobe drivetemp' was called"
        )
    readings.remark("only the drives among lm-sensors' chips are read")
    return logs_of_readings(readings)


def _take_text(source: Source, readings: Readings) -> None:
    kind: str | None = None
    for _, line in source.lines():
        text = without_escapes(line).strip()
        chip = _CHIP.fullmatch(text)
        if chip is not None:
            kind = chip.group(1)
            if kind in _DRIVES:
                readings.begin(text)
        elif not text:
            kind = None
        elif kind is None or _OF_A_CHIP.match(text) is None:
            kind = None
            readings.line(text)
        elif kind in _DRIVES:
            _take_line(readings, kind, text)


def _take_line(readings: Readings, kind: str, text: str) -> None:
    """Take a temperature with its limits, which may continue in lines of their own."""
    label, colon, rest = text.partition(":")
    column = _column(kind, label) if colon else None
    if column is not None:
        readings.value(column, degrees_c(rest.partition("(")[0], needs_unit=True))
    if column == _DRIVES[kind] or not colon:
        for name, limit in _LIMIT.findall(text):
            readings.threshold(_LIMITS[name], degrees_c(limit, needs_unit=True))


def _take_document(readings: Readings, value: Any) -> None:
    if not isinstance(value, dict):
        return
    stamp = readings.stamp_among(value)
    for chip, features in value.items():
        found = _CHIP.fullmatch(chip)
        if found is None or found.group(1) not in _DRIVES or not isinstance(features, dict):
            continue
        kind = found.group(1)
        readings.begin(chip)
        readings.current.stamp = stamp or readings.current.stamp
        for label, parts in features.items():
            column = _column(kind, label)
            if column is None or not isinstance(parts, dict):
                continue
            for key, each in parts.items():
                _, _, what = key.partition("_")
                celsius = json_number(each)
                if what == "input":
                    readings.value(column, celsius)
                elif column == _DRIVES[kind] and what in ("max", "crit"):
                    readings.threshold(_LIMITS["high" if what == "max" else what], celsius)


def _column(kind: str, label: str) -> str | None:
    sensor = _SENSOR.fullmatch(label)
    if sensor is not None:
        return f"temp_c.sensor{sensor.group(1)}"
    return _DRIVES[kind] if label in ("Composite", "temp1") else None


FORMAT = Format(_NAME, "lm-sensors' output (sensors, sensors -j)", _recognises, _read, priority=60)
