"""What readers share in building frames of samples: intervals, rates of counters, runs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from heatsoak.recording import schema_of

Array = NDArray[np.float64]

#: A logger's sample covers at most this many of its usual intervals; a longer gap is unknown.
_MAX_INTERVALS = 2.0
#: A mean over more usual intervals than this, or over more than an hour, says nothing of a load.
_MAX_MEAN_INTERVALS = 10.0
_MAX_MEAN_S = 3600.0
#: Throughput, of reads (`read_bw_mb_s`), of writes, or together.
RATES = ("bw_mb_s", "iops")


def intervals(t_s: Array) -> Array:
    """Return the time each sample covers: since the one before, in a gap the usual interval.

    The first sample's is the usual one; a single sample's is 0.
    """
    if len(t_s) < 2:
        return np.zeros(len(t_s))
    between = np.diff(t_s)
    positive = between[between > 0]
    usual = float(np.median(positive)) if len(positive) else 0.0
    between = np.where(between > _MAX_INTERVALS * usual, usual, between)
    return np.concatenate([[usual], between])


def are_far_apart(seconds: Array) -> NDArray[np.bool_]:
    """Whether readings of a counter lie so far apart that a mean between them is no rate."""
    known = seconds[seconds > 0]
    usual = float(np.median(known)) if len(known) else 0.0
    return np.asarray(seconds > min(_MAX_MEAN_INTERVALS * usual, _MAX_MEAN_S))


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


def rated(samples: pl.DataFrame) -> pl.DataFrame:
    """Return the samples that have a throughput."""
    names = [
        name
        for quantity in RATES
        for name in (f"read_{quantity}", f"write_{quantity}", quantity)
        if name in samples.columns
    ]
    return samples.filter(pl.any_horizontal(pl.col(name).is_not_null() for name in names))


def run_slices(t_s: Array, min_jump_s: float = 0.0) -> list[slice]:
    """Return the stretches in which time does not jump back by more than `min_jump_s`."""
    ends = np.flatnonzero(np.diff(t_s) < -min_jump_s) + 1
    bounds = [0, *ends.tolist(), len(t_s)]
    return [slice(a, b) for a, b in pairwise(bounds) if b > a]


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
    held_s = np.cumsum(np.where(active, intervals(t_s), 0.0))
    return entered.astype(float), held_s


def build(columns: Mapping[str, Any]) -> pl.DataFrame:
    """Return samples in the order and with the types of a recording, sorted by `t_s`.

    Rows whose `t_s` is not finite are left out, and so are columns without a finite value; NaN and
    infinities become null. Of rows with the same time the first stays; `t_s` is taken as it is.
    """
    schema = schema_of(columns)
    t_s = _floats(columns["t_s"])
    is_whole = bool(np.isfinite(t_s).all() and (t_s[1:] > t_s[:-1]).all())
    order = np.empty(0, np.intp) if is_whole else _order(t_s, columns.get("step"))
    series = []
    for name, dtype in schema.items():
        if dtype == pl.Float64:
            values = t_s if name == "t_s" else _floats(columns[name])
            if not is_whole:
                values = values[order]
            kept = name in ("t_s", "interval_s") or not np.isnan(values).all()
            column = pl.Series(name, values, dtype=dtype, nan_to_null=True)
        else:
            taken = list(columns[name])
            if not is_whole:
                taken = [taken[row] for row in order.tolist()]
            column = pl.Series(name, taken, dtype=dtype, strict=False)
            kept = name == "step" or column.null_count() < len(column)
        if kept:
            series.append(column)
    return pl.DataFrame(series)


def _order(t_s: Array, steps: Iterable[str | None] | None) -> NDArray[np.intp]:
    """The rows to take: those with a time, in the order of time, one for each time and step."""
    order = np.flatnonzero(np.isfinite(t_s))
    order = order[np.argsort(t_s[order], kind="stable")]
    if steps is not None:
        listed = list(steps)
        steps = [listed[row] for row in order.tolist()]
    return order[_first_of_each(t_s[order], steps)]


def _floats(values: Any) -> Array:
    """As floats; NaN for what is not a finite number. Not copied unless something is replaced."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        numbers = pl.Series(values, dtype=pl.Float64, strict=False).to_numpy(writable=True)
    return np.where(np.isinf(numbers), np.nan, numbers) if np.isinf(numbers).any() else numbers


def _first_of_each(t_s: Array, steps: Sequence[str | None] | None) -> NDArray[np.bool_]:
    """Whether a row, in the order of time, is the first of its time (and of its step)."""
    fresh: NDArray[np.bool_] = np.diff(t_s, prepend=np.nan) != 0
    if steps is None or fresh.all():
        return fresh
    seen: set[str | None] = set()
    for index in range(len(t_s)):
        if fresh[index]:
            seen.clear()
        fresh[index] = steps[index] not in seen
        seen.add(steps[index])
    return fresh
