"""Deeper falls inside a stretch that is lowered already: another cause on top of the first.

A governor that approaches its level, or a slide, is drawn as a staircase too. A second fall is told
from their stairs by its bend: throughput falls faster after it than before.
"""

from dataclasses import dataclass

import numpy as np

from heatsoak.analysis.segments.bins import Bins
from heatsoak.analysis.segments.drop import MIN_DROP
from heatsoak.analysis.segments.levels import Level
from heatsoak.analysis.segments.noise import Noise
from heatsoak.analysis.segments.spans import is_back
from heatsoak.analysis.series import Array

#: A level inside a drop has settled once it is held so long.
SETTLED_S = 8.0
#: A second fall takes at least this share of it.
SECOND_FALL = 0.08
#: And at its begin this share, or it is a creep that has no begin.
_LEAST_STAIR = 0.04
#: At least this part of the loss comes with the fall, not within the levels beside it.
_SUDDEN = 0.5
#: So many variances of the noise must a fall take off the error of a bent line.
_CLEARLY = 20.0
#: The course of a level beside a fall is taken from so much of it, in time and in bins at least.
_BESIDE_S, _BESIDE_BINS = 60.0, 24
#: Fewer bins than this about a fall tell no bend from a step.
_FEWEST_BINS = 5
#: Time constants of a fall, and where it may begin from the level's end, in shares of that.
_CONSTANTS = (0.0, 0.06, 0.12, 0.25, 0.5)
_BEGINS = np.linspace(-0.3, 0.15, 10)
#: A fall is so many times as deep as what the stretch before it wanders up and down.
_BEYOND_WANDER = 1.5


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
    held_s = [float(bins.end_s[level.end - 1] - bins.begin_s[level.start]) for level in lowered]
    since = index = 0
    lowest = lowered[0].value
    while index + 1 < len(lowered):
        before, after = lowered[index : index + 2]
        index += 1
        if held_s[index - 1] >= SETTLED_S and after.value < (1 - _LEAST_STAIR) * before.value:
            lost = fallen(bins, noise, before, _run(lowered, index), lowered[since:index])
            settled = [lowered[at] for at in range(since, index) if held_s[at] >= SETTLED_S]
            if DEBUG: print('    trial',bins.end_s[before.end-1],'lost',lost,'wander',_wander(settled), after.value<.95*lowest)
            if lost >= -np.log(1-SECOND_FALL) and (after.value < (1-MIN_DROP)*lowest or lost >= _BEYOND_WANDER * _wander(settled)):
                later = (at for at in range(index, len(lowered)) if is_back(lowered[at], before.value))
                back = next(later, None)
                if back is None:
                    found.append(Second(before, after, None))
                    since = index
                elif lowered[back].value <= (1 + 0.15) * before.value:
                    found.append(Second(before, after, lowered[back]))
                    since = index = back
                    continue
        lowest = min(lowest, after.value)
    return found


def _run(levels: list[Level], first: int) -> list[Level]:
    """The levels that a fall to the level `first` goes down, up to a deeper one."""
    most = 1.5 * np.log(levels[first-1].value / levels[first].value) if levels[first].value > 0 else 0.0
    end = first + 1
    while end < len(levels) and 0 < levels[end].value < levels[end-1].value and np.log(levels[end-1].value / levels[end].value) <= most:
        end += 1
    return levels[first:end]


def _wander(levels: list[Level]) -> float:
    """How far levels go down and up again, or up and down, in logarithms."""
    logs = np.log([max(level.value, 1e-9) for level in levels])
    most = 0.0
    for middle in range(1, len(logs) - 1):
        left, right = logs[:middle] - logs[middle], logs[middle + 1 :] - logs[middle]
        most = max(most, min(left.max(), right.max()), min(-left.min(), -right.min()))
    return most


def fallen(bins: Bins, noise: Noise, before: Level, run: list[Level], state: list[Level]) -> float:
    """Return how much is lost in a fall at the end of `before`, in logarithms; 0 for a creep.

    A line that begins to fall, at once or to a limit, must fit clearly better than a bent line.
    """
    variance = noise.sigma**2 / bins.width_s
    step = float(np.log(max(before.value, 1e-9) / max(run[0].value, 1e-9)))
    size = max(2, round(_BESIDE_S / bins.width_s), int(200 * variance / step**2))
    right = np.concatenate([np.arange(level.start, level.end) for level in run])
    left = np.arange(before.start, before.end)
    def near(size):
        return np.concatenate([left[-size:], right[right < run[0].start + size]])
    first = right[right < min(run[0].end, run[0].start + size)]
    at = np.concatenate([left[-size:], first])
    lost = float(np.mean(bins.logs[left[-size:]]) - np.mean(bins.logs[first]))
    if len(at) < _FEWEST_BINS:
        return lost
    def fitter(at, size):
        x = (at - before.end) / size
        values = bins.logs[at]
        def fit(*columns):
            basis = np.stack([np.ones(len(at)), x, *columns], axis=1)
            line = np.linalg.lstsq(basis, values, rcond=None)[0]
            return float(np.sum((values - basis @ line) ** 2)), line
        return x, fit
    x, fit = fitter(at, size)
    by_bend = fit(x**2)[0]
    error, line = fit((at >= run[0].start).astype(float))
    if DEBUG: print('      sudden', round((by_bend-error)/variance,1), -line[2], 'lost',lost, 'size',size,len(left),len(right))
    if by_bend - error > 12 * variance and -line[2] > _SUDDEN * lost:
        return -line[2]
    left = np.concatenate([np.arange(level.start, level.end) for level in state])
    size = max(round(_BESIDE_S / bins.width_s), _BESIDE_BINS)
    size = min(size, len(left))
    while size >= 20 and size <= len(left):
        at = near(size)
        lost = float(np.mean(bins.logs[left[-size:]]) - np.mean(bins.logs[right[right < run[0].start + size]]))
        x, fit = fitter(at, size)
        by_bend = fit(x**2)[0]
        for constant in (0.1,0.2,0.4,0.8):
            by_bend = min(by_bend, fit(np.exp(-(x-x[0])/constant))[0])
        begins = _BEGINS[(_BEGINS * size < run[-1].end - before.end - 2)]
        best = (np.inf, 0.0)
        for constant in _CONSTANTS[1:]:
            for begin in begins:
                age = np.maximum(x + 0.5 / size - begin, 0.0)
                fall = -np.expm1(-age / constant)
                error, line = fit(fall)
                best = min(best, (error, float(-line[2] * fall[-1]),constant,begin))
        error, by_fall = best[:2]
        if DEBUG: print('      slow', size,len(at),round((by_bend-error)/variance,1), round(by_bend/error,2),round(fit(x**2,x**3)[0]/error,2),best, round(lost,3))
        if by_bend - error > _CLEARLY * variance and by_bend > RATIO*error and by_fall > _SUDDEN * lost:
            return by_fall
        if size==len(left): break
        size = min(2*size,len(left))
    return 0.0
DEBUG=False
RATIO=1.2
