"""One step's throughput as a series, and how noisy it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from heatsoak.ranges import Range
from heatsoak.recording import grid
from heatsoak.words import amount_text

Array = grid.Array

#: A normal distribution's standard deviation over its median absolute deviation.
MAD_TO_SIGMA = 1.4826


#: How slowly the temperature of a drive may follow what warms it.
TIME_CONSTANTS_S = np.geomspace(4.0, 1600.0, 11)

#: A level that was held is supported by so many samples; so many standard errors are 95 %.
HELD_SAMPLES, _ERRORS = 3, 1.96

#: A sample of which nothing tells how long it took.
_LEAST_S = 1e-6

RateUnit = Literal["mb_s", "iops", "lat_us"]
_UNITS = {"mb_s": "MB/s", "iops": "IOPS", "lat_us": "I/Os a second"}


@dataclass(frozen=True)
class RateSeries:
    """Rates of one step.

    Attributes:
        t_s: end of each interval, from the step's start; rising.
        interval_s: length of each interval.
        values: the rates, in `unit`.
        unit: ``mb_s``, or ``iops`` if no bytes were logged. ``lat_us`` if only latencies were
            logged: the values are then 1e6 / latency, the IOPS at one I/O in flight, so that slower
            is lower here too.
    """

    t_s: Array
    interval_s: Array
    values: Array
    unit: RateUnit

    @cached_property
    def sampling_s(self) -> float:
        """The usual interval."""
        return float(np.median(self.interval_s))

    @property
    def duration_s(self) -> float:
        """From the step's start to the last sample."""
        return float(self.t_s[-1]) if len(self.t_s) else 0.0

    @cached_property
    def amounts(self) -> grid.Amounts:
        """The data moved and the time measured up to the ends of intervals."""
        return grid.Amounts.of(self.t_s, self.interval_s, self.values)

    def mean(self, start_s: float, end_s: float) -> float:
        """Return the time-weighted mean from `start_s` to `end_s`; NaN if nothing was measured."""
        (moved,), (measured_s,) = self.amounts.between(np.array([start_s, end_s]))
        return float(moved / measured_s) if measured_s > 0 else float("nan")

    def lowest(self, length_s: float, start_s: float, end_s: float) -> float:
        """Return the lowest mean over `length_s` within a time; infinite where none is measured."""
        edges_s = self.amounts.edges_s
        inside = (edges_s > start_s) & (edges_s < end_s - length_s)
        begins_s = np.concatenate([[start_s], edges_s[inside], [end_s - length_s]])
        begins_s = begins_s[begins_s >= start_s]
        spans_s = np.stack([begins_s, begins_s + length_s])
        (moved,), (measured_s,) = self.amounts.between(spans_s)
        known = measured_s >= 0.5 * length_s
        return float(np.min(moved[known] / measured_s[known], initial=np.inf))

    def level(self, start_s: float, end_s: float, mean: float) -> Range | None:
        """Return a mean over some time with its error; None of fewer samples than show a level.

        Neighbouring samples may be alike, of which many tell no more than few.
        """
        rates = self.between(start_s, end_s).values
        if len(rates) < HELD_SAMPLES or not mean > 0:
            return None
        apart = rates - np.mean(rates)
        power = max(float(apart @ apart), 1e-12)
        alike = min(max(float(apart[1:] @ apart[:-1]) / power, 0.0), 0.95)
        error = _ERRORS * float(np.sqrt(power * (1 + alike) / (1 - alike))) / len(rates)
        return Range(mean - error, mean, mean + error, "this run")

    def text(self, rate: float) -> str:
        """Return a rate with its unit."""
        return amount_text(rate, _UNITS[self.unit])

    def means(self, edges_s: Array) -> Array:
        """Return the time-weighted means between neighbouring edges.

        NaN if less than half of the time was measured.
        """
        return self.amounts.means(edges_s)

    def between(self, start_s: float, end_s: float) -> "RateSeries":
        """Return the part that ends after `start_s` and up to `end_s`; times are unchanged."""
        first, last = np.searchsorted(self.t_s, (start_s, end_s), side="right")
        return self.only(slice(first, last))

    def without(self, spans_s: Sequence[tuple[float, float]]) -> "RateSeries":
        """Return the part of which nothing lies in any span, each from begin to end."""
        rest = np.ones(len(self.t_s), dtype=bool)
        for begin_s, end_s in spans_s:
            rest &= (self.t_s <= begin_s) | (self.t_s - self.interval_s >= end_s)
        return self.only(rest)

    def only(self, which: NDArray[Any] | slice) -> "RateSeries":
        """Return some of the samples, by a mask, their numbers, or a slice."""
        return RateSeries(self.t_s[which], self.interval_s[which], self.values[which], self.unit)


