"""A copy's two drives: simulated ones in one virtual time, or real ones that one fio loads."""

from collections.abc import Iterator

from heatsoak._core import Transfer
from heatsoak.errors import UsageError
from heatsoak.protocol import Copy
from heatsoak.target.base import Batch, Drives, NumberedBatch, Target
from heatsoak.target.simulated import RUN_CHUNK_S, SAMPLE_S, SimulatedTarget, frame_of

#: Times nearer than this are the same; the simulator takes no shorter sample.
_SAME_S = 1e-6


def drives_of(targets: list[Target]) -> Drives:
    """Return the drives of a run, all open: one, or a copy's two, both simulated or both real."""
    if len(targets) == 1:
        return Drives(*targets)
    source, destination = targets
    if isinstance(source, SimulatedTarget) and isinstance(destination, SimulatedTarget):
        return SimulatedPair(source, destination)
    from heatsoak.target.fio import FioTarget  # Linux only
    from heatsoak.target.fio.target import FioPair

    assert isinstance(source, FioTarget)
    assert isinstance(destination, FioTarget)
    return FioPair(source, destination)


class SimulatedPair(Drives):
    """Two simulated drives, each in a place of its own; they may be of one kind."""

    def __init__(self, source: SimulatedTarget, destination: SimulatedTarget) -> None:
        """Couple two drives whose clocks show the same."""
        super().__init__(source, destination)
        self._both = (source, destination)

    def alone(self, number: int, batches: Iterator[Batch]) -> Iterator[NumberedBatch]:
        """Let one drive do something; the other rests until it is done."""
        for batch in batches:
            yield number, batch
            yield from self._catch_up(1 - number)

    def copy(self, step: Copy) -> Iterator[NumberedBatch]:
        """Copy once; raises ShutDownError for a drive that shut itself down."""
        try:
            transfer = Transfer(
                self._both[0].core,
                self._both[1].core,
                step.amount_bytes,
                step.bs,
                step.iodepth,
                step.buffer_bytes,
            )
        except ValueError as error:
            raise UsageError(f"{step.name}: {error}") from error
        try:
            while not transfer.done:
                for number, columns in enumerate(transfer.advance(RUN_CHUNK_S, SAMPLE_S)):
                    yield number, frame_of(columns)
            for number, target in enumerate(self._both):
                target.refuse_stopped()
                yield number, target.outcome()
                # one ends up to half a sample before the other: that is not part of the copy
                for _ in self._catch_up(number):
                    pass
        finally:
            for target in self._both:
                target.core.end()

    def idle(self, duration_s: float) -> Iterator[NumberedBatch]:
        """Let time pass for both."""
        until_s = max(target.clock.now_s() for target in self._both) + duration_s
        rests = {
            number: target.idle(until_s - target.clock.now_s())
            for number, target in enumerate(self._both)
        }
        while rests:
            for number, rest in list(rests.items()):
                batch = next(rest, None)
                if batch is None:
                    del rests[number]
                else:
                    yield number, batch

    def _catch_up(self, number: int) -> Iterator[NumberedBatch]:
        """Let one drive rest until its clock shows what the other's does."""
        target = self._both[number]
        behind_s = max(each.clock.now_s() for each in self._both) - target.clock.now_s()
        if behind_s > _SAME_S:
            for batch in target.idle(behind_s):
                yield number, batch
