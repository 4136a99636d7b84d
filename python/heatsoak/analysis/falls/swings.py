"""Oscillation: falls and recoveries whose description is shorter together than one by one.

Where single falls stand out of the noise, their lengths tell: each is predicted from those before
it, as log-normal where they are regular, and as exponential where a fall may come at any time.
Where noise hides them, a line in the spectrum of what the curve leaves over tells.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from math import lgamma
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from heatsoak.analysis import definitions
from heatsoak.analysis.falls import curve as curves
from heatsoak.analysis.falls.curve import Bins, CurveNoise, Piece
from heatsoak.analysis.series import Array

#: A length is predicted from so many before it: a governor's period may drift.
_REMEMBERED = 8
#: How much regular lengths scatter before any was seen, in logarithms.
_SCATTER = 0.2
#: What scatters more is not regular.
_UNEVEN = 0.4
#: What a line in the spectrum costs, in parameters: two for its frequency, amplitude, phase, and
#: being one.
_LINE = 5.0
#: That falls come regularly is one to thirty beforehand: twice the logarithm of that.
_SELDOM = 7.0
#: A high part that lasts up to so many periods before a lower fall is the swing's.
_WITHIN = 2.0
#: Noise of its own is told of no fewer bins.
_OWN_NOISE = 60
#: Means over this part of a period show its lows and highs.
_PART = 6
_LEAST = -float(np.log1p(-definitions.MIN_DROP))


@dataclass(frozen=True)
class Swing:
    """Bins `start` to `end`, from the first fall to the last recovery, that oscillate.

    Attributes:
        low: the usual logarithm of its low parts.
        period, duty: in bins, and the part of it that is low.
        course: how its means over whole periods move, relative to the first of them.
        is_usual: whether it was there from the start; a slow one has fallen all the same.
    """

    start: int
    end: int
    low: float
    period: float
    duty: float
    course: list[Piece]
    is_usual: bool


def curve_of(bins: Bins) -> tuple[list[Piece], Array]:
    """Return the pieces of the curve of bins, each with its noise, and the curve with its swings.

    What lies apart by a sudden change is looked at on its own: it may be quieter than the rest.
    """
    chain, curve = _told(bins.logs)
    cuts = [
        after.start
        for before, after in pairwise(chain)
        if abs(after.first - before.last) >= _LEAST
        and min(before.end - before.start, after.end - after.start) >= _OWN_NOISE
    ]
    pieces: list[Piece] = []
    for start, end in pairwise([0, *cuts, len(curve)]):
        usual = [piece for piece in chain if start <= piece.start < end]
        if cuts:
            own, drawn_alone = _told(bins.logs[start:end])
            if own[0].noise.of_mean(1) < usual[0].noise.of_mean(1):
                usual = [replace(one, start=one.start + start, end=one.end + start) for one in own]
                curve[start:end] = drawn_alone
        pieces += usual
    return pieces, curve


def _told(logs: Array) -> tuple[list[Piece], Array]:
    """The pieces of bins under one noise, and the curve with swings.

    How alike neighbours are by noise is what makes the description shortest. Changes of level look
    like noise, and noise hides changes: so how strong it is, is looked at again beside the curve.
    """
    rest, starts, least = logs, [0, len(curves.CORRELATIONS) // 2], np.inf
    found: tuple[list[Piece], Array] | None = None
    while True:
        start, length, chain = min(
            (_shortest(logs, rest, one) for one in starts), key=itemgetter(1)
        )
        if found is not None and length >= least:
            return found
        curve = curves.drawn(chain)
        for piece in chain:
            _draw_hidden(logs, curve, piece, curves.unit_of(len(curve), piece.noise))
        least, found, rest, starts = length, (chain, curve), logs - curve, [start]


def _shortest(logs: Array, rest: Array, best: int) -> tuple[int, float, list[Piece]]:
    """The shortest description by any correlation, whose index stands first.

    The noise is as strong as `rest` has it; `best` is the correlation to begin with.
    """
    edges = np.array([len(logs)])
    noises = curves.noises_of(rest)
    while True:
        start = best
        edges = np.union1d(edges, curves.proposed(logs, noises[start]))
        tried: dict[int, tuple[float, list[Piece]]] = {}
        while True:
            near = [one for one in (best, best - 1, best + 1) if 0 <= one < len(noises)]
            for one in near:
                if one not in tried:
                    tried[one] = curves.described(logs, edges, noises[one])
            nearest = min(near, key=lambda one: tried[one][0])
            if nearest == best:
                break
            best = nearest
        if best == start:
            return best, *tried[best]


def swings_of(bins: Bins, chain: list[Piece], curve: Array) -> list[Swing]:
    """Return the oscillations of a curve of some pieces, in order."""
    turns = turns_of(curve)
    crossed = [
        _low_about(curve, turns[at - 1], turns[at], turns[at + 1] if at + 1 < len(turns) else None)
        for at in range(1, len(turns), 2)
    ]
    falls, backs = np.array(crossed, dtype=int).reshape(-1, 2).T
    if len(falls) < definitions.MIN_CYCLES:
        return []
    tops, bottoms = curve[turns[::2]], curve[turns[1::2]]
    # what stays below the lows is another fall
    parted = np.zeros(len(falls), dtype=bool)
    parted[1:-1] = tops[2 : len(falls)] < bottoms[: len(falls) - 2]
    found: list[Swing] = []
    done = 0
    depths = (tops[: len(bottoms)] - bottoms) / _LEAST
    for first, last in _runs(backs - falls, np.diff(falls, prepend=0), depths, parted):
        first = max(first, done)
        if last - first + 1 >= definitions.MIN_CYCLES:
            usual = np.median(np.diff(falls[first : last + 1]))
            # the first low and the last may be longer, or cut short
            regular, lowest = first, np.min(bottoms[first:last]) - _LEAST
            # nor is what falls below all lows one of them
            last -= bool(bottoms[last] < lowest and last - first >= definitions.MIN_CYCLES)
            while first > done and falls[first] - falls[first - 1] < 2 * usual:
                first -= 1
            while last + 1 < len(falls) and backs[last + 1] - falls[last] < 2 * usual:
                if parted[last + 1] or bottoms[last + 1] < lowest:
                    break
                last += 1
            done = last + 1
            some = slice(first, last + 1)
            lows, periods = (backs - falls)[some], np.diff(falls[some])
            start, end = int(falls[first]), int(backs[last])
            period = float(np.median(periods))
            noise = next(piece.noise for piece in chain if piece.end > start)
            course = _course(bins, noise, int(falls[regular]), end, period)
            high = float(np.median(tops[first : last + 2]))
            if np.mean(np.exp(bins.logs[start:end] - high)) > 1 - definitions.ONSET_LOSS:
                # lows that cost next to nothing are dips, however regular
                continue
            # a high part that the next fall ends, or the series, is its own
            is_last = last + 1 == len(falls)
            after = len(curve) if is_last else int(falls[last + 1])
            if after - end <= min(_WITHIN * period, bins.brief if is_last else np.inf):
                end = after
            course[0] = replace(course[0], start=start)
            course[-1] = replace(course[-1], end=end)
            low, duty = float(np.median(bottoms[some])), float(np.sum(lows[:-1]) / np.sum(periods))
            is_usual = period * bins.width_s <= 2 * definitions.MAX_STEADY_FALL_S
            is_usual = is_usual and _is_usual(curve, start, np.max(periods - lows[:-1]), period)
            found.append(Swing(start, end, low, period, duty, course, is_usual))
    return found


def _is_usual(curve: Array, start: int, longest_high: float, period: float) -> bool:
    """Whether what comes before a swing's first fall may be a part of it."""
    if start > period + 1:
        return False
    middle = 0.5 * (np.max(curve[: start + 1]) + np.min(curve[start : start + round(period)]))
    low = np.flatnonzero(curve[:start] < middle)
    return bool(start - (low[-1] + 1 if len(low) else 0) <= longest_high + 1)


