"""The interface of two targets that data is copied between, simulated or loaded by fio."""

from collections.abc import Iterator
from typing import Protocol

from heatsoak.protocol import Copy, Precondition, Purge, Role
from heatsoak.target.base import Batch, Target

#: A batch, and which of the two drives it is from.
Told = tuple[Role, Batch]


class Pair(Protocol):
    """A copy's two drives, both open and with a common clock.

    Iterators are like those of :class:`~heatsoak.target.base.Target`, with the role of the drive
    that each batch is from.
    """

    def target(self, role: Role) -> Target:
        """Return one of the two."""

    def copy(self, step: Copy) -> Iterator[Told]:
        """Copy once, to the end.

        Raises ToolError if the tool or a drive fails; what was yielded before is valid.
        """

    def alone(self, role: Role, step: Precondition | Purge) -> Iterator[Told]:
        """Run a step on one drive while the other is idle."""

    def idle(self, duration_s: float) -> Iterator[Told]:
        """Let `duration_s` pass without load; the destination's batch comes last each time."""
