"""smartmontools: `smartctl` of NVMe, ATA and SCSI drives, as text or JSON, once or again and again.

Temperatures are Celsius. The history of temperatures that ATA drives keep (SCT) is a series in
itself; it is what a file with a single reading gives.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from heatsoak.importer.format import Format
from heatsoak.importer.lenient import at
from heatsoak.importer.log import Log, Options
from heatsoak.importer.reading_logs import history_log, logs_of_readings
from heatsoak.importer.readings import (
    DATA_UNIT_BYTES,
    Fields,
    Readings,
    count_in,
    degrees_c,
    json_number,
    named,
    stamp_in,
    without_escapes,
)
from heatsoak.importer.source import Source

_NAME = "smartctl"

#: The tool's fields in lower case; some in the words of its JSON.
_FIELDS = Fields(
    temperatures={
        "temperature": "temp_c.composite",
        "current drive temperature": "temp_c.drive",
        "current temperature": "temp_c.drive",
    }
    | {f"temperature sensor {n}": f"temp_c.sensor{n}" for n in range(1, 9)},
    columns=named(
        ("throttle_time_s.warning", 60.0, "warning comp. temperature time|warning temp time"),
        ("throttle_time_s.critical", 60.0, "critical comp. temperature time|critical comp time"),
    )
    | {
        f"thermal {words} {n} {what}": (f"{column}.tmt{n}", 1.0)
        for words in ("temp.", "mgmt temperature", "mgmt temp")
        for n in (1, 2)
        for what, column in (
            ("transition count", "throttle_count"),
            ("total time", "throttle_time_s"),
        )
    },
    counters=named(
        ("read_bytes", DATA_UNIT_BYTES, "data units read"),
        ("write_bytes", DATA_UNIT_BYTES, "data units written"),
        ("read_ios", 1.0, "host read commands|host reads"),
        ("write_ios", 1.0, "host write commands|host writes"),
    ),
    thresholds={
        "warning comp. temp. threshold": "warning_c",
        "critical comp. temp. threshold": "critical_c",
        "drive trip temperature": "critical_c",
        "specified max operating temperature": "warning_c",
    },
    identity={
        "model number": "model",
        "device model": "model",
        "product": "model",
        "firmware version": "firmware",
        "revision": "firmware",
        "serial number": "serial",
        "total nvm capacity": "size_bytes",
        "namespace 1 size/capacity": "size_bytes",
        "user capacity": "size_bytes",
    },
    health={
        "power on hours": "power_on_h",
        "number of hours powered up": "power_on_h",
        "critical warning": "critical_warning",
        "smart overall-health self-assessment test result": "failed",
        "smart health status": "failed",
    },
)
#: Where JSON has what the text has under these names; the later of the same name count.
_IN_JSON = (
    ("model number", "model_name"),
    ("product", "scsi_model_name"),
    ("serial number", "serial_number"),
    ("firmware version", "firmware_version"),
    ("total nvm capacity", "nvme_total_capacity"),
    ("user capacity", "user_capacity/bytes"),
    ("warning comp. temp. threshold", "temperature/op_limit_max"),
    ("warning comp. temp. threshold", "nvme_composite_temperature_threshold/warning"),
    ("critical comp. temp. threshold", "temperature/critical_limit_max"),
    ("critical comp. temp. threshold", "nvme_composite_temperature_threshold/critical"),
    ("critical comp. temp. threshold", "temperature/limit_max"),
    ("drive trip temperature", "temperature/drive_trip"),
    ("power on hours", "power_on_time/hours"),
)
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
_MAX_HISTORY = 4096
_MAX_LINE, _MAX_DEPTH = 400, 8
_JSON_MARKS = (
    "nvme_smart_health_information_log",
    "smartctl",
    "ata_smart_attributes",
    "ata_sct_status",
    "available_spare_threshold",
    "scsi_error_counter_log",
    "scsi_version",
)


@dataclass
class _State:
    """What a file has told so far that other lines of it need.

    Attributes:
        readings: takes them.
        has_headers: whether each reading begins with smartctl's own first line.
        attributes: the numbers of the ATA attributes of the present reading: each stands in it
            once.
        precise: whether the present reading has counters of device statistics, which are better
            than attributes.
        history: the drive's own table of temperatures, as it was told last; NaN where unknown.
        history_begin: the time of its first row, as it is written.
        history_end_unix_s: the time of its last row, where JSON tells.
    """

    readings: Readings
    has_headers: bool = False
    attributes: set[int] = field(default_factory=set)
    sector_bytes: float = 512.0
    precise: bool = False
    history: list[float] = field(default_factory=list)
    history_interval_s: float = 60.0
    history_begin: str = ""
    history_end_unix_s: float | None = None

    def begin(self, device: str = "") -> None:
        """Start a reading with smartctl's own first words."""
        self.readings.begin(device)
        self.has_headers, self.precise = True, False
        self.attributes.clear()

    def keep_history(self, minutes: float | None) -> None:
        """Start the table of temperatures, with rows at an interval of some minutes."""
        self.history, self.history_begin = [], ""
        self.history_interval_s = 60.0 * min(max(minutes or 1.0, 1.0), 1e5)

    def add_history(self, *celsius: float) -> None:
        """Add rows to the table."""
        if len(self.history) + len(celsius) <= _MAX_HISTORY:
            self.history += celsius

    def attribute(self, number: int, name: str, raw: str) -> None:
        """Take one of ATA's SMART attributes, whose meaning is up to the drive's maker."""
        readings = self.readings
        if number in self.attributes:
            readings.begin(readings.current.device)
            self.attributes.clear()
        self.attributes.add(number)
        first = re.match(r"-?\d{1,20}", raw)
        value = float(first.group()) if first else None
        lower = name.lower()
        if number in (190, 194, 231) and "temperature" in lower:
            has_other = "temp_c.drive" in readings.current.values
            if number == 194 and has_other and self.has_headers:
                readings.value("temp_c.airflow", readings.current.values.pop("temp_c.drive"))
            if number == 194 or not has_other:
                readings.value("temp_c.drive", value, starts=not self.has_headers)
        elif "thermal_throttl" in lower:
            second = re.match(r"\d{1,9}/(\d{1,9})$", raw)
            if second is not None or lower.endswith("cnt"):
                count = float(second.group(1)) if second else value
                readings.value("throttle_count.drive", count, starts=False)
        elif number == 9 and "hour" in lower:
            readings.health("power_on_h", value, starts=False)
        elif value is not None and not self.precise:
            self._moved(name, value)

    def _moved(self, name: str, value: float) -> None:
        """Take an attribute that may count what was read or written."""
        lower = name.lower()
        direction = "write" if "writ" in lower else "read" if "read" in lower else ""
        unit = _UNITS.search(name)
        by_host = lower.startswith(("total_", "host_", "lifetime_")) and "nand" not in lower
        if not direction or not by_host or (unit is None and "lbas" not in lower):
            return
        if unit is None:
            scale = self.sector_bytes
            self.readings.about_counters = f"{name} was read as sectors of {scale:.0f} bytes"
        else:
            scale = float(unit.group(1) or 1) * _UNIT_BYTES[unit.group(2)]
        self.readings.unit_bytes = scale
        self.readings.counter(f"{direction}_bytes", value * scale, starts=False)

    def statistic(self, name: str, value: float | None) -> None:
        """Take one of the device statistics."""
        if not self.precise:
            self.precise = True
            self.readings.current.counters.clear()
        counter = _STATISTICS[name]
        scale = self.sector_bytes if counter.endswith("bytes") else 1.0
        self.readings.unit_bytes = self.sector_bytes
        self.readings.counter(counter, None if value is None else value * scale, starts=False)

    def gigabytes(self, direction: str, text: Any) -> None:
        """Take what a SCSI drive has processed, to a thousandth of 10^9 bytes."""
        try:
            gigabytes = float(str(text)[:40].replace(",", "."))
        except ValueError:
            return
        if math.isfinite(gigabytes):
            self.readings.unit_bytes = 1e6
            self.readings.counter(f"{direction}_bytes", gigabytes * 1e9, starts=False)


