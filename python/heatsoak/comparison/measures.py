"""What is compared: each metric's value for a step or score in one run, and its uncertainty.

How far to trust the mean of an autocorrelated series, a block bootstrap tells. Throughput slides
and steps while a drive throttles, and a repetition would do the same; only the noise around that
would differ. So noise is estimated from second differences of adjacent blocks, as in the Hadamard
variance (Baugh, 25th Symposium on Frequency Control, 1971): linear slides cancel, and blocks that
contain a known fall are left out. Means of resampled blocks then tell how far a mean over any
window may be off.
"""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np

from heatsoak.analysis import findings
from heatsoak.analysis.consistency import WINDOW_S, by_second
from heatsoak.analysis.definitions import LAST_S, metric_of_score
from heatsoak.analysis.scores import totals
from heatsoak.analysis.series import Array, RateSeries
from heatsoak.analysis.view import StepView
from heatsoak.recording import grid

#: Draws of each bootstrap.
DRAWS = 2000
#: No block is shorter: shorter ones understate the noise of a drive's 10 Hz samples.
MIN_BLOCK_S = 15.0
#: A step has at least this many blocks, however long its noise is correlated.
MIN_BLOCKS = 8
#: With fewer blocks in one stretch of a step, the noise of the whole step is used.
_ENOUGH_BLOCKS = 6
#: Variation slower than this, and than this share of the step, counts as a slide.
_SLIDE_S, _SLIDE_SHARE = 60.0, 0.2


class RateNoise:
    """The noise of one step's rates.

    `edges_s` are the times at which the step's level changes, from its start; `cycle_s` is the
    period of its oscillation, if any: a block covers at least one.
    """

    def __init__(
        self, series: RateSeries, edges_s: Sequence[float] = (), cycle_s: float | None = None
    ) -> None:
        self._grid_s = max(1.0, series.sampling_s) if len(series.values) else 1.0
        # measured time: gaps between samples do not count
        self._amounts = series.amounts
        self.duration_s = float(self._amounts.measured_s[-1])
        self._edges_s = sorted({self._to_measured(edge) for edge in edges_s})
        cells = _means(self._amounts, self._grid_s)
        shortest_s = max(MIN_BLOCK_S, cycle_s or 0.0, 2 * self._grid_s)
        correlated_s = self._grid_s * block_length(self._detrended(cells))
        longest_s = self.duration_s / MIN_BLOCKS
        self.block_s = max(shortest_s, min(correlated_s, longest_s))
        size = round(self.block_s / self._grid_s)
        self.block_s = size * self._grid_s
        self._starts_s, self._residuals = self._hadamard(cells, size)

    @property
    def is_known(self) -> bool:
        """Whether the step is long enough to estimate its noise."""
        return len(self._residuals) > 0 and self.duration_s >= 4 * self.block_s

    def draws(self, start_s: float, end_s: float, rng: np.random.Generator) -> Array | None:
        """Return `DRAWS` random errors of the mean over `start_s` to `end_s`.

        Draws are widened by Student's t for the number of blocks behind the noise estimate, so that
        their percentiles are a confidence interval. None if :attr:`is_known` is false.
        """
        if not self.is_known:
            return None
        start, end = self._to_measured(start_s), self._to_measured(end_s)
        length_s = max(end - start, self._grid_s)
        residuals, known_s = self._of_stretch(start, end)
        blocks = length_s / self.block_s
        # the last block counts by its part in the window
        weights = np.ones(int(np.ceil(blocks - 1e-9)))
        weights[-1] = blocks - (len(weights) - 1)
        chosen = rng.integers(0, len(residuals), size=(DRAWS, len(weights)))
        # part of a block is noisier than a whole one, by the square root of its share; what remains
        # of a curved slide is not noise: draws are centred on 0
        means = (residuals - residuals.mean())[chosen] @ np.sqrt(weights) / blocks
        return np.asarray(means * _widening(known_s / self.block_s - 2))

    def _to_measured(self, t_s: float) -> float:
        return float(np.interp(t_s, self._amounts.edges_s, self._amounts.measured_s))

    def _detrended(self, cells: Array) -> Array:
        """The cells minus a running mean, within each stretch between edges."""
        cuts = [round(edge / self._grid_s) for edge in self._edges_s]
        width = round(max(_SLIDE_S, _SLIDE_SHARE * self.duration_s) / self._grid_s)
        return np.concatenate([part - _running_mean(part, width) for part in np.split(cells, cuts)])

    def _hadamard(self, cells: Array, size: int) -> tuple[Array, Array]:
        """Where triples of adjacent blocks start, and their scaled second differences."""
        if len(cells) < 3 * size or size < 1:
            return np.empty(0), np.empty(0)
        blocks = np.convolve(cells, np.full(size, 1 / size), mode="valid")
        second = (blocks[: -2 * size] - 2 * blocks[size:-size] + blocks[2 * size :]) / np.sqrt(6)
        starts_s = np.arange(len(second)) * self._grid_s
        keep = np.ones(len(second), dtype=bool)
        for edge in self._edges_s:
            inside = (starts_s < edge) & (starts_s + 3 * self.block_s > edge)
            if (keep & ~inside).any():
                keep &= ~inside
        return np.asarray(starts_s[keep], float), np.asarray(second[keep], float)

    def _of_stretch(self, start: float, end: float) -> tuple[Array, float]:
        """The residuals of the stretch that a window ends in, and its length."""
        bounds = [0.0, *self._edges_s, self.duration_s]
        last = max(index for index, edge in enumerate(bounds[:-1]) if edge < end or index == 0)
        first, until = bounds[last], bounds[last + 1]
        inside = (self._starts_s >= first - 1e-9) & (
            self._starts_s + 3 * self.block_s <= until + 1e-9
        )
        is_enough = until - first >= _ENOUGH_BLOCKS * self.block_s and inside.any()
        if start >= first - 1.0 and is_enough:
            return self._residuals[inside], until - first
        return self._residuals, self.duration_s


