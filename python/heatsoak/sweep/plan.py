"""A grid's points: what each of them is, and what it depends on."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil
from typing import Any

import numpy as np
import psutil

import heatsoak
from heatsoak import system
from heatsoak.catalog import Drive, load_drive, load_enclosure
from heatsoak.errors import UsageError
from heatsoak.protocol import WorkloadStep
from heatsoak.sweep.grid import Change, Grid
from heatsoak.twin import Demand, Twin, length_s, subject_of, workload_of
from heatsoak.twin.case import Before, LikelyDrive

#: How many likely drives are looked at, by default: a quarter of what `predict` takes, which keeps
#: a point below 20 ms. The ends of a range are then the extremes of ten.
DRAWS = 10
#: Memory of a process, and of the map of a drive's pages as a share of its size: 0.9 GB were
#: measured for 512 GB and 1 TB, 3.5 GB for 2 TB, 6.6 GB for 4 TB.
_PROCESS_BYTES, _OF_DRIVE = 300e6, 1.65e-3


@dataclass(frozen=True)
class Group:
    """A drive in a place under a workload: what the unheated pass is made for.

    Attributes:
        drive, workload: as the grid names them.
        before: what prepares the drive.
        draws: how many likely drives are looked at.
    """

    drive: str
    workload: str
    place: str
    subject: Twin | Drive
    load: WorkloadStep | Demand
    before: Sequence[Before]
    duration_s: float
    seed: int
    draws: int

    @property
    def is_exact(self) -> bool:
        """Whether the exact engine does the same, down to each I/O.

        It would run a twin at its base's speed, not at what was seen, and does not follow what a
        trace asks for over time.
        """
        return isinstance(self.subject, Drive) and isinstance(self.load, WorkloadStep)

    @property
    def memory_bytes(self) -> float:
        """How much its pass takes at most, which keeps a map of the drive's pages."""
        drive = self.subject if isinstance(self.subject, Drive) else load_drive(self.subject.base)
        return _PROCESS_BYTES + _OF_DRIVE * drive.user_bytes

    def identity(self) -> str:
        """Return a hash of all that its points depend on, apart from their parameters."""
        own = LikelyDrive.middle(self.subject, self.place)
        return _hash(
            heatsoak.__version__,
            self.drive,
            self.subject.model_dump(mode="json"),
            self.place,
            own.place,
            self.workload,
            [step.model_dump(mode="json") for step in self.before],
            _asked(self.load),
            self.duration_s,
            self.seed,
            self.draws,
        )


@dataclass(frozen=True)
class Point:
    """One what-if: a change to a group."""

    id: str
    group: int
    change: Change


@dataclass(frozen=True)
class Plan:
    """All groups, and all points in the grid's order."""

    groups: list[Group]
    points: list[Point]

    def named(self, point: Point) -> dict[str, Any]:
        """Return a point's axes as columns have them."""
        group, change = self.groups[point.group], point.change
        sink = change.heatsink
        return {
            "point": point.id,
            "drive": group.drive,
            "enclosure": group.place,
            "workload": group.workload,
            "for_s": group.duration_s,
            "ambient_c": change.ambient_c,
            "warmer_k": change.warmer_k,
            "airflow_m_s": change.airflow_m_s,
            "heatsink": sink if isinstance(sink, str) else None,
            "heatsink_k_per_w": None if isinstance(sink, str) else sink,
            "holds_mb_s": change.holds_mb_s,
        }

    @property
    def task_bytes(self) -> float:
        """How much memory a task takes at most."""
        return max(group.memory_bytes for group in self.groups)

    @property
    def jobs(self) -> int:
        """How many processes this machine has processors and free memory for, at least one."""
        fitting = int(psutil.virtual_memory().available // self.task_bytes)
        return max(1, min(system.processors(), fitting))

    @property
    def exact(self) -> list[Point]:
        """The points that the exact engine can run."""
        return [one for one in self.points if self.groups[one.group].is_exact]

    def sampled(self, count: int, seed: int, throttles: Mapping[str, bool]) -> list[Point]:
        """Return as many of `exact`, drawn by chance: half of those that throttle, if there are.

        `throttles` says which do, by their ids; points that it does not have are left out. Those
        that hold tell nothing of how far onset and depth are off.
        """
        known = [one.id for one in self.exact if one.id in throttles]
        drawn = sorted(known, key=lambda name: _hash(seed, name))
        hot = [name for name in drawn if throttles[name]]
        cool = [name for name in drawn if not throttles[name]]
        hot = hot[: max(ceil(count / 2), count - len(cool))]
        chosen = {*hot, *cool[: max(0, count - len(hot))]}
        return [one for one in self.points if one.id in chosen]


def plan_of(grid: Grid, *, seed: int = 0, draws: int = DRAWS) -> Plan:
    """Return a grid's points; raises UsageError for what is unknown, naming it."""
    if draws > 1 and draws % 2:
        raise UsageError(
            f"--draws {draws}: must be 1, the drive itself, or even: each likely drive is taken "
            "with its opposite"
        )
    subjects = {name: subject_of(name) for name in grid.drives}
    loads = {name: workload_of(name) for name in grid.workloads}
    for name, (load, _) in loads.items():
        if isinstance(load, Demand) and grid.holds != (None,):
            raise UsageError(
                f"{name}: asks for rates of its own, so none can be held: leave out holds"
            )
    # its content too: another release may know more of a heatsink
    sinks = {one: load_enclosure(one).core_json() for one in grid.heatsink if isinstance(one, str)}
    groups: list[Group] = []
    points: list[Point] = []
    changes = [(change, _made_of(change, sinks)) for change in grid.changes]
    for drive, enclosure, name, for_s in product(
        grid.drives, grid.enclosures, grid.workloads, grid.for_s
    ):
        subject, (load, before) = subjects[drive], loads[name]
        usual = subject.places[0] if isinstance(subject, Twin) else subject.enclosure
        group = Group(
            drive=drive,
            workload=name,
            place=enclosure or usual,
            subject=subject,
            load=load,
            before=before,
            duration_s=length_s(load) if for_s is None else for_s,
            seed=seed,
            draws=draws,
        )
        own = group.identity()
        points += [Point(_hash(own, made_of), len(groups), change) for change, made_of in changes]
        groups.append(group)
    return Plan(groups, points)


def _made_of(change: Change, sinks: Mapping[str, str]) -> list[Any]:
    sink = change.heatsink
    return [change.model_dump(mode="json"), sinks[sink] if isinstance(sink, str) else None]


def _asked(load: WorkloadStep | Demand) -> Any:
    if isinstance(load, WorkloadStep):
        return load.model_dump(mode="json")
    return {
        key: hashlib.sha256(value.tobytes()).hexdigest() if isinstance(value, np.ndarray) else value
        for key, value in vars(load).items()
    }


def _hash(*parts: Any) -> str:
    """A name for what is told by `parts`: 128 bits, so that no two are alike."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
