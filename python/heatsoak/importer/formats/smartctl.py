"""smartmontools: `smartctl` of NVMe, ATA and SCSI drives, as text or JSON, once or again and again.

Temperatures are Celsius. The history of temperatures that ATA drives keep (SCT) is a series in
itself; it is what a file with a single reading gives.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from heatsoak.importer.formats.base import Format
from heatsoak.importer.log import Log, Options
from heatsoak.importer.readings import (
    DATA_UNIT_BYTES,
    Readings,
    degrees_c,
    number,
    plain,
    stamp_in,
    whole,
)
from heatsoak.importer.source import Source

_NAME = "smartctl"

_TEMPERATURES = {
    "temperature": "temp_c.composite",
    "current drive temperature": "temp_c.drive",
    "current temperature": "temp_c.drive",
} | {f"temperature sensor {n}": f"temp_c.sensor{n}" for n in range(1, 9)}
_COLUMNS: dict[str, tuple[str, float]] = {
    "warning comp. temperature time": ("throttle_time_s.warning", 60.0),
    "critical comp. temperature time": ("throttle_time_s.critical", 60.0),
    "thermal temp. 1 transition count": ("throttle_count.tmt1", 1.0),
    "thermal temp. 2 transition count": ("throttle_count.tmt2", 1.0),
    "thermal temp. 1 total time": ("throttle_time_s.tmt1", 1.0),
    "thermal temp. 2 total time": ("throttle_time_s.tmt2", 1.0),
}
_COUNTERS: dict[str, tuple[str, float]] = {
    "data units read": ("read_bytes", DATA_UNIT_BYTES),
    "data units written": ("write_bytes", DATA_UNIT_BYTES),
    "host read commands": ("read_ios", 1.0),
    "host write commands": ("write_ios", 1.0),
}
_THRESHOLDS = {
    "warning comp. temp. threshold": "warning_c",
    "critical comp. temp. threshold": "critical_c",
    "drive trip temperature": "critical_c",
    "specified max operating temperature": "warning_c",
}
_IDENTITY = {
    "model number": "model",
    "device model": "model",
    "product": "model",
    "firmware version": "firmware",
    "revision": "firmware",
}
_SIZES = ("total nvm capacity", "namespace 1 size/capacity", "user capacity")
_JSON_NVME = {
    "warning_temp_time": ("throttle_time_s.warning", 60.0),
    "critical_comp_time": ("throttle_time_s.critical", 60.0),
    "thermal_mgmt_temperature_1_transition_count": ("throttle_count.tmt1", 1.0),
    "thermal_mgmt_temperature_2_transition_count": ("throttle_count.tmt2", 1.0),
    "thermal_mgmt_temperature_1_total_time": ("throttle_time_s.tmt1", 1.0),
    "thermal_mgmt_temperature_2_total_time": ("throttle_time_s.tmt2", 1.0),
}
#: What device statistics (ATA log 04h) and newer versions' summaries count.
_STATISTICS = {
    "Logical Sectors Written": "write_bytes",
    "Logical Sectors Read": "read_bytes",
    "Number of Write Commands": "write_ios",
    "Number of Read Commands": "read_ios",
}

_HEADER = re.compile(r"(?:.{0,80}\s)?smartctl (\d{1,3}\.\d{1,4}(?:\.\d{1,4})?) ")
_ATTRIBUTE = re.compile(
    r"\s{0,4}(\d{1,3}) ([A-Za-z][\w./+-]{2,40})\s+(0x[0-9a-f]{4}|[A-Z-]{6,7})\s"
)
_LONE = re.compile(
    r"^\s{0,4}19[04] \w*Temperature\w*\s+(?:0x|[A-Z-]{6})"
    r"|^Temperature:\s{10,30}\d{1,3} Celsius|^Current Drive Temperature:\s{1,10}\d{1,3} C\b",
    re.MULTILINE,
)
_STATISTIC = re.compile(
    r"\s*(?:0x01|1)\s+0x0[0-9a-f]{2}\s+\d\s+(\d{1,20})[\s~].*?(" + "|".join(_STATISTICS) + r")\s*$"
)
_UNITS = re.compile(r"_(\d{1,4})?(MiB|GiB|GB|TiB|TB|MB)$")
_UNIT_BYTES = {"MB": 1e6, "GB": 1e9, "TB": 1e12, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_SECTOR = re.compile(r"\s*(\d{3,5}) bytes")
_ERROR_COUNTER = re.compile(r"(read|write):\s+(?:\d+\s+){5}(\d{1,15}[.,]\d{3})\s")
_HISTORY_ROW = re.compile(
    r"\s*(\d{1,5})\s+(\d{4}-\d{2}-\d{2} \d{2}:\d{2})\s+(-?\d{1,3}|\?)(?:\s|$)"
)
_HISTORY_SKIP = re.compile(r"\s*\.\.\.\s+\.\.\(\s*(\d{1,4}) skipped\)")
#: No drive's table is longer.
_LONGEST_HISTORY = 4096
_LONGEST_FIELD = 400
_JSON_MARKS = (
    '"nvme_smart_health_information_log"',
    '"smartctl"',
    '"ata_smart_attributes"',
    '"ata_sct_status"',
    '"available_spare_threshold"',
    '"scsi_error_counter_log"',
    '"scsi_version"',
)


@dataclass
class _Taken:
    """What a file has told so far that other lines of it need.

    Attributes:
        has_headers: whether each reading begins with smartctl's own first line.
        attributes: the numbers of the ATA attributes of the present reading: each stands in it
            once.
        precise: whether the present reading has counters of device statistics, which are better
            than attributes.
        history: the drive's own table of temperatures, as it was told last; NaN where unknown.
        history_begin: the time of its first row, as it is written.
        history_end_unix_s: the time of its last row, where JSON tells.
    """

    has_headers: bool = False
    attributes: set[int] = field(default_factory=set)
    sector_bytes: float = 512.0
    precise: bool = False
    history: list[float] = field(default_factory=list)
    history_interval_s: float = 60.0
    history_begin: str = ""
    history_end_unix_s: float | None = None


def _is_json(head: str) -> bool:
    return "{" in head and any(mark in head for mark in _JSON_MARKS)


def _recognises(source: Source) -> bool:
    lines = source.head_lines
    head = "\n".join(lines)
    if _is_json(head) or _LONE.search(head) is not None:
        return True
    return any(_HEADER.match(line[:200]) for line in lines[:400])


def _read(source: Source, options: Options) -> list[Log]:
    readings = Readings(source, options, _NAME)
    taken = _Taken()
    if _is_json("\n".join(source.head_lines)):
        for value in readings.documents():
            _take_json(readings, taken, value, "", 0)
    else:
        _take_text(source, readings, taken)
    if sum(map(math.isfinite, taken.history)) > 1:
        if readings.count < 2:
            return readings.history(
                "temp_c.drive",
                taken.history,
                taken.history_interval_s,
                begin=taken.history_begin,
                end_unix_s=taken.history_end_unix_s,
            )
        readings.remark("the drive's own history of temperatures (SCT) was left out")
    return readings.finish()


def _take_text(source: Source, readings: Readings, taken: _Taken) -> None:
    unread: list[int] = []
    for line_number, line in source.lines():
        line = plain(line)[:_LONGEST_FIELD]
        header = _HEADER.match(line)
        if header is not None:
            readings.begin()
            readings.stamped(line[: header.start(1)].removesuffix("smartctl "))
            readings.tools.setdefault("smartctl", header.group(1))
            taken.has_headers, taken.precise = True, False
            taken.attributes.clear()
            continue
        key, colon, value = line.partition(":")
        if colon and _field(
            readings, taken, " ".join(key.lower().split()), value, unread, line_number
        ):
            continue
        if _is_row(readings, taken, line):
            continue
        readings.line(line)
    readings.unread(unread)


def _field(
    readings: Readings, taken: _Taken, key: str, text: str, unread: list[int], line: int
) -> bool:
    """Take a field's value; return whether there is such a field."""
    value: float | None
    again = not taken.has_headers
    if key in _TEMPERATURES:
        value = degrees_c(text, needs_unit=True)
        # an output tells each once: another is another output, though its first lines are gone
        again = key != "current temperature"
        readings.value(_TEMPERATURES[key], value, begins=again)
    elif key in _COLUMNS:
        column, scale = _COLUMNS[key]
        value = whole(text)
        readings.value(column, None if value is None else value * scale, begins=again)
    elif key in _COUNTERS:
        name, scale = _COUNTERS[key]
        value = whole(text)
        readings.counter(name, None if value is None else value * scale, begins=again)
    elif key == "local time is":
        readings.current.stamp = stamp_in(text) or readings.current.stamp
        return True
    elif key == "temperature logging interval":
        taken.history, taken.history_begin = [], ""
        taken.history_interval_s = 60.0 * min(max(whole(text) or 1.0, 1.0), 1e5)
        return True
    else:
        return _is_of_drive(readings, taken, key, text)
    if value is None and not text.strip().startswith(("0", "-", "<")):
        unread.append(line)
    return True


