"""How fast a drive goes for ever: which rate is tried next, and what the rates tried so far tell.

A rate is held for ever where the temperature has settled and nothing falls behind any more,
whatever would hold it back: heat, or a cache that is folded. What a stream at full speed is held to
is tried first; what is left between held and not held is halved.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heatsoak import words
from heatsoak.analysis.definitions import LAST_S, MIN_DROP
from heatsoak.analysis.series import Array, RateSeries
from heatsoak.ranges import Range

#: A stream that gets less than this of its rate does not keep up with it.
KEEPS_UP = 0.98
#: Nearer rates than this are not told apart.
_NEAR_X = 1.05
#: A drive that gets less of its rate is punished for being hot; the next rate is so much lower.
_LOWER = 0.4


@dataclass(frozen=True)
class Trial:
    """A rate that was tried from a rest.

    Attributes:
        asked_mb_s: of what took all it could get, what it got at first.
        moved_mb_s: what it got in its last quarter.
        held_s: how long it kept up.
        is_held: whether it kept up to its end.
        temp_c: what it was in its last minute; None if not read.
    """

    asked_mb_s: float
    moved_mb_s: float
    held_s: float
    is_held: bool
    temp_c: float | None = None


def _held_s(short_mb: Array) -> float:
    """When it first moved too little in a second, in the first minute that did, if one did."""
    behind = np.flatnonzero(np.convolve(short_mb, np.ones(int(LAST_S)), "valid") > 0)
    first = behind[0] if len(behind) else 0
    return float(first + np.argmax(short_mb[first:] > 0))


def _first_mb_s(series: RateSeries) -> float:
    """What a stream gets in its best ten seconds of the first minute."""
    edges_s = np.arange(0.0, min(series.duration_s, LAST_S) + 1e-6, 10.0)
    moved, measured_s = series.amounts.between(edges_s)
    known = measured_s > 0
    return float(np.max(moved[known] / measured_s[known], initial=0.0))


def trial_of(
    series: RateSeries, asked_mb_s: float | None, temps: tuple[Array, Array]
) -> Trial | None:
    """Return what a stream shows of its rate; `temps` are times and readings from its start.

    Its second half tells: the first has what comes once, as while a full cache is folded. Held is
    what it gets in the mean, and of which never more than a minute's waits, as it does again and
    again where a governor holds it back. Without a rate to ask for, it asked for what it got in its
    best seconds, of which a twentieth less is not too little. None for one that is shorter than two
    minutes.
    """
    end_s = series.duration_s
    if end_s < 2 * LAST_S:
        return None
    wanted_mb_s = asked_mb_s or _first_mb_s(series)
    min_mb_s = wanted_mb_s * (KEEPS_UP if asked_mb_s else 1 - MIN_DROP)
    moved, measured_s = series.amounts.between(np.arange(0.0, end_s + 1e-6))
    short_mb = min_mb_s * measured_s - moved
    total_mb = np.cumsum(short_mb[len(short_mb) // 2 :])
    waits_mb = total_mb - np.minimum.accumulate(total_mb)
    is_held = bool(total_mb[-1] <= 0 and np.max(waits_mb) <= LAST_S * min_mb_s)
    t_s, temps_c = temps
    temp_c = float(np.mean(temps_c[t_s >= t_s[-1] - LAST_S])) if len(temps_c) else None
    moved_mb_s = series.mean(0.75 * end_s, end_s)
    held_s = end_s if is_held else _held_s(short_mb)
    return Trial(wanted_mb_s, moved_mb_s, held_s, is_held, temp_c)


def _bounds_mb_s(trials: Sequence[Trial]) -> tuple[float, float, float]:
    """The highest rate that was held, 0 for none, a likely limit, and the lowest that was not.

    Infinite where all were held. A stream that asked for little more and got just what is held says
    that there is no more; one that asked for much more may be punished for it.
    """
    low = max((one.asked_mb_s for one in trials if one.is_held), default=0.0)
    fell = [one for one in trials if not one.is_held]
    near = [one.moved_mb_s for one in fell if _LOWER * one.asked_mb_s < low]
    left = [one_mb_s for one_mb_s in near if KEEPS_UP * low < one_mb_s < _NEAR_X * low]
    if left:
        return low, max(min(left), low), _NEAR_X * low
    high = max(min((one.asked_mb_s for one in fell), default=np.inf), low)
    return low, float(np.sqrt(low * high)) if fell else low, high


def limit_of(trials: Sequence[Trial]) -> Range | None:
    """Return the highest rate that is held without end, MB/s, between what was held and what not.

    None where nothing that was tried was held, nor is known to be.
    """
    low, likely, high = _bounds_mb_s(trials)
    return Range(low, likely, low if high == np.inf else high, "this run") if low else None


def next_mb_s(trials: Sequence[Trial]) -> float | None:
    """Return which rate is to be tried after others, of which there is one at least.

    None once it is known.
    """
    (low, likely, high), last = _bounds_mb_s(trials), trials[-1]
    if high == np.inf or (low and high <= low * _NEAR_X):
        return None
    if low:
        return likely
    # what it is held to may be near what it holds, where it is not punished for being hot; so may
    # what two streams got that asked for different rates
    likely, others = last.moved_mb_s, [one.moved_mb_s for one in trials[:-1]]
    is_same = any(likely / _NEAR_X < one_mb_s < likely * _NEAR_X for one_mb_s in others)
    is_near = likely < high / _NEAR_X and (is_same or (not others and _LOWER * high < likely))
    return float(KEEPS_UP * likely) if is_near else _LOWER * high


def limit_text(trials: Sequence[Trial], *, writes: bool) -> str:
    """Return what was found, in a sentence without its full stop."""
    what, limit = "writes" if writes else "reads", limit_of(trials)
    if not trials:
        return "no rate was tried"
    first = trials[0]
    if limit is None:
        tried = words.rate_text(min(one.asked_mb_s for one in trials))
        return f"no rate of {what} is known to be held for ever: not even {tried} was"
    rate = words.rate_text(limit.mid)
    held = max((one for one in trials if one.is_held), key=lambda one: one.asked_mb_s)
    shown = f"it held {words.rate_text(held.asked_mb_s)} for {words.duration_text(held.held_s)}"
    if held.temp_c is not None:
        shown += f", at {words.temp_text(held.temp_c)} by then"
    if first.is_held:
        return f"holds its full speed for ever, {rate} of {what}: {shown}"
    between = words.span_text((limit.low, limit.high), digits=3)
    full, burst = words.rate_text(first.asked_mb_s), words.duration_text(first.held_s)
    return f"holds {rate} of {what} for ever ({between}): {shown}; {full} for {burst} after a rest"
