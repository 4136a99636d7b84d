"""fio: the logs of its jobs, its JSON, and one run put together of both.

`json` reads documents and the terse output, of which `counters` makes rows. `log` reads logs, each
of whose runs is a :class:`LogRun`: fio averages over windows (``log_avg_msec``), or it logs every
I/O, or it counts latencies in buckets. :func:`samples_of` makes of the parts of one run, of one job
or of several beside each other, one table on common times; `run` joins the files of one run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from heatsoak._core import FioLog
from heatsoak.importer.frames import Array, build
from heatsoak.importer.tables import KIB

#: What the values are; `other` is not known, so that only the number of rows and their sizes tell.
Quantity = Literal["bw", "iops", "lat", "clat", "slat", "hist", "other"]
#: Every I/O, the mean of a window, or how many I/Os of a window took how long.
LogKind = Literal["io", "window", "hist"]
#: The rows of one direction: `end_ms` rising, `first_ms` and `last_ms`, and of what was done until
#: then `count`, `bytes`, `mean`, `p50`, `p99`, `p999`, `max`.
DirectionRows = Mapping[str, Array]

_DIRECTIONS = {0: "read", 1: "write"}
_SHARES = ("p50", "p99", "p999")
_LATENCIES = ("mean", *_SHARES, "max")
#: A row this much later than the usual window has windows before it in which nothing completed.
_GAP_WINDOWS = 1.6
#: Of so large a share of its rows, a stall comes before none.
_MANY_HOLES = 0.05
#: Ends of windows so near to each other, in windows, are the same window's.
_SAME_WINDOW = 0.25
#: A log that begins within this began with its job; later, something came before (`ramp_time`).
_AT_ONCE_MS = 1000.0
_BIN_MS = float(FioLog.BIN_MS)


@dataclass(frozen=True)
class LogRun:
    """One run in one log.

    Attributes:
        job: which job's; parts of the same job are different quantities of it.
        tables: by direction: 0 reads, 1 writes.
        window_ms: the usual time between rows; 0 where there is only one.
        lat_us: what a latency's value has to be multiplied with; None if it is not certain.
        has_max: whether `max` of a window is known.
        absolute: whether times are of the clock.
        shared: whether several jobs may have written the file (``per_job_logs=0``).
    """

    quantity: Quantity
    kind: LogKind
    job: str
    tables: Mapping[int, DirectionRows]
    window_ms: float
    absolute: bool = False
    lat_us: float | None = None
    guessed_lat_us: float = 1e-3
    has_max: bool = False
    shared: bool = False

    @property
    def first_ms(self) -> float:
        """When its first row begins; 0 where that is about when its job began."""
        first = min(float(table["end_ms"][0]) for table in self.tables.values())
        window_ms = _BIN_MS if self.kind == "io" else self.window_ms
        at_once_ms = _AT_ONCE_MS if self.kind == "io" else _GAP_WINDOWS * window_ms
        if not self.absolute and (first <= at_once_ms or window_ms == 0):
            return 0.0
        return first - (window_ms or _AT_ONCE_MS)

    @property
    def last_ms(self) -> float:
        """When its last row ends."""
        return max(float(table["end_ms"][-1]) for table in self.tables.values())

    @property
    def has_many_holes(self) -> bool:
        """Whether windows without rows stand all over it, which is no stall."""
        ends_ms = np.unique(np.concatenate([table["end_ms"] for table in self.tables.values()]))
        late = np.diff(ends_ms) > _GAP_WINDOWS * self.window_ms
        return int(late.sum()) > max(_MANY_HOLES * len(ends_ms), 2)

    @property
    def scale_us(self) -> float:
        """Microseconds of a latency's value, certain or not."""
        return self.lat_us if self.lat_us is not None else self.guessed_lat_us


def samples_of(parts: Sequence[LogRun], begin_ms: float) -> pl.DataFrame:
    """Return samples of one run; `begin_ms` of its logs is `t_s` = 0.

    Rates of jobs are added up; latencies are means weighted by I/Os where those are known. Where
    no I/O was completed rates are 0 and latencies null. Sequences of `parts` are not empty.
    """
    rated = [part for part in parts if part.quantity in ("bw", "iops") or part.kind != "window"]
    windowed = [part for part in rated if part.kind != "io"]
    if not windowed and not rated:
        windowed = [part for part in parts if part.kind == "window"]
    edges = _edges(windowed, begin_ms) if windowed else _bin_edges(rated, begin_ms)
    columns: dict[str, Any] = {}
    for ddir, name in _DIRECTIONS.items():
        there = [part for part in parts if ddir in part.tables]
        if not there:
            continue
        rates = _rates(there, ddir, edges)
        weights = _iops_of_jobs(there, ddir, edges)
        columns |= {f"{name}_{what}": values for what, values in rates.items()}
        columns |= {
            f"{name}_{what}": values for what, values in _latencies(there, ddir, edges, weights)
        }
    has_values = np.zeros(len(edges) - 1, dtype=bool)
    for values in columns.values():
        has_values |= np.isfinite(values)
    times = {"t_s": (edges[1:] - begin_ms) / 1000, "interval_s": np.diff(edges) / 1000}
    return build({name: values[has_values] for name, values in (times | columns).items()})


