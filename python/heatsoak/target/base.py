"""The interface of all targets: simulated drives, files, block devices and NBD exports.

A run has one target, or a copy's two: :class:`Drives`.
"""

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeVar

import polars as pl

from heatsoak import protocol
from heatsoak.errors import UsageError
from heatsoak.recording import SensorMeta
from heatsoak.units import Size
from heatsoak.words import percent_text, size_text

#: Upper bounds of latency bins in us, ascending, and the I/Os in each; a bin starts where the
#: previous one ends, the first at 0.
LatencyBins = tuple[Sequence[float], Sequence[int]]


@dataclass(frozen=True)
class Identity:
    """Which drive it is, as far as known.

    Attributes:
        kind: ``simulated``, ``file``, ``block`` or ``nbd``.
        path: as given by the user.
        model: the drive's model, or the simulated drive's id.
        size_bytes: the size that workloads can address.
        details: anything else for the recording (serial, firmware, PCIe link, enclosure, file
            system...), as JSON values.
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
    """A message for the recording's events; `level` is ``info`` or ``warning``."""

    level: str
    text: str
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class LoadResult:
    """The result of a load, for its step's end event.

    Attributes:
        data: `load_cpu_s`, processor time of the load generator in s, and `latency_bins` (see
            :func:`latency_bins`), if known.
    """

    data: dict[str, Any]


def latency_bins(by_direction: Mapping[str, LatencyBins]) -> dict[str, Any]:
    """Return latency histograms in the form of `LoadResult.data`; empty without I/Os."""
    bins = {
        direction: {"upper_us": [float(f"{upper:.5g}") for upper in uppers], "ios": list(ios)}
        for direction, (uppers, ios) in by_direction.items()
        if sum(ios)
    }
    return {"latency_bins": bins} if bins else {}


#: Some samples (columns of :mod:`heatsoak.recording.columns`, without `step`), a note, or the
#: result of a load.
Batch = pl.DataFrame | Note | LoadResult

#: A batch without samples, yielded while there is nothing new, and how often.
HEARTBEAT = pl.DataFrame(schema={"t_s": pl.Float64})
BEAT_S = 0.2
#: How often throughput is sampled, and how often fio reports it, which costs it time.
SAMPLE_S, REPORT_S = 0.1, 0.25

T = TypeVar("T")


def waiting_for(
    work: Callable[[], T], stop: Callable[[], None] = lambda: None
) -> Generator[Batch, None, T]:
    """Return the result of `work`, yielding heartbeats meanwhile.

    Closing the generator calls `stop` and waits for the end of `work`.
    """
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        try:
            while not wait([future], timeout=BEAT_S).done:
                yield HEARTBEAT
        finally:
            stop()
    return future.result()


def resting(duration_s: float) -> Iterator[Batch]:
    """Let time pass, yielding heartbeats."""
    until = time.monotonic() + duration_s
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(left, BEAT_S))
        yield HEARTBEAT


def once_free(attempt: Callable[[], T], waits_s: Sequence[float], busy: int) -> T:
    """Return the result of `attempt`, made again after each wait as long as it fails with `busy`.

    Raises its last OSError, or at once any other one.
    """
    for wait_s in waits_s:
        time.sleep(wait_s)
        try:
            return attempt()
        except OSError as error:
            if error.errno != busy:
                raise
            failed = error
    raise failed


class Closing:
    """What is closed at the end of a ``with``."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release everything; may be called twice."""


class RecordingClock(Protocol):
    """Seconds since the start of the recording, real or simulated."""

    def now_s(self) -> float:
        """Return the time now."""


class MonotonicClock:
    """The clock of real targets: seconds since its creation, plus `start_s`.

    It is the kernel's monotonic clock, which setting the wall clock does not move.
    """

    def __init__(self, start_s: float = 0.0) -> None:
        """Start at `start_s`, for a resumed recording."""
        self._origin_s = time.monotonic() - start_s

    def now_s(self) -> float:
        """Return the time now."""
        return time.monotonic() - self._origin_s


