"""What all places that fio loads have in common: running a step, waiting, letting go."""

import os
import shlex
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heatsoak.errors import RefusedError, ToolError, UsageError
from heatsoak.protocol import LoadStep, PurgeMethod, Replay, Spare, WorkloadStep
from heatsoak.sensor import Roots, busy_time
from heatsoak.target.base import BEAT_S, HEARTBEAT, Batch, Identity, Note, RecordingClock
from heatsoak.target.clock import MonotonicClock
from heatsoak.target.fio import tool
from heatsoak.target.fio.command import FioPlace, command, region_of
from heatsoak.target.fio.lane import COLUMNS, Lane, Load
from heatsoak.target.fio.replay import compared, new_file, new_ticks, replay_command, write_iolog
from heatsoak.target.fio.watch import FioWatch
from heatsoak.target.spare import spare_note, used_bytes
from heatsoak.units import Size, format_bytes

#: Shorter ones work, but what fio spends on them becomes visible.
_SHORTEST_INTERVAL_S = 0.1


#: Begin and end of parts of a place, in bytes.
Regions = Sequence[tuple[int, int]]


@dataclass
class Settings:
    """How fio is run, whatever the place.

    Attributes:
        status_interval_s: how often fio says how far it is, 0.1 to 60 s.
        raw_dir: where the last document and the standard error of each step are kept
            (``<step>.json``, ``<step>.stderr``); None keeps them nowhere. May be set later.
        seed: the same seed gives the same offsets in every run.
    """

    status_interval_s: float = 0.25
    raw_dir: Path | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        """Check the interval."""
        if not _SHORTEST_INTERVAL_S <= self.status_interval_s <= 60:
            raise UsageError(
                f"a status interval of {self.status_interval_s} s: "
                f"{_SHORTEST_INTERVAL_S} to 60 s are possible"
            )


