"""The levels that throughput keeps to: which, how long it stays at each, what it ends at."""

from dataclasses import dataclass

import numpy as np

from heatsoak.analysis.consistency.per_second import PerSecond
from heatsoak.analysis.findings import RateLevel
from heatsoak.analysis.series import Array, Series

#: The end of a step, as the published figures take it.
END_S = 60.0
#: Levels closer together than about twice this share of the usual rate are one level.
_LEAST_BANDWIDTH = 0.02
#: A level that is held for a smaller share of the time is an outlier, not a level.
LEAST_SHARE = 0.01
#: Between two levels their density falls below this share of the lower one's.
_VALLEY = 0.5
#: A valley is deeper than chance makes it by so many standard deviations.
_SIGNIFICANT = 2.5
_BINS_A_BANDWIDTH = 4
_MOST_BINS = 4096
_LEAST_INDEPENDENT = 4.0


@dataclass(frozen=True)
class RecurringRate:
    """A rate that is returned to.

    Attributes:
        value: the median of the rates that belong to it, in their unit.
        share: the part of the time that is spent there, 0 to 1.
    """

    value: float
    share: float


def end_level(series: Series, window_s: float = END_S) -> float | None:
    """Return the mean rate of the last `window_s`: what a step ended at; None for no samples."""
    level = series.mean(series.duration_s - window_s, series.duration_s)
    return level if np.isfinite(level) else None


def find_recurring_rates(rates: Array) -> list[RecurringRate]:
    """Return the levels among rates, in the order of time, rising by value.

    One where they scatter about a single value; none for an empty array.
    """
    cuts = find_cuts(rates)
    groups = np.searchsorted(cuts, rates, side="left")
    return [
        RecurringRate(float(np.median(rates[groups == group])), float(np.mean(groups == group)))
        for group in range(len(cuts) + 1)
        if len(rates)
    ]


def find_cuts(rates: Array) -> Array:
    """Return the rates that part the levels of `rates`, rising; empty where there is one level.

    Levels are the peaks of a Gaussian kernel density estimate with Silverman's bandwidth (Density
    Estimation, 1986), parted where the density between them is lowest. A valley counts that is
    half as high as the lower peak, and lower by more than an estimate from so many independent
    rates varies. Rates of a drive wander, which makes peaks by chance: rates that resemble those
    before them, within the levels found, count as fewer.
    """
    cuts = _cuts(rates, float(len(rates)))
    if len(cuts) == 0:
        return cuts
    groups = np.searchsorted(cuts, rates, side="left")
    medians = [float(np.median(rates[groups == group])) for group in range(len(cuts) + 1)]
    left = rates - np.array(medians)[groups]
    # changes between levels say nothing of how rates wander within one
    stays = groups[1:] == groups[:-1]
    power = float(np.mean(left**2))
    shared = float(np.mean((left[1:] * left[:-1])[stays])) if stays.any() else 0.0
    chance = len(rates) ** -0.5
    alike = min(max(shared / power - chance, 0.0), 0.99) if power > 0 else 0.0
    return _cuts(rates, len(rates) * (1 - alike) / (1 + alike)) if alike > 0 else cuts


def _cuts(rates: Array, independent: float) -> Array:
    """Where the density of rates is lowest between clear peaks, if so many are independent."""
    none = np.empty(0)
    if len(rates) < 2 or independent < _LEAST_INDEPENDENT:
        return none
    low, high = float(rates.min()), float(rates.max())
    bandwidth = _bandwidth(rates)
    if high - low <= 2 * bandwidth:
        return none
    begin, end = low - 4 * bandwidth, high + 4 * bandwidth
    bins = min(_MOST_BINS, int(np.ceil((end - begin) / bandwidth * _BINS_A_BANDWIDTH)))
    width = (end - begin) / bins
    counts = np.histogram(rates, bins, (begin, end))[0].astype(float)
    sigma = max(bandwidth / width, 0.5)
    reach = int(np.ceil(4 * sigma))
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    # scaled so that it varies as a count does: its variance is its value
    scale = independent / len(rates) * np.sqrt(2)
    density = np.convolve(counts, kernel, mode="same") * scale
    return _without_outliers(rates, begin + width * (_valleys(density) + 0.5))


def _bandwidth(rates: Array) -> float:
    """Silverman's rule of thumb, on the spread of the middle half where that is the smaller."""
    usual = float(max(np.median(np.abs(rates)), np.mean(np.abs(rates))))
    spread = float(np.std(rates))
    lower, upper = np.quantile(rates, (0.25, 0.75))
    middle = float(upper - lower) / 1.349
    narrow = 0.9 * min(spread, middle) * len(rates) ** -0.2
    return float(max(narrow, _LEAST_BANDWIDTH * usual, 1e-12 * spread, 1e-300))


def _valleys(density: Array) -> Array:
    """Indices of the lowest density between peaks that are clearly apart."""
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
    """Leave out cuts beside groups too small for a level."""
    while len(cuts):
        groups = np.searchsorted(cuts, rates, side="left")
        shares = np.bincount(groups, minlength=len(cuts) + 1) / len(rates)
        least = int(np.argmin(shares))
        if shares[least] >= LEAST_SHARE:
            break
        cuts = np.delete(cuts, min(least, len(cuts) - 1))
    return cuts


@dataclass(frozen=True)
class Modes:
    """The levels of a window, rising, and how often it went from one to another."""

    levels: list[RateLevel]
    changes: int


def find_modes(seconds: PerSecond) -> Modes:
    """Return the levels that the rates of a window keep to; empty for no rates."""
    if len(seconds.values) == 0:
        return Modes([], 0)
    cuts = find_cuts(seconds.values)
    labels = np.searchsorted(cuts, seconds.values, side="left")
    runs = seconds.runs(labels)
    lengths_s: list[list[float]] = [[] for _ in range(len(cuts) + 1)]
    for begin, end in runs:
        lengths_s[labels[begin]].append((end - begin) * seconds.each_s)
    levels = [
        RateLevel(
            iops=float(np.median(seconds.values[labels == label])),
            share=float(np.mean(labels == label)),
            dwell_s=float(np.median(lengths_s[label])),
        )
        for label in range(len(cuts) + 1)
    ]
    return Modes(levels, int(np.count_nonzero(np.diff(labels))))
