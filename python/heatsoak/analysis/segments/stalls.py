"""Short standstills from which throughput comes back: a flush, a reset, collected garbage.

Nothing is moved for some seconds, and then as much as before. That is no level that a drive was
lowered to, so levels are looked for without it.
"""

from dataclasses import dataclass

import numpy as np

from heatsoak.analysis.definitions import MIN_DROP
from heatsoak.analysis.segments.levels import BLIP_S
from heatsoak.analysis.series import Array, Series

#: Below this share of the usual rate nothing is moved.
STILL = 0.02
#: What stands still for longer has come to stay.
_LONGEST_S = 10.0
#: What stands still again within so many lengths of it may be a swing.
_SOON = 8.0
#: How long the rate before and after is looked at, in samples at least.
_BESIDE_S, _BESIDE_SAMPLES, _FEWEST = 10.0, 5, 3
#: It is back at this share of the rate before: a few seconds do not tell it any better.
_BACK = 0.9


@dataclass(frozen=True)
class Stall:
    """A standstill, in seconds from the step's begin."""

    begin_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        """How long nothing was moved."""
        return self.end_s - self.begin_s


def stalls_of(series: Series) -> list[Stall]:
    """Return the short standstills of a tidied series after which it went on as before."""
    begins_s = series.t_s - series.interval_s
    runs = _standstills(series.values)
    found = []
    for index, (first, last) in enumerate(runs):
        stall = Stall(float(begins_s[first]), float(series.t_s[last - 1]))
        if not BLIP_S - 1e-6 <= stall.length_s <= _LONGEST_S + 1e-6:
            continue
        around = [runs[at] for at in (index - 1, index + 1) if 0 <= at < len(runs)]
        apart_s = (
            max(float(begins_s[start]) - stall.end_s, stall.begin_s - float(series.t_s[end - 1]))
            for start, end in around
        )
        if min(apart_s, default=np.inf) <= _SOON * stall.length_s:
            continue
        before = _beside(series, stall.begin_s, -1)
        after = _beside(series, stall.end_s, +1)
        if min(len(before), len(after)) < _FEWEST:
            continue
        if np.median(after) >= _BACK * np.median(before) > 0:
            found.append(stall)
    return found


def without(series: Series, stalls: list[Stall]) -> Series:
    """Return a tidied series as if nothing had been measured in `stalls`.

    The samples that a standstill begins or ends in are low for a part of them, and go with it.
    """
    if not stalls:
        return series
    kept = np.ones(len(series.t_s), dtype=bool)
    for stall in stalls:
        first, last = np.searchsorted(series.t_s, (stall.begin_s + 1e-6, stall.end_s - 1e-6))
        kept[first : last + 1] = False
        usual = float(np.median(_beside(series, stall.begin_s, -1)))
        for edge in (first - 1, last + 1):
            if 0 <= edge < len(kept) and series.values[edge] < (1 - MIN_DROP) * usual:
                kept[edge] = False
    return Series(series.t_s[kept], series.interval_s[kept], series.values[kept], series.unit)


def _standstills(values: Array) -> list[tuple[int, int]]:
    """Where nothing is moved: first sample and the one behind the last."""
    moving = values[values > 0]
    if len(moving) == 0:
        return []
    is_still = values < STILL * float(np.median(moving))
    edges = np.flatnonzero(np.diff(is_still, prepend=False, append=False)).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def _beside(series: Series, edge_s: float, way: int) -> Array:
    """The rates before a standstill's begin or after its end, without the sample that it cut."""
    length = max(_BESIDE_SAMPLES, round(_BESIDE_S / series.sampling_s))
    if way < 0:
        end = int(np.searchsorted(series.t_s, edge_s - 1e-6))
        return series.values[max(0, end - length) : end]
    start = int(np.searchsorted(series.t_s, edge_s + 1e-6, side="right")) + 1
    return series.values[start : start + length]
