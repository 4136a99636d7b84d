"""What monitors of a whole machine print, report by report: a head that names columns, and rows.

`machine.toml` says what is whose: vmstat, gstat, collectl, `zpool`, nmon, and loops around
`/proc/diskstats`. Their kilobytes and blocks are of 1024 bytes, in all versions.
"""

import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files

import numpy as np

from heatsoak.importer import numbers, reports
from heatsoak.importer.formats import Format
from heatsoak.importer.formats.results import numbered_names
from heatsoak.importer.log import Log, Options
from heatsoak.importer.readings import stamp_in
from heatsoak.importer.source import Source
from heatsoak.importer.tables import KIB, SECTOR
from heatsoak.importer.timestamps import plain_stamp, read_stamps

_MAX_LINE = 400
_UNITS = {"": 1.0, "KiB": KIB, "ms": 1e3}


@dataclass(frozen=True)
class Monitor:
    """A table of `machine.toml`, whose head says what each field is."""

    title: str
    marks: Sequence[str]
    priority: int = 131
    way: str = "rows"
    header: str = r"(?!)"
    first: str = ""
    trim: str = ""
    device: str = ""
    columns: Sequence[Sequence[str]] = ()
    idle: Sequence[str] = ()
    stamp: Sequence[str] = ()
    at: str = r"(?!)"
    json: dict[str, str] = field(default_factory=dict)
    no_boot: bool = False
    by_time: bool = False
    counts: bool = False

    @property
    def known(self) -> dict[str, tuple[str, float]]:
        """What each header is: a recording's column, and its scale."""
        return {name: (to, _UNITS["".join(unit)]) for name, to, *unit in self.columns}

    def recognises(self, source: Source) -> bool:
        """Whether a file has a line of each mark."""
        lines = [line[:_MAX_LINE] for line in source.head_lines]
        return all(any(map(re.compile(mark).search, lines)) for mark in self.marks)

    def read(self, name: str, source: Source, options: Options) -> list[Log]:
        """Return the logs of a file; raises UsageError for one without rows."""
        reader = reports.ReportReader(source, name, counts=self.counts, by_time=self.by_time)
        if self.no_boot:
            reader.begin_call("")
            reader.call.skipped_boot = True
        _WAYS[self.way](self, source, reader)
        if not reader.devices.rows:
            raise source.error("holds a header, and no rows below it")
        return reports.logs_of(source, reader, options)

    def format(self, name: str) -> Format:
        """Return its reader."""
        return Format(name, self.title, self.recognises, partial(self.read, name), self.priority)


# --- rows below a header -------------------------------------------------------------------------


def _take_rows(monitor: Monitor, source: Source, reader: reports.ReportReader) -> None:
    if monitor.json and source.first_character in ("[", "{"):
        _take_objects(monitor, source, reader)
        return
    header, at = re.compile(monitor.header), re.compile(monitor.at)
    table: reports.ReportTable | None = None
    before, first, has_records = "", 0, False
    texts: list[int] = []  # where a row has no number
    for number, line in source.lines():
        words = line.replace("|", " ").lstrip("#").split()
        if header.search(line) and (not monitor.first or monitor.first in words):
            words = re.sub(monitor.trim, " ", " ".join(words)).split() if monitor.trim else words
            if monitor.first and monitor.first not in words:
                source.skip(number)
                continue
            first = words.index(monitor.first) if monitor.first else 0
            table = _table_of(monitor, words[first:])
            texts = [
                n for n, h in enumerate(table.headers) if h in (monitor.device, *monitor.stamp)
            ]
        elif (record := at.match(line)) is not None:
            has_records, told = True, record.groupdict()
            if "length" in told:
                reader.begin_report("", float(told["length"]))
            else:
                reader.stamp(told["stamp"])
        elif line.startswith("#"):
            table = table if "<-" in line else None
        elif table is not None and words:
            end = first + len(table.headers)
            own = [_unrounded(word) for word in words[first:end]]
            is_row = len(own) == len(table.headers) and all(
                n in texts or numbers.is_number(word) for n, word in enumerate(own)
            )
            timed = [own[n] for n in texts if is_row and table.headers[n] != monitor.device]
            stamp = plain_stamp(" ".join((*words[:first], *timed, *words[end:])))
            if is_row and not has_records and (stamp != before or not monitor.device):
                before = stamp
                reader.begin_report(stamp)
            if not (is_row and reader.take(table, own)) and words[0][0].isdigit():
                source.skip(number)


def _table_of(monitor: Monitor, words: Sequence[str]) -> reports.ReportTable:
    """Return what is below a header, which tells less of what is beside all of its kind."""
    known, idle = monitor.known, monitor.idle
    headers = numbered_names(words)
    if "Wait" in known and "Wait 3" not in headers:  # else the third is of reads and writes
        known |= {"Wait": ("lat_us", 1e3)}
    if "User" in headers:
        known = {}
    elif "Idle" in idle:  # those of disks wait, too
        idle = ()
    return reports.table_of(headers, known, idle, monitor.device or None)


