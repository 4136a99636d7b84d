"""When a fall begins: where 2 % of the level is lost.

After a level comes one of several shapes: ramps and exponential approaches of any length, each
alone or with a slope after it. Their probabilities are added up over all begins, each counted where
it has lost `ONSET_LOSS`; the median is the onset with the least expected error. It is looked at
from afar first, and then from as near as the likely begins lie together.
"""

import numpy as np

from heatsoak._core import hampel
from heatsoak.analysis.definitions import ONSET_LOSS
from heatsoak.analysis.falls.curve import Bins, Noise
from heatsoak.analysis.series import Array, Series, resampled

#: So many steps are looked at, and so many begins are tried in them.
_STEPS, _BEGINS = 160, 40
#: Shapes last for powers of two of a step, up to this one; the first is a sudden fall.
_LENGTHS = 8
#: The begin lies within the likely ones but for this part on either side.
_TAIL = 0.005
_AGES = np.concatenate([[0.0], np.geomspace(1e-3, 1.0, 50)])


def onset_of(
    series: Series, bins: Bins, noise: Noise, around_s: tuple[float, float, float, float]
) -> tuple[float, float]:
    """Return when a level is left, and when the fall begins that leaves it.

    `around_s` are since when the level is held, between which times it is left, and where what
    follows the fall ends.
    """
    since_s, low_s, high_s, end_s = around_s
    step_s = np.inf
    while True:
        if step_s > 1.01 * series.sampling_s:
            room_s = max(high_s - low_s, 8 * series.sampling_s)
            window_s = max(since_s, low_s - room_s), min(end_s, high_s + room_s)
            step_s = max(series.sampling_s, (window_s[1] - window_s[0]) / _STEPS)
        found = _onsets(series, bins, noise, window_s, step_s, (low_s, high_s))
        if found is None:
            return (float(np.clip(high_s, since_s, end_s)),) * 2
        onset_s, (early_s, begin_s, late_s) = found
        apart_s = 2 * (high_s - low_s) / _BEGINS
        near = max(since_s, early_s - apart_s), min(end_s, late_s + apart_s)
        if near[1] - near[0] > 0.5 * (high_s - low_s) or high_s - low_s < step_s:
            return min(onset_s, end_s), min(begin_s, onset_s)
        low_s, high_s = near


