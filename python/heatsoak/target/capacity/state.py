"""What a drive hides for a run, as it is written down before it does."""

from pathlib import Path
from typing import Self

from pydantic import PositiveInt, model_validator

from heatsoak.target import written_down

KIND = "capacity"
#: What is written down, in words.
WHAT = "what the drive hides"


class Kept(written_down.Kept):
    """Whose capacity, how many sectors it has, and how many it was told to show."""

    native: PositiveInt
    shown: PositiveInt

    @model_validator(mode="after")
    def _shows_less(self) -> Self:
        if self.shown >= self.native:
            raise ValueError("it shows no less than it has")
        return self

    def take(self, state: Path | None) -> tuple[Path, int]:
        """Open and lock the drive's file; raises UsageError where it cannot be."""
        path = written_down.file_of(KIND, self.serial, state=state)
        return path, written_down.take(path, WHAT, f"{path}: another run has set {WHAT}")
