"""fio's per-job logs: ``P_bw.N.log``, ``P_iops.N.log``, ``P_lat|clat|slat.N.log``, ``P_clat_hist``.

A file holds rows of ``time, value, direction, block size, ...`` and does not say what the value
is; that is in its name, which fio gives it, and only partly in the numbers.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import PurePath
from typing import Any, NamedTuple, cast

import numpy as np

from heatsoak._core import FioLog
from heatsoak.errors import UsageError
from heatsoak.importer.formats import Format, fio
from heatsoak.importer.formats.results import numbered
from heatsoak.importer.frames import Array
from heatsoak.importer.log import Log, Options, Remark
from heatsoak.importer.source import Source
from heatsoak.protocol import Observed
from heatsoak.recording import UNREAD

#: Lines of the head that are looked at.
_SHOWN = 40
_ROW = re.compile(r"\d{1,16}, ?\d{1,20}(?:, ?(?:\d{1,20}|0x[0-9a-f]{1,8})){0,6}", re.ASCII)
_LETTER = re.compile(r"[^\W\d]")
_NAME = re.compile(
    r"^(?P<prefix>.*)(?:^|[_.-])(?P<what>clat_hist|bw|iops|lat|clat|slat)"
    r"(?:[._-](?P<job>\d+))?(?:\.(?:log|txt|csv))?(?:\.(?P<host>[^/]*?))??(?:\.(?:gz|bz2|xz))?$",
    re.IGNORECASE,
)
#: Prefixes that were given for each kind of log repeat it: ``run-bw.log_bw.1.log``.
_SAID_TWICE = re.compile(
    r"(?:^|[_.-])(?:bw|bandwidth|iops|lat|latency|clat|slat)(?:[_.-]?log)?$", re.I
)
#: Milliseconds since 1970 of the year 2001 and later.
_EPOCH_MS = 1e12
#: fio 1 and 2 logged bandwidth in windows of half a second even where it logged each I/O.
_MIN_WINDOW_MS = 200.0
#: So many windows may lie between usual rows, each as long within this share.
_MOST_MISSING, _SAME_SHARE = 4, 0.05
#: Fewer rows may keep to a clock by chance.
_LEAST_CLOCKED = 50
#: What a tenth of a second of a log takes in memory.
_BIN_BYTES = 100
#: I/Os that a load can have in flight on average: outside, a unit or a value was misread.
MIN_IN_FLIGHT, MAX_IN_FLIGHT = 0.05, 4096.0

RENAME = "name it as fio does: P_bw.1.log, P_iops.1.log or P_lat.1.log"


def _recognises(source: Source) -> bool:
    try:
        shown = [line.strip() for line in source.head_lines[: 2 * _SHOWN] if line.strip()][:_SHOWN]
    except UsageError:
        return False
    if is_histogram(shown):
        return True
    if not shown or ("," in shown[0] and all(map(_LETTER.search, shown[0].split(",")))):
        return False  # the header of a table: fio writes none
    rows = [line for line in shown if _ROW.fullmatch(line)]
    numbers = [[int(word, 0) if "x" in word else int(word) for word in r.split(",")] for r in rows]
    (width, count), *_ = Counter(map(len, numbers)).most_common(1) or [(0, 0)]
    if count < 0.6 * len(shown):
        return False
    numbers = [row for row in numbers if len(row) == width]
    falls = sum(b[0] < a[0] - 1000 for a, b in pairwise(numbers))
    if width == 2:
        # the oldest logs have no direction: whole numbers, apart as fio prints them
        return falls == 0 and len(shown) > 1 and all(", " in row for row in rows)
    is_any = all(row[2] <= 2 for row in numbers)
    is_with_offsets = width >= 6 and all(row[3] <= 2 and row[4] == 0 for row in numbers)
    return falls <= len(numbers) / 4 and (is_any or is_with_offsets)


class _Name(NamedTuple):
    """What a log is called.

    Attributes:
        prefix: directory and prefix, which the logs of one run share; None where the name is not
            one that fio gives.
        quantity: what its values are, by the name; empty where it does not say.
        job: the number of the job, and its host.
        shared: whether it has no number: several jobs may have written it.
    """

    prefix: str | None = None
    quantity: str = ""
    job: str = ""
    shared: bool = False


def _name_of(name: str) -> _Name:
    path = PurePath(name.replace("\\", "/"))
    found = _NAME.match(path.name)
    if found is None:
        return _Name()
    return _Name(
        str(path.parent / (plain_prefix(found["prefix"]) or ".")),
        found["what"].lower(),
        ".".join(word for word in (found["job"], found["host"]) if word),
        not found["job"],
    )


def plain_prefix(prefix: str) -> str:
    """Return a prefix of logs without the quantity that some name in it."""
    return _SAID_TWICE.sub("", prefix)


def _read(source: Source, _: Options) -> list[Log]:
    name = _name_of(source.name)
    if is_histogram([line.strip() for line in source.head_lines[:_SHOWN] if line.strip()]):
        parts = [
            fio.LogRun("hist", "hist", name.job, tables, _usual(tables), lat_us=1e-3, has_max=True)
            for tables in histogram(source)
        ]
        source.note("latencies are those of fio's buckets, within 1 %")
    else:
        log = _fed(source)
        runs = [log.bins(index) for index in range(len(log.run_lines))]
        parts = [_part(source, log, tables, name) for bins in runs if (tables := _tables(bins))]
        if not parts:
            what = "holds trims alone" if runs else "holds no row of fio's log that can be read"
            raise source.error(what)
        if any((bins["ddir"] == 2).any() for bins in runs):
            source.note("trims are left out")
    if len(parts) > 1:
        text = f"its time starts again: taken as {len(parts)} consecutive runs"
        if name.shared:
            text += (
                "; jobs that shared the file (per_job_logs=0) look the same: give fio's JSON too"
            )
        source.remark(text, UNREAD)
    logs = []
    for found in parts:
        absolute = min(float(table["last_ms"][0]) for table in found.tables.values()) >= _EPOCH_MS
        part = replace(found, absolute=absolute, shared=name.shared)
        alone = tuple(remarks_on(source.name, part))
        logs.append(
            Log(
                format="fio-log",
                source=source.name,
                samples=fio.samples_of([part], part.first_ms),
                clock="utc" if absolute else "none",
                start_unix_s=part.first_ms / 1000 if absolute else None,
                steps=(observed_of(name.prefix, [part]),),
                family=name.prefix,
                remarks=alone,
                details={
                    "fio_part": part,
                    "fio_alone": alone,
                    "fio_directories": source.directories,
                },
            )
        )
    return numbered(logs)


def _fed(source: Source) -> FioLog:
    log = FioLog()
    kept = 0
    for piece in _pieces(source):
        log.feed(piece)
        source.keep(_BIN_BYTES * (log.bin_count - kept))
        kept = log.bin_count
    log.finish()
    if log.disordered:
        raise source.error("its times go backwards repeatedly: is it sorted by another column?")
    count, first = log.skipped
    if count:
        source.skip(first, count)
    return log


def _pieces(source: Source) -> Iterator[bytes]:
    if source.encoding == "utf-8":
        yield from source.chunks()
        return
    for _, line in source.lines():
        yield line.encode("utf-8", "replace") + b"\n"


def _tables(bins: dict[str, Any]) -> dict[int, fio.DirectionRows]:
    tables: dict[int, fio.DirectionRows] = {}
    for ddir in (0, 1):
        there = bins["ddir"] == ddir
        if there.any():
            table = {name: column[there] for name, column in bins.items() if name != "ddir"}
            tables[ddir] = {name: column.astype(float) for name, column in table.items()}
    return tables


def _usual(tables: dict[int, fio.DirectionRows]) -> float:
    """Return how long a window is, in ms: the usual time between rows, or a part of it.

    It is a part where many windows have no row: then others are shorter, or the first ends before
    a usual one could. 0 for single rows.
    """
    between = np.concatenate([np.diff(table["last_ms"]) for table in tables.values()])
    if not len(between):
        return 0.0
    least, usual = np.percentile(between, [10, 50], method="lower").tolist()
    first = min(float(table["last_ms"][0]) for table in tables.values())
    for window in (least, first):
        parts = round(usual / window) if window > 0 else 0
        if 1 < parts <= _MOST_MISSING and abs(usual / window - parts) < _SAME_SHARE * parts:
            return float(usual / parts)
    return float(usual)


def _part(
    source: Source, log: FioLog, tables: dict[int, fio.DirectionRows], name: _Name
) -> fio.LogRun:
    facts = _Facts(tables, log)
    quantity = _quantity(source, facts, name)
    kind = facts.kind_of(quantity)
    for table in tables.values():
        ends = table["last_ms"]
        if kind == "io":
            ends = np.floor(table["first_ms"] / FioLog.BIN_MS + 1) * FioLog.BIN_MS
        cast(dict[str, Array], table)["end_ms"] = ends
    lat_us, guess = facts.lat_unit() if quantity in ("lat", "clat") else (1e-3, 1e-3)
    window_ms = _usual(tables) if kind == "window" else float(FioLog.BIN_MS)
    return fio.LogRun(quantity, kind, name.job, tables, window_ms, lat_us=lat_us,
                guessed_lat_us=guess, has_max=log.both)  # fmt: skip


class _Facts:
    def __init__(self, tables: dict[int, fio.DirectionRows], log: FioLog) -> None:
        self.columns = log.columns
        self.priority = log.priority
        both = {
            name: np.concatenate([table[name] for table in tables.values()])
            for name in ("count", "bytes", "mean", "max", "first_ms", "last_ms")
        }
        self.rows = float(both["count"].sum())
        self.bytes = float(both["bytes"].sum())
        self.mean = float((both["mean"] * both["count"]).sum()) / self.rows
        self.all_ones = bool(((both["mean"] == 1) & (both["max"] == 1)).all())
        self.span_s = max(float(both["last_ms"].max() - both["first_ms"].min()), 1.0) / 1000
        spaces = np.concatenate([np.diff(table["last_ms"]) for table in tables.values()])
        self.space_ms = float(np.median(spaces)) if len(spaces) else 0.0
        steady = np.abs(spaces - self.space_ms) <= 0.02 * self.space_ms
        self.steady = bool(len(spaces) and steady.mean() > 0.8)
        self.single = bool((both["count"] == 1).mean() > 0.8)
        #: Whether rows keep to a clock all along, as I/Os between pauses do not.
        ends = [table["last_ms"] for table in tables.values()]
        off_ms = [np.ptp(each - self.space_ms * np.arange(len(each))) for each in ends]
        self.is_clocked = self.rows > _LEAST_CLOCKED and max(off_ms) < 0.2 * self.space_ms
        self.bs = self.bytes / self.rows

    @property
    def is_rare(self) -> bool:
        """Whether single I/Os of these rates would leave the drive idle nearly all the time."""
        return self.rows / self.span_s * self.bs < MIN_IN_FLIGHT * self.mean * 1024

    def kind_of(self, quantity: fio.Quantity) -> fio.LogKind:
        """Tell windows from single I/Os: only these have a block size, since fio 2.2."""
        if self.bytes == 0:
            return "io" if self.columns <= 3 and self.rows > 1 and self.all_ones else "window"
        if quantity == "iops":
            return "io" if self.all_ones else "window"
        if quantity == "bw" and self.single and self.is_clocked and self.is_rare:
            return "window"
        if not self.single or self.space_ms < _MIN_WINDOW_MS:
            return "io"
        if quantity == "bw":
            moved = self.mean * 1024 * self.space_ms / 1000
            return "window" if moved > 3 * self.bs else "io"
        return "window" if self.rows > 2 and self.steady else "io"

    def in_flight(self, lat_us: float) -> float:
        """I/Os in flight if the values were latencies in this unit, by Little's law."""
        return self.rows / self.span_s * self.mean * lat_us * 1e-6

    def lat_unit(self) -> tuple[float | None, float]:
        """Return microseconds of a value: certain (or None), and the likely one.

        fio 3 has ns, fio 2 us; priorities came with 3.18.
        """
        if self.priority:
            return 1e-3, 1e-3
        if self.bytes and self.rows >= 20:
            fits = [
                unit
                for unit in (1e-3, 1.0)
                if MIN_IN_FLIGHT <= self.in_flight(unit) <= MAX_IN_FLIGHT
            ]
            if len(fits) == 1:
                return None, fits[0]
        return None, 1e-3 if self.mean >= 20_000 else 1.0


