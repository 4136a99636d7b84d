"""A simulated drive as a target, on which hours pass in seconds."""

import json
import math
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import heatsoak
from heatsoak import catalog, protocol
from heatsoak._core import Drive as Core
from heatsoak._core import Transfer
from heatsoak.catalog import specs
from heatsoak.errors import ShutDownError, UsageError
from heatsoak.recording import SensorMeta
from heatsoak.recording.columns import dtype_of
from heatsoak.sensor.nvme import ABSOLUTE_ZERO_C
from heatsoak.target import base, traces
from heatsoak.target.hctm import Thresholds
from heatsoak.units import Size
from heatsoak.words import duration_text, listed, temp_text

#: How often the simulator reports temperatures.
SENSOR_S = 1.0
#: Simulated time per frame under load, and in a pause, which a temperature may end early.
RUN_CHUNK_S = 30.0
IDLE_CHUNK_S = 10.0
#: The same for a replay, which can idle for hours and then issue a million I/Os in a second: there
#: a frame also ends after this many I/Os, which take a fraction of a second to simulate.
REPLAY_CHUNK_S = 60.0
REPLAY_CHUNK_IOS = 100_000
#: Times nearer than this are the same; the simulator takes no shorter sample.
_SAME_S = 1e-6
#: So much of a step is simulated to see how long it takes: hundreds of thousands of I/Os at most.
_TRIED_S = 0.5
#: The engine's page, and a power of two of it; a stripe is a unit of every die.
_PAGE_BYTES = 4096
#: A smaller drive has no more pages than this, unless its blocks would hold fewer stripes than
#: this, or dies would wait for the last of them for longer than this share of the time. Its buffer
#: holds some stripes, without which dies would run out of work.
_MOST_PAGES, _LEAST_STRIPES, _UNEVEN, _BUFFERED_STRIPES = 1 << 22, 8, 0.01, 3
#: Smaller transfers than this, such as random ones, depend on more than rates. A smaller drive
#: stands for a larger one only if it still does this many a second, and this many queues in all.
_LARGE_BYTES, _LEAST_IOS, _LEAST_QUEUES = 1 << 16, 16, 64

#: What the simulator reports: by name, one value a sample, NaN where nothing was measured.
Columns = dict[str, NDArray[np.float64]]


def with_thresholds(drive: catalog.Drive, wanted: Thresholds) -> catalog.Drive:
    """Return a drive whose governor acts at TMT1 and TMT2, as a host would set them.

    Levels begin there; a band begins at TMT1, and is at its floor at TMT2. Raises UsageError for a
    drive that counts no thermal transitions, for another governor, and for thresholds that do not
    rise.
    """
    law: specs.Band | specs.GovernorSteps
    match drive.governor.law if drive.governor.counters else None:
        case specs.GovernorSteps() as steps:
            levels = []
            asked = (wanted.tmt1_c, wanted.tmt2_c)
            for level, wanted_c in zip_longest(steps.levels, asked[: len(steps.levels)]):
                if wanted_c is None:
                    levels.append(level)
                elif wanted_c != 0:  # which takes one out
                    back_c = wanted_c - level.enter_c.value + level.leave_c.value
                    moved = {"enter_c": _set_by_host(wanted_c), "leave_c": _set_by_host(back_c)}
                    levels.append(level.model_copy(update=moved))
            begins_c = [level.enter_c.value for level in levels]
            law = steps.model_copy(update={"levels": tuple(levels)})
        case specs.Band() as band:
            own_c = band.engage_c.value
            begin_c = min(wanted.tmt1_c or own_c, own_c)
            floor_c = wanted.tmt2_c or begin_c + band.band_k.value
            begins_c = [begin_c, floor_c]
            changed = {"engage_c": _set_by_host(begin_c), "band_k": _set_by_host(floor_c - begin_c)}
            law = band.model_copy(update=changed)
        case _:
            raise UsageError(
                f"{drive.id}: takes no TMT1 and TMT2: it has no thermal management by the host, "
                "such as pcie4-tlc-1tb has"
            )
    if not begins_c:
        raise UsageError(f"{drive.id}: TMT1 and TMT2 cannot both be off: it would never throttle")
    if begins_c != sorted(set(begins_c)):
        shown = listed([temp_text(value, 3) for value in begins_c])
        raise UsageError(
            f"{drive.id}: TMT1 and TMT2 would be {shown}: TMT1 must be lower (--tmt2 0 turns TMT2 "
            "off)"
        )
    governor = drive.governor.model_copy(update={"law": law})
    return drive.model_copy(update={"governor": governor})


