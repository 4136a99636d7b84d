"""From the curve of a series to its drops: a walk along the levels that were fallen from."""

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise

import numpy as np

from heatsoak.analysis import definitions
from heatsoak.analysis.falls import measure, swings
from heatsoak.analysis.falls.curve import STANDSTILL, Bins, Piece, binned, drawn, unit_of
from heatsoak.analysis.series import HELD_SAMPLES, Array, RateSeries, spans_of, tidied

#: Too little to tell a level from its noise.
_MIN_SAMPLES, MIN_S = 12, 4.0
#: A standstill within which throughput is back was a stall, too.
STANDSTILL_S = 10.0
#: A second fall is one from what the first had held for so long.
SETTLED_S = 6.0
_LOST, _BACK = (
    float(np.log((share + STANDSTILL) / (1 + STANDSTILL)))
    for share in (1 - definitions.MIN_DROP, definitions.RECOVERED)
)
_STILL = float(np.log(2 * STANDSTILL))
_SECOND = -float(np.log1p(-measure.SECOND_FALL))
#: A burst into a buffer is not as much faster than what follows.
_MUCH_FASTER = float(np.log(definitions.MUCH_FASTER))
#: A dip that loses less is one that a low level scatters by, and no stall.
_SHALLOW = float(np.log1p(-0.25))


@dataclass(frozen=True)
class Stall:
    """A standstill from which throughput soon came back, in seconds from the start."""

    begin_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        """How long it lasted."""
        return self.end_s - self.begin_s


@dataclass(frozen=True)
class Found:
    """What a series shows.

    Attributes:
        drops: in the order of their onsets.
        swing: where there is no drop, a regular swing that was there from the start, as a drop from
            its first fall on. By itself it shows no level that anything fell from.
        stalls: standstills so short and few that they cost next to nothing; they are no drops.
    """

    drops: list[measure.Drop]
    swing: measure.Drop | None = None
    stalls: list[Stall] = field(default_factory=list)


def find_drops(series: RateSeries) -> list[measure.Drop] | None:
    """Return the drops that :func:`find` finds; None if the series is too short."""
    found = find(series)
    return None if found is None else found.drops


def find(series: RateSeries) -> Found | None:
    """Return the drops of a series; None if it is too short.

    A curve that falls by `MIN_DROP` below its level since the begin or the last recovery begins a
    drop, which lasts until the curve is back at `RECOVERED` of that. Within it, a fall by
    `SECOND_FALL` of what it had come to is a drop of its own.
    """
    series = tidied(series)
    if len(series.values) == 0 or np.ptp(series.t_s) + series.interval_s[0] < MIN_S:
        return None
    found = _walked(series)
    return found if found is None or found.drops else replace(found, drops=_of_stalls(series))


def _walked(series: RateSeries) -> Found | None:
    bins = binned(series) if len(series.values) >= _MIN_SAMPLES else None
    # fewer tell no noise
    return None if bins is None or len(bins.logs) < 4 else _Walk(series, bins).found()


#: Stalls that come ever more often show in means over this.
_OVER_S = 10.0
#: A stall, as a share of the level, and the share of samples that are one, before and in a fall.
_STALLED, _RARE, _OFTEN = 0.5, 0.01, 0.03


def _of_stalls(series: RateSeries) -> list[measure.Drop]:
    """The falls of means that stalls of a sample or two make, as of a governor that stops the drive
    for a moment now and again."""
    count = int(series.duration_s / _OVER_S)
    rare = np.mean(series.values < _STALLED * np.median(series.values)) < _RARE
    if rare or series.sampling_s > _OVER_S / 4 or count < _MIN_SAMPLES:
        return []
    edges_s = _OVER_S * np.arange(count + 1, dtype=np.float64)
    means = series.means(edges_s)
    over = replace(series, t_s=edges_s[1:], interval_s=np.diff(edges_s), values=means)
    found = _walked(over.only(np.isfinite(means)))
    if found is None or not found.drops:
        return []
    first = found.drops[0]
    is_stalled = series.values < _STALLED * first.before
    before = is_stalled[series.t_s <= first.onset_s - _OVER_S]
    after = is_stalled[series.t_s > first.onset_s]
    return found.drops if np.mean(after) >= _OFTEN and np.sum(before) <= _RARE * len(before) else []