def _quantity(source: Source, facts: _Facts, name: _Name) -> fio.Quantity:
    """Return what the values are: by the name, unless the numbers say otherwise."""
    if facts.bytes and facts.all_ones and facts.rows > 1:
        return "iops"
    if name.quantity in ("bw", "iops", "lat", "clat", "slat"):
        return cast(fio.Quantity, name.quantity)
    if not facts.bytes:
        raise source.error(
            f"is a fio log, but does not say whether of bandwidth, IOPS or latency: {RENAME}"
        )
    # of each I/O bytes are known, so that the rates are right whatever its value is
    if facts.in_flight(1e-3) >= 0.5 and not _could_be_bw(facts):
        guess: fio.Quantity = "lat"
    elif facts.in_flight(1e-3) < MIN_IN_FLIGHT and _could_be_bw(facts):
        guess = "bw"
    else:
        guess = "other"
    text = {
        "lat": "its values are taken as latencies",
        "bw": "its values are taken as bandwidths",
        "other": "it is not certain what its values are, so they are left out",
    }[guess]
    source.remark(f"{text}; to be sure, {RENAME}", UNREAD)
    return guess


def _could_be_bw(facts: _Facts) -> bool:
    """Whether the values, as kB/s of single I/Os, would keep a likely number in flight."""
    lat_s = facts.bs / max(facts.mean * 1000, 1.0)
    return MIN_IN_FLIGHT <= facts.rows / facts.span_s * lat_s <= MAX_IN_FLIGHT