def block_length(values: Array) -> float:
    """Return the block length that suits the autocorrelation of `values`, in samples.

    Politis and White, Econometric Reviews 23 (2004), corrected by Patton, Politis and White (2009);
    for circular blocks. 1 for white noise, and if there are too few values.
    """
    count = len(values)
    centred = values - values.mean() if count else values
    variance = float(np.mean(centred**2)) if count else 0.0
    if count < 30 or variance == 0:
        return 1.0
    run = max(5, int(np.sqrt(np.log10(count))))
    most = min(int(np.ceil(np.sqrt(count))) + run, count - 1)
    autocovariance = np.array(
        [float(centred[lag:] @ centred[: count - lag]) / count for lag in range(most + 1)]
    )
    significant = np.abs(autocovariance[1:] / variance) >= 2 * np.sqrt(np.log10(count) / count)
    quiet = np.convolve(~significant, np.ones(run), mode="valid") == run
    reach = int(np.argmax(quiet)) if quiet.any() else int(np.flatnonzero(significant)[-1]) + 1
    window = min(2 * max(reach, 1), most)
    lags = np.arange(-window, window + 1)
    flat_top = np.clip(2 * (1 - np.abs(lags) / window), 0, 1)
    covariance = autocovariance[np.abs(lags)]
    spectrum = float(np.sum(flat_top * covariance))
    slope = float(np.sum(flat_top * np.abs(lags) * covariance))
    if spectrum <= 0:
        return 1.0
    return max(1.0, float(np.cbrt(2 * slope**2 / (4 / 3 * spectrum**2) * count)))


def _means(amounts: grid.Amounts, grid_s: float) -> Array:
    """Means over `grid_s` of measured time each; the remainder at the end is left out."""
    edges_s = np.arange(int(amounts.measured_s[-1] / grid_s + 1e-9) + 1) * grid_s
    means: Array = np.diff(np.interp(edges_s, amounts.measured_s, amounts.moved)) / grid_s
    return means