def _is_json(head: str) -> bool:
    return "{" in head and any(f'"{mark}"' in head for mark in _JSON_MARKS)


def _recognises(source: Source) -> bool:
    lines = source.head_lines
    head = "\n".join(lines)
    if _is_json(head) or _LONE.search(head) is not None:
        return True
    return any(_HEADER.match(line[:200]) for line in lines[:400])


def _read(source: Source, options: Options) -> list[Log]:
    readings = Readings(source, options, _NAME, _FIELDS)
    state = _State(readings)
    if _is_json("\n".join(source.head_lines)):
        for value in readings.documents():
            _take_json(state, value, "", 0)
    else:
        _take_text(source, state)
    if sum(map(math.isfinite, state.history)) > 1:
        if readings.count < 2:
            log = history_log(
                readings,
                "temp_c.drive",
                state.history,
                state.history_interval_s,
                begin=state.history_begin,
                end_unix_s=state.history_end_unix_s,
            )
            return [log]
        readings.remark("the drive's own history of temperatures (SCT) was left out")
    return logs_of_readings(readings)


# --- text ---


def _take_text(source: Source, state: _State) -> None:
    readings = state.readings
    for number, line in source.lines():
        line = without_escapes(line)[:_MAX_LINE]
        header = _HEADER.match(line)
        if header is not None:
            state.begin()
            readings.stamped(line[: header.start(1)].removesuffix("smartctl "))
            readings.tools.setdefault("smartctl", header.group(1))
            continue
        key, colon, text = line.partition(":")
        is_field = colon and _take_field(state, " ".join(key.lower().split()), text, number)
        if not is_field and not _take_row(state, line):
            readings.line(line)
    readings.remark_unread()


