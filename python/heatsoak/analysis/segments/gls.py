"""Every bend that a series may have, by generalised least squares, at all onsets at once.

A bend is a level, then one of several shapes down from an onset. Whitened by the correlation of its
noise, a fall that hides in the wander of the level stands out, since neighbouring samples share the
wander. On even steps every inner product that this needs is a correlation over all onsets.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heatsoak.analysis.series import Array

#: No measurement is better than this share of the level.
_MIN_NOISE = 3e-4
#: Fewer steps than this fit nothing.
MIN_ROWS = 6


@dataclass(frozen=True)
class Bends:
    """What each shape leaves over at each onset, and how it is fitted.

    Attributes:
        errors: (shapes, onsets), squared and whitened; a parameter more costs what the Bayesian
            information criterion says.
        levels: (shapes, onsets), what is fitted before the onset.
        parts: (shapes, onsets, 3), how much of a shape, of the slope and of the bend there is.
    """

    errors: Array
    levels: Array
    parts: Array


def fit_bends(
    values: Array,
    known: NDArray[np.bool_],
    correlation: float,
    shapes: Array,
    beside: tuple[int, ...],
) -> Bends:
    """Fit each shape at each onset, with as many of slope and bend beside it as `beside` says.

    `values` (steps,) count where `known`, `correlation` is that of neighbours. `shapes` (shapes,
    phases, steps) are means over a step since the onset, for onsets at each phase of a step; the
    last two are slope and bend. What is returned has the shapes with each of `beside` in turn;
    onsets rise with the step first and then the phase.
    """
    used = known.copy()
    used[1:] &= known[:-1]
    used[0] = False
    if used.sum() < MIN_ROWS:
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
    shapes = shapes.copy()
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
    least = count * (_MIN_NOISE * level * np.max(np.abs(values[known]))) ** 2 + 1e-300

    def fitted(slope: Array, bend: Array, both: Array, more: int) -> tuple[Array, Array, Array]:
        """What each shape leaves beside slope and bend, by the inverse of their products."""
        along_slope = by_slope * slope + by_bend * both
        along_bend = by_slope * both + by_bend * bend
        square = squares - along_slope * by_slope - along_bend * by_bend
        product = by_y - along_slope * by_y[-2] - along_bend * by_y[-1]
        without = by_y[-2] ** 2 * slope + by_y[-1] ** 2 * bend + 2 * by_y[-2] * by_y[-1] * both
        # a shape may only take away
        takes = (product < 0) & (square > 1e-6 * np.maximum(squares, 1e-12))
        part = np.where(takes, product / np.where(takes, square, 1.0), 0.0)[:-2]
        error = np.maximum(left - without - part * product[:-2], 0.0) + least
        slopes = slope * by_y[-2] + both * by_y[-1] - part * along_slope[:-2]
        bends = both * by_y[-2] + bend * by_y[-1] - part * along_bend[:-2]
        taken = part * sums[:-2] + slopes * sums[-2] + bends * sums[-1]
        levels = centre + (y_level - taken / count) / level
        parts = np.stack([part, slopes, bends], axis=-1)
        return error * count ** (more / count), levels, parts

    slope, bend, both = squares[-2], squares[-1], by_bend[-2]
    none = np.zeros_like(slope)
    slope = slope + 1e-9 * np.max(np.abs(slope)) + 1e-30
    bend = bend + 1e-6 * np.max(np.abs(bend)) + 1e-30
    scale = np.maximum(slope * bend - both**2, 1e-9 * slope * bend)
    inverses = (
        (none, none, none),
        (1 / slope, none, none),
        (bend / scale, slope / scale, -both / scale),
    )
    found = [fitted(*inverses[more], more) for more in beside]
    errors, levels, parts = (
        np.concatenate(some).swapaxes(1, 2) for some in zip(*found, strict=True)
    )
    flat = errors.shape[0], -1
    return Bends(errors.reshape(flat), levels.reshape(flat), parts.reshape(*flat, 3))
