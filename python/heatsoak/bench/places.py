"""Which runs a protocol makes on a place, what each would take of it, and the sensors there."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from heatsoak.bench.by_hand import walked
from heatsoak.bench.heating import HeatPreview, heats_on, warm_up_s
from heatsoak.bench.plan import (
    DrivePart,
    Plan,
    PlannedRun,
    Speeds,
    plan,
    rated_speeds,
    traffic_on,
    turns_of,
)
from heatsoak.catalog import load_enclosure
from heatsoak.errors import UsageError
from heatsoak.protocol import Conditions, Matrix, Protocol, Rounds, Step, WorkloadStep
from heatsoak.sensor import Roots, Sensor, device_behind, discover, drive_sensors
from heatsoak.sensor.sysfs import drive_in_tree
from heatsoak.target import DeviceInfo, Note, Place
from heatsoak.target.hctm import SETTINGS
from heatsoak.target.simulated import SimulatedTarget
from heatsoak.words import rate_text

#: What a drive is taken to do where nothing is known of it: a fast drive of PCIe 4.0.
UNKNOWN_DRIVE = Speeds(7000, 6500, 1_000_000, 1_000_000, "assumed: a fast PCIe 4.0 drive")
#: Common for consumer drives: bytes that may be written for each byte of capacity.
TYPICAL_ENDURANCE_FULL_WRITES = 600


@dataclass(frozen=True)
class Preview:
    """What ``--dry-run`` says of one drive of a run.

    `endurance_bytes` is what the drive is rated for, or typical of its size where
    `endurance_is_rated` is false. `set_up` is what hands have to change before it.
    """

    part: DrivePart
    plan: Plan
    size_bytes: int
    endurance_bytes: float
    endurance_is_rated: bool
    set_up: Conditions = field(default_factory=dict)
    heat: tuple[HeatPreview, ...] = ()
    simulation_s: float | None = None


def runs_of(
    protocol: Protocol, place: Place, axes: Sequence[str], erase_id: str | None
) -> list[PlannedRun]:
    """Return the runs of `protocol` on `place`, one for each cell of its matrix that can be there.

    They are in the order in which they are made; `axes` are those that only hands can change.
    """
    turns = tuple(turns_of(protocol))

    def run(conditions: Conditions, place: Place, name: str) -> PlannedRun:
        part = DrivePart(place, protocol, conditions, protocol.writes, erase_id)
        return PlannedRun(name, (part,), turns)

    cells = protocol.cells()
    matrix = protocol.matrix
    if not place.is_simulated:
        return [run(cell, place, _name(cell, matrix)) for cell in walked(cells, axes)]
    if matrix is None or matrix.enclosure is None or place.enclosure is not None:
        fixed = {k: v for k, v in cells[0].items() if all(c[k] == v for c in cells)}
        here = place.in_enclosure(place.enclosure)
        assert here.enclosure is not None
        own = {**load_enclosure(here.enclosure).labels, **fixed}
        # of what varies, a simulated drive in one place can have what is set on it
        settings = [
            {key: cell[key] for key in SETTINGS if key in cell and key not in fixed}
            for cell in cells
        ]
        if not any(settings):
            return [run(own, here, here.enclosure)]
        return [
            run({**own, **dict(one)}, here, "_".join(f"{key}-{value}" for key, value in one))
            for one in dict.fromkeys(tuple(each.items()) for each in settings)
        ]
    return [
        run(cell, place.in_enclosure(matrix.enclosure_of(cell)), _name(cell, matrix))
        for cell in cells
    ]


def _name(cell: Conditions, matrix: Matrix | None) -> str:
    """A directory's name that is unique to a cell."""
    axes = list(cell) if matrix is None else list(matrix.axes)
    words = [f"{axis}-{cell[axis]}" for axis in axes]
    return re.sub(r"[^A-Za-z0-9._-]+", "_", "_".join(words)) or "run"


