"""Stretches of lowered throughput: their onset, depth and shape, by the samples themselves."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from heatsoak.analysis.definitions import HELD_S, LAST_S, MIN_CYCLES, MIN_DROP
from heatsoak.analysis.falls.curve import BRIEF_S, STANDSTILL, Bins, Piece
from heatsoak.analysis.falls.onset import onset_of
from heatsoak.analysis.falls.swings import Swing
from heatsoak.analysis.series import Array, Series

Shape = Literal["step", "slide", "cycle"]
#: What is back within so long was a stall, and no fall.
STALL_S = 4.0
#: A fall that starts with the step is measured from the mean of at least its first second.
_FIRST_S = 1.0
#: A second fall takes at least this share of what the first had come to.
SECOND_FALL = 0.08
#: Of a slide less than this share is lost in the first quarter of its time.
_SLIDE = 0.4
#: A shallower fall may be the level's own movement: single minutes of real logs stray by 16 %.
_SMALL = 2 * MIN_DROP


@dataclass(frozen=True)
class Drop:
    """A stretch of lowered throughput, in the series' unit and seconds from the step's begin.

    A second, deeper fall inside a lowered stretch is a drop of its own: the first ends where it
    begins, has not recovered, and its last level is what the second falls from. Where the second
    passes and leaves the first as it was, the first goes on, and the second lies within it.

    Attributes:
        onset_s: where throughput leaves its level: 2 % of it are lost, as far as noise shows that.
        end_s: where it begins to come back, where a deeper drop begins, or the last sample.
        back_s: where it is back; the end, if it does not come back.
        before: the mean from the step's begin or the last recovery to the onset; the level that
            it fell from for a drop inside another; the mean of the first seconds for a fall that
            starts with the step.
        during: the mean from the onset to the end.
        lowest: the lowest mean over `HELD_S`; that of the drop where it is shorter.
        last: the mean of the drop's last `LAST_S`, or of all of it where it is shorter.
        recovered: whether throughput came back to `RECOVERED` of the level before.
        oscillates: whether it falls and recovers regularly, which is one drop.
        period_s: the length of such a cycle.
        duty: the share of a cycle that is low, 0 to 1.
        shape: ``cycle`` where it oscillates, ``slide`` where the loss takes long for the drop's
            length, ``step`` otherwise.
        fall_s: from the onset to where 90 % of the loss is reached.
        bend_s: where a slow fall begins before 2 % are lost; None where that is the onset.
    """

    onset_s: float
    end_s: float
    back_s: float
    before: float
    during: float
    lowest: float
    last: float
    recovered: bool
    oscillates: bool = False
    period_s: float | None = None
    duty: float | None = None
    shape: Shape = "step"
    fall_s: float = 0.0
    bend_s: float | None = None

    @property
    def begin_s(self) -> float:
        """Where the fall begins, however little of it can be seen yet."""
        return self.onset_s if self.bend_s is None else self.bend_s

    @property
    def depth(self) -> float:
        """The share of the level before that is lost, on the mean."""
        return 1 - self.during / self.before

    @property
    def depth_at_end(self) -> float:
        """The share that is lost in the drop's last `LAST_S`."""
        return 1 - self.last / self.before


def joined(first: Drop, second: Drop) -> Drop:
    """Return `first` and the deeper fall `second`, which follows it or lies in it, as one drop.

    Its end and what it ends at are those of the one that ends later; its mean is over both, or the
    first's where the second lies in that. It is a slide only where both are, and a cycle where
    either is. 90 % of the loss of both is reached within the second fall, unless the first took
    that much already.
    """
    last = second if second.end_s >= first.end_s else first
    lost = first.before - last.last
    if first.before - first.last >= 0.9 * lost:
        fall_s = first.fall_s
    else:
        fall_s = second.onset_s - first.onset_s + second.fall_s
    cycle = second if second.oscillates else first
    during = first.during
    if last is second:
        first_s, second_s = second.onset_s - first.onset_s, second.end_s - second.onset_s
        during = (first_s * first.during + second_s * second.during) / (first_s + second_s)
    both_slide = first.shape == second.shape == "slide"
    return Drop(
        onset_s=first.onset_s,
        end_s=last.end_s,
        back_s=last.back_s,
        before=first.before,
        during=during,
        lowest=min(first.lowest, second.lowest),
        last=last.last,
        recovered=last.recovered,
        oscillates=cycle.oscillates,
        period_s=cycle.period_s,
        duty=cycle.duty,
        shape="cycle" if cycle.oscillates else "slide" if both_slide else "step",
        fall_s=fall_s,
        bend_s=first.bend_s,
    )


@dataclass(frozen=True)
class Fall:
    """Bins `start` to `end` below a level, which is held since the bin `since`.

    Attributes:
        edge: where the level begins to be left.
        is_unheld: whether it is left since its begin: a burst or two may be all that is above.
        times: how often it was left.
        is_second: whether it was lowered already.
    """

    since: int
    edge: int
    start: int
    end: int
    recovered: bool
    is_unheld: bool = False
    times: int = 1
    swing: Swing | None = None
    is_second: bool = False