def _rates(parts: Sequence[LogRun], ddir: int, edges: Array) -> dict[str, Array]:
    """Return `bw_mb_s` and `iops` of one direction, as far as its logs tell."""
    found: dict[str, Array] = {}
    for quantity, what, scale in (("bw", "bw_mb_s", KIB), ("iops", "iops", 1.0)):
        averaged = [p for p in parts if p.kind == "window" and p.quantity == quantity]
        if averaged:
            found[what] = sum(
                (_rate(part, ddir, edges) for part in averaged), np.zeros(len(edges) - 1)
            )
            found[what] = found[what] * scale
            continue
        counted = _counted(parts, quantity)
        column, per_s = ("bytes", 1e-3) if what == "bw_mb_s" else ("count", 1e3)
        totals = [
            _amount(part, ddir, column, edges)
            for part in counted
            if np.any(part.tables[ddir][column] > 0)
        ]
        if totals:
            found[what] = sum(totals, np.zeros(len(edges) - 1)) / np.diff(edges) * per_s
    return found


def _counted(parts: Sequence[LogRun], quantity: str) -> list[LogRun]:
    """Return the logs that count I/Os, of a single quantity: of the one wanted if there is one."""
    counted = [part for part in parts if part.kind != "window"]
    jobs = {q: sum(part.quantity == q for part in counted) for q in {p.quantity for p in counted}}
    if not jobs:
        return []
    best = max(jobs, key=lambda q: (jobs[q], q == quantity, q != "hist", q))
    return [part for part in counted if part.quantity == best]


def _amount(part: LogRun, ddir: int, column: str, edges: Array) -> Array:
    """Return how much of `column` falls between each two edges."""
    table = part.tables[ddir]
    if part.kind == "io":
        which, within = _between(table, edges)
        return _summed(which, table[column][within], len(edges) - 1)
    ends = np.concatenate([[part.first_ms], table["end_ms"]])
    total = np.concatenate([[0.0], np.cumsum(table[column])])
    return np.diff(np.interp(edges, ends, total))


def _iops_of_jobs(parts: Sequence[LogRun], ddir: int, edges: Array) -> dict[str, Array]:
    """Return what the latencies of each job are to be weighted with: its I/Os, or its bytes."""
    weights: dict[str, Array] = {}
    for quantity in ("bw", "iops"):
        for part in parts:
            if part.kind == "window" and part.quantity == quantity:
                weights[part.job] = _rate(part, ddir, edges)
    return weights


def _latencies(
    parts: Sequence[LogRun], ddir: int, edges: Array, weights: Mapping[str, Array]
) -> list[tuple[str, Array]]:
    timed = latency_parts(parts)
    if not timed:
        return []
    per_part: list[tuple[dict[str, Array], Array]] = []
    for part in timed:
        if part.kind == "io":
            values, weight = _binned(part, ddir, edges)
        else:
            known = _LATENCIES if part.kind == "hist" else ("mean", *(["max"] * part.has_max))
            values = {name: _held(part, ddir, name, edges) for name in known}
            weight = weights.get(part.job, np.ones(len(edges) - 1))
            if part.kind == "hist":
                weight = _amount(part, ddir, "count", edges)
        scaled = {name: column * part.scale_us for name, column in values.items()}
        per_part.append((scaled, weight))
    found: list[tuple[str, Array]] = []
    for name in _LATENCIES:
        having = [(values[name], weight) for values, weight in per_part if name in values]
        if not having:
            continue
        stacked = np.array([values for values, _ in having])
        known_there = np.isfinite(stacked)
        if name == "max":
            together = np.max(np.where(known_there, stacked, -np.inf), axis=0)
        else:
            share = np.where(known_there, np.maximum([w for _, w in having], 1e-9), 0.0)
            with np.errstate(invalid="ignore", divide="ignore"):
                together = np.sum(np.where(known_there, stacked, 0.0) * share, axis=0)
                together = together / np.sum(share, axis=0)
        found.append(("lat_us" if name == "mean" else f"lat_{name}_us", together))
    return found


def latency_parts(parts: Sequence[LogRun]) -> list[LogRun]:
    """Return the parts whose latencies count: whole ones, else those of completion."""
    for quantity in ("lat", "clat", "hist"):
        found = [part for part in parts if part.quantity == quantity]
        if found:
            return found
    return []


