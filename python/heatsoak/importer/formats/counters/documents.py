"""Readings as JSON, however loggers nest them, and the tables of ATA and SCSI drives.

Those are attributes, device statistics, and a drive's own temperatures (SCT), as text too. What an
attribute's raw value counts is up to the drive's maker; smartctl's names tell some of it.
"""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from heatsoak.importer import numbers
from heatsoak.importer.readings import (
    COUNTED,
    FIELDS,
    PLACES,
    Readings,
    TemperatureHistory,
    degrees_c,
    plain,
    stamp_in,
)
from heatsoak.importer.tables.headers import total

_ATTRIBUTE = re.compile(
    r"\s{0,4}(\d{1,3}) ([A-Za-z][\w./+-]{2,40})\s+(0x[0-9a-f]{4}|[A-Z-]{6,7})\s"
)
#: The lowest and the highest so far, behind the temperature of attribute 194.
EXTREMES = re.compile(r"\((?:Lifetime )?Min/Max (-?\d{1,3}/\d{1,3})\b")
#: Of device statistics (ATA log 04h), and what a SCSI drive has processed.
_STATISTIC = re.compile(
    r"\s*(?:0x0)?\d\s+0x0[0-9a-f]{2}\s+\d\s+(\d{1,20})[\s~].*?([A-Z][a-z]+ [\w -]{4,60}?)\s*$"
)
_PROCESSED = re.compile(r"(read|write):\s+(?:\d+\s+){5}(\d{1,15}[.,]\d{3})\s")
_HISTORY_ROW = re.compile(
    r"\s*(\d{1,5})\s+(\d{4}-\d{2}-\d{2} \d{2}:\d{2})\s+(-?\d{1,3}|\?)(?:\s|$)"
)
_HISTORY_SKIP = re.compile(r"\s*\.\.\.\s+\.\.\(\s*(\d{1,4}) skipped\)")
#: An attribute counts by so many of the unit that its name ends in: ``Host_Writes_32MiB``.
_COUNT_OF_UNIT = re.compile(r"_(\d{1,4})[MGT]i?B$")