def observed_of(prefix: str | None, parts: list[fio.LogRun]) -> Observed:
    """Return what logs tell of their load."""
    sizes = {
        float(size)
        for part in parts
        if part.kind == "io"
        for table in part.tables.values()
        for size in np.unique(table["bytes"] / table["count"])[:2]
    }
    bs = int(sizes.pop()) if len(sizes) == 1 else None
    directions = {ddir for part in parts for ddir in part.tables}
    name = PurePath(prefix).name[:200] if prefix else ""
    return Observed(
        name=name or "fio",
        reads=0 in directions,
        writes=1 in directions,
        bs=bs if bs and bs < 1 << 40 else None,
    )


def remarks_on(name: str, part: fio.LogRun) -> Iterator[Remark]:
    """Yield how the values of a part were read."""
    if part.kind == "io":
        yield Remark(
            f"{name}: logs every I/O: throughput is the sum of block sizes, and IOPS the number "
            "of I/Os, in each 0.1 s"
        )
    elif part.quantity == "bw":
        yield Remark(f"{name}: bandwidth is taken as KiB/s, as fio writes it, and given in MB/s")
    if part.kind != "io" and part.has_many_holes:
        text = "many of its windows have no row: nothing was completed in them, or rows are lost"
        yield Remark(f"{name}: {text}", True, ("rate",))
    if part.quantity in ("lat", "clat") and part.lat_us is None:
        unit, version = ("ns", 3) if part.guessed_lat_us < 1 else ("us", 2)
        yield Remark(
            f"{name}: latencies are taken as {unit}, as fio {version} writes them; the log does "
            "not state its version",
            doubt=True,
            touches=(),
        )
    if part.quantity == "clat":
        yield Remark(f"{name}: latencies are those of completion (clat), without submission")
    if part.quantity == "slat":
        yield Remark(f"{name}: submission latencies are left out")


