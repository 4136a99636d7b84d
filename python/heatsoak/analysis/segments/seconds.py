"""Deeper falls inside a stretch that is lowered already: another cause on top of the first."""

from dataclasses import dataclass

import numpy as np

from heatsoak.analysis.segments.bins import Bins
from heatsoak.analysis.segments.drop import MIN_DROP
from heatsoak.analysis.segments.levels import Level
from heatsoak.analysis.segments.spans import is_back

#: A level inside a drop has settled once it is held so long.
SETTLED_S = 8.0
#: A second fall takes at least this share of it.
SECOND_FALL = 0.15
#: At least this part of the loss comes between the levels, not within them.
_SUDDEN = 0.5
#: The course of a level beside a fall is taken from so much of it.
_BESIDE_S = 60.0


@dataclass(frozen=True)
class Second:
    """A fall from one lowered level to the next.

    `back` is the later level at which throughput is again where this fall began, if there is one.
    """

    before: Level
    after: Level
    back: Level | None


def second_falls(bins: Bins, lowered: list[Level]) -> list[Second]:
    """Return the deeper falls from levels that had settled, in order."""
    found: list[Second] = []
    lowest = lowered[0].value
    index = 0
    while index + 1 < len(lowered):
        before, after = lowered[index : index + 2]
        index += 1
        length_s = bins.end_s[before.end - 1] - bins.begin_s[before.start]
        if (
            length_s >= SETTLED_S
            and after.value < (1 - SECOND_FALL) * before.value
            and after.value < (1 - MIN_DROP) * lowest
            and _is_sudden(bins, before, after)
        ):
            later = (at for at in range(index, len(lowered)) if is_back(lowered[at], before.value))
            back = next(later, None)
            found.append(Second(before, after, None if back is None else lowered[back]))
            if back is not None:
                index = back
                continue
        lowest = min(lowest, after.value)
    return found


def _is_sudden(bins: Bins, before: Level, after: Level) -> bool:
    """Whether what is lost between two levels is lost there, and not in a creep through both."""
    size = round(_BESIDE_S / bins.width_s)
    left = bins.logs[max(before.start, before.end - size) : before.end]
    right = bins.logs[after.start : min(after.end, after.start + size)]
    edge = _line_at(left[::-1]) - _line_at(right)
    return bool(edge > _SUDDEN * (np.mean(left) - np.mean(right)))


def _line_at(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    """The value of a fitted line just before the first of `values`."""
    if len(values) < 3:
        return float(np.mean(values))
    return float(np.polyfit(np.arange(1, len(values) + 1), values, 1)[1])
