"""How far the means of a drive's rates wander without any change of level.

Samples of a drive are autocorrelated, so their own spread understates how far means wander. What
counts is the long-run variance: that of white noise whose means over long times wander as far.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heatsoak.analysis.segments.bins import Bins
from heatsoak.analysis.series import MAD_TO_SIGMA, Array

#: No drive is quieter than this share of its level, in means over a second.
MIN_NOISE = 0.003
#: Lengths of blocks whose means are compared, in bins.
_BLOCKS = (1, 2, 4, 8, 16)
#: Correlation times that are thought of, in bins; AR(1) of 0.95 at 10 Hz has 2 s, which is 4.
_CORRELATION = np.array([0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 20.0])
#: Blocks longer than this take many of them, or changes of level would be in most.
_SHORT_S = 2.0
_BETWEEN_CHANGES = 32
#: As few differences of blocks say nothing.
_FEWEST = 8
#: Noise is local to about this, and never taken for less than this share of the usual.
_LOCAL_S = 30.0
_QUIETEST = 0.7


@dataclass(frozen=True)
class Noise:
    """Long-run noise of the logarithms.

    Attributes:
        sigma: of a mean over one second, in most of the series.
        share: for each bin, the variance there over the usual one.
    """

    sigma: float
    share: Array


def noise_of(bins: Bins) -> Noise:
    """Return the noise of a series, by differences of the means of neighbouring blocks.

    Medians of them keep level changes out. Short blocks are too alike where noise is correlated,
    long ones too few: the decline of their variance with length, as an Ornstein-Uhlenbeck process
    has it, gives the limit.
    """
    moving = bins.values > 0
    if not moving.all():
        # standstill has no noise, however long it lasts
        inner = noise_of(bins.only(moving)) if moving.any() else Noise(MIN_NOISE, np.empty(0))
        share = np.ones(len(bins))
        share[moving] = inner.share
        return Noise(inner.sigma, share)
    sums = np.concatenate([[0.0], np.cumsum(bins.logs)])
    sizes, spreads = [], []
    for size in _BLOCKS:
        is_short = size == 1 or size * bins.width_s <= _SHORT_S
        least = _FEWEST + 1 if is_short else _BETWEEN_CHANGES
        if len(bins) >= least * size:
            steps = _steps(sums, size)
            sizes.append(size)
            spreads.append(MAD_TO_SIGMA * float(np.median(np.abs(steps - np.median(steps)))))
    if not sizes:
        return Noise(MIN_NOISE, np.ones(len(bins)))
    sigma = _limit(np.array(sizes), np.array(spreads)) * np.sqrt(bins.width_s)
    reach = min(sizes[-1], 4)
    share = _local(_steps(sums, reach), reach, bins)
    return Noise(max(float(sigma), MIN_NOISE), share)


def _steps(sums: Array, size: int) -> Array:
    """Differences of the means of all neighbouring blocks of `size`."""
    means = (sums[size:] - sums[:-size]) / size
    return np.asarray(means[size:] - means[:-size], dtype=np.float64)


def _limit(sizes: NDArray[np.int64], spreads: Array) -> float:
    """The long-run sigma of a bin that spreads of block differences come from."""
    # for white noise the variance of a difference is 2 sigma^2 / size
    seen = np.maximum(spreads**2 * sizes / 2, 1e-12)
    # what is slower than half the longest block cannot be told from changes of level
    times = _CORRELATION[0.5 * sizes[-1] >= _CORRELATION]
    u = sizes / np.maximum(times[:, None], 1e-9)
    decay = -np.expm1(-u)
    part = 1 - decay / u - decay**2 / (2 * u)
    # as many independent differences as there are blocks: that is what a length knows
    weight = np.minimum(1 / sizes, 4 / sizes[-1])
    logs = np.log(seen) - np.log(np.maximum(part, 1e-6))
    mean = np.average(logs, axis=1, weights=weight)
    error = np.average((logs - mean[:, None]) ** 2, axis=1, weights=weight)
    return float(np.exp(mean[np.argmin(error)] / 2))


def _local(steps: Array, reach: int, bins: Bins) -> Array:
    """The variance about each bin over the usual one, by medians over `_LOCAL_S`."""
    size = max(_FEWEST * reach, round(_LOCAL_S / bins.width_s))
    count = len(steps) // size
    if count < 3:
        return np.ones(len(bins))
    pieces = steps[: count * size].reshape(count, size)
    # a steady decline is no noise
    medians = np.median(np.abs(pieces - np.median(pieces, axis=1)[:, None]), axis=1)
    # of five pieces, since a single one knows its noise badly
    padded = np.pad(medians, 2, mode="reflect")
    around = np.median(np.lib.stride_tricks.sliding_window_view(padded, 5), axis=1)
    least = MIN_NOISE / MAD_TO_SIGMA * np.sqrt(2 / (reach * bins.width_s))
    usual = max(float(np.median(np.abs(steps))), least)
    share = np.maximum(around / usual, _QUIETEST) ** 2
    where = np.clip((np.arange(len(bins)) - reach) // size, 0, count - 1)
    return np.asarray(share[where], dtype=np.float64)
