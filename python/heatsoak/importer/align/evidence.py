"""How much a correlation says: evidence, dependence of samples, and the hill about a peak."""

import numpy as np

from heatsoak.importer.align.tracks import Array, Flags


def evidence_of(r: Array, samples: Array, floor: float = 1e-9) -> Array:
    """Return the logarithm of the likelihood ratio of a linear relation against none."""
    return np.asarray(-0.5 * samples * np.log(np.maximum(1 - r**2, floor)))


def autocorrelation(values: Array, known: Flags, lag: int) -> float:
    """Return how alike known values, whose mean is 0, are to those `lag` cells later: -1 to 1."""
    both = known[lag:] & known[:-lag]
    power = float((values[known] ** 2).mean()) if known.any() else 0.0
    if power <= 0 or not both.any():
        return 0.0
    return float((values[lag:] * values[:-lag])[both].mean() / power)


def dependence(values: Array, known: Flags, cells: int) -> float:
    """Return how many samples in a row say as much as one: the integrated autocorrelation."""
    total, lag = 1.0, cells
    while lag < len(values) / 4:
        share = autocorrelation(values, known, lag)
        if share < 0.05:
            break
        total += 2 * share
        lag += cells
    return total


def vertex_of(evidence: Array, at: int, reach: int) -> tuple[float, float]:
    """Return where the parabola through the peak is highest, from `at`, and its standard error."""
    if at < reach or at + reach >= len(evidence):
        return 0.0, float("inf")
    before, here, after = evidence[at - reach], evidence[at], evidence[at + reach]
    bend = float(before - 2 * here + after) / reach**2
    if bend >= 0:
        return 0.0, float("inf")
    offset = float(before - after) / (2 * reach) / bend
    return float(np.clip(offset, -reach, reach)), (-bend) ** -0.5


def elsewhere(evidence: Array, at: int, least: int) -> float:
    """Return the greatest evidence outside the hill of the peak, `least` lags to either side of it.

    The hill goes on past the point where half is lost, for as long as it falls.
    """
    after = evidence[at + least :]
    before = evidence[: max(at - least + 1, 0)][::-1]
    return max(_beyond_the_hill(side, float(evidence[at])) for side in (before, after))


def _beyond_the_hill(evidence: Array, peak: float) -> float:
    low = np.flatnonzero(evidence < 0.5 * peak)
    if len(low) == 0:
        return 0.0
    rest = evidence[int(low[0]) :]
    rises = np.flatnonzero(np.diff(rest) > 0)
    return float(rest[int(rises[0]) :].max()) if len(rises) else 0.0
