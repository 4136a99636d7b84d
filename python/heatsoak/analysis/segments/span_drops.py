"""What a lowered stretch is: a fall or a slide, and the deeper falls inside it."""

from collections.abc import Iterable

from heatsoak.analysis.definitions import DEPTH_WINDOW_S
from heatsoak.analysis.segments.brief import first_of_brief
from heatsoak.analysis.segments.drop import Drop
from heatsoak.analysis.segments.levels import Level
from heatsoak.analysis.segments.look import Look
from heatsoak.analysis.segments.measure import fall_between, measured, onset_between, slow_onset
from heatsoak.analysis.segments.onset import Onset, fit_onset
from heatsoak.analysis.segments.seconds import second_falls
from heatsoak.analysis.segments.slides import LevelSlide, find_slide
from heatsoak.analysis.segments.spans import Span


def drops_of_span(look: Look, span: Span) -> list[Drop]:
    """Return the drop of a span, and deeper ones inside it."""
    series, bins = look.series, look.bins
    begin_s, end_s = float(bins.begin_s[span.begin]), float(bins.end_s[span.end - 1])
    recovered = span.back is not None
    seconds = second_falls(bins, look.noise, span.lowered)
    if seconds:
        slide = _slide(look, span, span.end, [second.before.end for second in seconds])
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
        # what came between was too brief to be the level that it fell from
        last = [level for level in span.lowered if level.start < second.after.start][-1]
        onset_s = onset_between(
            series, bins, last.start, last, second.after, until_s, is_sudden=True
        )
        if second.back is None:
            lasting.append(onset_s)
        else:
            from_s = float(bins.begin_s[second.before.start])
            drops += measured(series, from_s, onset_s, until_s, True)
    first_end = seconds[0].before.end if seconds else span.end
    edges = [*lasting, end_s]
    drops += _first(look, span, first_end, begin_s, edges[0], recovered and not lasting)
    for index, onset_s in enumerate(lasting):
        level_s = max(edges[index - 1] if index else begin_s, onset_s - DEPTH_WINDOW_S)
        if index == 0 and drops:
            level_s = max(drops[-1].onset_s, onset_s - DEPTH_WINDOW_S)
        is_last = index == len(lasting) - 1
        drops += measured(series, level_s, onset_s, edges[index + 1], recovered and is_last)
    return drops


def _first(
    look: Look, span: Span, end: int, begin_s: float, end_s: float, recovered: bool
) -> list[Drop]:
    """The fall from the normal level, whose own levels reach to the bin `end`."""
    series, bins = look.series, look.bins
    slide = _slide(look, span, end)
    if slide is None:
        fall = fall_between(
            series,
            bins,
            span.begin,
            span.normal[-1],
            span.lowered[0],
            float(bins.end_s[end - 1]),
        )
        fall = _from_the_first(look, span, begin_s, fall)
        return measured(series, begin_s, fall.onset_s, end_s, recovered, bend_s=fall.bend_s)
    before = slide.start if slide.from_begin else None
    lowest_s = float(bins.end_s[_lowest(span, end).end - 1])
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


def _from_the_first(look: Look, span: Span, begin_s: float, fall: Onset) -> Onset:
    """The onset of the first of several falls that were back too briefly for a level."""
    low_s = float(look.bins.end_s[span.lowered[0].end - 1])
    first = first_of_brief(look.series, begin_s, fall.onset_s, low_s)
    if first is None:
        return fall
    step_s = 2 * look.series.sampling_s
    sooner = fit_onset(
        look.series,
        begin_s,
        max(begin_s, first.high_s - step_s),
        first.low_s + step_s,
        first.back_s,
        first.back_s - first.low_s,
    )
    return sooner if sooner.onset_s < fall.onset_s else fall


def _slide(look: Look, span: Span, end: int, seconds: Iterable[int] = ()) -> LevelSlide | None:
    """How the levels of a span up to the bin `end` slide, until they are lowest."""
    return find_slide(
        look.bins,
        look.noise,
        span.begin,
        span.lowered[0].start,
        _lowest(span, end).end,
        seconds,
    )


def _lowest(span: Span, end: int) -> Level:
    lowered = (level for level in span.lowered if level.start < end)
    return min(lowered, key=lambda level: level.value)