def _onsets(
    series: Series,
    bins: Bins,
    noise: Noise,
    window_s: tuple[float, float],
    step_s: float,
    between_s: tuple[float, float],
) -> tuple[float, list[float]] | None:
    """The middle of the likely onsets; the earliest likely begin, the middle and the latest.

    None where too little was measured.
    """
    first_s, last_s = window_s
    values = resampled(series, first_s, last_s, step_s)
    known = np.isfinite(values)
    if known.sum() < 6:
        return None
    values = np.interp(np.arange(len(values)), np.flatnonzero(known), values[known])
    if step_s < bins.width_s:
        values = hampel(np.ascontiguousarray(values), max(1, round(bins.width_s / step_s)))
    y = values / bins.usual
    t_s = first_s + step_s * np.arange(len(y) + 1)
    begins_s = np.linspace(max(between_s[0], first_s), min(between_s[1], last_s - step_s), _BEGINS)
    lengths_s = np.concatenate([[0.0], step_s * 2.0 ** np.arange(_LENGTHS)])
    # means over a step of what is lost so long after a begin, ramps first, approaches, the slope
    age_s = np.maximum(t_s - begins_s[:, None], 0.0)
    areas = [_ramp_area(age_s, length_s) for length_s in lengths_s]
    areas += [age_s + length_s * np.expm1(-age_s / length_s) for length_s in lengths_s[1:]]
    areas.append(age_s**2 / (2 * step_s * len(y)))
    shapes = np.diff(np.stack(areas, axis=1), axis=2) / step_s
    correlation = noise.correlation ** (step_s / bins.width_s)
    ones = np.ones(len(y))
    for row in (y, ones, shapes):
        row[..., 1:] -= correlation * row[..., :-1].copy()
        row[..., 0] *= np.sqrt(1 - correlation**2)
    size = ones @ ones
    sums, mean = shapes @ ones / size, float(y @ ones / size)
    shapes -= sums[..., None] * ones
    logs, falls = _fits(shapes, y - mean * ones, known)
    likely = np.exp(logs - logs.max())
    begin, shape, slope = np.nonzero(likely > 1e-3)
    parts = falls[begin, shape, slope]
    levels = mean - parts[:, 0] * sums[begin, shape] - parts[:, 1] * sums[begin, -1]
    ages_s = _AGES * (last_s - first_s)
    lost = -parts[:, :1] * _shape(ages_s, lengths_s)[shape]
    lost -= parts[:, 1:] * ages_s / (step_s * len(y))
    least = ONSET_LOSS * np.maximum(levels, 1e-9)
    reached = lost >= least[:, None]
    at = np.where(reached.any(axis=1), np.argmax(reached, axis=1), len(ages_s) - 1)
    rows, before = np.arange(len(at)), np.maximum(at - 1, 0)
    rise = lost[rows, at] - lost[rows, before]
    part = np.clip((least - lost[rows, before]) / np.where(rise > 0, rise, np.inf), 0, 1)
    onsets_s = begins_s[begin] + ages_s[before] + part * (ages_s[at] - ages_s[before])
    order = np.argsort(onsets_s)
    total = np.cumsum(likely[begin, shape, slope][order])
    onset_s = onsets_s[order][int(np.searchsorted(total, 0.5 * total[-1]))]
    total = np.cumsum(likely.sum(axis=(1, 2)))
    marks = np.searchsorted(total, np.array([_TAIL, 0.5, 1 - _TAIL]) * total[-1])
    return float(onset_s), begins_s[np.minimum(marks, len(begins_s) - 1)].tolist()


def _fits(shapes: Array, rest: Array, known: Array) -> tuple[Array, Array]:
    """The log-probability of each begin, shape, and with the slope or without, and its parts."""
    slope, shapes = shapes[:, -1], shapes[:, :-1]
    squares, by_rest = np.sum(shapes**2, axis=2), shapes @ rest
    own, by_slope = np.sum(slope**2, axis=1)[:, None] + 1e-12, (slope @ rest)[:, None]
    across = np.einsum("bsn,bn->bs", shapes, slope)
    alone = np.minimum(by_rest / (squares + 1e-12), 0.0)
    left = squares - across**2 / own
    both = np.minimum((by_rest - across * by_slope / own) / (left + 1e-12), 0.0)
    both = np.where(left > 1e-6 * squares, both, 0.0)
    slopes = (by_slope - across * both) / own
    total = float(rest @ rest)
    count = float(known.sum())
    errors = np.stack(
        [
            total - 2 * alone * by_rest + alone**2 * squares,
            total
            - 2 * (both * by_rest + slopes * by_slope)
            + both**2 * squares
            + slopes**2 * own
            + 2 * both * slopes * across,
        ],
        axis=2,
    )
    least = 1e-6 * total + 1e-12
    logs = -0.5 * count * np.log(np.maximum(errors, 0.0) + least)
    logs[..., 1] -= 0.5 * np.log(count)
    falls = np.stack(
        [np.stack([alone, np.zeros_like(alone)], axis=2), np.stack([both, slopes], axis=2)], axis=2
    )
    return logs, falls


def _ramp_area(age_s: Array, length_s: float) -> Array:
    inside = np.minimum(age_s, length_s)
    return np.asarray(age_s - inside + (inside**2 / (2 * length_s) if length_s else 0.0))


def _shape(ages_s: Array, lengths_s: Array) -> Array:
    """What is lost so long after a begin, by each shape."""
    ramps = [np.minimum(ages_s / length_s, 1.0) for length_s in lengths_s[1:]]
    approaches = [-np.expm1(-ages_s / length_s) for length_s in lengths_s[1:]]
    return np.stack([np.ones(len(ages_s)), *ramps, *approaches])
