"""When a swing is low: its falls and recoveries, one by one."""

from dataclasses import dataclass

import numpy as np

from heatsoak.analysis.series import Array

#: Throughput is low in the lower two fifths of a swing and high in the upper ones.
LOW, HIGH = 0.4, 0.6
#: What is low for less than this part of the time of the next few is a dip.
_MIN_PART, _NEXT = 0.4, 5


@dataclass(frozen=True)
class Low:
    """A low part: it falls after `high_s` and before `low_s`, and is back at `back_s`."""

    high_s: float
    low_s: float
    back_s: float


def lows_of(values: Array, bottom: float, top: float, begin_s: float, step_s: float) -> list[Low]:
    """Return the low parts between high ones, dips left out.

    `values` are even, `step_s` apart, from `begin_s` on; they are low near `bottom` and high near
    `top`.
    """
    is_low = values < bottom + LOW * (top - bottom)
    is_high = values > bottom + HIGH * (top - bottom)
    known = np.flatnonzero(is_low | is_high)
    sides = is_low[known]
    edges = np.flatnonzero(np.diff(sides)) + 1
    falls = [int(edge) for edge in edges if sides[edge]]
    backs = [int(edge) for edge in edges if not sides[edge]]
    if len(sides) and sides[0]:
        falls = [0, *falls]
    ends = [int(known[back]) for back in backs] + [len(values)] * (len(falls) - len(backs))
    found = [
        Low(
            begin_s + (int(known[at - 1]) + 1 if at else 0) * step_s,
            begin_s + int(known[at]) * step_s,
            begin_s + end * step_s,
        )
        for at, end in zip(falls, ends, strict=True)
    ]
    if not found:
        return []
    lengths_s = np.array([low.back_s - low.low_s for low in found])
    # as long as those that follow, the last ones as those about them: lows may grow longer
    size = min(_NEXT, len(lengths_s))
    following = np.lib.stride_tricks.sliding_window_view(lengths_s, size)
    usual_s = np.quantile(following, 0.5, axis=1, method="lower")
    usual_s = np.append(usual_s, np.full(size - 1, usual_s[-1]))
    return [low for low, kept in zip(found, lengths_s >= _MIN_PART * usual_s, strict=True) if kept]


def share_between(values: Array, lows: list[Low], begin_s: float, step_s: float) -> float:
    """Return the share of the variance, from first fall to last, that is between low and high.

    `values` are even, `step_s` apart, from `begin_s` on.
    """
    edges = np.array([(low.low_s, low.back_s) for low in lows]).ravel()[:-1]
    at = np.round((edges - begin_s) / step_s).astype(np.int64)
    values = values[at[0] : at[-1]]
    turns = np.zeros(len(values) + 1)
    np.add.at(turns, at - at[0], np.where(np.arange(len(at)) % 2 == 0, 1, -1))
    is_low = np.cumsum(turns)[:-1] > 0
    if is_low.all() or not is_low.any():
        return 0.0
    share = float(np.mean(is_low))
    between = share * (1 - share) * float(values[is_low].mean() - values[~is_low].mean()) ** 2
    return between / max(float(np.var(values)), 1e-300)
