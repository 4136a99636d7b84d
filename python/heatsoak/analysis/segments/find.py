"""From a series to its drops: levels, stretches of lowered ones, and what each of them is."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from heatsoak.analysis.segments.bins import BIN_S, Bins, binned
from heatsoak.analysis.segments.cycles import Swing, flattened, swing
from heatsoak.analysis.segments.drop import DEPTH_WINDOW_S, Drop
from heatsoak.analysis.segments.groups import (
    Cycle,
    Group,
    cycle_of,
    fall_s_of,
    grouped,
    hidden_cycle_of,
    onset_of,
)
from heatsoak.analysis.segments.levels import BLIP_S, Level, find_levels
from heatsoak.analysis.segments.lows import first_of_brief, swinging
from heatsoak.analysis.segments.measure import (
    fall_between,
    measured,
    onset_between,
    slow_onset,
)
from heatsoak.analysis.segments.noise import Noise, noise_of
from heatsoak.analysis.segments.onset import Onset, fit_onset
from heatsoak.analysis.segments.seconds import second_falls
from heatsoak.analysis.segments.slides import Slide, find_slide
from heatsoak.analysis.segments.spans import Span
from heatsoak.analysis.series import Series, tidied

#: Too little to tell a level from its noise.
MIN_SAMPLES = 12
#: Periods this near are one.
_SAME = 0.1
#: A cycle whose last recovery lasts for so many periods is over.
_OVER = 1.5


@dataclass(frozen=True)
class Found:
    """What a series shows.

    Attributes:
        drops: in the order of their onsets.
        swing: where there is no drop, a regular swing that was there from the begin, as a drop from
            its first fall on. By itself it shows no level that anything fell from.
    """

    drops: list[Drop]
    swing: Drop | None = None


def find_drops(series: Series) -> list[Drop] | None:
    """Return the drops that :func:`find` finds; None if the series is too short."""
    found = find(series)
    return None if found is None else found.drops


def find(series: Series) -> Found | None:
    """Return the episodes of a series; None if it is too short.

    Levels that differ by more than noise explains are compared with the level before them. A fall
    of `MIN_DROP` begins a drop, which lasts until throughput is back at `RECOVERED` of that level.
    Regular falls are one drop that oscillates; throughput that swings from the begin has none
    unless its mean falls. A deeper fall inside a drop ends it and is a drop of its own; one that
    passes while the first lasts is a drop beside it.
    """
    series = tidied(series)
    if len(series.values) < MIN_SAMPLES:
        return None
    if series.t_s[-1] - series.t_s[0] + series.interval_s[0] < 2 * BLIP_S:
        return None
    search = _Search(series, BIN_S)
    drops = search.drops()
    if not drops:
        middle_s = 0.5 * float(series.t_s[0] + series.t_s[-1])
        level = series.mean(middle_s, series.duration_s)
        drops = _in_means(series, swing(series, middle_s, series.duration_s, level))
    elif len(drops) == 1 and drops[0].period_s is not None:
        # means over the period show small swings sooner
        found = Swing(drops[0].period_s, drops[0].duty or 0.5)
        again = _in_means(series, found)
        if again and again[0].oscillates and again[0].onset_s < drops[0].onset_s - found.period_s:
            drops = again
    if not drops:
        return Found([], search.swing)
    return Found(sorted(drops, key=lambda drop: drop.onset_s))


def _in_means(series: Series, found: Swing | None) -> list[Drop]:
    """Drops where a quick swing hides them: levels of means over its period."""
    if found is None or found.period_s <= max(BIN_S, 2 * series.sampling_s):
        return []
    return _Search(series, found.period_s).drops()


def _before(series: Series) -> list[Drop]:
    """What is found before a cycle."""
    if len(series.values) < MIN_SAMPLES:
        return []
    return _Search(series, BIN_S).drops()


def _swings_as(drop: Drop, found: Swing) -> bool:
    period_s = drop.period_s
    return period_s is not None and abs(period_s - found.period_s) < _SAME * found.period_s


class _Search:
    """One look at a series, in bins of a width."""

    def __init__(self, series: Series, width_s: float, *, is_flat: bool = False) -> None:
        self._series = series
        self._bins: Bins = binned(series, width_s)
        self._noise: Noise = noise_of(self._bins)
        self._is_flat = is_flat
        self.swing: Drop | None = None

    def drops(self) -> list[Drop]:
        drops: list[Drop] = []
        levels = find_levels(self._bins, self._noise)
        groups = grouped(self._bins, levels, self._series.duration_s)
        # where no level is left, a swing may be all there is
        for group in groups or [Group([], self._series.duration_s)]:
            cycle = self._cycle_of(group)
            if cycle is None:
                drops += self._of_spans(group.spans)
                continue
            if not (group.is_first and cycle.is_since_begin):
                drops += self._cycle(group, cycle)
                continue
            # a swing that was there before is no drop; its mean may fall all the same
            swings = (drop for drop in self._cycle(group, cycle) if drop.oscillates)
            self.swing = next(swings, None)
            if group.spans and not self._is_flat:
                flat = flattened(self._series, cycle.begin_s, cycle.found)
                if len(flat.values) >= MIN_SAMPLES:
                    left = _Search(flat, BIN_S, is_flat=True).drops()
                    # what swings as before is what flattening left of it
                    return [drop for drop in left if not _swings_as(drop, cycle.found)]
        return drops

    def _cycle_of(self, group: Group) -> Cycle | None:
        found = cycle_of(self._series, self._bins, group)
        if found is None and not self._is_flat:
            found = hidden_cycle_of(self._series, self._bins, group)
        return found

    def _of_spans(self, spans: list[Span]) -> list[Drop]:
        return [drop for span in spans for drop in self._of_span(span)]

    def _cycle(self, group: Group, cycle: Cycle) -> list[Drop]:
        """The drop of falls and recoveries, and what is before and after it."""
        series, found, end_s = self._series, cycle.found, cycle.end_s
        if cycle.level_end_s is not None:
            is_back = cycle.level_end_s - end_s > _OVER * found.period_s
        else:
            is_back = group.until_s - end_s > _OVER * found.period_s
            is_back &= group.spans[-1].back is not None
        if not is_back:
            end_s = max(end_s, cycle.level_end_s or end_s)
            # a high part at the very end, as long as what depth is taken over, would hide the lows
            end_s = group.until_s if found.period_s < DEPTH_WINDOW_S else end_s
        onset_s = onset_of(series, self._bins, group, cycle, end_s)
        before: list[Drop] = []
        begin_s = cycle.begin_s
        if not self._is_flat:
            # by its own noise, which is not that of the swing
            before = _before(series.between(begin_s, onset_s - series.sampling_s))
            if before and not before[-1].recovered:
                before[-1] = replace(before[-1], end_s=onset_s)
                begin_s = max(before[-1].onset_s, onset_s - DEPTH_WINDOW_S)
        if (second := self._fall_of_a_cycle(onset_s, end_s, found)) is None:
            rest = self._after(group, cycle, onset_s)
            if rest and not is_back:
                end_s = rest[0].onset_s
            drops = measured(series, begin_s, onset_s, end_s, is_back, found=found)
            return [*before, *drops, *map(self._swinging, rest)]
        drops = measured(series, begin_s, onset_s, second.onset_s, False, found=found)
        return [*before, *drops, self._swinging(replace(second, recovered=is_back))]

    def _swinging(self, drop: Drop) -> Drop:
        """A fall that ends a cycle, as a cycle of its own where throughput swings on there."""
        begin_s, end_s = drop.onset_s, drop.end_s
        on = swinging(self._series, begin_s, begin_s, end_s, end_s)
        if on is None or not on.is_since_begin:
            return drop
        period_s, duty = on.found.period_s, on.found.duty
        return replace(drop, oscillates=True, period_s=period_s, duty=duty, shape="cycle")

    def _after(self, group: Group, cycle: Cycle, onset_s: float) -> list[Drop]:
        """What levels show after the stretch of a swing."""
        spans, level_end_s = group.spans, cycle.level_end_s
        if not spans:
            return []
        if level_end_s is None:
            # a last fall that goes on deeper, for longer than the swing is low
            period_s = cycle.found.period_s
            later_s = fall_s_of(self._bins, spans[-1]) + period_s
            return [
                drop
                for drop in self._of_spans(spans[-1:])
                if drop.onset_s > later_s
                and not drop.recovered
                and drop.shape == "step"
                and drop.end_s - drop.onset_s > _OVER * period_s
            ]
        if fall_s_of(self._bins, spans[0]) >= level_end_s:
            # what falls next falls from the swing
            since_s = max(onset_s, level_end_s - DEPTH_WINDOW_S)
            last = spans[0].normal[-1]
            start = int(self._bins.begin_s.searchsorted(since_s))
            held = replace(last, start=min(start, last.end - 1))
            spans = [replace(spans[0], normal=[held]), *spans[1:]]
        soonest_s = level_end_s - cycle.found.period_s
        return [
            drop
            for drop in self._of_spans(spans)
            # what is back before the swing ends is one of its lows
            if drop.onset_s > (cycle.end_s if drop.recovered else soonest_s)
        ]

    def _fall_of_a_cycle(self, onset_s: float, end_s: float, found: Swing) -> Drop | None:
        """A deeper fall that ends a cycle, by levels of means over its period."""
        series = self._series.between(onset_s, end_s)
        if len(series.values) < MIN_SAMPLES or self._is_flat:
            return None
        means = binned(series, found.period_s)
        noise = noise_of(means)
        seconds = second_falls(means, noise, find_levels(means, noise))
        lasting = [second for second in seconds if second.back is None]
        if not lasting:
            return None
        fall_s = float(means.end_s[lasting[0].before.end - 1])
        whole = series.between(onset_s, fall_s - found.period_s)
        # of fewer cycles none is the usual one
        if len(whole.values) < MIN_SAMPLES or whole.duration_s - onset_s < 2 * found.period_s:
            return None
        flat = flattened(series, onset_s, found, whole)
        return next(
            (
                # how it swings there, nothing shows
                replace(drop, shape="step", oscillates=False, period_s=None, duty=None)
                for drop in _Search(flat, BIN_S, is_flat=True).drops()
                if abs(drop.onset_s - fall_s) <= 1.5 * found.period_s
            ),
            None,
        )

    def _of_span(self, span: Span) -> list[Drop]:
        """The drop of a span, and deeper ones inside it."""
        series, bins = self._series, self._bins
        begin_s, end_s = float(bins.begin_s[span.begin]), float(bins.end_s[span.end - 1])
        recovered = span.back is not None
        seconds = second_falls(bins, self._noise, span.lowered)
        if seconds:
            slide = self._slide(span, span.end, [second.before.end for second in seconds])
            if (
                slide is not None
                and all(second.is_stair for second in seconds)
                and slide.onset_s < bins.begin_s[seconds[0].before.start]
            ):
                # what looks like a step is one of the stairs that a slide is drawn as
                seconds = []
        drops: list[Drop] = []
        lasting: list[float] = []
        for second in seconds:
            until = span.end if second.back is None else second.back.start
            until_s = float(bins.end_s[until - 1])
            onset_s = onset_between(
                series,
                bins,
                second.before.start,
                second.before,
                second.after,
                until_s,
                is_sudden=True,
            )
            if second.back is None:
                lasting.append(onset_s)
            else:
                from_s = float(bins.begin_s[second.before.start])
                drops += measured(series, from_s, onset_s, until_s, True)
        first_end = seconds[0].before.end if seconds else span.end
        edges = [*lasting, end_s]
        drops += self._first(span, first_end, begin_s, edges[0], recovered and not lasting)
        for index, onset_s in enumerate(lasting):
            level_s = max(edges[index - 1] if index else begin_s, onset_s - DEPTH_WINDOW_S)
            if index == 0 and drops:
                level_s = max(drops[-1].onset_s, onset_s - DEPTH_WINDOW_S)
            is_last = index == len(lasting) - 1
            drops += measured(series, level_s, onset_s, edges[index + 1], recovered and is_last)
        return drops

    def _first(
        self, span: Span, end: int, begin_s: float, end_s: float, recovered: bool
    ) -> list[Drop]:
        """The fall from the normal level, whose own levels reach to the bin `end`."""
        series, bins = self._series, self._bins
        slide = self._slide(span, end)
        if slide is None:
            fall = fall_between(
                series,
                bins,
                span.begin,
                span.normal[-1],
                span.lowered[0],
                float(bins.end_s[end - 1]),
            )
            fall = self._from_the_first(span, begin_s, fall)
            return measured(series, begin_s, fall.onset_s, end_s, recovered, bend_s=fall.bend_s)
        before = slide.start if slide.from_begin else None
        lowest_s = float(bins.end_s[self._lowest(span, end).end - 1])
        near = Onset(slide.onset_s, slide.onset_s, 0.0)
        fall = slow_onset(series, begin_s, near, lowest_s)
        return measured(
            series,
            begin_s,
            fall.onset_s,
            end_s,
            recovered,
            shape="slide",
            before=before,
            bend_s=fall.bend_s,
        )

    def _from_the_first(self, span: Span, begin_s: float, fall: Onset) -> Onset:
        """The onset of the first of several falls that were back too briefly for a level."""
        low_s = float(self._bins.end_s[span.lowered[0].end - 1])
        first = first_of_brief(self._series, begin_s, fall.onset_s, low_s)
        if first is None:
            return fall
        step_s = 2 * self._series.sampling_s
        sooner = fit_onset(
            self._series,
            begin_s,
            max(begin_s, first.high_s - step_s),
            first.low_s + step_s,
            first.back_s,
            first.back_s - first.low_s,
        )
        return sooner if sooner.onset_s < fall.onset_s else fall

    def _slide(self, span: Span, end: int, seconds: Iterable[int] = ()) -> Slide | None:
        """How the levels of a span up to the bin `end` slide, until they are lowest."""
        return find_slide(
            self._bins,
            self._noise,
            span.begin,
            span.lowered[0].start,
            self._lowest(span, end).end,
            seconds,
        )

    def _lowest(self, span: Span, end: int) -> Level:
        lowered = (level for level in span.lowered if level.start < end)
        return min(lowered, key=lambda level: level.value)