def turns_of(curve: Array) -> list[int]:
    """Return where a curve turns by `MIN_DROP` and more: at a high, a low, a high and so on."""
    steps = np.sign(np.diff(curve))
    moving = np.flatnonzero(steps)
    turning = moving[1:][steps[moving[1:]] != steps[moving[:-1]]]
    turns: list[int] = []
    top = bottom = 0
    falls = False
    for at in [*turning.tolist(), len(curve) - 1]:
        top = at if curve[at] > curve[top] else top
        bottom = at if curve[at] < curve[bottom] else bottom
        if not falls and curve[top] - curve[at] >= _LEAST:
            turns.append(top)
            falls, bottom = True, at
        elif falls and curve[at] - curve[bottom] >= _LEAST:
            turns.append(bottom)
            falls, top = False, at
    return [*turns, bottom if falls else top]


def _low_about(curve: Array, before: int, bottom: int, after: int | None) -> tuple[int, int]:
    """The low part about a bottom: below the middle to the lower of the highs beside it."""
    top = curve[before] if after is None else min(curve[before], curve[after])
    is_high = curve >= 0.5 * (top + curve[bottom])
    end = len(curve) if after is None else bottom + int(np.argmax(is_high[bottom : after + 1]))
    return bottom - int(np.argmax(is_high[before : bottom + 1][::-1])) + 1, end


