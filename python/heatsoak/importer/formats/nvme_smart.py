"""nvme-cli: `nvme smart-log` as text, JSON or raw pages, with what `id-ctrl` and its kin add.

Temperatures are whole kelvins in the drive. nvme-cli subtracts 273 for its text and leaves kelvins
in its JSON; both are read to the same Celsius. FreeBSD's `nvmecontrol logpage -p 2` is read too.
"""

import re
import struct
from collections.abc import Iterable, Iterator
from typing import Any

from heatsoak.importer.formats.base import Format
from heatsoak.importer.log import Log, Options
from heatsoak.importer.readings import (
    DATA_UNIT_BYTES,
    Readings,
    degrees_c,
    number,
    of_kelvin_or_celsius,
    plain,
    stamp_in,
    whole,
)
from heatsoak.importer.source import Source
from heatsoak.sensor.nvme import parse_health_log, parse_kelvins
from heatsoak.sensor.nvme_admin import LOG_SIZE

_NAME = "nvme_smart"

#: Fields of the log that are counts and times: their column, and one of their units in ours.
_COLUMNS: dict[str, tuple[str, float]] = {
    "warning temperature time": ("throttle_time_s.warning", 60.0),
    "warning composite temperature time": ("throttle_time_s.warning", 60.0),
    "warning temp composite time": ("throttle_time_s.warning", 60.0),
    "critical composite temperature time": ("throttle_time_s.critical", 60.0),
    "error temp composite time": ("throttle_time_s.critical", 60.0),
    "warning temp time": ("throttle_time_s.warning", 60.0),
    "critical comp time": ("throttle_time_s.critical", 60.0),
}
for _n in (1, 2):
    for _key in ("thermal management t{} trans count", "temperature {} transition count"):
        _COLUMNS[_key.format(_n)] = (f"throttle_count.tmt{_n}", 1.0)
    for _key in ("thermal management t{} total time", "total time for temperature {}"):
        _COLUMNS[_key.format(_n)] = (f"throttle_time_s.tmt{_n}", 1.0)
    _COLUMNS[f"thm temp{_n} trans count"] = (f"throttle_count.tmt{_n}", 1.0)
    _COLUMNS[f"thm temp{_n} total time"] = (f"throttle_time_s.tmt{_n}", 1.0)
_TEMPERATURES = {"temperature": "temp_c.composite"} | {
    f"temperature sensor {n}": f"temp_c.sensor{n}" for n in range(1, 9)
}
_COUNTERS: dict[str, tuple[str, float]] = {
    "data units read": ("read_bytes", DATA_UNIT_BYTES),
    "data units written": ("write_bytes", DATA_UNIT_BYTES),
    "data units (512,000 byte) read": ("read_bytes", DATA_UNIT_BYTES),
    "data units (512,000 byte) written": ("write_bytes", DATA_UNIT_BYTES),
    "host read commands": ("read_ios", 1.0),
    "host write commands": ("write_ios", 1.0),
}
#: Fields that say nothing of heat or load.
_OTHERS = frozenset(
    (
        "critical warning",
        "available spare",
        "available spare threshold",
        "percentage used",
        "endurance group critical warning summary",
        "controller busy time",
        "power cycles",
        "power on hours",
        "unsafe shutdowns",
        "media errors",
        "num err log entries",
        "operational lifetime energy consumed",
        "interval power measurement",
        "interval power measurement type",
    )
)
_THRESHOLDS = {
    "wctemp": "warning_c",
    "cctemp": "critical_c",
    "mntmt": "tmt_min_c",
    "mxtmt": "tmt_max_c",
    "thermal management temperature 1 (tmt1)": "tmt1_c",
    "thermal management temperature 2 (tmt2)": "tmt2_c",
    "thermal management temperature 2": "tmt2_c",
}
_IDENTITY = {"mn": "model", "sn": "serial", "fr": "firmware"}