def _take_field(state: _State, key: str, text: str, line: int) -> bool:
    """Take a field's value; return whether there is such a field."""
    readings = state.readings
    if key == "local time is":
        readings.current.stamp = stamp_in(text) or readings.current.stamp
    elif key == "temperature logging interval":
        state.keep_history(count_in(text))
    elif key == "min/max temperature limit":
        readings.threshold("critical_c", degrees_c(text.rpartition("/")[2], needs_unit=True))
    elif key in ("sector size", "sector sizes", "logical block size"):
        match = _SECTOR.match(text)
        state.sector_bytes = float(match.group(1)) if match else state.sector_bytes
    else:
        # an output tells each once: another is another output, though its first lines are gone
        is_temperature = key in _FIELDS.temperatures
        starts = key != "current temperature" if is_temperature else not state.has_headers
        if not readings.field(key, text, line, starts=starts):
            return False
        if key == "serial number" and not readings.current.device:
            readings.current.device = readings.name_of(text.strip()[:64])
    return True


def _take_row(state: _State, line: str) -> bool:
    """Take a row of a table: attributes, statistics, errors counted, SCT's temperatures."""
    if (attribute := _ATTRIBUTE.match(line)) is not None:
        raw = line.split()[9 if attribute.group(3).startswith("0x") else 7 :]
        if raw:
            state.attribute(int(attribute.group(1)), attribute.group(2), " ".join(raw))
    elif (row := _HISTORY_ROW.match(line)) is not None:
        state.history_begin = state.history_begin or row.group(2)
        state.add_history(float(row.group(3)) if row.group(3) != "?" else math.nan)
    elif (skip := _HISTORY_SKIP.match(line)) is not None:
        state.add_history(*state.history[-1:] * int(skip.group(1)))
    elif (statistic := _STATISTIC.match(line)) is not None:
        state.statistic(statistic.group(2), count_in(statistic.group(1)))
    elif (counted := _ERROR_COUNTER.match(line)) is not None:
        state.gigabytes(counted.group(1), counted.group(2))
    else:
        return False
    return True


