"""What a measure of a published figure takes, and what it gives."""

from collections.abc import Iterator
from dataclasses import dataclass

from heatsoak.reproduce.runner import FinishedRun, NotMeasured


@dataclass(frozen=True)
class FigureInput:
    """What a figure is measured from.

    Attributes:
        runs: the recordings that the figure is about.
        against: the recordings that they are compared with.
        steps: the steps that count.
        at: the steps that the figure singles out.
        published: both ends of the printed range.
        scores: the names of the scores that it uses.
    """

    runs: list[FinishedRun]
    against: list[FinishedRun]
    steps: tuple[str, ...]
    at: tuple[str, ...]
    published: tuple[float, float]
    scores: tuple[str, ...] = ()

    def pairs(self) -> Iterator[tuple[FinishedRun, FinishedRun]]:
        """Yield each run with those of `against` that ran the same in a similar place.

        Slots are compared with as many cards under the same load.
        """
        found = False
        for run in self.runs:
            for other in self.against:
                if (run.job.protocol, run.cell) == (other.job.protocol, other.cell):
                    found = True
                    yield run, other
        if not found:
            raise NotMeasured("no two recordings can be compared")

    def farthest(self, values: list[float]) -> float:
        """Return the value farthest from the printed range, since the figure is about all of
        them."""
        low, high = self.published
        return max(values, key=lambda value: max(low - value, value - high))


@dataclass(frozen=True)
class MeasuredFigure:
    """A measured number; if `why` is set, it does not hold, whatever the number."""

    value: float
    why: str | None = None


def only(runs: list[FinishedRun]) -> FinishedRun:
    """Return the single run of a figure that is about one."""
    (run,) = runs
    return run


def only_step(steps: tuple[str, ...]) -> str:
    """Return the single step of a figure that is about one."""
    (name,) = steps
    return name
