"""What a drive tells of itself, once or again and again: SMART, health logs, sensors.

smartctl (NVMe, ATA, SCSI), nvme-cli and FreeBSD's nvmecontrol, smartd, lm-sensors and PowerShell.
Modules here know a form: text, JSON, pages; `importer.fields` says what its fields are.
"""

import math
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from heatsoak.importer.fields import plain
from heatsoak.importer.format import Format
from heatsoak.importer.formats.counters.attributes import Tables
from heatsoak.importer.formats.counters.documents import CHIP, SMARTCTL, is_record, take_documents
from heatsoak.importer.formats.counters.page import pages_of, take_pages
from heatsoak.importer.formats.counters.text import (
    HEAD,
    PAIR,
    SMARTD,
    take_sensors,
    take_smartd,
    take_text,
    take_windows,
)
from heatsoak.importer.log import Log, Options
from heatsoak.importer.reading_logs import history_log, logs_of_readings
from heatsoak.importer.readings import Readings, stamp_in
from heatsoak.importer.source import Source

# --- whose a file is ---

_ATA_ALONE = re.compile(
    r"^\s{0,4}19[04] \w*Temperature\w*\s+(?:0x|[A-Z-]{6})"
    r"|^Temperature:\s{10,30}\d{1,3} Celsius|^Current Drive Temperature:\s{1,10}\d{1,3} C\b",
    re.MULTILINE,
)
_NVME_ALONE = re.compile(r"\btemperature\s{1,40}:\s{0,4}-?\d{1,3} ?\W{0,3}[CF]\b")
_NVME_JSON = (
    "critical_warning",
    "avail_spare",
    "spare_thresh",
    "percent_used",
    "data_units_written",
    "temperature_sensor_1",
    "thm_temp1_trans_count",
)
_CHIP_TEXT = re.compile(rf"^{CHIP.pattern}\s*\n(?:Adapter:|\S[^\n]{{0,60}}:\s)", re.MULTILINE)
_CHIP_JSON = re.compile(rf'"{CHIP.pattern}"\s*:\s*\{{')
_JSON_KEY = re.compile(r'"([^"\n]{1,80})"\s*:')


def _has_head(source: Source, *, of_smartctl: bool) -> bool:
    heads = map(HEAD.match, (line[:200] for line in source.head_lines[:400]))
    return any(head is not None and bool(head["version"]) == of_smartctl for head in heads)


def _has_keys(head: str, *keys: str) -> bool:
    return "{" in head and any(f'"{key}"' in head for key in keys)


def _is_smartctl(source: Source) -> bool:
    head = "\n".join(source.head_lines)
    is_known = _has_keys(head, *SMARTCTL) or _ATA_ALONE.search(head) is not None
    return is_known or _has_head(source, of_smartctl=True)


def _is_nvme(source: Source) -> bool:
    if pages_of(source) is not None:
        return True
    head = "\n".join(source.head_lines)
    if '"temperature"' in head.lower() and _has_keys(head, *_NVME_JSON):
        return True
    return _NVME_ALONE.search(head) is not None or _has_head(source, of_smartctl=False)


def _is_sensors(source: Source) -> bool:
    head = "\n".join(source.head_lines)
    return _CHIP_TEXT.search(head) is not None or _CHIP_JSON.search(head) is not None


def _is_smartd(source: Source) -> bool:
    shown = [line for line in source.head_lines[:20] if line.strip()]
    return bool(shown) and all(map(SMARTD.match, shown))


def _is_windows(source: Source) -> bool:
    """Whether a table's header, the lines of a list, or keys of JSON name what Windows knows."""
    lines = source.head_lines[:200]
    pairs = (PAIR.match(line) or _JSON_KEY.search(line) for line in lines)
    listed = {plain(pair[1]): "" for pair in pairs if pair is not None}
    keys = {plain(key): "" for key in _JSON_KEY.findall("\n".join(lines[:20]))}
    headers = ({plain(word): "" for word in line.split()} for line in lines if "," not in line)
    return is_record(listed) or is_record(keys) or any(map(is_record, headers))


# --- reading ---

#: The drive in the name of smartd's file.
_SMARTD_FILE = re.compile(r"attrlog\.(.+)-([^-.]+)\.\w+\.csv")
_LEFT_OUT = {
    "lm_sensors": "only the drives among lm-sensors' chips are read",
    "smartd": "of smartd's attributes only temperatures are read",
}
_NO_READING = {
    "lm_sensors": "is lm-sensors' output without any drive: its chips are named 'nvme-...', or "
    "'drivetemp-...' once 'modprobe drivetemp' was called",
    "smartd": "is smartd's attribute log of a drive that tells no temperature",
    "windows": "is PowerShell's output on drives of which Windows tells no temperature: "
    "'smartctl -a' asks them itself",
}


def _read(
    name: str, take: Callable[[Readings, Tables], None], source: Source, options: Options
) -> list[Log]:
    readings = Readings(source, options, name)
    tables = Tables(readings)
    after = ""
    if name == "nvme_smart" and (pages := pages_of(source)) is not None:
        take_pages(readings, pages)
    elif any(_JSON_KEY.search(line) for line in source.head_lines):
        take_documents(readings, tables)
        after = _last_stamp(source) if readings.lacks_first_stamp else ""
    else:
        take(readings, tables)
    if name in _NO_READING and not readings.count:
        raise source.error(_NO_READING[name])
    if name in _LEFT_OUT:
        readings.remark(_LEFT_OUT[name])
    if (drive := _SMARTD_FILE.fullmatch(Path(source.name).name)) is not None:
        readings.identity("model", drive[1])
        readings.identity("serial", drive[2])
    if sum(map(math.isfinite, tables.history.celsius)) > 1:
        if readings.count < 2:
            return [history_log(readings, tables.history)]
        readings.remark("the drive's own history of temperatures (SCT) was left out")
    return logs_of_readings(readings, after)


def _last_stamp(source: Source) -> str:
    """Return the time that stands behind the last document."""
    stamp = ""
    for _, line in source.lines():
        found = stamp_in(line) if line[:1] not in ' \t{}[]"' else None
        stamp = found or ("" if line.startswith("}") else stamp)
    return stamp


SMARTD_LOG = Format(
    "smartd", "smartd's attribute log", _is_smartd, partial(_read, "smartd", take_smartd), 35
)
SMARTCTL_OUTPUT = Format(
    "smartctl", "smartctl", _is_smartctl, partial(_read, "smartctl", take_text), 40
)
NVME = Format(
    "nvme_smart", "nvme-cli smart-log", _is_nvme, partial(_read, "nvme_smart", take_text), 50
)
SENSORS = Format(
    "lm_sensors",
    "lm-sensors' output (sensors, sensors -j)",
    _is_sensors,
    partial(_read, "lm_sensors", take_sensors),
    60,
)
WINDOWS = Format(
    "windows",
    "PowerShell's Get-StorageReliabilityCounter",
    _is_windows,
    partial(_read, "windows", take_windows),
    65,
)
