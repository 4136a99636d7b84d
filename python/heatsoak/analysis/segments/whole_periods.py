"""A fall over a swing that goes on beneath it, by means of whole periods, which do not swing."""

import numpy as np

from heatsoak.analysis.definitions import DEPTH_WINDOW_S
from heatsoak.analysis.segments.bins import Bins
from heatsoak.analysis.segments.drop import Drop
from heatsoak.analysis.segments.measure import measured
from heatsoak.analysis.segments.seconds import SECOND_FALL, Second
from heatsoak.analysis.series import Series

#: So many periods on either side of a fall show that it is none of the swing's own.
_PERIODS = 4
#: When it falls is told by the means of so many periods before and after.
_BESIDE = 2


def fall_of_means(
    series: Series, means: Bins, falls: list[Second], end_s: float, period_s: float
) -> Drop | None:
    """Return the deepest of `falls` between means of a swing's periods, as a drop to `end_s`.

    `series` begins where the swing does. None where not each of the next whole periods after the
    fall is lower than each before it.
    """
    deepest = min(falls, key=lambda fall: fall.after.value / fall.before.value)
    fall_s = _farthest_apart(series, float(means.end_s[deepest.before.end - 1]), period_s)
    begin_s = float(means.begin_s[0])
    if not begin_s + _PERIODS * period_s <= fall_s <= end_s - _PERIODS * period_s:
        return None
    before, after = (
        [series.mean(t_s, t_s + period_s) for t_s in fall_s + period_s * steps]
        for steps in (np.arange(-_PERIODS, 0), np.arange(_PERIODS))
    )
    if not max(after) < (1 - SECOND_FALL) * min(before):
        return None
    drops = measured(series, max(begin_s, fall_s - DEPTH_WINDOW_S), fall_s, end_s, False)
    return drops[0] if drops else None


def _farthest_apart(series: Series, near_s: float, period_s: float) -> float:
    """When the means of whole periods before and after differ most, within one of a time."""
    times_s = series.t_s[np.abs(series.t_s - near_s) <= period_s]
    length_s = _BESIDE * period_s
    lost = [series.mean(t - length_s, t) - series.mean(t, t + length_s) for t in times_s]
    return float(times_s[int(np.nanargmax(lost))]) if np.isfinite(lost).any() else near_s
