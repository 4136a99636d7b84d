"""Which falls, or which level, are a limit cycle together, and when it begins."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from heatsoak.analysis.definitions import MIN_CYCLES, MIN_DROP
from heatsoak.analysis.segments.bins import BIN_S, Bins
from heatsoak.analysis.segments.cycles import PARTS, Swing, regular, swing
from heatsoak.analysis.segments.levels import Level
from heatsoak.analysis.segments.lows import Low
from heatsoak.analysis.segments.measure import SHARE_BESIDE, onset_between
from heatsoak.analysis.segments.onset import fit_onset
from heatsoak.analysis.segments.spans import Span, lowered_spans
from heatsoak.analysis.segments.swinging import Swinging, since, swinging
from heatsoak.analysis.series import Series

#: Falls that come again within so many lengths of the last one may be one cycle.
_SOON = 8.0
#: How low and how high a swing is, is taken from so many periods after its first fall: what falls
#: deeper later on is no part of it.
_FIRST = 2.0
#: Lows this much of a period before the first fall that levels show are earlier ones.
_EARLIER = 0.5
#: A fall this much of a period before a swing's first low is not that low.
_SOONER = 0.25
#: Levels may show the first fall of a swing up to so many periods before its first clear low.
_LATER = 1.5
#: A swing is as high as its highest level for the rest of the time, or more of it.
_HIGHEST = 0.95
#: A high part at its end makes a swing this much of a cycle longer.
_FEW_MORE = 0.5
#: So many lowered levels are looked into.
_LONGEST = 2


@dataclass(frozen=True)
class Group:
    """Spans that may be one cycle together, and when the next group falls.

    Without spans it is a series of one level.
    """

    spans: list[Span]
    until_s: float

    @property
    def is_first(self) -> bool:
        """Whether nothing was lowered before."""
        return not self.spans or self.spans[0].is_first


@dataclass(frozen=True)
class Cycle:
    """A swing in a group.

    Attributes:
        found: its period and duty.
        begin_s: since when there is a level that it may have fallen from.
        first: its first low part; None where levels show the first fall.
        end_s: where its last low part that was found ends.
        level_end_s: where the level ends that hid it; None where falls show it.
        is_since_begin: whether throughput swung already when the group began.
        is_later: whether it swings on what was lowered long before.
    """

    found: Swing
    begin_s: float
    first: Low | None
    end_s: float
    level_end_s: float | None
    is_since_begin: bool
    is_later: bool = False


def grouped(bins: Bins, levels: list[Level], duration_s: float) -> list[Group]:
    """Return the lowered spans, those together that come again soon."""
    groups: list[list[Span]] = []
    longest_s = 0.0
    for span in lowered_spans(levels):
        if groups:
            apart_s = bins.begin_s[span.lowered[0].start] - bins.begin_s[groups[-1][-1].end]
        if groups and apart_s <= _SOON * longest_s:
            groups[-1].append(span)
            longest_s = max(longest_s, _length_s(bins, span))
        else:
            groups.append([span])
            longest_s = _length_s(bins, span)
    untils_s = [fall_s_of(bins, spans[0]) for spans in groups[1:]] + [duration_s]
    return [Group(*both) for both in zip(groups, untils_s, strict=False)]


def fall_s_of(bins: Bins, span: Span) -> float:
    """Return where the level before a span ends."""
    return float(bins.end_s[span.normal[-1].end - 1])


def cycle_of(series: Series, bins: Bins, group: Group) -> Cycle | None:
    """Return the swing that a group's falls make; None where they are no cycle."""
    if not group.spans:
        return None
    begin_s, fall_s = _begin_s(bins, group), fall_s_of(bins, group.spans[0])
    found, end_s = _swing(series, bins, group)
    if found is None:
        return None
    to_s = min(end_s, fall_s + _FIRST * found.period_s)
    whole = since(series, begin_s, fall_s, to_s, group.until_s, found)
    if whole is None:
        is_there = fall_s - begin_s < (1 - found.duty) * found.period_s + series.sampling_s
        is_there = is_there and _comes_back(bins, group.spans[0])
        return Cycle(found, begin_s, None, end_s, None, is_there)
    is_earlier = whole.lows[0].low_s < fall_s - _EARLIER * found.period_s
    first = whole.lows[0] if is_earlier else None
    return Cycle(found, begin_s, first, end_s, None, whole.is_since_begin)


def hidden_cycle_of(series: Series, bins: Bins, group: Group) -> Cycle | None:
    """Return the swing inside of one of a group's levels; None where there is none.

    Noise is estimated with the swing in it, so that levels do not show its falls.
    """
    begin_s = _begin_s(bins, group)
    fall_s = fall_s_of(bins, group.spans[0]) if group.spans else group.until_s
    for from_s, to_s in _parts(bins, group, begin_s, fall_s):
        hidden = swinging(series, begin_s, from_s, to_s, group.until_s)
        if hidden is None or _fell_so(bins, group, hidden):
            continue
        late_s = hidden.lows[0].low_s - fall_s
        first = None if 0 < late_s < _LATER * hidden.found.period_s else hidden.lows[0]
        end_s = hidden.lows[-1].back_s
        return Cycle(hidden.found, begin_s, first, end_s, to_s, hidden.is_since_begin)
    return None