def _take_objects(monitor: Monitor, source: Source, reader: reports.ReportReader) -> None:
    """Take what jc makes of the text."""
    table = reports.table_of(list(monitor.json), monitor.known, monitor.idle)
    for row in (one.value for one in source.documents()):
        told = [numbers.at(row, name) for name in monitor.stamp]
        reader.begin_report(plain_stamp(" ".join(str(word) for word in told if word)))
        reader.take(table, [str(numbers.at(row, name)) for name in monitor.json.values()])


_ROUNDED = re.compile(r"(\d{1,9})([KMG])")


def _unrounded(word: str) -> str:
    match = _ROUNDED.fullmatch(word)
    return word if match is None else str(float(match[1]) * numbers.multiple(match[2], 1000.0))


# --- zpool iostat --------------------------------------------------------------------------------

_ZPOOL = ("read_iops", "write_iops", "read_bw_mb_s", "write_bw_mb_s")
_ZPOOL_WAITS = ("read_lat_us", "write_lat_us")
#: Headings in a pool's table that are no device.
_SECTIONS = frozenset(("logs", "cache", "spares", "special", "dedup", "errors:"))


def _take_zpool(_: Monitor, source: Source, reader: reports.ReportReader) -> None:
    reader.devices.has_mapped = False
    groups = reader.devices.groups
    waits_at = 0
    above, above_indent = "", 0
    for _number, line in source.lines():
        words = [
            word if at == 0 else word.replace("K", "k") for at, word in enumerate(line.split())
        ]
        if words[:3] == ["capacity", "operations", "bandwidth"]:
            # each of these heads two columns, of reads and of writes
            waits_at = 1 + 2 * words.index("disk_wait") if "disk_wait" in words else 0
            continue
        indent = len(line) - len(line.lstrip())
        is_row = len(words) >= 7 and all(w == "-" or numbers.is_number(w) for w in words[1:7])
        if not is_row:
            stamp = stamp_in(line)
            if stamp is not None and words[0] not in ("pool", "vdev"):
                reader.stamp(plain_stamp(stamp))
            continue
        if above and indent > above_indent:
            groups.add(above)  # the pool, or a mirror in it
        above, above_indent = words[0], indent
        if words[0] in _SECTIONS or set(words[3:7]) == {"-"}:
            groups.add(words[0])
            continue
        # in millions, whether exact (`-p`) or rounded with a letter of powers of 1024
        values = [
            (name, numbers.scaled(word, 1e-6) * (1e6 if name.endswith("iops") else 1.0))
            for name, word in zip(_ZPOOL, words[3:7], strict=True)
        ]
        waits = words[waits_at : waits_at + 2] if waits_at else []
        values += [(of, _zfs_us(word)) for of, word in zip(_ZPOOL_WAITS, waits, strict=False)]
        reader.row(words[0], values)


def _zfs_us(word: str) -> float:
    """A wait in us; one without a unit is in ns."""
    match = re.fullmatch(r"([\d.]{1,20})(ns|us|ms|s|)", word)
    scales = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6, "": 1e-3}
    return np.nan if match is None else numbers.scaled(match.group(1), scales[match.group(2)])


# --- zpool status, again and again while a pool is read through ---------------------------------

_POOL = re.compile(r"\s*pool: (\S{1,80})")
_SINCE = re.compile(r"\s*scan: (?:scrub|resilver) in progress since (.{10,40})")
#: What was read so far, and how fast.
_ISSUED = re.compile(
    r".*?([\d.]{1,8})([KMGTP])B?(?: / \S+)? (?:issued|scanned out of \S+)(?:,)? at "
    r"([\d.]{1,8})([KMGT])B?/s"
)
#: Rates that differ by less from the mean since the start are that mean; a change of what was read
#: is known from so many of its last digits.
_AS_MEAN, _DIGITS = 0.15, 10.0


