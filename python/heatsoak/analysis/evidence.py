"""What speaks for or against heat as the cause of a drop.

Each function looks at one thing and returns its weight, in log-odds for heat, with a sentence
that says what was seen; None where it has nothing to say. :func:`weigh` adds them up.
The weights are judgements, not measurements; they are chosen so that no single observation
but the drive's own counters decides.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from heatsoak.analysis.segments import Drop
from heatsoak.analysis.view import StepView

#: Log-odds from which heat is named as the cause: about twelve to one.
ENOUGH = 2.5
#: A sensor that rose less than this before the onset does not show the heat.
LEAST_RISE_K = 5.0
#: Under a governor a temperature stays this close to where throttling began.
HELD_WITHIN_K = 4.0
#: Heat takes from writes about what it takes from reads; this much more is something else.
FAR_DEEPER = 0.25

_ONLY_WRITES = (
    "nothing was read without writes: an exhausted cache or spare area would look the same, "
    "and a read step would tell"
)


@dataclass(frozen=True)
class Evidence:
    """One observation: log-odds for heat, and a sentence."""

    weight: float
    text: str


@dataclass(frozen=True)
class Case:
    """A drop, the step it is in, and the other steps of the recording."""

    drop: Drop
    view: StepView
    others: list[StepView]


def counters(case: Case) -> Evidence | None:
    """The drive counts its own thermal throttling (NVMe thermal management, TMT1 and TMT2)."""
    moved = _counted(case)
    if moved:
        return Evidence(4.0, f"the drive's own throttling counters rose: {', '.join(moved)}")
    # zeros throughout are what drives without such counters report
    if any(np.any(case.view.track(name).values > 0) for name in _counters(case.view)):
        return Evidence(-1.0, "the drive has counted thermal throttling before, but not here")
    return None


def stated_limit(case: Case) -> Evidence | None:
    """The temperature at the onset against the limits that the drive states."""
    temp_c = case.view.temp.at(case.drop.onset_s)
    limits = {
        name.removesuffix("_c"): limit
        for name, limit in case.view.limits_c.items()
        if name.startswith(("tmt", "warning")) and limit > 0
    }
    if temp_c is None or not limits:
        return None
    name, limit = min(limits.items(), key=lambda item: abs(item[1] - temp_c))
    if abs(temp_c - limit) <= 3:
        return Evidence(2.5, f"at {temp_c:.0f} C it began at the drive's {name} ({limit:.0f} C)")
    if temp_c < min(limits.values()) - 10:
        return Evidence(
            -1.0, f"at {temp_c:.0f} C the drive was far below its lowest limit, {limit:.0f} C"
        )
    return None


def rose_and_held(case: Case) -> Evidence | None:
    """A governor lets the temperature climb to its limit and then holds it there."""
    temp, drop = case.view.temp, case.drop
    start_c, onset_c = temp.at(0.0), temp.at(drop.onset_s)
    late = temp.between(drop.onset_s + 0.5 * (drop.end_s - drop.onset_s), drop.end_s)
    if start_c is None or onset_c is None or len(late) == 0:
        return None
    late_c = float(np.mean(late))
    path = f"from {start_c:.0f} C to {onset_c:.0f} C at the onset, then {late_c:.0f} C"
    if late_c < onset_c - HELD_WITHIN_K and not drop.oscillates:
        # where it counted its throttling meanwhile, it only throttled more than it had to
        weight = -1.0 if _counted(case) else -4.0
        return Evidence(weight, f"the drive cooled while it stayed slow: {path}")
    if onset_c - start_c >= LEAST_RISE_K:
        return Evidence(1.0, f"temperature rose and stayed up: {path}")
    return Evidence(0.0, f"the reported temperature hardly moved before the onset: {path}")


def reads_fall_too(case: Case) -> Evidence | None:
    """An exhausted cache or spare area slows writes only."""
    if not case.view.step.writes:
        return Evidence(1.5, "reads fell, which no exhausted cache or spare area does")
    for other in case.others:
        if other.step.writes:
            continue
        for drop in other.drops or []:
            if _alike(drop, case.drop):
                return Evidence(1.5, f"reads fell alike, in '{other.step.name}'")
    return None


def same_temperature(case: Case) -> Evidence | None:
    """Other steps' onsets at the same temperature, where that temperature had risen."""
    onset_c, start_c = case.view.temp.at(case.drop.onset_s), case.view.temp.at(0.0)
    if onset_c is None or start_c is None or onset_c - start_c < LEAST_RISE_K:
        return None
    for other in case.others:
        for drop in other.drops or []:
            other_c = other.temp.at(drop.onset_s)
            if other_c is not None and abs(other_c - onset_c) <= HELD_WITHIN_K:
                return Evidence(
                    1.5,
                    f"'{other.step.name}' fell at the same temperature "
                    f"({other_c:.0f} C, here {onset_c:.0f} C)",
                )
    return None


