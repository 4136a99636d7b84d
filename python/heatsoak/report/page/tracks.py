"""A step's samples as series for charts: over time, and by latency."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import polars as pl

from heatsoak.analysis import Unloaded
from heatsoak.analysis.consistency import by_second
from heatsoak.analysis.series import Array, RateSeries, directions
from heatsoak.analysis.view import StepView
from heatsoak.recording import Recording
from heatsoak.recording.columns import TEMPERATURES, column_of, is_of_drive, throttle_columns
from heatsoak.report.page.contract import ChartQuantity, LatencyHistogram
from heatsoak.words import number_text

#: Points further apart than this many usual intervals have a gap between them.
_GAP_INTERVALS = 3.5
#: Latencies and other series that are thinned first if space is short.
IMPORTANCES = AUXILIARY, SENSOR, RATE = 0, 1, 2
_UNITS = {"mb_s": ("MB/s", "throughput"), "iops": ("IOPS", "iops"), "lat_us": ("µs", "latency")}
_LATENCIES = ("lat_us", "lat_p99_us")
_DIRECTIONS: tuple[Literal["read", "write"], ...] = ("read", "write")


@dataclass(frozen=True)
class QuantitySeries:
    """One quantity of a step over time.

    Attributes:
        t_s: from the step's start, rising.
        importance: the least important series are thinned first.
        joined_s: points that are no further apart are joined, however close others are.
    """

    name: str
    label: str
    quantity: ChartQuantity
    unit: str
    t_s: Array
    values: Array
    importance: int
    joined_s: float = 0.0

    @property
    def gap_s(self) -> float:
        """Points further apart than this are not joined."""
        if len(self.t_s) < 2:
            return 1.0
        return max(self.joined_s, _GAP_INTERVALS * float(np.median(np.diff(self.t_s))))


def courses(view: StepView) -> list[QuantitySeries]:
    """Return a step's throughput, temperatures, power, latencies and load, in that order."""
    found = [
        *_rates(view),
        *_temperatures(view),
        _readings(view, "power_w", "power"),
        *_latencies(view),
        *_levels(view),
    ]
    return [course for course in found if len(course.t_s)]


#: Drives are read more seldom in pauses.
_PAUSES_S = 60.0


def courses_of_all(view: StepView) -> list[QuantitySeries]:
    """Return the throughput and temperature of a whole recording, which has pauses too."""
    found = [next(_rates(view))]
    if view.main_sensor:
        found.append(replace(_readings(view, view.main_sensor, "temperature"), joined_s=_PAUSES_S))
    return [replace(one, importance=AUXILIARY) for one in found if len(one.t_s)]


def courses_unloaded(view: StepView, unloaded: Unloaded) -> list[QuantitySeries]:
    """Return what tells why a drive without a load was warm, and then what it did.

    First its own temperatures, and what they followed, if that was logged.
    """
    found = []
    if view.main_sensor:
        found = [replace(_readings(view, view.main_sensor, "temperature"), label="the drive")]
    if (column := unloaded.follows_column) is not None:
        quantity: ChartQuantity = "temperature" if column.startswith(TEMPERATURES) else "busy"
        found.append(replace(_readings(view, column, quantity), label=unloaded.follows or ""))
    found += [*_rates(view), _readings(view, "power_w", "power"), *_levels(view)]
    return [course for course in found if len(course.t_s)]


def seconds(view: StepView) -> QuantitySeries | None:
    """Return the IOPS of each second; None if unknown."""
    series, bs = view.iops, view.step.bs
    if not len(series.values) and view.throughput.unit == "mb_s" and bs:
        whole = view.throughput
        series = RateSeries(whole.t_s, whole.interval_s, whole.values * 1e6 / bs, "iops")
    found = by_second(series)
    if not len(found.values):
        return None
    label = (
        "IOPS of each second"
        if found.each_s == 1
        else f"IOPS, means over {number_text(found.each_s)} s"
    )
    return QuantitySeries("iops", label, "iops", "IOPS", found.t_s, found.values, RATE)


def _rates(view: StepView) -> Iterator[QuantitySeries]:
    whole = view.throughput
    suffix = {"mb_s": "bw_mb_s", "iops": "iops", "lat_us": "lat_us"}[whole.unit]
    apart = directions(view.samples, view.start_s)
    if len(apart) == 1:
        ((name, _),) = apart.items()
        yield _rate(f"{name}_{suffix}", f"{name}s", whole)
        return
    yield _rate(suffix, "reads and writes" if apart else "throughput", whole)
    for name, series in apart.items():
        if series.unit == whole.unit:
            yield _rate(f"{name}_{suffix}", f"{name}s", series)


def _rate(name: str, label: str, series: RateSeries) -> QuantitySeries:
    unit, quantity = _UNITS[series.unit]
    values = 1e6 / series.values if series.unit == "lat_us" else series.values
    return QuantitySeries(name, label, quantity, unit, series.t_s, values, RATE)  # type: ignore[arg-type]


