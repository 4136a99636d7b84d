"""Deeper falls inside a stretch that is lowered already: another cause on top of the first."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from heatsoak.analysis.definitions import MIN_DROP
from heatsoak.analysis.segments.bends import Bend, find_bend
from heatsoak.analysis.segments.bins import Bins
from heatsoak.analysis.segments.levels import SETTLED_S, Level, length_s
from heatsoak.analysis.segments.noise import Noise
from heatsoak.analysis.segments.spans import is_back

#: A second fall takes at least this share of it.
SECOND_FALL = 0.08
#: The first stair of a slow one takes this share.
_MIN_STAIR = 0.04
#: The stairs of one fall are no more than so many times as high as its first.
_SAME_FALL = 1.5
#: What noise makes of a slide has stairs up to twice as high as a fall has to be, in logarithms.
_HIGHEST_STAIR = -float(np.log1p(-2 * SECOND_FALL))
#: Less than this is standstill, in the series' unit.
_NOTHING = 1e-9
#: What comes back higher than this above where a fall began was no return from it.
_TOO_HIGH = 0.15


@dataclass(frozen=True)
class Second:
    """A fall from one lowered level to the next.

    `back` is the later level at which throughput is again where this fall began, if there is one.
    Where it comes back higher than that, the stretch had no level that this fall was from.
    `is_stair` where it is no more than a slide's stairs may be.
    """

    before: Level
    after: Level
    back: Level | None
    is_stair: bool = False


def second_falls(bins: Bins, noise: Noise, lowered: list[Level]) -> list[Second]:
    """Return the deeper falls from levels that had settled, in order."""
    found: list[Second] = []
    lowered = _without_bursts(bins, lowered)
    held_s = [length_s(bins, one) for one in lowered]
    # since the last fall, or the return from it
    since = index = 0
    lowest = lowered[0].value
    while index + 1 < len(lowered):
        before, after = lowered[index : index + 2]
        index += 1
        if held_s[index - 1] >= SETTLED_S and after.value < (1 - _MIN_STAIR) * before.value:
            settled = [lowered[at] for at in range(since, index) if held_s[at] >= SETTLED_S]
            is_new = after.value < (1 - MIN_DROP) * lowest
            is_new |= _held_s(lowered, held_s, since, index) > 0.5 * sum(held_s[since:index])
            swing = 0.0 if is_new else _swing(settled)
            bend = _deep_bend(bins, noise, lowered[since:index], _run(lowered, index), swing)
            level = _at_its_end(bins, before)
            back = None if bend is None else _back(lowered, index, level)
            if bend is not None and back is None:
                is_stair = bend.is_slow or bend.lost < _HIGHEST_STAIR
                found.append(Second(before, after, None, is_stair))
                since = index
            elif back is not None and _is_return(bend, lowered[back], level):
                found.append(Second(before, after, lowered[back]))
                # the same level goes on
                held_s[back] += held_s[index - 1]
                since = index = back
                continue
        lowest = min(lowest, after.value)
    return found


def _without_bursts(bins: Bins, levels: list[Level]) -> list[Level]:
    """Leave out what was let go above all levels before it, for too short a time to settle."""
    kept = levels[:1]
    highest = levels[0].value
    for level, after in pairwise(levels[1:]):
        is_brief = length_s(bins, level) < SETTLED_S
        is_above = (1 - MIN_DROP) * level.value > max(after.value, highest)
        if not (is_brief and is_above):
            kept.append(level)
            highest = max(highest, level.value)
    return [*kept, *levels[1:][-1:]]


def _held_s(levels: list[Level], held_s: list[float], since: int, end: int) -> float:
    """How long what is held up to the level `end` was held without a change of `MIN_DROP`.

    What was held for most of the time is the level, and what swung before it came to that is over.
    """
    value, total_s = levels[end - 1].value, 0.0
    for at in range(end - 1, since - 1, -1):
        if abs(levels[at].value - value) > MIN_DROP * value:
            break
        total_s += held_s[at]
    return total_s


def _at_its_end(bins: Bins, level: Level) -> float:
    """What a level has come to: it may have crept since it was taken up."""
    size = max(1, round(SETTLED_S / bins.width_s))
    return float(np.mean(bins.values[max(level.start, level.end - size) : level.end]))


def _back(levels: list[Level], first: int, before: float) -> int | None:
    """The first level after a fall to the level `first` that is as high as before the fall."""
    later = range(first + 1, len(levels))
    return next((at for at in later if is_back(levels[at], before)), None)


def _is_return(bend: Bend | None, back: Level, before: float) -> bool:
    """Whether a fall is over there, and not a wave."""
    is_wave = bend is None or bend.is_slow
    return not is_wave and back.value <= (1 + _TOO_HIGH) * before


def _deep_bend(
    bins: Bins, noise: Noise, state: list[Level], run: list[Level], swing: float
) -> Bend | None:
    """The fall that follows the levels `state`, where it is deep enough and beyond their swing."""
    if run[-1].value > (1 - SECOND_FALL) * state[-1].value:
        return None
    bend = find_bend(bins, noise, state, run)
    least = max(-np.log1p(-MIN_DROP), swing)
    return bend if bend is not None and bend.lost >= least else None


def _run(levels: list[Level], first: int) -> list[Level]:
    """The levels that a fall to the level `first` goes down by, up to a higher stair."""
    most = _SAME_FALL * _stair(levels, first)
    end = first + 1
    while end < len(levels) and 0 < _stair(levels, end) <= most:
        end += 1
    return levels[first:end]


def _stair(levels: list[Level], at: int) -> float:
    """How far a level is below the one before it, in logarithms."""
    return float(np.log(max(levels[at - 1].value, _NOTHING) / max(levels[at].value, _NOTHING)))


def _swing(levels: list[Level]) -> float:
    """How far levels rise at once, or go down and up again, or up and down, in logarithms.

    A fall of no more than that takes back what a drive or its host was given for a while.
    """
    logs = np.log([max(level.value, _NOTHING) for level in levels])
    most = float(np.max(np.diff(logs), initial=0.0))
    for middle in range(1, len(logs) - 1):
        left, right = logs[:middle] - logs[middle], logs[middle + 1 :] - logs[middle]
        most = max(most, min(left.max(), right.max()), min(-left.min(), -right.min()))
    return most
