"""Latencies of a window, from the percentiles of its intervals."""

from collections.abc import Callable

import numpy as np

from heatsoak.analysis.findings import LatencySummary
from heatsoak.analysis.series import Array


def summarise(readings: Callable[[str], Array]) -> LatencySummary | None:
    """Return the latencies of a window; None where no percentile was logged.

    `readings` gives the values, in us, of each interval for ``p50``, ``p99``, ``p999`` and ``max``.
    Percentiles of intervals do not add up to the window's, so the usual and the worst interval are
    named; only the maximum is the window's own.
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
