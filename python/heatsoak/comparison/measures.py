"""What is compared: each metric's value for a step or score in one run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from heatsoak.analysis import findings
from heatsoak.analysis.consistency import WINDOW_S, by_second
from heatsoak.analysis.definitions import LAST_S, metric_of_score
from heatsoak.analysis.scores import totals
from heatsoak.analysis.series import Array, RateSeries
from heatsoak.analysis.view import StepView
from heatsoak.recording import grid


@dataclass(frozen=True)
class Measure:
    """One run's value of a metric.

    Attributes:
        value: None if it is beyond the step's end.
        at_least: its lower bound in that case.
    """

    value: float | None
    at_least: float | None = None

    @property
    def bound(self) -> float:
        """The value, or its lower bound."""
        known = self.value if self.value is not None else self.at_least
        assert known is not None
        return known


def measure(
    views: Mapping[str, StepView], judged: Mapping[str, findings.StepFindings]
) -> dict[str, dict[str, Measure]]:
    """Return the measures of each step, by step and metric; `judged` has the same steps."""
    return {name: dict(_of_step(view, judged[name])) for name, view in views.items()}


def _rates(view: StepView) -> dict[str, RateSeries]:
    found: dict[str, RateSeries] = {view.throughput.unit: view.throughput}
    if view.throughput.unit == "mb_s" and len(view.iops.values):
        found["iops"] = view.iops
    return found


def _of_step(view: StepView, judged: findings.StepFindings) -> Iterator[tuple[str, Measure]]:
    step, end_s = view.step, view.throughput.duration_s
    rates = _rates(view)
    means = {unit: series.mean(0.0, end_s) for unit, series in rates.items()}
    for unit, series in rates.items():
        yield f"mean_{unit}", Measure(means[unit])
        yield f"end_{unit}", Measure(series.mean(max(0.0, end_s - LAST_S), end_s))
    # those of reads or writes alone have another level
    fell = [episode for episode in judged.episodes if episode.direction is None]
    if fell or judged.claim.what == "held":
        yield from _falls(view, fell)
    if "iops" in rates:
        yield from _steadiness(rates["iops"])
    if step.is_replay and "mb_s" in rates:
        yield from _of_replay(view, means["mb_s"])
    # the mean of the intervals' 99th percentiles is not that of the step: they do not combine
    for name, (values, weights) in (
        ("service_us" if step.is_replay else "latency_mean_us", _latencies(view)),
        ("read_latency_p99_us", (view.column("read_lat_p99_us"), None)),
        ("write_latency_p99_us", (view.column("write_lat_p99_us"), None)),
    ):
        if (found := _weighted_mean(view, values, weights)) is not None:
            yield name, Measure(found)
    if step.ends_with_its_data:
        yield "duration_s", Measure(view.duration_s)
    if len(view.temp.values):
        yield "temp_start_c", Measure(view.start_c)
        yield "temp_max_c", Measure(view.max_temp_c)
    watts = _weighted_mean(view, view.column("power_w"), None)
    if watts is not None:
        yield "power_mean_w", Measure(watts)
        if step.is_replay:
            yield "energy_j", Measure(watts * view.duration_s)
        if "mb_s" in rates and watts:
            yield "efficiency_mb_per_j", Measure(means["mb_s"] / watts)
    for series in rates.values():
        yield from _levels(fell, series, is_own=series is view.throughput)


def _of_replay(view: StepView, mean_mb_s: float) -> Iterator[tuple[str, Measure]]:
    """The measures of a replay, besides the mean over its whole time."""
    sums = totals(view)
    if sums.busy_s:
        yield "busy_mb_s", Measure(mean_mb_s * sums.measured_s / sums.busy_s)
    for name, slow in (("over_10ms_pct", sums.over_10ms), ("over_100ms_pct", sums.over_100ms)):
        if slow is not None and sums.ios:
            yield name, Measure(100 * slow / sums.ios)


def _latencies(view: StepView) -> tuple[Array, Array]:
    """The mean latency of reads and writes in each interval, in us, and their number."""
    count, total = np.zeros(len(view.samples)), np.zeros(len(view.samples))
    for ios, latency in view.rates_and_latencies():
        known = np.isfinite(latency) & np.isfinite(ios)
        count[known] += ios[known]
        total[known] += (latency * ios)[known]
    return np.where(count > 0, total / np.where(count > 0, count, 1.0), np.nan), count


def _weighted_mean(view: StepView, values: Array, weights: Array | None) -> float | None:
    """The mean of values by time, and by their weights; None if they were not logged."""
    t_s = view.column("t_s") - view.start_s
    known = np.isfinite(values) & (t_s > 0)
    if not known.any():
        return None
    interval_s = grid.covered_s(np.append(0.0, t_s[known]))[1:]
    by_weight = interval_s if weights is None else weights[known] * interval_s
    return float(np.average(values[known], weights=by_weight))


def _levels(
    fell: Sequence[findings.Episode], series: RateSeries, *, is_own: bool
) -> Iterator[tuple[str, Measure]]:
    """The rate until throughput first falls, and the one that the deepest fall ends at.

    Where the series `is_own` of the falls, it is the level that they have.
    """
    if not fell:
        return
    first = min(fell, key=attrgetter("onset_s"))
    if first.onset_s > 0:
        until = first.rates[0] if is_own else series.mean(0.0, first.onset_s)
        yield f"before_{series.unit}", Measure(until)
    deepest = max(fell, key=attrgetter("depth_pct"))
    low_s = max(deepest.onset_s, deepest.end_s - LAST_S)
    yield f"low_{series.unit}", Measure(series.mean(low_s, deepest.end_s))


def _falls(view: StepView, fell: Sequence[findings.Episode]) -> Iterator[tuple[str, Measure]]:
    """When throughput first falls, and how far it falls at most."""
    onset_s = min((episode.onset_s for episode in fell), default=None)
    until_s = view.duration_s if onset_s is None else onset_s
    yield "onset_s", Measure(onset_s, until_s)
    if written_gb := view.written_gb(until_s):
        yield "onset_gb", Measure(None if onset_s is None else written_gb, written_gb)
    yield "depth_pct", Measure(max((episode.depth_pct for episode in fell), default=0.0))


def _steadiness(series: RateSeries) -> Iterator[tuple[str, Measure]]:
    found = by_second(series, WINDOW_S)
    if len(found.values) < 2 or found.window_s < WINDOW_S:
        return
    yield "consistency_mean_iops", Measure(found.mean)
    yield "consistency_stdev_iops", Measure(found.stdev)
    if found.ratio is not None:
        yield "consistency_ratio", Measure(found.ratio)


def score_measures(score: findings.ScoreFindings) -> dict[str, Measure]:
    """Return the measures of a score that has a value, by metric name."""
    metric = metric_of_score(score.metric, score.statistic)
    found = {metric.name: Measure(score.value)}
    if score.mb_s_per_w is not None:
        found["score_mb_s_per_w"] = Measure(score.mb_s_per_w)
    return found