def _set_by_host(value: float) -> specs.Figure:
    return specs.Figure(value=value, assumed="set by the host")


def stated_limits_c(drive: catalog.Drive) -> dict[str, float]:
    """Return a drive's limits by the names that sensors of real drives state theirs under.

    Where it is not known what it states, its critical limit is where it shuts down.
    """
    limits, law = drive.limits, drive.governor.law
    figures = {
        "warning_c": limits and limits.wctemp_c,
        "critical_c": (limits and limits.cctemp_c) or drive.governor.shutdown_c,
    }
    stated = {name: figure.value for name, figure in figures.items() if figure}
    if drive.governor.counters and law.kind != "delay":  # the range for TMT1 and TMT2
        stated |= {"tmt_min_c": 0.0, "tmt_max_c": max(_thresholds_c(drive).values())}
    return stated


def _thresholds_c(drive: catalog.Drive) -> dict[str, float]:
    """Where levels begin, or a band begins and ends, by the names of NVMe's thresholds."""
    law = drive.governor.law
    if law.kind == "band":
        begins_c = [law.engage_c.value, law.engage_c.value + law.band_k.value]
    else:
        assert law.kind == "steps"
        begins_c = [level.enter_c.value for level in law.levels][:2]
    return {f"tmt{number}_c": value for number, value in enumerate(begins_c, 1)}


def thresholds_note(drive: catalog.Drive) -> base.Note:
    """Return what a recording has to say of thresholds that were set."""
    begins_c = _thresholds_c(drive)
    words = [f"{name[:-2].upper()} {temp_text(value, 3)}" for name, value in begins_c.items()]
    kelvins = [round(value - ABSOLUTE_ZERO_C) for value in begins_c.values()]
    return base.Note("info", f"{drive.id}: set for this run: {listed(words)}", {"tmt_k": kelvins})


@dataclass(frozen=True)
class SimulatedClock:
    """The simulated time of a drive."""

    core: Core

    def now_s(self) -> float:
        """Return the simulated time now."""
        return self.core.t_s


