"""What the thresholds of a controller were, as it is written down while a run has set others."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from heatsoak.target import written_down
from heatsoak.target.hctm.feature import Controller, Kelvins

KIND = "hctm"
#: What is written down, in words.
WHAT = "what TMT1 and TMT2 were"


@dataclass(frozen=True)
class Kept:
    """What a file says: whose thresholds, what they were, and what was set."""

    serial: str
    number: str
    before: Kelvins
    after: Kelvins

    @classmethod
    def parse(cls, text: str) -> "Kept":
        """Return what is in the text of a file; raises ValueError where it is not whole."""
        try:
            kept = json.loads(text)
            before, after = _pair(kept["before_k"]), _pair(kept["set_k"])
            return cls(str(kept["serial"]), str(kept["cntlid"]), before, after)
        except (KeyError, TypeError) as error:
            raise ValueError("not whole") from error

    def text(self) -> str:
        """Return it as a file has it."""
        return json.dumps(
            {
                "serial": self.serial,
                "cntlid": self.number,
                "before_k": self.before,
                "set_k": self.after,
            }
        )


def file_of(controller: Controller, state: Path) -> Path:
    """Return the file of a controller."""
    return written_down.file_of(KIND, controller.serial, controller.number, state=state)


@contextmanager
def locked(path: Path, controller: Controller) -> Iterator[int]:
    """Hold the file of a controller; raises UsageError where another run does."""
    held = f"{controller.name}: another run has set its TMT1 and TMT2: wait for that one"
    with written_down.taken(path, WHAT, held) as file:
        yield file


def _pair(values: list[int]) -> Kelvins:
    first, second = values
    return int(first), int(second)
