"""When a fall begins: where 2 % of the level is lost.

What is sought is a bend in a series with autocorrelated noise. After it comes one of a family of
shapes: a step, a ramp, or the approach of a controller, each alone or with a slope beside it,
straight or bent. Their probabilities are added up over all bends, each counted where it has lost
`ONSET_LOSS`, and the median of what comes out is the onset with the least expected error.

A quick fall is told by what is next to it. A slow one is hidden by the noise there, and takes its
onset from the whole of its course.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heatsoak.analysis.definitions import ONSET_LOSS
from heatsoak.analysis.segments.gls import MIN_ROWS, Bends, fit_bends
from heatsoak.analysis.segments.shapes import ShapeFamily, quick_falls, slow_falls
from heatsoak.analysis.series import MAD_TO_SIGMA, Array, Series, resampled

#: What is fitted on either side of the candidates, and in how many steps at least.
_BEFORE_S, _MIN_BEFORE = 30.0, 20
_AFTER_S, _MIN_AFTER = 10.0, 8
#: At most as many steps are fitted.
_MAX_STEPS = 600
#: Fewer samples than this before a fall say nothing of the noise's correlation.
_FEWEST = 20
#: Of a slow fall so much more than its length is fitted, before it and in all after its begin.
_SLOW_BEFORE, _SLOW_AFTER = 1.0, 1.2
#: Its bend is so near to where a quick look saw it, in shares of its length.
_SLOW_NEAR, _SLOW_NEAR_S = 0.5, 8.0
#: It may be there from the begin, as a disk's is: that is this share as likely as a later bend.
_FROM_BEGIN = 0.5
#: A dip is shorter than this, and two samples at most where that is longer.
_DIP_S = 0.5
#: A dip is farther than this from what is beside it, in standard deviations.
_OUTLIER = 4.0
#: Between samples onsets are tried at so many places at most.
_MAX_PHASES = 8
#: Bends with less than this share of the best one's probability do not count.
_UNLIKELY = 1e-3
_AGES = 60


@dataclass(frozen=True)
class Onset:
    """Where the level is left, where it bends, and how far apart the likely onsets are (80 %)."""

    onset_s: float
    bend_s: float
    spread_s: float


def fit_onset(
    series: Series,
    begin_s: float,
    low_s: float,
    high_s: float,
    end_s: float,
    low_for_s: float = np.inf,
) -> Onset:
    """Return when throughput leaves its level by a bend between `low_s` and `high_s`.

    `begin_s` is since when the level before is held, `end_s` where what follows the fall ends.
    What is low for less than `_DIP_S` is an outlier, unless throughput is low for only
    `low_for_s`. `high_s` where too little was measured.
    """
    sampling_s = series.sampling_s
    first_s = max(begin_s, low_s - max(_BEFORE_S, _MIN_BEFORE * sampling_s))
    last_s = min(end_s, high_s + max(_AFTER_S, _MIN_AFTER * sampling_s))
    grid = _grid_of(series, first_s, last_s, low_for_s)
    if grid is None:
        return Onset(high_s, high_s, 0.0)
    family = quick_falls()
    # the longer a shape falls, the less likely beforehand, since a long fall fits noise anywhere
    falls_s = [0.0, *family.ramps_s, *(2.3 * constant_s for constant_s, _ in family.approaches)]
    found = _median(grid, family, (1, 2), low_s, high_s, np.log1p(falls_s))
    return found or Onset(high_s, high_s, 0.0)


def fit_slow_onset(
    series: Series, begin_s: float, near_s: float, fall_s: float, end_s: float
) -> Onset | None:
    """Return when throughput leaves its level by a fall that takes about `fall_s`.

    The bend is somewhere near `near_s`. None where too little was measured.
    """
    first_s = max(begin_s, near_s - max(_BEFORE_S, (_SLOW_BEFORE + _SLOW_NEAR) * fall_s))
    last_s = min(end_s, near_s + _SLOW_AFTER * fall_s)
    low_s = max(first_s, near_s - max(_SLOW_NEAR_S, _SLOW_NEAR * fall_s))
    high_s = min(last_s, near_s + _SLOW_NEAR * fall_s)
    grid = _grid_of(series, first_s, last_s, np.inf)
    if grid is None or high_s <= low_s:
        return None
    family = slow_falls(fall_s)
    from_begin = _FROM_BEGIN if low_s <= begin_s else 0.0
    hard = np.zeros(1 + len(family.approaches))
    return _median(grid, family, (0, 1), low_s, high_s, hard, from_begin)


@dataclass(frozen=True)
class _Grid:
    """Even steps from `first_s` on; those that are `known`, and whether dips are short there."""

    first_s: float
    step_s: float
    values: Array
    known: NDArray[np.bool_]


def _grid_of(series: Series, first_s: float, last_s: float, low_for_s: float) -> _Grid | None:
    sampling_s = series.sampling_s
    # steps begin where samples do
    at = int(np.searchsorted(series.t_s, first_s + 1e-6))
    if at >= len(series.t_s):
        return None
    first_s = max(first_s, float(series.t_s[at] - series.interval_s[at]))
    step_s = sampling_s * max(1, -(-round((last_s - first_s) / sampling_s) // _MAX_STEPS))
    values = resampled(series, first_s, last_s, step_s)
    known = np.isfinite(values)
    if known.sum() < MIN_ROWS:
        return None
    values = np.where(known, values, 0.0)
    half_width = min(max(2, round(_DIP_S / step_s)), max(low_for_s / step_s, 1) - 1)
    known &= ~_outliers(values, known, int(half_width))
    return _Grid(first_s, step_s, values, known) if known.sum() >= MIN_ROWS else None


def _median(
    grid: _Grid,
    family: ShapeFamily,
    beside: tuple[int, ...],
    low_s: float,
    high_s: float,
    hard: Array,
    from_begin: float = 0.0,
) -> Onset | None:
    """The median of all onsets by their probability.

    `hard` is how much less likely each shape is beforehand, by its logarithm; `from_begin` how
    likely the first bend is, as a share of all others together, where it is more than one of them.
    """
    low, high = (low_s - grid.first_s) / grid.step_s, (high_s - grid.first_s) / grid.step_s
    correlation = _correlation(grid.values, grid.known, int(low))
    phases = min(_MAX_PHASES, max(1, round(grid.step_s / family.apart_s)))
    ages_s = np.arange(len(grid.values) + 1) * grid.step_s
    late_s = np.arange(phases) / phases * grid.step_s
    # the value a step has when it ends so long after the onset, for onsets between steps
    begin_s = np.maximum(ages_s[:-1] - late_s[:, None], 0.0)
    end_s = np.maximum(ages_s[1:] - late_s[:, None], 0.0)
    shapes = family.means(begin_s, end_s) / grid.step_s
    bends = fit_bends(grid.values, grid.known, correlation, shapes, beside)
    at = np.arange(bends.errors.shape[1]) / phases
    within = np.flatnonzero((at >= low - 1e-6) & (at <= high + 1e-6))
    if len(within) == 0:
        return None
    logs = -0.5 * (grid.known.sum() - 4) * np.log(bends.errors[:, within])
    logs -= np.tile(hard, len(beside))[:, None]
    if from_begin:
        logs[:, 0] += np.log(max(1.0, from_begin * len(within)))
    likely = np.exp(logs - logs.max())
    by_bend = likely.sum(axis=0)
    middle = int(np.searchsorted(np.cumsum(by_bend), 0.5 * by_bend.sum()))
    shape, index = np.nonzero(likely > _UNLIKELY)
    lost_s = _lost_s(bends, family, shape, within[index], ages_s[-1])
    onsets_s = grid.first_s + at[within[index]] * grid.step_s + lost_s
    order = np.argsort(onsets_s)
    sums = np.cumsum(likely[shape, index][order])
    early, half, late = onsets_s[order][np.searchsorted(sums, np.array([0.1, 0.5, 0.9]) * sums[-1])]
    bend_s = grid.first_s + float(at[within][middle]) * grid.step_s
    return Onset(float(half), bend_s, float(late - early))


def _lost_s(
    bends: Bends,
    family: ShapeFamily,
    shape: NDArray[np.intp],
    index: NDArray[np.intp],
    longest_s: float,
) -> Array:
    """How long some bends take from their begin until `ONSET_LOSS` of the level is lost."""
    ages_s = np.concatenate([[0.0], np.geomspace(1e-3, 1.0, _AGES) * longest_s])
    by_age = family.at(ages_s)
    parts = bends.parts[shape, index]
    lost = parts[:, :1] * by_age[shape % (len(by_age) - 2)] + parts[:, 1:] @ by_age[-2:]
    # a level of next to nothing is lost at once
    least = 1e-6 * np.max(np.abs(parts), axis=1) + 1e-300
    lost = -lost / np.maximum(bends.levels[shape, index], least)[:, None]
    after = np.argmax(lost >= ONSET_LOSS, axis=1)
    rows = np.arange(len(lost))
    before = np.maximum(after - 1, 0)
    rise = lost[rows, after] - lost[rows, before]
    part = np.divide(ONSET_LOSS - lost[rows, before], rise, out=np.zeros(len(lost)), where=rise > 0)
    found = ages_s[before] + part * (ages_s[after] - ages_s[before])
    # what never loses so much is no fall that could be found
    return np.where(lost[rows, after] >= ONSET_LOSS, found, 0.0)


def _outliers(values: Array, known: NDArray[np.bool_], half_width: int) -> NDArray[np.bool_]:
    """Which values lie beyond what is before them and what is after them, on the same side.

    A piece of a fall lies between the two.
    """
    size = max(3, 2 * half_width - 1)
    if half_width < 1 or len(values) < 2 * size:
        return np.zeros(len(values), dtype=bool)
    padded = np.pad(values, size, mode="reflect")
    medians = np.median(np.lib.stride_tricks.sliding_window_view(padded, size), axis=1)
    by_before, by_after = values - medians[: len(values)], values - medians[size + 1 :]
    beyond = np.where(
        by_before * by_after > 0, np.minimum(np.abs(by_before), np.abs(by_after)), 0.0
    )
    spread = MAD_TO_SIGMA * float(np.median(np.abs(by_before[known])))
    return np.asarray(beyond > _OUTLIER * spread + 1e-6 * np.abs(values))


def _correlation(values: Array, known: NDArray[np.bool_], count: int) -> float:
    """The correlation of neighbours in the first `count` values, without small samples' bias."""
    known = known[:count]
    if known.sum() < _FEWEST:
        return 0.0
    rest = values[:count] - np.mean(values[:count][known])
    square = float(np.mean(rest[known] ** 2))
    both = known[1:] & known[:-1]
    if square <= 0 or both.sum() < _FEWEST / 2:
        return 0.0
    found = float(np.mean((rest[1:] * rest[:-1])[both])) / square
    return float(np.clip(found + (1 + 3 * found) / count, 0.0, 0.98))
