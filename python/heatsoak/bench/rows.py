"""The table of a plan: what ``run --dry-run`` prints of each run, as JSON."""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from heatsoak.bench.heating import PlannedHeat
from heatsoak.bench.places import simulation_s
from heatsoak.bench.plan import DrivePart, RunPlan
from heatsoak.protocol import Conditions, Protocol
from heatsoak.sensor import Roots


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
    heat: list[PlannedHeat]
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
    heat: Sequence[PlannedHeat] = (),
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