def _is_of_drive(readings: Readings, taken: _Taken, key: str, text: str) -> bool:
    """Take what tells which drive it is, and its limits."""
    if key in _THRESHOLDS:
        readings.threshold(_THRESHOLDS[key], degrees_c(text, needs_unit=True))
    elif key == "min/max temperature limit":
        readings.threshold("critical_c", degrees_c(text.rpartition("/")[2], needs_unit=True))
    elif key in _IDENTITY:
        readings.identity(_IDENTITY[key], text.strip())
    elif key == "serial number":
        readings.identity("serial", text.strip())
        readings.named(text.strip()[:64])
    elif key in _SIZES:
        size = whole(text.partition("[")[0])
        readings.identity("size_bytes", int(size) if size and size < 1e18 else None)
    elif key in ("sector size", "sector sizes", "logical block size"):
        match = _SECTOR.match(text)
        taken.sector_bytes = float(match.group(1)) if match else taken.sector_bytes
    else:
        return False
    return True


def _is_row(readings: Readings, taken: _Taken, line: str) -> bool:
    """Take a row of a table: attributes, statistics, errors counted, SCT's temperatures."""
    attribute = _ATTRIBUTE.match(line)
    if attribute is not None:
        words = line.split()
        raw = words[9 if attribute.group(3).startswith("0x") else 7 :]
        if raw:
            _take_attribute(
                readings, taken, int(attribute.group(1)), attribute.group(2), " ".join(raw)
            )
        return True
    row = _HISTORY_ROW.match(line)
    if row is not None:
        taken.history_begin = taken.history_begin or row.group(2)
        _keep(taken, [float(row.group(3)) if row.group(3) != "?" else math.nan])
        return True
    skip = _HISTORY_SKIP.match(line)
    if skip is not None:
        if taken.history:
            _keep(taken, [taken.history[-1]] * int(skip.group(1)))
        return True
    statistic = _STATISTIC.match(line)
    if statistic is not None:
        _take_statistic(readings, taken, statistic.group(2), whole(statistic.group(1)))
        return True
    counted = _ERROR_COUNTER.match(line)
    if counted is not None:
        _take_gigabytes(readings, counted.group(1), counted.group(2))
        return True
    return False


