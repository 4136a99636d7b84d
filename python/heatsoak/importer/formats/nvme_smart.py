"""nvme-cli: `nvme smart-log` as text, JSON or raw pages, with what `id-ctrl` and its kin add.

Temperatures are whole kelvins in the drive. nvme-cli subtracts 273 for its text and leaves kelvins
in its JSON; both are read to the same Celsius. FreeBSD's `nvmecontrol logpage -p 2` is read too.
"""

import re
import struct
from collections.abc import Iterable, Iterator
from typing import Any

from heatsoak.importer.format import Format
from heatsoak.importer.log import Log, Options
from heatsoak.importer.reading_logs import logs_of_readings
from heatsoak.importer.readings import (
    DATA_UNIT_BYTES,
    MAX_SIZE_BYTES,
    Fields,
    Readings,
    json_number,
    named,
    of_kelvin_or_celsius,
    stamp_in,
    without_escapes,
)
from heatsoak.importer.source import Source
from heatsoak.sensor.nvme import parse_health_log, parse_kelvins
from heatsoak.sensor.nvme_admin import LOG_SIZE

_NAME = "nvme_smart"

_FIELDS = Fields(
    temperatures={"temperature": "temp_c.composite"}
    | {f"temperature sensor {n}": f"temp_c.sensor{n}" for n in range(1, 9)},
    columns=named(
        (
            "throttle_time_s.warning",
            60.0,
            "warning temperature time|warning composite temperature time|"
            "warning temp composite time|warning temp time",
        ),
        (
            "throttle_time_s.critical",
            60.0,
            "critical composite temperature time|error temp composite time|critical comp time",
        ),
        *(
            (f"throttle_{column}.tmt{n}", 1.0, words.format(n=n))
            for n in (1, 2)
            for column, words in (
                (
                    "count",
                    "thermal management t{n} trans count|temperature {n} transition count|"
                    "thm temp{n} trans count",
                ),
                (
                    "time_s",
                    "thermal management t{n} total time|total time for temperature {n}|"
                    "thm temp{n} total time",
                ),
            )
        ),
    ),
    counters=named(
        ("read_bytes", DATA_UNIT_BYTES, "data units read|data units (512,000 byte) read"),
        ("write_bytes", DATA_UNIT_BYTES, "data units written|data units (512,000 byte) written"),
        ("read_ios", 1.0, "host read commands"),
        ("write_ios", 1.0, "host write commands"),
    ),
    thresholds={
        "wctemp": "warning_c",
        "cctemp": "critical_c",
        "mntmt": "tmt_min_c",
        "mxtmt": "tmt_max_c",
        "thermal management temperature 1 (tmt1)": "tmt1_c",
        "thermal management temperature 2 (tmt2)": "tmt2_c",
        "thermal management temperature 2": "tmt2_c",
    },
    identity={"mn": "model", "sn": "serial", "fr": "firmware", "tnvmcap": "size_bytes"},
    health={
        "critical warning": "critical_warning",
        "critical warning state": "critical_warning",
        "power on hours": "power_on_h",
    },
    others=frozenset(
        {
            "available spare",
            "available spare threshold",
            "percentage used",
            "endurance group critical warning summary",
            "controller busy time",
            "power cycles",
            "unsafe shutdowns",
            "media errors",
            "num err log entries",
            "operational lifetime energy consumed",
            "interval power measurement",
            "interval power measurement type",
        }
    ),
    limits_have_units=False,
    nothing=re.compile(".*0"),
)
#: An object of JSON with a temperature is a health log if it has one of these too.
_OF_HEALTH = {*_FIELDS.counters, *_FIELDS.columns, "critical warning", "avail spare"}
#: Counters of a raw page, from its byte 32 on, 16 bytes each.
_PAGE_COUNTERS = (
    ("read_bytes", DATA_UNIT_BYTES),
    ("write_bytes", DATA_UNIT_BYTES),
    ("read_ios", 1.0),
    ("write_ios", 1.0),
)

