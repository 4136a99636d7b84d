"""When a fall begins, by generalised least squares.

What is sought is a bend in a series with autocorrelated noise. Whitened by that correlation, a fall
that hides in the wander of the level stands out, since neighbouring samples share the wander.
After the onset comes one of a family of shapes: a step, a ramp, or the exponential approach of a
controller, each with a slope beside it, straight or bent. Their probabilities are added up for each
onset, and the median of what comes out is the onset with the least expected error.

On even steps every inner product that this needs is a correlation over all onsets at once.
"""

import numpy as np
from numpy.typing import NDArray

from heatsoak.analysis.series import MAD_TO_SIGMA, Array, Series, resampled

#: What is fitted on either side of the candidates, and in how many steps at least.
_BEFORE_S, _LEAST_BEFORE = 30.0, 20
_AFTER_S, _LEAST_AFTER = 10.0, 8
#: At most as many steps are fitted.
_MOST_STEPS = 600
#: Fewer rows than this fit nothing.
_LEAST_ROWS = 6
#: Fewer samples than this before a fall say nothing of the noise's correlation.
_FEWEST = 20
_RAMPS_S = (0.5, 1.0, 2.0, 3.0, 4.0)
_APPROACHES_S = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
#: How long each shape falls, straight and bent: the longer, the less likely beforehand, since a
#: long fall fits noise at many onsets.
_FALLS_S = np.tile([0.0, *_RAMPS_S, *(2.3 * constant_s for constant_s in _APPROACHES_S)], 2)
#: No measurement is better than this share of the level.
_LEAST_NOISE = 3e-4
#: A dip is shorter than this, and two samples at most where that is longer.
_DIP_S = 0.5
#: A dip is farther than this from what is beside it, in standard deviations.
_OUTLIER = 4.0
#: Between samples onsets are tried so far apart, but no more than so many of them.
_APART_S = 0.25
_MOST_PHASES = 8


