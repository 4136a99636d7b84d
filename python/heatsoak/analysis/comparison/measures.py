"""What is compared of a step: each metric's value in one run, and how far noise may have moved it.

A fall that never came has no onset: its value is None, and the step's length is what it must at
least be.
"""

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from heatsoak.analysis.comparison.noise import DRAWS, Noise
from heatsoak.analysis.comparison.samples import COLUMNS, StepSamples, Weighted
from heatsoak.analysis.consistency import WINDOW_S, consistency
from heatsoak.analysis.segments import DEPTH_WINDOW_S, Drop
from heatsoak.analysis.series import Array, Series
from heatsoak.analysis.totals import totals
from heatsoak.analysis.view import StepView
from heatsoak.recording import Recording

_SEED = 2016


@dataclass(frozen=True)
class Measure:
    """One run's value of a metric.

    Attributes:
        value: None where it lies beyond the step's end.
        at_least: what it then is at least.
        draws: deviations by which noise within the run may have moved it; None where not known.
    """

    value: float | None
    at_least: float | None = None
    draws: Array | None = None

    @property
    def bound(self) -> float:
        """The value, or what it is at least."""
        known = self.value if self.value is not None else self.at_least
        assert known is not None
        return known


def measure(
    recording: Recording, views: Mapping[str, StepView], seed: int
) -> dict[str, dict[str, Measure]]:
    """Return what was measured of each step, by its name and the metric's.

    Draws are the same for the same samples and `seed`, which no two recordings should share.
    """
    samples = recording.samples(COLUMNS)
    return {
        name: dict(
            _of_step(
                view,
                StepSamples(samples.filter(pl.col("step") == view.step.name)),
                f"{seed}/{name}",
            )
        )
        for name, view in views.items()
    }


def _of_step(view: StepView, samples: StepSamples, salt: str) -> Iterator[tuple[str, Measure]]:
    step, end_s = view.step, view.throughput.duration_s
    seeds = _seeds(salt)
    rates = _rates(view)
    noises = {unit: _noise(view, series) for unit, series in rates.items()}
    for unit, series in rates.items():
        last_s = max(0.0, end_s - DEPTH_WINDOW_S)
        yield f"mean_{unit}", _mean(series, noises[unit], 0.0, end_s, next(seeds))
        yield f"end_{unit}", _mean(series, noises[unit], last_s, end_s, next(seeds))
    yield from _falls(view, noises[view.throughput.unit], next(seeds))
    if "iops" in rates:
        yield from _steadiness(rates["iops"], noises["iops"], next(seeds))
    is_replay = step.is_replay
    if is_replay and "mb_s" in rates:
        mean = _mean(rates["mb_s"], noises["mb_s"], 0.0, end_s, next(seeds))
        yield from _of_replay(view, mean)
    for name, found in (
        ("service_us" if is_replay else "latency_mean_us", samples.mean_latency()),
        ("read_latency_p99_us", samples.tail_latency("read")),
        ("write_latency_p99_us", samples.tail_latency("write")),
    ):
        if found is not None:
            yield name, _overall(found, view, next(seeds))
    if step.ends_with_its_data:
        yield "duration_s", Measure(view.duration_s)
    if len(view.temp.values):
        yield "temp_start_c", Measure(view.temp.at(0.0))
        yield "temp_max_c", Measure(float(np.max(view.temp.values)))
    drawn = samples.power()
    if drawn is not None:
        watts = _overall(drawn, view, next(seeds))
        yield "power_mean_w", watts
        if is_replay and watts.value is not None:
            yield "energy_j", _times(watts, view.duration_s)
        if "mb_s" in rates and watts.value:
            moved = _mean(rates["mb_s"], noises["mb_s"], 0.0, end_s, next(seeds))
            yield "efficiency_mb_per_j", _ratio(moved, watts)


def _of_replay(view: StepView, mean: Measure) -> Iterator[tuple[str, Measure]]:
    """What traces are measured by, besides the mean over all of their time."""
    sums = totals(view)
    if sums.busy_s:
        yield "busy_mb_s", _times(mean, sums.measured_s / sums.busy_s)
    for name, slow in (("over_10ms_pct", sums.over_10ms), ("over_100ms_pct", sums.over_100ms)):
        if slow is not None and sums.ios:
            yield name, Measure(100 * slow / sums.ios)