def _temperatures(view: StepView) -> Iterator[QuantitySeries]:
    columns = view.columns(TEMPERATURES)
    columns.sort(key=lambda column: (not is_of_drive(column), column != view.main_sensor))
    for column in columns:
        yield _readings(view, column, "temperature")


def _latencies(view: StepView) -> Iterator[QuantitySeries]:
    if view.throughput.unit == "lat_us":
        return
    for direction in _DIRECTIONS:
        for suffix in _LATENCIES:
            yield _readings(view, f"{direction}_{suffix}", "latency")


def _levels(view: StepView) -> Iterator[QuantitySeries]:
    """Power states, counters and load, if they change; constants are not drawn."""
    counters = throttle_columns(view.columns("throttle_"))
    found = [_readings(view, column, "level") for column in ("power_state", *counters)]
    found += [_readings(view, column, "busy") for column in ("cpu_core_pct", "busy_pct")]
    yield from (one for one in found if len(one.values) and np.ptp(one.values) > 0)


def _readings(view: StepView, column: str, quantity: ChartQuantity) -> QuantitySeries:
    what, name = column_of(column), column.partition(".")[2]
    label = name if quantity == "temperature" else f"{what.label} {name.replace('_', ' ')}".strip()
    track = view.track(column)
    inside = track.t_s >= 0
    importance = SENSOR if quantity in ("temperature", "power", "level") else AUXILIARY
    return QuantitySeries(
        column, label, quantity, what.unit, track.t_s[inside], track.values[inside], importance
    )


#: Percentiles of intervals: the share of I/Os that took at most that long.
_SHARES = {"p50": 0.5, "p99": 0.99, "p999": 0.999, "max": 1.0}
#: Bins per decade.
_BINS_PER_DECADE = 20


def histograms(recording: Recording, view: StepView) -> list[LatencyHistogram]:
    """Return the histograms of reads and writes: as counted, or estimated from percentiles."""
    counted = list(_counted(recording, view.step.name))
    return counted or list(_from_percentiles(view))


def _counted(recording: Recording, step: str) -> Iterator[LatencyHistogram]:
    bins: dict[str, Any] = {}
    for event in recording.events:
        if event.kind == "step-end" and event.step == step:
            bins = event.data.get("latency_bins") or {}
    for direction in _DIRECTIONS:
        found = bins.get(direction)
        if found and sum(found["ios"]) > 0:
            upper_us, ios = found["upper_us"], found["ios"]
            yield LatencyHistogram(direction=direction, upper_us=upper_us, ios=ios)


def _from_percentiles(view: StepView) -> Iterator[LatencyHistogram]:
    for direction in _DIRECTIONS:
        columns = [f"{direction}_lat_{name}_us" for name in _SHARES]
        wanted = [*columns, f"{direction}_iops", "interval_s"]
        if any(name not in view.samples.columns for name in wanted):
            continue
        rows = view.samples.select(pl.col(name).cast(pl.Float64) for name in wanted)
        values = rows.fill_null(float("nan")).to_numpy()
        values = values[np.isfinite(values).all(axis=1) & (values[:, -2] * values[:, -1] > 0)]
        if len(values):
            yield _made(direction, values[:, :4], values[:, -2] * values[:, -1])


def _made(
    direction: Literal["read", "write"], percentiles_us: Array, ios: Array
) -> LatencyHistogram:
    """Spread each interval's I/Os between its percentiles, evenly on a logarithmic scale.

    Nothing more is known about those below the median: they are spread from half of it up to it.
    """
    knots_us = np.column_stack([percentiles_us[:, 0] / 2, percentiles_us])
    knots = np.log10(np.maximum.accumulate(np.maximum(knots_us, 1e-3), axis=1))
    low = np.floor(knots[:, 0].min() * _BINS_PER_DECADE)
    high = np.ceil(knots[:, -1].max() * _BINS_PER_DECADE) + 1
    edges = np.arange(low, high + 1) / _BINS_PER_DECADE
    below = np.zeros(len(edges))
    shares = [0.0, *_SHARES.values()]
    for place, (from_share, to_share) in enumerate(pairwise(shares)):
        begin, end = knots[:, place], knots[:, place + 1]
        width = np.maximum(end - begin, 1e-9)
        # how many are below each edge: a sum of ramps, interval by interval
        weight = ios * (to_share - from_share)
        for index, edge in enumerate(edges):
            below[index] += float(weight @ np.clip((edge - begin) / width, 0, 1))
    return LatencyHistogram(
        direction=direction,
        upper_us=[float(f"{10**edge:.4g}") for edge in edges[1:]],
        ios=[float(f"{count:.6g}") for count in np.diff(below)],
        from_percentiles=True,
    )
