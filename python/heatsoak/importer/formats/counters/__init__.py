"""What a drive tells of itself, once or again and again: SMART, health logs, sensors.

smartctl (NVMe, ATA, SCSI), nvme-cli and FreeBSD's nvmecontrol, smartd, lm-sensors and PowerShell.
Modules here know a form, text or JSON; pages, as the drive itself gives them, are read here.
"""

import math
import re
import struct
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

from heatsoak.importer.formats import Format
from heatsoak.importer.formats.counters.documents import (
    CHIP,
    CONVERTED,
    NVME,
    SMARTCTL,
    Tables,
    is_record,
    take_documents,
)
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
from heatsoak.importer.readings import DATA_UNIT_MB, Readings, plain, stamp_in
from heatsoak.importer.source import Source
from heatsoak.recording import UNREAD
from heatsoak.sensor.nvme import parse_health_log, parse_kelvins
from heatsoak.sensor.nvme_admin import LOG_SIZE

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
        readings.source.note(_LEFT_OUT[name])
    if (drive := _SMARTD_FILE.fullmatch(Path(source.name).name)) is not None:
        readings.identity("model", drive[1])
        readings.identity("serial", drive[2])
    if sum(map(math.isfinite, tables.history.celsius)) > 1:
        if readings.count < 2:
            return [history_log(readings, tables.history)]
        readings.source.note("the drive's own history of temperatures (SCT) was left out")
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

# --- pages: the health log as the drive gives it, raw or dumped as hex ---------------------------

#: Counters of a page, from its byte 32 on, 16 bytes each.
_COUNTERS = (
    ("read_bw_mb_s", DATA_UNIT_MB),
    ("write_bw_mb_s", DATA_UNIT_MB),
    ("read_iops", 1.0),
    ("write_iops", 1.0),
)
_HEX_LINE = re.compile(
    r"\s*([0-9a-f]{3,8}):?((?:\s{1,2}[0-9a-f]{2}){1,16}|(?:\s{1,2}[0-9a-f]{4}){1,8})(?![0-9a-f])",
    re.IGNORECASE,
)
_MAX_LINE, _PRINTED_BYTES = 400, 232


def pages_of(source: Source) -> Iterator[bytes] | None:
    """Return the pages of a file, be they raw or dumped; None for one that does not begin so."""
    head = source.head
    if len(head) >= LOG_SIZE and len(head) % LOG_SIZE == 0 and _is_page(head[:LOG_SIZE]):
        return _pages(source.chunks())
    first = next(_dumped(source.head_lines[:80]), None)
    if first is None or not _is_page(first):
        return None
    return _dumped(line for _, line in source.lines())


def take_pages(readings: Readings, pages: Iterable[bytes]) -> None:
    """Take the pages as readings; what is no health log is left out, and counted."""
    odd = 0
    for page in pages:
        if not _is_page(page):
            odd += 1
            continue
        readings.begin()
        celsius = {name: kelvin - 273.0 for name, kelvin in parse_kelvins(page).items()}
        for column, value in (parse_health_log(page) | celsius).items():
            readings.value(column, value)
        counts = struct.unpack_from("<QQQQQQQQ", page, 32)[::2]
        for (name, scale), count in zip(_COUNTERS, counts, strict=True):
            readings.value(name, count * scale)
        readings.value("critical_warning", page[0])
        readings.value("power_on_h", int.from_bytes(page[128:144], "little"))
    if odd:
        readings.source.remark(f"{odd} pages are not health logs: left out", UNREAD)
    readings.source.note(CONVERTED)


def _is_page(page: bytes) -> bool:
    composite = int.from_bytes(page[1:3], "little")
    sensors = struct.unpack_from("<8H", page, 200)
    upper_halves = [page[at + 8 : at + 16] for at in range(32, 192, 16)]
    return (
        200 < composite < 450
        and page[3] <= 100
        and page[4] <= 100
        and not any(page[7:32])
        and not any(map(any, upper_halves))
        and all(kelvin == 0 or 200 < kelvin < 450 for kelvin in sensors)
    )


def _pages(chunks: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        rest += chunk
        whole_pages = len(rest) - len(rest) % LOG_SIZE
        for at in range(0, whole_pages, LOG_SIZE):
            yield rest[at : at + LOG_SIZE]
        rest = rest[whole_pages:]


def _dumped(lines: Iterable[str]) -> Iterator[bytes]:
    """The pages that `hexdump -C`, `xxd` or `nvme get-log` printed."""
    page, filled, last = bytearray(LOG_SIZE), 0, b""
    for line in lines:
        match = _HEX_LINE.match(line[:_MAX_LINE])
        if match is None:
            continue
        at, data = int(match.group(1), 16), bytes.fromhex("".join(match.group(2).split()))
        if at == 0 and filled >= _PRINTED_BYTES:
            yield bytes(page)
        if at == 0:
            page, filled, last = bytearray(LOG_SIZE), 0, b""
        if at > filled and len(last) == 16:  # lines that say the same stand as one asterisk
            page[filled:at] = (last * LOG_SIZE)[: max(0, min(at, LOG_SIZE) - filled)]
        if at + len(data) <= LOG_SIZE:
            page[at : at + len(data)] = data
            filled, last = at + len(data), data
    if filled >= _PRINTED_BYTES:
        yield bytes(page)
