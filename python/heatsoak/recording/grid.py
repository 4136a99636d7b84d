"""Time on a grid: how long a sample covers, means over other times, and values between readings.

A rate is a mean over the `interval_s` that ends at `t_s`. Where none was logged, a sample covers
the time since the one before it. If that is a gap, longer than :data:`LONGEST` usual times, it
covers the usual time, and the rest of the gap counts for nothing: nobody saw what was done then.

Times are in s. Arrays have a value for each sample, in the order of their times.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from heatsoak.recording.columns import Average, column_of

Array = NDArray[np.float64]

#: Samples that are further apart than this many usual times have a gap between them.
LONGEST = 2.0


def usual_of(between_s: Array) -> float:
    """Return the median of times between samples, of those above 0; 0 where there are none."""
    positive_s = between_s[between_s > 0]
    return float(np.median(positive_s)) if len(positive_s) else 0.0


def covered_s(t_s: Array, interval_s: Array | None = None) -> Array:
    """Return how long each sample covers: its `interval_s`, where one was logged.

    Otherwise since the sample before; the first one, and one after a gap, the usual time. A single
    sample covers 0 s.
    """
    logged_s = np.full(len(t_s), np.nan) if interval_s is None else interval_s
    is_logged = np.isfinite(logged_s) & (logged_s > 0)
    if is_logged.all():
        return logged_s
    between_s = np.diff(t_s)
    usual_s = usual_of(between_s)
    between_s = np.where(between_s > LONGEST * usual_s, usual_s, between_s)
    return np.where(is_logged, logged_s, np.append(usual_s, between_s))


def spans_s(samples: pl.DataFrame) -> tuple[Array, Array]:
    """Return when the interval of each sample began, and when it ended: both `t_s` without one."""
    ends_s = samples["t_s"].to_numpy()
    if "interval_s" not in samples.columns:
        return ends_s, ends_s
    return ends_s - samples["interval_s"].fill_null(0.0).to_numpy(), ends_s


@dataclass(frozen=True)
class Amounts:
    """Rates summed over the time that each covers, such as MB of MB/s.

    Attributes:
        edges_s: where the interval of each sample begins and ends; never falling.
        moved: the sum up to each edge.
        measured_s: how much time was covered up to each edge: none of a gap.
    """

    edges_s: Array
    moved: Array
    measured_s: Array

    @classmethod
    def of(cls, t_s: Array, interval_s: Array, rates: Array) -> Self:
        """Sum up means over the `interval_s` that end at `t_s`.

        Where two overlap, the later one is shortened: no time counts twice.
        """
        if len(t_s) == 0:
            t_s = interval_s = rates = np.zeros(1)
        edges_s = np.maximum.accumulate(np.stack([t_s - interval_s, t_s], axis=1).ravel())
        length_s = edges_s[1::2] - edges_s[::2]
        moved, measured_s = (
            np.append(0.0, np.repeat(np.cumsum(each), 2)[:-1])
            for each in (rates * length_s, length_s)
        )
        return cls(edges_s, moved, measured_s)

    def between(self, times_s: Array) -> tuple[Array, Array]:
        """Return what was moved, and how much time was covered, from each time to the next.

        Of several rows of times: from each in one row to that in the next row.
        """
        moved = np.diff(np.interp(times_s, self.edges_s, self.moved), axis=0)
        return moved, np.diff(np.interp(times_s, self.edges_s, self.measured_s), axis=0)

    def means(self, times_s: Array) -> Array:
        """Return the mean rate from each time to the next; NaN where less than half is covered."""
        mean: Array = np.full(len(times_s) - 1, np.nan)
        moved, measured_s = self.between(times_s)
        is_known = (measured_s >= 0.5 * np.diff(times_s)) & (measured_s > 0)
        return np.divide(moved, measured_s, out=mean, where=is_known)


def whole_means(
    t_s: Array, interval_s: Array, rates: Array, start_s: float, width_s: float
) -> tuple[NDArray[np.intp], Array, Array]:
    """Return the mean rates of cells of `width_s`, each of the samples whose middle is in it.

    No sample is parted, so that cells are as noisy as samples are. With each cell that has any come
    the place of its first sample, and its number from `start_s`.
    """
    number = np.floor((t_s - interval_s / 2 - start_s) / width_s + 1e-6)
    first = np.flatnonzero(np.diff(number, prepend=np.nan))
    moved = np.add.reduceat(rates * interval_s, first)
    return first, number[first], moved / np.add.reduceat(interval_s, first)


def binned(samples: pl.LazyFrame, cell: pl.Expr) -> pl.LazyFrame:
    """Return one row for all of a step that are in one cell, each column as it is averaged.

    Its time is the last at which an interval ended, and its interval what these cover.
    """
    names = samples.collect_schema().names()
    keys = ["cell", *(["step"] if "step" in names else [])]
    ends_s = pl.col("t_s").last()
    if "interval_s" in names:
        ends_s = pl.col("t_s").filter(pl.col("interval_s").is_not_null()).last().fill_null(ends_s)
    means = samples.with_columns(cell=cell).group_by(keys).agg(ends_s, *_means(names))
    return means.drop("cell").sort("t_s").select(names)


def _means(names: Sequence[str]) -> Iterator[pl.Expr]:
    for name in names:
        value, average = pl.col(name), column_of(name).average
        if name in ("t_s", "step"):
            continue
        if average is Average.SUM:
            total = value.sum()
            if name == "interval_s":  # what two rows tell of the same time is not twice as long
                span_s = pl.col("t_s").max() - (pl.col("t_s") - value).min()
                total = pl.min_horizontal(total, span_s)
            yield pl.when(value.count() > 0).then(total).alias(name)
        elif average is Average.MAX:
            yield value.max()
        elif average is Average.LAST:
            yield value.drop_nulls().last()
        elif average is Average.TIME and "interval_s" in names:
            weight = pl.when(value.is_not_null()).then(pl.col("interval_s").fill_null(0.0))
            mean = pl.when(weight.sum() > 0).then((value * weight).sum() / weight.sum())
            yield mean.otherwise(value.mean()).alias(name)
        else:
            yield value.mean()


@dataclass(frozen=True)
class SensorTrack:
    """Readings of one sensor: their times, rising, and values."""

    t_s: Array
    values: Array

    def at(self, t_s: float, within_s: float = np.inf) -> float | None:
        """Return what was known at `t_s`: the last reading, or the first if there was none yet.

        None without readings, and if that one is not `within_s` of it.
        """
        place = max(int(np.searchsorted(self.t_s, t_s, side="right")) - 1, 0)
        is_near = len(self.t_s) > 0 and abs(self.t_s[place] - t_s) <= within_s
        return float(self.values[place]) if is_near else None

    def between(self, start_s: float, end_s: float) -> Array:
        """Return the values of the readings from `start_s` to `end_s`."""
        first = np.searchsorted(self.t_s, start_s, side="left")
        last = np.searchsorted(self.t_s, end_s, side="right")
        return self.values[first:last]

    def along(self, times_s: Array) -> Array:
        """Return values at `times_s`: in lines between readings, and the nearest beyond them."""
        return np.interp(times_s, self.t_s, self.values)
