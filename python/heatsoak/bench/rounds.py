"""Whether rounds have become steady, seen while a run goes on."""

from typing import Any

import polars as pl

from heatsoak.analysis.findings import SteadyState
from heatsoak.analysis.rounds import judge_tracked, mean_iops, tracked_text
from heatsoak.protocol import Rounds

_RATES = ("t_s", "interval_s", "read_iops", "write_iops")


class RoundsWatch:
    """Follows the step that rounds track."""

    def __init__(self, rounds: Rounds) -> None:
        self._rounds = rounds
        self._frames: list[pl.DataFrame] = []
        self._means: list[float] = []
        self._found: SteadyState | None = None

    def append(self, step: str | None, samples: pl.DataFrame) -> None:
        """Take samples of a step of the round that goes on."""
        if self._rounds.tracks is not None and step == f"{self._rounds.tracks}/{self._number}":
            self._frames.append(samples.select(n for n in _RATES if n in samples.columns))

    def end_round(self) -> None:
        """A round is over."""
        self._means.append(mean_iops(self._frames))
        self._frames = []
        if self._rounds.until is not None:
            self._found = judge_tracked(self._means)

    @property
    def is_steady(self) -> bool:
        """Whether the last five rounds are."""
        return self._found is not None and self._found.reached

    def describe(self) -> str:
        """Return how it came out in a sentence."""
        count = len(self._means)
        if self._rounds.until is None:
            return f"{count} rounds"
        return tracked_text(self._rounds, count, self._found)

    def data(self) -> dict[str, Any]:
        """Return the rounds that were taken, and whether they ended steady."""
        data: dict[str, Any] = {"rounds": len(self._means)}
        return data if self._rounds.until is None else {**data, "is_steady": self.is_steady}

    @property
    def _number(self) -> int:
        return len(self._means) + 1
