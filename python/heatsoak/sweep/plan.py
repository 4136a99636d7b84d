"""What a sweep's file asks for, and its points: what each of them is, and what it depends on."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import psutil
from pydantic import AliasChoices, BeforeValidator, Field

import heatsoak
from heatsoak import catalog, system, units
from heatsoak.catalog.specs import Strict
from heatsoak.errors import UsageError
from heatsoak.protocol import WorkloadStep
from heatsoak.toml import toml_file, validated
from heatsoak.twin import case, named
from heatsoak.twin.demand import Demand

if TYPE_CHECKING:
    from heatsoak.twin.twin import Twin

#: As a word of an axis: as it is without that.
NONE = "none"
#: A plan is held in memory, a kilobyte a point.
_MOST_POINTS = 1_000_000
#: As `predict --for` takes them.
_LEAST_S, _LONGEST_S = 1.0, 6 * 3600.0
#: More than any quantity of a sweep, and a float without loss.
_LARGEST = 1e15
#: Values of a range are round to this many places, so that they read as they were meant.
_PLACES = 6


class PointChange(Strict):
    """A point's parameters; None is as it is."""

    ambient_c: float | None = None
    warmer_k: float | None = None
    airflow_m_s: float | None = None
    heatsink: str | float | None = None
    holds_mb_s: float | None = None

    @property
    def cooling(self) -> case.Cooling:
        """What is changed about the place."""
        return case.Cooling(self.ambient_c, self.airflow_m_s, self.heatsink, self.warmer_k or 0.0)


def _listed(given: Any) -> list[Any]:
    """One value, a list, or a range ``{from, to, steps}``, as a list."""
    if not isinstance(given, dict):
        return given if isinstance(given, list) else [given]
    if given.keys() != {"from", "to", "steps"}:
        raise ValueError("a range is { from = 20, to = 50, steps = 7 }, with nothing else")
    ends, steps = (given["from"], given["to"]), given["steps"]
    if not all(_is_number(end) for end in ends):
        raise ValueError("a range goes from a number to a number")
    if isinstance(steps, bool) or not isinstance(steps, int) or not 2 <= steps <= _MOST_POINTS:
        raise ValueError("a range has at least 2 steps, both ends included")
    return [
        round(float(value), _PLACES) for value in np.linspace(float(ends[0]), float(ends[1]), steps)
    ]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST


def _axis(meaning: Callable[[Any], Any]) -> BeforeValidator:
    """An axis whose values are each different, and mean something."""

    def values(given: Any) -> tuple[Any, ...]:
        found = [meaning(one) for one in _listed(given)]
        if not found:
            raise ValueError("has no values: list at least one")
        twice = next((one for place, one in enumerate(found) if one in found[:place]), None)
        if twice is not None:
            raise ValueError(f"has {twice} twice")
        return tuple(found)

    return BeforeValidator(values)


def _number(limits: tuple[float, float], unit: str) -> BeforeValidator:
    """Numbers that the unit may follow."""
    low, high = limits
    return _axis(lambda value: units.parse_number(value, unit, low, high))


