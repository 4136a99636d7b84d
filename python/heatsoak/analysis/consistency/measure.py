"""The published measure of consistency, the details behind its mean and deviation, and since when
it has held."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from heatsoak._core import pelt_mean_var
from heatsoak.analysis.consistency.levels import find_modes
from heatsoak.analysis.consistency.per_second import PerSecond, by_second
from heatsoak.analysis.consistency.steady import steady_state
from heatsoak.analysis.findings import Consistency, IopsPercentiles, LatencySummary
from heatsoak.analysis.series import Array, Series
from heatsoak.analysis.view import StepView


def summarise(readings: Callable[[str], Array]) -> LatencySummary | None:
    """Return the latencies of a window; None if no percentile was logged.

    `readings` gives the values, in us, of each interval for ``p50``, ``p99``, ``p999`` and ``max``.
    Percentiles of intervals do not combine to those of the window, so the median and the worst
    interval are given; only the maximum is that of the whole window.
    """
    of = {name: readings(name) for name in ("p50", "p99", "p999", "max")}
    if all(len(values) == 0 for values in of.values()):
        return None
    return LatencySummary(
        p50_median_us=_median(of["p50"]),
        p99_median_us=_median(of["p99"]),
        p99_largest_us=_largest(of["p99"]),
        p999_median_us=_median(of["p999"]),
        p999_largest_us=_largest(of["p999"]),
        max_us=_largest(of["max"]),
    )


def _median(values: Array) -> float | None:
    return float(np.median(values)) if len(values) else None


def _largest(values: Array) -> float | None:
    return float(np.max(values)) if len(values) else None


#: The shortest phase; stays at the levels of a stutter are shorter.
MIN_S = 60.0
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


def as_at_end_since_s(seconds: PerSecond) -> float | None:
    """Return since when the rates of a step have had the mean and the deviation of its end.

    The step is divided into phases of at least a minute that maximise the likelihood of lognormal
    rates, with a mean and variance for each phase, minus a penalty for each. Autocorrelation of
    blocks raises the penalty. Phases like the last one are joined to it. None for less than two
    minutes.
    """
    size = max(1, -(-len(seconds.values) // _MAX_BLOCKS))
    count = len(seconds.values) // size
    least = max(2, int(np.ceil(MIN_S / (size * seconds.each_s))))
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
    """Return the edges of the likeliest phases.

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


#: The window of the published method: the last 400 s of a step.
WINDOW_S = 400.0


def step_consistency(view: StepView, window_s: float = WINDOW_S) -> Consistency | None:
    """Return how steady a step is over its last `window_s`, or over all of a shorter step.

    None unless at least two whole seconds of IOPS, or of bytes with a known block size, were
    logged.
    """
    found = consistency(view.iops, window_s)
    if found is None and view.throughput.unit == "mb_s":
        block = _block_bytes(view)
        if block is not None:
            series = view.throughput
            values = series.values * (1e6 / block)
            derived = Series(series.t_s, series.interval_s, values, "iops")
            found = consistency(derived, window_s)
            if found is not None:
                found.derived_from_bytes = True
    if found is None:
        return None
    start_s = view.duration_s - found.window_s
    for direction in ("read", "write"):
        summary = _latency(view, direction, start_s)
        setattr(found, f"{direction}_latency", summary)
    return found


def consistency(series: Series, window_s: float = WINDOW_S) -> Consistency | None:
    """Return mean and standard deviation of the I/Os of each second in the last `window_s`.

    `series` is in IOPS. If the series is shorter than the window, all of it counts, and the
    result's `window_s` says so. None for fewer than two whole seconds. The steady-state test uses
    the whole series.
    """
    seconds = by_second(series, window_s)
    rates = seconds.values
    if len(rates) < 2:
        return None
    mean, stdev = float(np.mean(rates)), float(np.std(rates, ddof=1))
    negligible = stdev <= 1e-9 * max(mean, 1.0)
    modes = find_modes(seconds)
    return Consistency(
        window_s=seconds.window_s,
        mean_iops=mean,
        stdev_iops=0.0 if negligible else stdev,
        ratio=None if negligible else mean / stdev,
        each_s=seconds.each_s,
        percentiles=_percentiles(rates),
        levels=modes.levels,
        changes=modes.changes,
        as_at_end_since_s=as_at_end_since_s(by_second(series)),
        steady_state=steady_state(series),
    )


def _percentiles(rates: Array) -> IopsPercentiles:
    low, p1, p5, p50, p95, p99, high = np.quantile(
        rates, (0, 0.01, 0.05, 0.5, 0.95, 0.99, 1)
    ).tolist()
    return IopsPercentiles(min=low, p1=p1, p5=p5, p50=p50, p95=p95, p99=p99, max=high)


def _block_bytes(view: StepView) -> int | None:
    """Bytes per I/O, if all I/Os had the same size."""
    sizes = set(view.step.block_sizes)
    return sizes.pop() if len(sizes) == 1 else None


def _latency(view: StepView, direction: str, start_s: float) -> LatencySummary | None:
    def readings(name: str) -> Array:
        return view.track(f"{direction}_lat_{name}_us").between(start_s, np.inf)

    return summarise(readings)