class SimulatedTarget:
    """A drive from the catalog, or a user's own, in an enclosure.

    The drive is freshly purged and has its idle temperature in the enclosure.
    """

    def __init__(
        self,
        drive: str | catalog.Drive,
        enclosure: str | catalog.Enclosure | None = None,
        *,
        seed: int = 0,
        thresholds: Thresholds | None = None,
    ) -> None:
        """Create the drive in `enclosure`, or in its default one.

        Raises UsageError for unknown ids, impossible numbers, and thresholds that it cannot have.
        """
        self._drive = catalog.load_drive(drive) if isinstance(drive, str) else drive
        self._limits_c = stated_limits_c(self._drive)
        if thresholds is not None and thresholds.is_asked:
            self._drive = with_thresholds(self._drive, thresholds)
            self._limits_c |= _thresholds_c(self._drive)
        place = self._drive.enclosure if enclosure is None else enclosure
        self._enclosure = catalog.load_enclosure(place) if isinstance(place, str) else place
        self._seed = seed
        #: The simulator, which may be coupled to another.
        self.core = make_core(self._drive, self._enclosure, seed)
        self._used_bytes = self.core.user_bytes
        self.clock: base.RecordingClock = SimulatedClock(self.core)
        self.identity = base.Identity(
            kind="simulated",
            path=f"sim:{self._drive.id}@{self._enclosure.id}",
            model=self._drive.model,
            serial=None,
            size_bytes=self.core.user_bytes,
            simulated=True,
            details={
                "drive": self._drive.id,
                "enclosure": self._enclosure.id,
                "place": self._enclosure.description,
            },
        )

    def columns(self) -> list[str]:
        """Return the sample columns that it fills itself."""
        return self.core.columns()

    def sensors(self) -> list[SensorMeta]:
        """Return what a real drive's health log would be, with the limits that it states."""
        own = ("temp_c.", "throttle_")
        return [
            SensorMeta(
                name="simulated",
                source="the simulated drive's own report",
                columns=[name for name in self.columns() if name.startswith(own)],
                interval_s=SENSOR_S,
                thresholds=self._limits_c,
            )
        ]

    def describe(self) -> dict[str, Any]:
        """Return the complete specification of the drive and its enclosure."""
        return {
            "tool": "heatsoak's simulated drive",
            "version": heatsoak.__version__,
            "seed": self._seed,
            "drive": json.loads(self._drive.core_json()),
            "enclosure": json.loads(self._enclosure.core_json()),
        }

    def open(self, writes: bool) -> list[base.Note]:  # noqa: ARG002 -- there is nothing to lose
        """There is nothing to prepare."""
        return []

    def run(self, step: protocol.LoadStep) -> Iterator[base.Batch]:
        """Run a step's workloads, or its replay, to the end.

        Raises UsageError for what cannot be simulated, ShutDownError if the drive shuts down.
        """
        if isinstance(step, protocol.Replay):
            return self._replay(step)
        return self._load(self._begun(step, RUN_CHUNK_S))

    def cost_of(self, step: protocol.WorkloadStep) -> float:
        """Return how long a second of a step takes to simulate, in s: it is begun, and ended again.

        Raises UsageError for what cannot be simulated.
        """
        load, took_s = self._begun(step, _TRIED_S), 0.0
        # the first time, memory is touched that later seconds find at hand
        for _ in range(2):
            start_s = time.perf_counter()
            next(load, None)
            took_s = time.perf_counter() - start_s
        load.close()
        return took_s / _TRIED_S

    def _begun(self, step: protocol.WorkloadStep, chunk_s: float) -> Generator[Columns]:
        for workload in step.workloads:
            if workload.fio:
                raise UsageError(
                    f"{step.name}: '{next(iter(workload.fio))}' is a fio option that simulated "
                    "drives do not support"
                )
        try:
            return driven(self.core, step, chunk_s, base.SAMPLE_S, used_bytes=self._used_bytes)
        except ValueError as error:
            raise UsageError(f"{step.name}: {error}") from error

    def idle(self, duration_s: float) -> Iterator[base.Batch]:
        """Let `duration_s` pass without load."""
        return map(frame_of, rested(self.core, duration_s, IDLE_CHUNK_S, base.SAMPLE_S))

    def purge(self, method: protocol.PurgeMethod = "auto") -> Iterator[base.Batch]:  # noqa: ARG002 -- one way
        """Forget all data, in the drive's simulated purge time."""
        self.core.purge()
        self._used_bytes = self.core.user_bytes
        return self._framed(until_done(self.core, RUN_CHUNK_S, base.SAMPLE_S))

    def use(self, capacity: Size) -> Iterator[base.Batch]:
        """Leave everything beyond `capacity` unwritten, so that the drive uses it as spare area."""
        self._used_bytes, note = base.limited(capacity, self.core.user_bytes)
        yield note

    def close(self) -> None:
        """Abort the current load."""
        self.core.end()

    def _load(self, columns: Iterator[Columns]) -> Iterator[base.Batch]:
        yield from self._framed(columns)
        yield self.outcome()

    def _replay(self, step: protocol.Replay) -> Iterator[base.Batch]:
        trace = traces.open_trace(step, self._used_bytes)
        try:
            self.core.begin_trace(trace, step.idle_limit_s, step.iodepth)
            chunks = until_done(self.core, REPLAY_CHUNK_S, base.SAMPLE_S, REPLAY_CHUNK_IOS)
            yield from self._framed(chunks)
        except ValueError as error:
            raise traces.trace_error(step, error) from error
        yield from traces.replay_notes(step, trace)
        yield self.outcome()

    def outcome(self) -> base.LoadResult:
        """Return the latency histograms of the last load."""
        return base.LoadResult(base.latency_bins(self.core.latency_bins()))

    def _framed(self, columns: Iterator[Columns]) -> Iterator[base.Batch]:
        for each in columns:
            yield frame_of(each)
        self.refuse_stopped()

    def refuse_stopped(self) -> None:
        """Raise ShutDownError where the drive shut itself down."""
        if self.core.stopped:
            known = self.core.truth()
            ago_s = self.core.t_s - known["shutdown_s"]
            ago = f", {duration_text(ago_s)} before that" if ago_s >= 1 else ""
            raise ShutDownError(
                f"{self.identity.path}: shut itself down at {temp_text(known['shutdown_c'])}{ago}: "
                "give it more cooling, such as another enclosure"
            )


