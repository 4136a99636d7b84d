"""Steady state as the SNIA Solid State Storage Performance Test Specification defines it."""

import numpy as np

from heatsoak.analysis.consistency.per_second import finite
from heatsoak.analysis.findings import SteadyState
from heatsoak.analysis.series import Array, Series
from heatsoak.protocol import MIN_STEADY_ROUNDS as ROUNDS

#: The range of the tracked value in these rounds is at most this share of its average.
MAX_RANGE = 0.20
#: The straight line through them rises or falls by at most this share.
MAX_SLOPE = 0.10
ROUND_S = 60.0
#: A round has no mean if less than this share of it was measured.
_MIN_MEASURED = 0.5


def steady_state(series: Series, round_s: float = ROUND_S) -> SteadyState | None:
    """Return whether and from when rounds of `round_s` are steady.

    None for fewer than five whole rounds, or if there was no I/O at all.
    """
    means = _round_means(series, round_s)
    return judge_rounds(means, round_s)


def judge_rounds(means: Array, round_s: float) -> SteadyState | None:
    """Return whether and from when the means of rounds are steady; NaN means not measured.

    Five rounds in a row are steady if the greatest mean exceeds the least by at most 20 % of their
    average, and the ends of the least-squares line through them are at most 10 % of it apart (SNIA
    SSS PTS 2.0.1, "Steady State"). Rounds may also be steps of a protocol. The figures are those of
    the first window that passes, or of the last one if none does.
    """
    if len(means) < ROUNDS:
        return None
    windows = np.lib.stride_tricks.sliding_window_view(means, ROUNDS)
    average = windows.mean(axis=1)
    x = np.arange(ROUNDS) - (ROUNDS - 1) / 2
    slope = windows @ x / (x @ x)
    known = np.flatnonzero(average > 0)  # NaN is not
    if len(known) == 0:
        return None
    spread = np.ptp(windows[known], axis=1) / average[known]
    drift = np.abs(slope[known]) * (ROUNDS - 1) / average[known]
    # rounding must not push a value at exactly the limit over it
    passes = (spread <= MAX_RANGE + 1e-9) & (drift <= MAX_SLOPE + 1e-9)
    reached = bool(passes.any())
    shown = int(np.argmax(passes)) if reached else len(known) - 1
    return SteadyState(
        reached=reached,
        since_s=float(known[shown]) * round_s if reached else None,
        at_end=bool(passes[-1]) and int(known[-1]) == len(windows) - 1,
        round_s=round_s,
        mean_iops=float(average[known[shown]]),
        range_pct=100 * float(spread[shown]),
        slope_pct=100 * float(drift[shown]),
    )


def _round_means(series: Series, round_s: float) -> Array:
    """The mean rate of each whole round from the start; NaN if too little was measured."""
    series = finite(series)
    count = int((series.duration_s + 1e-6) // round_s) if len(series.t_s) else 0
    if count < ROUNDS:
        return np.empty(0)
    # an interval that crosses the edge of a round counts in both
    edges: Array = np.arange(count + 1, dtype=float) * round_s
    start_s = np.maximum(series.t_s - series.interval_s, 0.0)
    moved = _until(edges, start_s, series.t_s, series.values * (series.t_s - start_s))
    time_s = _until(edges, start_s, series.t_s, series.t_s - start_s)
    moved, time_s = np.diff(moved), np.diff(time_s)
    enough = time_s >= _MIN_MEASURED * round_s
    return np.where(enough, moved / np.where(enough, time_s, 1.0), np.nan)


def _until(edges: Array, start_s: Array, end_s: Array, amounts: Array) -> Array:
    """How much of `amounts`, each spread evenly over its interval, is before each edge."""
    index = np.searchsorted(end_s, edges, side="right")
    total = np.concatenate([[0.0], np.cumsum(amounts)])
    inside = np.minimum(index, len(end_s) - 1)
    length_s = np.maximum(end_s[inside] - start_s[inside], 1e-12)
    part = np.clip((edges - start_s[inside]) / length_s, 0.0, 1.0)
    return total[index] + np.where(index < len(end_s), part * amounts[inside], 0.0)