class _Lengths:
    """Lengths that are told one after the other: how regular, and how long by chance."""

    def __init__(self) -> None:
        self._last: list[float] = []

    def gain(self, length: float) -> float:
        """Twice the logarithm of how much likelier the next length is as a regular one."""
        length = max(length, 1.0)
        seen, total = self._last[-_REMEMBERED:], sum(self._last[-_REMEMBERED:])
        self._last.append(length)
        if not seen:
            return 0.0
        known = len(seen)
        logs = np.log(seen)
        spread = (_SCATTER**2 + float(np.sum((logs - logs.mean()) ** 2))) / known
        scale = np.sqrt(min(spread, _UNEVEN**2) * (1 + 1 / known))
        regular = lgamma((known + 1) / 2) - lgamma(known / 2) - np.log(scale)
        regular -= 0.5 * np.log(np.pi * known)
        apart = (np.log(length) - logs.mean()) / scale
        regular -= (known + 1) / 2 * np.log1p(apart**2 / known)
        chance = np.log(known) + known * np.log(total) + np.log(length)
        chance -= (known + 1) * np.log(total + length)
        return float(2 * (regular - chance))


class _Falls:
    """Falls that are told one after the other: whether length, distance and depth are alike."""

    def __init__(self) -> None:
        self._lows, self._periods, self._depths = _Lengths(), _Lengths(), _Lengths()

    def gain(self, low: float, depth: float, period: float | None) -> float:
        """Twice the logarithm of how much likelier the next fall is as one of these.

        Depths that differ speak against it; that they are alike is no sign, as any dips' may be.
        """
        gain = self._lows.gain(low) + min(self._depths.gain(depth), 0.0)
        return gain if period is None else gain + self._periods.gain(period)


def _runs(
    lows: Array, periods: Array, depths: Array, parted: NDArray[np.bool_]
) -> list[tuple[int, int]]:
    """The runs whose description is shorter as regular, apart from each other: first and last.

    `periods` are those since the fall before. None goes past what is `parted`.
    """
    runs: list[tuple[int, int]] = []
    start, total, best, end = 0, 0.0, 0.0, -1
    told = _Falls()
    for index in range(len(lows) + 1):
        if index == len(lows) or parted[index]:
            total = -np.inf
        else:
            period = periods[index] if index > start else None
            total += told.gain(lows[index], depths[index], period)
        if total > best:
            best, end = total, index
        elif total < 0 or best - total > _SELDOM:
            if best > _SELDOM:
                runs.append((_begin(lows, periods, depths, start, end), end))
            start, total, best = index, 0.0, 0.0
            told = _Falls()
            if index < len(lows):
                told.gain(lows[index], depths[index], None)
    return runs


def _begin(lows: Array, periods: Array, depths: Array, start: int, end: int) -> int:
    """Where a run begins, told backwards: what comes before it costs more than it saves."""
    told = _Falls()
    gains = [
        told.gain(lows[at], depths[at], None if at == end else periods[at + 1])
        for at in range(end, start - 1, -1)
    ]
    return end - int(np.argmax(np.cumsum(gains)))