def throughput(samples: pl.DataFrame, start_s: float) -> RateSeries:
    """Return reads and writes together of one step's samples, times counted from `start_s`.

    In bytes; in I/Os if no bytes were logged; by latency if neither was. Rows may come in any
    order. Rows of the same time are averaged; a value that is negative or not finite was not
    measured.
    """
    return _rates(samples, start_s, ("", "read_", "write_"))


def iops(samples: pl.DataFrame, start_s: float) -> RateSeries:
    """Return I/Os a second, reads and writes together, as :func:`throughput` does for bytes."""
    return _total(samples, start_s, _columns(samples, "iops", ("", "read_", "write_")), "iops")


def directions(samples: pl.DataFrame, start_s: float) -> dict[str, RateSeries]:
    """Return ``read`` and ``write`` separately, each as :func:`throughput` does, if logged.

    Zeros of one direction while the other worked count; a direction that never moved anything is
    left out.
    """
    apart = {name: _rates(samples, start_s, (f"{name}_",)) for name in ("read", "write")}
    return {name: series for name, series in apart.items() if np.any(series.values > 0)}


def _rates(samples: pl.DataFrame, start_s: float, prefixes: tuple[str, ...]) -> RateSeries:
    quantities: tuple[tuple[str, RateUnit], ...] = (
        ("bw_mb_s", "mb_s"),
        ("iops", "iops"),
        ("lat_us", "lat_us"),
    )
    for quantity, unit in quantities:
        if columns := _columns(samples, quantity, prefixes):
            return _total(samples, start_s, columns, unit)
    return _total(samples, start_s, [], "mb_s")


def _columns(samples: pl.DataFrame, quantity: str, prefixes: tuple[str, ...]) -> list[Array]:
    """The logged columns of a quantity; what was not measured is NaN.

    Reads, writes, and both where a log does not separate them; a row has either.
    """
    found = []
    for prefix in prefixes:
        if prefix + quantity in samples.columns:
            values = samples[prefix + quantity].cast(pl.Float64).to_numpy()
            measured = np.isfinite(values) & (values >= 0)
            if measured.any():
                found.append(np.where(measured, values, np.nan))
    return found


def _total(
    samples: pl.DataFrame, start_s: float, columns: list[Array], unit: RateUnit
) -> RateSeries:
    if not columns:
        empty = np.empty(0)
        return RateSeries(empty, empty, empty, unit)
    t_s = samples["t_s"].cast(pl.Float64).to_numpy() - start_s
    logged = np.full(len(t_s), np.nan)
    if "interval_s" in samples.columns:
        logged = samples["interval_s"].cast(pl.Float64).to_numpy()
    measured = np.isfinite(t_s) & np.any([np.isfinite(column) for column in columns], axis=0)
    rows = np.flatnonzero(measured)
    if len(rows) > 1 and not np.all(np.diff(t_s[rows]) > 0):
        rows = rows[np.argsort(t_s[rows], kind="stable")]
    t_s, logged = t_s[rows], logged[rows]
    first = np.flatnonzero(np.diff(t_s, prepend=-np.inf) > 0)
    columns = [_mean_of_each(column[rows], first) for column in columns]
    t_s, logged = t_s[first], logged[first]
    together = np.nansum(columns, axis=0)
    if unit == "lat_us":
        mean_us = together / np.sum(np.isfinite(columns), axis=0)
        # a latency of zero was not measured
        known = mean_us > 0
        t_s, logged, together = t_s[known], logged[known], 1e6 / mean_us[known]
    # a sample alone has a mean, however long it took
    interval_s = np.maximum(grid.covered_s(t_s, logged), _LEAST_S)
    return RateSeries(t_s, interval_s, together, unit)


