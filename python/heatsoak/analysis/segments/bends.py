"""Whether throughput bends down at the end of a level, or goes on as it went before.

A governor that approaches its level, or a slide, is drawn as a staircase. What tells a fall of its
own from their stairs is its bend: throughput is lost faster after it than before.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heatsoak.analysis.segments.bins import Bins
from heatsoak.analysis.segments.levels import SETTLED_S, Level, length_s
from heatsoak.analysis.segments.noise import Noise
from heatsoak.analysis.series import Array

#: At least this part of the loss comes with the fall, not within the levels beside it.
_SUDDEN = 0.5
#: So many variances of the noise must a step take off the error of a bent line, and a slow fall,
#: which may begin anywhere about, off that of any smooth course.
_CLEARLY, _SURELY = 12.0, 20.0
#: A smooth course leaves so many times the error of a slow fall: what fits neither shows none.
_AS_GOOD = 1.2
#: The course beside a step is taken over this long, or as long as its noise needs, in so many
#: variances of it: a bent line takes all but a sixteenth of a short step.
_BESIDE_S = 60.0
_NEEDED = 200.0
#: Fewer bins than this about a fall tell no bend from a step, or on one side no slow fall.
_FEWEST_BINS = 5
_FEWEST_BEFORE = 20
_BESIDE_BINS = 24
#: Time constants of slow falls and of the end of an earlier one, and where a fall may begin from
#: the level's end, in shares of the time before it that is looked at.
_FALLS = np.array([0.06, 0.12, 0.25, 0.5])
_APPROACHES = np.array([0.1, 0.2, 0.4, 0.8])
_BEGINS = np.linspace(-0.3, 0.15, 10)
#: How a level wanders is seen in means over eighths of its end.
_WANDER_S, _PARTS = 240.0, 8
#: Noise alone makes more of it, in its variances, once in twenty times (chi-squared, 5 degrees).
_BY_CHANCE = 11.07 / 5
#: A step is so many times what the level before it wanders, and a slow fall, of which any wave has
#: some, so many times what all did since the last fall.
_BEYOND_WANDER, _FAR_BEYOND = 5.0, 20.0

_Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Bend:
    """A fall of its own: what it loses, in logarithms, and whether it takes long for that."""

    lost: float
    is_slow: bool


def find_bend(bins: Bins, noise: Noise, state: list[Level], run: list[Level]) -> Bend | None:
    """Return the fall where the levels `state` end; None where throughput goes on as before.

    `run` are the levels that throughput goes down by, the first of them the next after `state`.
    """
    before = state[-1]
    left, right = _indices([before]), _indices(run)
    variance = noise.sigma**2 / bins.width_s
    first = np.log(max(before.value, 1e-9) / max(run[0].value, 1e-9))
    size = max(2, round(_BESIDE_S / bins.width_s), int(_NEEDED * variance / first**2))
    near = _Course(bins, left[-size:], right[right < min(run[0].end, run[0].start + size)])
    if near.count < _FEWEST_BINS:
        return Bend(near.lost, is_slow=False)
    error, taken = near.fit(np.vstack([near.is_after, near.x**2, near.approaches()]))
    by_smooth, by_step, lost = float(error[1:].min()), float(error[0]), float(taken[0])
    if by_smooth - by_step > _CLEARLY * variance and lost > _SUDDEN * near.lost:
        is_beyond = lost >= _BEYOND_WANDER * _wander(bins, variance, left)
        return Bend(lost, is_slow=False) if is_beyond else None
    return _find_slow(bins, variance, _indices(_settled(bins, state)), right)


def _settled(bins: Bins, state: list[Level]) -> list[Level]:
    """The levels of a state without the brief ones that it began with."""
    settled = (at for at, level in enumerate(state) if length_s(bins, level) >= SETTLED_S)
    return state[next(settled, 0) :]


def _find_slow(bins: Bins, variance: float, left: _Indices, right: _Indices) -> Bend | None:
    """A fall of no more than the time that is looked at before it."""
    wander = _wander(bins, variance, left)
    size = min(max(_BESIDE_BINS, round(_BESIDE_S / bins.width_s)), len(left))
    while size >= _FEWEST_BEFORE:
        near = _Course(bins, left[-size:], right[right < right[0] + 2 * size])
        by_smooth = float(near.fit(np.vstack([near.x**2, near.approaches()]))[0].min())
        ages = np.maximum(near.x - _BEGINS[near.x[-2] > _BEGINS, None, None], 0.0)
        error, taken = near.fit(-np.expm1(-ages / _FALLS[:, None]).reshape(-1, near.count))
        best = int(np.argmin(error))
        by_fall, lost = float(error[best]), float(taken[best])
        is_clear = by_smooth > _AS_GOOD * by_fall and by_smooth - by_fall > _SURELY * variance
        # a longer look may show more of the fall
        if is_clear and lost > max(_SUDDEN * near.lost, _FAR_BEYOND * wander):
            return Bend(lost, is_slow=True)
        if size == len(left):
            break
        size = min(2 * size, len(left))
    return None


def _wander(bins: Bins, variance: float, at: _Indices) -> float:
    """How far the end of some bins wanders about a bent line, beyond the noise, in logarithms."""
    logs = bins.logs[at[-round(_WANDER_S / bins.width_s) :]]
    length = len(logs) // _PARTS
    if length == 0:
        return 0.0
    x = np.linspace(-1, 1, len(logs))
    rest = logs - np.polynomial.Polynomial.fit(x, logs, 2)(x)
    means = rest[len(logs) % _PARTS :].reshape(_PARTS, length).mean(axis=1)
    by_noise = variance / length
    free = _PARTS - 3  # a bent line takes three
    seen = float(np.sum(means**2)) / free
    return float(np.sqrt(seen - by_noise)) if seen > _BY_CHANCE * by_noise else 0.0


class _Course:
    """Bins before and after a fall; `x` is the time from it in lengths of what is before."""

    def __init__(self, bins: Bins, left: _Indices, right: _Indices) -> None:
        at = np.concatenate([left, right])
        self.count = len(at)
        self.is_after = (at >= right[0]).astype(float)
        self.x = (at + 0.5 - right[0]) / len(left)
        self.lost = float(np.mean(bins.logs[left]) - np.mean(bins.logs[right]))
        line, _ = np.linalg.qr(np.stack([np.ones(self.count), self.x], axis=1))
        self._line = line
        self._rest = bins.logs[at] - line @ (line.T @ bins.logs[at])

    def approaches(self) -> Array:
        """The ends of falls that began where the course does, by their time constants."""
        return np.asarray(np.exp((self.x[0] - self.x) / _APPROACHES[:, None]))

    def fit(self, columns: Array) -> tuple[Array, Array]:
        """Fit a line and each of `columns` (column, bin), by least squares.

        Returns the squared errors, and what the columns take by their ends.
        """
        rest = columns - (columns @ self._line) @ self._line.T
        products, squares = rest @ self._rest, np.sum(rest**2, axis=1)
        found = products / np.maximum(squares, 1e-12)
        return float(self._rest @ self._rest) - found * products, -found * columns[:, -1]


def _indices(levels: list[Level]) -> _Indices:
    return np.concatenate([np.arange(level.start, level.end) for level in levels])