class _Walk:
    """The curve of a series, and the walk along it.

    `_curve` has no stalls, and swings at their lows; `_pieces` are those of its pieces that last.
    """

    def __init__(self, series: RateSeries, bins: Bins) -> None:
        self._series, self._bins = series, bins
        # what fewer samples held at first is a slow start or a burst
        self._begin, self._held = 0, max(bins.count(HELD_SAMPLES * series.sampling_s), 2)
        chain, self._seen = swings.curve_of(bins)
        self._swings = swings.swings_of(bins, chain, self._seen)
        # the one that was there from the start
        self._usual = self._swings.pop(0) if self._swings and self._swings[0].is_usual else None
        self._curve = self._filled()
        self._stalls = spans_of(self._seen < self._curve + _LOST)
        self._pieces = self._lasting(chain)
        self._traced = measure.Traced(series, bins, self._pieces, self._curve)

    def found(self) -> Found:
        """Return what is found."""
        drops = [drop for fall in self._falls() for drop in self._drops_of(fall)]
        drops = [one for one in drops if not self._traced.is_wander(one, drops)]
        stalls = self._standstills()
        work = float(np.sum(self._series.values * self._series.interval_s))
        most_s = definitions.MAX_STEADY_FALL_S
        brief = [one for one in drops if one.recovered and one.length_s <= most_s]
        lost = sum((one.before - one.during) * one.length_s for one in brief)
        if lost < definitions.MAX_STEADY_LOSS * work:
            drops = [one for one in drops if one not in brief]
            still = [one for one in brief if one.depth > 1 - 2 * STANDSTILL]
            stalls += [Stall(one.onset_s, one.end_s) for one in still]
        swing = None
        if not drops and (one := self._usual) is not None:
            whole = measure.Fall(0, one.start, one.start, one.end, False, swing=one)
            swing = self._traced.drop_of(whole)
        drops.sort(key=lambda one: one.onset_s)
        return Found(drops, swing, sorted(stalls, key=lambda stall: stall.begin_s))

    def _standstills(self) -> list[Stall]:
        """By the samples themselves: the curve does not show what is over in one."""
        series, bins = self._series, self._bins
        at = np.searchsorted(bins.edges_s, series.t_s - 0.5 * series.interval_s, "right") - 1
        usual = self._curve[np.clip(at, 0, len(self._curve) - 1)]
        still = spans_of(np.log(series.values / bins.usual + STANDSTILL) < usual + _STILL)
        begin_s = series.t_s - series.interval_s
        return [Stall(float(begin_s[a]), float(series.t_s[b - 1])) for a, b in still]

    def _every(self) -> list[tuple[int, swings.Swing]]:
        """Where each swing begins to count, and the swing; the usual one from the start."""
        usual = [] if self._usual is None else [(0, self._usual)]
        return [*((one.start, one) for one in self._swings), *usual]

    def _filled(self) -> Array:
        """The curve without what is soon back, and with swings at their lows or, usual, means."""
        seen, bins = self._seen, self._bins
        sampling_s = self._series.sampling_s
        # a pause inside a sample, or across two, shows as so many low ones
        filled = _closed(seen, bins.count(max(measure.STALL_S + 0.5 * sampling_s, 2 * sampling_s)))
        longer = _closed(seen, self._bins.count(STANDSTILL_S + bins.width_s))
        for start, end in spans_of(seen < _STILL):
            if end - start <= self._bins.count(STANDSTILL_S):
                whole = slice(max(0, start - 2), end + 2)
                filled[whole] = longer[whole]
        for start, one in self._every():
            is_usual = one is self._usual
            size = max(1, round(one.period))
            level = np.log(np.mean(np.exp(bins.logs[start : one.start + 4 * size])))
            filled[start : one.end] = level if is_usual else one.low
            seen[start : one.end] = filled[start : one.end]
            filled[one.start : one.end] += drawn(one.course)
        return filled

    def _lasting(self, chain: list[Piece]) -> list[Piece]:
        """The pieces that are longer than a stall; the course of a swing in the place of others."""
        lasting: list[Piece] = []
        inside = np.zeros(len(self._curve), dtype=bool)
        for start, one in self._every():
            inside[start : one.end] = True
            level = float(self._curve[one.start])
            course = [replace(piece, level=piece.level + level) for piece in one.course]
            lasting += [replace(course[0], start=start), *course[1:]]
        for start, end in self._stalls:
            inside[start:end] = True
        parts = [
            piece.part(piece.start + start, piece.start + end)
            for piece in chain
            for start, end in spans_of(~inside[piece.start : piece.end])
        ]
        stall = self._bins.count(measure.STALL_S)
        for part in parts:
            inside[part.start : part.end] = part.length > stall
        # brief ones in a row are a quick change, or a level that scatters
        for first, last in spans_of(~inside):
            inside[first:last] = self._length(first, last) > stall
        lasting += [part for part in parts if inside[part.start]]
        return sorted(lasting, key=lambda piece: piece.start)

    def _length(self, first: int, last: int) -> int:
        """How many bins adjoining pieces last, with the shallow dips beside them.

        Where throughput swings, what looks like a dip may be a low of that.
        """
        count = last - first
        for start, end in [] if self._swings else self._stalls:
            is_beside = end == first or start == last
            if is_beside and np.min(self._seen[start:end] - self._curve[start:end]) > _SHALLOW:
                count += end - start
        return count

    def _falls(self) -> Iterator[measure.Fall]:
        """The falls from the usual level, those that only brief recoveries part as one."""
        base, brief = 0, self._bins.brief
        while (left := self._leaves(base)) is not None:
            fall, level = left
            start, end, times = fall.start, fall.start, 1
            # stalls just before are part of it
            for first, last in reversed(self._stalls):
                if base < first < start <= last + brief:
                    start, times = first, times + 1
            if start < fall.start:
                fall = replace(fall, edge=start, start=start)
            while (back := self._returns(end, level)) is not None:
                again = measure.first_of(self._seen[back : back + brief + 1] < level + _LOST)
                if again is None:
                    break
                end, times = back + again + 1, times + 1
            base = len(self._curve) if back is None else back
            yield replace(fall, end=base, recovered=back is not None, times=times)

    def _leaves(self, base: int) -> tuple[measure.Fall, float] | None:
        """Where the curve leaves its usual level since `base`, and that."""
        held, sinking = None, None
        levels: list[tuple[float, int]] = []
        enough = self._held if base == self._begin else self._bins.count(0.5 * measure.STALL_S)
        for piece in self._pieces:
            if piece.end <= base:
                continue
            start = max(piece.start, base)
            if not levels and start - base >= enough:
                levels.append((float(np.mean(self._curve[base:start])), start - base))
            # neither a slow start nor a burst is the level to compare with
            level = _median(levels) if levels else float(self._curve[start])
            below = measure.first_of(self._curve[start : piece.end] < level + _LOST)
            if below is not None and base == self._begin and self._is_burst(piece, start + below):
                self._begin = start + below
                return self._leaves(self._begin)
            if below is not None:
                edge = start if below or held is None else held.end
                is_brief = piece.length <= self._bins.brief
                jump = 0.0 if held is None else held.last - self._curve[start]
                if is_brief or jump < -_LOST:
                    # it has fallen little by little
                    edge = edge if sinking is None else sinking
                    edge = min(edge, self._lowered_before(base, start, level))
                is_unheld = held is None or sinking == base
                swing = self._swing_at(piece)
                from_start = base == self._begin and bool(below) and piece.start - base < self._held
                fall = measure.Fall(
                    base, edge, start + below, 0, False, is_unheld, from_start, swing=swing
                )
                return fall, level
            held, mean = piece, float(np.mean(self._curve[start : piece.end]))
            if self._curve[start] - self._curve[piece.end - 1] > -np.log1p(-definitions.ONSET_LOSS):
                # the fall has begun, though little is lost
                sinking = start if sinking is None else sinking
                mean = float(self._curve[sinking])
            else:
                sinking = None
            insort(levels, (mean, piece.end - start))
        return None

    def _is_burst(self, piece: Piece, low: int) -> bool:
        """Whether what is above a piece's first low bin is too brief for a level.

        Where it slides on, it is a fall since the begin. Where it jumps, fewer samples than tell a
        level are a burst, and so are brief ones that were only a little faster.
        """
        begin, curve = self._begin, self._curve
        lasted, brief = low - begin, self._bins.count(measure.STALL_S)
        if lasted >= max(self._held, brief):
            return False
        if low > piece.start:
            course = curve[max(piece.start, begin) : piece.end]
            soon = course[min(self._held, len(course)) - 1]
            is_over_soon = course[0] - soon >= 0.5 * (course[0] - np.min(course))
            return piece.start - begin < self._held and bool(is_over_soon)
        soon = curve[min(low + brief, piece.end) - 1]
        return lasted < self._held or bool(np.mean(curve[begin:low]) - soon < _MUCH_FASTER)

    def _lowered_before(self, base: int, start: int, level: float) -> int:
        """Where the pieces before a bin begin that had lost as much as an onset does."""
        for piece in [one for one in reversed(self._pieces) if base < one.end <= start]:
            begin = max(piece.start, base)
            if np.mean(self._curve[begin : piece.end]) >= level + np.log1p(-definitions.ONSET_LOSS):
                break
            start = begin
        return start

    def _returns(self, start: int, level: float) -> int | None:
        """Where the curve is back at `RECOVERED` of a level, from a bin below it on.

        A piece of few bins may come out lower than it is: by two standard errors.
        """
        for piece in self._pieces:
            if piece.end <= start:
                continue
            error = piece.noise.of_mean(piece.length)
            doubt = min(2 * error, 0.5 * (_BACK - _LOST)) if piece.start > start else 0.0
            begin = max(piece.start, start)
            back = measure.first_of(self._curve[begin : piece.end] >= level + _BACK - doubt)
            if back is not None:
                return begin + back
        return None

    def _swing_at(self, piece: Piece) -> swings.Swing | None:
        """The swing that a piece is part of, or that it leads to at once."""
        is_brief = piece.length <= self._bins.count(SETTLED_S)
        soon = piece.end if is_brief else piece.start
        return next((one for one in self._swings if one.start <= soon < one.end), None)

    def _drops_of(self, fall: measure.Fall) -> list[measure.Drop]:
        """A fall and the deeper ones inside it: those that pass, and those that end it."""
        passing: list[measure.Fall] = []
        lasting: list[measure.Fall] = [fall]
        until = settled = 0
        for before, after in pairwise(self._lowered(fall)):
            jump = abs(before.first - self._curve[before.start - 1])
            settled = before.start if before.start > settled and jump > -_LOST else settled
            held = before.end - max(settled, fall.start)
            if after.start < until or not self._falls_again(before, after, held):
                continue
            back = measure.first_of(self._curve[after.end : fall.end] >= before.last + _BACK)
            until = fall.end if back is None else after.end + back
            edges, swing = (before.start, before.end, after.start, until), self._swing_at(after)
            second = measure.Fall(*edges, True, swing=swing, is_second=True)
            if back is not None:
                passing.append(second)
                continue
            until = 0
            lasting[-1] = replace(lasting[-1], end=second.start, recovered=False)
            lasting.append(replace(second, recovered=fall.recovered))
        deeper = list(filter(None, map(self._traced.drop_of, passing)))
        drops, end_s = list(deeper), self._traced.at_s(fall.end)
        for one in reversed(lasting):
            if (drop := self._traced.drop_of(one, end_s, deeper)) is not None:
                drops.append(drop)
                end_s = drop.onset_s
        return drops

    def _lowered(self, fall: measure.Fall) -> list[Piece]:
        """The pieces of a fall but for what it is let go for a moment."""
        lowered: list[Piece] = []
        brief = self._bins.brief
        for piece in self._pieces:
            if not fall.start < piece.end <= fall.end:
                continue
            is_up = bool(lowered) and piece.first > lowered[-1].last - _LOST
            is_brief, after = piece.length <= brief, self._seen[piece.end : piece.end + brief]
            if not (is_up and is_brief and np.any(after < piece.last + _LOST)):
                lowered.append(piece)
        return lowered

    def _falls_again(self, before: Piece, after: Piece, held: int) -> bool:
        """Whether what a fall had come to, and `held` for so many bins, is left by another.

        It falls `SECOND_FALL` below where the piece before would have gone on, at once or in no
        more time than that was held; faster than that, and no parabola tells both more briefly.
        """
        swing = self._swing_at(before)
        if held < max(self._bins.count(SETTLED_S), 2 * swing.period if swing else 0):
            return False
        soon = min(after.end - 1, after.start + before.end - before.start)
        jump = before.at(after.start) - after.first
        expected = min(before.last, before.at(soon))
        if jump >= _SECOND <= before.last - after.last:
            return True
        lost = expected - after.at(soon)
        slowing = 2 * (before.at(0.5 * (before.start + before.end)) - before.last)
        return lost >= max(_SECOND, slowing) and not self._is_bent(before, after)

    def _is_bent(self, before: Piece, after: Piece) -> bool:
        """Whether a parabola describes two pieces more briefly than they do."""
        logs = self._bins.logs[before.start : after.end]
        x = np.linspace(-1, 1, len(logs))
        apart = logs - drawn([before, replace(before, start=before.end, end=after.start), after])
        rows = np.stack([np.ones(len(x)), x, x * x, logs, apart])
        rows[:, 1:] -= before.noise.correlation * rows[:, :-1].copy()
        errors = np.linalg.lstsq(rows[:3].T, rows[3], rcond=None)[1]
        unit = unit_of(len(self._curve), before.noise)
        # a parabola has a bend; two pieces have a place, a level and a slope more
        more = float(errors.sum() - rows[4] @ rows[4]) / before.noise.innovation**2
        return more < 3 * unit


def _median(levels: list[tuple[float, int]]) -> float:
    """The level that is held for the middle of the time; levels rise."""
    sums = np.cumsum([length for _, length in levels])
    return levels[int(np.searchsorted(sums, 0.5 * sums[-1]))][0]


def _closed(curve: Array, count: int) -> Array:
    """The curve without lows of up to `count` bins: the least of the highs about each bin."""
    if len(curve) <= count:
        return curve.copy()
    windows = partial(np.lib.stride_tricks.sliding_window_view, window_shape=count + 1)
    highs = windows(np.pad(curve, count, mode="edge")).max(axis=1)
    return np.asarray(windows(highs).min(axis=1))
