"""How even a step's I/O is: the rate of each second, the levels that it stays at, and since when.

The published measure of consistency is the mean over the standard deviation of the I/Os of each
second; rates and their levels are the details behind it.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from heatsoak._core import pelt_mean_var
from heatsoak.analysis import findings
from heatsoak.analysis.rounds import steady_state
from heatsoak.analysis.series import Array, RateSeries
from heatsoak.analysis.view import StepView
from heatsoak.recording import grid

#: The window of the published method: the last 400 s of a step.
WINDOW_S = 400.0
#: For logs with longer intervals, the intervals are used instead of seconds.
_LONGEST_SECOND_S = 1.5


@dataclass(frozen=True)
class PerSecond:
    """Mean rates of the seconds of a window in which anything was measured.

    Attributes:
        t_s: end of each second, from the step's start.
        values: the rates, in the series' unit.
        window_s: the length of the window, including time without measurements.
        each_s: 1, or the usual interval of a log whose intervals are longer.
    """

    t_s: Array
    values: Array
    window_s: float
    each_s: float = 1.0

    @property
    def mean(self) -> float:
        """The mean of the seconds."""
        return float(np.mean(self.values))

    @property
    def stdev(self) -> float:
        """Their standard deviation; 0 for next to nothing."""
        stdev = float(np.std(self.values, ddof=1))
        return stdev if stdev > 1e-9 * max(self.mean, 1.0) else 0.0

    @property
    def ratio(self) -> float | None:
        """The mean over the deviation, of which there must be one."""
        return self.mean / self.stdev if self.stdev else None

    def runs(self, labels: NDArray[np.intp]) -> list[tuple[int, int]]:
        """Return start and end indices of runs with the same label; gaps separate runs."""
        if len(labels) == 0:
            return []
        parted = (np.diff(labels) != 0) | (np.diff(self.t_s) > 1.5 * self.each_s)
        edges = [0, *(np.flatnonzero(parted) + 1).tolist(), len(labels)]
        return list(pairwise(edges))


def by_second(series: RateSeries, window_s: float = np.inf) -> PerSecond:
    """Return the mean rate of each whole second in the last `window_s`.

    A series shorter than the window is used in full.
    """
    if len(series.t_s) == 0:
        return PerSecond(np.empty(0), np.empty(0), 0.0)
    duration_s = max(series.duration_s, 0.0)
    first = int(np.searchsorted(series.t_s, duration_s - window_s - 2, side="left"))
    late = series.only(slice(first, None))
    if late.sampling_s > _LONGEST_SECOND_S:
        start_s = max(0.0, duration_s - window_s)
        inside = late.only(late.t_s > start_s + 1e-9)
        return PerSecond(inside.t_s, inside.values, duration_s - start_s, late.sampling_s)
    return _binned(late, duration_s, window_s)


def _binned(series: RateSeries, duration_s: float, window_s: float) -> PerSecond:
    end_s = np.floor(duration_s + 1e-9)
    start_s = max(0.0, end_s - window_s)
    some = series.only(series.interval_s > 0)
    _, second, means = grid.whole_means(some.t_s, some.interval_s, some.values, start_s, 1.0)
    inside = (second >= 0) & (second < round(end_s - start_s))
    return PerSecond(start_s + second[inside] + 1.0, means[inside], float(end_s - start_s))


#: Levels closer than about twice this share of the usual rate are one level.
_MIN_BANDWIDTH = 0.02
#: A level with a smaller share of the time is an outlier, not a level.
_MIN_SHARE = 0.01
#: Between two levels, density falls below this share of that of the lower peak.
_VALLEY = 0.5
#: A valley must be this many standard deviations deeper than chance would make it.
_SIGNIFICANT = 2.5
_BINS_PER_BANDWIDTH = 4
_MAX_BINS = 4096
_MIN_INDEPENDENT = 4.0


def rate_levels(seconds: PerSecond) -> tuple[list[findings.RateLevel], int]:
    """Return the levels of a window's rates, ascending, and how often it changed between them.

    A single level if they scatter around one value; none without rates.
    """
    if len(seconds.values) == 0:
        return [], 0
    labels = np.searchsorted(_level_cuts(seconds.values), seconds.values, side="left")
    lengths_s: list[list[float]] = [[] for _ in range(int(labels.max()) + 1)]
    for start, end in seconds.runs(labels):
        lengths_s[labels[start]].append((end - start) * seconds.each_s)
    levels = [
        findings.RateLevel(
            iops=float(np.median(seconds.values[labels == label])),
            share=float(np.mean(labels == label)),
            dwell_s=float(np.median(each_s)),
        )
        for label, each_s in enumerate(lengths_s)
    ]
    return levels, int(np.count_nonzero(np.diff(labels)))


def _level_cuts(rates: Array) -> Array:
    """The rates that separate the levels of `rates`, ascending; empty for a single level.

    Levels are the peaks of a Gaussian kernel density estimate with Silverman's bandwidth (Density
    Estimation, 1986), separated where the density between them is lowest. A valley counts if it is
    at most half as high as the lower peak, and deeper than the estimate varies with this many
    independent rates. A drive's rates are autocorrelated, which makes peaks by chance: the
    autocorrelation within the levels found reduces the number of independent rates.
    """
    cuts = _cuts(rates, float(len(rates)))
    if len(cuts) == 0:
        return cuts
    groups = np.searchsorted(cuts, rates, side="left")
    medians = [float(np.median(rates[groups == group])) for group in range(len(cuts) + 1)]
    left = rates - np.array(medians)[groups]
    # changes between levels say nothing about autocorrelation within one
    stays = groups[1:] == groups[:-1]
    power = float(np.mean(left**2))
    shared = float(np.mean((left[1:] * left[:-1])[stays])) if stays.any() else 0.0
    chance = len(rates) ** -0.5
    alike = min(max(shared / power - chance, 0.0), 0.99) if power > 0 else 0.0
    return _cuts(rates, len(rates) * (1 - alike) / (1 + alike)) if alike > 0 else cuts


def _cuts(rates: Array, independent: float) -> Array:
    """Where density is lowest between clear peaks, given the number of independent rates."""
    none = np.empty(0)
    if len(rates) < 2 or independent < _MIN_INDEPENDENT:
        return none
    low, high = float(rates.min()), float(rates.max())
    bandwidth = _bandwidth(rates)
    if high - low <= 2 * bandwidth:
        return none
    start, end = low - 4 * bandwidth, high + 4 * bandwidth
    bins = min(_MAX_BINS, int(np.ceil((end - start) / bandwidth * _BINS_PER_BANDWIDTH)))
    width = (end - start) / bins
    counts = np.histogram(rates, bins, (start, end))[0].astype(float)
    sigma = max(bandwidth / width, 0.5)
    reach = int(np.ceil(4 * sigma))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    # scaled so that its variance is its value, as for a count
    scale = independent / len(rates) * np.sqrt(2)
    density = np.convolve(counts, kernel, mode="same") * scale
    return _without_outliers(rates, start + width * (_valleys(density) + 0.5))


def _bandwidth(rates: Array) -> float:
    """Silverman's rule of thumb; uses the spread of the middle half if that is smaller."""
    usual = float(max(np.median(np.abs(rates)), np.mean(np.abs(rates))))
    spread = float(np.std(rates))
    lower, upper = np.quantile(rates, (0.25, 0.75))
    middle = float(upper - lower) / 1.349
    narrow = 0.9 * min(spread, middle) * len(rates) ** -0.2
    return float(max(narrow, _MIN_BANDWIDTH * usual, 1e-12 * spread, 1e-300))