def _keep(taken: _Taken, celsius: list[float]) -> None:
    if len(taken.history) + len(celsius) <= _LONGEST_HISTORY:
        taken.history += celsius


def _take_attribute(readings: Readings, taken: _Taken, number_: int, name: str, raw: str) -> None:
    """One of ATA's SMART attributes, whose meaning is up to the drive's maker."""
    if number_ in taken.attributes:
        readings.begin(readings.current.device)
        taken.attributes.clear()
    taken.attributes.add(number_)
    begins = not taken.has_headers
    first = re.match(r"-?\d{1,20}", raw)
    value = float(first.group()) if first else None
    lower = name.lower()
    if number_ in (190, 194, 231) and "temperature" in lower:
        if number_ == 194 or "temp_c.drive" not in readings.current.values:
            if number_ == 194 and "temp_c.drive" in readings.current.values and not begins:
                readings.value("temp_c.airflow", readings.current.values.pop("temp_c.drive"))
            readings.value("temp_c.drive", value, begins=begins)
    elif "thermal_throttl" in lower:
        second = re.match(r"\d{1,9}/(\d{1,9})$", raw)
        if second is not None or lower.endswith("cnt"):
            count = float(second.group(1)) if second else value
            readings.value("throttle_count.drive", count, begins=False)
    elif value is not None and not taken.precise:
        direction = "write" if "writ" in lower else "read" if "read" in lower else ""
        unit = _UNITS.search(name)
        ours = lower.startswith(("total_", "host_", "lifetime_")) and "nand" not in lower
        if not direction or not ours or (unit is None and "lbas" not in lower):
            return
        if unit is None:
            scale = taken.sector_bytes
            readings.about_counters = f"{name} was read as sectors of {scale:.0f} bytes"
        else:
            scale = float(unit.group(1) or 1) * _UNIT_BYTES[unit.group(2)]
        readings.unit_bytes = scale
        readings.counter(f"{direction}_bytes", value * scale, begins=False)


