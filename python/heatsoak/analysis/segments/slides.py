"""Whether a level is lost in a slide, and since when.

A slide loses its level over a long time for its length: hard disks from the outer to the inner
tracks, fragmentation, slow warming. Least squares draw it as a staircase, whose first step comes
when several percent are lost.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from heatsoak.analysis.definitions import ONSET_LOSS
from heatsoak.analysis.segments.bins import Bins
from heatsoak.analysis.segments.noise import Noise
from heatsoak.analysis.series import Array

#: Of a slide less than this share is lost in its first quarter; half is what a straight line loses
#: in its first half.
MAX_AT_FIRST = 0.4
#: How fast the sudden part may be, in shares of the stretch.
_SUDDEN = (0.0, 0.02, 0.05, 0.1, 0.2)
_MAX_POINTS = 300
_MAX_ONSETS = 60
_MIN_LENGTH_S = 20.0
#: A bent line alone leaves no more error than this many times what it leaves with a sudden part.
_AS_GOOD = 1.3
#: A later onset than the stretch's begin must take this many variances of the noise off the error.
_CLEARLY = 4.0
_SURELY = 20.0
#: What a slide with a fall takes of a stretch's freedom: onset, level, slope, bend and fall.
_TAKEN = 5
#: So early a bend, as a share of the stretch, may be the begin's own.
_EARLY = 0.15


@dataclass(frozen=True)
class LevelSlide:
    """How a level slides.

    Attributes:
        onset_s: about when `ONSET_LOSS` of the level is lost.
        start: the level before.
        from_begin: whether it slides from the stretch's begin.
    """

    onset_s: float
    start: float
    from_begin: bool


def find_slide(
    bins: Bins, noise: Noise, begin: int, fall: int, end: int, seconds: Iterable[int] = ()
) -> LevelSlide | None:
    """Return how throughput slides in the bins `begin` to `end`; None where it falls otherwise.

    `fall` is where the first change was found; at `seconds` another fall may be, which a slide has
    not.

    A level, then a bent line down from the onset, is fitted with an exponential approach of several
    time constants beside it, for each of many onsets. It is a slide where the best of them loses
    less than `MAX_AT_FIRST` in the first quarter after its onset, and the line alone fits as well:
    what falls fast and then creeps, as under a governor, is a step.
    """
    t_s, values = _coarse(bins, begin, end)
    if len(t_s) < 12 or bins.end_s[end - 1] - bins.begin_s[begin] < _MIN_LENGTH_S:
        return None
    span_s = float(t_s[-1] - t_s[0])
    onsets = t_s[: max(1, int(0.8 * len(t_s))) : max(1, len(t_s) // _MAX_ONSETS)]
    fall_s = bins.begin_s[fall] + bins.width_s * np.arange(-2, 5)
    onsets = np.concatenate([[bins.begin_s[begin]], onsets[1:], fall_s])
    x = np.maximum(t_s - onsets[:, None], 0) / span_s
    least = np.inf
    at_first = 1.0
    for share in _SUDDEN:
        sudden = -np.expm1(-x / share) if share else (x > 0).astype(float)
        error, fitted, level = _fits(values, np.stack([sudden, x, x**2], axis=2))
        index = int(np.argmin(error))
        if error[index] >= least:
            continue
        least = float(error[index])
        lost = level[index] - fitted[index]
        quarter = int(np.searchsorted(x[index], 0.25 * x[index, -1]))
        at_first = float(lost[quarter] / lost[-1]) if lost[-1] > 0 else 1.0
    if at_first > MAX_AT_FIRST:
        return None
    error, fitted, level = _fits(values, np.stack([x, x**2], axis=2))
    index = int(np.argmin(error))
    variance = (noise.sigma * level[index]) ** 2 * (len(t_s) / span_s)
    if error[index] > _AS_GOOD * least + _SURELY * variance:
        return None
    for at in seconds:
        later = np.where(t_s > bins.end_s[at - 1], 1.0, 0.0)
        columns = np.stack([later, x[index], x[index] ** 2], axis=1)[None]
        with_fall, _, _ = _fits(values, columns)
        # what no smooth course explains scatters more than noise does
        scatter = max(variance, float(with_fall[0]) / (len(t_s) - _TAKEN))
        if error[index] - with_fall[0] > _SURELY * scatter:
            return None
    if error[0] <= error[index] + _CLEARLY * variance:
        return LevelSlide(_lost_s(t_s, fitted[0], level[0]), float(level[0]), True)
    if onsets[index] - onsets[0] < _EARLY * span_s:
        # it may bend more than a parabola does
        whole, whole_fitted, whole_level = _fits(values, np.stack([x, x**2, x**3], axis=2)[:1])
        if whole[0] <= error[index] + _SURELY * variance:
            begin_level = float(whole_level[0])
            return LevelSlide(_lost_s(t_s, whole_fitted[0], begin_level), begin_level, True)
    return LevelSlide(_lost_s(t_s, fitted[index], level[index]), float(level[index]), False)


def _lost_s(t_s: Array, fitted: Array, level: float) -> float:
    """When a fitted course has lost `ONSET_LOSS` of its level."""
    lost = np.maximum.accumulate(1 - fitted / level)
    return float(np.interp(ONSET_LOSS, lost, t_s))


def _coarse(bins: Bins, begin: int, end: int) -> tuple[Array, Array]:
    size = max(1, -(-(end - begin) // _MAX_POINTS))
    first = np.arange(begin, end, size)
    stop = np.append(first[1:], end)
    sums = np.concatenate([[0.0], np.cumsum(bins.values[begin:end])])
    means = (sums[stop - begin] - sums[first - begin]) / (stop - first)
    return 0.5 * (bins.begin_s[first] + bins.end_s[stop - 1]), means


def _fits(values: Array, columns: Array) -> tuple[Array, Array, Array]:
    """Least squares of a level and `columns` (onset, time, column), for each onset.

    Returns the squared errors, the fitted values, and the level.
    """
    ones = np.ones((*columns.shape[:2], 1))
    basis = np.concatenate([ones, columns], axis=2)
    gram = basis.transpose(0, 2, 1) @ basis
    gram += 1e-9 * len(values) * np.eye(gram.shape[1])
    product = basis.transpose(0, 2, 1) @ values
    found = np.linalg.solve(gram, product[..., None])
    fitted = (basis @ found)[..., 0]
    return np.sum((values - fitted) ** 2, axis=1), fitted, found[:, 0, 0]