def _valleys(density: Array) -> Array:
    """Indices of the lowest density between clearly separate peaks."""
    rising = np.diff(density, prepend=-1.0, append=-1.0)
    peaks = np.flatnonzero((rising[:-1] > 0) & (rising[1:] <= 0))
    kept: list[int] = []
    cuts: list[int] = []
    for peak in peaks.tolist():
        if not kept:
            kept.append(peak)
            continue
        between = density[kept[-1] : peak + 1]
        lowest = float(between.min())
        lower = min(density[kept[-1]], density[peak])
        clear = lower - lowest > _SIGNIFICANT * np.sqrt(lower + lowest)
        if clear and lowest < _VALLEY * lower:
            # the middle of an empty stretch
            empty = np.flatnonzero(between == lowest)
            cuts.append(kept[-1] + int(empty[len(empty) // 2]))
            kept.append(peak)
        elif density[peak] > density[kept[-1]]:
            kept[-1] = peak
    return np.array(cuts, dtype=float)


def _without_outliers(rates: Array, cuts: Array) -> Array:
    """Remove cuts next to groups that are too small for a level."""
    while len(cuts):
        groups = np.searchsorted(cuts, rates, side="left")
        shares = np.bincount(groups, minlength=len(cuts) + 1) / len(rates)
        least = int(np.argmin(shares))
        if shares[least] >= _MIN_SHARE:
            break
        cuts = np.delete(cuts, min(least, len(cuts) - 1))
    return cuts


#: The shortest phase; stays at the levels of a stutter are shorter.
_MIN_PHASE_S = 60.0
#: Seconds are averaged to at most this many blocks: means are closer to normal, and it is faster.
_MAX_BLOCKS = 180
#: A standstill is treated as this share of the highest rate, so that it has a logarithm.
_LOWEST = 0.01
#: The noise of a phase is taken as at least this share of its mean.
_MIN_NOISE = 0.02
#: The penalty of each phase, in logarithms of the number of blocks.
_PENALTY = 4.0
#: Phases are alike if their means differ by less than this share and their deviations by less than
#: this factor.
_ALIKE, _ALIKE_X = 0.1, 2.0


def _as_at_end_since_s(seconds: PerSecond) -> float | None:
    """Since when the rates of a step have had the mean and the deviation of its end.

    The step is divided into phases of at least a minute that maximise the likelihood of lognormal
    rates, with a mean and variance for each phase, minus a penalty for each. Autocorrelation of
    blocks raises the penalty. Phases like the last one are joined to it. None for less than two
    minutes.
    """
    size = max(1, -(-len(seconds.values) // _MAX_BLOCKS))
    count = len(seconds.values) // size
    least = max(2, int(np.ceil(_MIN_PHASE_S / (size * seconds.each_s))))
    if count < 2 * least:
        return None
    # the remainder is at the start, not at the end
    values = seconds.values[len(seconds.values) - count * size :].reshape(count, size).mean(axis=1)
    penalty = float(_PENALTY * np.log(count))
    edges = _edges(values, penalty, least)
    shared = _shared(values, edges)
    if shared > 0:
        edges = _edges(values, penalty * (1 + shared) / (1 - shared), least)
    start = _alike_from(values, edges)
    if start == 0:
        return 0.0
    first = len(seconds.values) - (count - start) * size
    return float(seconds.t_s[first] - seconds.each_s)


def _edges(values: Array, penalty: float, least: int) -> list[int]:
    """The edges of the likeliest phases.

    In logarithms, where deviations are relative to the mean.
    """
    lowest = max(_LOWEST * float(np.max(values)), 1e-300)
    ends = pelt_mean_var(np.log(np.maximum(values, lowest)), penalty, least, _MIN_NOISE**2)
    return [0, *(int(end) for end in ends)]


def _shared(values: Array, edges: list[int]) -> float:
    """The autocorrelation of blocks within their phases, 0 to 0.95."""
    left = np.concatenate([_standard(values[start:end]) for start, end in pairwise(edges)])
    return float(np.clip(np.mean(left[1:] * left[:-1]), 0.0, 0.95))


def _standard(values: Array) -> Array:
    spread = float(np.std(values))
    return (values - np.mean(values)) / spread if spread > 0 else np.zeros(len(values))


def _alike_from(values: Array, edges: list[int]) -> int:
    """Where the first of the phases that are like the last one starts."""
    phases = [values[start:end] for start, end in pairwise(edges)]
    mean = float(np.mean(phases[-1]))
    least = _MIN_NOISE * abs(mean)
    spread = max(float(np.std(phases[-1])), least)
    start = edges[-2]
    for phase, edge in zip(phases[-2::-1], edges[-3::-1], strict=True):
        other = max(float(np.std(phase)), least)
        if abs(float(np.mean(phase)) - mean) > _ALIKE * abs(mean):
            break
        if max(other, spread) > _ALIKE_X * min(other, spread):
            break
        start = edge
    return start


def step_consistency(view: StepView, window_s: float = WINDOW_S) -> findings.Consistency | None:
    """Return how steady a step is over its last `window_s`, or over all of a shorter step.

    None unless at least two whole seconds of IOPS, or of bytes with a known block size, were
    logged.
    """
    found, series, sizes = consistency(view.iops, window_s), view.throughput, view.step.block_sizes
    if found is None and series.unit == "mb_s" and len(set(sizes)) == 1:
        values = series.values * (1e6 / sizes[0])
        derived = RateSeries(series.t_s, series.interval_s, values, "iops")
        found = consistency(derived, window_s)
        if found is not None:
            found.derived_from_bytes = True
    if found is None:
        return None
    start_s = view.duration_s - found.window_s
    found.read_latency = _latency(view, "read", start_s)
    found.write_latency = _latency(view, "write", start_s)
    return found


def consistency(series: RateSeries, window_s: float = WINDOW_S) -> findings.Consistency | None:
    """Return mean and standard deviation of the I/Os of each second in the last `window_s`.

    `series` is in IOPS. If the series is shorter than the window, all of it counts, and the
    result's `window_s` says so. None for fewer than two whole seconds. The steady-state test uses
    the whole series.
    """
    good = np.isfinite(series.values) & np.isfinite(series.t_s) & (series.interval_s > 0)
    series = series.only(good)
    seconds = by_second(series, window_s)
    if len(seconds.values) < 2:
        return None
    levels, changes = rate_levels(seconds)
    return findings.Consistency(
        window_s=seconds.window_s,
        mean_iops=seconds.mean,
        stdev_iops=seconds.stdev,
        ratio=seconds.ratio,
        each_s=seconds.each_s,
        percentiles=_percentiles(seconds.values),
        levels=levels,
        changes=changes,
        as_at_end_since_s=_as_at_end_since_s(by_second(series)),
        steady_state=steady_state(series),
    )


def _percentiles(rates: Array) -> findings.IopsPercentiles:
    shares = {"min": 0, "p1": 0.01, "p5": 0.05, "p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1}
    values = np.quantile(rates, list(shares.values())).tolist()
    return findings.IopsPercentiles(**dict(zip(shares, values, strict=True)))


def _latency(view: StepView, direction: str, start_s: float) -> findings.LatencySummary | None:
    """The latencies since a time of a step; None if none were logged.

    Percentiles of intervals do not combine to those of the window, so the median and the worst
    interval are given; only the maximum is that of the whole window.
    """
    p50, p99, p999, most = (
        view.track(f"{direction}_lat_{name}_us").between(start_s, np.inf).tolist()
        for name in ("p50", "p99", "p999", "max")
    )
    if not (p50 or p99 or p999 or most):
        return None
    return findings.LatencySummary(
        p50_median_us=float(np.median(p50)) if p50 else None,
        p99_median_us=float(np.median(p99)) if p99 else None,
        p99_largest_us=max(p99, default=None),
        p999_median_us=float(np.median(p999)) if p999 else None,
        p999_largest_us=max(p999, default=None),
        max_us=max(most, default=None),
    )