def _take_statistic(readings: Readings, taken: _Taken, name: str, value: float | None) -> None:
    counter = _STATISTICS[name]
    if not taken.precise:
        taken.precise = True
        readings.current.counters.clear()
    scale = taken.sector_bytes if counter.endswith("bytes") else 1.0
    readings.unit_bytes = taken.sector_bytes
    readings.counter(counter, None if value is None else value * scale, begins=False)


def _take_gigabytes(readings: Readings, direction: str, text: Any) -> None:
    """What a SCSI drive has processed, to a thousandth of 10^9 bytes."""
    try:
        gigabytes = float(str(text)[:40].replace(",", "."))
    except ValueError:
        return
    if math.isfinite(gigabytes):
        readings.unit_bytes = 1e6
        readings.counter(f"{direction}_bytes", gigabytes * 1e9, begins=False)


def _take_json(readings: Readings, taken: _Taken, value: Any, stamp: str, depth: int) -> None:
    if depth >= 8:
        return
    if isinstance(value, list):
        for item in value:
            _take_json(readings, taken, item, stamp, depth + 1)
    if not isinstance(value, dict):
        return
    stamp = readings.stamp_among(value) or stamp
    if any(mark.strip('"') in value for mark in _JSON_MARKS) or isinstance(
        value.get("temperature"), dict
    ):
        _take_document(readings, taken, value, stamp)
        return
    for key, inner in value.items():
        if isinstance(inner, dict | list):
            _take_json(readings, taken, inner, stamp_in(str(key)) or stamp, depth + 1)


def _take_document(readings: Readings, taken: _Taken, value: dict[str, Any], stamp: str) -> None:
    device = _inner(value, "device").get("name")
    readings.begin(device[:64] if isinstance(device, str) else "")
    now = number(_inner(value, "local_time").get("time_t"))
    if now is not None and 0 < now < 1e11:
        readings.current.unix_s = now
    readings.current.stamp = stamp or readings.current.stamp
    taken.has_headers, taken.precise = True, False
    taken.attributes.clear()
    version = _inner(value, "smartctl").get("version")
    if isinstance(version, list):
        readings.tools.setdefault("smartctl", ".".join(str(part)[:8] for part in version[:3]))
    for key, name in (
        ("model_name", "model"),
        ("scsi_model_name", "model"),
        ("serial_number", "serial"),
        ("firmware_version", "firmware"),
    ):
        if isinstance(value.get(key), str):
            readings.identity(name, value[key].strip())
    size = number(_inner(value, "user_capacity").get("bytes")) or number(
        value.get("nvme_total_capacity")
    )
    readings.identity("size_bytes", int(size) if size and size < 1e18 else None)
    sector = number(value.get("logical_block_size"))
    taken.sector_bytes = sector if sector and 256 <= sector <= 65536 else 512.0
    health = value.get("nvme_smart_health_information_log")
    if health is None and "available_spare_threshold" in value:
        health = value
    if isinstance(health, dict):
        _take_health(readings, health)
    _take_ata(readings, taken, value)
    errors = _inner(value, "scsi_error_counter_log")
    for direction in ("read", "write"):
        processed = _inner(errors, direction).get("gigabytes_processed")
        if processed is not None:
            _take_gigabytes(readings, direction, processed)
    _take_temperature(readings, value, is_nvme=isinstance(health, dict))