def _mean_of_each(values: Array, first: NDArray[np.intp]) -> Array:
    """The mean of the measured values in each run of rows that starts at `first`."""
    if len(first) == len(values):
        return values
    measured = np.isfinite(values)
    total = np.add.reduceat(np.where(measured, values, 0.0), first)
    count = np.add.reduceat(measured.astype(float), first)
    mean: Array = np.full(len(first), np.nan)
    np.divide(total, count, out=mean, where=count > 0)
    return mean


def tidied(series: RateSeries) -> RateSeries:
    """Return the series as :class:`RateSeries` promises it: finite values, in time order.

    Intervals that are too short for a rate (often the last of a run) are left out.
    """
    good = np.isfinite(series.t_s) & np.isfinite(series.values) & (series.values >= 0)
    good &= np.isfinite(series.interval_s) & (series.interval_s > 0)
    if not good.all():
        series = series.only(good)
    if len(series.t_s) > 1 and not np.all(np.diff(series.t_s) > 0):
        series = series.only(np.unique(series.t_s, return_index=True)[1])
    if len(series.t_s):
        slivers = series.interval_s < 0.5 * np.quantile(series.interval_s, 0.1)
        series = series.only(~slivers) if slivers.any() else series
    return series


def spans_of(which: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return where neighbours are true: the first, and the one behind the last."""
    edges = np.flatnonzero(np.diff(which, prepend=False, append=False)).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def resampled(series: RateSeries, start_s: float, end_s: float, step_s: float) -> Array:
    """Return :meth:`RateSeries.means` of even steps from `start_s` to `end_s`."""
    count = max(0, round((end_s - start_s) / step_s))
    return series.means(start_s + step_s * np.arange(count + 1, dtype=np.float64))


def response(
    cause: Array, temps_c: Array, step_s: float, known: NDArray[np.bool_] | None = None
) -> tuple[float, float, float]:
    """Return how much of a temperature its lagged cause explains at most, as a share of the
    variance, with which time constant in s, and K for each unit of it.

    Both are at even steps; only those that are `known` count. It begins settled at a cause of 0.
    Less heat never warms.
    """
    some = np.ones(len(cause), dtype=bool) if known is None else known
    rest = temps_c[some] - temps_c[some].mean()
    best = 0.0, 0.0, 0.0
    lags = lagged(cause, *(step_s / TIME_CONSTANTS_S))[:, some]
    for tau_s, lag in zip(TIME_CONSTANTS_S.tolist(), lags, strict=True):
        heat = lag - lag.mean()
        along, own = float(heat @ rest), float(heat @ heat)
        if along > 0:
            best = max(best, (along**2 / own / float(rest @ rest), tau_s, along / own))
    return best


def lagged(spent: Array, *steps: float) -> Array:
    """Return first-order lags of one over each number of `steps`, from 0 on: a row each."""
    # scipy's filters take half a second to import
    # by number: of very long steps several have the same weight
    weights = enumerate((-np.expm1(-np.array(steps))).tolist())
    lags = {str(n): pl.col("spent").ewm_mean(alpha=a, adjust=False) for n, a in weights}
    return pl.DataFrame({"spent": np.append(0.0, spent)}).select(**lags).to_numpy()[1:].T
