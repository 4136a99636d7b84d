"""The health log of an NVMe drive as the drive gives it: raw pages, or dumped as hex."""

import re
import struct
from collections.abc import Iterable, Iterator

from heatsoak.importer.fields import DATA_UNIT_MB
from heatsoak.importer.formats.counters.documents import CONVERTED
from heatsoak.importer.readings import Readings
from heatsoak.importer.source import Source
from heatsoak.sensor.nvme import parse_health_log, parse_kelvins
from heatsoak.sensor.nvme_admin import LOG_SIZE

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
        readings.remark(f"{odd} pages are not health logs: left out", doubt=True)
    readings.remark(CONVERTED)


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
