"""What a run is, and how long it would take and how much it would write, before it starts.

Pure data: nothing here touches a drive.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from heatsoak import catalog
from heatsoak.protocol import (
    Conditions,
    Copy,
    Pause,
    Protocol,
    Purge,
    Replay,
    Rounds,
    SingleStep,
    Step,
    Workload,
    WorkloadStep,
)
from heatsoak.recording import CopyPart
from heatsoak.target import Note, Place, traces
from heatsoak.units import MB

#: The drive that most published figures are of.
TYPICAL_DRIVE = "samsung-950-pro-512"


@dataclass(frozen=True)
class Turn:
    """One step of a run, and what each of its drives does meanwhile.

    Attributes:
        index: its number among the turns, from 0.
        step: as the protocol has it.
        parts: what each drive takes, None for one that rests; empty for rounds, whose steps have
            turns of their own.
    """

    index: int
    step: Step
    parts: tuple[SingleStep | None, ...] = ()


def turns_of(protocol: Protocol) -> list[Turn]:
    """Return the steps of a protocol that runs on one drive, in order."""
    return [
        Turn(index, step, () if isinstance(step, Copy | Rounds) else (step,))
        for index, step in enumerate(protocol.steps)
    ]


@dataclass(frozen=True)
class DrivePart:
    """What one drive does in a run.

    Attributes:
        protocol: what is recorded as its protocol; of a copy, that of its side.
        writes: whether anything is written to it.
        erase_id: the drive whose data may be destroyed, as the user named it.
        part_of_copy: of a copy, which side it is, and of which copy.
        notes: what is known of it before the first step.
    """

    place: Place
    protocol: Protocol
    conditions: Conditions
    writes: bool
    erase_id: str | None = None
    part_of_copy: CopyPart | None = None
    notes: tuple[Note, ...] = ()

    def directory(self, of_run: Path) -> Path:
        """Return where it is recorded, if its run is recorded into `of_run`."""
        return of_run if self.part_of_copy is None else of_run / self.part_of_copy.role


@dataclass(frozen=True)
class PlannedRun:
    """One run of a protocol: a recording, or a copy's two.

    Attributes:
        name: a directory's name that is unique among the runs.
        parts: what each drive does: one, or a copy's source and destination.
        turns: the steps, in order.
    """

    name: str
    parts: tuple[DrivePart, ...]
    turns: tuple[Turn, ...]

    @property
    def conditions(self) -> Conditions:
        """The conditions of the first drive, or the only one."""
        return self.parts[0].conditions

    @property
    def is_copy(self) -> bool:
        """Whether it copies from one drive to another."""
        return len(self.parts) > 1

    @property
    def is_simulated(self) -> bool:
        """Whether its drives are simulated."""
        return self.parts[0].place.is_simulated

    def at(self, place: Place) -> "PlannedRun":
        """Return the same run with its only drive at another place."""
        (part,) = self.parts
        return replace(self, parts=(replace(part, place=place),))


@dataclass(frozen=True)
class AssumedSpeeds:
    """How fast a drive is taken to be when nothing slows it down.

    `source` says where the figures come from, for the reader of a plan.
    """

    read_mb_s: float
    write_mb_s: float
    read_iops: float
    write_iops: float
    source: str

    def throughput_mb_s(self, workload: Workload) -> float:
        """Return reads and writes together, for all jobs, at this block size."""
        share = workload.read_share
        block_mb = workload.bs / MB
        read = min(self.read_mb_s, self.read_iops * block_mb)
        write = min(self.write_mb_s, self.write_iops * block_mb)
        # each direction takes its share of the time: shares of bytes combine harmonically
        mixed = 1 / (share / read + (1 - share) / write)
        # fio's limits hold for each job and direction
        most = workload.numjobs * ((share > 0) + (share < 1))
        return min(mixed, most * workload.most_bytes_s / MB)

    def at_most(self, mb_s: float, source: str) -> "AssumedSpeeds":
        """Return the same where neither way is faster than `mb_s`, which comes from `source`."""
        read_mb_s, write_mb_s = min(self.read_mb_s, mb_s), min(self.write_mb_s, mb_s)
        return replace(self, read_mb_s=read_mb_s, write_mb_s=write_mb_s, source=source)


def rated_speeds(drive: catalog.Drive) -> AssumedSpeeds:
    """Return what a drive of the catalog is rated for."""
    return AssumedSpeeds(
        drive.read_mb_s, drive.write_mb_s, drive.read_iops, drive.write_iops, f"{drive.id}, rated"
    )


#: What a replay moves; None where that is known only once its trace was read.
TrafficOf = Callable[[Replay], traces.Traffic | None]


@dataclass(frozen=True)
class StepPlan:
    """One step's length and writing, at most.

    Attributes:
        is_bound: whether its runtime ends it, whatever the speed.
        min_share: what share of both is needed at least: rounds may end early.
        is_known: whether they are known at all: what a trace moves is known only once it was read.
        moved_bytes: what is read and written together; of a copy, what is written.
    """

    step: Step
    duration_s: float
    written_bytes: float
    is_bound: bool
    min_share: float = 1.0
    is_known: bool = True
    moved_bytes: float = 0.0


@dataclass(frozen=True)
class RunPlan:
    """All steps of one recording; probes count as if every one were taken, rounds as all.

    `size_bytes` is that of the target, `warm_up_s` how long the case is warmed before the steps, at
    most.
    """

    steps: tuple[StepPlan, ...]
    speeds: AssumedSpeeds
    size_bytes: int
    warm_up_s: float = 0.0

    @property
    def duration_s(self) -> float:
        """Seconds from start to end, at most."""
        return self.warm_up_s + sum(step.duration_s for step in self.steps)

    @property
    def written_bytes(self) -> float:
        """Bytes that the drive is asked to write, at most."""
        return sum(step.written_bytes for step in self.steps)

    def least(self, what: Callable[[StepPlan], float]) -> float:
        """Return the sum of what is taken whatever is seen: no probe, and the fewest rounds."""
        always = [step for step in self.steps if not step.step.is_probe]
        return sum(what(step) * step.min_share for step in always)


def plan(
    steps: Iterable[Step],
    target_bytes: int,
    speeds: AssumedSpeeds,
    traffic_of: TrafficOf = lambda _: None,
) -> RunPlan:
    """Return what each step takes on a target of `target_bytes` at `speeds`."""
    used_bytes, planned = target_bytes, []
    for step in steps:
        planned.append(_step(step, used_bytes, speeds, traffic_of))
        if step.kind == "purge" and not step.is_probe:
            used_bytes = min(step.capacity.of(target_bytes), target_bytes)
    return RunPlan(tuple(planned), speeds, target_bytes)


def traffic_on(size_bytes: int) -> TrafficOf:
    """Return what replays move on a target of `size_bytes`, where that can be known quickly."""
    return cache(lambda step: traces.count_quickly(step, size_bytes))


def typical_plan(protocol: Protocol) -> RunPlan:
    """Return how long one recording takes and writes on a drive of the published kind."""
    drive = catalog.load_drive(TYPICAL_DRIVE)
    size_bytes = min(drive.user_bytes, protocol.file_size.of(drive.user_bytes))
    shapes = traffic_on(size_bytes)
    return plan(
        protocol.steps,
        size_bytes,
        rated_speeds(drive),
        lambda step: shapes(step) if traces.is_shape(step) else None,
    )


def _step(step: Step, target_bytes: int, speeds: AssumedSpeeds, traffic_of: TrafficOf) -> StepPlan:
    parts = [_part(part, target_bytes, speeds, traffic_of) for part in step.parts]
    most, round_s = step.max_rounds, sum(part.duration_s for part in parts)
    if step.kind == "rounds" and step.within_s is not None:
        most = min(most, max(int(step.within_s / round_s), step.min_rounds))
    return StepPlan(
        step,
        most * round_s,
        most * sum(part.written_bytes for part in parts),
        step.min_rounds == most and all(part.is_bound for part in parts),
        step.min_rounds / most,
        all(part.is_known for part in parts),
        most * sum(part.moved_bytes for part in parts),
    )


def _part(
    step: SingleStep | Copy, target_bytes: int, speeds: AssumedSpeeds, traffic_of: TrafficOf
) -> StepPlan:
    match step:
        case WorkloadStep():
            duration_s = written_bytes = moved_bytes = 0.0
            for workload in step.workloads:
                mb_s = speeds.throughput_mb_s(workload)
                transfer = workload.transfer_bytes(target_bytes)
                takes_s = math.inf if transfer is None else transfer / MB / mb_s
                takes_s = min(takes_s, workload.runtime_s or math.inf)
                moved = takes_s * mb_s * MB
                duration_s = max(duration_s, takes_s)
                written_bytes += moved * (1 - workload.read_share)
                moved_bytes += moved
            is_bound = all(workload.runtime_s is not None for workload in step.workloads)
            return StepPlan(step, duration_s, written_bytes, is_bound, moved_bytes=moved_bytes)
        case Replay():
            if (traffic := traffic_of(step)) is None:
                return StepPlan(step, 0, 0, False, is_known=False)
            # as fast as a drive is with many I/Os in flight, and its pauses
            by_bytes_s = (
                traffic.read_bytes / speeds.read_mb_s + traffic.written_bytes / speeds.write_mb_s
            ) / MB
            by_ios_s = traffic.ios / max(speeds.read_iops, speeds.write_iops)
            duration_s = traffic.idle_s + max(by_bytes_s, by_ios_s)
            moved_bytes = traffic.read_bytes + traffic.written_bytes
            return StepPlan(step, duration_s, traffic.written_bytes, False, moved_bytes=moved_bytes)
        case Copy():
            duration_s = step.amount_bytes / MB / min(speeds.read_mb_s, speeds.write_mb_s)
            amount = step.amount_bytes
            return StepPlan(step, duration_s, amount, False, moved_bytes=amount)
        case Pause():
            return StepPlan(step, step.duration_s, 0, step.until_temp_c is None)
        case Purge():
            return StepPlan(step, 0, 0, False)
