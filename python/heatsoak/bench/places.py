"""Which runs a protocol makes on a place, what each would take of it, and what is there.

That is its sensors, and what is set on a real drive for one run, or was left set by earlier ones.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from heatsoak.bench import heating
from heatsoak.bench.by_hand import walked
from heatsoak.bench.plan import (
    AssumedSpeeds,
    DrivePart,
    PlannedRun,
    RunPlan,
    plan,
    rated_speeds,
    traffic_on,
    turns_of,
)
from heatsoak.catalog import load_enclosure
from heatsoak.errors import UsageError
from heatsoak.protocol import Conditions, Matrix, Protocol, Step, WorkloadStep
from heatsoak.sensor import Roots, Sensor, device_behind, discover, drive_sensors
from heatsoak.sensor.sysfs import drive_in_tree
from heatsoak.target import DeviceInfo, Note, Place, hctm, simulated
from heatsoak.words import percent_text, rate_text

#: What a drive is taken to do where nothing is known of it: a fast drive of PCIe 4.0.
UNKNOWN_DRIVE = AssumedSpeeds(7000, 6500, 1_000_000, 1_000_000, "assumed: a fast PCIe 4.0 drive")


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
            {key: cell[key] for key in hctm.SETTINGS if key in cell and key not in fixed}
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


def plans_of(run: PlannedRun, roots: Roots) -> list[RunPlan]:
    """Return what a run would take and write of each of its drives; nothing is touched."""
    speeds = [
        _greatest_speeds(part.place.device_info(roots)) if rated is None else rated_speeds(rated)
        for part in run.parts
        for rated in [part.place.rated]
    ]
    if run.is_copy:
        # neither of a copy's drives is faster than the other
        copied_mb_s = min(speeds[0].read_mb_s, speeds[1].write_mb_s)
        slower = " and ".join(dict.fromkeys(own.source for own in speeds))
        why = slower if speeds[0].source == speeds[1].source else f"the slower of: {slower}"
        speeds = [own.at_most(copied_mb_s, why) for own in speeds]
    return [
        _plan(part.protocol.steps, part, own, roots)
        for part, own in zip(run.parts, speeds, strict=True)
    ]


def plan_of(run: PlannedRun, roots: Roots) -> RunPlan:
    """Return the plan of a run's steps; of a copy, of both drives' as one."""
    *_, plan = plans_of(run, roots)
    if not run.is_copy:
        return plan
    return _plan([turn.step for turn in run.turns], run.parts[-1], plan.speeds, roots)


def _plan(steps: Sequence[Step], part: DrivePart, speeds: AssumedSpeeds, roots: Roots) -> RunPlan:
    place = part.place
    size_bytes = place.size_bytes(part.protocol, roots)
    made = plan(steps, size_bytes, speeds, traffic_on(size_bytes))
    if place.is_simulated:
        return made
    return replace(
        made, warm_up_s=heating.warm_up_s(heating.heats_on(part.protocol, part.conditions))
    )


@contextmanager
def sensors_at(
    place: Place, directory: Path, roots: Roots, power: str | None = None, tree: Path | None = None
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
            existing = next(path for path in (directory, *directory.parents) if path.exists())
            if name is not None and device_behind(existing, roots) == name:
                text = (
                    f"the recording is on {name}, the drive under test: writing it is measured "
                    "too; -o on another drive avoids that"
                )
                notes.append(Note("warning", text))
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


def _greatest_speeds(behind: DeviceInfo | None) -> AssumedSpeeds:
    """What an unknown drive could do at most: a fast one, or what its link carries."""
    ceiling_mb_s = None if behind is None else behind.link.get("ceiling_mb_s")
    if not isinstance(ceiling_mb_s, int | float) or ceiling_mb_s >= UNKNOWN_DRIVE.read_mb_s:
        return UNKNOWN_DRIVE
    carries = f"at most what the drive's link carries, {rate_text(ceiling_mb_s)}"
    return UNKNOWN_DRIVE.at_most(float(ceiling_mb_s), carries)


#: How many kinds of loads are tried for what simulating them takes.
_TRIED = 200


def simulation_s(part: DrivePart, plan: RunPlan) -> float | None:
    """Return how long simulating a plan takes, at most.

    None for a real drive, and where its loads cannot be tried. A new and cool drive does the most
    I/Os in a second, and each takes its time to simulate.
    """
    if not part.place.is_simulated:
        return None
    target = part.place.target(part.protocol)
    assert isinstance(target, simulated.SimulatedTarget)
    tried: dict[str, float] = {}

    def cost_of(load: WorkloadStep) -> float:
        like = load.model_dump_json(exclude={"name"})
        if like not in tried:
            # some milliseconds each; the others take no longer than the longest of so many
            tried[like] = max(tried.values()) if len(tried) >= _TRIED else target.cost_of(load)
        return tried[like]

    total_s = 0.0
    for planned in plan.steps:
        if not planned.step.loads or planned.step.is_probe:
            continue
        try:
            parts = planned.step.parts
            costs = [cost_of(load) for load in parts if isinstance(load, WorkloadStep)]
        except UsageError:
            return None
        if not costs:
            return None
        total_s += planned.duration_s * sum(costs) / len(costs)
    return total_s


#: How often it is looked whether a sanitize is over, and told of it.
LOOK_S = 2.0
_TELL_S = 60.0


def require_thresholds(
    place: Place, wanted: hctm.Thresholds, roots: Roots, *, asks: bool = False
) -> None:
    """Raise UsageError where `place` has no drive that could have thresholds.

    With `asks`, a real drive is asked whether it can be given these.
    """
    if not wanted.is_asked:
        return
    if place.rated is not None:
        simulated.with_thresholds(place.rated, wanted)
    elif asks:
        hctm.check(_drive(place, roots), wanted, roots)
    else:
        hctm.controllers(_drive(place, roots), roots)


@contextmanager
def settings_for_run(place: Place, wanted: hctm.Thresholds, roots: Roots) -> Iterator[list[Note]]:
    """Set thresholds for as long as the context lasts; yield what belongs in the recording.

    That includes what a killed run has left set on the drive, where it still is.
    """
    if place.rated is not None:
        asked = [simulated.with_thresholds(place.rated, wanted)] if wanted.is_asked else []
        yield [simulated.thresholds_note(drive) for drive in asked]
        return
    info = place.device_info(roots)
    notes = [] if info is None or info.serial is None else hctm.left(info.serial)
    with ExitStack() as stack:
        if wanted.is_asked:
            notes += stack.enter_context(hctm.held(_drive(place, roots), wanted, roots))
        yield notes


def _drive(place: Place, roots: Roots) -> DeviceInfo:
    if (info := place.device_info(roots)) is None:
        raise UsageError(
            f"{place.text}: no drive is known to be underneath, so {hctm.OPTIONS} have "
            "nothing to act on"
        )
    return info


def wait_for_sanitize(
    place: Place, tell: Callable[[str], None], roots: Roots | None = None
) -> None:
    """Wait while the drive that `place` names sanitizes itself: it answers no other command.

    Only looks; `tell` is given a line at first and once a minute.
    """
    if place.kind != "block":
        return
    from heatsoak.target.purge import sanitizing  # block devices are Linux's

    roots = roots or Roots()
    info = place.device_info(roots)
    told_s: float | None = None
    while info is not None and (done_pct := sanitizing(info, roots)) is not None:
        if told_s is None or time.monotonic() - told_s >= _TELL_S:
            told_s = time.monotonic()
            tell(f"{place.text}: is being sanitized, {percent_text(done_pct)} done: waiting for it")
        time.sleep(LOOK_S)


# --- the table of a plan: what run --dry-run prints of each run, as JSON --------------------------


class PrintedRow(BaseModel):
    """`schema_version` goes up when a key changes its meaning or goes away."""

    model_config = ConfigDict(frozen=True)

    schema_version: Literal[1] = 1


class Lengths(PrintedRow):
    """How long a plan takes, and what it writes.

    Attributes:
        duration_s: at most, with all probes and rounds; `written_bytes` likewise.
        duration_without_probes_s: at least: no probe, and the fewest rounds.
        unknown_steps: those whose length and writing depend on a trace, and are not in the sums.
    """

    duration_s: float
    written_bytes: float
    duration_without_probes_s: float
    written_without_probes_bytes: float
    has_rounds: bool
    unknown_steps: list[str]


def lengths_of(protocol: Protocol, plan: RunPlan) -> dict[str, Any]:
    """Return the fields of :class:`Lengths` for a plan."""
    return {
        "duration_s": plan.duration_s,
        "written_bytes": plan.written_bytes,
        "duration_without_probes_s": plan.warm_up_s + plan.least(lambda step: step.duration_s),
        "written_without_probes_bytes": plan.least(lambda step: step.written_bytes),
        "has_rounds": bool(protocol.rounds),
        "unknown_steps": [each.step.name for each in plan.steps if not each.is_known],
    }


class PlannedStep(BaseModel):
    """A step's length and writing, at most.

    Attributes:
        is_bound: whether its runtime ends it, whatever the speed.
        is_known: whether they are known: what a trace moves is known only once it was read.
        condition: when a probe is taken; None for other steps.
    """

    step: str
    kind: str
    workload: str | None
    duration_s: float
    written_bytes: float
    is_bound: bool
    is_known: bool
    condition: str | None


class PlannedRow(Lengths):
    """What one run would take and write of one drive: a row of ``run --dry-run``.

    Attributes:
        set_up: what hands have to change before it.
        warm_up_s: how long the case is warmed first, at most.
        endurance_bytes: what the drive is rated for, or typical of its size where
            `endurance_is_rated` is false; `endurance_pct` is the share that the run writes at most.
        speeds_source: where the speeds come from that lengths are computed with.
        simulation_s: how long simulating it takes on this machine without probes, at most; None for
            a real drive, and where that cannot be known beforehand.
        warnings: what keeps the run from measuring a drive.
    """

    protocol: str
    target: str
    conditions: Conditions
    set_up: Conditions
    heat: list[heating.PlannedHeat]
    warm_up_s: float
    size_bytes: int
    endurance_bytes: float
    endurance_is_rated: bool
    endurance_pct: float
    speeds_source: str
    simulation_s: float | None = None
    warnings: list[str] = []
    steps: list[PlannedStep]


#: Common for consumer drives: bytes that may be written for each byte of capacity.
TYPICAL_ENDURANCE_FULL_WRITES = 600


def planned_row(
    part: DrivePart,
    plan: RunPlan,
    roots: Roots,
    set_up: Conditions | None = None,
    heat: Sequence[heating.PlannedHeat] = (),
) -> PlannedRow:
    """Return the row of one drive of a run; nothing is touched."""
    rated, in_memory = part.place.rated, part.place.memory_note(roots)
    if rated is not None:
        endurance_bytes = rated.endurance_bytes
    else:
        behind = part.place.device_info(roots)
        whole_bytes = plan.size_bytes if behind is None else behind.size_bytes
        endurance_bytes = whole_bytes * TYPICAL_ENDURANCE_FULL_WRITES
    return PlannedRow(
        protocol=part.protocol.name,
        target=part.place.text,
        conditions=part.conditions,
        set_up=set_up or {},
        heat=list(heat),
        warm_up_s=plan.warm_up_s,
        size_bytes=plan.size_bytes,
        **lengths_of(part.protocol, plan),
        endurance_bytes=endurance_bytes,
        endurance_is_rated=rated is not None,
        endurance_pct=100 * plan.written_bytes / endurance_bytes,
        speeds_source=plan.speeds.source,
        simulation_s=simulation_s(part, plan),
        warnings=[note.text for note in [*part.notes, *([in_memory] if in_memory else [])]],
        steps=[
            PlannedStep(
                step=planned.step.name,
                kind=planned.step.kind,
                workload=None if planned.step.needs_two_drives else planned.step.describe() or None,
                duration_s=planned.duration_s,
                written_bytes=planned.written_bytes,
                is_bound=planned.is_bound,
                is_known=planned.is_known,
                condition=planned.step.describe_condition() or None,
            )
            for planned in plan.steps
        ],
    )
