"""What a drive tells of itself, once or again and again: SMART, health logs, sensors.

smartctl (NVMe, ATA, SCSI), nvme-cli and FreeBSD's nvmecontrol, smartd, lm-sensors and PowerShell.
Text and pages, as the drive itself gives them, are read here, and JSON in `documents`.
"""

import math
import re
import struct
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path

from heatsoak.importer.formats import Format
from heatsoak.importer.formats.counters import documents
from heatsoak.importer.log import Log, Options
from heatsoak.importer.numbers import count_of
from heatsoak.importer.reading_logs import history_log, logs_of_readings
from heatsoak.importer.readings import (
    DATA_UNIT_MB,
    FIELDS,
    Readings,
    TemperatureHistory,
    degrees_c,
    plain,
    stamp_in,
    without_escapes,
)
from heatsoak.importer.source import Source
from heatsoak.recording import UNREAD
from heatsoak.sensor.nvme import parse_health_log, parse_kelvins
from heatsoak.sensor.nvme_admin import LOG_SIZE

# --- text, line by line ---

_MAX_LINE = 400
#: The first line of a reading: smartctl's, nvme-cli's, FreeBSD's.
_HEAD_OF_SMARTCTL = r"(?P<time>(?:.{0,80}\s)?)smartctl (?P<version>\d{1,3}\.\d{1,4}(?:\.\d{1,4})?) "
_HEAD = re.compile(
    _HEAD_OF_SMARTCTL
    + r"|(?P<before>.{0,200}?)(?i:Smart Log for NVME device:)\s{0,4}(?P<device>\S{0,64})"
    r"|SMART/Health Information Log"
)
#: Fields behind other words in their line, as `ts` and loggers put them.
_PREFIXED = re.compile(
    r"(.{1,80}?[\s,;|>\])\"'])("
    + "|".join(
        re.escape(name).replace(r"\ ", "[ _]")
        for name in sorted(FIELDS, key=len, reverse=True)
        if FIELDS[name].tells_heat_or_load or FIELDS[name].kind in ("health", "other")
    )
    + r")\s{0,40}:(.*)",
    re.IGNORECASE,
)
_FEATURE = re.compile(
    r"get-feature:(?:0x0?10|16)\b.{0,80}[Vv]alue:\s{0,4}(?:0x)?([0-9a-f]{1,8})\b", re.IGNORECASE
)
_SECTOR = re.compile(r"\s*(\d{3,5}) bytes")


def _take_text(readings: Readings, tables: documents.Tables) -> None:
    listed: list[str] = []
    for number, line in _lines(readings.source):
        key, colon, text = line.partition(":")
        if (head := _HEAD.match(line)) is not None:
            _begin(readings, tables, head)
        elif (colon and _take_field(readings, tables, plain(key), text, number)) or (
            tables.take_row(line)
        ):
            pass
        elif _RULE.fullmatch(line):
            listed = [line]
        elif listed and line.startswith("/dev/"):  # `nvme list`: (generic), serial, model, ...
            node, *others = (cell for cell in _cells(line, listed[0]) if "/dev/ng" not in cell)
            if len(others) > 1:
                told = {"sn": others[0], "mn": others[1], "fr": others[-1]}
                readings.of_drive(node, told)
        elif (feature := _FEATURE.search(line)) is not None:
            # host controlled thermal management: both temperatures in one number, in kelvin
            both = int(feature[1], 16)
            for name, kelvin in (("tmt1_c", both >> 16), ("tmt2_c", both & 0xFFFF)):
                readings.threshold(name, degrees_c(kelvin, "K"))
        elif readings.name == "nvme_smart" and (found := _PREFIXED.match(line)) is not None:
            readings.stamped(found[1], found[2].lower() == "temperature")
            readings.take(plain(found[2]), found[3], number)
        else:
            readings.line(line)


def _lines(source: Source) -> Iterator[tuple[int, str]]:
    for number, line in source.lines():
        yield number, without_escapes(line)[:_MAX_LINE]


def _begin(readings: Readings, tables: documents.Tables, head: re.Match[str]) -> None:
    if head["version"] is not None:
        tables.begin()
        readings.stamped(head["time"])
        readings.tools.setdefault("smartctl", head["version"])
    else:
        name = head["device"] or ""
        readings.begin(f"/dev/{name.removeprefix('/dev/')}" if name else "")
        readings.stamped(head["before"] or "")


