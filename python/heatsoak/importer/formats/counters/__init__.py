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
from heatsoak.importer.formats.counters.documents import (
    CHIP,
    NVME,
    SMARTCTL,
    is_record,
    take_documents,
)
from heatsoak.importer.formats.counters.page import pages_of, take_pages
from heatsoak.importer.formats.counters.text import (
    HEAD_OF_SMARTCTL,
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

#: What stands in the head of a file.
_MARKS = {
    "smartctl": rf'^{HEAD_OF_SMARTCTL}|"(?:{"|".join(SMARTCTL)})"'
    r"|^\s{0,4}19[04] \w*Temperature\w*\s+(?:0x|[A-Z-]{6})"
    r"|^Temperature:\s{10,30}\d{1,3} Celsius|^Current Drive Temperature:\s{1,10}\d{1,3} C\b",
    "nvme_smart": r"(?i:Smart Log for NVME device:)|SMART/Health Information Log"
    r"|\btemperature\s{1,40}:\s{0,4}-?\d{1,3} ?\W{0,3}[CF]\b"
    rf'|\A(?=[\s\S]*"(?i:temperature)")[\s\S]*?"(?:{"|".join(NVME)})"',
    "lm_sensors": rf"^{CHIP.pattern}\s*\n(?:Adapter:|\S[^\n]{{0,60}}:\s)"
    rf'|"{CHIP.pattern}"\s*:\s*\{{',
}
_JSON_KEY = re.compile(r'"([^"\n]{1,80})"\s*:')


def _has_mark(name: str, source: Source) -> bool:
    if name == "nvme_smart" and pages_of(source) is not None:
        return True
    return re.search(_MARKS[name], "\n".join(source.head_lines), re.MULTILINE) is not None


def _is_smartd(source: Source) -> bool:
    shown = [line for line in source.head_lines[:20] if line.strip()]
    return bool(shown) and all(map(SMARTD.match, shown))


def _is_windows(source: Source) -> bool:
    """Whether a table's header, the lines of a list, or keys of JSON name what Windows knows."""
    lines = source.head_lines[:200]
    pairs = (PAIR.match(line) for line in lines)
    listed = [pair[1] for pair in pairs if pair is not None]
    headers = (line.split() for line in lines if "," not in line)
    named = (listed, _JSON_KEY.findall("\n".join(lines)), *headers)
    return any(is_record(dict.fromkeys(map(plain, names))) for names in named)


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


def _format(
    name: str,
    title: str,
    take: Callable[[Readings, Tables], None],
    priority: int,
    recognises: Callable[[Source], bool] | None = None,
) -> Format:
    recognises = recognises or partial(_has_mark, name)
    return Format(name, title, recognises, partial(_read, name, take), priority)


SMARTD_LOG = _format("smartd", "smartd's attribute log", take_smartd, 35, _is_smartd)
SMARTCTL_OUTPUT = _format("smartctl", "smartctl", take_text, 40)
NVME_CLI = _format("nvme_smart", "nvme-cli smart-log", take_text, 50)
SENSORS = _format("lm_sensors", "lm-sensors' output (sensors, sensors -j)", take_sensors, 60)
WINDOWS = _format(
    "windows", "PowerShell's Get-StorageReliabilityCounter", take_windows, 65, _is_windows
)
