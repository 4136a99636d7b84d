"""What lies between what a drive does and what is logged of it."""

import numpy as np

from heatsoak.corpus.machine import Array

#: The sampling that noise is made at; coarser samples are means of it.
FINE_S = 0.1
#: How often a sample of `FINE_S` is a dip, and what is left of the rate in it.
DIP_CHANCE = 0.01
DIP_SHARE = (0.2, 0.6)
#: No sample falls lower by noise alone.
LEAST_SHARE = 0.02


def autoregressive(
    count: int, sigma: float, correlation: float, chance: np.random.Generator
) -> Array:
    """Return `count` values of a stationary AR(1) process around 0."""
    from scipy.signal import lfilter  # a second to import, and one command needs it

    innovations = chance.normal(0, sigma * np.sqrt(1 - correlation**2), count)
    innovations[:1] = chance.normal(0, sigma)
    return np.asarray(lfilter([1.0], [1.0, -correlation], innovations), dtype=float)


def factors(
    count: int, sigma: float, correlation: float, has_dips: bool, chance: np.random.Generator
) -> Array:
    """Return what samples of `FINE_S` are multiplied with."""
    noise = np.maximum(1 + autoregressive(count, sigma, correlation, chance), LEAST_SHARE)
    if has_dips:
        noise = np.where(
            chance.random(count) < DIP_CHANCE, noise * chance.uniform(*DIP_SHARE, count), noise
        )
    return noise


def averaged(values: Array, size: int) -> Array:
    """Return means of `size` values each; what is left over makes a last one if it is half."""
    whole = len(values) // size * size
    means = values[:whole].reshape(-1, size).mean(axis=1)
    rest = values[whole:]
    return np.append(means, rest.mean()) if len(rest) >= size / 2 else means


def ramped(values: Array, length: int) -> Array:
    """Return the mean of the last `length` values at each, so that steps become ramps."""
    if length < 2:
        return values
    padded = np.concatenate([np.full(length - 1, values[0]), values])
    sums = np.cumsum(np.insert(padded, 0, 0.0))
    return np.asarray((sums[length:] - sums[:-length]) / length)