def _times(one: Measure, factor: float) -> Measure:
    assert one.value is not None
    draws = None if one.draws is None else one.draws * factor
    return Measure(one.value * factor, draws=draws)


def _rates(view: StepView) -> dict[str, Series]:
    found: dict[str, Series] = {view.throughput.unit: view.throughput}
    if view.throughput.unit == "mb_s" and len(view.iops.values):
        found["iops"] = view.iops
    return found


def _noise(view: StepView, series: Series) -> Noise:
    edges = [t_s for drop in view.drops or [] for t_s in (drop.onset_s, drop.end_s)]
    inside = [t_s for t_s in edges if 0 < t_s < series.duration_s - 1]
    cycles = [drop.period_s for drop in view.drops or [] if drop.period_s is not None]
    return Noise(series, inside, max(cycles, default=None))


def _mean(
    series: Series, noise: Noise, begin_s: float, end_s: float, rng: np.random.Generator
) -> Measure:
    return Measure(series.mean(begin_s, end_s), draws=noise.draws(begin_s, end_s, rng))


def _overall(found: Weighted, view: StepView, rng: np.random.Generator) -> Measure:
    """The mean over a whole step, by the weights that belong to it."""
    series = found.series
    draws = _noise(view, series).draws(0.0, series.duration_s, rng)
    return Measure(found.mean, draws=draws)


def _falls(view: StepView, noise: Noise, rng: np.random.Generator) -> Iterator[tuple[str, Measure]]:
    """When the step first falls, and how far it falls at most."""
    if view.drops is None:
        return
    if not view.drops:
        yield "onset_s", Measure(None, at_least=view.duration_s)
        yield "depth_pct", Measure(0.0, draws=np.zeros(DRAWS))
        return
    yield "onset_s", Measure(view.drops[0].onset_s)
    level_s, before, deepest = max(_descents(view.drops), key=lambda d: 1 - d[2].during / d[1])
    above = noise.draws(level_s, deepest.onset_s, rng)
    below = noise.draws(max(deepest.onset_s, deepest.end_s - DEPTH_WINDOW_S), deepest.end_s, rng)
    depth = 100 * (1 - deepest.during / before)
    draws = None
    if above is not None and below is not None:
        draws = 100 * (1 - (deepest.during + below) / np.maximum(before + above, 1e-9)) - depth
    yield "depth_pct", Measure(depth, draws=draws)


def _descents(drops: list[Drop]) -> Iterator[tuple[float, float, Drop]]:
    """Each drop with when and at which level its descent began: falls upon falls are one."""
    level_from_s, before, end_s, stays_low = 0.0, 0.0, 0.0, False
    for drop in drops:
        if not (stays_low and drop.onset_s <= end_s):
            level_from_s, before = end_s, drop.before
        yield level_from_s, before, drop
        end_s, stays_low = drop.end_s, not drop.recovered


def _steadiness(
    series: Series, noise: Noise, rng: np.random.Generator
) -> Iterator[tuple[str, Measure]]:
    found = consistency(series)
    if found is None or found.window_s < WINDOW_S:
        return
    end_s = series.duration_s
    draws = noise.draws(end_s - WINDOW_S, end_s, rng)
    yield "consistency_mean_iops", Measure(found.mean_iops, draws=draws)
    yield "consistency_stdev_iops", Measure(found.stdev_iops)
    if found.ratio is not None:
        yield "consistency_ratio", Measure(found.ratio)


def _ratio(above: Measure, below: Measure) -> Measure:
    assert above.value is not None
    assert below.value is not None
    ratio = above.value / below.value
    if above.draws is None or below.draws is None:
        return Measure(ratio)
    return Measure(ratio, draws=(above.value + above.draws) / (below.value + below.draws) - ratio)


def _seeds(salt: str) -> Iterator[np.random.Generator]:
    """Random numbers that are the same whenever the same is measured."""
    seeds = np.random.SeedSequence([_SEED, zlib.crc32(salt.encode())])
    while True:
        yield np.random.default_rng(seeds.spawn(1)[0])
