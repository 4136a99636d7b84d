"""How fast a drive is with a load when nothing holds it back: the one full speed that every loss is
measured against.

It is the best level that the same load held in the same recording, in the same state of the cache,
or in the references that a user gave. What only the host's memory explains is none.
"""

import math
from collections.abc import Iterable
from itertools import chain

from heatsoak.analysis import definitions
from heatsoak.analysis.likeness import SEQUENTIAL, after_the_same
from heatsoak.analysis.view import StepView
from heatsoak.ranges import Range

#: A level this close to full speed counts as that: two runs of one load differ as much.
FULL = 0.9
#: Packet headers and acknowledgements take part of a link's capacity.
NEAR_CEILING = (0.8, 1.02)
#: What is this much faster than the maker says is the host's memory: a guess.
_BEYOND_RATING = 1.2


def full_speed(
    view: StepView, steps: Iterable[StepView], *, in_any_state: bool = False
) -> Range | None:
    """Return the best level of a step's load in `steps`, in the unit that was logged.

    Those count that came after as much had been written, unless `in_any_state`, and the references
    of `view`. None where none of them held a level that is the drive's own.
    """
    given, full = list(steps), None
    for one in chain(given, view.references):
        part = one if one.direction == view.direction else one.in_direction(view.direction)
        level = part.held_level if part else None
        # of thousands, few are faster than all before them: the rest need not be looked at
        if part is None or level is None or (full is not None and level.mid <= full.mid):
            continue
        counts = in_any_state or one in view.references or after_the_same(part, view)
        if counts and _is_like(part, view) and not _is_hosts(part, level, given):
            full = level
    return full


def _is_like(one: StepView, view: StepView) -> bool:
    return one.load == view.load and one.throughput.unit == view.throughput.unit


def lost_from_start(
    view: StepView, steps: Iterable[StepView], *, in_any_state: bool = False
) -> tuple[float, Range] | None:
    """Return which share of its full speed a step never had, and that; None if it had it."""
    full = full_speed(view, steps, in_any_state=in_any_state)
    if full is None or view.level >= FULL * full.low:
        return None
    return 1 - view.level / full.mid, full


def began_cool(view: StepView, cool_c: float = definitions.MIN_THROTTLING_C) -> bool:
    """Return whether a step began cooler than drives throttle at, as its own sensor tells."""
    return view.start_c is not None and view.start_c < cool_c


def _is_hosts(view: StepView, level: Range, steps: Iterable[StepView]) -> bool:
    """Whether only the host's memory explains a level: nothing else that began cool reached it."""
    # our own runs go past it, so that only logs are held against what a maker says
    is_beyond = view.step.is_observed and level.mid > _BEYOND_RATING * _rated_mb_s(view)
    if not is_beyond and level.mid <= NEAR_CEILING[1] * _link_mb_s(view):
        return False
    rest = (one for one in steps if one.step is not view.step)
    return FULL * level.mid > max(_held_cool(view, rest, definitions.MIN_THROTTLING_C), default=0.0)


def _held_cool(view: StepView, steps: Iterable[StepView], cool_c: float) -> list[float]:
    """What the same load held where it began cooler than `cool_c`."""
    cool = (one.held_level for one in steps if began_cool(one, cool_c) and _is_like(one, view))
    return [level.mid for level in cool if level is not None]


def _link_mb_s(view: StepView) -> float:
    """What a drive's link carries at most; infinite where that is not known."""
    ceiling = view.course.link_ceiling_mb_s
    return ceiling[1] if ceiling and view.throughput.unit == "mb_s" else math.inf


def _rated_mb_s(view: StepView) -> float:
    """What its maker says of such a load; infinite where that is not known."""
    rw = view.step.rw
    if rw not in SEQUENTIAL or view.throughput.unit != "mb_s" or not (known := view.course.known):
        return math.inf
    rated = known.drive.read_mb_s if rw == "read" else known.drive.write_mb_s
    return rated if known.kind == "model" else math.inf


def is_shown(view: StepView, steps: Iterable[StepView], cool_c: float) -> bool:
    """Return whether a step ran as fast as its link, its rating, its references, or the same load
    where it began cooler than `cool_c`."""
    given = full_speed(view, ())
    known = [given.mid] if given else []
    known += [NEAR_CEILING[0] / FULL * _link_mb_s(view), _rated_mb_s(view)]
    return view.level >= FULL * min(*known, *_held_cool(view, steps, cool_c))


def started_faster(view: StepView) -> float:
    """Return how many times as fast as its level a step was in its first second."""
    return view.throughput.mean(0.0, 1.0) / max(view.level, 1e-9)