class Recorded(Protocol):
    """What a recording says of a drive, whoever loads it."""

    identity: Identity
    clock: RecordingClock

    def columns(self) -> list[str]:
        """Return the sample columns that it fills itself, including `t_s`."""

    def sensors(self) -> list[SensorMeta]:
        """Return what the recording says of the sensors whose columns it fills itself."""

    def describe(self) -> dict[str, Any]:
        """Return how the load is made (tool, version, engine), for the recording."""


class Target(Recorded, Protocol):
    """A drive, or part of one, that runs workloads.

    The conductor calls :meth:`open` once, then runs the steps in order, and always calls
    :meth:`close`. Iterators yield at least four times per second of real time, so that a run can be
    watched and interrupted; closing an iterator ends the load immediately.
    """

    def open(self, writes: bool) -> list[Note]:
        """Prepare the target; `writes` says whether any step changes data.

        Raises RefusedError if writing could destroy something, before any other error.
        """

    def run(self, step: protocol.LoadStep) -> Iterator[Batch]:
        """Run one workload or replay to its end.

        Raises ToolError if the tool or the drive fails; what was yielded before is valid.
        """

    def idle(self, duration_s: float) -> Iterator[Batch]:
        """Let `duration_s` pass without load."""

    def purge(self, method: protocol.PurgeMethod = "auto") -> Iterator[Batch]:
        """Forget all data, or yield a warning note that this was not possible.

        From then on, steps use the whole target. Raises UsageError if the target does not support
        `method`. Targets that are not real drives have only one way, whatever the method.
        """

    def use(self, capacity: Size) -> Iterator[Batch]:
        """Limit steps to this `capacity` of the target, from its start, until it is purged again.

        Raises UsageError if `capacity` is nothing.
        """

    def close(self) -> None:
        """Release everything and remove what was created; may be called twice."""


#: What one of a run's drives yielded: the drive's number, from 0, and the batch.
NumberedBatch = tuple[int, Batch]


def numbered(number: int, batches: Iterator[Batch]) -> Generator[NumberedBatch]:
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

    def alone(self, number: int, batches: Iterator[Batch]) -> Generator[NumberedBatch]:
        """Let one drive do what yields `batches`; the others rest meanwhile."""
        return numbered(number, batches)

    def copy(self, step: protocol.Copy) -> Generator[NumberedBatch]:
        """Copy once, to the end.

        Raises ToolError when the tool or a drive fails; what was yielded before stands.
        """
        raise UsageError(f"{step.name}: a copy takes two drives")

    def idle(self, duration_s: float) -> Generator[NumberedBatch]:
        """Let `duration_s` pass without load; of each stretch the last drive yields last."""
        last = len(self.targets) - 1
        return numbered(last, self.targets[last].idle(duration_s))


_ALIGNMENT = 1 << 20


def limited(capacity: Size, whole_bytes: int) -> tuple[int, Note]:
    """Return how many of a target's `whole_bytes` are used, in whole MiB, and the note on that.

    Raises UsageError if that is nothing, or more than the target has.
    """
    used = capacity.of(whole_bytes)
    if used > whole_bytes:
        raise UsageError(
            f"capacity is {size_text(used)}, but the target has {size_text(whole_bytes)}"
        )
    if used < whole_bytes:
        used -= used % _ALIGNMENT
    if used <= 0:
        raise UsageError(f"capacity is {capacity} of {size_text(whole_bytes)}: less than 1 MiB")
    spare = whole_bytes - used
    note = Note(
        "info",
        f"only {size_text(used)} are used from here on; the rest, {size_text(spare)} "
        f"({percent_text(100 * spare / whole_bytes, 3)}), is left unwritten, as more spare area",
        {"capacity_bytes": used, "spare_bytes": spare},
    )
    return used, note
