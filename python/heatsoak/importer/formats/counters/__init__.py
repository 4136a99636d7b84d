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
from heatsoak.importer.numbers import count_of, number_of
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
from heatsoak.importer.tables import names_drive
from heatsoak.recording import UNREAD
from heatsoak.sensor.nvme import parse_health_log, parse_kelvins
from heatsoak.sensor.nvme_admin import LOG_SIZE

# --- text, line by line ---

_MAX_LINE = 400
#: The first line of a reading: smartctl's, nvme-cli's, FreeBSD's.
_HEAD_OF_SMARTCTL = r"(?P<time>(?:.{0,80}\s)?)smartctl (?P<version>\d{1,3}\.\d{1,4}(?:\.\d{1,4})?) "
_HEAD = re.compile(
    _HEAD_OF_SMARTCTL + r"|(?P<before>.{0,200}?)(?i:(?:Smart Log|Statistics) for NVME device\s?:)"
    r"\s{0,4}(?P<device>\S{0,64})"
    r"|SMART/Health Information Log"
)
#: Fields behind other words in their line, as `ts` and loggers put them: a time, a device, marks.
#: Words alone are a part of the name.
_PREFIXED = re.compile(
    r"(?![A-Za-z ]{1,80}:)(.{1,80}?[\s,;|>\])\"'])("
    + "|".join(
        re.escape(name).replace(r"\ ", "[ _]")
        for name in sorted(FIELDS, key=len, reverse=True)
        if FIELDS[name].tells_heat_or_load or FIELDS[name].kind in ("health", "other")
    )
    + r")\s{0,40}:(.*)",
    re.IGNORECASE,
)
#: A field in columns, without a colon, as plug-ins of nvme-cli print theirs; perhaps with a number.
_IN_COLUMNS = re.compile(r"\s*(?:0x[0-9a-f]{1,4}\s+)?([A-Za-z]\S*(?: \S+)*)(?:\s{2,}|\t)\s*(\S.*)")
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
        elif (
            (colon and _take_field(readings, tables, plain(key), text, number))
            or tables.take_row(line)
            or (
                (columns := _IN_COLUMNS.match(line)) is not None
                and _take_field(readings, tables, plain(columns[1]), columns[2], number)
            )
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
            readings.take("hctm support", int(both > 0))
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
    elif key == "thermal excursion event entry":
        tables.excursions += 1
        readings.current.values["over_limit_count"] = tables.excursions
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


_JOURNAL = re.compile(
    r"(?P<stamp>.{0,80}?\s)?smartd(?:\[\d{1,9}\])?: "
    r"Device: (?P<device>/dev/[^\s,]{1,60})(?P<said>.*)"
)
_SAID_BY_SMARTD = re.compile(
    r"emperature (?:changed [+-]?\d+ Celsius to |is )?(?P<temp>-?\d{1,3}) Celsius"
    r"|: 194 \w+ changed from .* to \d+ \[Raw (?P<raw>\d{1,3})"
    r"|Critical Warning \((?P<warning>0x[0-9a-fA-F]{1,2})\)|(?P<failed>FAILED SMART self-check)"
)


def _take_journal(readings: Readings, _tables: documents.Tables) -> None:
    """Take what smartd wrote into a system's journal."""
    for _, line in readings.source.kept_lines():
        found = _JOURNAL.match(line)
        said = None if found is None else _SAID_BY_SMARTD.search(found["said"])
        if found is None or said is None:
            continue
        readings.begin(found["device"])
        readings.current.stamp = stamp_in(found["stamp"] or "") or ""
        readings.value("temp_c.drive", count_of(said["temp"] or said["raw"]))
        readings.take("critical warning", said["warning"] or "")
        readings.take("smart health status", "failed" if said["failed"] else "")
        if (extremes := documents.EXTREMES.search(found["said"])) is not None:
            readings.take("lifetime min/max temperature", extremes[1])


# --- ipmitool's sensors ---

_IPMI = re.compile(
    r"(?P<name>[^|]{1,40}?)\s*\|(?:[^|]*\|){0,3}?\s*(?P<temp>-?\d{1,3}(?:\.\d+)?)"
    r"\s*\|?\s*degrees (?P<unit>[CF])\b"
)


def _take_ipmi(readings: Readings, _tables: documents.Tables) -> None:
    """Take the drives among the sensors of a board, of `ipmitool sdr` and `ipmitool sensor`."""
    for _, line in _lines(readings.source):
        if (found := _IPMI.match(line)) is None:
            readings.line(line)
        elif names_drive(found["name"]):
            readings.begin(found["name"])
            readings.value("temp_c.drive", degrees_c(f"{found['temp']} {found['unit']}"))


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


# --- CrystalDiskInfo: a list of facts of each drive, then its attributes in hexadecimal ---

_INFO = re.compile(r"CrystalDiskInfo \d")
_HEX_ATTRIBUTE = re.compile(
    r"\s*([0-9A-F]{2})(?: [\d_ -]{3} [\d_ -]{3} [\d_ -]{3})? ([0-9A-F]{12,28})(?: (.*))?"
)
#: What the numbers of an NVMe drive's attributes are, whatever the language; then ATA's.
_OF_NVME = {
    1: "critical warning", 2: "composite temperature", 6: "data units read",
    7: "data units written", 8: "host read commands", 9: "host write commands",
    12: "power on hours",
}  # fmt: skip
_OF_ATA = {9: "power on hours", 190: "temperature", 194: "temperature"}


def _take_info(readings: Readings, tables: documents.Tables) -> None:
    """Take CrystalDiskInfo's text of each drive."""
    for _, line in _lines(readings.source):
        key, colon, text = line.partition(" : ")
        key = plain(key)
        if colon and key == "model":
            tables.begin(text.strip()[:64])
            readings.bare_unit = "K"
        if colon and key not in ("host reads", "host writes"):
            readings.take("friendlyname" if key == "model" else key, text, starts=False)
        elif (found := _HEX_ATTRIBUTE.fullmatch(line)) is not None:
            is_nvme = line.split()[1] == found[2]
            at, raw = int(found[1], 16), int(found[2], 16)
            if is_nvme:
                readings.take(_OF_NVME.get(at, plain(found[3] or "")), raw, starts=False)
            elif at == 194:  # the low word is of now; the others of the past, where they are there
                now, *others = (raw >> shift & 0xFFFF for shift in (0, 16, 32))
                readings.take("current temperature", now & 0xFF, starts=False)
                if min(others) <= now <= max(others) < 0xFF:
                    readings.take("highest temperature", max(others))
            elif at in _OF_ATA:
                readings.take(_OF_ATA[at], raw & 0xFFFFFFFF, starts=False)


# --- exporters of metrics ---

_METRIC = re.compile(
    r"(?P<name>(?:smartctl|smartmon|nvme|node_hwmon_temp)_\w{1,80}?)"
    r"(?:_(?:celsius|total|raw_value|hours|minutes))*\{(?P<labels>[^}]{0,800})\} "
    r"(?P<value>\S{1,40})(?: (?P<stamp>\d{9,13}))?"
)
_LABEL = re.compile(r'(\w{1,60})="((?:[^"\\]|\\.){0,200})"')
#: Whose a value is, and what else tells what it is.
_WHOSE = ("device", "disk", "chip", "serial_number")
_KINDS = ("temperature_type", "sensor", "attribute_name")
_SENSORS = {"temp1": "composite"} | {f"temp{n + 1}": f"sensor {n}" for n in range(1, 9)}


def _take_metrics(readings: Readings, tables: documents.Tables) -> None:
    """Take scrapes of smartctl_exporter, smartmon.sh, nvme_exporter and node_exporter's hwmon.

    Values of a drive are spread over a scrape: another one begins where a value comes again.
    """
    scrape: dict[tuple[str, str], tuple[dict[str, str], str]] = {}

    def end() -> None:
        for device in dict.fromkeys(device for device, _ in scrape):
            tables.begin(device)
            readings.bare_unit = "K"
            for (of, key), (labels, value) in scrape.items():
                if of == device:
                    _take_metric(readings, tables, key, labels, value)
        scrape.clear()

    for _, line in readings.source.kept_lines():
        if (found := _METRIC.match(line)) is None:
            if scrape and not line.startswith("#") and stamp_in(line):
                end()
            readings.line(line)
            continue
        labels = dict(_LABEL.findall(found["labels"]))
        device = next((labels[name] for name in _WHOSE if name in labels), "")
        if "chip" in labels and not re.match("nvme|drivetemp", device):
            continue
        name = re.sub(r"^(?:smartctl_device|smartctl|smartmon|nvme|node_hwmon)_", "", found["name"])
        words = [name, *(labels[kind] for kind in _KINDS if kind in labels)]
        key = " ".join(words[1:] if "chip" in labels else words)
        if (device, key) in scrape:
            end()
        if found["stamp"] and not readings.stamp:
            readings.stamp = found["stamp"]
        scrape[device, key] = labels, found["value"]
    end()


def _take_metric(
    readings: Readings, tables: documents.Tables, key: str, labels: dict[str, str], value: str
) -> None:
    number, name = number_of(value), plain(key)
    if "attribute_id" in labels:
        if labels.get("attribute_value_type") == "raw" and labels["attribute_id"].isdigit():
            named = labels.get("attribute_name", "")
            tables.attribute(int(labels["attribute_id"]), named, f"{number:.0f}")
    elif name in ("smart status", "device smart healthy"):
        readings.value("failed", float(not number), starts=False)
    elif name == "power on seconds":
        readings.value("power_on_h", number / 3600.0, starts=False)
    else:
        readings.take(_SENSORS.get(name, name), number, starts=False)


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
    r"|get-feature:(?:0x0?10|16)\b|Thermal Excursion Event"
    r"|\btemperature\s{1,40}:\s{0,4}-?\d{1,3} ?\W{0,3}[CF]\b"
    rf'|\A(?=[\s\S]*"(?i:temperature)")[\s\S]*?"(?:{"|".join(documents.NVME)})"',
    "lm_sensors": rf"^{documents.CHIP.pattern}\s*\n(?:Adapter:|\S[^\n]{{0,60}}:\s)"
    rf'|"{documents.CHIP.pattern}"\s*:\s*\{{',
}
_LINES = {
    "smartd-journal": _JOURNAL, "ipmitool": _IPMI, "crystaldiskinfo": _INFO, "metrics": _METRIC,
}  # fmt: skip
_JSON_KEY = re.compile(r'"([^"\n]{1,80})"\s*:')


