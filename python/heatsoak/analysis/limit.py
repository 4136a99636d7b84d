"""How fast a drive goes for ever: which rate is tried next, and what the rates tried so far tell.

A rate is held where the temperature settles and nothing falls behind. Heat goes with what is
moved, so that the settled temperature is nearly a line over the rate; the limit is where that line
meets the temperature at which the drive fell behind.
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
#: Nearer rates than this cannot be told apart by a drive that is read in whole kelvins.
_NEAR_X = 1.05
#: A drive that gets less of its rate is punished for being hot; the next rate is so much lower.
_PUNISHED, _LOWER = 0.4, 0.5
#: After so many rates the line has been wrong too often: the rest is halved.
_MOST_BY_LINE = 8
#: Two rates whose temperatures make a line are at least so far apart.
_APART = 0.85


@dataclass(frozen=True)
class Trial:
    """A rate that was tried from a rest.

    Attributes:
        asked_mb_s: of what took all it could get, what it got at first.
        moved_mb_s: what it got in its second half.
        held_s: how long it kept up.
        is_held: whether it kept up to its end.
        temp_c: what it was in its last minute, or at most when it fell behind; None if not read.
        rest_c: what it was when it began.
    """

    asked_mb_s: float
    moved_mb_s: float
    held_s: float
    is_held: bool
    temp_c: float | None = None
    rest_c: float | None = None


def _behind_from_s(short_mb: Array) -> float | None:
    """When it first moved too little in a second, in the first minute that got too little."""
    minute = np.ones(int(LAST_S))
    behind = np.flatnonzero(np.convolve(short_mb, minute, "valid") > 0)
    if not len(behind):
        return None
    return float(behind[0] + np.argmax(short_mb[behind[0] :] > 0))


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
    fell_s = None if is_held else _behind_from_s(short_mb)
    t_s, temps_c = temps
    temp_c = rest_c = None
    if len(temps_c):
        last_c = temps_c[t_s >= t_s[-1] - LAST_S]
        temp_c = float(np.mean(last_c) if fell_s is None else np.max(temps_c))
        rest_c = float(temps_c[0])
    moved_mb_s = series.mean(0.5 * end_s, end_s)
    held_s = end_s if fell_s is None else fell_s
    return Trial(wanted_mb_s, moved_mb_s, held_s, is_held, temp_c, rest_c)


def _bounds_mb_s(trials: Sequence[Trial]) -> tuple[float, float | None, float]:
    """The highest rate that was held, 0 for none, a likely limit, and the lowest that was not.

    Infinite where all were held. A stream that asked for more and got just what is held says that
    there is no more.
    """
    low = max((one.asked_mb_s for one in trials if one.is_held), default=0.0)
    fell = [one for one in trials if not one.is_held]
    left = [one.moved_mb_s for one in fell if KEEPS_UP * low < one.moved_mb_s < _NEAR_X * low]
    if left:
        return low, max(min(left), low), _NEAR_X * low
    high = max(min((one.asked_mb_s for one in fell), default=np.inf), low)
    return low, _by_line(trials) if fell else None, high


def limit_of(trials: Sequence[Trial]) -> Range | None:
    """Return the highest rate that is held without end, MB/s, between what was held and what not.

    None where nothing that was tried was held, nor is known to be.
    """
    low, likely, high = _bounds_mb_s(trials)
    if not low:
        return None
    if high == np.inf:
        return Range(low, low, low, "this run")
    if likely is None or not low <= likely <= high:
        # a line that leads elsewhere says nothing
        likely = 0.5 * (low + high)
    return Range(low, likely, high, "this run")


def next_mb_s(trials: Sequence[Trial]) -> float | None:
    """Return which rate is to be tried after others, of which there is one at least.

    None once it is known.
    """
    (low, likely, high), last = _bounds_mb_s(trials), trials[-1]
    if high == np.inf:
        return None
    if not low:
        # what it is held to may be near what it holds, where it is not punished for being hot
        is_near = len(trials) == 1 and _PUNISHED * high < last.moved_mb_s < high / _NEAR_X
        return float(last.moved_mb_s) if is_near else _LOWER * high
    if high <= low * _NEAR_X:
        return None
    by_line = likely if len(trials) <= _MOST_BY_LINE else None
    if by_line is None:
        return float(np.sqrt(low * high))
    below = by_line / _NEAR_X**0.5
    if last.is_held and last.asked_mb_s >= below:
        return float(min(last.asked_mb_s * _NEAR_X, high / _NEAR_X**0.5))
    # a line that is wrong, as after rests that were too short, must not be followed in small steps
    ends = low + (high - low) * np.array([0.15, 0.85 if last.is_held else 0.6])
    return float(np.clip(below, *ends))


def _by_line(trials: Sequence[Trial]) -> float | None:
    """Where the settled temperature reaches that of falling behind, MB/s."""
    fell = min((one for one in trials if not one.is_held), key=lambda one: one.asked_mb_s)
    points = sorted((one.asked_mb_s, one.temp_c) for one in trials if one.is_held and one.temp_c)
    if trials[0].rest_c is not None:
        points.insert(0, (0.0, trials[0].rest_c))
    if fell.temp_c is None or len(points) < 2:
        return None
    x1, y1 = points[-1]
    # whole kelvins make no line of points that are near each other
    x0, y0 = next((one for one in reversed(points) if one[0] < _APART * x1), points[0])
    return float(x1 + (fell.temp_c - y1) * (x1 - x0) / (y1 - y0)) if y1 > y0 else None


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
    temp = "with no temperature read" if held.temp_c is None else f"at {words.temp_text(held.temp_c)}"
    shown = f"held for {words.duration_text(held.held_s)}, {temp} by then"
    if first.is_held:
        return f"holds its full speed for ever: {rate} of {what}, {shown}"
    between = words.span_text((limit.low, limit.high), digits=3)
    full, burst = words.rate_text(first.asked_mb_s), words.duration_text(first.held_s)
    return f"holds {rate} of {what} for ever ({between}, {shown}); {full} for {burst} after a rest"