FORMAT = Format("fio-log", "fio's bw, iops and lat logs", _recognises, _read, priority=10)


# --- histograms of latencies ---------------------------------------------------------------------

#: Buckets that fio has: 29 groups of 64 since it counts ns, 19 before; coarseness halves them.
_GROUP = 64
_SCALES = {
    groups * _GROUP >> coarse: (groups, 1 << coarse, scale)
    for groups, scale in ((29, 1.0), (19, 1000.0))
    for coarse in range(7)
}
_FIRST = 3
_SHARES = (0.5, 0.99, 0.999)
#: Time that falls by more starts another run.
_DISORDER_MS = 1000.0
_MAX_RUNS = 256


def is_histogram(lines: list[str]) -> bool:
    """Whether most of `lines` are a time, a direction, a block size, and buckets."""
    rows = [line.split(",") for line in lines if line.count(",") >= _FIRST + 18]
    return len(rows) > 0.6 * len(lines) and all(
        len(row) - _FIRST in _SCALES
        and all(word.strip().isascii() and word.strip().isdigit() for word in row)
        and int(row[1]) <= 2
        for row in rows[:3]
    )


def histogram(source: Source) -> list[dict[int, fio.DirectionRows]]:
    """Return for each run the windows of each direction: how many I/Os, and their latencies in ns.

    Raises UsageError where no line can be read.
    """
    runs: list[dict[int, list[tuple[float, ...]]]] = []
    latencies: Array | None = None
    first_ms = last_ms = math.inf
    for number, line in source.lines():
        words = line.split(",")
        if latencies is None and len(words) - _FIRST in _SCALES:
            latencies = _latencies_ns(len(words) - _FIRST)
        row = _row(words)
        if latencies is None or row is None or len(row) - _FIRST != len(latencies):
            if line.strip():
                source.skip(number)
            continue
        end_ms, direction = float(row[0]), int(row[1])
        back_ms = last_ms - end_ms
        again = back_ms > _DISORDER_MS / 10 and end_ms - first_ms < back_ms / 4
        if (back_ms > _DISORDER_MS or again) and len(runs) < _MAX_RUNS:
            runs.append({0: [], 1: []})
            first_ms = end_ms
        last_ms = end_ms
        if direction > 1:
            continue
        rows = runs[-1][direction]
        if rows and end_ms <= rows[-1][0]:
            source.skip(number)
        else:
            rows.append((end_ms, *_window(row, latencies)))
    tables = [{way: _table(rows) for way, rows in run.items() if rows} for run in runs]
    if not any(tables):
        raise source.error("holds no row of a histogram that can be read")
    return [table for table in tables if table]


