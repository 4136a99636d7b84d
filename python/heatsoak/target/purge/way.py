"""The interface of all purge methods."""

from collections.abc import Callable, Generator
from dataclasses import dataclass

from heatsoak.protocol import PurgeMethod
from heatsoak.target.base import Batch
from heatsoak.target.guard import Claim

#: Purges a claimed drive, yielding at least four times per second; returns what was done, as text.
PurgeRun = Callable[[Claim], Generator[Batch, None, str]]


class NotTakenError(Exception):
    """The drive rejected the purge before changing anything; the message says why."""


@dataclass(frozen=True)
class Way:
    """One purge method for one drive.

    Attributes:
        why_not: why this drive cannot be purged this way; None if it can.
        run: purges it; raises NotTakenError if the drive rejects it, ToolError if it fails.
    """

    method: PurgeMethod
    why_not: str | None
    run: PurgeRun