def fit_onset(
    series: Series,
    begin_s: float,
    low_s: float,
    high_s: float,
    end_s: float,
    low_for_s: float = np.inf,
) -> float:
    """Return when throughput leaves its level between `low_s` and `high_s`.

    `begin_s` is since when the level before is held, `end_s` where what follows the fall ends.
    What is low for less than `_DIP_S` is an outlier, unless throughput is low for only
    `low_for_s`. `high_s` where too little was measured.
    """
    sampling_s = series.sampling_s
    first_s = max(begin_s, low_s - max(_BEFORE_S, _LEAST_BEFORE * sampling_s))
    last_s = min(end_s, high_s + max(_AFTER_S, _LEAST_AFTER * sampling_s))
    # steps begin where samples do
    at = int(np.searchsorted(series.t_s, first_s + 1e-6))
    if at >= len(series.t_s):
        return high_s
    first_s = max(first_s, float(series.t_s[at] - series.interval_s[at]))
    step_s = sampling_s * max(1, -(-round((last_s - first_s) / sampling_s) // _MOST_STEPS))
    values = resampled(series, first_s, last_s, step_s)
    known = np.isfinite(values)
    if known.sum() < _LEAST_ROWS:
        return high_s
    values = np.where(known, values, 0.0)
    half_width = min(max(2, round(_DIP_S / step_s)), max(low_for_s / step_s, 1) - 1)
    known &= ~_outliers(values, known, int(half_width))
    low, high = (low_s - first_s) / step_s, (high_s - first_s) / step_s
    if known.sum() < _LEAST_ROWS:
        return high_s
    correlation = _correlation(values, known, int(low))
    phases = min(_MOST_PHASES, max(1, round(step_s / _APART_S)))
    errors = _errors(values, known, correlation, step_s, phases)
    at_steps = np.arange(errors.shape[1]) / phases
    within = (at_steps >= low - 1e-6) & (at_steps <= high + 1e-6)
    if not within.any():
        return high_s
    logs = -0.5 * (known.sum() - 4) * np.log(errors[:, within]) - np.log1p(_FALLS_S)[:, None]
    likely = np.exp(logs - logs.max()).sum(axis=0)
    middle = int(np.searchsorted(np.cumsum(likely), 0.5 * likely.sum()))
    return first_s + float(at_steps[within][middle]) * step_s


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


def _errors(
    values: Array, known: NDArray[np.bool_], correlation: float, step_s: float, phases: int
) -> Array:
    """The least squared error of each shape (first axis) for each onset, `phases` to a step."""
    used = known.copy()
    used[1:] &= known[:-1]
    used[0] = False
    if used.sum() < _LEAST_ROWS:
        # hardly any have a neighbour
        correlation, used = 0.0, known
    level = 1 - correlation
    centre = float(np.median(values[known]))
    y = np.where(known, values - centre, 0.0)
    y[1:] -= correlation * y[:-1].copy()
    y = np.where(used, y, 0.0)
    count = float(used.sum())
    y_level = float(y.sum()) / count
    left = float(y @ y) - count * y_level**2

    ages = np.arange(len(values) + 1) * step_s
    late = np.arange(phases) / phases * step_s
    # the value a step has when it ends so long after the onset, for onsets between steps
    begin = np.maximum(ages[:-1] - late[:, None], 0.0)
    end = np.maximum(ages[1:] - late[:, None], 0.0)
    shapes = _shapes(begin, end) / step_s
    shapes[..., 1:] -= correlation * shapes[..., :-1].copy()

    size = 1 << (2 * len(values) - 1).bit_length()

    def along(rows: Array, by: Array) -> Array:
        """The products of rows with shapes that begin at each step."""
        spectrum = np.fft.rfft(rows, size) * np.conj(np.fft.rfft(by, size))
        return np.asarray(np.fft.irfft(spectrum, size)[..., : len(values)])

    row = used.astype(float)
    by_y = along(y, shapes)
    sums = along(row, shapes)
    by_y -= sums * y_level
    squares = along(row, shapes**2) - sums**2 / count
    by_slope = along(row, shapes * shapes[-2]) - sums * sums[-2] / count
    by_bend = along(row, shapes * shapes[-1]) - sums * sums[-1] / count
    least = count * (_LEAST_NOISE * level * np.max(np.abs(values[known]))) ** 2 + 1e-300

    def error_beside(slope: Array, bend: Array, both: Array | float) -> Array:
        """What each shape leaves beside slope and bend, by the inverse of their products."""
        along_slope = by_slope * slope + by_bend * both
        along_bend = by_slope * both + by_bend * bend
        square = squares - along_slope * by_slope - along_bend * by_bend
        product = by_y - along_slope * by_y[-2] - along_bend * by_y[-1]
        beside = by_y[-2] ** 2 * slope + by_y[-1] ** 2 * bend + 2 * by_y[-2] * by_y[-1] * both
        # a shape may only take away
        takes = (product < 0) & (square > 1e-6 * np.maximum(squares, 1e-12))
        gain = np.where(takes, product**2 / np.where(takes, square, 1.0), 0.0)
        return np.asarray(np.maximum(left - beside - gain[:-2], 0.0) + least)

    slope, bend, both = squares[-2], squares[-1], by_bend[-2]
    slope = slope + 1e-9 * np.max(np.abs(slope)) + 1e-30
    bend = bend + 1e-6 * np.max(np.abs(bend)) + 1e-30
    scale = np.maximum(slope * bend - both**2, 1e-9 * slope * bend)
    straight = error_beside(1 / slope, np.zeros_like(bend), 0.0)
    bent = error_beside(bend / scale, slope / scale, -both / scale)
    # one parameter more, by the Bayesian information criterion
    error = np.concatenate([straight, bent * count ** (1 / count)])
    # onsets rise with the step first and then the phase
    return np.asarray(error.transpose(0, 2, 1).reshape(len(error), -1))


def _shapes(begin: Array, end: Array) -> Array:
    """Integrals from `begin` to `end` after the onset: step, ramps, approaches; slope, bend."""
    length = end - begin
    shapes = [length]
    for ramp_s in _RAMPS_S:
        shapes.append(_ramp_area(end, ramp_s) - _ramp_area(begin, ramp_s))
    for constant_s in _APPROACHES_S:
        gone = np.exp(-begin / constant_s) - np.exp(-end / constant_s)
        shapes.append(length - constant_s * gone)
    shapes.append((end**2 - begin**2) / (2 * _AFTER_S))
    shapes.append((end**3 - begin**3) / (3 * _AFTER_S**2))
    return np.stack(shapes)


def _ramp_area(x: Array, length_s: float) -> Array:
    inside = np.minimum(x, length_s)
    return np.asarray(inside**2 / (2 * length_s) + x - inside)
