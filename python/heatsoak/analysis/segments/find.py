"""From a series to its drops: levels, stretches of lowered ones, and what each of them is."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from heatsoak.analysis.segments.bins import BIN_S, Bins, binned
from heatsoak.analysis.segments.cycles import Swing, flattened, regular, swing, was_there
from heatsoak.analysis.segments.drop import DEPTH_WINDOW_S, Drop
from heatsoak.analysis.segments.levels import BLIP_S, Level, find_levels
from heatsoak.analysis.segments.measure import (
    SHARE_BESIDE,
    fall_between,
    measured,
    onset_between,
    slow_onset,
)
from heatsoak.analysis.segments.noise import Noise, noise_of
from heatsoak.analysis.segments.onset import Onset
from heatsoak.analysis.segments.seconds import second_falls
from heatsoak.analysis.segments.slides import Slide, find_slide
from heatsoak.analysis.segments.spans import Span, lowered_spans
from heatsoak.analysis.series import Series, tidied

#: Too little to tell a level from its noise.
MIN_SAMPLES = 12
#: Falls that come again within so many lengths of the last one may be one cycle.
_SOON = 8.0


def find_drops(series: Series) -> list[Drop] | None:
    """Return the episodes of a series in the order of their onsets; None if it is too short.

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
    drops = _Search(series, BIN_S).drops()
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
    return sorted(drops, key=lambda drop: drop.onset_s)


def _in_means(series: Series, found: Swing | None) -> list[Drop]:
    """Drops where a quick swing hides them: levels of means over its period."""
    if found is None or found.period_s <= max(BIN_S, 2 * series.sampling_s):
        return []
    return _Search(series, found.period_s).drops()


@dataclass(frozen=True)
class _Group:
    """Spans that may be one cycle together, and when the next group falls."""

    spans: list[Span]
    until_s: float


class _Search:
    """One look at a series, in bins of a width."""

    def __init__(self, series: Series, width_s: float, *, is_flat: bool = False) -> None:
        self._series = series
        self._bins: Bins = binned(series, width_s)
        self._noise: Noise = noise_of(self._bins)
        self._is_flat = is_flat

    def drops(self) -> list[Drop]:
        drops: list[Drop] = []
        for group in self._groups():
            found, end_s = self._swing(group)
            if found is None:
                drops += [drop for span in group.spans for drop in self._of_span(span)]
                continue
            fall_s = self._fall_s(group.spans[0])
            begin_s = float(self._bins.begin_s[0])
            is_first = group.spans[0].is_first
            if not is_first or not was_there(self._series, begin_s, fall_s, end_s, found):
                drops += self._cycle(group, end_s, found)
            elif not self._is_flat:
                # a swing that was there before is no drop; its mean may fall all the same
                flat = flattened(self._series, begin_s, found)
                if len(flat.values) >= MIN_SAMPLES:
                    return _Search(flat, BIN_S, is_flat=True).drops()
        return drops

    def _groups(self) -> list[_Group]:
        bins = self._bins
        groups: list[list[Span]] = []
        for span in lowered_spans(find_levels(bins, self._noise)):
            if groups:
                length_s = max(self._length_s(one) for one in groups[-1])
                apart_s = bins.begin_s[span.lowered[0].start] - bins.begin_s[groups[-1][-1].end]
            if groups and apart_s <= _SOON * length_s:
                groups[-1].append(span)
            else:
                groups.append([span])
        untils_s = [self._fall_s(group[0]) for group in groups[1:]] + [self._series.duration_s]
        return [_Group(*both) for both in zip(groups, untils_s, strict=False)]

    def _length_s(self, span: Span) -> float:
        return float(self._bins.end_s[span.end - 1] - self._bins.begin_s[span.lowered[0].start])

    def _fall_s(self, span: Span) -> float:
        return float(self._bins.end_s[span.normal[-1].end - 1])

    def _swing(self, group: _Group) -> tuple[Swing | None, float]:
        """The regular swing of a group's falls, and where it ends."""
        first, last = group.spans[0], group.spans[-1]
        falls_s = [self._fall_s(span) for span in group.spans]
        backs_s = [float(self._bins.begin_s[s.end]) for s in group.spans if s.back is not None]
        end_s = float(self._bins.end_s[last.end - 1])
        if (found := regular(falls_s, backs_s)) is not None:
            return found, end_s
        # what falls little is lost between its cycles
        for to_s in dict.fromkeys((group.until_s, end_s)):
            found = swing(self._series, falls_s[0], to_s, first.normal[-1].value)
            if found is not None:
                return found, to_s
        return None, end_s

    def _cycle(self, group: _Group, end_s: float, found: Swing) -> list[Drop]:
        """One drop of falls and recoveries."""
        first, last = group.spans[0], group.spans[-1]
        is_back = last.back is not None and group.until_s - end_s > 1.5 * found.period_s
        # a high part at the very end, as long as what depth is taken over, would hide the lows
        if not is_back and found.period_s < DEPTH_WINDOW_S:
            end_s = group.until_s
        series, bins = self._series, self._bins
        # what follows the first fall, but not the first recovery
        low_for_s = found.duty * found.period_s
        until_s = float(bins.begin_s[first.lowered[0].start])
        until_s += max(low_for_s, 3 * series.sampling_s)
        if bins.width_s > 2 * BIN_S:
            until_s += SHARE_BESIDE * bins.width_s
        onset_s = onset_between(
            series,
            bins,
            first.begin,
            first.normal[-1],
            first.lowered[0],
            min(end_s, until_s),
            low_for_s,
        )
        begin_s = float(bins.begin_s[first.begin])
        if (second := self._fall_of_a_cycle(onset_s, end_s, found)) is None:
            return measured(series, begin_s, onset_s, end_s, is_back, found=found)
        drops = measured(series, begin_s, onset_s, second.onset_s, False, found=found)
        return [*drops, replace(second, recovered=is_back)]

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
        swinging = series.between(onset_s, fall_s - found.period_s)
        if len(swinging.values) < MIN_SAMPLES:
            return None
        flat = flattened(series, onset_s, found, swinging)
        return next(
            (
                drop
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
        if seconds and self._slide(span, span.end, [s.before.end for s in seconds]) is not None:
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
