"""Oscillation: falls and recoveries that are told more briefly together than one by one.

Where single falls stand out of the noise, their lengths tell: each is predicted from those before
it, as log-normal where they are regular, and as exponential where a fall may come at any time.
Where noise hides them, a line in the spectrum of what the curve leaves over tells.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from heatsoak.analysis.definitions import MIN_CYCLES, MIN_DROP
from heatsoak.analysis.series import Array
from scipy.special import gammaln

from heatsoak_dev.falls.curve import (
    CORRELATIONS,
    Bins,
    Noise,
    Piece,
    described,
    drawn,
    noise_of,
    proposed,
    unit_of,
)

#: A length is predicted from so many before it: a governor's period may drift.
_REMEMBERED = 8
#: How much regular lengths scatter before any was seen, in logarithms.
_SCATTER = 0.2
#: What a line in the spectrum costs, in parameters: two for its frequency, amplitude, phase, and
#: being one.
_LINE = 5.0
#: That falls come regularly is one to twelve beforehand: twice the logarithm of that.
_SELDOM = 5.0
#: Means over this part of a period show its lows and highs.
_PART = 6
_LEAST = -float(np.log1p(-MIN_DROP))


@dataclass(frozen=True)
class Swing:
    """Bins `start` to `end`, from the first fall to the last recovery, that oscillate.

    Attributes:
        low, longest_high: the usual logarithm of its low parts, and its longest high part in bins.
        period, duty: in bins, and the part of it that is low.
        course: how its means over whole periods move, relative to the first of them.
    """

    start: int
    end: int
    low: float
    longest_high: int
    period: float
    duty: float
    course: list[Piece]


def curve_of(bins: Bins) -> tuple[Noise, list[Piece], Array]:
    """Return the noise of bins, the pieces of the curve beside it, and it with its swings.

    How alike neighbours are by noise is what makes the description shortest. Changes of level look
    like noise, and noise hides changes: so how strong it is, is looked at again beside the curve.
    """
    least, rest, start = np.inf, bins.logs, len(CORRELATIONS) // 2
    found: tuple[Noise, list[Piece], Array] | None = None
    while True:
        start, length, noise, chain = _shortest(bins.logs, rest, start)
        if found is not None and length >= least:
            return found
        curve = drawn(chain)
        for piece in chain:
            _draw_hidden(bins.logs, curve, noise, piece, unit_of(len(curve), noise))
        least, found, rest = length, (noise, chain, curve), bins.logs - curve


def _shortest(logs: Array, rest: Array, best: int) -> tuple[int, float, Noise, list[Piece]]:
    """The shortest description by any correlation, whose index stands first.

    The noise is as strong as `rest` has it; `best` is the correlation to begin with.
    """
    edges = np.array([len(logs)])
    while True:
        start = best
        edges = np.union1d(edges, proposed(logs, noise_of(rest, CORRELATIONS[start])))
        tried: dict[int, tuple[float, Noise, list[Piece]]] = {}
        while True:
            near = [one for one in (best, best - 1, best + 1) if 0 <= one < len(CORRELATIONS)]
            for one in near:
                if one not in tried:
                    noise = noise_of(rest, CORRELATIONS[one])
                    length, chain = described(logs, edges, noise)
                    tried[one] = length, noise, chain
            nearest = min(near, key=lambda one: tried[one][0])
            if nearest == best:
                break
            best = nearest
        if best == start:
            return best, *tried[best]


def swings_of(bins: Bins, curve: Array) -> list[Swing]:
    """Return the oscillations of a curve, in order."""
    turns = turns_of(curve)
    crossed = [_crossing(curve, a, b) for a, b in pairwise(turns)]
    if len(crossed) % 2:
        crossed.append(len(curve))
    falls, backs = np.array(crossed[::2], dtype=int), np.array(crossed[1::2], dtype=int)
    if len(falls) < MIN_CYCLES:
        return []
    gains = _gains(backs - falls)
    gains[1:] += _gains(np.diff(falls))
    tops, bottoms = curve[turns[::2]], curve[turns[1::2]]
    # what stays below the lows is another fall
    gains[1:-1][tops[2 : len(falls)] < bottoms[: len(falls) - 2]] = -np.inf
    found: list[Swing] = []
    done = 0
    for first, last in _runs(gains):
        first = max(first, done)
        if last - first + 1 >= MIN_CYCLES:
            usual = np.median(np.diff(falls[first : last + 1]))
            # the first low and the last may be longer, or cut short
            while first > done and falls[first] - falls[first - 1] < 2 * usual:
                first -= 1
            while last + 1 < len(falls) and backs[last + 1] - falls[last] < 2 * usual:
                if gains[last + 1] == -np.inf:
                    break
                last += 1
            done = last + 1
            some = slice(first, last + 1)
            lows, periods = (backs - falls)[some], np.diff(falls[some])
            start, end = int(falls[first]), int(backs[last])
            found.append(
                Swing(
                    start,
                    end,
                    float(np.median(bottoms[some])),
                    int(np.max(periods - lows[:-1])),
                    float(np.median(periods)),
                    float(np.sum(lows[:-1]) / np.sum(periods)),
                    _course(bins, start, end, float(np.median(periods))),
                )
            )
    return found


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


def _crossing(curve: Array, start: int, end: int) -> int:
    """Where a curve is half way from one turn to the next."""
    middle = 0.5 * (curve[start] + curve[end])
    sign = 1.0 if curve[end] > curve[start] else -1.0
    return start + int(np.argmax(sign * (curve[start : end + 1] - middle) >= 0))


def _gains(lengths: Array) -> Array:
    """Twice the logarithm of how much likelier each length is as a regular one than by chance."""
    lengths = np.maximum(np.asarray(lengths, dtype=np.float64), 1.0)
    logs, at = np.log(lengths), np.arange(len(lengths))

    def before(values: Array) -> Array:
        sums = np.concatenate([[0.0], np.cumsum(values)])
        return np.asarray(sums[at] - sums[np.maximum(at - _REMEMBERED, 0)])

    known = np.clip(at, 1, _REMEMBERED).astype(np.float64)
    mean, total = before(logs) / known, np.maximum(before(lengths), 1.0)
    spread = _SCATTER**2 + np.maximum(before(logs**2) - known * mean**2, 0.0)
    scale = np.sqrt(spread / known * (1 + 1 / known))
    regular = gammaln((known + 1) / 2) - gammaln(known / 2) - np.log(scale)
    regular -= 0.5 * np.log(np.pi * known)
    regular -= (known + 1) / 2 * np.log1p(((logs - mean) / scale) ** 2 / known)
    chance = np.log(known) + known * np.log(total) + logs - (known + 1) * np.log(total + lengths)
    return np.where(at > 0, 2 * (regular - chance), 0.0)


def _runs(gains: Array) -> list[tuple[int, int]]:
    """The runs with the greatest sums, apart from each other: first and last."""
    runs, start, total, best, end = [], 0, 0.0, 0.0, -1
    for index, gain in enumerate([*gains.tolist(), -np.inf]):
        total += gain
        if total > best:
            best, end = total, index
        elif total <= 0 or best - total > _SELDOM:
            if best > _SELDOM:
                runs.append((start, end))
            start, total, best = index, 0.0, 0.0
    return runs


def _draw_hidden(logs: Array, curve: Array, noise: Noise, piece: Piece, unit: float) -> None:
    """Draw the swing that a piece passes for noise, if there is one, into the curve."""
    here = slice(piece.start, piece.end)
    rest = logs[here] - curve[here]
    best = (_LINE * unit, 0, 0, 0.0)
    size = len(rest)
    while size >= 4 * MIN_CYCLES:
        windows = np.lib.stride_tricks.sliding_window_view(rest, size)[:: size // 2]
        at, gain, period = _line(windows, noise)
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
    if len(inside) < MIN_CYCLES:
        return
    first, last = int(inside[0]), int(inside[-1])
    while first > 0 and falls[first] - falls[first - 1] < 2 * period:
        first -= 1
    while last + 1 < len(falls) and falls[last + 1] - falls[last] < 2 * period:
        last += 1
    level = curve[here].copy()
    falls, backs = falls[first : last + 1], backs[first : last + 1]
    if _gains(backs - falls).sum() + _gains(np.diff(falls)).sum() < 0:
        return
    for fall, back, after in zip(
        falls,
        backs,
        np.append(falls[1:], backs[-1:]),
        strict=True,
    ):
        curve[piece.start + fall : piece.start + back] = level[fall:back] + low
        curve[piece.start + back : piece.start + after] = level[back:after] + high


def _line(windows: Array, noise: Noise) -> tuple[int, float, float]:
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
    ratio[:, :MIN_CYCLES] = 0.0
    at, line = divmod(int(np.argmax(ratio)), ratio.shape[1])
    return at, 2 * float(ratio[at, line]), count / max(line, 1)


def _course(bins: Bins, start: int, end: int, period: float) -> list[Piece]:
    """How the means of whole periods move: another cause may act on what swings."""
    size = max(1, round(period))
    count = (end - start) // size
    whole = Piece(start, end, 0.0, 0.0, np.inf, 1.0)
    if count < 2 * MIN_CYCLES:
        return [whole]
    means = bins.logs[start : start + count * size].reshape(count, size).mean(axis=1)
    found = _shortest(means, means, 0)[3]
    course = [
        replace(
            one,
            start=start + size * one.start,
            end=start + size * one.end,
            level=one.level - found[0].first,
            change=one.change / (size if np.isinf(one.constant) else 1),
            constant=one.constant * size,
        )
        for one in found
    ]
    return [*course[:-1], replace(course[-1], end=end)]
