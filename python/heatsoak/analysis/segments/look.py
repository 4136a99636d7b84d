"""A series as it is looked at: in bins of a width, with their noise and levels.

Changes of level add to what seems to be noise, and what seems to be noise hides changes of level.
So the noise is looked at again beside the levels that were found, for as long as it falls.
"""

from dataclasses import dataclass, replace

import numpy as np

from heatsoak.analysis.segments.bins import Bins, binned
from heatsoak.analysis.segments.levels import Level, find_levels
from heatsoak.analysis.segments.noise import Noise, noise_of
from heatsoak.analysis.series import Array, Series

#: Too little to tell a level from its noise.
MIN_SAMPLES = 12
#: Noise that falls to no less than this share of what it was is known.
_KNOWN = 0.95
_MAX_LOOKS = 4


@dataclass(frozen=True)
class Look:
    """One look at a series.

    Attributes:
        series: what is looked at, tidied.
        bins: its means over even pieces of time.
        noise: the noise of those, beside their levels.
        levels: what they keep to, in order.
        is_flat: whether a swing was taken off it.
    """

    series: Series
    bins: Bins
    noise: Noise
    levels: list[Level]
    is_flat: bool = False


def look_at(series: Series, width_s: float, *, is_flat: bool = False) -> Look:
    """Return a tidied series in bins of about `width_s`."""
    bins = binned(series, width_s)
    return Look(series, bins, *levels_of(bins), is_flat)


def levels_of(bins: Bins) -> tuple[Noise, list[Level]]:
    """Return the noise of bins beside their levels, and those."""
    noise = noise_of(bins)
    levels = find_levels(bins, noise)
    for _ in range(_MAX_LOOKS - 1):
        if len(levels) == 1:
            break
        beside = _noise_beside(bins, levels)
        if beside.sigma > _KNOWN * noise.sigma:
            break
        noise = beside
        levels = find_levels(bins, noise)
    return noise, levels


def _noise_beside(bins: Bins, levels: list[Level]) -> Noise:
    """The noise of what is left of bins beside their levels; transitions have the usual one."""
    rest: Array = bins.logs.copy()
    is_held = np.zeros(len(bins), dtype=bool)
    for level in levels:
        at = slice(level.start, level.end)
        rest[at] -= float(np.mean(rest[at]))
        is_held[at] = True
    left = noise_of(replace(bins, logs=rest).only(is_held))
    share = np.ones(len(bins))
    share[is_held] = left.share
    return Noise(left.sigma, share)
