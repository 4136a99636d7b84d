"""Two simulated drives that data is copied between, in one virtual time."""

from collections.abc import Iterator

from heatsoak._core import Transfer
from heatsoak.errors import UsageError
from heatsoak.protocol import ROLES, Copy, Precondition, Purge, Role
from heatsoak.target.pair import Told
from heatsoak.target.simulated import RUN_CHUNK_S, SAMPLE_S, SimulatedTarget, frame_of

#: Times nearer than this are the same; the simulator takes no shorter sample.
_SAME_S = 1e-6


class SimulatedPair:
    """Two drives, each in a place of its own; they may be of one kind."""

    def __init__(self, source: SimulatedTarget, destination: SimulatedTarget) -> None:
        """Couple two drives whose clocks show the same."""
        self._targets = {"source": source, "destination": destination}

    def target(self, role: Role) -> SimulatedTarget:
        """Return one of the two."""
        return self._targets[role]

    def copy(self, step: Copy) -> Iterator[Told]:
        """Copy once; raises ShutDownError for a drive that shut itself down."""
        source, destination = (self.target(role) for role in ROLES)
        try:
            transfer = Transfer(
                source.core,
                destination.core,
                step.amount_bytes,
                step.bs,
                step.iodepth,
                step.buffer_bytes,
            )
        except ValueError as error:
            raise UsageError(f"{step.name}: {error}") from error
        try:
            while not transfer.done:
                for role, columns in zip(
                    ROLES, transfer.advance(RUN_CHUNK_S, SAMPLE_S), strict=True
                ):
                    yield role, frame_of(columns)
            for role in ROLES:
                self.target(role).refuse_stopped()
                yield role, self.target(role).outcome()
                # one ends up to half a sample before the other: that is no part of the copy
                for _ in self._catch_up(role):
                    pass
        finally:
            for role in ROLES:
                self.target(role).core.end()

    def alone(self, role: Role, step: Precondition | Purge) -> Iterator[Told]:
        """Let one drive take a step; the other rests until it is done."""
        target = self.target(role)
        other: Role = "destination" if role == "source" else "source"
        batches = target.purge(step.method) if isinstance(step, Purge) else target.run(step)
        for batch in batches:
            yield role, batch
            yield from self._catch_up(other)

    def idle(self, duration_s: float) -> Iterator[Told]:
        """Let time pass for both."""
        until_s = max(self.target(role).clock.now_s() for role in ROLES) + duration_s
        rests = {
            role: self.target(role).idle(until_s - self.target(role).clock.now_s())
            for role in ROLES
        }
        while rests:
            for role, rest in list(rests.items()):
                batch = next(rest, None)
                if batch is None:
                    del rests[role]
                else:
                    yield role, batch

    def _catch_up(self, role: Role) -> Iterator[Told]:
        """Let one drive rest until its clock shows what the other's does."""
        behind_s = max(self.target(r).clock.now_s() for r in ROLES)
        behind_s -= self.target(role).clock.now_s()
        if behind_s > _SAME_S:
            for batch in self.target(role).idle(behind_s):
                yield role, batch
