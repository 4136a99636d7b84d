"""The levels that a series keeps to, each significant against the noise beside it.

Exact changepoints propose more levels than there are; from the least significant on, those whose
means differ no more than long-run noise explains become one. What is too short to be a level, a dip
or a burst or a piece of a ramp, belongs to none.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from heatsoak._core import fpop
from heatsoak.analysis.segments.bins import Bins
from heatsoak.analysis.segments.noise import Noise
from heatsoak.analysis.series import Array

#: Pieces of a ramp are this long at most: changes closer together are one transition.
TRANSITION_S = 4.0
#: A level has settled once it is held so long.
SETTLED_S = 6.0
#: Levels shorter than this are dips or bursts, such as a collection of garbage.
BLIP_S = 2.0
#: And so are those of fewer bins.
_BLIP_BINS = 4
#: A change is worth as many variances of its noise per doubling (by e) of the bins.
PENALTY_FACTOR = 3.0
_MIN_BINS = 2000
#: About as far apart are independent estimates of the noise.
_INDEPENDENT_S = 4.0
#: The mean of so many bins is half as certain as it seems.
_FEW = 4.0
#: Proposals are cheaper than what is kept.
_PROPOSAL_FACTOR = 1.5
#: More proposals than this are noise that no block length shows.
_MAX_PROPOSALS = 20_000


@dataclass(frozen=True)
class Level:
    """Bins `start` to `end` (exclusive) about a mean rate, in the series' unit.

    `error` is the standard error of the mean, as a share of it.
    """

    start: int
    end: int
    value: float
    error: float


def length_s(bins: Bins, level: Level) -> float:
    """Return how long a level is held."""
    return float(bins.end_s[level.end - 1] - bins.begin_s[level.start])


def find_levels(bins: Bins, noise: Noise) -> list[Level]:
    """Return the levels in order; bins between two of them are the transition."""
    # the noise of a short series is known less well
    known = np.sum(bins.measured_s) / _INDEPENDENT_S
    unit = PENALTY_FACTOR * np.log(max(len(bins), _MIN_BINS)) * (1 + 10 / known)
    variance = noise.sigma**2 / bins.width_s
    penalty = _PROPOSAL_FACTOR / PENALTY_FACTOR * unit * variance
    ends = fpop(bins.logs, float(penalty))
    while len(ends) > _MAX_PROPOSALS:
        penalty *= 2
        ends = fpop(bins.logs, float(penalty))
    starts = np.concatenate([[0], ends[:-1]])
    weight = np.ones(len(bins))
    sums = _Sums(bins, noise, weight)
    starts, ends = sums.merged(starts, ends, unit)
    means = sums.means(starts, ends)
    kept = _long_enough(bins, means, starts, ends)
    if not kept.all():
        starts, ends = _with_wandering(bins, means, starts, ends, kept)
        for start, end in zip(ends[:-1], starts[1:], strict=True):
            weight[start:end] = 0
        sums = _Sums(bins, noise, weight)
        starts, ends = sums.merged(starts, ends, unit)
    values = np.concatenate([[0.0], np.cumsum(bins.values * bins.measured_s * weight)])
    measured = np.concatenate([[0.0], np.cumsum(bins.measured_s * weight)])
    rates = (values[ends] - values[starts]) / (measured[ends] - measured[starts])
    errors = np.sqrt(sums.variances(starts, ends))
    return [
        Level(int(start), int(end), float(mean), float(error))
        for start, end, mean, error in zip(starts, ends, rates, errors, strict=True)
    ]


class _Sums:
    """Running sums, so that any stretch has its mean and its noise at once."""

    def __init__(self, bins: Bins, noise: Noise, weight: Array) -> None:
        measured = bins.measured_s * weight
        self._logs = np.concatenate([[0.0], np.cumsum(bins.logs * measured)])
        self._share = np.concatenate([[0.0], np.cumsum(noise.share * measured)])
        self._measured_s = np.concatenate([[0.0], np.cumsum(measured)])
        self._variance = noise.sigma**2

    def means(self, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> Array:
        length_s = self._measured_s[ends] - self._measured_s[starts]
        return np.asarray((self._logs[ends] - self._logs[starts]) / length_s)

    def variances(self, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> Array:
        """The variances of the means; more for few bins, which dips may have lowered together."""
        length_s = self._measured_s[ends] - self._measured_s[starts]
        share = (self._share[ends] - self._share[starts]) / length_s
        return np.asarray(self._variance * share / length_s * (1 + _FEW / (ends - starts)))

    def merged(
        self, starts: NDArray[np.int64], ends: NDArray[np.int64], unit: float
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Join neighbours, the least different first, until all differ by more than `unit`."""
        while len(starts) > 1:
            variance = self.variances(starts, ends)
            steps = np.diff(self.means(starts, ends))
            gain = steps**2 / (variance[1:] + variance[:-1])
            around = np.pad(gain, 1, constant_values=np.inf)
            least = (gain < unit) & (gain <= around[:-2]) & (gain < around[2:])
            if not least.any():
                break
            starts = starts[np.append(True, ~least)]
            ends = ends[np.append(~least, True)]
        return starts, ends


def _long_enough(
    bins: Bins, means: Array, starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Which stretches are levels: not pieces of a ramp, dips or bursts."""
    if len(starts) == 1:
        return np.ones(1, dtype=bool)
    length_s = bins.end_s[ends - 1] - bins.begin_s[starts]
    left, right = np.append(np.nan, means[:-1]), np.append(means[1:], np.nan)
    is_ramp = ((left > means) & (means > right)) | ((left < means) & (means < right))
    # a drive may start slowly; a start that is fast and soon over is worth keeping
    is_slow_start = np.isnan(left) & (means < right)
    blip_s = max(BLIP_S, _BLIP_BINS * bins.width_s)
    shortest_s = np.where(is_ramp | is_slow_start, max(TRANSITION_S, blip_s), blip_s)
    if not is_slow_start[0]:
        shortest_s[0] = max(BLIP_S, 2 * bins.width_s)
    kept = np.asarray(length_s >= shortest_s - 1e-6)
    return kept if kept.any() else np.ones(len(starts), dtype=bool)


def _with_wandering(
    bins: Bins,
    means: Array,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    kept: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The stretches that are kept, and those that wander so that no piece of them is long enough.

    Pieces that all lie below, or all above, the levels on both sides are one.
    """
    blip_s = max(BLIP_S, _BLIP_BINS * bins.width_s)
    known = np.flatnonzero(kept)
    stretches = [(int(starts[at]), int(ends[at])) for at in known]
    for left, right in pairwise(known.tolist()):
        inside = means[left + 1 : right]
        side = np.where(
            inside < min(means[left], means[right]),
            -1,
            np.where(inside > max(means[left], means[right]), 1, 0),
        )
        for begin, end in _runs(side):
            first, last = int(starts[left + 1 + begin]), int(ends[left + end])
            if end - begin > 1 and bins.end_s[last - 1] - bins.begin_s[first] >= blip_s - 1e-6:
                stretches.append((first, last))
    stretches.sort()
    return np.array([a for a, _ in stretches]), np.array([b for _, b in stretches])


def _runs(side: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Where neighbours are on one side: first index and the one behind the last."""
    edges = np.flatnonzero(np.diff(side, prepend=0, append=0)).tolist()
    return [(a, b) for a, b in pairwise(edges) if side[a] != 0]