def preview(
    part: DrivePart, roots: Roots, slowed: Callable[[Speeds], Speeds] = lambda speeds: speeds
) -> Preview:
    """Return what a run would take and write of one drive; nothing is touched.

    `slowed` says what is left of the drive's speeds where something else limits them.
    """
    place, protocol = part.place, part.protocol
    size_bytes = place.size_bytes(protocol, roots)
    rated = place.rated
    if rated is not None:
        endurance_bytes = rated.endurance_bytes
    else:
        behind = place.device_info(roots)
        whole_bytes = size_bytes if behind is None else behind.size_bytes
        endurance_bytes = whole_bytes * TYPICAL_ENDURANCE_FULL_WRITES
    speeds = slowed(speeds_of(place, roots))
    steps = plan(protocol, size_bytes, speeds, traffic_on(size_bytes))
    takes_s = None
    if place.is_simulated:
        target = place.target(protocol)
        assert isinstance(target, SimulatedTarget)
        takes_s = simulation_s(steps, target)
    if not place.is_simulated:
        steps = replace(steps, warm_up_s=warm_up_s(heats_on(protocol, part.conditions)))
    return Preview(
        part, steps, size_bytes, endurance_bytes, rated is not None, simulation_s=takes_s
    )


def speeds_of(place: Place, roots: Roots) -> Speeds:
    """Return what the drive at a place does as rated, or could do at most."""
    rated = place.rated
    return _greatest_speeds(place.device_info(roots)) if rated is None else rated_speeds(rated)


@contextmanager
def sensors_at(
    place: Place,
    directory: Path,
    roots: Roots,
    power: str | None = None,
    tree: Path | None = None,
) -> Iterator[tuple[list[Sensor], list[Note]]]:
    """Yield the sensors of the drive at a place, and a warning if the recording is on it.

    A simulated drive has its own; `power` names the hwmon node of a real one's, `tree` holds those
    of an export's drive.
    """
    sensors: list[Sensor] = []
    notes: list[Note] = []
    try:
        if not place.is_simulated:
            behind = place.device_info(roots)
            name = None if behind is None else behind.name
            sensors = discover(name, roots, power=power)
            if tree is not None:
                sensors += sensors_of_tree(tree)
            notes = _same_drive(directory, name, roots)
        yield sensors, notes
    finally:
        for sensor in sensors:
            sensor.close()


def sensors_of_tree(directory: Path) -> list[Sensor]:
    """Return the sensors of an export's drive; raises UsageError where there are none."""
    name, roots = drive_in_tree(directory)
    sensors = drive_sensors(name, roots)
    if not sensors:
        raise UsageError(f"{directory}: {name} has no sensors there: is it still served?")
    return sensors


def _greatest_speeds(behind: DeviceInfo | None) -> Speeds:
    """What an unknown drive could do at most: a fast one, or what its link carries."""
    ceiling_mb_s = None if behind is None else behind.link.get("ceiling_mb_s")
    if not isinstance(ceiling_mb_s, int | float) or ceiling_mb_s >= UNKNOWN_DRIVE.read_mb_s:
        return UNKNOWN_DRIVE
    return replace(
        UNKNOWN_DRIVE,
        read_mb_s=float(ceiling_mb_s),
        write_mb_s=min(float(ceiling_mb_s), UNKNOWN_DRIVE.write_mb_s),
        source=f"at most what the drive's link carries, {rate_text(ceiling_mb_s)}",
    )


def _same_drive(directory: Path, behind: str | None, roots: Roots) -> list[Note]:
    existing = next(path for path in (directory, *directory.parents) if path.exists())
    if behind is None or device_behind(existing, roots) != behind:
        return []
    return [
        Note(
            "warning",
            f"the recording is on {behind}, the drive under test: "
            "writing it is measured too; -o on another drive avoids that",
        )
    ]


def simulation_s(plan: Plan, target: SimulatedTarget) -> float | None:
    """Return how long simulating a plan takes, at most; None where its loads cannot be tried.

    A new and cool drive does the most I/Os in a second, and each takes its time to simulate.
    """
    total_s = 0.0
    for planned in plan.steps:
        if not planned.step.loads or planned.step.is_probe:
            continue
        try:
            costs = [target.cost_of(load) for load in _loads(planned.step)]
        except UsageError:
            return None
        if not costs:
            return None
        total_s += planned.duration_s * sum(costs) / len(costs)
    return total_s


def _loads(step: Step) -> Iterator[WorkloadStep]:
    if isinstance(step, Rounds):
        for inner in step.steps:
            yield from _loads(inner)
    elif isinstance(step, WorkloadStep):
        yield step
