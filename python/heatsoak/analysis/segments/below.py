"""Where a swing ends in a fall below its own lows: a cause on top of what swings."""

import numpy as np
from scipy.ndimage import maximum_filter1d, minimum_filter1d, uniform_filter1d

from heatsoak.analysis.segments.cycles import Swing, even
from heatsoak.analysis.segments.drop import DEPTH_WINDOW_S, Drop
from heatsoak.analysis.segments.measure import measured
from heatsoak.analysis.segments.noise import Noise
from heatsoak.analysis.segments.onset import fit_onset
from heatsoak.analysis.segments.seconds import SECOND_FALL, SETTLED_S
from heatsoak.analysis.series import Series

#: A period in so many steps, and means over so many of those: a low part is longer.
_STEPS, _SMOOTH = 48, 8
#: Lows of the last periods, of which one may be half of the true one, are what is fallen from.
_BACK = 2.5
#: Throughput stays below them for so many periods: without a high part, and without a low one.
_ON = 1.2
#: If the swing's end comes sooner, for so many at least.
_LEAST_ON = 0.3
#: It takes so much of a period at most.
_FALLING = 0.5
#: A fall is so many standard errors of the two means about it.
_CLEARLY = 5.0
#: What is low for this share of a usual low part, or more, is one.
_WHOLE = 0.6


def fall_below(
    series: Series, noise: Noise, onset_s: float, end_s: float, found: Swing
) -> Drop | None:
    """Return the fall below the lows of a swing that lasts from `onset_s` to `end_s`.

    From then on throughput does not even come up to the lows of the last periods, for longer than
    any high part of it was away. None where there is no such fall, or where noise may be one.
    """
    values, step_s = even(series, onset_s, end_s, found.period_s / _STEPS)
    period = found.period_s / step_s
    back, on = round(_BACK * period), round(_ON * period)
    if period < _SMOOTH or len(values) < (_BACK + _FALLING) * period:
        return None
    smooth_s = found.period_s * _SMOOTH / _STEPS
    smooth = uniform_filter1d(values, max(1, round(smooth_s / step_s)), mode="nearest")
    # of what ends at a step, and of what begins there
    lows = minimum_filter1d(smooth, back, origin=(back - 1) // 2, mode="nearest")
    highs = maximum_filter1d(smooth, on, origin=-(on // 2), mode="nearest")
    # a fall takes its time
    lag = round(_FALLING * period)
    least = max(round(_LEAST_ON * period), round(SETTLED_S / step_s))
    at = np.arange(back + lag, len(values) - least)
    below = at[highs[at] < (1 - SECOND_FALL) * lows[at - lag]]
    if len(below) == 0:
        return None
    first = int(below[0])
    before, after = float(lows[first - lag]), smooth[first : first + on]
    # what swings is noise to levels that do not show it
    scatter = float(np.std(after) / max(np.mean(after), 1e-9)) * np.sqrt(smooth_s)
    parts_s = np.array([len(after) * step_s, _BACK * found.duty * found.period_s])
    error = min(noise.sigma, scatter) * np.sqrt(np.sum(1 / parts_s))
    if np.log(max(before, 1e-9) / max(float(np.mean(after)), 1e-9)) < _CLEARLY * error:
        return None
    fall_s = onset_s + first * step_s
    # from a whole low part, or from the high part before one that was to come
    last = smooth[first - back : first]
    high = np.flatnonzero(last > 0.5 * (before + np.max(last)))
    low_s = smooth_s if len(high) == 0 else step_s * (back - int(high[-1]))
    is_from_low = low_s > _WHOLE * found.duty * found.period_s
    near_s = max(2 * series.sampling_s, smooth_s)
    begin_s = fall_s - (low_s if is_from_low else 0.5 * found.period_s)
    from_s = max(begin_s, fall_s - 2 * near_s)
    until_s = fall_s + _ON * found.period_s
    second_s = fit_onset(series, begin_s, from_s, fall_s + near_s, until_s).onset_s
    drops = measured(series, max(onset_s, second_s - DEPTH_WINDOW_S), second_s, end_s, False)
    return drops[0] if drops else None