def comes_back_after_pause(case: Case) -> Evidence | None:
    """Steps that begin at full speed after a pause and fall again after a like time."""
    alike = [
        other.step.name
        for other in case.others
        for drop in (other.drops or [])[:1]
        if _alike(drop, case.drop)
    ]
    if not alike:
        return None
    names = ", ".join(f"'{name}'" for name in alike)
    return Evidence(1.0, f"it repeats from full speed after a like time in {names}")


def host_is_busy(case: Case) -> Evidence | None:
    """A saturated CPU slows any drive."""
    cpu = case.view.track("cpu_pct")
    before = cpu.between(0, case.drop.onset_s)
    during = cpu.between(case.drop.onset_s, case.drop.end_s)
    if len(before) == 0 or len(during) == 0:
        return None
    if np.median(during) > 95 and np.median(before) < 85:
        return Evidence(
            -2.0,
            f"the CPU was saturated meanwhile ({np.median(during):.0f} %, "
            f"before {np.median(before):.0f} %)",
        )
    return None


def deeper_than_reads(case: Case) -> Evidence | None:
    """A write that loses far more than heat takes from reads has another cause, or one more."""
    if not case.view.step.writes:
        return None
    reads = [
        (max((drop.depth for drop in other.drops or []), default=0.0), other.step.name)
        for other in case.others
        if not other.step.writes and other.drops is not None
    ]
    if not reads:
        return Evidence(0.0, _ONLY_WRITES)
    depth, name = max(reads)
    if case.drop.depth > depth + FAR_DEEPER:
        return Evidence(
            -3.0,
            f"it lost {case.drop.depth:.0%}, and no read more than {depth:.0%} ('{name}'): "
            "an exhausted cache or spare area hits writes alone; after a pause, or a purge, the "
            "same step would tell",
        )
    return None


_ALL: tuple[Callable[[Case], Evidence | None], ...] = (
    counters,
    stated_limit,
    rose_and_held,
    reads_fall_too,
    same_temperature,
    deeper_than_reads,
    comes_back_after_pause,
    host_is_busy,
)


def weigh(case: Case) -> tuple[bool, float, list[str]]:
    """Return whether heat is the cause, how likely that is, and the sentences behind it.

    Without any temperature or counter of the drive it is never heat: nothing could prove it.
    """
    evidence = [found for look in _ALL if (found := look(case)) is not None]
    texts = [
        f"{'for' if e.weight > 0 else 'against' if e.weight < 0 else 'open'}: {e.text}"
        for e in evidence
    ]
    has_heat_sensor = len(case.view.temp.values) > 0 or bool(case.view.columns("throttle_"))
    if not has_heat_sensor:
        texts.append(
            "open: no temperature of the drive was recorded; "
            "a log of it, or a run after a pause, would tell"
        )
    total = sum(e.weight for e in evidence)
    is_thermal = has_heat_sensor and total >= ENOUGH
    return is_thermal, 1 / (1 + math.exp(-total)) if is_thermal else 0.0, texts


def _counters(view: StepView) -> list[str]:
    return view.columns("throttle_count.") + view.columns("throttle_time_s.")


def _counted(case: Case) -> list[str]:
    """By how much each of the drive's counters of throttling rose during the drop."""
    moved = []
    for name in _counters(case.view):
        track = case.view.track(name)
        before, after = track.at(case.drop.onset_s - 2), track.at(case.drop.end_s + 2)
        if before is not None and after is not None and after > before:
            unit = " s" if name.startswith("throttle_time_s.") else ""
            moved.append(f"{name.split('.', 1)[1]} by {after - before:g}{unit}")
    return moved


def _alike(one: Drop, other: Drop) -> bool:
    """Whether two drops are as deep within 15 points and as late within a factor of two."""
    ratio = (one.onset_s + 1) / (other.onset_s + 1)
    return abs(one.depth - other.depth) <= 0.15 and 0.5 <= ratio <= 2