class Tables:
    """Takes what a drive's tables say to its readings.

    Attributes:
        has_headers: whether each reading begins with the tool's own first line.
        history: the drive's own table of temperatures, as it was told last.
    """

    def __init__(self, readings: Readings) -> None:
        self._readings = readings
        self.has_headers = False
        #: Each attribute stands in a reading once.
        self._numbers: set[int] = set()
        #: Whether the reading has counters of device statistics, which are better than attributes.
        self._is_precise = False
        self.history = TemperatureHistory()
        #: Events of heat in a drive's own log of events.
        self.excursions = 0

    def begin(self, device: str = "") -> None:
        """Start a reading with the tool's own first words."""
        self._readings.begin(device)
        self.has_headers, self._is_precise = True, False
        self._numbers.clear()

    def take_row(self, line: str) -> bool:
        """Take a row of a table; return whether it is one."""
        if (attribute := _ATTRIBUTE.match(line)) is not None:
            raw = line.split()[9 if attribute[3].startswith("0x") else 7 :]
            if raw:
                self.attribute(int(attribute[1]), attribute[2], " ".join(raw))
        elif (row := _HISTORY_ROW.match(line)) is not None:
            self.history.begin = self.history.begin or row[2]
            self.history.add(float(row[3]) if row[3] != "?" else math.nan)
        elif (skip := _HISTORY_SKIP.match(line)) is not None:
            self.history.add(*self.history.celsius[-1:] * int(skip[1]))
        elif (found := _STATISTIC.match(line)) is not None and plain(found[2]) in FIELDS:
            self._statistic(found[2], numbers.count_of(found[1]))
        elif (processed := _PROCESSED.match(line)) is not None:
            place = f"scsi_error_counter_log/{processed[1]}/gigabytes_processed"
            self._readings.take(place, processed[2], starts=False)
        else:
            return False
        return True

    def take_document(self, value: dict[str, Any], unix_s: float | None) -> None:
        """Take the tables of smartctl's JSON, which was written at `unix_s`."""
        for page in _rows(numbers.at(value, "ata_device_statistics/pages")):
            for row in _rows(page.get("table")):
                self._statistic(str(row.get("name")), numbers.count_of(row.get("value")))
        for row in _rows(numbers.at(value, "ata_smart_attributes/table")):
            raw, number, name = numbers.at(row, "raw/string"), row.get("id"), row.get("name")
            if isinstance(raw, str) and isinstance(number, int) and isinstance(name, str):
                self.attribute(number, name[:80], raw[:80])
        history = numbers.at(value, "ata_sct_temperature_history")
        if isinstance(table := numbers.at(history, "table"), list):
            self.history = TemperatureHistory.every(
                numbers.count_of(numbers.at(history, "logging_interval_minutes"))
            )
            for item in table:
                self.history.add(math.nan if (known := numbers.count_of(item)) is None else known)
            self.history.end_unix_s = unix_s

    def _statistic(self, name: str, value: float | None) -> None:
        if (field := FIELDS.get(plain(name))) is None:
            return
        if field.kind in ("sectors", "count") and not self._is_precise:
            self._is_precise = True
            for counted in COUNTED:
                self._readings.current.values.pop(counted, None)
        self._readings.take(plain(name), value, starts=False)

    def attribute(self, number: int, name: str, raw: str) -> None:
        """Take an attribute of an ATA drive: its number, name, and raw value."""
        readings = self._readings
        if number in self._numbers:
            readings.begin(readings.current.device)
            self._numbers.clear()
        self._numbers.add(number)
        first = re.match(r"-?\d{1,20}", raw)
        value = float(first.group()) if first else None
        lower = name.lower()
        if number in (190, 194, 231) and "temperature" in lower:
            has_other = "temp_c.drive" in readings.current.values
            if number == 194 and has_other and self.has_headers:
                readings.value("temp_c.airflow", readings.current.values.pop("temp_c.drive"))
            if number == 194 or not has_other:
                readings.value("temp_c.drive", value, starts=not self.has_headers)
            if number == 194 and (extremes := EXTREMES.search(raw)):
                readings.take("lifetime min/max temperature", extremes[1])
        elif "thermal_throttl" in lower:
            if lower.endswith("cnt") and raw.isdigit():
                readings.value("throttle_count.drive", value, starts=False)
            else:
                readings.throttled(raw)
        elif number == 9 and "hour" in lower:
            readings.value("power_on_h", value, starts=False)
        elif value is not None and not self._is_precise:
            self._moved(name, value)

    def _moved(self, name: str, value: float) -> None:
        """Take an attribute that may count what was read or written."""
        lower, readings = name.lower(), self._readings
        column = total(re.sub("(?i)lifetime", "host", name))
        by_host = lower.startswith(("total_", "host_", "lifetime_")) and "nand" not in lower
        if not by_host or column is None or column.direction is None or column.name == "iops":
            return
        count = _COUNT_OF_UNIT.search(name)
        readings.unit_mb = column.unit.scale * float(count[1] if count else 1)
        if "lba" in lower:
            size = readings.sector_bytes
            readings.unit_mb = size / 1e6
            readings.about_counters = f"{name} was read as sectors of {size:.0f} bytes"
        readings.value(column.name, value * readings.unit_mb, starts=False)


