"""When a swing is low: the falls and recoveries of a regular swing, one by one."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from heatsoak.analysis.segments.cycles import LEAST_CYCLES, PARTS, Swing, even, swing
from heatsoak.analysis.segments.drop import MIN_DROP
from heatsoak.analysis.segments.levels import BLIP_S
from heatsoak.analysis.series import MAD_TO_SIGMA, Array, Series

#: Throughput is low in the lower third of a swing and high in the upper one.
_LOW, _HIGH = 0.4, 0.6
#: The ends of a swing, so that a dip or a burst is none.
_ENDS = (0.05, 0.95)
#: What is low for less than this part of the time of the next few is a dip.
_LEAST_PART, _NEXT = 0.4, 5
#: The next fall of a swing comes within so many periods, of the swing or the last one.
_SOON = 2.5
#: Samples, one at each end, may show a low later or earlier than it was.
_BESIDE = 2.0
#: So many of its falls come about a period after the one before, or it is no swing: about the
#: swing's own, or, where it drifts, about as long a one as the last.
_REGULAR_PART, _ABOUT, _LIKE_THE_LAST = 0.8, (0.5, 1.5), 1.5
#: The two sides of a swing take so much of its variance, of noise that is cut in two up to 0.64;
#: and by chance the more the fewer cycles there are.
_LEAST_APART, _IF_FEW = 0.6, 0.6
#: Lows that come this near to a period apart have that period.
_SAME = 0.25
#: So many lows that come otherwise are no chance.
_LEAST_IF_OTHER = 12
#: So many periods, each about as long as the last, are none either.
_LEAST_IF_DRIFTING = 5
#: A first high part this many times as long as the later ones is a level that the swing fell from.
_LONGER = 1.3
#: A recovery shorter than this, or of fewer samples, does not part two falls.
BRIEF_S, BRIEF_SAMPLES = 10.0, 4
#: A fall is so many standard deviations of the noise, or it may be noise.
_BEYOND_NOISE = 4.0
#: One this many times as long, and higher, is such a level too.
_AS_LONG = 0.7


@dataclass(frozen=True)
class Low:
    """A low part: it falls after `high_s` and before `low_s`, and is back at `back_s`."""

    high_s: float
    low_s: float
    back_s: float


@dataclass(frozen=True)
class Swinging:
    """A stretch that swings.

    Attributes:
        found: the swing, with the share that is low as the lows have it.
        lows: its low parts, in order.
        is_since_begin: whether it swung from the begin of what was looked at.
        is_clear: whether its lows come regularly and lie apart from what is high.
    """

    found: Swing
    lows: list[Low]
    is_since_begin: bool
    is_clear: bool


def swinging(
    series: Series, begin_s: float, from_s: float, to_s: float, end_s: float
) -> Swinging | None:
    """Return how throughput swings between `begin_s` and `end_s`, as it does `from_s` `to_s`.

    A period that drifts hides in the whole stretch and shows in a part of it. None where nothing
    swings by `MIN_DROP` of the mean, or where less than that is lost on the whole; what swings
    within `BLIP_S` is noise.
    """
    middle_s = 0.5 * (from_s + to_s)
    late_s = 0.5 * (middle_s + to_s)
    for first_s, last_s in (
        (from_s, to_s), (middle_s, to_s), (from_s, middle_s), (late_s, to_s)
    ):  # fmt: skip
        found = swing(series, first_s, last_s, series.mean(first_s, last_s))
        if found is None or found.period_s <= BLIP_S:
            continue
        whole = since(series, begin_s, first_s, last_s, end_s, found)
        if whole is None or not whole.is_clear:
            continue
        lows = whole.lows
        before = series.mean(begin_s, lows[0].high_s)
        if whole.is_since_begin or (
            series.mean(lows[0].high_s, lows[-1].back_s) < (1 - MIN_DROP) * before
        ):
            return whole
    return None


def since(
    series: Series, begin_s: float, from_s: float, to_s: float, end_s: float, found: Swing
) -> Swinging | None:
    """Return all of a swing between `begin_s` and `end_s` that was found from `from_s` to `to_s`.

    None where it is too quick for so long a stretch, or hardly low or high.
    """
    values, step_s = even(series, begin_s, end_s, max(series.sampling_s, found.period_s / PARTS))
    first, last = (round((at_s - begin_s) / step_s) for at_s in (from_s, to_s))
    part = values[first:last]
    if len(part) == 0 or found.period_s < 2 * step_s:
        return None
    bottom, top = np.quantile(part, _ENDS)
    lows = _lows(values, bottom, top, begin_s, step_s)
    inside = [index for index, low in enumerate(lows) if from_s - step_s <= low.low_s <= to_s]
    if len(inside) < 2:
        return None
    # others of the same swing lie before and after; its period may drift
    start, stop = inside[0], inside[-1]
    falls_s = np.array([low.low_s for low in lows])
    apart_s = np.diff(falls_s)
    # what a gap hides is no time without a low
    seen_s = np.diff(np.interp(falls_s, series.t_s, np.cumsum(series.interval_s)))
    beside_s = _BESIDE * step_s
    # a low long before the others, or long after them, is a dip
    alone_s = _SOON * float(np.median(seen_s[start:stop])) + beside_s
    while stop - start > 1 and seen_s[start] > alone_s:
        start += 1
    while stop - start > 1 and seen_s[stop - 1] > alone_s:
        stop -= 1
    # what is sampled seldom may be most like itself several periods later
    period_s, least_cycles = float(np.mean(apart_s[start:stop])), _LEAST_IF_OTHER
    if abs(period_s - found.period_s) < _SAME * found.period_s:
        period_s, least_cycles = found.period_s, LEAST_CYCLES

    def soon_s(last_s: float) -> float:
        return _SOON * max(period_s, last_s) + beside_s

    while start > 0 and seen_s[start - 1] <= soon_s(apart_s[start]):
        start -= 1
    while stop < len(apart_s) and seen_s[stop] <= soon_s(apart_s[stop - 1]):
        stop += 1
    lows = lows[start : stop + 1]
    periods_s = apart_s[start:stop]
    least = _LEAST_APART + _IF_FEW / len(lows)
    is_clear = len(lows) >= least_cycles and _are_regular(periods_s, period_s)
    is_clear = is_clear and _apart(values, lows, begin_s, step_s) >= least
    low_s = np.array([low.back_s - low.low_s for low in lows[:-1]])
    highs_s = np.array([b.high_s - a.back_s for a, b in pairwise(lows)])
    usual = Swing(period_s, float(np.clip(np.sum(low_s) / np.sum(periods_s), 0, 1)))
    high_s, usual_s = lows[0].high_s - begin_s, float(np.quantile(highs_s, 0.75))
    is_since_begin = high_s < _LONGER * usual_s + step_s
    if is_since_begin and high_s > _AS_LONG * usual_s:
        is_since_begin = not _is_higher(series, begin_s, lows)
    return Swinging(usual, lows, bool(is_since_begin), is_clear)


def _are_regular(periods_s: Array, period_s: float) -> bool:
    """Whether lows come about a period apart, be it that this drifts."""
    least_s, most_s = (share * period_s for share in _ABOUT)
    if np.mean((periods_s >= least_s) & (periods_s <= most_s)) >= _REGULAR_PART:
        return True
    if len(periods_s) < _LEAST_IF_DRIFTING:
        return False
    alike = np.abs(np.diff(np.log(periods_s))) <= np.log(_LIKE_THE_LAST)
    return bool(np.mean(alike) >= _REGULAR_PART)


def _is_higher(series: Series, begin_s: float, lows: list[Low]) -> bool:
    """Whether what comes before the first low part is higher than the high parts of the swing."""
    highs = [series.mean(a.back_s, b.high_s) for a, b in pairwise(lows)]
    highest = max((high for high in highs if np.isfinite(high)), default=np.inf)
    return series.mean(begin_s, lows[0].high_s) > (1 + MIN_DROP) * highest


def first_of_brief(series: Series, begin_s: float, onset_s: float, end_s: float) -> Low | None:
    """Return the first fall of those that were back only briefly before the one at `onset_s`.

    Throughput is low until `end_s`. None where there is no such fall, or where noise may look like
    one.
    """
    step_s = max(series.sampling_s, 0.5 * BLIP_S)
    values, step_s = even(series, onset_s + step_s, end_s, step_s)
    if len(values) == 0:
        return None
    during = float(np.median(values))
    noise = MAD_TO_SIGMA * float(np.median(np.abs(values - during)))
    values, step_s = even(series, begin_s, onset_s, step_s)
    if len(values) == 0:
        return None
    before = float(np.median(values))
    # what stands still most of the time has no level that it fell from
    if not before > max(during, 0.0):
        return None
    if _HIGH * (before - during) < _BEYOND_NOISE * noise * before / max(during, 1e-9 * before):
        return None
    first: Low | None = None
    next_s = onset_s
    for low in reversed(_lows(values, during, before, begin_s, step_s)):
        if next_s - low.back_s > max(BRIEF_S, BRIEF_SAMPLES * series.sampling_s):
            break
        next_s = low.high_s
        if low.back_s - low.low_s >= BLIP_S and low.high_s > begin_s:
            first = low
    return first


def _apart(values: Array, lows: list[Low], begin_s: float, step_s: float) -> float:
    """The share of the variance from the first fall to the last that is between low and high."""
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


def _lows(values: Array, bottom: float, top: float, begin_s: float, step_s: float) -> list[Low]:
    """Low parts between high ones, dips left out."""
    is_low = values < bottom + _LOW * (top - bottom)
    is_high = values > bottom + _HIGH * (top - bottom)
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
    return [
        low for low, kept in zip(found, lengths_s >= _LEAST_PART * usual_s, strict=True) if kept
    ]
