"""What vmstat, `zpool iostat` and loops around `/proc/diskstats` print, report by report."""

import re
from collections.abc import Callable

import numpy as np

from heatsoak.importer import sysstat
from heatsoak.importer.format import Format
from heatsoak.importer.log import Log, Options
from heatsoak.importer.readings import stamp_in
from heatsoak.importer.reports import ReportReader, logs_of
from heatsoak.importer.source import Source
from heatsoak.importer.sysstat_columns import SECTOR

#: vmstat's blocks are of 1024 bytes in all versions and with all its options.
_BLOCK_MB = 1024 / 1e6
#: Headings in a pool's table that are no device.
_SECTIONS = frozenset(("logs", "cache", "spares", "special", "dedup", "errors:"))
#: A device's counters since boot: reads, writes and more of `/proc/diskstats`, perhaps behind a
#: time.
_COUNTERS = re.compile(r"(.*?)\s*\b(\d{1,4})\s+(\d{1,7})\s+([a-z]\S*)((?:\s+\d{1,20}){11,17})\s*")
_MAX_LINE = 400


def _has_line(*patterns: str) -> Callable[[Source], bool]:
    """A test for files that have a line of each pattern."""
    known = [re.compile(pattern) for pattern in patterns]
    return lambda source: all(
        any(one.search(line[:_MAX_LINE]) for line in source.head_lines) for one in known
    )


def _read_vmstat(source: Source, options: Options) -> list[Log]:
    reader = ReportReader(source, "vmstat")
    header: list[str] = []
    first = 0  # where vmstat's own words begin: a tool may have put a time before them
    for number, line in source.lines():
        words = line.split()
        if "bi" in words and "bo" in words and "r" in words:
            first = words.index("r")
            header = [word for word in words[first:] if word.islower()]
            continue
        end = first + len(header)
        values = [sysstat.scaled(word, 1.0) for word in words[first:end]]
        if not header or len(values) < len(header) or not np.isfinite(values).all():
            if header and words and sysstat.is_number(words[0]):
                reader.devices.unread(number)
            continue
        row = dict(zip(header, values, strict=True))
        reader.begin_report(sysstat.stamp(" ".join((*words[:first], *words[end:]))))
        moved = [("read_bw_mb_s", row["bi"] * _BLOCK_MB), ("write_bw_mb_s", row["bo"] * _BLOCK_MB)]
        reader.row("", moved)
        if "id" in row:
            reader.cpu(row["id"] + row.get("wa", 0.0))
    if not reader.devices.rows:
        raise source.error("holds a header, and no rows below it")
    return logs_of(source, reader, options)


def _read_zpool(source: Source, options: Options) -> list[Log]:
    reader = ReportReader(source, "zpool")
    groups = reader.devices.groups
    waits_at = 0
    above, above_indent = "", 0
    for _, line in source.lines():
        words = [
            word if at == 0 else word.replace("K", "k") for at, word in enumerate(line.split())
        ]
        if words[:3] == ["capacity", "operations", "bandwidth"]:
            # each of these heads two columns, of reads and of writes
            waits_at = 1 + 2 * words.index("disk_wait") if "disk_wait" in words else 0
            continue
        indent = len(line) - len(line.lstrip())
        is_row = len(words) >= 7 and all(map(_is_zfs_number, words[1:7]))
        if not is_row:
            stamp = stamp_in(line)
            if stamp is not None and words[0] not in ("pool", "vdev"):
                reader.stamp(sysstat.stamp(stamp))
            continue
        if above and indent > above_indent:
            groups.add(above)  # the pool, or a mirror in it
        above, above_indent = words[0], indent
        if words[0] in _SECTIONS or set(words[3:7]) == {"-"}:
            groups.add(words[0])
            continue
        values = [
            *((f"{of}_iops", _zfs(words[at]) * 1e6) for of, at in (("read", 3), ("write", 4))),
            *((f"{of}_bw_mb_s", _zfs(words[at])) for of, at in (("read", 5), ("write", 6))),
        ]
        if waits_at and len(words) > waits_at + 1:
            values += [
                (f"{of}_lat_us", _zfs_us(words[waits_at + at]))
                for at, of in enumerate(("read", "write"))
            ]
        reader.row(words[0], values)
    if not reader.devices.rows:
        raise source.error("holds a header, and no rows below it")
    return logs_of(source, reader, options)


def _is_zfs_number(word: str) -> bool:
    return word == "-" or sysstat.is_number(word)


def _zfs(word: str) -> float:
    """A number in millions, whether exact (`-p`) or rounded with a letter of powers of 1024."""
    return sysstat.scaled(word, 1e-6)


def _zfs_us(word: str) -> float:
    """A wait in us; one without a unit is in ns."""
    match = re.fullmatch(r"([\d.]{1,20})(ns|us|ms|s|)", word)
    scales = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6, "": 1e-3}
    return np.nan if match is None else sysstat.scaled(match.group(1), scales[match.group(2)])


def _read_diskstats(source: Source, options: Options) -> list[Log]:
    reader = ReportReader(source, "diskstats", counts=True)
    before: dict[str, list[float]] = {}
    for _, line in source.lines():
        match = _COUNTERS.fullmatch(line) if len(line) <= _MAX_LINE else None
        if match is None:
            stamp = stamp_in(line)
            if stamp is not None:
                reader.stamp(sysstat.stamp(stamp))
            continue
        device, prefix = match.group(4), stamp_in(match.group(1)) or ""
        now = [float(word) for word in match.group(5).split()]
        moved = [b - a if b >= a else np.nan for a, b in zip(before.get(device, ()), now)]  # noqa: B905
        before[device] = now
        reader.row(device, _moved(moved or [np.nan] * len(now)), sysstat.stamp(prefix))
    if len(reader.call.stamps) < 3:
        raise source.error(
            "holds the counters of fewer than three moments, of which no course can be made: "
            "repeat 'date; cat /proc/diskstats; sleep 1'"
        )
    return logs_of(source, reader, options)


def _moved(moved: list[float]) -> list[tuple[str, float]]:
    """What a device's counters moved by: bytes, I/Os, ms of waiting and of being busy."""
    values = []
    for of, at in (("read", 0), ("write", 4), ("discard", 11)):
        if len(moved) <= at + 3:
            continue
        ios, _, sectors, waited_ms = moved[at : at + 4]
        values += [(f"{of}_bw_mb_s", sectors * SECTOR), (f"{of}_iops", ios)]
        if of != "discard":
            values.append((f"{of}_lat_us", waited_ms * 1e3 / ios if ios > 0 else np.nan))
    return [*values, ("busy_pct", moved[9] / 10), ("queue", moved[10] / 1e3)]


VMSTAT = Format(
    "vmstat", "vmstat", _has_line(r"\br\s+b\s+swpd\s.*\bbi\s+bo\b"), _read_vmstat, priority=131
)
ZPOOL = Format(
    "zpool",
    "zpool iostat",
    _has_line(
        r"^\s*capacity\s+operations\s+bandwidth\b", r"^(?:pool|vdev|\s)\s*.*\balloc\s+free\b"
    ),
    _read_zpool,
    priority=131,
)
DISKSTATS = Format(
    "diskstats",
    "/proc/diskstats in a loop",
    lambda source: any(
        _COUNTERS.fullmatch(line) for line in source.head_lines if len(line) <= _MAX_LINE
    ),
    _read_diskstats,
    priority=132,
)
