"""Two simulated drives that data is copied between, in a common simulated time."""

from collections.abc import Iterator

from heatsoak._core import Transfer
from heatsoak.errors import UsageError
from heatsoak.protocol import ROLES, Copy, Precondition, Purge, Role
from heatsoak.target.pair import Told
from heatsoak.target.simulated import RUN_CHUNK_S, SAMPLE_S, SimulatedTarget, frame_of

#: Times closer than this are the same; the simulator cannot advance by less.
_SAME_S = 1e-6


class SimulatedPair:
    """Two drives, each in its own enclosure; they may be the same model."""

    def __init__(self, source: SimulatedTarget, destination: SimulatedTarget) -> None:
        """Couple two drives whose clocks are equal."""
        self._targets = {"source": source, "destination": destination}

    def target(self, role: Role) -> SimulatedTarget:
        """Return one of the two."""
        return self._targets[role]

    def copy(self, step: Copy) -> Iterator[Told]:
        """Copy once; raises ShutDownError if a drive shuts itself down."""
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
                # one drive ends up to half a sample earlier; waiting for it is not part of the copy
                for _ in self._catch_up(role):
                    pass
        finally:
            for role in ROLES:
                self.target(role).core.end()

    def alone(self, role: Role, step: Precondition | Purge) -> Iterator[Told]:
        """Run a step on one drive while the other is idle."""
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
        """Let one drive idle until its clock equals the other's."""
        behind_s = max(self.target(r).clock.now_s() for r in ROLES)
        behind_s -= self.target(role).clock.now_s()
        if behind_s > _SAME_S:
            for batch in self.target(role).idle(behind_s):
                yield role, batch
