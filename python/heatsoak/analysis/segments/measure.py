"""What a drop measures: its onset, its means, and how long it fell."""

import numpy as np

from heatsoak.analysis.definitions import DEPTH_WINDOW_S, MIN_DROP
from heatsoak.analysis.segments.bins import Bins
from heatsoak.analysis.segments.cycles import Swing
from heatsoak.analysis.segments.drop import Drop, Shape
from heatsoak.analysis.segments.levels import TRANSITION_S, Level
from heatsoak.analysis.segments.onset import Onset, fit_onset, fit_slow_onset
from heatsoak.analysis.series import Series

#: An onset lies at most so far before the first change that was found, or after it.
_LATE_S = 8.0
_EARLY_S = 3.0
#: In wide bins it lies this share of one before or after their edge at most.
SHARE_BESIDE = 0.75
#: How much farther back a slow fall is looked for at a time.
_SLOW_S = 16.0
#: Where the likely onsets of a fall lie farther apart than this, and it takes longer than that,
#: the whole fall tells more than its begin.
_UNSURE_S = 1.0
_SLOW_FALL_S = 10.0
#: What an approach takes to nine tenths, in time constants.
_NINE_TENTHS = 2.3
#: Over so long a mean must be down for the fall to be over.
_FALLEN_S = 1.0


def onset_between(
    series: Series,
    bins: Bins,
    begin: int,
    before: Level,
    after: Level,
    end_s: float,
    low_for_s: float = np.inf,
    is_sudden: bool = False,
) -> float:
    """Return the onset of :func:`fall_between`."""
    found = fall_between(series, bins, begin, before, after, end_s, low_for_s, is_sudden)
    # what little was measured may lose its 2 % only behind the end
    return min(found.onset_s, end_s)


def fall_between(
    series: Series,
    bins: Bins,
    begin: int,
    before: Level,
    after: Level,
    end_s: float,
    low_for_s: float = np.inf,
    is_sudden: bool = False,
) -> Onset:
    """Return when throughput falls from one level to the next.

    `begin` is the first bin of what is held before, `end_s` where what follows the fall ends,
    `low_for_s` how long throughput is low at a time. What is known to be sudden, or is soon over,
    takes its onset from its begin, and other falls from their whole course.
    """
    begin_s = float(bins.begin_s[begin])
    least_s = begin_s + 2 * bins.width_s
    left_s = float(bins.end_s[before.end - 1])
    # what a gap hides of a transition does not count
    edge = min(after.start, before.end + max(1, round(TRANSITION_S / bins.width_s)))
    low_s = max(least_s, left_s - max(_LATE_S, SHARE_BESIDE * bins.width_s))
    high_s = float(bins.begin_s[edge]) + max(_EARLY_S, SHARE_BESIDE * bins.width_s)
    high_s = min(high_s, end_s)
    if high_s <= low_s:
        return Onset(left_s, left_s, 0.0)
    while True:
        found = fit_onset(series, begin_s, low_s, high_s, end_s, low_for_s)
        if found.bend_s > low_s + max(1.0, 2 * bins.width_s) or low_s <= least_s:
            break
        # a slow fall is found late
        high_s = found.bend_s + max(_LATE_S, 2 * bins.width_s)
        low_s = max(least_s, low_s - max(_SLOW_S, 4 * bins.width_s))
    # no onset is surer than a sample is long
    unsure_s = max(_UNSURE_S, series.sampling_s)
    if found.spread_s <= unsure_s or is_sudden or np.isfinite(low_for_s):
        return found
    slow = slow_onset(series, begin_s, found, end_s)
    # without a level before it there is nothing that it fell from
    return slow if slow.onset_s > begin_s + series.sampling_s else found


def slow_onset(series: Series, begin_s: float, near: Onset, end_s: float) -> Onset:
    """Return when a fall near an onset begins by its whole course; `near` itself if it is quick."""
    fall_s = _course_s(series, begin_s, near.onset_s, end_s)
    if not fall_s > _SLOW_FALL_S:
        return near
    return fit_slow_onset(series, begin_s, near.onset_s, fall_s, end_s) or near


def _course_s(series: Series, begin_s: float, onset_s: float, end_s: float) -> float:
    """About how long a fall takes to nine tenths, by what is still there while it falls.

    That is a mean, which noise does not shorten as it does the first time that a rate is down.
    """
    late_s = 0.25 * onset_s + 0.75 * end_s
    before, during = (
        series.mean(begin_s, onset_s),
        series.mean(max(late_s, end_s - DEPTH_WINDOW_S), end_s),
    )
    if not before > during:
        return 0.0
    share = (series.mean(onset_s, end_s) - during) / (before - during)
    return _NINE_TENTHS * share * (end_s - onset_s)


def measured(
    series: Series,
    begin_s: float,
    onset_s: float,
    end_s: float,
    recovered: bool,
    *,
    found: Swing | None = None,
    shape: Shape = "step",
    before: float | None = None,
    bend_s: float | None = None,
) -> list[Drop]:
    """Return the drop with its means; none where it is too shallow for one."""
    if before is None:
        before = series.mean(begin_s, onset_s)
    during = series.mean(max(onset_s, end_s - DEPTH_WINDOW_S), end_s)
    # a cycle is high for part of the time; that it falls far enough is known
    least = MIN_DROP if found is None else MIN_DROP / 2
    if found is not None and during >= (1 - least) * before:
        # a slow one may be high for all of that time
        during = series.mean(max(onset_s, end_s - max(DEPTH_WINDOW_S, found.period_s)), end_s)
    if not (np.isfinite(before) and np.isfinite(during)) or during >= (1 - least) * before:
        return []
    return [
        Drop(
            onset_s=onset_s,
            end_s=end_s,
            before=before,
            during=during,
            recovered=recovered,
            oscillates=found is not None,
            period_s=None if found is None else found.period_s,
            duty=None if found is None else found.duty,
            shape="cycle" if found is not None else shape,
            bend_s=None if bend_s is None else min(bend_s, onset_s),
            fall_s=_fall_s(series, onset_s, end_s, before - 0.9 * (before - during)),
        )
    ]


def _fall_s(series: Series, onset_s: float, end_s: float, level: float) -> float:
    """How long it takes until throughput is down at `level` for `_FALLEN_S`."""
    first, last = np.searchsorted(series.t_s, (onset_s, end_s), side="right")
    values = series.values[first:last]
    size = max(1, min(round(_FALLEN_S / series.sampling_s), len(values)))
    reached = np.flatnonzero(np.convolve(values, np.full(size, 1 / size), mode="valid") <= level)
    if len(reached) == 0:
        return end_s - onset_s
    begin = first + int(reached[0]) + size // 2
    return max(0.0, float(series.t_s[begin] - series.interval_s[begin]) - onset_s)
