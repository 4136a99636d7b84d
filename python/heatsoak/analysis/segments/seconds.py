"""Deeper falls inside a stretch that is lowered already: another cause on top of the first."""

from dataclasses import dataclass

import numpy as np

from heatsoak.analysis.segments.bins import Bins
from heatsoak.analysis.segments.drop import MIN_DROP
from heatsoak.analysis.segments.levels import Level
from heatsoak.analysis.segments.noise import Noise
from heatsoak.analysis.segments.spans import is_back

#: A level inside a drop has settled once it is held so long.
SETTLED_S = 8.0
#: A second fall takes at least this share of it.
SECOND_FALL = 0.08
#: At least this part of the loss comes between the levels, not within them.
_SUDDEN = 0.5
#: So many variances of the noise must a step take off the error of a bent line.
_CLEARLY = 12.0
#: The course of a level beside a fall is taken from so much of it.
_BESIDE_S = 60.0
#: Fewer bins than this about a fall tell no bend from a step.
_FEWEST_BINS = 5


@dataclass(frozen=True)
class Second:
    """A fall from one lowered level to the next.

    `back` is the later level at which throughput is again where this fall began, if there is one.
    Where it comes back higher than that, the stretch had no level that this fall was from.
    """

    before: Level
    after: Level
    back: Level | None


def second_falls(bins: Bins, noise: Noise, lowered: list[Level]) -> list[Second]:
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
            and _is_sudden(bins, noise, before, after)
        ):
            later = (at for at in range(index, len(lowered)) if is_back(lowered[at], before.value))
            back = next(later, None)
            if back is None:
                found.append(Second(before, after, None))
            elif lowered[back].value <= (1 + SECOND_FALL) * before.value:
                found.append(Second(before, after, lowered[back]))
                index = back
                continue
        lowest = min(lowest, after.value)
    return found


def _is_sudden(bins: Bins, noise: Noise, before: Level, after: Level) -> bool:
    """Whether what is lost between two levels is lost there, and not in a creep through both.

    A line with a step in it must fit clearly better than a bent line, and the step be most of it.
    """
    size = max(2, round(_BESIDE_S / bins.width_s))
    left = np.arange(max(before.start, before.end - size), before.end)
    right = np.arange(after.start, min(after.end, after.start + size))
    at = np.concatenate([left, right])
    if len(at) < _FEWEST_BINS:
        return True
    values = bins.logs[at]
    x = (at - at[0]) / (at[-1] - at[0])
    ones, later = np.ones(len(at)), (at >= after.start).astype(float)
    bent = np.stack([ones, x, x**2], axis=1)
    stepped = np.stack([ones, x, later], axis=1)
    line = np.linalg.lstsq(stepped, values, rcond=None)[0]
    by_step = np.sum((values - stepped @ line) ** 2)
    by_bend = np.sum((values - bent @ np.linalg.lstsq(bent, values, rcond=None)[0]) ** 2)
    variance = noise.sigma**2 / bins.width_s
    lost = float(np.mean(bins.logs[left]) - np.mean(bins.logs[right]))
    return bool(by_bend - by_step > _CLEARLY * variance and -line[2] > _SUDDEN * lost)
