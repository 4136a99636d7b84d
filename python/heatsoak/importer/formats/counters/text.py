"""Readings as text, line by line: smartctl, nvme-cli, nvmecontrol, smartd, sensors, PowerShell."""

import re
from collections.abc import Iterator
from itertools import pairwise

from heatsoak.importer.formats.counters.documents import (
    CHIP,
    DRIVES,
    Tables,
    begin_chip,
    take_chip_part,
    take_record,
)
from heatsoak.importer.numbers import count_of
from heatsoak.importer.readings import (
    FIELDS,
    History,
    Readings,
    degrees_c,
    plain,
    stamp_in,
    without_escapes,
)
from heatsoak.importer.source import Source

MAX_LINE = 400
#: The first line of a reading: smartctl's, nvme-cli's, FreeBSD's.
HEAD_OF_SMARTCTL = r"(?P<time>(?:.{0,80}\s)?)smartctl (?P<version>\d{1,3}\.\d{1,4}(?:\.\d{1,4})?) "
_HEAD = re.compile(
    HEAD_OF_SMARTCTL
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


def take_text(readings: Readings, tables: Tables) -> None:
    """Take the lines of smartctl, nvme-cli or nvmecontrol."""
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
        yield number, without_escapes(line)[:MAX_LINE]


def _begin(readings: Readings, tables: Tables, head: re.Match[str]) -> None:
    if head["version"] is not None:
        tables.begin()
        readings.stamped(head["time"])
        readings.tools.setdefault("smartctl", head["version"])
    else:
        name = head["device"] or ""
        readings.begin(f"/dev/{name.removeprefix('/dev/')}" if name else "")
        readings.stamped(head["before"] or "")


def _take_field(readings: Readings, tables: Tables, key: str, text: str, line: int) -> bool:
    """Take a field's value; return whether there is such a field."""
    if key == "local time is":
        readings.current.stamp = stamp_in(text) or readings.current.stamp
    elif key == "temperature logging interval":
        tables.history = History.every(count_of(text))
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
        if key == "serial number" and not readings.current.device:
            readings.current.device = readings.name_of(text.strip()[:64])
    return True


# --- smartd -A: a line each half hour, in UTC ---

SMARTD = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d);((?:\s*[\w-]+;[\d;-]+)+)\s*$", re.ASCII)
#: ATA's attributes are a number, a normalized and a raw value; those of others a name and a value.
_LOGGED = re.compile(r"\b(19[04]);\d+;(\d+);|(?<=\s)(?:temperature);(\d+);", re.ASCII | re.I)


def take_smartd(readings: Readings, _tables: Tables) -> None:
    """Take the temperatures of smartd's log: what else it has differs between vendors."""
    for _, line in readings.source.kept_lines():
        if (match := SMARTD.match(line)) is None:
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


def take_sensors(readings: Readings, _tables: Tables) -> None:
    """Take the drives among lm-sensors' chips, of `sensors` and of `sensors -u`."""
    kind, label = "", ""
    for _, line in _lines(readings.source):
        text = line.strip()
        key, colon, rest = text.partition(":")
        if (chip := CHIP.fullmatch(text)) is not None:
            kind = begin_chip(readings, chip)
        elif not text or not kind or _OF_A_CHIP.match(text) is None:
            kind = ""
            readings.line(text)
        elif kind in DRIVES and (part := _PART.fullmatch(key)) is not None:
            take_chip_part(readings, label, part[1], rest)
        elif kind in DRIVES:
            label = key if colon else label
            if rest:
                readings.take(plain(label), rest.partition("(")[0])
            for name, limit in _LIMIT.findall(text):
                take_chip_part(readings, label, name, limit)


# --- PowerShell: Get-PhysicalDisk | Get-StorageReliabilityCounter ---

PAIR = re.compile(r"\s{0,40}([A-Za-z]\w{1,40})\s*: ?(.*)")
_RULE = re.compile(r"-{2,}(?: +-{2,})+\s*")


def take_windows(readings: Readings, _tables: Tables) -> None:
    """Take records as a table below a rule of dashes, or as a list with a line for each value."""
    record: dict[str, str] = {}
    names: list[str] = []
    above = rule = ""
    for _, line in _lines(readings.source):
        pair = PAIR.match(line)
        if rule and line.strip():
            take_record(readings, dict(zip(names, _cells(line, rule), strict=True)))
        elif _RULE.fullmatch(line):
            rule, names = line, list(map(plain, _cells(above, line)))
        elif pair is not None:
            record[plain(pair[1])] = pair[2].strip()
        else:
            take_record(readings, record)
            record, rule = {}, ""
            readings.line(line)
        above = line
    take_record(readings, record)


def _cells(line: str, rule: str) -> list[str]:
    """The cells of a row, whose columns begin with the dashes in `rule`, or end with them."""
    starts = [min(found.start(), len(line)) for found in re.finditer("-+", rule)]
    for index, at in enumerate(starts[1:], 1):
        while at > starts[index - 1] and not line[at - 1].isspace():
            at -= 1
        starts[index] = at
    return [line[a:b].strip() for a, b in pairwise((*starts, len(line)))]
