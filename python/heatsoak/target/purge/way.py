"""What all ways to purge have in common."""

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TypeVar

from heatsoak.protocol import PurgeMethod
from heatsoak.target.base import BEAT_S, HEARTBEAT, Batch
from heatsoak.target.guard import Claim

T = TypeVar("T")

#: Purges what is claimed, yielding at least four times a second; returns what was done, in words.
PurgeRun = Callable[[Claim], Generator[Batch, None, str]]


class NotTakenError(Exception):
    """The drive said no before it changed anything; the text says how."""


@dataclass(frozen=True)
class Way:
    """One way to purge one drive.

    Attributes:
        why_not: why this drive cannot be purged so; None where it can.
        run: does it; raises NotTakenError where the drive declines, ToolError where it fails.
    """

    method: PurgeMethod
    why_not: str | None
    run: PurgeRun


def waiting_for(work: Callable[[], T]) -> Generator[Batch, None, T]:
    """Return what `work` gives, yielding signs of life meanwhile.

    Whoever closes the generator waits until `work` has ended: for what cannot be stopped.
    """
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        while not wait([future], timeout=BEAT_S).done:
            yield HEARTBEAT
    return future.result()