_HEADER = re.compile(r"Smart Log for NVME device:\s{0,4}(\S{0,64})", re.IGNORECASE)
_FREEBSD = "SMART/Health Information Log"
#: Fields behind other words in their line, as `ts` and loggers put them.
_PREFIXED = re.compile(
    r"(.{1,80}?[\s,;|>\])\"'])("
    + "|".join(
        re.escape(key).replace(r"\ ", "[ _]")
        for key in sorted(
            {
                *_FIELDS.temperatures,
                *_FIELDS.counters,
                *_FIELDS.columns,
                *_FIELDS.health,
                *_FIELDS.others,
            },
            key=len,
            reverse=True,
        )
    )
    + r")\s{0,40}:(.*)",
    re.IGNORECASE,
)
_LONE_TEMPERATURE = re.compile(r"\btemperature\s{1,40}:\s{0,4}-?\d{1,3} ?\W{0,3}[CF]\b")
_FEATURE = re.compile(
    r"get-feature:(?:0x0?10|16)\b.{0,80}[Vv]alue:\s{0,4}(?:0x)?([0-9a-f]{1,8})\b", re.IGNORECASE
)
_LIST_RULE = re.compile(r"-{4,}(?: +-{2,}){3,}\s*")
_HEX_LINE = re.compile(
    r"\s*([0-9a-f]{3,8}):?((?:\s{1,2}[0-9a-f]{2}){1,16}|(?:\s{1,2}[0-9a-f]{4}){1,8})(?![0-9a-f])",
    re.IGNORECASE,
)
_DEVICE = re.compile(r"(/dev/)?nvme\d{1,4}(n\d{1,4})?")
_PRINTED_BYTES = 232
_CONVERTED = "temperatures in kelvin were converted to Celsius by subtracting 273"
_MAX_LINE, _MAX_DEPTH = 400, 8

_JSON_MARKS = (
    '"critical_warning"',
    '"avail_spare"',
    '"spare_thresh"',
    '"percent_used"',
    '"data_units_written"',
    '"temperature_sensor_1"',
    '"thm_temp1_trans_count"',
)


def _recognises(source: Source) -> bool:
    return _are_pages(source.head) or bool(_kind(source)) or _is_dump(source.head_lines)


def _kind(source: Source) -> str:
    """Return ``json`` or ``text``; empty for what is neither."""
    head = "\n".join(source.head_lines)
    if '"temperature"' in head.lower() and any(mark in head for mark in _JSON_MARKS):
        return "json"
    is_text = _HEADER.search(head) or _FREEBSD in head or _LONE_TEMPERATURE.search(head)
    return "text" if is_text else ""


def _read(source: Source, options: Options) -> list[Log]:
    readings = Readings(source, options, _NAME, _FIELDS)
    if _are_pages(source.head):
        return _of_pages(readings, _pages(source.chunks()))
    kind = _kind(source)
    if kind == "json":
        return _of_documents(source, readings)
    if kind == "text":
        return _of_text(source, readings)
    return _of_pages(readings, _dumped(line for _, line in source.lines()))


# --- text ---


def _of_text(source: Source, readings: Readings) -> list[Log]:
    listed: list[slice] = []
    for number, line in source.lines():
        line = without_escapes(line)
        key, colon, value = line[:_MAX_LINE].partition(":")
        if colon and _takes_line(readings, line, number, key, value):
            continue
        if not colon and line.startswith(_FREEBSD):
            readings.begin()
        elif not colon and _LIST_RULE.fullmatch(line[:_MAX_LINE]):
            listed = [slice(*found.span()) for found in re.finditer("-+", line)]
        elif listed and line.startswith("/dev/"):
            _take_listed(readings, [line[column].strip() for column in listed])
        else:
            readings.line(line)
    readings.remark_unread()
    return logs_of_readings(readings)


def _takes_line(readings: Readings, line: str, number: int, key: str, value: str) -> bool:
    """Take a line with a colon; return whether it is one of nvme-cli's."""
    if readings.field(_plain_key(key), value, number):
        return True
    header = _HEADER.search(line)
    if header is not None or line.startswith(_FREEBSD):
        readings.begin(_device(header.group(1)) if header else "")
        readings.stamped(line[: header.start()] if header else "")
        return True
    feature = _FEATURE.search(line)
    if feature is not None:
        # host controlled thermal management: both temperatures in one number, in kelvin
        both = int(feature.group(1), 16)
        for name, kelvin in (("tmt1_c", both >> 16), ("tmt2_c", both & 0xFFFF)):
            readings.threshold(name, of_kelvin_or_celsius(kelvin))
        return True
    prefixed = _PREFIXED.match(line[:_MAX_LINE])
    if prefixed is None:
        return False
    before, key, value = prefixed.groups()
    readings.stamped(before, key.lower() == "temperature")
    readings.field(_plain_key(key), value, number)
    return True


def _plain_key(key: str) -> str:
    return " ".join(key.replace("_", " ").lower().split())


def _take_listed(readings: Readings, cells: list[str]) -> None:
    """A row of `nvme list`: node, (generic), serial, model, ..."""
    node, *others = cells
    others = [cell for cell in others if not cell.startswith("/dev/")]
    if len(others) >= 2:
        readings.of_drive(node, serial=others[0], model=others[1], firmware=others[-1])