# --- JSON ---


def _take_json(state: _State, value: Any, stamp: str, depth: int) -> None:
    """Take the documents in a value, which loggers put into lists and objects of their own."""
    if depth >= _MAX_DEPTH:
        return
    if isinstance(value, list):
        for item in value:
            _take_json(state, item, stamp, depth + 1)
    if not isinstance(value, dict):
        return
    stamp = state.readings.stamp_among(value) or stamp
    if any(mark in value for mark in _JSON_MARKS) or isinstance(value.get("temperature"), dict):
        _take_document(state, value, stamp)
        return
    for key, inner in value.items():
        if isinstance(inner, dict | list):
            _take_json(state, inner, stamp_in(str(key)) or stamp, depth + 1)


def _take_document(state: _State, value: dict[str, Any], stamp: str) -> None:
    readings = state.readings
    device = at(value, "device/name")
    state.begin(device[:64] if isinstance(device, str) else "")
    now = json_number(at(value, "local_time/time_t"))
    if now is not None and 0 < now < 1e11:
        readings.current.unix_s = now
    readings.current.stamp = stamp or readings.current.stamp
    version = at(value, "smartctl/version")
    if isinstance(version, list):
        readings.tools.setdefault("smartctl", ".".join(str(part)[:8] for part in version[:3]))
    for key, path in _IN_JSON:
        readings.json_field(key, at(value, path), celsius=True)
    if isinstance(passed := at(value, "smart_status/passed"), bool):
        readings.health("failed", not passed, starts=False)
    sector = json_number(value.get("logical_block_size"))
    state.sector_bytes = sector if sector and 256 <= sector <= 65536 else 512.0
    health = value.get("nvme_smart_health_information_log")
    if health is None and "available_spare_threshold" in value:
        health = value
    if isinstance(health, dict):
        _take_health(readings, health)
    for page in _rows(at(value, "ata_device_statistics/pages")):
        for row in _rows(page.get("table")):
            if row.get("name") in _STATISTICS:
                state.statistic(str(row["name"]), json_number(row.get("value")))
    for row in _rows(at(value, "ata_smart_attributes/table")):
        raw, number, name = at(row, "raw/string"), row.get("id"), row.get("name")
        if isinstance(raw, str) and isinstance(number, int) and isinstance(name, str):
            state.attribute(number, name[:80], raw[:80])
    history = at(value, "ata_sct_temperature_history/table")
    if isinstance(history, list):
        path = "ata_sct_temperature_history/logging_interval_minutes"
        state.keep_history(json_number(at(value, path)))
        known = (json_number(item) for item in history[:_MAX_HISTORY])
        state.history = [math.nan if celsius is None else celsius for celsius in known]
        state.history_end_unix_s = readings.current.unix_s
    for direction in ("read", "write"):
        processed = at(value, f"scsi_error_counter_log/{direction}/gigabytes_processed")
        if processed is not None:
            state.gigabytes(direction, processed)
    current = json_number(at(value, "temperature/current"))
    if current:
        is_nvme = isinstance(health, dict) or at(value, "device/protocol") == "NVMe"
        readings.value(f"temp_c.{'composite' if is_nvme else 'drive'}", current, starts=False)


def _take_health(readings: Readings, health: dict[str, Any]) -> None:
    readings.json_field("temperature", health.get("temperature"), celsius=True)
    sensors = health.get("temperature_sensors")
    for index, celsius in enumerate(sensors[:8] if isinstance(sensors, list) else [], 1):
        readings.value(f"temp_c.sensor{index}", json_number(celsius))
    for key, value in health.items():
        key = key.replace("_", " ")
        if key in _FIELDS.columns or key in _FIELDS.counters or key in _FIELDS.health:
            readings.json_field(key, value, celsius=True)


def _rows(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        yield from (row for row in value if isinstance(row, dict))


FORMAT = Format(_NAME, "smartctl", _recognises, _read, priority=40)