def _draw_hidden(logs: Array, curve: Array, piece: Piece, unit: float) -> None:
    """Draw the swing that a piece passes for noise, if there is one, into the curve."""
    here = slice(piece.start, piece.end)
    rest = logs[here] - curve[here]
    best = (_LINE * unit, 0, 0, 0.0)
    size = len(rest)
    while size >= 4 * definitions.MIN_CYCLES:
        windows = np.lib.stride_tricks.sliding_window_view(rest, size)[:: size // 2]
        at, gain, period = _line(windows, piece.noise)
        best = max(best, (gain, at * (size // 2), at * (size // 2) + size, period))
        size //= 2
    _, start, end, period = best
    if end == 0:
        return
    width = max(1, round(period / _PART))
    smooth = np.convolve(np.pad(rest, width, mode="edge"), np.ones(width) / width, mode="same")
    smooth = smooth[width:-width]
    low, high = np.quantile(smooth[start:end], [0.1, 0.9])
    if high - low < _LEAST:
        return
    third = (high - low) / 3
    sides = (smooth > high - third).astype(int) - (smooth < low + third)
    kept = np.flatnonzero(sides)
    edges = kept[np.flatnonzero(np.diff(sides[kept], prepend=1))]
    falls, backs = edges[::2], np.append(edges[1::2], len(rest))[: len(edges[::2])]
    inside = np.flatnonzero((falls < end) & (backs > start))
    if len(inside) < definitions.MIN_CYCLES:
        return
    first, last = int(inside[0]), int(inside[-1])
    while first > 0 and falls[first] - falls[first - 1] < 2 * period:
        first -= 1
    while last + 1 < len(falls) and falls[last + 1] - falls[last] < 2 * period:
        last += 1
    falls, backs = falls[first : last + 1], backs[first : last + 1]
    lows, periods = _Lengths(), _Lengths()
    if sum(map(lows.gain, backs - falls)) + sum(map(periods.gain, np.diff(falls))) < 0:
        return
    for fall, back, after in zip(falls, backs, np.append(falls[1:], backs[-1:]), strict=True):
        curve[here][fall:back] += low
        curve[here][back:after] += high


def _line(windows: Array, noise: CurveNoise) -> tuple[int, float, float]:
    """The window whose spectrum has the clearest line, twice its log-likelihood, and its period."""
    count = windows.shape[1]
    taper = np.hanning(count + 2)[1:-1]
    level = windows.mean(axis=1, keepdims=True)
    power = np.abs(np.fft.rfft((windows - level) * taper, axis=1)) ** 2 / np.sum(taper**2)
    turns = 2 * np.pi * np.arange(power.shape[1]) / count
    usual = 1 - 2 * noise.correlation * np.cos(turns) + noise.correlation**2
    ratio = power * usual / noise.innovation**2
    # noise that is stronger here, or of another colour, has no line
    for octave in range(3, int(np.log2(power.shape[1]))):
        some = ratio[:, 1 << octave : 2 << octave]
        some /= np.maximum(1.0, np.median(some, axis=1, keepdims=True) / np.log(2))
    ratio[:, : definitions.MIN_CYCLES] = 0.0
    at, line = divmod(int(np.argmax(ratio)), ratio.shape[1])
    return at, 2 * float(ratio[at, line]), count / max(line, 1)


def _course(bins: Bins, noise: CurveNoise, start: int, end: int, period: float) -> list[Piece]:
    """How the means of whole periods move: another cause may act on what swings."""
    size = max(1, round(period))
    count = (end - start) // size
    whole = Piece(start, end, 0.0, 0.0, np.inf, noise)
    if count < 2 * definitions.MIN_CYCLES:
        return [whole]
    means = bins.logs[start : start + count * size].reshape(count, size).mean(axis=1)
    found = _shortest(means, means, 0)[2]
    course = [
        replace(
            one,
            start=start + size * one.start,
            end=start + size * one.end,
            level=one.level - found[0].first,
            change=one.change / (size if np.isinf(one.constant) else 1),
            constant=one.constant * size,
            noise=noise,
        )
        for one in found
    ]
    return [*course[:-1], replace(course[-1], end=end)]
