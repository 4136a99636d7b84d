"""Oscillation: falls and recoveries whose description is shorter together than one by one.

Where single falls stand out of the noise, their lengths tell: each is predicted from those before
it, as log-normal where they are regular, and as exponential where a fall may come at any time.
Where noise hides them, a line in the spectrum of what the curve leaves over tells.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from math import lgamma
from operator import itemgetter
from typing import Any

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
    edges, tried = np.array([len(logs)]), dict[int, tuple[float, list[Piece]]]()
    noises = curves.noises_of(rest)
    while True:
        start, known = best, len(edges)
        edges = np.union1d(edges, curves.proposed(logs, noises[start]))
        if len(edges) > known:
            tried.clear()
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
    turns = np.array(turns_of(curve))
    if len(turns) < 2 * definitions.MIN_CYCLES:
        return []
    falls, backs = _lows_of(curve, turns)
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
    falls, levels = False, curve.tolist()
    for at in [*turning.tolist(), len(levels) - 1]:
        top = at if levels[at] > levels[top] else top
        bottom = at if levels[at] < levels[bottom] else bottom
        if not falls and levels[top] - levels[at] >= _LEAST:
            turns.append(top)
            falls, bottom = True, at
        elif falls and levels[at] - levels[bottom] >= _LEAST:
            turns.append(bottom)
            falls, top = False, at
    return [*turns, bottom if falls else top]


def _lows_of(curve: Array, turns: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """Where the low parts about the bottoms begin and end: below the middle to the lower of the
    highs beside each."""
    tops, lows = curve[turns[::2]], turns[1::2]
    beside = np.minimum(tops, np.append(tops[1:], np.inf))[: len(lows)]
    middles = 0.5 * (beside + curve[lows])
    before = np.flatnonzero(curve[: lows[-1]] >= np.repeat(middles, np.diff(lows, prepend=0)))
    ends = np.diff(lows, append=len(curve))
    after = lows[0] + np.flatnonzero(curve[lows[0] :] >= np.repeat(middles, ends))
    backs = np.append(after, len(curve))[np.searchsorted(after, lows)]
    if len(tops) == len(lows):
        backs[-1] = len(curve)
    return before[np.searchsorted(before, lows) - 1] + 1, backs


def _gains(lengths: NDArray[Any]) -> Array:
    """Twice the logarithm of how much likelier each length is as a regular one than by chance.

    A row (`_REMEMBERED` + 1, lengths) has it as told by so many lengths before it.
    """
    lengths = np.maximum(lengths, 1.0)
    logs = np.log(lengths)
    gains = np.zeros((_REMEMBERED + 1, len(lengths)))
    total = first = second = np.zeros(len(lengths))
    for known in range(1, min(_REMEMBERED + 1, len(lengths))):
        own, apart = lengths[known:], logs[:-known] - logs[known:]
        total, first = total[1:] + lengths[:-known], first[1:] + apart
        second = second[1:] + apart**2
        spread = (_SCATTER**2 + second - first**2 / known) / known
        scale = np.sqrt(np.minimum(spread, _UNEVEN**2) * (1 + 1 / known))
        regular = lgamma((known + 1) / 2) - lgamma(known / 2) - 0.5 * np.log(np.pi * known)
        regular -= (known + 1) / 2 * np.log1p((first / known / scale) ** 2 / known)
        chance = np.log(known) + known * np.log(total) + np.log(own)
        chance -= (known + 1) * np.log(total + own)
        gains[known, known:] = 2 * (regular - np.log(scale) - chance)
    return gains


def _alike(lows: NDArray[Any], depths: Array) -> Array:
    """The gains of low parts, less where their depths differ.

    That those are alike is no sign, as any dips' may be.
    """
    return _gains(lows) + np.minimum(_gains(depths), 0.0)


def _from_first(gains: Array) -> Array:
    """What each gains that is told by those before it since the first."""
    at = np.arange(gains.shape[1])
    return np.asarray(gains[np.minimum(at, _REMEMBERED), at])


def _runs(
    lows: NDArray[Any], periods: NDArray[Any], depths: Array, parted: NDArray[np.bool_]
) -> list[tuple[int, int]]:
    """The runs whose description is shorter as regular, apart from each other: first and last.

    `periods` are those since the fall before. None goes past what is `parted`.
    """
    runs: list[tuple[int, int]] = []
    start, total, best, end = 0, 0.0, 0.0, -1
    alike, even = _alike(lows, depths), _gains(periods)
    for index in range(len(lows) + 1):
        if index == len(lows) or parted[index]:
            total = -np.inf
        else:
            known = min(index - start, _REMEMBERED)
            # the first has no period
            total += alike[known, index] + even[min(max(index - start - 1, 0), _REMEMBERED), index]
        if total > best:
            best, end = total, index
        elif total < 0 or best - total > _SELDOM:
            if best > _SELDOM:
                runs.append((_begin(lows, periods, depths, start, end), end))
            start, total, best = index, 0.0, 0.0
    return runs


def _begin(lows: Array, periods: Array, depths: Array, start: int, end: int) -> int:
    """Where a run begins, told backwards: what comes before it costs more than it saves."""
    back = slice(end, start - 1 if start else None, -1)
    gains = _from_first(_alike(lows[back], depths[back]))
    gains[1:] += _from_first(_gains(periods[back]))[:-1]
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
    told = [_from_first(_gains(lengths)).sum() for lengths in (backs - falls, np.diff(falls))]
    if sum(told) < 0:
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