def _counts_heat(lines: Iterable[str]) -> bool:
    """Whether a line is a field of what only drives count of themselves, with its value.

    Of JSON only makers' counts are, and what is named as people are told: its rows may have NVMe's
    beside the rates of a load.
    """
    for line in (line[:_MAX_LINE] for line in lines):
        fields = [(key, FIELDS.get(plain(key))) for key in _JSON_KEY.findall(line)]
        if any(
            field.is_own_count if " " in key else field.is_makers_count
            for key, field in fields
            if field is not None
        ):
            return True
        key, _, text = line.partition(":")
        columns = _IN_COLUMNS.match(line)
        for name, value in ((key, text), columns.groups() if columns else ("", "")):
            field = FIELDS.get(plain(name))
            if field is not None and field.is_own_count and re.search(r"\d", value):
                return True
    return False


def _has_mark(name: str, source: Source) -> bool:
    if name == "smartd":
        shown = [line for line in source.head_lines[:20] if line.strip(" \t\0")]
        return bool(shown) and all(map(_SMARTD.match, shown))
    if name == "windows":
        return _is_windows(source)
    if name in _LINES:
        return any(_LINES[name].match(line[:_MAX_LINE]) for line in source.head_lines)
    if name == "nvme_smart" and (_pages_of(source) is not None or _counts_heat(source.head_lines)):
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
    "ipmitool": "only the drives among a board's sensors are read",
}
_NO_READING = {
    "lm_sensors": "is lm-sensors' output without any drive: its chips are named 'nvme-...', or "
    "'drivetemp-...' once 'modprobe drivetemp' was called",
    "smartd": "is smartd's attribute log of a drive that tells no temperature",
    "crystaldiskinfo": "is CrystalDiskInfo's text of no drive that tells a temperature: its folder "
    "'Smart' has each drive's Temperature.csv: --map time=1 --map temp_c=2",
    "metrics": "is a scrape without a drive's temperature: 'nvme smart-log' asks a drive",
    "smartd-journal": "is smartd's journal without a temperature: 'smartd -r 194 -W 1' writes them",
    "ipmitool": "is a board's list of sensors without any drive: 'nvme smart-log' asks a drive",
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
    elif name not in _LINES and any(_JSON_KEY.search(line) for line in source.head_lines):
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
SMARTD_JOURNAL = _format("smartd-journal", "smartd's lines in a journal", _take_journal, 35)
DISK_INFO = _format("crystaldiskinfo", "CrystalDiskInfo's text", _take_info, 35)
METRICS = _format("metrics", "metrics of drives, as exporters give them", _take_metrics, 45)
IPMITOOL = _format("ipmitool", "ipmitool's sensors", _take_ipmi, 60)
SMARTCTL_OUTPUT = _format("smartctl", "smartctl", _take_text, 40)
NVME_CLI = _format("nvme_smart", "nvme-cli smart-log", _take_text, 50)
SENSORS = _format("lm_sensors", "lm-sensors' output (sensors, sensors -j)", _take_sensors, 60)
WINDOWS = _format("windows", "PowerShell's Get-StorageReliabilityCounter", _take_windows, 65)

# --- pages: the health log as the drive gives it, raw or dumped as hex ---------------------------

#: Counters of a page, from its byte 32 on, 16 bytes each.
_COUNTERS = (
    ("read_bw_mb_s", DATA_UNIT_MB), ("write_bw_mb_s", DATA_UNIT_MB), ("read_iops", 1.0),
    ("write_iops", 1.0),
)  # fmt: skip
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