def _device(name: str) -> str:
    return f"/dev/{name.removeprefix('/dev/')}" if name else ""


# --- JSON ---


def _of_documents(source: Source, readings: Readings) -> list[Log]:
    for value in readings.documents():
        _take_json(readings, value, "", "", 0)
    if any(reading.values for reading in readings.all):
        readings.remark(_CONVERTED)
    return logs_of_readings(readings, _last_stamp(source) if readings.lacks_first_stamp else "")


def _last_stamp(source: Source) -> str:
    """Return the time that stands behind the last document."""
    stamp = ""
    for _, line in source.lines():
        found = stamp_in(line) if line[:1] not in ' \t{}[]"' else None
        stamp = found or ("" if line.startswith("}") else stamp)
    return stamp


def _take_json(readings: Readings, value: Any, stamp: str, device: str, depth: int) -> None:
    """Take the health logs in a value, which loggers put into lists and objects of their own."""
    if isinstance(value, list) and depth < _MAX_DEPTH:
        for item in value:
            _take_json(readings, item, stamp, device, depth + 1)
    if not isinstance(value, dict) or depth >= _MAX_DEPTH:
        return
    fields = {_plain_key(str(key)): each for key, each in value.items()}
    stamp = readings.stamp_among(value) or stamp
    device = _named_device(value) or device
    if isinstance(value.get("Devices"), list):
        for listed in value["Devices"]:
            _take_listed_json(readings, listed)
        return
    if fields.keys() & _FIELDS.thresholds.keys() or {"mn", "sn"} <= fields.keys():
        for key in (*_FIELDS.thresholds, *_FIELDS.identity):
            readings.json_field(key, fields.get(key), celsius=False)
    is_health = bool(fields.keys() & _OF_HEALTH)
    if isinstance(fields.get("temperature"), int | float | str) and is_health:
        readings.begin(device)
        readings.current.stamp = stamp or readings.current.stamp
        for key, each in fields.items():
            if key not in _FIELDS.thresholds and key not in _FIELDS.identity:
                readings.json_field(key, each, celsius=False)
        return
    for key, inner in value.items():
        if isinstance(inner, dict | list):
            named = _named_device({"device": key}) or device
            _take_json(readings, inner, stamp_in(str(key)) or stamp, named, depth + 1)


def _take_listed_json(readings: Readings, listed: Any) -> None:
    if not isinstance(listed, dict) or not isinstance(listed.get("DevicePath"), str):
        return
    size = json_number(listed.get("PhysicalSize"))
    readings.of_drive(
        listed["DevicePath"],
        model=str(listed.get("ModelNumber", "")).strip(),
        serial=str(listed.get("SerialNumber", "")).strip(),
        firmware=str(listed.get("Firmware", "")).strip(),
        size_bytes=int(size) if size and size < MAX_SIZE_BYTES else None,
    )


def _named_device(value: dict[Any, Any]) -> str:
    for key in ("device", "dev", "devname", "disk", "drive", "DevicePath", "name", "node"):
        name = value.get(key)
        if isinstance(name, str) and _DEVICE.fullmatch(name):
            return _device(name)
    return ""


# --- raw pages ---


def _are_pages(data: bytes) -> bool:
    """Whether these bytes are pages of the log as the drive gives them."""
    return len(data) >= LOG_SIZE and len(data) % LOG_SIZE == 0 and _is_page(data[:LOG_SIZE])


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


def _is_dump(lines: list[str]) -> bool:
    first = next(_dumped(lines[:80]), None)
    return first is not None and _is_page(first)


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


def _of_pages(readings: Readings, pages: Iterable[bytes]) -> list[Log]:
    odd = 0
    for page in pages:
        if not _is_page(page):
            odd += 1
            continue
        readings.begin()
        celsius = {name: kelvin - 273.0 for name, kelvin in parse_kelvins(page).items()}
        values = parse_health_log(page)
        values = {name: values[name] for name in values if name not in celsius} | celsius
        for column, value in values.items():
            readings.value(column, value)
        counts = struct.unpack_from("<QQQQQQQQ", page, 32)[::2]
        for (name, scale), count in zip(_PAGE_COUNTERS, counts, strict=True):
            readings.counter(name, count * scale)
        readings.health("critical_warning", page[0])
        readings.health("power_on_h", int.from_bytes(page[128:144], "little"))
    if odd:
        readings.remark(f"{odd} pages are not health logs: left out", doubt=True)
    readings.remark(_CONVERTED)
    return logs_of_readings(readings)


FORMAT = Format(_NAME, "nvme-cli smart-log", _recognises, _read, priority=50)