def driven(
    core: Core,
    step: protocol.WorkloadStep | protocol.Pause | protocol.Purge,
    chunk_s: float,
    sample_s: float,
    *,
    lasts_s: float | None = None,
    used_bytes: int | None = None,
    part: int = 1,
) -> Generator[Columns]:
    """Begin a step on a simulated drive; return what yields its samples, `chunk_s` at a time.

    A load goes on for `lasts_s`, or to its own end, on the first `used_bytes` or on all. Of a drive
    that is a `part`-th of one, times are the larger one's, except in samples. Raises ValueError for
    what cannot be simulated.
    """
    chunk_s, sample_s = chunk_s / part, sample_s / part
    if isinstance(step, protocol.Pause):
        return rested(core, max(step.duration_s, 1.0) / part, chunk_s, sample_s)
    if isinstance(step, protocol.Purge):
        core.purge()
    else:
        core.begin(workloads_json(step, used_bytes or core.user_bytes, lasts_s, part))
    return until_done(core, chunk_s, sample_s)


def until_done(
    core: Core, chunk_s: float, sample_s: float, most_ios: int | None = None
) -> Generator[Columns]:
    """Yield the samples of what a drive has begun until its end, or until nobody asks for more.

    After that the drive idles. A chunk also ends after `most_ios`.
    """
    try:
        while not core.done:
            yield core.advance(chunk_s, sample_s, most_ios)
    finally:
        core.end()


def rested(core: Core, duration_s: float, chunk_s: float, sample_s: float) -> Generator[Columns]:
    """Yield the samples of a time without load."""
    end_s = core.t_s + duration_s
    while end_s - core.t_s > _SAME_S:
        yield core.advance(min(chunk_s, end_s - core.t_s), sample_s)


def frame_of(columns: Columns) -> pl.DataFrame:
    """Return the simulator's columns as samples, with null for what was not measured."""
    return pl.DataFrame(columns).fill_nan(None).cast({"power_state": dtype_of("power_state")})


def make_core(drive: catalog.Drive, enclosure: catalog.Enclosure, seed: int = 0) -> Core:
    """Return the simulator of a drive in an enclosure; raises UsageError that names a wrong key."""
    try:
        return Core(drive.core_json(), enclosure.core_json(), seed)
    except ValueError as error:
        raise UsageError(f"{drive.id} in {enclosure.id}: {error}") from error


#: What the simulator takes of a workload under the same name.
_AS_IT_IS = {"rw", "rwmixread", "bs", "iodepth", "numjobs", "runtime_s", "rate", "rate_iops"}


