"""What a process of a sweep does: passes without heat, predictions, and runs of the exact engine.

Each takes what it needs and returns what it found, with the seconds that took: it may be on
another machine.
"""

import pickle
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

import heatsoak
from heatsoak import protocol
from heatsoak._core import Drive as Core
from heatsoak.errors import UsageError
from heatsoak.sweep.plan import Group, PointChange
from heatsoak.target.simulated import driven
from heatsoak.twin.asked import DemandSeries as Load
from heatsoak.twin.asked import Slowed, behind, held_back
from heatsoak.twin.case import Before, LikelyDrive, WorkloadCase, cooled_place, core_of, prepared
from heatsoak.twin.predict import told
from heatsoak.twin.readings import Array

#: Asked for by its hash, and changed so.
Asked = tuple[str, PointChange]
Row = dict[str, Any]
_Found = TypeVar("_Found")


@dataclass(frozen=True)
class Timed(Generic[_Found]):
    """What a task found, and how long it computed."""

    found: _Found
    seconds: float


def version() -> str:
    """Return heatsoak's version where this is run."""
    return heatsoak.__version__


def prepare(group: Group) -> Timed[bytes]:
    """Make the unheated pass; raises UsageError for what cannot be simulated.

    Its :class:`WorkloadCase` is pickled: it goes along with many tasks, and packing it for each
    would take longer than giving them away.
    """
    began = time.perf_counter()
    case = WorkloadCase.of(
        group.subject,
        group.load,
        group.duration_s,
        before=group.before,
        enclosure=group.place,
        seed=group.seed,
        draws=group.draws,
    )
    return Timed(pickle.dumps(case), time.perf_counter() - began)


def predict_each(packed: bytes, asked: Sequence[Asked]) -> Timed[list[Row]]:
    """Predict points of a group, each with heat and governor alone."""
    case = pickle.loads(packed)
    return _each(asked, lambda change: _predicted(case, change))


def simulate(group: Group, packed: bytes, asked: Sequence[Asked]) -> Timed[list[Row]]:
    """Run the exact engine on points of a group."""
    case = pickle.loads(packed)
    return _each(asked, lambda change: _exact(group, case, change))


def _each(asked: Sequence[Asked], row: Callable[[PointChange], Row]) -> Timed[list[Row]]:
    began = time.perf_counter()
    rows = [{"point": name, **row(change)} for name, change in asked]
    return Timed(rows, time.perf_counter() - began)


def _predicted(case: WorkloadCase, change: PointChange) -> Row:
    try:
        found = told(case, change.cooling, change.holds_mb_s)
    except UsageError as error:  # too hot even at rest
        return {"impossible": str(error)}
    ranges = {
        f"{name}_{end}_{unit}": getattr(getattr(found, f"{name}_{unit}"), end, None)
        for name, unit in RANGES
        for end in ENDS
    }
    held = found.held
    return {
        "throttles": found.throttles,
        **ranges,
        "full_mb_s": found.full_mb_s,
        "holds": found.holds,
        "first": found.first,
        "cliff": None if found.cliff is None else found.cliff.cause,
        "cliff_onset_s": None if found.cliff is None else found.cliff.onset_s,
        "held_mid_s": None if held is None or held.held_s is None else held.held_s.mid,
        "late_mid_pct": None if held is None or held.late_pct is None else held.late_pct.mid,
    }


#: Ranges of a prediction, and their ends: the columns are such as `onset_low_s`.
RANGES = (
    ("onset", "s"),
    ("onset", "gb"),
    ("depth", "pct"),
    ("throttled", "mb_s"),
    ("max_reported_temp", "c"),
    ("hidden_temp", "c"),
)
ENDS = ("low", "mid", "high")


def _exact(group: Group, case: WorkloadCase, change: PointChange) -> Row:
    """What the simulated drive itself does in the changed place."""
    own, step = LikelyDrive.middle(group.subject, group.place), case.workload
    assert isinstance(step, protocol.WorkloadStep)  # Group.is_exact
    try:
        place = cooled_place(own.place, change.cooling)
        core = core_of(own.drive, place, (*group.before, step), group.seed)
        found = run_exact(core, group.before, step, case.seconds, case.asked)
    except ValueError as error:  # such as one that runs away idle in a hotter room
        return {"impossible": f"{group.place}: {error}"}
    return {
        "throttled": found is not None,
        "onset_s": None if found is None else round(found.onset_s, 2),
        "depth_pct": None if found is None else round(found.depth_pct, 2),
        "throttled_mb_s": None if found is None else round(found.mb_s, 2),
    }


def run_exact(
    core: Core, before: Sequence[Before], step: protocol.WorkloadStep, seconds: int, load: Load
) -> Slowed | None:
    """Run a load on the exact engine for so long; return how heat slowed it, if it did.

    `load` is what it asks for there. Raises ValueError for what cannot be.
    """
    for one in before:
        prepared(core, one)
    if core.stopped:
        raise ValueError("shuts itself down while it is prepared")
    found = next(driven(core, step, float(seconds), 1.0, lasts_s=float(seconds)))
    # what a drive that shut itself down leaves out stays 0
    mb_s: Array = np.zeros(seconds)
    read, written = (
        np.nan_to_num(found[f"{name}_bw_mb_s"])[:seconds] for name in ("read", "write")
    )
    mb_s[: len(read)] = read + written
    return slowed_in_run(load, mb_s, core.truth()["onset_s"])


def slowed_in_run(load: Load, mb_s: Array, acts_s: float) -> Slowed | None:
    """Return how heat slowed a run of a load, whose governor first acted at `acts_s`, if at all.

    `mb_s` is what it moved in each second.
    """
    if not np.isfinite(acts_s):
        return None
    missing = 1 - mb_s / load.free_mb_s(np.cumsum(mb_s))
    missing[: int(acts_s)] = 0.0
    begins, _ = held_back(behind(missing))
    return load.slowed(mb_s, max(acts_s, float(begins[0]))) if len(begins) else None
