"""A finished sweep, read from its directory."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl

from heatsoak.errors import UsageError
from heatsoak.sweep.store import EXACT, POINTS, read_parts
from heatsoak.sweep.summary import Sweep, summary_of

#: The summary, which is written when everything else is there.
SUMMARY = "sweep.json"


@dataclass(frozen=True)
class FinishedSweep:
    """What a sweep left.

    Attributes:
        points: a row for each point, and the columns of `store.POINTS`.
        exact: likewise of those that the exact engine was run on.
    """

    directory: Path
    points: pl.DataFrame
    exact: pl.DataFrame

    @cached_property
    def summary(self) -> Sweep:
        """What it comes to."""
        return summary_of(self.points, self.exact)

    @cached_property
    def table(self) -> pl.DataFrame:
        """The points, with what the exact engine found, after ``exact_``, where it was run."""
        found = (name for name in EXACT if name not in POINTS or name == "impossible")
        exact = self.exact.select("point", pl.col(list(found)).name.prefix("exact_"))
        return self.points.join(exact, on="point", how="left", maintain_order="left")

    @classmethod
    def load(cls, directory: Path) -> "FinishedSweep":
        """Read a sweep; UsageError if it is not finished, ToolError if a table is damaged."""
        if not (directory / SUMMARY).is_file():
            raise UsageError(
                f"{directory}: the sweep is not finished: give the command that made it again, "
                "and it goes on from there"
            )
        points = read_parts(directory / "points", POINTS)
        if not len(points):
            raise UsageError(f"{directory}: holds no points: their tables are gone")
        return cls(directory, points, read_parts(directory / "exact", EXACT))
