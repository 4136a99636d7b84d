"""Where throughput swings: all low parts of a regular swing, and whether it fell from a level."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from heatsoak.analysis.definitions import MIN_CYCLES, MIN_DROP
from heatsoak.analysis.segments.cycles import PARTS, Swing, even, swing
from heatsoak.analysis.segments.levels import BLIP_S
from heatsoak.analysis.segments.lows import Low, lows_of, share_between
from heatsoak.analysis.series import Array, Series

#: The ends of a swing, so that a dip or a burst is none.
_ENDS = (0.05, 0.95)
#: The next fall of a swing comes within so many periods, of the swing or the last one.
_SOON = 2.5
#: Samples, one at each end, may show a low later or earlier than it was.
_BESIDE = 2.0
#: So many of its falls come about a period after the one before, or it is no swing: about the
#: swing's own, or, where it drifts, about as long a one as the last.
_REGULAR_PART, _ABOUT, _LIKE_THE_LAST = 0.8, (0.5, 1.5), 1.5
#: The two sides of a swing take so much of its variance, of noise that is cut in two up to 0.64;
#: and by chance the more the fewer cycles there are.
_MIN_APART, _IF_FEW = 0.6, 0.6
#: Lows that come this near to a period apart have that period.
_SAME = 0.25
#: So many lows that come otherwise are no chance.
_MIN_IF_OTHER = 12
#: So many periods, each about as long as the last, are none either.
_MIN_IF_DRIFTING = 5
#: A first high part this many times as long as the later ones is a level that the swing fell from.
_LONGER = 1.3
#: One this many times as long, and higher, is such a level too.
_AS_LONG = 0.7


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
    lows = lows_of(values, bottom, top, begin_s, step_s)
    inside = [index for index, low in enumerate(lows) if from_s - step_s <= low.low_s <= to_s]
    if len(inside) < 2:
        return None
    lows, period_s, least_cycles = _together(series, lows, inside, step_s, found)
    periods_s = np.diff([low.low_s for low in lows])
    least = _MIN_APART + _IF_FEW / len(lows)
    is_clear = len(lows) >= least_cycles and _are_regular(periods_s, period_s)
    is_clear = is_clear and share_between(values, lows, begin_s, step_s) >= least
    low_s = np.array([low.back_s - low.low_s for low in lows[:-1]])
    usual = Swing(period_s, float(np.clip(np.sum(low_s) / np.sum(periods_s), 0, 1)))
    return Swinging(usual, lows, _is_since_begin(series, begin_s, lows, step_s), is_clear)


def _together(
    series: Series, lows: list[Low], inside: list[int], step_s: float, found: Swing
) -> tuple[list[Low], float, int]:
    """The lows of one swing about those `inside`, their period, and how many are no chance."""
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
    period_s, least_cycles = float(np.mean(apart_s[start:stop])), _MIN_IF_OTHER
    if abs(period_s - found.period_s) < _SAME * found.period_s:
        period_s, least_cycles = found.period_s, MIN_CYCLES

    def soon_s(last_s: float) -> float:
        return _SOON * max(period_s, last_s) + beside_s

    while start > 0 and seen_s[start - 1] <= soon_s(apart_s[start]):
        start -= 1
    while stop < len(apart_s) and seen_s[stop] <= soon_s(apart_s[stop - 1]):
        stop += 1
    return lows[start : stop + 1], period_s, least_cycles


def _is_since_begin(series: Series, begin_s: float, lows: list[Low], step_s: float) -> bool:
    """Whether there is no level before the first low part that is more than a high part."""
    highs_s = [b.high_s - a.back_s for a, b in pairwise(lows)]
    high_s, usual_s = lows[0].high_s - begin_s, float(np.quantile(highs_s, 0.75))
    if high_s >= _LONGER * usual_s + step_s:
        return False
    return high_s <= _AS_LONG * usual_s or not _is_higher(series, begin_s, lows)


def _are_regular(periods_s: Array, period_s: float) -> bool:
    """Whether lows come about a period apart, be it that this drifts."""
    least_s, most_s = (share * period_s for share in _ABOUT)
    if np.mean((periods_s >= least_s) & (periods_s <= most_s)) >= _REGULAR_PART:
        return True
    if len(periods_s) < _MIN_IF_DRIFTING:
        return False
    alike = np.abs(np.diff(np.log(periods_s))) <= np.log(_LIKE_THE_LAST)
    return bool(np.mean(alike) >= _REGULAR_PART)


def _is_higher(series: Series, begin_s: float, lows: list[Low]) -> bool:
    """Whether what comes before the first low part is higher than the high parts of the swing."""
    highs = [series.mean(a.back_s, b.high_s) for a, b in pairwise(lows)]
    highest = max((high for high in highs if np.isfinite(high)), default=np.inf)
    return series.mean(begin_s, lows[0].high_s) > (1 + MIN_DROP) * highest
