"""From a series to its drops: levels, stretches of lowered ones, and what each of them is."""

from itertools import pairwise

import numpy as np

from heatsoak.analysis.segments.bins import Bins, binned
from heatsoak.analysis.segments.cycles import Swing, regular, swing
from heatsoak.analysis.segments.drop import DEPTH_WINDOW_S, MIN_DROP, Drop, Shape
from heatsoak.analysis.segments.levels import BLIP_S, TRANSITION_S, Level, find_levels
from heatsoak.analysis.segments.noise import noise_of
from heatsoak.analysis.segments.onset import fit_onset
from heatsoak.analysis.segments.slides import find_slide
from heatsoak.analysis.segments.spans import Span, lowered_spans
from heatsoak.analysis.series import Series, tidied

#: Too little to tell a level from its noise.
MIN_SAMPLES = 12
#: An onset lies at most so far before the first change that was found, or after it.
_LATE_S = 8.0
_EARLY_S = 3.0
_SLOW_S = 16.0
#: A level inside a drop has settled once it is held so long; a second fall takes this share of it.
SETTLED_S = 8.0
SECOND_FALL = 0.15


def find_drops(series: Series) -> list[Drop] | None:
    """Return the episodes of a series, or None where it is too short to tell."""
    series = tidied(series)
    if len(series.values) < MIN_SAMPLES:
        return None
    if series.t_s[-1] - series.t_s[0] + series.interval_s[0] < 2 * BLIP_S:
        return None
    bins = binned(series)
    spans = list(lowered_spans(find_levels(bins, noise_of(bins))))
    if not spans:
        return []
    groups = _grouped(bins, spans)
    nexts = [group[0].normal[-1].end - 1 for group in groups[1:]] + [len(bins) - 1]
    drops: list[Drop] = []
    for group, until in zip(groups, nexts, strict=True):
        drops += _judged(series, bins, group, float(bins.end_s[until]))
    return drops


def _grouped(bins: Bins, spans: list[Span]) -> list[list[Span]]:
    """Spans that may be one cycle together: each ends about as long before the next as it is."""
    groups: list[list[Span]] = []
    for span in spans:
        if groups and _apart_s(bins, groups[-1][-1], span) <= 3 * _length_s(bins, groups[-1][-1]):
            groups[-1].append(span)
        else:
            groups.append([span])
    return groups


def _length_s(bins: Bins, span: Span) -> float:
    return float(bins.end_s[span.end - 1] - bins.begin_s[span.lowered[0].start])


def _apart_s(bins: Bins, one: Span, other: Span) -> float:
    return float(bins.begin_s[other.lowered[0].start] - bins.begin_s[one.end])


def _judged(series: Series, bins: Bins, group: list[Span], until_s: float) -> list[Drop]:
    """The drops of a group; the next one falls at `until_s`."""
    first, last = group[0], group[-1]
    falls_s = [float(bins.begin_s[span.normal[-1].end]) for span in group]
    backs_s = [float(bins.begin_s[span.end]) for span in group if span.back is not None]
    end_s = float(bins.end_s[last.end - 1])
    found = regular(falls_s, backs_s)
    if found is None:
        # what falls little is lost between its cycles
        for to_s in dict.fromkeys((until_s, end_s)):
            found = swing(series, falls_s[0], to_s, first.normal[-1].value)
            if found is not None:
                end_s = to_s
                break
    if found is not None:
        is_back = last.back is not None and until_s - end_s > 1.5 * found.period_s
        return _cycle(series, bins, first, end_s if is_back else until_s, is_back, found)
    return [drop for span in group for drop in _drops_of(series, bins, span)]


def _cycle(
    series: Series, bins: Bins, first: Span, end_s: float, recovered: bool, found: Swing
) -> list[Drop]:
    """One drop of falls and recoveries; none where throughput swings like that from the begin."""
    begin_s = float(bins.begin_s[first.begin])
    high_s = (1 - found.duty) * found.period_s
    fall_s = float(bins.begin_s[first.normal[-1].end])
    if first.begin == 0 and fall_s - begin_s < 1.3 * high_s + bins.width_s:
        return []
    onset_s = _onset(series, bins, first)
    drop = _measured(series, begin_s, onset_s, end_s, recovered, found)
    return [] if drop is None else [drop]


def _drops_of(series: Series, bins: Bins, span: Span) -> list[Drop]:
    """The drop of a span, and a deeper one inside it."""
    begin_s = float(bins.begin_s[span.begin])
    end_s = float(bins.end_s[span.end - 1])
    recovered = span.back is not None
    onset_s = _onset(series, bins, span)
    lowest = min(span.lowered, key=lambda level: level.value)
    slide = find_slide(bins, span.begin, span.lowered[0].start, lowest.end)
    if slide is not None:
        start = slide.start if slide.from_begin else None
        drop = _measured(
            series, begin_s, slide.onset_s, end_s, recovered, shape="slide", before=start
        )
        return [] if drop is None else [drop]
    seconds = _second_falls(series, bins, span)
    edges = [onset_s, *seconds, end_s]
    drops = []
    level_s = begin_s
    for index, (from_s, to_s) in enumerate(pairwise(edges)):
        is_last = index == len(edges) - 2
        drop = _measured(series, level_s, from_s, to_s, recovered and is_last)
        if drop is not None:
            drops.append(drop)
        level_s = max(from_s, to_s - DEPTH_WINDOW_S)
    return drops


