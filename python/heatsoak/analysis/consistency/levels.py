"""The levels of throughput: which rates it stays at, for how long, and which it ends at."""

from dataclasses import dataclass

import numpy as np

from heatsoak.analysis.consistency.per_second import PerSecond
from heatsoak.analysis.findings import RateLevel
from heatsoak.analysis.series import Array, Series

#: The length of a step's end, as in the published figures.
END_S = 60.0
#: Levels closer than about twice this share of the usual rate are one level.
_MIN_BANDWIDTH = 0.02
#: A level with a smaller share of the time is an outlier, not a level.
MIN_SHARE = 0.01
#: Between two levels, density falls below this share of that of the lower peak.
_VALLEY = 0.5
#: A valley must be this many standard deviations deeper than chance would make it.
_SIGNIFICANT = 2.5
_BINS_PER_BANDWIDTH = 4
_MAX_BINS = 4096
_MIN_INDEPENDENT = 4.0


@dataclass(frozen=True)
class RecurringRate:
    """A rate that throughput stays at or returns to.

    Attributes:
        value: the median of its rates, in their unit.
        share: the share of the time spent there, 0 to 1.
    """

    value: float
    share: float


def end_level(series: Series, window_s: float = END_S) -> float | None:
    """Return the mean rate of the last `window_s`; None without samples."""
    level = series.mean(series.duration_s - window_s, series.duration_s)
    return level if np.isfinite(level) else None


def find_recurring_rates(rates: Array) -> list[RecurringRate]:
    """Return the levels of `rates` (in time order), ascending.

    A single level if they scatter around one value; none for an empty array.
    """
    cuts = find_cuts(rates)
    groups = np.searchsorted(cuts, rates, side="left")
    return [
        RecurringRate(float(np.median(rates[groups == group])), float(np.mean(groups == group)))
        for group in range(len(cuts) + 1)
        if len(rates)
    ]


def find_cuts(rates: Array) -> Array:
    """Return the rates that separate the levels of `rates`, ascending; empty for a single level.

    Levels are the peaks of a Gaussian kernel density estimate with Silverman's bandwidth (Density
    Estimation, 1986), separated where the density between them is lowest. A valley counts if it is
    at most half as high as the lower peak, and deeper than the estimate varies with this many
    independent rates. A drive's rates are autocorrelated, which makes peaks by chance: the
    autocorrelation within the levels found reduces the number of independent rates.
    """
    cuts = _cuts(rates, float(len(rates)))
    if len(cuts) == 0:
        return cuts
    groups = np.searchsorted(cuts, rates, side="left")
    medians = [float(np.median(rates[groups == group])) for group in range(len(cuts) + 1)]
    left = rates - np.array(medians)[groups]
    # changes between levels say nothing about autocorrelation within one
    stays = groups[1:] == groups[:-1]
    power = float(np.mean(left**2))
    shared = float(np.mean((left[1:] * left[:-1])[stays])) if stays.any() else 0.0
    chance = len(rates) ** -0.5
    alike = min(max(shared / power - chance, 0.0), 0.99) if power > 0 else 0.0
    return _cuts(rates, len(rates) * (1 - alike) / (1 + alike)) if alike > 0 else cuts


def _cuts(rates: Array, independent: float) -> Array:
    """Where density is lowest between clear peaks, given the number of independent rates."""
    none = np.empty(0)
    if len(rates) < 2 or independent < _MIN_INDEPENDENT:
        return none
    low, high = float(rates.min()), float(rates.max())
    bandwidth = _bandwidth(rates)
    if high - low <= 2 * bandwidth:
        return none
    start, end = low - 4 * bandwidth, high + 4 * bandwidth
    bins = min(_MAX_BINS, int(np.ceil((end - start) / bandwidth * _BINS_PER_BANDWIDTH)))
    width = (end - start) / bins
    counts = np.histogram(rates, bins, (start, end))[0].astype(float)
    sigma = max(bandwidth / width, 0.5)
    reach = int(np.ceil(4 * sigma))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    # scaled so that its variance is its value, as for a count
    scale = independent / len(rates) * np.sqrt(2)
    density = np.convolve(counts, kernel, mode="same") * scale
    return _without_outliers(rates, start + width * (_valleys(density) + 0.5))


def _bandwidth(rates: Array) -> float:
    """Silverman's rule of thumb; uses the spread of the middle half if that is smaller."""
    usual = float(max(np.median(np.abs(rates)), np.mean(np.abs(rates))))
    spread = float(np.std(rates))
    lower, upper = np.quantile(rates, (0.25, 0.75))
    middle = float(upper - lower) / 1.349
    narrow = 0.9 * min(spread, middle) * len(rates) ** -0.2
    return float(max(narrow, _MIN_BANDWIDTH * usual, 1e-12 * spread, 1e-300))


def _valleys(density: Array) -> Array:
    """Indices of the lowest density between clearly separate peaks."""
    rising = np.diff(density, prepend=-1.0, append=-1.0)
    peaks = np.flatnonzero((rising[:-1] > 0) & (rising[1:] <= 0))
    kept: list[int] = []
    cuts: list[int] = []
    for peak in peaks.tolist():
        if not kept:
            kept.append(peak)
            continue
        between = density[kept[-1] : peak + 1]
        lowest = float(between.min())
        lower = min(density[kept[-1]], density[peak])
        clear = lower - lowest > _SIGNIFICANT * np.sqrt(lower + lowest)
        if clear and lowest < _VALLEY * lower:
            # the middle of an empty stretch
            empty = np.flatnonzero(between == lowest)
            cuts.append(kept[-1] + int(empty[len(empty) // 2]))
            kept.append(peak)
        elif density[peak] > density[kept[-1]]:
            kept[-1] = peak
    return np.array(cuts, dtype=float)


def _without_outliers(rates: Array, cuts: Array) -> Array:
    """Remove cuts next to groups that are too small for a level."""
    while len(cuts):
        groups = np.searchsorted(cuts, rates, side="left")
        shares = np.bincount(groups, minlength=len(cuts) + 1) / len(rates)
        least = int(np.argmin(shares))
        if shares[least] >= MIN_SHARE:
            break
        cuts = np.delete(cuts, min(least, len(cuts) - 1))
    return cuts


@dataclass(frozen=True)
class Modes:
    """The levels of a window, ascending, and how often it changed between them."""

    levels: list[RateLevel]
    changes: int


def find_modes(seconds: PerSecond) -> Modes:
    """Return the levels of a window's rates; empty without rates."""
    if len(seconds.values) == 0:
        return Modes([], 0)
    cuts = find_cuts(seconds.values)
    labels = np.searchsorted(cuts, seconds.values, side="left")
    runs = seconds.runs(labels)
    lengths_s: list[list[float]] = [[] for _ in range(len(cuts) + 1)]
    for start, end in runs:
        lengths_s[labels[start]].append((end - start) * seconds.each_s)
    levels = [
        RateLevel(
            iops=float(np.median(seconds.values[labels == label])),
            share=float(np.mean(labels == label)),
            dwell_s=float(np.median(lengths_s[label])),
        )
        for label in range(len(cuts) + 1)
    ]
    return Modes(levels, int(np.count_nonzero(np.diff(labels))))