def _take_scrub(_: Monitor, source: Source, reader: reports.ReportReader) -> None:
    """Take the rates that are printed, or if these are means since the start, what was read."""
    reader.begin_call("")
    reader.call.skipped_boot = True
    reader.devices.has_mapped = False
    stamps: list[str] = []
    shown: list[tuple[float, float, float]] = []  # MB so far and of its last digit, MB/s
    since = pool = stamp = ""
    for _number, line in source.lines():
        if (found := _POOL.match(line)) is not None:
            pool = found[1]
        elif (found := _SINCE.match(line)) is not None:
            since = since or found[1]
        elif (found := _ISSUED.match(line)) is not None and stamp:
            unit_mb = numbers.multiple(found[2]) / 1e6
            digit_mb = unit_mb * 0.1 ** len(found[1].partition(".")[2])
            rate = numbers.scaled(found[3], numbers.multiple(found[4]) / 1e6)
            shown.append((numbers.scaled(found[1], unit_mb), digit_mb, rate))
            stamps.append(stamp)
        elif (told := stamp_in(line)) is not None:
            stamp = plain_stamp(told)
    if len(stamps) < 3:
        raise source.error("is 'zpool status' of fewer than three moments that have a time")
    t_s = read_stamps([plain_stamp(since), *stamps]).t_s
    mb, digit_mb, rate = np.array(shown).T
    with np.errstate(invalid="ignore", divide="ignore"):
        off = np.abs(rate * (t_s[1:] - t_s[0]) / mb - 1.0)
    is_mean = bool(np.percentile(np.nan_to_num(off[len(off) // 4 :], nan=9.0), 90) < _AS_MEAN)
    last = 0
    for index, stamp in enumerate(stamps):
        if is_mean and index and mb[index] - mb[last] < _DIGITS * digit_mb[index]:
            continue
        lasted_s = t_s[index + 1] - t_s[last + 1]
        mean = (mb[index] - mb[last]) / lasted_s if lasted_s > 0 else np.nan
        reader.stamp(stamp)
        reader.row(pool, [("read_bw_mb_s", float(mean if is_mean else rate[index]))])
        last = index


# --- nmon: a line for each quantity, with all disks in it, and a line that says when -------------

_SNAPSHOT = re.compile(r"T\d{1,9}")


def _take_nmon(monitor: Monitor, source: Source, reader: reports.ReportReader) -> None:
    quantities = monitor.known
    moments: dict[str, str] = {}
    names: dict[str, list[str]] = {}
    for number, line in source.lines():
        words = line.strip().split(",")
        known = quantities.get(words[0].rstrip("0123456789"))  # a line has 150 disks at most
        if len(words) < 3:
            continue
        if words[0] == "ZZZZ":
            moments[words[1]] = " ".join((*words[3:4], words[2])).title()
        elif known is not None or words[0] == "CPU_ALL":
            if not _SNAPSHOT.fullmatch(words[1]):
                names[words[0]] = words[2:]
                continue
            reader.at(words[1])
            values = dict(zip(names.get(words[0], ()), words[2:], strict=False))
            if known is None:
                idle = [numbers.scaled(values.get(name, "")) for name in ("Idle%", "Wait%")]
                reader.share(reports.CPU, 100.0 - sum(idle))
                continue
            for device, word in values.items():
                reader.row(device, [(known[0], numbers.scaled(word, known[1]))])
            if not values:
                source.skip(number)
    reader.read_stamps = lambda words, _: read_stamps([moments.get(w, "") for w in words])


# --- /proc/diskstats in a loop, or as collectl keeps it ------------------------------------------

#: A device's counters since boot: reads, writes and more, perhaps behind a time.
_COUNTERS = re.compile(r"(.*?)\s*\b(\d{1,4})\s+(\d{1,7})\s+([a-z]\S*)((?:\s+\d{1,20}){11,17})\s*")


def _take_diskstats(_: Monitor, source: Source, reader: reports.ReportReader) -> None:
    before: dict[str, list[float]] = {}
    for _number, line in source.lines():
        match = _COUNTERS.fullmatch(line) if len(line) <= _MAX_LINE else None
        if match is None:
            stamp = stamp_in(line)
            if stamp is not None:
                reader.stamp(plain_stamp(stamp))
            continue
        device, prefix = match.group(4), stamp_in(match.group(1)) or ""
        now = [float(word) for word in match.group(5).split()]
        moved = [b - a if b >= a else np.nan for a, b in zip(before.get(device, ()), now)]  # noqa: B905
        before[device] = now
        reader.row(device, _moved(moved or [np.nan] * len(now)), plain_stamp(prefix))
    if len(reader.call.stamps) < 3:
        raise source.error(
            "holds the counters of fewer than three moments, of which no course can be made: "
            "repeat 'date; cat /proc/diskstats; sleep 1'"
        )


def _moved(moved: list[float]) -> list[tuple[str, float]]:
    """What a device's counters moved by: bytes, I/Os, ms of waiting and of being busy."""
    values = []
    for of, first in (("read", 0), ("write", 4), ("discard", 11)):
        if len(moved) <= first + 3:
            continue
        ios, _, sectors, waited_ms = moved[first : first + 4]
        values += [(f"{of}_bw_mb_s", sectors * SECTOR), (f"{of}_iops", ios)]
        if of != "discard":
            values.append((f"{of}_lat_us", waited_ms * 1e3 / ios if ios > 0 else np.nan))
    return [*values, ("busy_pct", moved[9] / 10), ("queue", moved[10] / 1e3)]


_WAYS: dict[str, Callable[[Monitor, Source, reports.ReportReader], None]] = {
    "rows": _take_rows, "zpool": _take_zpool, "scrub": _take_scrub, "nmon": _take_nmon,
    "diskstats": _take_diskstats,
}  # fmt: skip
VMSTAT, GSTAT, COLLECTL, ZPOOL, SCRUB, NMON, DISKSTATS = (
    Monitor(**fields).format(name)
    for name, fields in tomllib.loads(
        (files(__package__) / "machine.toml").read_text("utf-8")
    ).items()
)
