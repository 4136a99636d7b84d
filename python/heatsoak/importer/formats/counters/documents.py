"""Readings as JSON: of smartctl, nvme-cli, lm-sensors and PowerShell, however loggers nest them."""

import re
from collections.abc import Mapping
from typing import Any

from heatsoak.importer.fields import FIELDS, PLACES, plain
from heatsoak.importer.formats.counters.attributes import Tables
from heatsoak.importer.lenient import at
from heatsoak.importer.readings import Readings, degrees_c, json_number, stamp_in

_MAX_DEPTH = 8
#: Keys of smartctl's documents.
SMARTCTL = (
    "nvme_smart_health_information_log",
    "smartctl",
    "ata_smart_attributes",
    "ata_sct_status",
    "available_spare_threshold",
    "scsi_error_counter_log",
    "scsi_version",
)
#: Keys of nvme-cli's health logs.
NVME = (
    "critical_warning",
    "avail_spare",
    "spare_thresh",
    "percent_used",
    "data_units_written",
    "temperature_sensor_1",
    "thm_temp1_trans_count",
)
CONVERTED = "temperatures in kelvin were converted to Celsius by subtracting 273"
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
            if isinstance(node := at(one, "DevicePath"), str):
                readings.of_drive(node, {plain(key): each for key, each in one.items()})
    elif chips := [chip for key in value if (chip := CHIP.fullmatch(str(key))) is not None]:
        for chip in chips:
            _take_chip(readings, chip, value[chip.string], stamp)
    elif is_record(fields):
        take_record(readings, fields, stamp)
    elif _is_health(fields):
        readings.bare_unit = "K"
        readings.remark(CONVERTED)
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
    """Whether an object is a health log: it has a temperature, and more."""
    others = {"critical warning", "avail spare"} & fields.keys()
    is_counted = any(
        FIELDS[key].tells_heat_or_load and not key.startswith("temperature")
        for key in fields.keys() & FIELDS.keys()
    )
    return isinstance(fields.get("temperature"), int | float | str) and bool(others or is_counted)


def _named_device(value: Mapping[Any, Any]) -> str:
    for key in ("device", "dev", "devname", "disk", "drive", "DevicePath", "name", "node"):
        name = value.get(key)
        if isinstance(name, str) and _NVME.fullmatch(name):
            return f"/dev/{name.removeprefix('/dev/')}"
    return ""


# --- smartctl ---


def _take_smartctl(
    readings: Readings,
    tables: Tables,
    value: dict[str, Any],
    fields: Mapping[str, Any],
    stamp: str,
) -> None:
    readings.bare_unit = "C"
    device = at(value, "device/name")
    tables.begin(device[:64] if isinstance(device, str) else "")
    now = json_number(at(value, "local_time/time_t"))
    if now is None or not 0 < now < 1e11:
        now = None
    readings.current.stamp = (f"{now:.0f}" if now else stamp) or readings.current.stamp
    version = at(value, "smartctl/version")
    if isinstance(version, list):
        readings.tools.setdefault("smartctl", ".".join(str(part)[:8] for part in version[:3]))
    sector = json_number(value.get("logical_block_size"))
    readings.sector_bytes = sector if sector and 256 <= sector <= 65536 else 512.0
    if isinstance(passed := at(value, "smart_status/passed"), bool):
        readings.value("failed", float(not passed), starts=False)
    health = value.get("nvme_smart_health_information_log")
    readings.main = "composite"
    for key, each in fields.items():
        readings.take(key, each, starts=False)
    if isinstance(health, dict):
        for key, each in health.items():
            readings.take(plain(key), each, starts=False)
        sensors = health.get("temperature_sensors")
        for index, celsius in enumerate(sensors[:8] if isinstance(sensors, list) else [], 1):
            readings.take(f"temperature sensor {index}", celsius, starts=False)
    for place in PLACES:
        if (found := at(value, place)) is not None:
            readings.take(place, found, starts=False)
    tables.take_document(value, now)
    if current := json_number(at(value, "temperature/current")):
        is_nvme = isinstance(health, dict) or at(value, "device/protocol") == "NVMe"
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