def _onset(series: Series, bins: Bins, span: Span) -> float:
    return _fitted(series, bins, span.begin, span.normal[-1], span.lowered[0], span.end)


def _fitted(series: Series, bins: Bins, begin: int, before: Level, after: Level, end: int) -> float:
    """The onset of the fall between two levels."""
    begin_s = float(bins.begin_s[begin])
    left_s = float(bins.end_s[before.end - 1])
    # what a gap hides of a transition does not count
    edge = min(after.start, before.end + round(TRANSITION_S / bins.width_s))
    right_s = float(bins.begin_s[edge])
    low_s = max(begin_s + 2 * bins.width_s, left_s - _LATE_S)
    high_s = right_s + _EARLY_S
    high_s = min(high_s, float(bins.end_s[min(after.end, end) - 1]))
    if high_s <= low_s:
        return left_s
    end_s = float(bins.end_s[end - 1])
    while True:
        onset_s = fit_onset(series, begin_s, low_s, high_s, end_s)
        if onset_s > low_s + 1 or low_s <= begin_s + 2 * bins.width_s:
            return onset_s
        # a slow fall is found late
        high_s, low_s = onset_s + _LATE_S, max(begin_s + 2 * bins.width_s, low_s - _SLOW_S)


def _second_falls(series: Series, bins: Bins, span: Span) -> list[float]:
    """Onsets of deeper falls from levels that had settled."""
    onsets: list[float] = []
    begin = span.lowered[0].start
    lowest = span.lowered[0]
    for before, after in zip(span.lowered[:-1], span.lowered[1:], strict=True):
        length_s = bins.end_s[before.end - 1] - bins.begin_s[before.start]
        if (
            length_s >= SETTLED_S
            and after.value < (1 - SECOND_FALL) * before.value
            and after.value < (1 - MIN_DROP) * lowest.value
            and _is_sudden(bins, before, after)
        ):
            onsets.append(_fitted(series, bins, max(begin, before.start), before, after, after.end))
            begin = after.start
        lowest = min(lowest, after, key=lambda level: level.value)
    return onsets


def _is_sudden(bins: Bins, before: Level, after: Level) -> bool:
    """Whether throughput falls much faster between two levels than within the first."""
    width = bins.width_s
    size = round(60 / width)
    left = bins.logs[max(before.start, before.end - size) : before.end]
    right = bins.logs[after.start : min(after.end, after.start + size)]
    x = np.arange(len(left)) * width
    slope, level = np.polyfit(x, left, 1)
    there = level + slope * (x[-1] + width)
    y = np.arange(len(right)) * width
    fitted = np.polyfit(y, right, 1)[1] if len(right) > 2 else float(np.mean(right))
    fall = float(np.mean(left) - np.mean(right))
    return bool(there - fitted > 0.5 * fall)


def _measured(
    series: Series,
    begin_s: float,
    onset_s: float,
    end_s: float,
    recovered: bool,
    found: Swing | None = None,
    shape: Shape = "step",
    before: float | None = None,
) -> Drop | None:
    """The drop with its means; None where it is too shallow for one."""
    if before is None:
        before = series.mean(begin_s, onset_s)
    during = series.mean(max(onset_s, end_s - DEPTH_WINDOW_S), end_s)
    # a cycle is high for part of the time; that it falls far enough is known
    least = MIN_DROP if found is None else MIN_DROP / 2
    if not (np.isfinite(before) and np.isfinite(during)) or during >= (1 - least) * before:
        return None
    return Drop(
        onset_s=onset_s,
        end_s=end_s,
        before=before,
        during=during,
        recovered=recovered,
        oscillates=found is not None,
        period_s=None if found is None else found.period_s,
        duty=None if found is None else found.duty,
        shape="cycle" if found is not None else shape,
        fall_s=_fall_s(series, onset_s, end_s, before - 0.9 * (before - during)),
    )


def _fall_s(series: Series, onset_s: float, end_s: float, level: float) -> float:
    """How long it takes until a running mean is down at `level`."""
    first, last = np.searchsorted(series.t_s, (onset_s, end_s), side="right")
    values = series.values[first:last]
    size = max(1, min(round(1.0 / series.sampling_s), len(values)))
    means = np.convolve(values, np.full(size, 1 / size), mode="valid")
    reached = np.flatnonzero(means <= level)
    if len(reached) == 0:
        return end_s - onset_s
    middle = int(reached[0]) + size // 2
    return float(series.t_s[first + middle]) - onset_s