def _running_mean(values: Array, width: int) -> Array:
    """Means of the `width` values around each, of fewer near the ends."""
    count = len(values)
    total = np.concatenate([[0.0], np.cumsum(values)])
    index = np.arange(count)
    low = np.maximum(index - width // 2, 0)
    high = np.minimum(index + width // 2 + 1, count)
    return np.asarray((total[high] - total[low]) / np.maximum(high - low, 1))


def _widening(degrees: float) -> float:
    from scipy.special import ndtri, stdtrit  # takes long to import, and few commands compare

    return float(stdtrit(max(degrees, 1.0), 0.975) / ndtri(0.975))


_SEED = 2016


@dataclass(frozen=True)
class Measure:
    """One run's value of a metric.

    Attributes:
        value: None if it is beyond the step's end.
        at_least: its lower bound in that case.
        draws: possible errors due to noise within the run; None if unknown.
    """

    value: float | None
    at_least: float | None = None
    draws: Array | None = None

    @property
    def bound(self) -> float:
        """The value, or its lower bound."""
        known = self.value if self.value is not None else self.at_least
        assert known is not None
        return known


def measure(
    views: Mapping[str, StepView], judged: Mapping[str, findings.StepFindings], seed: int
) -> dict[str, dict[str, Measure]]:
    """Return the measures of each step, by step name and metric name; `judged` has the same names.

    Draws are the same for the same samples and `seed`, which no two recordings should share.
    """
    return {
        name: dict(_of_step(view, judged[name], f"{seed}/{name}")) for name, view in views.items()
    }


def whole_means(view: StepView, seed: int) -> dict[str, Measure]:
    """Return the mean of each rate over a whole step, by the names that :func:`measure` has."""
    seeds = _seeds(f"{seed}/{view.step.name}")
    return {
        f"mean_{unit}": _mean(series, _noise(view, series), 0.0, series.duration_s, next(seeds))
        for unit, series in _rates(view).items()
        if len(series.values)
    }


def _of_step(
    view: StepView, judged: findings.StepFindings, salt: str
) -> Iterator[tuple[str, Measure]]:
    step, end_s = view.step, view.throughput.duration_s
    seeds = _seeds(salt)
    rates = _rates(view)
    noises = {unit: _noise(view, series) for unit, series in rates.items()}
    for unit, series in rates.items():
        last_s = max(0.0, end_s - LAST_S)
        yield f"mean_{unit}", _mean(series, noises[unit], 0.0, end_s, next(seeds))
        yield f"end_{unit}", _mean(series, noises[unit], last_s, end_s, next(seeds))
    # those of reads or writes alone have another level
    fell = [episode for episode in judged.episodes if episode.direction is None]
    falls = _falls(view, fell, noises[view.throughput.unit], next(seeds))
    if fell or judged.claim.what == "held":
        yield from falls
    if "iops" in rates:
        yield from _steadiness(rates["iops"], noises["iops"], next(seeds))
    is_replay = step.is_replay
    if is_replay and "mb_s" in rates:
        mean = _mean(rates["mb_s"], noises["mb_s"], 0.0, end_s, next(seeds))
        yield from _of_replay(view, mean)
    # the mean of the intervals' 99th percentiles is not that of the step: they do not combine
    for name, (values, weights) in (
        ("service_us" if is_replay else "latency_mean_us", _latencies(view)),
        ("read_latency_p99_us", (view.column("read_lat_p99_us"), None)),
        ("write_latency_p99_us", (view.column("write_lat_p99_us"), None)),
    ):
        if (found := _weighted_mean(view, values, weights, seeds)) is not None:
            yield name, found
    if step.ends_with_its_data:
        yield "duration_s", Measure(view.duration_s)
    if len(view.temp.values):
        yield "temp_start_c", Measure(view.start_c)
        yield "temp_max_c", Measure(view.max_temp_c)
    watts = _weighted_mean(view, view.column("power_w"), None, seeds)
    if watts is not None:
        yield "power_mean_w", watts
        if is_replay and watts.value is not None:
            yield "energy_j", _times(watts, view.duration_s)
        if "mb_s" in rates and watts.value:
            moved = _mean(rates["mb_s"], noises["mb_s"], 0.0, end_s, next(seeds))
            yield "efficiency_mb_per_j", _ratio(moved, watts)
    for unit, series in rates.items():
        is_own = series is view.throughput
        yield from _levels(fell, series, noises[unit], next(seeds), is_own=is_own)


def _of_replay(view: StepView, mean: Measure) -> Iterator[tuple[str, Measure]]:
    """The measures of a replay, besides the mean over its whole time."""
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


def _rates(view: StepView) -> dict[str, RateSeries]:
    found: dict[str, RateSeries] = {view.throughput.unit: view.throughput}
    if view.throughput.unit == "mb_s" and len(view.iops.values):
        found["iops"] = view.iops
    return found


def _noise(view: StepView, series: RateSeries) -> RateNoise:
    edges = [t_s for drop in view.drops or [] for t_s in (drop.onset_s, drop.end_s)]
    inside = [t_s for t_s in edges if 0 < t_s < series.duration_s - 1]
    cycles = [drop.period_s for drop in view.drops or [] if drop.period_s is not None]
    return RateNoise(series, inside, max(cycles, default=None))


def _mean(
    series: RateSeries, noise: RateNoise, start_s: float, end_s: float, rng: np.random.Generator
) -> Measure:
    return Measure(series.mean(start_s, end_s), draws=noise.draws(start_s, end_s, rng))


def _latencies(view: StepView) -> tuple[Array, Array]:
    """The mean latency of reads and writes in each interval, in us, and their number."""
    count, total = np.zeros(len(view.samples)), np.zeros(len(view.samples))
    for ios, latency in view.rates_and_latencies():
        known = np.isfinite(latency) & np.isfinite(ios)
        count[known] += ios[known]
        total[known] += (latency * ios)[known]
    return np.where(count > 0, total / np.where(count > 0, count, 1.0), np.nan), count


def _weighted_mean(
    view: StepView, values: Array, weights: Array | None, seeds: Iterator[np.random.Generator]
) -> Measure | None:
    """The mean of values by time, and by their weights; None if they were not logged."""
    t_s = view.column("t_s") - view.start_s
    known = np.isfinite(values) & (t_s > 0)
    t_s, values = t_s[known], values[known]
    if len(t_s) == 0:
        return None
    interval_s = grid.covered_s(np.append(0.0, t_s))[1:]
    series = RateSeries(t_s, interval_s, values, "iops")
    draws = _noise(view, series).draws(0.0, series.duration_s, next(seeds))
    by_weight = interval_s if weights is None else weights[known] * interval_s
    return Measure(float(np.average(values, weights=by_weight)), draws=draws)


def _levels(
    fell: Sequence[findings.Episode],
    series: RateSeries,
    noise: RateNoise,
    rng: np.random.Generator,
    *,
    is_own: bool,
) -> Iterator[tuple[str, Measure]]:
    """The rate until throughput first falls, and the one that the deepest fall ends at.

    Where the series `is_own` of the falls, it is the level that they have.
    """
    if not fell:
        return
    first = min(fell, key=attrgetter("onset_s"))
    if first.onset_s > 0:
        until = _mean(series, noise, 0.0, first.onset_s, rng)
        yield f"before_{series.unit}", replace(until, value=first.rates[0]) if is_own else until
    deepest = max(fell, key=attrgetter("depth_pct"))
    low_s = max(deepest.onset_s, deepest.end_s - LAST_S)
    yield f"low_{series.unit}", _mean(series, noise, low_s, deepest.end_s, rng)


def _falls(
    view: StepView, fell: Sequence[findings.Episode], noise: RateNoise, rng: np.random.Generator
) -> Iterator[tuple[str, Measure]]:
    """When throughput first falls, and how far it falls at most."""
    if not fell:
        yield "onset_s", Measure(None, at_least=view.duration_s)
        if written_gb := view.written_gb(view.duration_s):
            yield "onset_gb", Measure(None, at_least=written_gb)
        yield "depth_pct", Measure(0.0, draws=np.zeros(DRAWS))
        return
    onset_s = min(episode.onset_s for episode in fell)
    yield "onset_s", Measure(onset_s)
    if written_gb := view.written_gb(onset_s):
        yield "onset_gb", Measure(written_gb)
    deepest = max(fell, key=attrgetter("depth_pct"))
    held_s = [one.end_s for one in fell if one.recovered and one.end_s <= deepest.onset_s]
    above = noise.draws(max(held_s, default=0.0), deepest.onset_s, rng)
    below = noise.draws(deepest.onset_s, deepest.end_s, rng)
    draws = None
    if above is not None and below is not None:
        before, during = deepest.rates
        share = (during + below) / np.maximum(before + above, 1e-9)
        draws = 100 * (1 - share) - deepest.depth_pct
    yield "depth_pct", Measure(deepest.depth_pct, draws=draws)


def _steadiness(
    series: RateSeries, noise: RateNoise, rng: np.random.Generator
) -> Iterator[tuple[str, Measure]]:
    found = by_second(series, WINDOW_S)
    if len(found.values) < 2 or found.window_s < WINDOW_S:
        return
    end_s = series.duration_s
    draws = noise.draws(end_s - WINDOW_S, end_s, rng)
    yield "consistency_mean_iops", Measure(found.mean, draws=draws)
    yield "consistency_stdev_iops", Measure(found.stdev)
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
    """Random generators that are the same whenever the same thing is measured."""
    seeds = np.random.SeedSequence([_SEED, zlib.crc32(salt.encode())])
    while True:
        yield np.random.default_rng(seeds.spawn(1)[0])


def score_measures(
    score: findings.ScoreFindings, of_steps: Mapping[str, Mapping[str, Measure]]
) -> dict[str, Measure]:
    """Return the measures of a score that has a value, by metric name.

    `of_steps` are the measures of each step; the noise of a score is that of its steps.
    """
    metric = metric_of_score(score.metric, score.statistic)
    found = {metric.name: Measure(score.value, draws=_draws(score, of_steps))}
    if score.mb_s_per_w is not None:
        found["score_mb_s_per_w"] = Measure(score.mb_s_per_w)
    return found


def _draws(
    score: findings.ScoreFindings, of_steps: Mapping[str, Mapping[str, Measure]]
) -> Array | None:
    metric = _metric_of_step(score)
    measures = [of_steps.get(step, {}).get(metric) for step in score.of_steps]
    draws = [measure.draws for measure in measures if measure is not None]
    known = [one for one in draws if one is not None]
    if not known or len(known) < len(score.of_steps):
        return None
    return np.asarray(np.mean(known, axis=0), dtype=np.float64)


def _metric_of_step(score: findings.ScoreFindings) -> str:
    """The step metric that equals what the score uses; a name that does not exist if there is
    none."""
    if score.statistic == "mean" and score.metric in ("iops", "mb_s"):
        if score.window_s is None:
            return f"{'busy' if score.while_busy else 'mean'}_{score.metric}"
        if score.window_s == WINDOW_S and score.metric == "iops":
            return "consistency_mean_iops"
    return score.metric if score.window_s is None else ""
