"""The interface of everything that warms the case."""

from collections.abc import Callable
from typing import Any, Protocol

from heatsoak.errors import UsageError
from heatsoak.tools import which

#: Puts a line to the person at the terminal, and returns once it was answered with Enter.
Ask = Callable[[str], None]


class Heater(Protocol):
    """One source of heat. Made only where it can be commanded."""

    def describe(self) -> dict[str, Any]:
        """Return what it is, as the recording has it, JSON values only."""

    def notes(self) -> list[str]:
        """Return what whoever reads the recording must know of this source."""

    def start(self) -> None:
        """Begin to heat; raises ToolError where that cannot be done."""

    def why_ended(self) -> str | None:
        """Return None while it heats, else why it does not any more."""

    def stop(self) -> None:
        """End the heat; may be called twice, and without a start."""


def program(*names: str, advice: str) -> str:
    """Return the path of the first of `names` that is installed.

    Raises UsageError, which says `advice`, where none is.
    """
    for name in names:
        path = which(name)
        if path is not None:
            return path
    raise UsageError(f"{names[0]} is not installed: {advice}")
