"""The base of all targets that fio loads: running steps, waiting, releasing."""

import os
import shlex
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

from heatsoak import errors, protocol, tools
from heatsoak.recording import SensorMeta
from heatsoak.sensor import Roots, busy_time
from heatsoak.target import base
from heatsoak.target.fio import process, replay
from heatsoak.target.fio.command import SEED, FioPlace, command, job, measured, region_of, seed_of
from heatsoak.target.fio.lane import COLUMNS, Lane
from heatsoak.target.guard import refusal
from heatsoak.target.guard.look import (
    DENSE_UP_TO_BYTES,
    ContentsDigest,
    Data,
    TargetView,
    changes,
    look,
    look_for_data,
    mark,
    nothing_found,
    remember,
)
from heatsoak.units import Size
from heatsoak.words import size_text

#: Start and end of parts of a place, in bytes.
Regions = Sequence[tuple[int, int]]


class FioTarget(ABC):
    """A target that fio loads; subclasses say which, and how it is claimed and purged.

    Attributes:
        clock: time starts when the target is made, unless another clock is set before it is opened.
        raw_dir: where the last document and the standard error of each step are saved
            (``<step>.json``, ``<step>.stderr``); None to save neither.
        resumes: where the run is that is resumed, if one is.
    """

    identity: base.Identity
    raw_dir: Path | None = None
    resumes: Path | None = None

    def __init__(self, roots: Roots | None = None) -> None:
        """Access nothing yet."""
        self._roots = roots or Roots()
        self.clock: base.RecordingClock = base.MonotonicClock()
        self._fio: process.Fio | None = None
        self._writes = False
        self._opened = False
        self._used_bytes: int | None = None
        self._seen: ContentsDigest | None = None
        self._is_written = False

    @abstractmethod
    def _claim(self, writes: bool) -> Iterator[base.Note]:
        """Check that the target may be used, and claim it; called first."""

    @abstractmethod
    def place(self) -> FioPlace:
        """Return what fio loads; called once the target is claimed and fio is found."""

    @abstractmethod
    def _purge(self, method: protocol.PurgeMethod) -> Iterator[base.Batch]:
        """Forget all data, or yield a warning note that this was not possible."""

    def _held(self) -> TargetView | None:
        """Return the target as it is held open; None if it is only read."""
        return None

    def _again(self, held: TargetView) -> AbstractContextManager[TargetView]:
        """Give the target as it is found now.

        Raises RefusedError if it is another than the one that is `held`, or others use it.
        """
        return nullcontext(held)

    @property
    def _what(self) -> str:
        """What is written, for a refusal."""
        return self.identity.path

    def look(self) -> None:
        """Remember what is on the target; what is there beyond that later, others have written."""
        held = self._held()
        self._seen = None if held is None else look(held)

    def _overwrites(self, data: Data | None) -> base.Note:
        """Return what is said of what a run overwrites."""
        if data is not None:
            return base.Note("warning", f"{self._what}: {data}; this run overwrites it")
        size = self.identity.size_bytes
        level = "info" if size <= DENSE_UP_TO_BYTES else "warning"
        return base.Note(level, f"{self._what}: {nothing_found(size)}")

    def _examine_again(self, *, writes: bool = True) -> None:
        """Raise RefusedError if the target is not as :meth:`look` left it, or others use it.

        If it `writes` next, it also searches for what others put there while heatsoak wrote.
        """
        held = self._held()
        if held is None:
            return
        assert self._seen is not None
        # a file of our own was made with nothing in it, and needs no tools that search
        searches = writes and self._left_as is not None
        with self._again(held) as now:
            reasons = changes(self._seen, now, searches=searches)
        if reasons:
            raise refusal(self._what, reasons)
        if writes and not self._is_written and self._left_as and self.raw_dir:
            mark(self._left_as, self.raw_dir)
        self._is_written = self._is_written or writes

    @property
    def _left_as(self) -> str | None:
        """The name under which the next run knows what this one left; None for what is removed."""
        return None

    def _remember(self) -> None:
        """Let the next run know what this one has written, unless others have changed it since."""
        name, held = self._left_as, self._held()
        if name is None or held is None or self._seen is None or not self._is_written:
            return
        with suppress(OSError, errors.ToolError):  # then the next run asks
            if not changes(self._seen, held):
                remember(name, look_for_data(held))

    def purge(self, method: protocol.PurgeMethod = "auto") -> Iterator[base.Batch]:
        """Forget all data, and use the whole target from then on."""
        yield from base.waiting_for(self._examine_again)
        self._used_bytes = None
        try:
            yield from self._purge(method)
        finally:
            self.look()

    def use(self, capacity: Size) -> Iterator[base.Batch]:
        """Limit steps to the first `capacity` of the target, until it is purged again."""
        used, note = base.limited(capacity, self.identity.size_bytes)
        yield note
        self._used_bytes = used

    @property
    def size_bytes(self) -> int:
        """How much of the target is used."""
        return self.identity.size_bytes if self._used_bytes is None else self._used_bytes

    @abstractmethod
    def _release(self) -> None:
        """Release the target; may be called twice."""

    def kept_fds(self) -> list[int]:
        """Return the descriptors that fio inherits."""
        return []

    def _before(self, name: str, regions: Regions) -> Iterator[base.Batch]:  # noqa: ARG002 -- for subclasses
        """Prepare for the step `name`, which reads `regions`; the target was examined."""
        yield from ()

    def _explained(self, error: errors.ToolError) -> errors.HeatsoakError | None:  # noqa: ARG002 -- for subclasses
        """Return why a load failed where fio cannot know: because its target is gone."""
        return None

    def columns(self) -> list[str]:
        """Return the sample columns that it fills."""
        return list(COLUMNS)

    def sensors(self) -> list[SensorMeta]:
        """Return none: fio reads no sensors."""
        return []

    def describe(self) -> dict[str, Any]:
        """Return how the load is made; the command line of each step comes as a note."""
        made: dict[str, Any] = {"tool": "fio", "status_interval_s": base.REPORT_S, "seed": SEED}
        if self._opened:
            place = self.place()
            made |= {
                "version": self.fio.version,
                "path": self.fio.path,
                "engine": place.engine,
                "direct": place.direct,
                "arguments": list(place.arguments),
            }
        return made

    def command_line(self, step: protocol.WorkloadStep, writes: bool | None = None) -> list[str]:
        """Return fio's command line for a step; the target must be open.

        Without `writes` (default: as the target was opened), fio gets ``--readonly``.
        """
        return command(
            self.fio.path,
            step,
            self.place(),
            readonly=not (self._writes if writes is None else writes),
        )

    @property
    def fio(self) -> process.Fio:
        """The installed fio; known once the target is open."""
        if self._fio is None:
            raise errors.ToolError("the target is not open")
        return self._fio

    def open(self, writes: bool) -> list[base.Note]:
        """Claim the target, then look for fio: a refusal comes before any other error."""
        self._writes = writes
        try:
            notes = list(self._claim(writes))
            self._fio = process.find_fio()
            tools.find_tool(*process.ENDS_WITH_US)
            place = self.place()
            self.look()
        except BaseException:
            self.close()
            raise
        self._opened = True
        if place.engine == "psync":
            notes.append(
                base.Note(
                    "warning",
                    "neither io_uring nor libaio works here: each job has only one I/O in flight, "
                    "regardless of its iodepth",
                )
            )
        return notes

    def run(self, step: protocol.LoadStep) -> Iterator[base.Batch]:
        """Run one workload or replay to its end; empty batches are heartbeats.

        Closing the iterator stops fio within seconds and saves its last document.
        """
        if not self._opened:
            raise errors.ToolError("the target is not open")
        if not self._writes and step.changes_data:
            raise errors.RefusedError(
                f"step '{step.name}' writes, but the target is only open for reading"
            )
        return self._replay(step) if isinstance(step, protocol.Replay) else self._workload(step)

    def _workload(self, step: protocol.WorkloadStep) -> Iterator[base.Batch]:
        size_bytes = self.place().size_bytes
        read: list[tuple[int, int]] = []
        for load in step.workloads:
            region = region_of(load, size_bytes)
            read += [(region.offset, region.end)] if load.read_share > 0 else []
            if region.capped:
                yield base.Note(
                    "warning",
                    f"step '{step.name}': the target only has {size_text(region.span)} of the "
                    f"span of {size_text(load.span.bytes or 0)}",
                )
        yield from self._load(
            step, read, self.command_line(step), process.FioWatch(self.lane(step))
        )

    def _replay(self, step: protocol.Replay) -> Iterator[base.Batch]:
        place = self.place()
        with tempfile.TemporaryFile(prefix="heatsoak-") as file, ExitStack() as stack:
            ticks = replay.new_ticks(place)
            kept = [*self.kept_fds(), file.fileno()]
            if ticks is not None:
                stack.callback(os.close, ticks)
                kept.append(ticks)
            log = yield from replay.write_iolog(step, place, file, ticks)
            line = replay.replay_command(self.fio, step, place, log)
            watch = process.FioWatch(self.lane(log.load(step), is_replay=True))
            yield from self._load(step, log.read_region, line, watch, kept)
            yield from replay.compared(step, log, watch.status)

    def _load(
        self,
        step: protocol.LoadStep,
        regions: Regions,
        line: list[str],
        watch: process.FioWatch,
        kept: Sequence[int] | None = None,
    ) -> Iterator[base.Batch]:
        """Load the target, which must be as heatsoak left it, and look at it afterwards."""
        yield from base.waiting_for(partial(self._examine_again, writes=step.changes_data))
        try:
            yield from self._before(step.name, regions)
            yield base.Note(
                "info", f"fio: {shlex.join(line)}", {"step": step.name, "command": line}
            )
            for _, batch in watch.batches(line, self.kept_fds() if kept is None else kept):
                yield batch
        except errors.ToolError as error:
            if (explained := self._explained(error)) is None:
                raise
            raise explained from error
        finally:  # a step can be ended at any time
            self.look()

    def ready(self, name: str) -> Iterator[base.Batch]:
        """Check before the step `name` that the target is as heatsoak left it.

        Whoever writes to it then calls :meth:`look`.
        """
        yield from base.waiting_for(self._examine_again)
        yield from self._before(name, [])

    def lane(
        self, step: protocol.WorkloadStep, job: str | None = None, *, is_replay: bool = False
    ) -> Lane:
        """Return what follows a load on this target; with `job`, only that job."""
        disk = self.identity.details.get("device")
        busy = None if disk is None else busy_time(disk, Roots())
        return Lane(step, self.place(), self.clock, self.raw_dir, busy, job, is_replay=is_replay)

    def idle(self, duration_s: float) -> Iterator[base.Batch]:
        """Let time pass without load, yielding heartbeats."""
        return base.resting(duration_s)

    def close(self) -> None:
        """Release the target and remove what was created; may be called twice."""
        self._opened = False
        self._remember()
        self._release()