def workloads_json(
    step: protocol.WorkloadStep, user_bytes: int, lasts_s: float | None = None, part: int = 1
) -> str:
    """Return a step's workloads in the simulator's form, with shares resolved to bytes.

    They go on for `lasts_s`, or to their own end; a `part`-th of that on a `part`-th of a drive.
    """
    of_time = {} if lasts_s is None else {"io_bytes": None, "runtime_s": lasts_s / part}
    made = []
    for workload in step.workloads:
        whole_bytes = user_bytes * part
        offset = _part_of(workload.offset.of(whole_bytes), part)
        span = _part_of(workload.span.of(whole_bytes), part)
        if workload.span.percent is not None:
            span = min(span, user_bytes - offset)
        io_bytes = workload.transfer_bytes(whole_bytes, span * part)
        made.append(
            {
                **workload.model_dump(include=_AS_IT_IS),
                "span_bytes": span,
                "offset_bytes": offset,
                "io_bytes": None if io_bytes is None else io_bytes // part,
                "runtime_s": None if workload.runtime_s is None else workload.runtime_s / part,
                **of_time,
            }
        )
    return json.dumps(made)


def _part_of(size_bytes: int, part: int) -> int:
    """A part of a size in whole pages; all of it as it is."""
    return size_bytes if part == 1 else size_bytes // part // _PAGE_BYTES * _PAGE_BYTES


def part_for(
    drive: dict[str, Any], steps: Sequence[protocol.SingleStep], lasts_s: float | None = None
) -> int:
    """Return which part of a drive does in that part of the time what it does under some steps.

    A power of two, and 1 where anything is random, small, or reads: what that comes to depends on
    the number of pages, or on what one I/O takes. Of a `drive` as the core takes it; each load goes
    on for its own time, or for `lasts_s` if that is less.
    """
    nand, part, user_bytes = drive["nand"], 1, drive["capacity"]["user_bytes"]
    most = user_bytes // (_MOST_PAGES * _PAGE_BYTES)
    for load in (
        one for step in steps if isinstance(step, protocol.WorkloadStep) for one in step.workloads
    ):
        if load.rw != "write" or load.bs < _LARGE_BYTES or load.bs % _PAGE_BYTES:
            return 1
        mb_s = min(load.most_bytes_s * load.numjobs / 1e6, drive["controller"]["write_mb_s"])
        least_s = min(load.runtime_s or math.inf, lasts_s or math.inf)
        data = (load.span.of(user_bytes), load.transfer_bytes(user_bytes), 1e6 * mb_s * least_s)
        least_bytes = min(one for one in data if one is not None)
        queue_bytes = load.bs * load.iodepth * load.numjobs
        most = min(
            most, 1e6 * mb_s / load.bs / _LEAST_IOS, least_bytes / queue_bytes / _LEAST_QUEUES
        )
    stripe_bytes = nand["dies"] * _unit_pages(drive)[1] * _PAGE_BYTES
    while 2 * part <= most:
        stripes = nand["block_bytes"] / (2 * part) / stripe_bytes
        if stripes < _LEAST_STRIPES or math.ceil(stripes) > (1 + _UNEVEN) * stripes:
            break
        part *= 2
    return part


def _unit_pages(drive: dict[str, Any]) -> tuple[int, int]:
    """Pages that a die programs at once, and those of them that make whole stripes of any block."""
    pages = drive["nand"]["unit_bytes"] // _PAGE_BYTES
    return pages, 1 << (pages.bit_length() - 1)