def _between(table: DirectionRows, edges: Array) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return between which edges bins fall, and which of them do at all."""
    within = (table["first_ms"] <= edges[-1]) & (table["last_ms"] >= edges[0])
    which = np.searchsorted(edges, table["end_ms"][within] - _BIN_MS / 2) - 1
    return np.clip(which, 0, len(edges) - 2), within


def _summed(which: NDArray[np.int64], amounts: Array, count: int) -> Array:
    return np.bincount(which, weights=amounts, minlength=count).astype(np.float64)


def _binned(part: LogRun, ddir: int, edges: Array) -> tuple[dict[str, Array], Array]:
    """Return latencies of a log of every I/O between each two edges, and how many I/Os it were."""
    count = len(edges) - 1
    which, within = _between(part.tables[ddir], edges)
    table = {name: column[within] for name, column in part.tables[ddir].items()}
    weight = _summed(which, table["count"], count)
    values: dict[str, Array] = {}
    with np.errstate(invalid="ignore", divide="ignore"):
        for name in ("mean", *_SHARES):
            values[name] = _summed(which, table[name] * table["count"], count) / weight
    greatest = np.full(count, -np.inf)
    np.maximum.at(greatest, which, table["max"])
    values["max"] = np.where(weight > 0, greatest, np.nan)
    return values, weight


def _held(part: LogRun, ddir: int, column: str, edges: Array, *, is_rate: bool = False) -> Array:
    """Return what a window's column is in each interval between `edges`; NaN where it is none."""
    begin_ms, end_ms, value = _steps(part, ddir, column, is_rate=is_rate)
    middle = (edges[1:] + edges[:-1]) / 2
    index = np.searchsorted(end_ms, middle)
    inside = np.minimum(index, len(end_ms) - 1)
    held = (index < len(end_ms)) & (begin_ms[inside] <= middle)
    return np.where(held, value[inside], np.nan)


def _rate(part: LogRun, ddir: int, edges: Array) -> Array:
    return np.nan_to_num(_held(part, ddir, "mean", edges, is_rate=True))


def _steps(part: LogRun, ddir: int, column: str, *, is_rate: bool) -> tuple[Array, Array, Array]:
    """Return where windows begin and end, and their values; a rate is 0 in those without a row.

    Where these stand all over a log, as of a load that pauses, rates are means over them too.
    """
    table = part.tables[ddir]
    end_ms, value = table["end_ms"], table[column]
    before_ms = np.concatenate([[part.first_ms], end_ms[:-1]])
    if part.kind == "hist":
        return before_ms, end_ms, value
    window_ms = part.window_ms or end_ms[0] - part.first_ms
    late = end_ms - before_ms > _GAP_WINDOWS * window_ms
    begin_ms = np.where(late, end_ms - window_ms, before_ms)
    if not is_rate:
        return begin_ms, end_ms, value
    if part.has_many_holes:
        return before_ms, end_ms, value * np.where(late, window_ms / (end_ms - before_ms), 1.0)
    at = np.flatnonzero(late)
    return (
        np.insert(begin_ms, at, before_ms[late]),
        np.insert(end_ms, at, begin_ms[late]),
        np.insert(value, at, 0.0),
    )


def _edges(parts: Sequence[LogRun], begin_ms: float) -> Array:
    """Return where the windows of `parts` end, those that are meant to be the same once."""
    ends: list[Array] = []
    lasts: list[float] = []
    for part in parts:
        for ddir in part.tables:
            begins_ms, ends_ms, _ = _steps(part, ddir, "mean", is_rate=True)
            ends += [ends_ms, begins_ms[:1]]
            lasts.append(float(ends_ms[-1]))
    window_ms = max(part.window_ms for part in parts) or max(lasts) - begin_ms
    # a job's last window may be lost: what the others did then is not the whole
    last = max(lasts)
    last = min(end for end in lasts if end >= last - 2.5 * window_ms)
    last = max(end for end in lasts if end <= last + _SAME_WINDOW * window_ms)
    every = np.unique(np.concatenate(ends))
    every = every[(every > begin_ms) & (every <= last)]
    apart = _SAME_WINDOW * window_ms
    kept: list[float] = [begin_ms]
    first = begin_ms
    for end in every.tolist():
        if end - first > apart:
            kept.append(end)
            first = end
        elif len(kept) > 1:
            kept[-1] = end
    return np.array(kept if len(kept) > 1 else [begin_ms, max(last, begin_ms + 1.0)])


def _bin_edges(parts: Sequence[LogRun], begin_ms: float) -> Array:
    """Return the edges of the bins that logs of every I/O fell into, gaps as one."""
    ends = np.unique(
        np.concatenate([table["end_ms"] for part in parts for table in part.tables.values()])
    )
    every = np.unique(np.concatenate([ends, ends - _BIN_MS, [begin_ms]]))
    every = every[every >= begin_ms]
    last = max(float(table["last_ms"][-1]) for p in parts for table in p.tables.values()) + 1.0
    if len(every) > 2 and last - every[-2] < _BIN_MS / 2:
        every = every[:-1]  # what little came behind the last whole bin belongs to it
    every[-1] = last
    return every
