"""The published measure of consistency, and what stands behind its mean and deviation."""

import numpy as np

from heatsoak.analysis.consistency.latency import summarise
from heatsoak.analysis.consistency.modes import find_modes
from heatsoak.analysis.consistency.phases import as_at_end_since_s
from heatsoak.analysis.consistency.seconds import by_second
from heatsoak.analysis.consistency.steady import steady_state
from heatsoak.analysis.findings import Consistency, IopsPercentiles, LatencySummary
from heatsoak.analysis.series import Array, Series
from heatsoak.analysis.view import StepView

#: The window of the published method: the last 400 s of a step.
WINDOW_S = 400.0


def step_consistency(view: StepView, window_s: float = WINDOW_S) -> Consistency | None:
    """Return how steady a step is over its last `window_s`, or all of a shorter step.

    None where neither IOPS nor bytes with a known block size were logged, or less than two whole
    seconds of them.
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
    begin_s = view.duration_s - found.window_s
    for direction in ("read", "write"):
        summary = _latency(view, direction, begin_s)
        setattr(found, f"{direction}_latency", summary)
    return found


def consistency(series: Series, window_s: float = WINDOW_S) -> Consistency | None:
    """Return mean and standard deviation of the I/Os of each second in the last `window_s`.

    `series` is in IOPS. A window longer than the series is all of it, as the result's `window_s`
    says. None where there are fewer than two whole seconds. The test for steady state looks at the
    whole series.
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
    """Bytes of one I/O where all that ran had the same."""
    sizes = set(view.step.block_sizes)
    return sizes.pop() if len(sizes) == 1 else None


def _latency(view: StepView, direction: str, begin_s: float) -> LatencySummary | None:
    def readings(name: str) -> Array:
        return view.track(f"{direction}_lat_{name}_us").between(begin_s, np.inf)

    return summarise(readings)