def _word(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{value}: must be a name in quotes")
    return value


def _heatsink(value: Any) -> str | float | None:
    return None if value == NONE else named.heatsink_of(_text(value))


def _rate(value: Any) -> float | None:
    return None if value == NONE else units.parse_rate_mb_s(_text(value))


def _length_s(value: Any) -> float:
    found_s = units.parse_seconds(value)
    if not _LEAST_S <= found_s <= _LONGEST_S:
        raise ValueError(f"{value}: must be between 1s and 6h, such as 10m")
    return found_s


def _text(value: Any) -> str:
    if not _is_number(value) and not isinstance(value, str):
        raise ValueError(f"{value}: must be a name in quotes, or a number")
    return str(value)


class Grid(Strict):
    """The axes of a sweep; a point is one value of each.

    Attributes:
        drives: of the catalog, or files of twins and drives.
        enclosures: places of the catalog or of the twins (in TOML ``places``); None: its own.
        workloads: as `predict --workload` takes them.
        ambient_c, warmer_k, airflow_m_s, heatsink, holds: as `predict` has them; None is without.
        for_s: how long; None is as long as `predict` takes without ``--for``.
    """

    drives: Annotated[tuple[str, ...], _axis(_word)]
    workloads: Annotated[tuple[str, ...], _axis(_word)] = ("write",)
    enclosures: Annotated[tuple[str | None, ...], _axis(_word)] = Field(
        (None,), validation_alias=AliasChoices("places", "enclosures")
    )
    ambient_c: Annotated[tuple[float | None, ...], _number(case.AMBIENT_C, "C")] = (None,)
    warmer_k: Annotated[tuple[float | None, ...], _number(case.WARMING_K, "K")] = (None,)
    airflow_m_s: Annotated[tuple[float | None, ...], _number(case.AIRFLOW_M_S, "m/s")] = (None,)
    heatsink: Annotated[tuple[str | float | None, ...], _axis(_heatsink)] = (None,)
    holds: Annotated[tuple[float | None, ...], _axis(_rate)] = (None,)
    for_s: Annotated[tuple[float | None, ...], _axis(_length_s)] = Field(
        default=(None,), alias="for"
    )

    @property
    def changes(self) -> list[PointChange]:
        """The parameters' combinations, the last axis fastest."""
        axes = (self.ambient_c, self.warmer_k, self.airflow_m_s, self.heatsink, self.holds)
        points = (dict(zip(PointChange.model_fields, one, strict=True)) for one in product(*axes))
        return [PointChange.model_validate(point) for point in points]

    @property
    def size(self) -> int:
        """How many points it has."""
        return int(np.prod([len(axis) for _, axis in self], dtype=object))


def load_grid(path: Path) -> Grid:
    """Return the grid in a TOML file; UsageError with file and key for what is wrong."""
    grid = validated(Grid, toml_file(path), str(path))
    if grid.size > _MOST_POINTS:
        raise UsageError(
            f"{path}: has {grid.size:,} points, and {_MOST_POINTS:,} are the most: "
            "take fewer steps, or several sweeps"
        )
    return grid


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
    subject: "Twin | catalog.Drive"
    load: WorkloadStep | Demand
    before: Sequence[case.Before]
    duration_s: float
    seed: int
    draws: int

    @property
    def memory_bytes(self) -> float:
        """How much its pass takes at most, which keeps a map of the drive's pages."""
        drive = (
            self.subject
            if isinstance(self.subject, catalog.Drive)
            else catalog.load_drive(self.subject.base)
        )
        return _PROCESS_BYTES + _OF_DRIVE * drive.user_bytes

    def identity(self) -> str:
        """Return a hash of all that its points depend on, apart from their parameters."""
        own = case.LikelyDrive.middle(self.subject, self.place)
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
class GridPoint:
    """One what-if: a change to a group."""

    id: str
    group: int
    change: PointChange


@dataclass(frozen=True)
class SweepPlan:
    """All groups, and all points in the grid's order."""

    groups: list[Group]
    points: list[GridPoint]

    def named(self, point: GridPoint) -> dict[str, Any]:
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


def plan_of(grid: Grid, *, seed: int = 0, draws: int = DRAWS) -> SweepPlan:
    """Return a grid's points; raises UsageError for what is unknown, naming it."""
    if draws > 1 and draws % 2:
        raise UsageError(
            f"--draws {draws}: must be 1, the drive itself, or even: each likely drive is taken "
            "with its opposite"
        )
    subjects = {name: named.subject_of(name) for name in grid.drives}
    loads = {name: named.workload_of(name) for name in grid.workloads}
    for name, (load, _) in loads.items():
        if isinstance(load, Demand) and grid.holds != (None,):
            raise UsageError(
                f"{name}: asks for rates of its own, so none can be held: leave out holds"
            )
    # its content too: another release may know more of a heatsink
    sinks = {
        one: catalog.load_enclosure(one).core_json()
        for one in grid.heatsink
        if isinstance(one, str)
    }
    groups: list[Group] = []
    points: list[GridPoint] = []
    changes = [(change, _made_of(change, sinks)) for change in grid.changes]
    for drive, enclosure, name, for_s in product(
        grid.drives, grid.enclosures, grid.workloads, grid.for_s
    ):
        subject, (load, before) = subjects[drive], loads[name]
        usual = subject.places[0] if not isinstance(subject, catalog.Drive) else subject.enclosure
        group = Group(
            drive=drive,
            workload=name,
            place=enclosure or usual,
            subject=subject,
            load=load,
            before=before,
            duration_s=for_s or named.length_s(load) or named.USUAL_S,
            seed=seed,
            draws=draws,
        )
        own = group.identity()
        points += [
            GridPoint(_hash(own, made_of), len(groups), change) for change, made_of in changes
        ]
        groups.append(group)
    return SweepPlan(groups, points)


def _made_of(change: PointChange, sinks: Mapping[str, str]) -> list[Any]:
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
