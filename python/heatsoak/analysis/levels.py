"""The levels that throughput keeps to: what it ends at, and whether it alternates between some."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from heatsoak.analysis.segments import DEPTH_WINDOW_S
from heatsoak.analysis.series import Array, Series

#: Levels closer together than about twice this share of the usual rate are one level.
_LEAST_BANDWIDTH = 0.02
#: A level that is held for a smaller share of the time is an outlier, not a level.
LEAST_SHARE = 0.01
#: Between two levels their density falls below this share of the lower one's.
_VALLEY = 0.5
_GRID_POINTS = 1024


@dataclass(frozen=True)
class Level:
    """A rate that is returned to.

    Attributes:
        value: the median of the rates that belong to it, in their unit.
        share: the part of the time that is spent there, 0 to 1.
    """

    value: float
    share: float


def end_level(series: Series, window_s: float = DEPTH_WINDOW_S) -> float | None:
    """Return the mean rate of the last `window_s`: what a step ended at; None for no samples."""
    level = series.mean(series.duration_s - window_s, series.duration_s)
    return level if np.isfinite(level) else None


def find_levels(rates: Array) -> list[Level]:
    """Return the levels among rates, rising; one where they scatter about a single value.

    Levels are the peaks of a Gaussian kernel density estimate with Silverman's bandwidth (Density
    Estimation, 1986), parted where the density between them is lowest. The order in time plays no
    part. An empty array has no level.
    """
    from scipy.stats import gaussian_kde  # takes a moment, which not every command has

    if len(rates) == 0:
        return []
    usual = float(np.median(np.abs(rates)))
    spread = float(np.std(rates, ddof=1)) if len(rates) > 1 else 0.0
    least = _LEAST_BANDWIDTH * usual
    if spread <= least:
        return [Level(float(np.median(rates)), 1.0)]
    silverman = (3 * len(rates) / 4) ** -0.2
    density_of = gaussian_kde(rates, bw_method=max(silverman, least / spread))
    margin = 3 * density_of.factor * spread
    grid = np.linspace(rates.min() - margin, rates.max() + margin, _GRID_POINTS)
    density = density_of(grid)
    cuts = _valleys(density)
    edges = [-np.inf, *(float(grid[cut]) for cut in cuts), np.inf]
    groups = [rates[(rates > low) & (rates <= high)] for low, high in pairwise(edges)]
    return [
        Level(float(np.median(group)), len(group) / len(rates))
        for group in groups
        if len(group) >= max(1, LEAST_SHARE * len(rates))
    ]


def _valleys(density: Array) -> list[int]:
    """Indices of the lowest density between peaks that are clearly apart."""
    from scipy.signal import find_peaks

    peaks = [int(peak) for peak in find_peaks(density)[0]]
    kept: list[int] = []
    cuts: list[int] = []
    for peak in peaks:
        if not kept:
            kept.append(peak)
            continue
        valley = kept[-1] + int(np.argmin(density[kept[-1] : peak + 1]))
        if density[valley] < _VALLEY * min(density[kept[-1]], density[peak]):
            kept.append(peak)
            cuts.append(valley)
        elif density[peak] > density[kept[-1]]:
            kept[-1] = peak
    return cuts
