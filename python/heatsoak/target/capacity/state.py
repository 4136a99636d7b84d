"""What a drive hides for a run, as it is written down before it does."""

import json
from dataclasses import dataclass
from pathlib import Path

from heatsoak.target import written_down

KIND = "capacity"
#: What is written down, in words.
WHAT = "what the drive hides"


@dataclass(frozen=True)
class Kept:
    """Whose capacity, how many sectors it has, and how many it was told to show."""

    serial: str
    native: int
    shown: int

    @classmethod
    def parse(cls, text: str) -> "Kept":
        """Return what is in the text of a file; raises ValueError where it is not whole."""
        try:
            kept = json.loads(text)
            return cls(str(kept["serial"]), int(kept["native"]), int(kept["shown"]))
        except (KeyError, TypeError) as error:
            raise ValueError("not whole") from error

    def text(self) -> str:
        """Return it as a file has it."""
        return json.dumps(vars(self))

    def take(self, state: Path) -> tuple[Path, int]:
        """Open and lock the drive's file; raises UsageError where it cannot be."""
        path = written_down.file_of(KIND, self.serial, state=state)
        return path, written_down.take(path, WHAT, f"{path}: another run has set {WHAT}")
