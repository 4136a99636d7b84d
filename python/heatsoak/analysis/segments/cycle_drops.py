"""What a swing is: one drop, what fell before it, and what ends it."""

from collections.abc import Callable
from dataclasses import replace

from heatsoak.analysis.definitions import DEPTH_WINDOW_S
from heatsoak.analysis.segments.below import fall_below
from heatsoak.analysis.segments.bins import binned
from heatsoak.analysis.segments.cycles import Swing, flattened
from heatsoak.analysis.segments.drop import Drop
from heatsoak.analysis.segments.groups import Cycle, Group, fall_s_of, onset_of
from heatsoak.analysis.segments.look import MIN_SAMPLES, Look, levels_of
from heatsoak.analysis.segments.measure import measured
from heatsoak.analysis.segments.seconds import second_falls
from heatsoak.analysis.segments.span_drops import drops_of_span
from heatsoak.analysis.segments.swinging import swinging
from heatsoak.analysis.segments.whole_periods import fall_of_means
from heatsoak.analysis.series import Series

#: A cycle whose last recovery lasts for so many periods is over.
_OVER = 1.5

#: Finds the drops of a series; told whether a swing was taken off it.
Search = Callable[[Series, bool], list[Drop]]


def drops_of_cycle(look: Look, group: Group, cycle: Cycle, drops_in: Search) -> list[Drop]:
    """Return the drop of falls and recoveries, and what is before and after it.

    `drops_in` finds the drops of another series, from which a swing was taken off or not.
    """
    series, found, end_s = look.series, cycle.found, cycle.end_s
    if cycle.level_end_s is not None:
        is_back = cycle.level_end_s - end_s > _OVER * found.period_s
    else:
        is_back = group.until_s - end_s > _OVER * found.period_s
        is_back &= group.spans[-1].back is not None
    # a high part at the very end, as long as what depth is taken over, would hide the lows
    if not is_back and found.period_s < DEPTH_WINDOW_S:
        end_s = group.until_s
    onset_s = onset_of(series, look.bins, group, cycle, end_s)
    before: list[Drop] = []
    begin_s = cycle.begin_s
    if not look.is_flat:
        # by its own noise, which is not that of the swing
        before = drops_in(series.between(begin_s, onset_s - series.sampling_s), False)
        if before and not before[-1].recovered:
            before[-1] = replace(before[-1], end_s=onset_s)
            begin_s = max(before[-1].onset_s, onset_s - DEPTH_WINDOW_S)
    second = fall_below(series, look.noise, onset_s, end_s, found)
    if second is None:
        second = _fall_of_a_cycle(look, onset_s, end_s, found, drops_in)
    if second is None:
        rest = _after(look, group, cycle, onset_s)
        if rest and not is_back:
            end_s = rest[0].onset_s
        drops = measured(series, begin_s, onset_s, end_s, is_back, found=found)
        return [*before, *drops, *(_swinging(series, drop) for drop in rest)]
    drops = measured(series, begin_s, onset_s, second.onset_s, False, found=found)
    return [*before, *drops, _swinging(series, replace(second, recovered=is_back))]


def _swinging(series: Series, drop: Drop) -> Drop:
    """A fall that ends a cycle, as a cycle of its own where throughput swings on there."""
    begin_s, end_s = drop.onset_s, drop.end_s
    on = swinging(series, begin_s, begin_s, end_s, end_s)
    if on is None or not on.is_since_begin:
        return drop
    period_s, duty = on.found.period_s, on.found.duty
    return replace(drop, oscillates=True, period_s=period_s, duty=duty, shape="cycle")


def _after(look: Look, group: Group, cycle: Cycle, onset_s: float) -> list[Drop]:
    """What levels show after the stretch of a swing."""
    spans, level_end_s = group.spans, cycle.level_end_s
    if not spans:
        return []
    if level_end_s is None or cycle.is_later:
        # a last fall that goes on deeper, for longer than the swing is low
        period_s = cycle.found.period_s
        last_s = fall_s_of(look.bins, spans[-1])
        later_s = cycle.end_s - period_s if cycle.is_later else last_s + period_s
        return [
            drop
            for drop in drops_of_span(look, spans[-1])
            if drop.onset_s > later_s
            and not drop.recovered
            and drop.shape == "step"
            and drop.end_s - drop.onset_s > _OVER * period_s
        ]
    if fall_s_of(look.bins, spans[0]) >= level_end_s:
        # what falls next falls from the swing
        since_s = max(onset_s, level_end_s - DEPTH_WINDOW_S)
        last = spans[0].normal[-1]
        start = int(look.bins.begin_s.searchsorted(since_s))
        held = replace(last, start=min(start, last.end - 1))
        spans = [replace(spans[0], normal=[held]), *spans[1:]]
    soonest_s = level_end_s - cycle.found.period_s
    return [
        drop
        for drop in (drop for span in spans for drop in drops_of_span(look, span))
        # what is back before the swing ends is one of its lows
        if drop.onset_s > (cycle.end_s if drop.recovered else soonest_s)
    ]


def _fall_of_a_cycle(
    look: Look, onset_s: float, end_s: float, found: Swing, drops_in: Search
) -> Drop | None:
    """A deeper fall that ends a cycle, by levels of means over its period."""
    series = look.series.between(onset_s, end_s)
    if len(series.values) < MIN_SAMPLES or look.is_flat:
        return None
    means = binned(series, found.period_s)
    seconds = second_falls(means, *levels_of(means))
    lasting = [second for second in seconds if second.back is None]
    if not lasting:
        return None
    fall_s = float(means.end_s[lasting[0].before.end - 1])
    whole = series.between(onset_s, fall_s - found.period_s)
    # of fewer cycles none is the usual one
    if len(whole.values) < MIN_SAMPLES or whole.duration_s - onset_s < 2 * found.period_s:
        return None
    flat = flattened(series, onset_s, found, whole)
    for drop in drops_in(flat, True):
        if abs(drop.onset_s - fall_s) > 1.5 * found.period_s or drop.recovered:
            continue
        # how it swings there, nothing shows; how deep it is, what is left of a swing does not
        level_s = max(onset_s, drop.onset_s - max(DEPTH_WINDOW_S, found.period_s))
        shown = measured(series, level_s, drop.onset_s, end_s, False, bend_s=drop.bend_s)
        if shown:
            return shown[0]
    # a period that drifts is not to be taken off
    return fall_of_means(series, means, lasting, end_s, found.period_s)
