"""Where a swing ends in a fall below its own lows: a cause on top of what swings."""

from dataclasses import dataclass

import numpy as np

from heatsoak.analysis.definitions import DEPTH_WINDOW_S
from heatsoak.analysis.segments.cycles import Swing, even
from heatsoak.analysis.segments.drop import Drop
from heatsoak.analysis.segments.levels import SETTLED_S, TRANSITION_S
from heatsoak.analysis.segments.measure import measured
from heatsoak.analysis.segments.noise import Noise
from heatsoak.analysis.segments.onset import fit_onset
from heatsoak.analysis.segments.seconds import SECOND_FALL
from heatsoak.analysis.series import Array, Series

#: A period in so many steps, and means over so many of those: a low part is longer.
_STEPS, _SMOOTH = 48, 8
#: Lows of the last periods, of which one may be half of the true one, are what is fallen from.
_BACK = 2.5
#: So many of them have been seen at least.
_SEEN = 1.5
#: Throughput stays below them for so many periods: without a high part, and without a low one.
_ON = 1.2
#: If the swing's end comes sooner, for so many at least.
_MIN_ON = 0.3
#: It takes so much of a period at most.
_FALLING = 0.5
#: A fall is so many standard errors of the two means about it.
_CLEARLY = 5.0
#: A low part ends where throughput is back for so long.
_HIGH_S = 1.0
#: One that had begun has so many samples at least, and is longer than a transition.
_FEWEST = 3
#: Less than this is standstill, in the series' unit.
_NOTHING = 1e-9


def fall_below(
    series: Series, noise: Noise, onset_s: float, end_s: float, found: Swing
) -> Drop | None:
    """Return the fall below the lows of a swing that lasts from `onset_s` to `end_s`.

    From then on throughput does not even come up to the lows of the last periods, for more than a
    period or to the end. None where there is no such fall, or where it may be noise.
    """
    values, step_s = even(series, onset_s, end_s, found.period_s / _STEPS)
    period = found.period_s / step_s
    if period < _SMOOTH or len(values) < (_SEEN + _FALLING) * period:
        return None
    below = _below(values, period, step_s)
    if below is None:
        return None
    smooth_s = period * step_s * _SMOOTH / _STEPS
    during = max(float(np.mean(below.after)), _NOTHING)
    # what swings is noise to levels that do not show it
    scatter = float(np.std(below.after)) / during * np.sqrt(smooth_s)
    low_s = max(found.duty, 1 / _STEPS) * found.period_s
    parts = 1 / (len(below.after) * step_s) + 1 / (_BACK * low_s)
    lost = np.log(max(below.lows, _NOTHING) / during)
    if lost < _CLEARLY * min(noise.sigma, scatter) * np.sqrt(parts):
        return None
    fall_s = onset_s + below.first * step_s
    # from a low part that had begun, or from the high part before one that was to come
    first_low, end_low = _last_low(values, below, step_s)
    if (end_low - first_low) * step_s >= max(TRANSITION_S, _FEWEST * series.sampling_s):
        begin_s, fall_s = onset_s + first_low * step_s, onset_s + end_low * step_s
        near_s = max(2 * series.sampling_s, 0.5 * smooth_s)
    else:
        begin_s = fall_s - 0.5 * found.period_s
        near_s = max(2 * series.sampling_s, smooth_s)
    from_s = max(begin_s, fall_s - 2 * near_s)
    until_s = fall_s + _ON * found.period_s
    second_s = fit_onset(series, begin_s, from_s, fall_s + near_s, until_s).onset_s
    drops = measured(series, max(onset_s, second_s - DEPTH_WINDOW_S), second_s, end_s, False)
    return drops[0] if drops else None


@dataclass(frozen=True)
class _Below:
    """From the step `first` on what is smooth stays below `lows`: `before` and `after` it."""

    first: int
    lows: float
    before: Array
    after: Array


def _last_low(values: Array, below: _Below, step_s: float) -> tuple[int, int]:
    """From where to where throughput is at the swing's lows, before it stays below them."""
    begin = below.first - len(below.before)
    recent = values[begin : below.first + len(below.after)]
    is_high = recent[: len(below.before)] > 0.5 * (below.lows + below.before.max())
    turns = np.flatnonzero(np.diff(is_high, prepend=False, append=False))
    ends = turns[1::2][(turns[1::2] - turns[::2]) * step_s >= _HIGH_S]
    start = int(ends[-1]) if len(ends) else 0
    low = np.flatnonzero(recent[start:] < 0.5 * (below.lows + below.after.min()))
    return begin + start, begin + start + (int(low[0]) if len(low) else 0)


def _below(values: Array, period: float, step_s: float) -> _Below | None:
    """Where even values, of which `period` make one of a swing, come to stay below its lows."""
    # not every recording swings
    from scipy.ndimage import maximum_filter1d, minimum_filter1d, uniform_filter1d

    seen, back, on, lag = (round(share * period) for share in (_SEEN, _BACK, _ON, _FALLING))
    least = max(round(_MIN_ON * period), round(SETTLED_S / step_s))
    smooth = uniform_filter1d(values, max(1, round(period * _SMOOTH / _STEPS)), mode="nearest")
    # of what ends at a step, and of what begins there
    lows = minimum_filter1d(smooth, back, origin=(back - 1) // 2, mode="nearest")
    highs = maximum_filter1d(smooth, on, origin=-(on // 2), mode="nearest")
    at = np.arange(seen + lag, len(values) - least)
    at = at[highs[at] < (1 - SECOND_FALL) * lows[at - lag]]
    if len(at) == 0:
        return None
    first = int(at[0])
    return _Below(
        first,
        float(lows[first - lag]),
        smooth[max(0, first - back) : first],
        smooth[first : first + on],
    )
