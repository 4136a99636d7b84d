"""What readers share in building frames of samples: intervals, rates of counters, runs."""

from collections.abc import Iterator, Mapping, Sequence
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


def usual_of(seconds: Array) -> float:
    """Return the median of times between rows, of those above 0; 0 where there are none."""
    positive = seconds[seconds > 0]
    return float(np.median(positive)) if len(positive) else 0.0


def intervals(t_s: Array) -> Array:
    """Return the time each sample covers: since the one before, in a gap the usual interval.

    The first sample's is the usual one; a single sample's is 0.
    """
    if len(t_s) < 2:
        return np.zeros(len(t_s))
    between = np.diff(t_s)
    usual = usual_of(between)
    between = np.where(between > _MAX_INTERVALS * usual, usual, between)
    return np.concatenate([[usual], between])


def are_far_apart(seconds: Array) -> NDArray[np.bool_]:
    """Whether readings of a counter lie so far apart that a mean between them is no rate."""
    return np.asarray(seconds > min(_MAX_MEAN_INTERVALS * usual_of(seconds), _MAX_MEAN_S))


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
    frame = pl.DataFrame([_series(n, columns[n], dtype) for n, dtype in schema_of(columns).items()])
    t_s = frame["t_s"]
    if t_s.null_count() or not (t_s.diff().drop_nulls() > 0).all():
        keys = [name for name in ("t_s", "step") if name in frame.columns]
        frame = frame.drop_nulls("t_s").sort("t_s", maintain_order=True)
        frame = frame.unique(keys, keep="first", maintain_order=True)
    needed = ("t_s", "interval_s", "step")
    return frame.select(c for c in frame if c.name in needed or c.null_count() < frame.height)


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