_HEADER = re.compile(r"Smart Log for NVME device:\s{0,4}(\S{0,64})", re.IGNORECASE)
_FREEBSD = "SMART/Health Information Log"
#: Fields behind other words in their line, as `ts` and loggers put them.
_PREFIXED = re.compile(
    r"(.{1,80}?[\s,;|>\])\"'])("
    + "|".join(
        re.escape(key).replace(r"\ ", "[ _]")
        for key in sorted({*_TEMPERATURES, *_COUNTERS, *_COLUMNS, *_OTHERS}, key=len, reverse=True)
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
_PRINTED_BYTES = 232
_LONGEST_FIELD = 400

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
    if _are_pages(source.head):
        return True
    lines = source.head_lines
    head = "\n".join(lines)
    if '"temperature"' in head.lower() and any(mark in head for mark in _JSON_MARKS):
        return True
    if _HEADER.search(head) or _FREEBSD in head:
        return True
    return _LONE_TEMPERATURE.search(head) is not None or _is_dump(lines)


def _read(source: Source, options: Options) -> list[Log]:
    readings = Readings(source, options, _NAME)
    if _are_pages(source.head):
        return _of_pages(readings, _pages(source.chunks()))
    head = "\n".join(source.head_lines)
    if '"temperature"' in head.lower() and any(mark in head for mark in _JSON_MARKS):
        return _of_documents(source, readings)
    if not (_HEADER.search(head) or _FREEBSD in head or _LONE_TEMPERATURE.search(head)):
        return _of_pages(readings, _dumped(line for _, line in source.lines()))
    return _of_text(source, readings)


def _of_text(source: Source, readings: Readings) -> list[Log]:
    unread: list[int] = []
    listed: list[slice] = []
    for line_number, line in source.lines():
        line = plain(line)
        key, colon, value = line[:_LONGEST_FIELD].partition(":")
        if colon:
            key = " ".join(key.replace("_", " ").lower().split())
            if _field(readings, key, value, unread, line_number):
                continue
            header = _HEADER.search(line)
            if header is not None or line.startswith(_FREEBSD):
                readings.begin(_device(header.group(1)) if header else "")
                readings.stamped(line[: header.start()] if header else "")
                continue
            feature = _FEATURE.search(line)
            if feature is not None:
                _take_feature(readings, int(feature.group(1), 16))
                continue
            prefixed = _PREFIXED.match(line[:_LONGEST_FIELD])
            if prefixed is not None:
                before, key, value = prefixed.groups()
                readings.stamped(before, key.lower() == "temperature")
                key = " ".join(key.replace("_", " ").lower().split())
                _field(readings, key, value, unread, line_number)
                continue
        elif line.startswith(_FREEBSD):
            readings.begin()
            continue
        elif _LIST_RULE.fullmatch(line[:_LONGEST_FIELD]):
            listed = [slice(*found.span()) for found in re.finditer("-+", line)]
            continue
        if listed and line.startswith("/dev/"):
            _take_listed(readings, [line[column].strip() for column in listed])
            continue
        readings.line(line)
    readings.unread(unread)
    return readings.finish()


def _field(readings: Readings, key: str, text: str, unread: list[int], line: int) -> bool:
    """Take a field's value; return whether there is such a field."""
    value: float | None
    if key in _TEMPERATURES:
        value = degrees_c(text, needs_unit=True)
        readings.value(_TEMPERATURES[key], value)
    elif key in _COLUMNS:
        column, scale = _COLUMNS[key]
        value = whole(text)
        readings.value(column, None if value is None else value * scale)
    elif key in _COUNTERS:
        name, scale = _COUNTERS[key]
        value = whole(text)
        readings.counter(name, None if value is None else value * scale)
    elif key in _THRESHOLDS:
        readings.threshold(_THRESHOLDS[key], degrees_c(text))
        return True
    elif key in _IDENTITY:
        readings.identity(_IDENTITY[key], text.strip())
        return True
    elif key == "tnvmcap":
        readings.identity("size_bytes", _size(whole(text)))
        return True
    else:
        return key in _OTHERS
    if value is None and "0" not in text:
        unread.append(line)
    return True


def _size(size: float | None) -> int | None:
    return int(size) if size and size < 1e18 else None


def _take_feature(readings: Readings, value: int) -> None:
    """Host controlled thermal management: both temperatures in one number, in kelvin."""
    for name, kelvin in (("tmt1_c", value >> 16), ("tmt2_c", value & 0xFFFF)):
        readings.threshold(name, of_kelvin_or_celsius(kelvin))


def _take_listed(readings: Readings, cells: list[str]) -> None:
    """A row of `nvme list`: node, (generic), serial, model, ..."""
    node, *others = cells
    others = [cell for cell in others if not cell.startswith("/dev/")]
    if len(others) >= 2:
        readings.of_drive(node, serial=others[0], model=others[1], firmware=others[-1])


def _device(name: str) -> str:
    return f"/dev/{name.removeprefix('/dev/')}" if name else ""


def _of_documents(source: Source, readings: Readings) -> list[Log]:
    for value in readings.documents():
        _take_json(readings, value, "", "", 0)
    if any(reading.values for reading in readings.all):
        readings.remark("temperatures in kelvin became Celsius by subtracting 273")
    return readings.finish(_last_stamp(source) if readings.lacks_first_stamp else "")


def _last_stamp(source: Source) -> str:
    """The time that stands behind the last document."""
    stamp = ""
    for _, line in source.lines():
        found = stamp_in(line) if line[:1] not in ' \t{}[]"' else None
        stamp = found or ("" if line.startswith("}") else stamp)
    return stamp


def _take_json(readings: Readings, value: Any, stamp: str, device: str, depth: int) -> None:
    if isinstance(value, list) and depth < 8:
        for item in value:
            _take_json(readings, item, stamp, device, depth + 1)
    if not isinstance(value, dict) or depth >= 8:
        return
    fields = {" ".join(str(key).replace("_", " ").lower().split()): v for key, v in value.items()}
    stamp = readings.stamp_among(value) or stamp
    device = _named_device(value) or device
    if isinstance(value.get("Devices"), list):
        for listed in value["Devices"]:
            _take_listed_json(readings, listed)
        return
    if any(key in fields for key in _THRESHOLDS) or {"mn", "sn"} <= fields.keys():
        _take_identity(readings, fields)
    temperature = fields.get("temperature")
    if isinstance(temperature, int | float | str) and any(
        key in fields for key in (*_COUNTERS, *_COLUMNS, "critical warning", "avail spare")
    ):
        _take_health(readings, fields, stamp, device)
        return
    for key, inner in value.items():
        if isinstance(inner, dict | list):
            key = str(key)
            _take_json(
                readings,
                inner,
                stamp_in(key) or stamp,
                _named_device({"device": key}) or device,
                depth + 1,
            )


def _take_health(readings: Readings, fields: dict[str, Any], stamp: str, device: str) -> None:
    readings.begin(device)
    if stamp:
        readings.current.stamp = stamp
    for key, value in fields.items():
        if key in _TEMPERATURES:
            if isinstance(value, str) and not value.strip().isdecimal():
                celsius = degrees_c(value)
            else:
                kelvin = number(value)
                celsius = None if kelvin is None else of_kelvin_or_celsius(kelvin)
            readings.value(_TEMPERATURES[key], celsius)
        elif key in _COLUMNS:
            column, scale = _COLUMNS[key]
            count = number(value)
            readings.value(column, None if count is None else count * scale)
        elif key in _COUNTERS:
            name, scale = _COUNTERS[key]
            count = number(value)
            readings.counter(name, None if count is None else count * scale)


def _take_identity(readings: Readings, fields: dict[str, Any]) -> None:
    for key, name in _THRESHOLDS.items():
        value = fields.get(key)
        if isinstance(value, str):
            readings.threshold(name, degrees_c(value))
        elif (kelvin := number(value)) is not None:
            readings.threshold(name, of_kelvin_or_celsius(kelvin))
    for key, name in _IDENTITY.items():
        if isinstance(fields.get(key), str):
            readings.identity(name, fields[key].strip())
    readings.identity("size_bytes", _size(number(fields.get("tnvmcap"))))


def _take_listed_json(readings: Readings, listed: Any) -> None:
    if not isinstance(listed, dict) or not isinstance(listed.get("DevicePath"), str):
        return
    texts = {
        name: str(listed.get(key, "")).strip()
        for name, key in (
            ("model", "ModelNumber"),
            ("serial", "SerialNumber"),
            ("firmware", "Firmware"),
        )
    }
    size = _size(number(listed.get("PhysicalSize")))
    readings.of_drive(listed["DevicePath"], **texts, size_bytes=size)


def _named_device(value: dict[Any, Any]) -> str:
    for key in ("device", "dev", "devname", "disk", "drive", "DevicePath", "name", "node"):
        name = value.get(key)
        if isinstance(name, str) and re.fullmatch(r"(/dev/)?nvme\d{1,4}(n\d{1,4})?", name):
            return _device(name)
    return ""


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
        match = _HEX_LINE.match(line[:_LONGEST_FIELD])
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
        for column, value in parse_health_log(page).items():
            if not column.startswith("temp_c."):
                readings.value(column, value)
        for column, kelvin in parse_kelvins(page).items():
            readings.value(column, kelvin - 273.0)
        counts = struct.unpack_from("<QQQQQQQQ", page, 32)[::2]
        for (name, scale), count in zip(
            (
                ("read_bytes", DATA_UNIT_BYTES),
                ("write_bytes", DATA_UNIT_BYTES),
                ("read_ios", 1.0),
                ("write_ios", 1.0),
            ),
            counts,
            strict=True,
        ):
            readings.counter(name, count * scale)
    if odd:
        readings.remark(f"{odd} pages are no health log: left out", doubt=True)
    readings.remark("temperatures in kelvin became Celsius by subtracting 273")
    return readings.finish()


FORMAT = Format(_NAME, "nvme-cli smart-log", _recognises, _read)
