"""A series in even pieces of time: what levels and noise are judged on."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from heatsoak._core import hampel
from heatsoak.analysis.series import Array, Series

#: Samples closer together than this are averaged before levels are looked for.
BIN_S = 0.5
#: A series of more bins than this has longer ones.
_MAX_BINS = 2_000_000
#: Outliers shorter than about this, such as single dips, do not reach the means.
_DIP_S = 0.5
#: Below about this share of the usual rate differences do not count: all of it is standstill.
_STANDSTILL = 0.01
_NOTHING = 1e-9


@dataclass(frozen=True)
class Bins:
    """Means over even pieces of time; those in which nothing was measured are left out.

    Attributes:
        begin_s, end_s: of each piece.
        measured_s: how much of it was measured.
        values: the mean rates, outliers replaced.
        logs: their logarithms, since noise and falls go with the level; even where it stands.
        width_s: the length of a piece.
    """

    begin_s: Array
    end_s: Array
    measured_s: Array
    values: Array
    logs: Array
    width_s: float

    def __len__(self) -> int:
        return len(self.values)

    def only(self, which: NDArray[np.bool_]) -> "Bins":
        """Return some of the bins."""
        return Bins(
            self.begin_s[which],
            self.end_s[which],
            self.measured_s[which],
            self.values[which],
            self.logs[which],
            self.width_s,
        )


def binned(series: Series, width_s: float = BIN_S) -> Bins:
    """Return the bins of a tidied series that has a sample at least.

    They are about `width_s` long, and no shorter than the usual interval.
    """
    sampling_s = series.sampling_s
    size = max(1, round(width_s / sampling_s), -(-len(series.values) // _MAX_BINS))
    width_s = size * sampling_s
    clean = hampel(np.ascontiguousarray(series.values), max(1, round(_DIP_S / sampling_s)))
    middle_s = series.t_s - series.interval_s / 2
    origin_s = float(series.t_s[0] - series.interval_s[0])
    index = np.floor((middle_s - origin_s) / width_s + 1e-6).astype(np.int64)
    first = np.flatnonzero(np.diff(index, prepend=index[0] - 1))
    measured_s = np.add.reduceat(series.interval_s, first)
    values = np.add.reduceat(clean * series.interval_s, first) / measured_s
    # what is longer than a filter's window over samples, and still no level
    if size > 1 and width_s <= BIN_S:
        values = hampel(values, 2)
    last = np.append(first[1:], len(index)) - 1
    begin_s = series.t_s[first] - series.interval_s[first]
    return Bins(begin_s, series.t_s[last], measured_s, values, _logs(values), width_s)


def _logs(values: Array) -> Array:
    moving = values[values > 0]
    if len(moving) == 0:
        return np.zeros(len(values))
    # beside what it does at its best, next to nothing is standstill too
    usual = max(float(np.median(moving)), _NOTHING * float(np.max(moving)))
    return np.asarray(np.log(values / usual + _STANDSTILL), dtype=np.float64)