# --- two of them, which one fio loads ------------------------------------------------------------

#: Jobs of one flow do the same number of I/Os; the one ahead checks again after this time, per MiB
#: of an I/O. Longer waits slow down small I/Os, shorter ones cost processor time.
_LOOKS_US_PER_MIB, _MIN_LOOKS_US = 100, 10
#: Before 3.23 fio's flow option worked differently, and 3.23 only counts 2^32 I/Os.
_OLDEST_FIO = (3, 24)


class FioPair(base.Drives):
    """Two places that one fio loads together, so that neither job runs ahead of the other.

    The data written is not the data read, but as much and at the same time: it is the load of a
    copy. The source is only opened for reading, by us and by fio.
    """

    def __init__(self, source: FioTarget, destination: FioTarget) -> None:
        """Couple two open places; from here on, both use the source's clock."""
        super().__init__(source, destination)
        self._both = (source, destination)
        destination.clock = source.clock

    def copy(self, step: protocol.Copy) -> Generator[base.NumberedBatch]:
        """Copy once; raises ToolError if fio or a drive fails."""
        source, destination = self._both
        source.fio.require(_OLDEST_FIO, " to copy")
        yield from base.numbered(1, destination.ready(step.name))
        line = measured(source.fio.path)
        looks_us = max(round(_LOOKS_US_PER_MIB * step.bs / (1 << 20)), _MIN_LOOKS_US)
        for target, half, role in zip(self._both, step.halves(), protocol.ROLES, strict=True):
            seed = seed_of(step.name, role)
            line += job(role, half, target.place(), seed, grouped=False)
            line += ["--flow_id=1", "--flow=1", f"--flow_sleep={looks_us}"]
        for number in range(2):
            data = {"step": step.name, "command": line}
            yield number, base.Note("info", f"fio: {shlex.join(line)}", data)
        lanes = [
            target.lane(half, job=role)
            for target, half, role in zip(self._both, step.halves(), protocol.ROLES, strict=True)
        ]
        kept = [*source.kept_fds(), *destination.kept_fds()]
        try:
            yield from process.FioWatch(*lanes).batches(line, kept)
        finally:
            destination.look()
