"""What the thresholds of a controller were, as it is written down while a run has set others."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from pydantic import Field

from heatsoak.target import written_down
from heatsoak.target.hctm.feature import Controller, Kelvins

KIND = "hctm"
#: What is written down, in words.
WHAT = "TMT1 and TMT2"

_Kelvin = Annotated[int, Field(ge=0, le=0xFFFF)]


class Kept(written_down.Kept):
    """What a file says: whose thresholds, what they were, and what was set."""

    number: str = Field(alias="cntlid")
    before: tuple[_Kelvin, _Kelvin] = Field(alias="before_k")
    after: tuple[_Kelvin, _Kelvin] = Field(alias="set_k")


def kept_of(controller: Controller, before: Kelvins, after: Kelvins) -> Kept:
    """Return what to write down of a controller."""
    return Kept(serial=controller.serial, cntlid=controller.number, before_k=before, set_k=after)


def file_of(controller: Controller, state: Path | None) -> Path:
    """Return the file of a controller."""
    return written_down.file_of(KIND, controller.serial, controller.number, state=state)


@contextmanager
def locked(path: Path, controller: Controller) -> Iterator[int]:
    """Hold the file of a controller; raises UsageError where another run does."""
    held = f"{controller.name}: another run has set its TMT1 and TMT2: wait for that one"
    with written_down.taken(path, f"what {WHAT} were", held) as file:
        yield file