def _take_health(readings: Readings, health: dict[str, Any]) -> None:
    readings.value("temp_c.composite", number(health.get("temperature")))
    sensors = health.get("temperature_sensors")
    for index, celsius in enumerate(sensors[:8] if isinstance(sensors, list) else [], 1):
        readings.value(f"temp_c.sensor{index}", number(celsius))
    for key, (column, scale) in _JSON_NVME.items():
        count = number(health.get(key))
        readings.value(column, None if count is None else count * scale)
    for key, name, scale in (
        ("data_units_read", "read_bytes", DATA_UNIT_BYTES),
        ("data_units_written", "write_bytes", DATA_UNIT_BYTES),
        ("host_reads", "read_ios", 1.0),
        ("host_writes", "write_ios", 1.0),
    ):
        count = number(health.get(key))
        readings.counter(name, None if count is None else count * scale)


def _take_ata(readings: Readings, taken: _Taken, value: dict[str, Any]) -> None:
    for page in _rows(_inner(value, "ata_device_statistics").get("pages")):
        for row in _rows(page.get("table")):
            if row.get("name") in _STATISTICS:
                _take_statistic(readings, taken, str(row["name"]), number(row.get("value")))
    for row in _rows(_inner(value, "ata_smart_attributes").get("table")):
        raw, number_ = _inner(row, "raw").get("string"), row.get("id")
        if isinstance(raw, str) and isinstance(number_, int) and isinstance(row.get("name"), str):
            _take_attribute(readings, taken, number_, row["name"][:80], raw[:80])
    history = _inner(value, "ata_sct_temperature_history")
    table = history.get("table")
    if isinstance(table, list):
        minutes = number(history.get("logging_interval_minutes")) or 1.0
        taken.history_interval_s = 60.0 * min(max(minutes, 1.0), 1e5)
        taken.history = [
            math.nan if (celsius := number(item)) is None else celsius
            for item in table[:_LONGEST_HISTORY]
        ]
        taken.history_end_unix_s = readings.current.unix_s


def _take_temperature(readings: Readings, value: dict[str, Any], *, is_nvme: bool) -> None:
    """What smartctl says of any drive, whatever its protocol."""
    temperature = _inner(value, "temperature")
    current = number(temperature.get("current"))
    if current:
        column = "temp_c.composite" if is_nvme or _protocol(value) == "NVMe" else "temp_c.drive"
        readings.value(column, current, begins=False)
    limits = _inner(value, "nvme_composite_temperature_threshold")
    for name, celsius in (
        ("warning_c", limits.get("warning", temperature.get("op_limit_max"))),
        ("critical_c", limits.get("critical", temperature.get("critical_limit_max"))),
        ("critical_c", temperature.get("limit_max")),
        ("critical_c", temperature.get("drive_trip")),
    ):
        readings.threshold(name, number(celsius))


def _protocol(value: dict[str, Any]) -> Any:
    return _inner(value, "device").get("protocol")


def _inner(value: dict[str, Any], key: str) -> dict[str, Any]:
    inner = value.get(key)
    return inner if isinstance(inner, dict) else {}


def _rows(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        yield from (row for row in value if isinstance(row, dict))


FORMAT = Format(_NAME, "smartctl", _recognises, _read)