@dataclass(frozen=True)
class Traced:
    """A series with its bins, the pieces of its curve that last, and the curve without stalls."""

    series: Series
    bins: Bins
    pieces: list[Piece]
    curve: Array

    def at_s(self, edge: int) -> float:
        """Return when a bin begins."""
        return float(self.bins.edges_s[edge])

    def drops_of(self, fall: Fall, end_s: float | None = None) -> list[Drop]:
        """Return what a fall measures; nothing where it is none by the samples themselves."""
        series, bins = self.series, self.bins
        back_s = self.at_s(fall.end) if end_s is None else end_s
        end_s = min(back_s, self.at_s(self._rises_from(fall))) if fall.recovered else back_s
        begin_s, low_s = self.at_s(fall.since), self.at_s(fall.start)
        held = [one.start for one in self.pieces if one.start < fall.edge and one.end > fall.since]
        falling = next((one.end for one in self.pieces if one.end > fall.start), fall.end)
        if fall.swing is not None:
            falling = fall.start + max(2, round(fall.swing.period * fall.swing.duty))
        follow_s = min(self.at_s(min(falling, fall.end)), end_s)
        room_s = max(STALL_S, 2 * series.sampling_s, low_s - self.at_s(fall.edge))
        since_s = max(begin_s, self.at_s(held[-1])) if held else begin_s
        around_s = (
            since_s,
            max(since_s, self.at_s(fall.edge) - room_s),
            min(low_s + room_s, follow_s),
            follow_s,
        )
        until = [one for one in self.pieces if one.start <= fall.edge]
        noise = (until or self.pieces)[-1].noise
        onset_s, bend_s = onset_of(series, bins, noise, around_s)
        onset_s = min(max(onset_s, begin_s), end_s)
        held_s = max(begin_s, onset_s - LAST_S) if fall.is_second else begin_s
        # a fall that starts with the step has no level before it but its first samples
        until_s = max(onset_s, held_s + max(_FIRST_S, 2 * series.sampling_s))
        before = series.mean(held_s, until_s)
        held_rates = series.between(held_s, until_s).values
        if fall.is_unheld and len(held_rates):
            before = min(before, float(np.median(held_rates)))
        if not np.isfinite(before):
            before = series.mean(begin_s, until_s)
        period_s = duty = None
        if fall.swing is not None:
            period_s, duty = fall.swing.period * bins.width_s, fall.swing.duty
        elif fall.times >= MIN_CYCLES:
            period_s, duty = (end_s - onset_s) / fall.times, 0.5
        during = series.mean(onset_s, end_s)
        last = series.mean(max(onset_s, end_s - LAST_S), end_s)
        least = SECOND_FALL if fall.is_second else MIN_DROP
        # the last may be the high part of a swing, or of what came back slowly
        if not (during < before and min(during, last) < (1 - 0.5 * least) * before):
            return []
        fall_s, is_slide = self._course(fall, onset_s, end_s)
        shape: Shape = "cycle" if period_s is not None else "slide" if is_slide else "step"
        return [
            Drop(
                onset_s=onset_s,
                end_s=end_s,
                back_s=back_s,
                before=before,
                during=during,
                lowest=min(during, series.lowest(HELD_S, onset_s, end_s)),
                last=last,
                recovered=fall.recovered,
                oscillates=period_s is not None,
                period_s=period_s,
                duty=duty,
                shape=shape,
                bend_s=min(bend_s, onset_s),
                fall_s=fall_s,
            )
        ]

    def _rises_from(self, fall: Fall) -> int:
        """Where a fall begins to come back; its end, if that takes most of its time or none."""
        start = fall.end
        for piece in reversed(self.pieces):
            if piece.start >= start or fall.swing is not None:
                continue
            rise = self.curve[start - 1] - self.curve[piece.start]
            if piece.start <= fall.start or rise < -np.log1p(-MIN_DROP):
                break
            start = piece.start
        return start if start - fall.start > fall.end - start else fall.end

    def _course(self, fall: Fall, onset_s: float, end_s: float) -> tuple[float, bool]:
        """How long it takes to nine tenths of the loss, and whether it slides."""
        edges_s = self.bins.edges_s
        end = int(np.searchsorted(edges_s, end_s - 0.5 * self.bins.width_s))
        end = max(end, fall.start + 1)
        rates = np.exp(self.curve[fall.edge : end])
        top = float(np.exp(self.curve[max(fall.edge - 1, 0)]))
        late = float(np.mean(rates[-self.bins.count(LAST_S) :]))
        reached = first_of(rates <= top - 0.9 * (top - late))
        fallen_s = end_s if reached is None else float(edges_s[fall.edge + reached])
        lowest = int(np.argmin(rates))
        long_s = float(edges_s[fall.edge + lowest]) - onset_s
        at = int(np.searchsorted(edges_s, onset_s + 0.25 * long_s)) - fall.edge
        lost = top - rates[min(max(at, 0), len(rates) - 1)]
        is_slide = long_s > 2 * BRIEF_S and lost < _SLIDE * (top - rates[lowest])
        return max(0.0, fallen_s - onset_s), bool(is_slide)

    def is_wander(self, drop: Drop, drops: list[Drop]) -> bool:
        """Return whether a small fall is the level's own movement: at times it rises as much."""
        if drop.depth >= _SMALL or not drop.recovered:
            return False
        middles_s = 0.5 * (self.bins.edges_s[1:] + self.bins.edges_s[:-1])
        free = np.ones(len(middles_s))
        for one in drops:
            free[(middles_s >= one.onset_s) & (middles_s < one.end_s)] = 0.0
        size = max(1, self.bins.count(drop.end_s - drop.onset_s))
        if size > len(free):
            return False
        rates = self.bins.usual * (np.exp(self.bins.logs) - STANDSTILL)
        means = np.convolve(rates * free, np.full(size, 1 / size), mode="valid")
        return bool(np.max(means) >= (1 + 0.5 * drop.depth) * drop.before)


def first_of(which: NDArray[np.bool_]) -> int | None:
    """Return the first that is true."""
    at = int(np.argmax(which)) if len(which) else 0
    return at if len(which) and which[at] else None
