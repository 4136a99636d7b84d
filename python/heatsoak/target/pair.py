"""Two places that data is copied between: one interface of simulated drives and of fio."""

from collections.abc import Iterator
from typing import Protocol

from heatsoak.protocol import Copy, Precondition, Purge, Role
from heatsoak.target.base import Batch, Target

#: What one of the two drives had to tell.
Told = tuple[Role, Batch]


class Pair(Protocol):
    """A copy's two drives, both open; their clocks go together.

    Iterators are as those of :class:`~heatsoak.target.base.Target`, and say of which drive each
    batch is.
    """

    def target(self, role: Role) -> Target:
        """Return one of the two."""

    def copy(self, step: Copy) -> Iterator[Told]:
        """Copy once, to the end.

        Raises ToolError when the tool or a drive fails; what was yielded before stands.
        """

    def alone(self, role: Role, step: Precondition | Purge) -> Iterator[Told]:
        """Let one drive take a step; the other rests."""

    def idle(self, duration_s: float) -> Iterator[Told]:
        """Let `duration_s` pass without load; the destination tells last of each stretch."""
