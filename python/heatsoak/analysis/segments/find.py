"""From a series to its drops, in one look or, where a quick swing hides them, in two."""

from heatsoak.analysis.segments.bins import BIN_S
from heatsoak.analysis.segments.brief import chained
from heatsoak.analysis.segments.cycles import Swing, swing
from heatsoak.analysis.segments.drop import Drop
from heatsoak.analysis.segments.levels import BLIP_S, TRANSITION_S
from heatsoak.analysis.segments.look import MIN_SAMPLES, look_at
from heatsoak.analysis.segments.search import Found, search
from heatsoak.analysis.segments.stalls import stalls_of, without
from heatsoak.analysis.series import Series, tidied


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
    passes while the first lasts is a drop beside it. What is back after no more than `TRANSITION_S`
    was a stall, and no level; nor is a standstill that :func:`stalls_of` finds.
    """
    series = tidied(series)
    series = without(series, stalls_of(series))
    if len(series.values) < MIN_SAMPLES:
        return None
    if series.t_s[-1] - series.t_s[0] + series.interval_s[0] < 2 * BLIP_S:
        return None
    whole = search(look_at(series, BIN_S))
    # when it is back, is known to half a sample
    stall_s = TRANSITION_S + 0.5 * series.sampling_s
    drops = [drop for drop in chained(series, whole.drops) if not _is_stall(drop, stall_s)]
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
        return Found([], whole.swing)
    return Found(sorted(drops, key=lambda drop: drop.onset_s))


def _is_stall(drop: Drop, longest_s: float) -> bool:
    return drop.recovered and not drop.oscillates and drop.end_s - drop.onset_s <= longest_s


def _in_means(series: Series, found: Swing | None) -> list[Drop]:
    """Drops where a quick swing hides them: levels of means over its period."""
    if found is None or found.period_s <= max(BIN_S, 2 * series.sampling_s):
        return []
    return search(look_at(series, found.period_s)).drops
