"""The rate of each second: the basis of the published method and of rate levels."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from heatsoak.analysis.series import Array, Series

#: For logs with longer intervals, the intervals are used instead of seconds.
_LONGEST_SECOND_S = 1.5


@dataclass(frozen=True)
class PerSecond:
    """Mean rates of the seconds of a window in which anything was measured.

    Attributes:
        t_s: end of each second, from the step's start.
        values: the rates, in the series' unit.
        window_s: the length of the window, including time without measurements.
        each_s: 1, or the usual interval of a log whose intervals are longer.
    """

    t_s: Array
    values: Array
    window_s: float
    each_s: float = 1.0

    def runs(self, labels: NDArray[np.intp]) -> list[tuple[int, int]]:
        """Return start and end indices of runs with the same label; gaps separate runs."""
        if len(labels) == 0:
            return []
        parted = (np.diff(labels) != 0) | (np.diff(self.t_s) > 1.5 * self.each_s)
        edges = [0, *(np.flatnonzero(parted) + 1).tolist(), len(labels)]
        return list(pairwise(edges))


def by_second(series: Series, window_s: float = np.inf) -> PerSecond:
    """Return the mean rate of each whole second in the last `window_s`.

    A series shorter than the window is used in full. Values that are not finite are left out.
    """
    series = finite(series)
    if len(series.t_s) == 0:
        return PerSecond(np.empty(0), np.empty(0), 0.0)
    duration_s = max(series.duration_s, 0.0)
    first = int(np.searchsorted(series.t_s, duration_s - window_s - 2, side="left"))
    late = Series(series.t_s[first:], series.interval_s[first:], series.values[first:], series.unit)
    if late.sampling_s > _LONGEST_SECOND_S:
        start_s = max(0.0, duration_s - window_s)
        inside = late.t_s > start_s + 1e-9
        return PerSecond(
            late.t_s[inside], late.values[inside], duration_s - start_s, late.sampling_s
        )
    return _binned(late, duration_s, window_s)


def _binned(series: Series, duration_s: float, window_s: float) -> PerSecond:
    end_s = np.floor(duration_s + 1e-9)
    start_s = max(0.0, end_s - window_s)
    second = np.floor(series.t_s - series.interval_s / 2 - start_s + 1e-9)
    inside = (second >= 0) & (second < round(end_s - start_s))
    index, interval_s = second[inside].astype(int), series.interval_s[inside]
    moved = np.bincount(index, weights=series.values[inside] * interval_s)
    time_s = np.bincount(index, weights=interval_s)
    seen = np.flatnonzero(time_s > 0)
    return PerSecond(start_s + seen + 1.0, moved[seen] / time_s[seen], float(end_s - start_s))


def finite(series: Series) -> Series:
    """Return the series without values that are not finite, and without empty intervals."""
    good = np.isfinite(series.values) & np.isfinite(series.t_s) & (series.interval_s > 0)
    if good.all():
        return series
    return Series(series.t_s[good], series.interval_s[good], series.values[good], series.unit)
