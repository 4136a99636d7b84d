"""Replays with fio: the trace as an iolog that we write, and what fio did with it.

fio opens every file that an iolog names, so it never gets a user's iolog: its records are read,
fitted to the target, and written to a new iolog that only names the target.
"""

import os
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from threading import Event
from typing import IO

from heatsoak import protocol
from heatsoak.errors import ToolError, UsageError
from heatsoak.fio import FioStatus
from heatsoak.target import base, traces
from heatsoak.target.fio import command
from heatsoak.target.fio.process import Fio, takes_direct
from heatsoak.units import Size
from heatsoak.words import size_text

#: The oldest fio that reads iologs of version 3.
OLDEST = (3, 31)
#: fio needs about 200 bytes per I/O; traces with more I/Os are read in chunks.
_HELD_IOS = 2_000_000
#: How long fio waits for the last I/Os of a trace, which otherwise it would not count.
_LAST_US = 200_000
#: fio allocates buffers for all I/Os in flight, of the largest size.
_BUFFER_BYTES = 1 << 30


class _StoppedError(Exception):
    """The iolog is no longer needed."""


@dataclass(frozen=True)
class Iolog:
    """A trace in fio's format, and its totals.

    Attributes:
        file: has no name, so that it cannot be left behind.
        asked: the totals from :attr:`heatsoak._core.Trace.fitted`.
    """

    file: IO[bytes]
    asked: dict[str, int]

    @property
    def ios(self) -> int:
        """Reads and writes."""
        return self.asked["reads"] + self.asked["writes"]

    @property
    def read_region(self) -> list[tuple[int, int]]:
        """Start and end of what is read; empty if nothing is."""
        begin, end = self.asked["read_begin"], self.asked["read_end"]
        return [(begin, end)] if end > begin else []

    @property
    def bytes(self) -> int:
        """What is read and written in all."""
        return self.asked["read_bytes"] + self.asked["write_bytes"]

    def load(self, step: protocol.Replay) -> protocol.WorkloadStep:
        """Return what `step` comes to as one load."""
        return protocol.WorkloadStep(
            name=step.name,
            rw=protocol.rw_of(
                reads=self.asked["reads"] > 0, writes=self.asked["writes"] > 0, is_random=True
            ),
            bs=max(self.asked["largest_bytes"], 512),
            iodepth=step.iodepth,
            io_size=Size(bytes=self.bytes),
        )


def new_ticks(place: command.FioPlace) -> int | None:
    """Return the descriptor of a file in memory for ticks, on which a sync does nothing.

    None if fio cannot use one together with the place.
    """
    if place.engine == "nbd":
        return None
    ticks = os.memfd_create("heatsoak-ticks")
    os.ftruncate(ticks, 4096)
    if place.direct and not takes_direct(fd_path(ticks)):
        os.close(ticks)
        return None
    return ticks


def fd_path(fd: int) -> str:
    """Return a path to an open file."""
    return f"/proc/self/fd/{fd}"


def write_iolog(
    step: protocol.Replay, place: command.FioPlace, file: IO[bytes], ticks: int | None
) -> Generator[base.Batch, None, Iolog]:
    """Write the trace of `step` for `place` to `file`, with heartbeats; return the iolog.

    `ticks` is the descriptor from :func:`new_ticks`.

    Raises UsageError if the trace cannot be replayed there, ToolError if the disk is full.
    """
    trace = traces.open_trace(
        step,
        place.size_bytes,
        block_bytes=place.block_bytes,
        trims=place.trims,
        idle_limit_s=step.idle_limit_s,
    )
    stop = Event()

    def stop_if_asked(_: int) -> None:
        if stop.is_set():
            raise _StoppedError

    def write() -> None:
        path = fd_path(file.fileno())
        if ticks is None:
            trace.write(path, "iolog-v3", place.file, stop_if_asked)
        else:
            trace.write_ticking(path, place.file, fd_path(ticks), _LAST_US, stop_if_asked)

    try:
        yield from base.waiting_for(write, stop.set)
    except OSError as error:
        raise ToolError(f"the iolog for fio cannot be written: {error.strerror}") from error
    except ValueError as error:
        raise traces.trace_error(step, error) from error
    # otherwise it could be written to the drive during the measurement
    os.fsync(file.fileno())
    yield from traces.replay_notes(step, trace)
    if ticks is None:
        yield base.Note(
            "warning",
            f"step '{step.name}': here fio counts pauses in the latency of the I/Os before them",
        )
    log = Iolog(file, trace.fitted or {})
    if log.ios == 0:
        raise UsageError(f"{step.name}: {step.trace}: has no I/Os that can be replayed here")
    largest = log.asked["largest_bytes"]
    if largest * step.iodepth > _BUFFER_BYTES:
        raise UsageError(
            f"{step.name}: {step.trace} has I/Os of {size_text(largest)}, and up to "
            f"{step.iodepth} in flight need too much memory: choose a smaller iodepth"
        )
    return log


def replay_command(
    fio: Fio, step: protocol.Replay, place: command.FioPlace, log: Iolog
) -> list[str]:
    """Return fio's command line for a replay; raises ToolError if fio is too old."""
    fio.require(OLDEST, " to replay")
    name, largest = command.job_name(step.name), log.asked["largest_bytes"]
    return [
        *command.measured(fio.path),
        *command.loading(name, place, largest, step.iodepth, command.SEED),
        f"--read_iolog={fd_path(log.file.fileno())}",
        "--replay_no_stall=0",
        # otherwise fio only reaps completions when iodepth I/Os are in flight
        "--iodepth_batch_complete_min=0",
        "--iodepth_batch_complete_max=0",
        *(["--read_iolog_chunked=1"] if log.ios > _HELD_IOS else []),
        "--refill_buffers=1",
    ]


def compared(step: protocol.Replay, log: Iolog, status: FioStatus | None) -> Iterator[base.Note]:
    """Yield notes on what fio did differently than asked."""
    if status is None:
        return
    asked, where = log.asked, f"step '{step.name}'"
    for what, wanted, done in (
        ("reads", asked["reads"], status.read.ios),
        ("writes", asked["writes"], status.write.ios),
        ("trims", asked["trims"], status.trims),
    ):
        if wanted != done:
            yield base.Note("warning", f"{where}: fio did {done:,} of {wanted:,} {what}")
    missing = status.read.ios + status.write.ios - status.read.lat_count - status.write.lat_count
    if status.bytes != log.bytes:
        at_end = 0 < missing < step.iodepth
        why = f": those of the last {missing} I/Os, in flight as the trace ended" if at_end else ""
        yield base.Note(
            "info" if at_end else "warning",
            f"{where}: fio counted {status.bytes:,} of {log.bytes:,} bytes{why}",
        )