def _rows(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        yield from (row for row in value if isinstance(row, dict))


# --- JSON of smartctl, nvme-cli, lm-sensors and PowerShell ---------------------------------------

_MAX_DEPTH = 8
#: Keys of smartctl's documents.
SMARTCTL = (
    "nvme_smart_health_information_log", "smartctl", "ata_smart_attributes", "ata_sct_status",
    "available_spare_threshold", "scsi_error_counter_log", "scsi_version",
)  # fmt: skip
#: Keys of nvme-cli's health logs.
NVME = (
    "critical_warning", "avail_spare", "spare_thresh", "percent_used", "data_units_written",
    "temperature_sensor_1", "thm_temp1_trans_count",
)  # fmt: skip
CONVERTED = "temperatures in kelvin were converted to Celsius by subtracting 273"
_NO_TRANSITIONS = (
    "how often it throttled is not in smartctl's JSON: 'nvme smart-log' or 'smartctl -a' has it"
)
_NVME = re.compile(r"(/dev/)?nvme\d{1,4}(n\d{1,4})?")


def take_documents(readings: Readings, tables: Tables) -> None:
    """Take all that a file's documents say."""
    for value in readings.documents():
        _take(readings, tables, value, "", "", 0)


def _take(
    readings: Readings, tables: Tables, value: Any, stamp: str, device: str, depth: int
) -> None:
    """Take the readings in a value, which loggers put into lists and objects of their own."""
    if depth >= _MAX_DEPTH or not isinstance(value, dict | list):
        return
    if isinstance(value, list):
        for item in value:
            _take(readings, tables, item, stamp, device, depth + 1)
        return
    fields = {plain(key): each for key, each in value.items()}
    stamp = readings.stamp_among(value) or stamp
    device = _named_device(value) or device
    if any(key in value for key in SMARTCTL) or isinstance(value.get("temperature"), dict):
        _take_smartctl(readings, tables, value, fields, stamp)
    elif isinstance(listed := value.get("Devices"), list):
        for one in listed:
            if isinstance(node := numbers.at(one, "DevicePath"), str):
                readings.of_drive(node, {plain(key): each for key, each in one.items()})
    elif chips := [chip for key in value if (chip := CHIP.fullmatch(str(key))) is not None]:
        for chip in chips:
            _take_chip(readings, chip, value[chip.string], stamp)
    elif is_record(fields):
        take_record(readings, fields, stamp)
    elif _is_health(fields):
        readings.bare_unit = "K"
        readings.source.note(CONVERTED)
        _take_reading(readings, fields, stamp, device)
    else:
        if "mn" in fields or any(_kind(key) == "limit_kelvin" for key in fields):
            for key, each in fields.items():
                if _kind(key) in ("limit_kelvin", "identity"):
                    readings.take(key, each)
        for key, inner in value.items():
            named = _named_device({"device": key}) or device
            _take(readings, tables, inner, stamp_in(str(key)) or stamp, named, depth + 1)


def _kind(key: str) -> str:
    return FIELDS[key].kind if key in FIELDS else ""


def _take_reading(readings: Readings, fields: Mapping[str, Any], stamp: str, device: str) -> None:
    readings.begin(device)
    readings.current.stamp = stamp or readings.current.stamp
    for key, each in fields.items():
        readings.take(key, each, starts=False)


# --- nvme-cli ---


def _is_health(fields: Mapping[str, Any]) -> bool:
    """Whether an object is a health log: it has a temperature and more, or a maker's own count."""
    known = fields.keys() & FIELDS.keys()
    others = {"critical warning", "avail spare"} & known
    is_counted = any(
        FIELDS[key].tells_heat_or_load and not key.startswith("temperature") for key in known
    )
    if isinstance(fields.get("temperature"), int | float | str) and (others or is_counted):
        return True
    return any(FIELDS[key].is_own_count for key in known)


def _named_device(value: Mapping[Any, Any]) -> str:
    for key in ("device", "dev", "devname", "disk", "drive", "DevicePath", "name", "node"):
        name = value.get(key)
        if isinstance(name, str) and _NVME.fullmatch(name):
            return f"/dev/{name.removeprefix('/dev/')}"
    return ""


# --- smartctl ---


def _take_smartctl(
    readings: Readings, tables: Tables, value: dict[str, Any], fields: Mapping[str, Any], stamp: str
) -> None:
    readings.bare_unit = "C"
    device = numbers.at(value, "device/name")
    tables.begin(device[:64] if isinstance(device, str) else "")
    now = numbers.count_of(numbers.at(value, "local_time/time_t"))
    if now is None or not 0 < now < 1e11:
        now = None
    readings.current.stamp = (f"{now:.0f}" if now else stamp) or readings.current.stamp
    version = numbers.at(value, "smartctl/version")
    if isinstance(version, list):
        readings.tools.setdefault("smartctl", ".".join(str(part)[:8] for part in version[:3]))
    sector = numbers.count_of(value.get("logical_block_size"))
    readings.sector_bytes = sector if sector and 256 <= sector <= 65536 else 512.0
    if isinstance(passed := numbers.at(value, "smart_status/passed"), bool):
        readings.value("failed", float(not passed), starts=False)
    health = value.get("nvme_smart_health_information_log")
    readings.main = "composite"
    for key, each in fields.items():
        readings.take(key, each, starts=False)
    if isinstance(health, dict):
        for key, each in health.items():
            readings.take(plain(key), each, starts=False)
        if not any("transition" in key for key in health):
            readings.source.note(_NO_TRANSITIONS)
        sensors = health.get("temperature_sensors")
        for index, celsius in enumerate(sensors[:8] if isinstance(sensors, list) else [], 1):
            readings.take(f"temperature sensor {index}", celsius, starts=False)
    for place in PLACES:
        if (found := numbers.at(value, place)) is not None:
            readings.take(place, found, starts=False)
    tables.take_document(value, now)
    if current := numbers.count_of(numbers.at(value, "temperature/current")):
        is_nvme = isinstance(health, dict) or numbers.at(value, "device/protocol") == "NVMe"
        readings.value(f"temp_c.{'composite' if is_nvme else 'drive'}", current, starts=False)


# --- lm-sensors: only drives are read, NVMe and, by the kernel's drivetemp, SATA and SCSI ---

_BUSES = "pci|isa|i2c|spi|virtual|acpi|hid|mdio|scsi|platform"
CHIP = re.compile(rf"([A-Za-z]\w{{0,40}})-(?:{_BUSES})-[0-9a-f-]{{1,12}}", re.ASCII)
#: What chips of drives are called, and what their temperature is where it has no name.
DRIVES = {"nvme": "composite", "drivetemp": "drive"}
_LIMITS = {"high": "warning_c", "max": "warning_c", "crit": "critical_c"}


def begin_chip(readings: Readings, chip: re.Match[str]) -> str:
    """Start the reading of a drive's chip; return what kind of chip it is."""
    if chip[1] in DRIVES:
        readings.begin(chip[0])
        readings.main = DRIVES[chip[1]]
    return chip[1]


def take_chip_part(readings: Readings, label: str, part: str, value: Any) -> None:
    """Take a part of a chip's temperature: ``input``, ``max``, ``crit``, in Celsius."""
    is_main = label in ("Composite", "temp1")
    if part == "input":
        readings.bare_unit = "C"
        readings.take(plain(label), value)
    elif is_main and part in _LIMITS:
        readings.threshold(_LIMITS[part], degrees_c(value, readings.bare_unit))


def _take_chip(readings: Readings, chip: re.Match[str], features: Any, stamp: str) -> None:
    if begin_chip(readings, chip) not in DRIVES or not isinstance(features, dict):
        return
    readings.current.stamp = stamp or readings.current.stamp
    for label, parts in features.items():
        for key, each in parts.items() if isinstance(parts, dict) else ():
            take_chip_part(readings, label, key.partition("_")[2], each)


# --- PowerShell ---

_OF_WINDOWS = {"poweronhours", "readlatencymax", "temperaturemax", "wear", "readerrorsuncorrected"}


def is_record(fields: Mapping[str, Any]) -> bool:
    """Whether these are what Windows knows of a drive, by its words in lower case."""
    is_named = "deviceid" in fields or "friendlyname" in fields
    return is_named and ("temperature" in fields or not _OF_WINDOWS.isdisjoint(fields))


def take_record(readings: Readings, fields: Mapping[str, Any], stamp: str = "") -> None:
    """Take a record, which has 0 for what the drive does not tell."""
    if not is_record(fields):
        return
    readings.main, readings.bare_unit = "drive", "C"
    number = str(fields.get("deviceid", "")).strip()
    device = f"disk {number}" if number else str(fields.get("friendlyname"))
    stamp = stamp or readings.stamp_among(fields)
    told = {key: each for key, each in fields.items() if str(each).strip() not in ("", "0")}
    _take_reading(readings, told, stamp, device[:64])
    readings.identity("path", device[:64])
    readings.ascribe(device[:64])