def smaller(drive: dict[str, Any], part: int) -> dict[str, Any]:
    """Return a drive of a `part`-th of the size, which does the same in a `part`-th of the time.

    It has as many blocks, dies and channels, and the same rates; its blocks are smaller, and so is
    what takes time by itself: erasing, a purge, and waiting. Dies program a power of two of pages,
    so that small blocks are whole stripes of them, as large ones nearly are, and what is counted
    in such units, the buffer and the map's pieces, shrinks with them. As the core takes drives.
    """
    if part == 1:
        return drive
    nand, controller, cache = drive["nand"], drive["controller"], drive.get("cache")
    capacity, (pages, fewer) = drive["capacity"], _unit_pages(drive)
    ratio = fewer / pages
    sizes = ("user_bytes", "raw_bytes", "reserve_bytes")
    buffer_bytes = int(controller["buffer_bytes"] * ratio)
    stripes_bytes = _BUFFERED_STRIPES * nand["dies"] * fewer * _PAGE_BYTES
    buffer_bytes = min(buffer_bytes, max(buffer_bytes // part, stripes_bytes))
    made = {
        **drive,
        "capacity": {
            **{key: _part_of(capacity.get(key, 0), part) for key in sizes},
            "purge_s": capacity["purge_s"] / part,
        },
        "nand": {
            **_times(nand, ratio, "read_us", "program_us"),
            "unit_bytes": fewer * _PAGE_BYTES,
            "block_bytes": nand["block_bytes"] // part,
            "erase_us": nand["erase_us"] / part,
        },
        "controller": {**controller, "buffer_bytes": _part_of(buffer_bytes * 2, 2)},
        "power_states": [
            _times(one, 1 / part, "after_s", "entry_us", "exit_us")
            for one in drive.get("power_states", ())
        ],
    }
    if cached := controller.get("map_cache"):
        piece_bytes = _part_of(int(cached["piece_bytes"] * ratio * 2), 2)
        covered_bytes = max(int(cached["bytes_covered"] * ratio / part), piece_bytes)
        made["controller"]["map_cache"] = {
            "piece_bytes": piece_bytes,
            "bytes_covered": covered_bytes,
        }
    if cache:
        bits = cache["bits"]
        ratio = max(fewer // bits, 1) / max(pages // bits, 1)
        made["cache"] = {
            **_times(cache, ratio, "read_us", "program_us"),
            "bytes": _part_of(cache["bytes"], part),
            "fold_after_s": cache["fold_after_s"] / part,
        }
    return made


def _times(table: dict[str, Any], factor: float, *keys: str) -> dict[str, Any]:
    return {**table, **{key: table[key] * factor for key in keys}}


class SimulatedPair(base.Drives):
    """A copy's two simulated drives, in one virtual time; they may be of one kind."""

    def __init__(self, source: SimulatedTarget, destination: SimulatedTarget) -> None:
        """Couple two drives whose clocks show the same."""
        super().__init__(source, destination)
        self._both = (source, destination)

    def alone(self, number: int, batches: Iterator[base.Batch]) -> Generator[base.NumberedBatch]:
        """Let one drive do something; the other rests until it is done."""
        for batch in batches:
            yield number, batch
            yield from self._catch_up(1 - number)

    def copy(self, step: protocol.Copy) -> Generator[base.NumberedBatch]:
        """Copy once; raises ShutDownError for a drive that shut itself down."""
        source, destination = (target.core for target in self._both)
        asked = (step.amount_bytes, step.bs, step.iodepth, step.buffer_bytes)
        try:
            transfer = Transfer(source, destination, *asked)
        except ValueError as error:
            raise UsageError(f"{step.name}: {error}") from error
        try:
            while not transfer.done:
                for number, columns in enumerate(transfer.advance(RUN_CHUNK_S, base.SAMPLE_S)):
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

    def idle(self, duration_s: float) -> Generator[base.NumberedBatch]:
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

    def _catch_up(self, number: int) -> Generator[base.NumberedBatch]:
        """Let one drive rest until its clock shows what the other's does."""
        target = self._both[number]
        behind_s = max(each.clock.now_s() for each in self._both) - target.clock.now_s()
        if behind_s > _SAME_S:
            yield from base.numbered(number, target.idle(behind_s))
