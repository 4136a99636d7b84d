"""What a stretch of lowered throughput is."""

from dataclasses import dataclass
from typing import Literal

Shape = Literal["step", "slide", "cycle"]


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
