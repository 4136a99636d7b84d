"""What readers share in building frames of samples: intervals, rates of counters, runs.

A counter may be missing in some readings, be brought up to date only every few of them, count in
coarse units, or fall where it was reset.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from heatsoak.recording import Touched, grid, schema_of
from heatsoak.words import amount_text, rate_text

Array = grid.Array

#: A mean over more usual intervals than this, or over more than an hour, says nothing of a load.
_MAX_MEAN_INTERVALS = 10.0
_MAX_MEAN_S = 3600.0
#: Throughput, of reads (`read_bw_mb_s`), of writes, or together.
RATES = ("bw_mb_s", "iops")


def spread(t_s: Array, unit_s: float = 1.0) -> Array:
    """Return rising times that were cut to a unit, with those that repeat spread over it."""
    _, firsts, which, counts = np.unique(
        t_s, return_index=True, return_inverse=True, return_counts=True
    )
    return np.asarray(t_s + unit_s * (np.arange(len(t_s)) - firsts[which]) / counts[which])


def are_far_apart(seconds: Array) -> NDArray[np.bool_]:
    """Whether readings of a counter lie so far apart that a mean between them is no rate."""
    return np.asarray(seconds > min(_MAX_MEAN_INTERVALS * grid.usual_of(seconds), _MAX_MEAN_S))


def rates(counter: Array, t_s: Array) -> Array:
    """Return a cumulative counter's rate over the time since the reading before.

    NaN for the first, for missing readings and the one after, where the counter fell (it was reset,
    or it wrapped), and where readings are far apart.
    """
    if len(counter) == 0:
        return np.empty(0)
    seconds = np.diff(t_s, prepend=np.nan)
    moved = np.diff(counter, prepend=np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        valid = (seconds > 0) & (moved >= 0) & ~are_far_apart(seconds)
        return np.where(valid, moved / seconds, np.nan)


def ways_of(quantity: str) -> tuple[str, str, str]:
    """Return the columns of a quantity: of reads, of writes, and of both together."""
    return f"read_{quantity}", f"write_{quantity}", quantity


def moved(samples: pl.DataFrame, quantity: str = "bw_mb_s") -> Array:
    """Return what was read and written in each sample; 0 where it is not known."""
    names = [name for name in ways_of(quantity) if name in samples.columns]
    return samples.select(pl.sum_horizontal(pl.lit(0.0), *names)).to_series().to_numpy()


def rated(samples: pl.DataFrame) -> pl.DataFrame:
    """Return the samples that have a throughput."""
    every = [name for quantity in RATES for name in ways_of(quantity)]
    names = [name for name in every if name in samples.columns]
    return samples.filter(pl.any_horizontal(pl.col(name).is_not_null() for name in names))


def run_slices(
    t_s: Array, back_s: float = 0.0, ahead_s: float = np.inf, marks: ArrayLike = ()
) -> list[slice]:
    """Return the stretches of rows of one run each.

    Another one begins where time jumps back by more than `back_s` or ahead by more than `ahead_s`,
    and at the rows of these `marks`.
    """
    between_s = np.diff(t_s)
    ends = np.flatnonzero((between_s < -back_s) | (between_s > ahead_s)) + 1
    bounds = np.unique(np.concatenate([[0], ends, marks, [len(t_s)]]).astype(int))
    return [slice(a, b) for a, b in pairwise(bounds.tolist())]


def stretches(labels: Sequence[str]) -> Iterator[tuple[str, slice]]:
    """Yield each label with the stretch of consecutive rows that have it."""
    begin = 0
    for index in range(1, len(labels) + 1):
        if index == len(labels) or labels[index] != labels[begin]:
            yield labels[begin], slice(begin, index)
            begin = index


def entered_and_held(on: Array, t_s: Array) -> tuple[Array, Array]:
    """Return how often a state was entered and how long it held, cumulative, from 0/1 readings."""
    active = on > 0.5
    entered = np.cumsum(active & ~np.concatenate([[False], active[:-1]]))
    held_s = np.cumsum(np.where(active, grid.covered_s(t_s), 0.0))
    return entered.astype(float), held_s


def build(columns: Mapping[str, Any]) -> pl.DataFrame:
    """Return samples in the order and with the types of a recording, sorted by `t_s`.

    Rows whose `t_s` is not finite are left out, and so are columns without a finite value; NaN and
    infinities become null. Of rows with the same time the first stays; `t_s` is taken as it is.
    """
    frame = pl.DataFrame([_series(n, columns[n], dtype) for n, dtype in schema_of(columns).items()])
    t_s = frame["t_s"]
    if t_s.null_count() or not (t_s.diff().drop_nulls() > 0).all():
        keys = [name for name in ("t_s", "step") if name in frame.columns]
        frame = frame.drop_nulls("t_s").sort("t_s", maintain_order=True)
        frame = frame.unique(keys, keep="first", maintain_order=True)
    needed = ("t_s", "interval_s", "step")
    return frame[[c.name for c in frame if c.name in needed or c.null_count() < frame.height]]


def _series(name: str, values: Any, dtype: type[pl.DataType]) -> pl.Series:
    """As a column; null for what is not a finite number."""
    if dtype != pl.Float64:
        return pl.Series(name, list(values), dtype=dtype, strict=False)
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        numbers = pl.Series(values, dtype=pl.Float64, strict=False).to_numpy(writable=True)
    if np.isinf(numbers).any():
        numbers = np.where(np.isinf(numbers), np.nan, numbers)
    return pl.Series(name, numbers, dtype=dtype, nan_to_null=True)


# --- counters that are read again and again ------------------------------------------------------

Indices = NDArray[np.intp]

#: Rates of a counter are known to one part in this many.
_FINE = 20.0
#: Taken over many rows, about so many rates are left: a fall has to be seen in them.
_LEFT = 20
#: Readings of a counter in a row that may be of one moment; of more, the drive was idle.
_MAX_STALE = 10
#: A counter that moves less than this share of what the busiest does decides nothing.
_MATTERS = 0.05
#: A counter of bytes that grows by fewer of its units an interval tells no throughput.
_MIN_UNITS = 10.0
#: Means over longer than this hide what a drive does when it throttles.
_LONG_INTERVAL_S = 60.0

#: What is to be said of rates: a text, whether it is a doubt, and what that touches.
Said = tuple[str, bool, tuple[Touched, ...]]


def rates_of(
    counters: Mapping[str, Array], t_s: Array, unit_mb: float = 0.0
) -> tuple[dict[str, Array], list[Said]]:
    """Return the rates of counters with their `interval_s`, and what is to be said of them.

    Counters are MB or I/Os by the column of their rate; `unit_mb` is what one of MB grows by at
    least, where that is known. Rates are means over as many readings as it takes to know them well,
    the same for all counters, and NaN in between.
    """
    counters = {name: values for name, values in counters.items() if np.isfinite(values).sum() > 1}
    if not counters:
        return {}, []
    said: list[Said] = []
    densest = max(counters.values(), key=lambda values: int(np.isfinite(values).sum()))
    rows = np.flatnonzero(np.isfinite(densest))
    usual_s = float(np.median(np.diff(t_s[rows])))
    # read at other times than the densest, the others are as they were between their readings
    told = {name: _between(values, t_s)[rows] for name, values in counters.items()}
    kept = _fresh(told, t_s[rows])
    rows, told = rows[kept], {name: values[kept] for name, values in told.items()}
    interval_s = grid.covered_s(t_s)
    since_s = np.diff(t_s[rows])
    beat_s = float(np.median(since_s)) if len(since_s) else 0.0
    beat = amount_text(beat_s, "s")
    if beat_s > 1.5 * usual_s:
        text = f"its counters tell a rate only every {beat}: rates are means"
        said.append((f"{text} over that", True, ()))
    interval_s[rows[1:]] = np.where(are_far_apart(since_s), interval_s[rows[1:]], since_s)
    of_bytes = [name for name in told if name.endswith("bw_mb_s")]
    most = max((float(np.nanmax(np.diff(told[n]), initial=0.0)) for n in of_bytes), default=0.0)
    if 0 < most < _MIN_UNITS * unit_mb:
        told = {name: values for name, values in told.items() if name not in of_bytes}
        text = (
            f"its counters of bytes move by fewer than {_MIN_UNITS:.0f} units of "
            f"{amount_text(unit_mb, 'MB')} an interval: too coarse for a throughput, left out"
        )
        said.append((text, True, ("rate",)))
    elif of_bytes and unit_mb and beat_s:
        exact = rate_text(unit_mb / beat_s, 2)
        said.append((f"throughput is made of the drive's counters, to {exact}", False, ()))
    found: dict[str, Array] = {}
    for name, values in told.items():
        rate = np.full(len(t_s), np.nan)
        rate[rows] = rates(values, t_s[rows])
        if np.isfinite(rate).any():
            found[name] = rate
    if found and beat_s > _LONG_INTERVAL_S:
        text = f"its rates are means over {beat}: shorter throttling is not in them"
        said.append((text, True, ("rate",)))
    return (found | {"interval_s": interval_s} if found else {}), said


def _between(values: Array, t_s: Array) -> Array:
    known = np.isfinite(values)
    return np.interp(t_s, t_s[known], values[known], left=np.nan, right=np.nan)


def _fresh(counters: Mapping[str, Array], t_s: Array) -> Indices:
    """The readings that tell a rate: not those between which a drive at work counted nothing."""
    more = {name: np.diff(values, prepend=values[:1]) for name, values in counters.items()}
    moved = {name: float(np.nansum(np.maximum(values, 0))) for name, values in more.items()}
    of_bytes = [name for name in moved if name.endswith("bw_mb_s")] or list(moved)
    most = max(moved[name] for name in of_bytes)
    deciding = [name for name in of_bytes if moved[name] > _MATTERS * most]
    rows = np.arange(len(t_s))
    if not deciding:
        return rows
    grown = np.nan_to_num(sum(more[name] for name in deciding))
    places = np.flatnonzero(np.concatenate([[True], grown[1:] > 0]))
    gaps = np.diff(places)
    usual = float(np.median(gaps)) if len(gaps) >= 3 else 1.0
    is_regular = usual >= 2 and float((np.abs(gaps - usual) <= 1).mean()) >= 0.8
    is_slow = usual >= 2 and all(_is_unit(np.diff(counters[name])) for name in deciding)
    if is_regular or is_slow:
        since = rows - places[np.maximum(np.searchsorted(places, rows, "right") - 1, 0)]
        # a unit may take long where little is moved, but else it was idle
        is_told = (since == 0) | ((since >= 2 * usual) & (not is_slow))
        # at the first reading the counter may be as old as it gets
        is_told[0] = gaps[0] >= usual
        rows = rows[is_told]
    stride = max(_stride(np.diff(counters[name][rows])) for name in deciding)
    if stride > 1 or len(rows) < len(t_s):
        return rows[::stride]
    rate = grown[places] / np.diff(t_s[places], prepend=np.nan)
    is_fresh = np.ones(len(t_s), dtype=bool)
    for index in (np.flatnonzero((gaps > 1) & (gaps <= _MAX_STALE)) + 1).tolist():
        gap = gaps[index - 1]
        near = [rate[index - 1], *rate[index + 1 : index + 2]]
        usual = np.nanmax(near) if np.isfinite(near).any() else np.inf
        apart_s = t_s[places[index]] - t_s[places[index] - 1]
        # more than one interval's work, as of all since it last moved
        if grown[places[index]] > usual * apart_s * np.sqrt(gap):
            is_fresh[places[index] - gap + 1 : places[index]] = False
    return np.flatnonzero(is_fresh)


def _stride(more: Array) -> int:
    """How many readings of a counter, by how much it grew at each, make a rate that is known."""
    unit, grown = _unit(more), more[more > 0]
    change = np.diff(more)
    # a counter too coarse grows by a unit more, then less; a load that changes stays changed
    if not unit or not (change[1:] * change[:-1] < 0).any():
        return 1
    usual = float(more[more >= 0].mean() if _is_unit(more) else np.median(grown))
    return max(int(min(np.ceil(_FINE * unit / usual), len(more) // _LEFT)), 1)


def _is_unit(more: Array) -> bool:
    """Whether a counter grows by its unit, as a rule."""
    return bool((more > 0).any()) and float(np.median(more[more > 0])) <= 1.001 * _unit(more)


def _unit(more: Array) -> float:
    """The unit of a counter, by how much it grew at each reading; 0 where it never did."""
    sizes = np.unique(more[more > 0])
    least = float(np.median(sizes)) * _EXACT if len(sizes) else 0.0
    unit = 0.0
    for size in sizes[:: len(sizes) // _SIZES + 1].tolist():
        while size > least:
            unit, size = size, min(unit % size, -unit % size)
    return unit


#: What a counter grew by is a multiple of its unit, but for this share; so many sizes tell it.
_EXACT, _SIZES = 1e-4, 50
