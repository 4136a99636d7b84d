"""What a protocol runs on: the one interface of simulated drives, files, devices and exports.

A run has one target, or a copy's two: :class:`Drives`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import polars as pl

from heatsoak.errors import UsageError
from heatsoak.protocol import Copy, LoadStep, PurgeMethod, Spare
from heatsoak.units import Size

#: Upper ends of latency bins in us, rising, and the I/Os in each; a bin starts where the one before
#: ends, the first at 0.
LatencyBins = tuple[Sequence[float], Sequence[int]]


@dataclass(frozen=True)
class Identity:
    """Which drive it is, as far as it can be known.

    Attributes:
        kind: ``simulated``, ``file``, ``block`` or ``nbd``.
        path: what the user named.
        model: the drive's model, or the simulated drive's id.
        size_bytes: the size of what workloads address.
        details: whatever else belongs in the recording (serial, firmware, PCIe link, enclosure,
            file system...), JSON values only.
    """

    kind: str
    path: str
    model: str | None
    serial: str | None
    size_bytes: int
    simulated: bool
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Note:
    """Something worth an event while a step runs; `level` is ``info`` or ``warning``."""

    level: str
    text: str
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What a load came to, for the event of its step's end.

    Attributes:
        data: `load_cpu_s`, processor time that the load generator took, in s, and `latency_bins`
            (see :func:`latency_bins`), as far as either is known.
    """

    data: dict[str, Any]


def latency_bins(by_direction: Mapping[str, LatencyBins]) -> dict[str, Any]:
    """Return how long I/Os took as `Outcome.data` has it; empty where there were none."""
    bins = {
        direction: {"upper_us": [float(f"{upper:.5g}") for upper in uppers], "ios": list(ios)}
        for direction, (uppers, ios) in by_direction.items()
        if sum(ios)
    }
    return {"latency_bins": bins} if bins else {}


#: A stretch of samples (columns of :mod:`heatsoak.recording.columns`, without `step`), a note, or
#: what a load came to.
Batch = pl.DataFrame | Note | Outcome

#: A sign of life without samples, while the next batch is waited for, and how often it is given.
HEARTBEAT = pl.DataFrame(schema={"t_s": pl.Float64})
BEAT_S = 0.2


class RecordingClock(Protocol):
    """Seconds since the recording began, real or simulated."""

    def now_s(self) -> float:
        """Return the time now."""


class Target(Protocol):
    """A drive, or a part of one, that takes workloads.

    The conductor calls :meth:`open` once, then steps in order, then :meth:`close`, whatever
    happened between. Iterators yield at least four times a second of real time, so that
    a run can be watched and interrupted; closing an iterator ends the load at once.
    """

    identity: Identity
    clock: RecordingClock

    def columns(self) -> list[str]:
        """Return the sample columns that it will fill itself, `t_s` included."""

    def describe(self) -> dict[str, Any]:
        """Return how the load is made (tool, version, engine), for the recording."""

    def open(self, writes: bool) -> list[Note]:
        """Make ready; `writes` says whether any step changes data.

        Raises RefusedError where writing could destroy something, before any other complaint.
        """

    def run(self, step: LoadStep) -> Iterator[Batch]:
        """Run one workload or replay to its end.

        Raises ToolError when the tool or the drive fails; what was yielded before stands.
        """

    def idle(self, duration_s: float) -> Iterator[Batch]:
        """Let `duration_s` pass without load."""

    def purge(self, method: PurgeMethod = "auto") -> Iterator[Batch]:
        """Forget all data; a warning note says so where that could not be done.

        From then on steps use the whole target. Raises UsageError where the target does not offer
        `method`. What is no real drive has one way, whatever the method.
        """

    def use(self, capacity: Size, spare: Spare = "unwritten") -> Iterator[Batch]:
        """Let steps use only this much of the target, from its start, until it is purged again.

        Raises UsageError where `capacity` is none of it, or the target has no such `spare`.
        """

    def close(self) -> None:
        """Release everything and remove whatever was made; may be called twice."""


#: What one of a run's drives yielded: the drive's number, from 0, and the batch.
NumberedBatch = tuple[int, Batch]


def numbered(number: int, batches: Iterator[Batch]) -> Iterator[NumberedBatch]:
    """Yield `batches` as those of one drive; closing this closes them."""
    try:
        for batch in batches:
            yield number, batch
    finally:
        if (close := getattr(batches, "close", None)) is not None:
            close()


class Drives:
    """The open targets of one run: one, or a copy's source and destination.

    Iterators are as those of :class:`Target`, and say of which drive each batch is.
    """

    def __init__(self, *targets: Target) -> None:
        """Take the targets, whose clocks go together."""
        self.targets = targets

    def alone(self, number: int, batches: Iterator[Batch]) -> Iterator[NumberedBatch]:
        """Let one drive do what yields `batches`; the others rest meanwhile."""
        return numbered(number, batches)

    def copy(self, step: Copy) -> Iterator[NumberedBatch]:
        """Copy once, to the end.

        Raises ToolError when the tool or a drive fails; what was yielded before stands.
        """
        raise UsageError(f"{step.name}: a copy takes two drives")

    def idle(self, duration_s: float) -> Iterator[NumberedBatch]:
        """Let `duration_s` pass without load; of each stretch the last drive yields last."""
        last = len(self.targets) - 1
        return numbered(last, self.targets[last].idle(duration_s))
