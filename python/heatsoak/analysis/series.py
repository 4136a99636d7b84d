"""One step's throughput as a series, and how noisy it is."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: A normal distribution's standard deviation over its median absolute deviation.
MAD_TO_SIGMA = 1.4826


@dataclass(frozen=True)
class Series:
    """Rates of one step.

    Attributes:
        t_s: end of each interval, from the step's begin; rising.
        interval_s: length of each interval.
        values: the rates, in `unit`.
        unit: ``mb_s``, or ``iops`` where no bytes were logged.
    """

    t_s: Array
    interval_s: Array
    values: Array
    unit: Literal["mb_s", "iops"]

    @property
    def sampling_s(self) -> float:
        """The usual interval."""
        return float(np.median(self.interval_s))

    @property
    def duration_s(self) -> float:
        """From the step's begin to the last sample."""
        return float(self.t_s[-1]) if len(self.t_s) else 0.0

    def mean(self, begin_s: float, end_s: float) -> float:
        """Return the time-weighted mean of what lies in `begin_s` to `end_s`; NaN for nothing."""
        inside = (self.t_s > begin_s) & (self.t_s <= end_s)
        if not inside.any():
            return float("nan")
        return float(np.average(self.values[inside], weights=self.interval_s[inside]))


def throughput(samples: pl.DataFrame, begin_s: float) -> Series:
    """Return reads and writes together of one step's samples, times counted from `begin_s`."""
    if _has_values(samples, "bw_mb_s"):
        return _total(samples, begin_s, "bw_mb_s", "mb_s")
    return iops(samples, begin_s)


def iops(samples: pl.DataFrame, begin_s: float) -> Series:
    """Return I/Os a second, reads and writes together, as :func:`throughput` does for bytes."""
    return _total(samples, begin_s, "iops", "iops")


def _has_values(samples: pl.DataFrame, quantity: str) -> bool:
    return any(
        name in samples.columns and samples[name].count() > 0 for name in _columns_of(quantity)
    )


def _columns_of(quantity: str) -> tuple[str, str, str]:
    """Reads, writes, and what a log did not tell apart; a row has the last or the others."""
    return f"read_{quantity}", f"write_{quantity}", quantity


def _total(
    samples: pl.DataFrame, begin_s: float, quantity: str, unit: Literal["mb_s", "iops"]
) -> Series:
    names = [name for name in _columns_of(quantity) if name in samples.columns]
    if not names:
        empty = np.empty(0)
        return Series(empty, empty, empty, unit)
    rows = (
        samples.filter(pl.any_horizontal(pl.col(name).is_finite() for name in names))
        .select(
            (pl.col("t_s") - begin_s).alias("t_s"),
            pl.col("interval_s")
            if "interval_s" in samples.columns
            else pl.lit(None).alias("interval_s"),
            pl.sum_horizontal(pl.col(name).fill_nan(None) for name in names).alias("total"),
        )
        .unique("t_s", keep="first", maintain_order=True)
        .sort("t_s")
    )
    t_s = rows["t_s"].to_numpy().astype(float)
    between = np.diff(t_s, prepend=min(0.0, t_s[0]) if len(t_s) else 0.0)
    logged = rows["interval_s"].cast(pl.Float64).to_numpy()
    interval_s = np.where(np.isfinite(logged) & (logged > 0), logged, np.maximum(between, 1e-6))
    return Series(t_s, interval_s, rows["total"].to_numpy().astype(float), unit)


def without_slivers(series: Series) -> Series:
    """Return the series without intervals too short to give a rate (a run's last one, often)."""
    if len(series.t_s) == 0:
        return series
    keep = series.interval_s >= 0.5 * series.sampling_s
    return Series(series.t_s[keep], series.interval_s[keep], series.values[keep], series.unit)


def rates_by_second(series: Series, window_s: float) -> tuple[Array, float]:
    """Return the mean rate of each whole second in the last `window_s`, and how long that is.

    Seconds in which nothing was measured are left out. A series shorter than the window gives all
    it has.
    """
    if len(series.t_s) == 0:
        return np.empty(0), 0.0
    end_s = np.floor(series.duration_s + 1e-9)
    begin_s = max(0.0, end_s - window_s)
    second = np.floor((series.t_s - series.interval_s / 2 - begin_s) + 1e-9).astype(int)
    inside = (second >= 0) & (second < round(end_s - begin_s))
    moved = np.bincount(second[inside], weights=(series.values * series.interval_s)[inside])
    time_s = np.bincount(second[inside], weights=series.interval_s[inside])
    return moved[time_s > 0] / time_s[time_s > 0], float(end_s - begin_s)


def hampel(values: Array, half_width: int, limit: float = 3.0) -> Array:
    """Return `values` with outliers replaced by the median around them.

    An outlier is farther than `limit` standard deviations (by the median absolute deviation)
    from the median of the 2 x `half_width` + 1 values about it. Hampel, JASA 69 (1974).
    """
    if half_width < 1 or len(values) < 2 * half_width + 1:
        return values
    padded = np.pad(values, half_width, mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * half_width + 1)
    median = np.median(windows, axis=1)
    spread = MAD_TO_SIGMA * np.median(np.abs(windows - median[:, None]), axis=1)
    return np.where(np.abs(values - median) > limit * spread, median, values)


def long_run_sigma(series: Series, block_s: tuple[float, ...] = (1.0, 2.0, 4.0)) -> float:
    """Return the standard deviation that white noise would need to make the same slow wander.

    Samples of a drive are autocorrelated, so their own spread understates how far means
    wander. Differences of block means tell: each block length gives an estimate, the largest
    holds. Medians keep level changes out, and centring the differences a steady slide.
    """
    estimates = [0.0]
    for length_s in block_s:
        size = max(1, round(length_s / series.sampling_s))
        count = len(series.values) // size
        if count < 8:
            continue
        means = series.values[: count * size].reshape(count, size).mean(axis=1)
        steps = np.diff(means)
        spread = MAD_TO_SIGMA * np.median(np.abs(steps - np.median(steps))) / np.sqrt(2)
        estimates.append(float(spread * np.sqrt(size)))
    return max(estimates)