def _take_field(
    readings: Readings, tables: documents.Tables, key: str, text: str, line: int
) -> bool:
    if key == "local time is":
        readings.current.stamp = stamp_in(text) or readings.current.stamp
    elif key == "temperature logging interval":
        tables.history = TemperatureHistory.every(count_of(text))
    elif key == "min/max temperature limit":
        readings.threshold("critical_c", degrees_c(text.rpartition("/")[2]))
    elif key in ("sector size", "sector sizes", "logical block size"):
        match = _SECTOR.match(text)
        readings.sector_bytes = float(match[1]) if match else readings.sector_bytes
    else:
        # an output tells each once: another is another output, though its first lines are gone
        is_temperature = key in FIELDS and FIELDS[key].kind == "temperature"
        starts = key != "current temperature" if is_temperature else not tables.has_headers
        if not readings.take(key, text, line, starts=starts):
            return False
        if key == "serial number":
            readings.numbered(text.strip()[:64])
    return True


# --- smartd -A: a line each half hour, in UTC ---

_SMARTD = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d);((?:\s*[\w-]+;[\d;-]+)+)\s*$", re.ASCII)
#: ATA's attributes are a number, a normalized and a raw value; those of others a name and a value.
_LOGGED = re.compile(r"\b(19[04]);\d+;(\d+);|(?<=\s)(?:temperature);(\d+);", re.ASCII | re.I)


def _take_smartd(readings: Readings, _tables: documents.Tables) -> None:
    """Take the temperatures of smartd's log: what else it has differs between vendors."""
    for _, line in readings.source.kept_lines():
        if (match := _SMARTD.match(line)) is None:
            continue
        readings.begin()
        readings.current.stamp = f"{match[1]}Z"
        told = {
            number: int(raw or value) & 0xFF for number, raw, value in _LOGGED.findall(match[2])
        }
        # above the low byte vendors keep the lowest and the highest so far
        drive_c = told.get("194", told.get(""))
        readings.value("temp_c.drive", told.get("190") if drive_c is None else drive_c)
        readings.value("temp_c.airflow", None if drive_c is None else told.get("190"))


# --- lm-sensors ---

_OF_A_CHIP = re.compile(r"[^:]{1,60}:(?:\s|$)|\(")
_PART = re.compile(r"temp\d{1,2}_([a-z_]{1,20})")
_LIMIT = re.compile(r"\b(high|crit)\s*=\s*([^,)]{1,20})")


def _take_sensors(readings: Readings, _tables: documents.Tables) -> None:
    """Take the drives among lm-sensors' chips, of `sensors` and of `sensors -u`."""
    kind, label = "", ""
    for _, line in _lines(readings.source):
        text = line.strip()
        key, colon, rest = text.partition(":")
        if (chip := documents.CHIP.fullmatch(text)) is not None:
            kind = documents.begin_chip(readings, chip)
        elif not text or not kind or _OF_A_CHIP.match(text) is None:
            kind = ""
            readings.line(text)
        elif kind in documents.DRIVES and (part := _PART.fullmatch(key)) is not None:
            documents.take_chip_part(readings, label, part[1], rest)
        elif kind in documents.DRIVES:
            label = key if colon else label
            if rest:
                readings.take(plain(label), rest.partition("(")[0])
            for name, limit in _LIMIT.findall(text):
                documents.take_chip_part(readings, label, name, limit)


# --- PowerShell: Get-PhysicalDisk | Get-StorageReliabilityCounter ---

_PAIR = re.compile(r"\s{0,40}([A-Za-z]\w{1,40})\s*: ?(.*)")
_RULE = re.compile(r"-{2,}(?: +-{2,})+\s*")


def _take_windows(readings: Readings, _tables: documents.Tables) -> None:
    """Take records as a table below a rule of dashes, or as a list with a line for each value."""
    record: dict[str, str] = {}
    names: list[str] = []
    above = rule = ""
    for _, line in _lines(readings.source):
        pair = _PAIR.match(line)
        if rule and line.strip():
            documents.take_record(readings, dict(zip(names, _cells(line, rule), strict=True)))
        elif _RULE.fullmatch(line):
            rule, names = line, list(map(plain, _cells(above, line)))
        elif pair is not None:
            record[plain(pair[1])] = pair[2].strip()
        else:
            documents.take_record(readings, record)
            record, rule = {}, ""
            readings.line(line)
        above = line
    documents.take_record(readings, record)