class FioTarget(ABC):
    """A place that fio loads; subclasses say which, and how it is held and purged."""

    identity: Identity

    def __init__(
        self, settings: Settings | None = None, clock: RecordingClock | None = None
    ) -> None:
        """Touch nothing yet; time counts from here unless a `clock` is given."""
        self.settings = settings or Settings()
        self.clock: RecordingClock = clock or MonotonicClock()
        self._fio: tool.Fio | None = None
        self._writes = False
        self._opened = False
        self._used_bytes: int | None = None

    @abstractmethod
    def _claim(self, writes: bool) -> Iterator[Note]:
        """Check that the place may be used, and hold it; the first thing that is done."""

    @abstractmethod
    def _place(self) -> FioPlace:
        """Return where fio loads; called once the place is held and fio is found."""

    @abstractmethod
    def _purge(self, method: PurgeMethod) -> Iterator[Batch]:
        """Forget all data; a warning note says so where that could not be done."""

    def purge(self, method: PurgeMethod = "auto") -> Iterator[Batch]:
        """Forget all data, and use the whole place from then on."""
        self._used_bytes = None
        return self._purge(method)

    def use(self, capacity: Size, spare: Spare = "unwritten") -> Iterator[Batch]:
        """Load only so much of the place, from its begin, until it is purged again."""
        used = used_bytes(capacity, self.identity.size_bytes)
        yield self._spare(used, spare)
        self._used_bytes = used

    def _spare(self, used: int, spare: Spare) -> Note:
        """Give up what is beyond the first `used` bytes; returns what to record."""
        if spare != "unwritten":
            raise UsageError(f"{self.identity.path}: spare = '{spare}' is of whole SATA drives")
        return spare_note(used, self.identity.size_bytes)

    @property
    def size_bytes(self) -> int:
        """How much of the place is used."""
        return self.identity.size_bytes if self._used_bytes is None else self._used_bytes

    @abstractmethod
    def _release(self) -> None:
        """Let go of the place; may be called twice."""

    def _keep_fds(self) -> list[int]:
        """Return the descriptors that fio inherits."""
        return []

    def _before(self, name: str, regions: Regions) -> Iterator[Batch]:  # noqa: ARG002 -- for subclasses
        """Make the place ready for the step `name`, which reads `regions`."""
        yield from ()

    def _disk(self) -> str | None:
        """Return the kernel name of the drive underneath, where there is one to be known."""
        return None

    def columns(self) -> list[str]:
        """Return the sample columns that it fills."""
        return list(COLUMNS)

    def describe(self) -> dict[str, Any]:
        """Return how the load is made; the command line of each step comes as a note."""
        made: dict[str, Any] = {
            "tool": "fio",
            "status_interval_s": self.settings.status_interval_s,
            "seed": self.settings.seed,
        }
        if self._opened:
            place = self._place()
            made |= {
                "version": self.fio.version,
                "path": self.fio.path,
                "engine": place.engine,
                "direct": place.direct,
                "arguments": list(place.arguments),
            }
        return made

    def command_line(self, step: WorkloadStep, writes: bool | None = None) -> list[str]:
        """Return the command line of fio for a step; the target is open.

        Unless it `writes`, by default as the target was opened, fio is told to write nothing.
        """
        return command(
            self.fio.path,
            step,
            self._place(),
            self.settings.status_interval_s,
            self.settings.seed,
            readonly=not (self._writes if writes is None else writes),
        )

    @property
    def fio(self) -> tool.Fio:
        """The fio that loads; known once the target is open."""
        if self._fio is None:
            raise ToolError("the target is not open")
        return self._fio

    def open(self, writes: bool) -> list[Note]:
        """Claim the place, then look for fio: a refusal comes before any other complaint."""
        self._writes = writes
        try:
            notes = list(self._claim(writes))
            self._fio = tool.find_fio()
            tool.setpriv()
            place = self._place()
        except BaseException:
            self.close()
            raise
        self._opened = True
        if place.engine == "psync":
            notes.append(
                Note(
                    "warning",
                    "neither io_uring nor libaio works here: each job has one I/O in flight, "
                    "whatever its iodepth",
                )
            )
        return notes

    def run(self, step: LoadStep) -> Iterator[Batch]:
        """Run one workload or replay to its end; batches of no rows are signs of life.

        Closing the iterator ends fio within seconds and keeps its last document.
        """
        if not self._opened:
            raise ToolError("the target is not open")
        if not self._writes and step.changes_data:
            raise RefusedError(f"step '{step.name}' writes, and the target is open for reading")
        if isinstance(step, Replay):
            yield from self._replay(step)
        else:
            yield from self._workload(step)

    def _workload(self, step: WorkloadStep) -> Iterator[Batch]:
        place = self._place()
        for load in step.workloads:
            region = region_of(load, place.size_bytes)
            if region.capped:
                yield Note(
                    "warning",
                    f"step '{step.name}': the target holds only {format_bytes(region.span)} of "
                    f"the span of {format_bytes(load.span.bytes or 0)}",
                )
        line = self.command_line(step)
        read = [region_of(load, place.size_bytes) for load in step.workloads if load.reads]
        yield from self._before(step.name, [(region.offset, region.end) for region in read])
        yield _said(step, line)
        yield from self._watch(Load.of(step, place)).batches(line, self._keep_fds())

    def _replay(self, step: Replay) -> Iterator[Batch]:
        place = self._place()
        with new_file() as file, ExitStack() as stack:
            ticks = new_ticks(place)
            kept = [*self._keep_fds(), file.fileno()]
            if ticks is not None:
                stack.callback(os.close, ticks)
                kept.append(ticks)
            log = yield from write_iolog(step, place, file, ticks)
            interval_s, seed = self.settings.status_interval_s, self.settings.seed
            line = replay_command(self.fio, step, place, interval_s, seed, log)
            yield from self._before(step.name, log.read_region)
            yield _said(step, line)
            watch = self._watch(log.load(step))
            yield from watch.batches(line, kept)
            yield from compared(step, log, watch.status)

    def place(self) -> FioPlace:
        """Return where fio loads; the target is open."""
        return self._place()

    def kept_fds(self) -> list[int]:
        """Return the descriptors that fio inherits."""
        return self._keep_fds()

    def ready(self, name: str) -> Iterator[Batch]:
        """Make sure that the place is still what was claimed, before the step `name`."""
        yield from self._before(name, [])

    def _watch(self, load: Load) -> FioWatch:
        return FioWatch(self.lane(load))

    def lane(self, load: Load, job: str | None = None) -> Lane:
        """Return what follows a load on this place; of several jobs only `job`."""
        disk = self._disk()
        return Lane(
            load,
            self.clock,
            self.settings.status_interval_s,
            self.settings.raw_dir,
            None if disk is None else busy_time(disk, Roots()),
            job,
        )

    def idle(self, duration_s: float) -> Iterator[Batch]:
        """Let time pass without load, yielding batches of no rows."""
        until = time.monotonic() + duration_s
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, BEAT_S))
            yield HEARTBEAT

    def close(self) -> None:
        """Release the place and remove whatever was made; may be called twice."""
        self._opened = False
        self._release()


def _said(step: LoadStep, line: list[str]) -> Note:
    return Note("info", f"fio: {shlex.join(line)}", {"step": step.name, "command": line})