def later_cycle_of(series: Series, bins: Bins, group: Group) -> Cycle | None:
    """Return the swing that begins long after the fall of a group's one span; None without one.

    What it swings on is lowered already, by something else.
    """
    (span,) = group.spans
    fall_s, end_s = fall_s_of(bins, span), float(bins.end_s[span.end - 1])
    later = swinging(series, fall_s, fall_s, end_s, end_s)
    if later is None or later.is_since_begin or _fell_so(bins, group, later):
        return None
    first = later.lows[0]
    highs = [series.mean(a.back_s, b.high_s) for a, b in pairwise(later.lows)]
    low = series.mean(first.low_s, first.back_s)
    # a first low part is often longer than the later ones
    is_high = series.mean(fall_s, first.high_s) > 0.5 * (low + float(np.nanmedian(highs)))
    if not is_high or first.low_s < fall_s + later.found.period_s:
        return None
    begin_s, last_s = _begin_s(bins, group), later.lows[-1].back_s
    return Cycle(later.found, begin_s, first, last_s, end_s, False, is_later=True)


def onset_of(series: Series, bins: Bins, group: Group, cycle: Cycle, end_s: float) -> float:
    """Return when a cycle that ends at `end_s` falls for the first time."""
    low_for_s = cycle.found.duty * cycle.found.period_s
    if cycle.first is not None:
        step_s = max(series.sampling_s, cycle.found.period_s / PARTS)
        low_s = max(cycle.begin_s, cycle.first.high_s - 2 * step_s)
        until_s = min(end_s, cycle.first.back_s)
        high_s = cycle.first.low_s + step_s
        return fit_onset(series, cycle.begin_s, low_s, high_s, until_s, low_for_s).onset_s
    first = group.spans[0]
    # what follows the first fall, but not the first recovery
    until_s = float(bins.begin_s[first.lowered[0].start])
    until_s += max(low_for_s, 3 * series.sampling_s)
    if bins.width_s > 2 * BIN_S:
        until_s += SHARE_BESIDE * bins.width_s
    return onset_between(
        series,
        bins,
        first.begin,
        first.normal[-1],
        first.lowered[0],
        min(end_s, until_s),
        low_for_s,
    )


def _fell_so(bins: Bins, group: Group, later: Swinging) -> bool:
    """Whether it swings since a deeper fall in a span, which is what fell then, and how."""
    first = later.lows[0]
    falls_s = (
        float(bins.end_s[before.end - 1])
        for span in group.spans
        for before, after in pairwise(span.lowered)
        if after.value < (1 - MIN_DROP) * before.value
    )
    period_s = later.found.period_s
    return any(
        at_s + _SOONER * period_s < first.high_s and first.low_s < at_s + _FIRST * period_s
        for at_s in falls_s
    )


def _comes_back(bins: Bins, span: Span) -> bool:
    """Whether throughput is ever as high again as it was before it fell first."""
    later = bins.values[span.lowered[0].start :]
    return float(np.quantile(later, _HIGHEST)) > (1 - MIN_DROP) * span.normal[-1].value


def _begin_s(bins: Bins, group: Group) -> float:
    # a low start may be the first low part
    return float(bins.begin_s[0 if group.is_first else group.spans[0].begin])


def _length_s(bins: Bins, span: Span) -> float:
    return float(bins.end_s[span.end - 1] - bins.begin_s[span.lowered[0].start])


def _parts(
    bins: Bins, group: Group, begin_s: float, fall_s: float
) -> Iterable[tuple[float, float]]:
    """The level before the first fall, and the longest lowered ones."""
    yield begin_s, fall_s
    lowered = [level for span in group.spans for level in span.lowered]
    for level in sorted(lowered, key=lambda level: level.start - level.end)[:_LONGEST]:
        yield float(bins.begin_s[level.start]), float(bins.end_s[level.end - 1])


def _swing(series: Series, bins: Bins, group: Group) -> tuple[Swing | None, float]:
    """The regular swing of a group's falls, and where it ends."""
    first, last = group.spans[0], group.spans[-1]
    falls_s = [fall_s_of(bins, span) for span in group.spans]
    backs_s = [float(bins.begin_s[s.end]) for s in group.spans if s.back is not None]
    end_s = float(bins.end_s[last.end - 1])
    if (found := regular(falls_s, backs_s)) is not None:
        return found, end_s
    # what falls little is lost between its cycles
    for to_s in dict.fromkeys((group.until_s, end_s)):
        found = swing(series, falls_s[0], to_s, first.normal[-1].value)
        if found is None:
            continue
        # of few falls, which are seen to be irregular, it makes no cycle
        cycles = (to_s - falls_s[0]) / found.period_s
        if len(falls_s) == MIN_CYCLES and cycles < MIN_CYCLES + _FEW_MORE:
            continue
        return found, to_s
    return None, end_s