def _cells(line: str, rule: str) -> list[str]:
    """The cells of a row, whose columns begin with the dashes in `rule`, or end with them."""
    starts = [min(found.start(), len(line)) for found in re.finditer("-+", rule)]
    for index, at in enumerate(starts[1:], 1):
        while at > starts[index - 1] and not line[at - 1].isspace():
            at -= 1
        starts[index] = at
    return [line[a:b].strip() for a, b in pairwise((*starts, len(line)))]


# --- whose a file is ---

#: What stands in the head of a file.
_MARKS = {
    "smartctl": rf'^{_HEAD_OF_SMARTCTL}|"(?:{"|".join(documents.SMARTCTL)})"'
    r"|^\s{0,4}19[04] \w*Temperature\w*\s+(?:0x|[A-Z-]{6})"
    r"|^Temperature:\s{10,30}\d{1,3} Celsius|^Current Drive Temperature:\s{1,10}\d{1,3} C\b",
    "nvme_smart": r"(?i:Smart Log for NVME device:)|SMART/Health Information Log"
    r"|\btemperature\s{1,40}:\s{0,4}-?\d{1,3} ?\W{0,3}[CF]\b"
    rf'|\A(?=[\s\S]*"(?i:temperature)")[\s\S]*?"(?:{"|".join(documents.NVME)})"',
    "lm_sensors": rf"^{documents.CHIP.pattern}\s*\n(?:Adapter:|\S[^\n]{{0,60}}:\s)"
    rf'|"{documents.CHIP.pattern}"\s*:\s*\{{',
}
_JSON_KEY = re.compile(r'"([^"\n]{1,80})"\s*:')


def _has_mark(name: str, source: Source) -> bool:
    if name == "smartd":
        shown = [line for line in source.head_lines[:20] if line.strip()]
        return bool(shown) and all(map(_SMARTD.match, shown))
    if name == "windows":
        return _is_windows(source)
    if name == "nvme_smart" and _pages_of(source) is not None:
        return True
    return re.search(_MARKS[name], "\n".join(source.head_lines), re.MULTILINE) is not None


def _is_windows(source: Source) -> bool:
    """Whether a table's header, the lines of a list, or keys of JSON name what Windows knows."""
    lines = source.head_lines[:200]
    pairs = (_PAIR.match(line) for line in lines)
    listed = [pair[1] for pair in pairs if pair is not None]
    headers = (line.split() for line in lines if "," not in line)
    named = (listed, _JSON_KEY.findall("\n".join(lines)), *headers)
    return any(documents.is_record(dict.fromkeys(map(plain, names))) for names in named)


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
    name: str, take: Callable[[Readings, documents.Tables], None], source: Source, options: Options
) -> list[Log]:
    readings = Readings(source, options, name)
    tables = documents.Tables(readings)
    if name == "nvme_smart" and (pages := _pages_of(source)) is not None:
        _take_pages(readings, pages)
    elif any(_JSON_KEY.search(line) for line in source.head_lines):
        documents.take_documents(readings, tables)
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
    return logs_of_readings(readings)


def _format(
    name: str, title: str, take: Callable[[Readings, documents.Tables], None], priority: int
) -> Format:
    return Format(name, title, partial(_has_mark, name), partial(_read, name, take), priority)


SMARTD_LOG = _format("smartd", "smartd's attribute log", _take_smartd, 35)
SMARTCTL_OUTPUT = _format("smartctl", "smartctl", _take_text, 40)
NVME_CLI = _format("nvme_smart", "nvme-cli smart-log", _take_text, 50)
SENSORS = _format("lm_sensors", "lm-sensors' output (sensors, sensors -j)", _take_sensors, 60)
WINDOWS = _format("windows", "PowerShell's Get-StorageReliabilityCounter", _take_windows, 65)

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
_PRINTED_BYTES = 232


def _pages_of(source: Source) -> Iterator[bytes] | None:
    """Return the pages of a file, be they raw or dumped; None for one that does not begin so."""
    head = source.head
    if len(head) >= LOG_SIZE and len(head) % LOG_SIZE == 0 and _is_page(head[:LOG_SIZE]):
        return _pages(source.chunks())
    first = next(_dumped(source.head_lines[:80]), None)
    if first is None or not _is_page(first):
        return None
    return _dumped(line for _, line in source.lines())


def _take_pages(readings: Readings, pages: Iterable[bytes]) -> None:
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
    readings.source.note(documents.CONVERTED)


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