def _row(words: list[str]) -> Array | None:
    """Return a line's numbers, None where they make no sense."""
    try:
        row = np.array(words, dtype=np.float64)
    except ValueError:
        return None
    sound = np.isfinite(row).all() and (row >= 0).all() and (row < 1 << 52).all()
    return row if sound and len(row) > _FIRST and row[1] <= 2 else None


def _latencies_ns(buckets: int) -> Array:
    """Return the middle of each bucket that a row of so many has."""
    groups, stride, scale = _SCALES[buckets]
    index = np.arange(groups * _GROUP)
    error_bits = np.maximum(index // _GROUP - 1, 0)
    middle = (1 << error_bits) * (_GROUP + index % _GROUP + 0.5)
    middle = np.where(index < 2 * _GROUP, index, middle)
    return np.asarray(middle.reshape(-1, stride).mean(axis=1) * scale, dtype=np.float64)


def _window(row: Array, latencies: Array) -> tuple[float, ...]:
    """Return the I/Os of a row, their bytes, and mean, percentiles and maximum of latencies."""
    counts = row[_FIRST:]
    total = float(counts.sum())
    if total == 0:
        return (0.0, 0.0, *[math.nan] * 5)
    shares = latencies[np.searchsorted(np.cumsum(counts), np.multiply(_SHARES, total))]
    mean = float((counts * latencies).sum()) / total
    return total, total * float(row[2]), mean, *shares, float(latencies[np.flatnonzero(counts)[-1]])


def _table(rows: list[tuple[float, ...]]) -> fio.DirectionRows:
    names = ("end_ms", "count", "bytes", "mean", "p50", "p99", "p999", "max")
    columns = dict(zip(names, np.array(rows).T.copy(), strict=True))
    return {**columns, "first_ms": columns["end_ms"], "last_ms": columns["end_ms"]}
