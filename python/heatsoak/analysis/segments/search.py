"""One look at a series: its levels, the groups of its falls, and what each of them is."""

from dataclasses import dataclass

from heatsoak.analysis.segments.bins import BIN_S
from heatsoak.analysis.segments.cycle_drops import drops_of_cycle
from heatsoak.analysis.segments.cycles import PARTS, Swing, flattened
from heatsoak.analysis.segments.drop import Drop
from heatsoak.analysis.segments.groups import (
    Cycle,
    Group,
    cycle_of,
    grouped,
    hidden_cycle_of,
    later_cycle_of,
)
from heatsoak.analysis.segments.look import MIN_SAMPLES, Look, look_at
from heatsoak.analysis.segments.span_drops import drops_of_span
from heatsoak.analysis.series import Series

#: Periods this near are one.
_SAME = 0.1
#: A swing's falls are not quite where its mean cycle has them: by so many of its parts.
_EDGE_PARTS = 1.5


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


def search(look: Look) -> Found:
    """Return what one look at a series shows."""
    drops: list[Drop] = []
    was_swing: Drop | None = None
    groups = grouped(look.bins, look.levels, look.series.duration_s)
    # where no level is left, a swing may be all there is
    for group in groups or [Group([], look.series.duration_s)]:
        cycle = _cycle_of(look, group)
        of_cycle = [] if cycle is None else drops_of_cycle(look, group, cycle, _drops_in)
        if cycle is None or not (group.is_first and cycle.is_since_begin):
            # falls that make no cycle of any depth are what they are
            of_spans = (drop for span in group.spans for drop in drops_of_span(look, span))
            drops += of_cycle or of_spans
            continue
        # a swing that was there before is no drop; its mean may fall all the same
        was_swing = next((drop for drop in of_cycle if drop.oscillates), None)
        if group.spans and not look.is_flat:
            flat = flattened(look.series, cycle.begin_s, cycle.found)
            if len(flat.values) >= MIN_SAMPLES:
                # what swings as before is what flattening left of it
                left = [d for d in _drops_in(flat, True) if not _is_left_of(d, cycle.found)]
                return Found(left, was_swing)
    return Found(drops, was_swing)


def _drops_in(series: Series, is_flat: bool) -> list[Drop]:
    """What is found in a part of a series, or in one that a swing was taken off."""
    if len(series.values) < MIN_SAMPLES:
        return []
    return search(look_at(series, BIN_S, is_flat=is_flat)).drops


def _cycle_of(look: Look, group: Group) -> Cycle | None:
    found = cycle_of(look.series, look.bins, group)
    if found is None and not look.is_flat:
        found = hidden_cycle_of(look.series, look.bins, group)
    if not look.is_flat and len(group.spans) == 1 and (found is None or found.first is None):
        found = later_cycle_of(look.series, look.bins, group) or found
    return found


def _is_left_of(drop: Drop, found: Swing) -> bool:
    """Whether a drop is what flattening left of a swing: as often, or at its edges."""
    if drop.period_s is not None:
        return abs(drop.period_s - found.period_s) < _SAME * found.period_s
    return drop.recovered and drop.end_s - drop.onset_s < _EDGE_PARTS * found.period_s / PARTS
