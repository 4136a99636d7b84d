"""What a process of a sweep does: passes without heat, and predictions.

Each takes what it needs and returns what it found, with the seconds that took: it may be on
another machine.
"""

import pickle
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import heatsoak
from heatsoak.errors import UsageError
from heatsoak.sweep.plan import Group, PointChange
from heatsoak.twin.case import WorkloadCase
from heatsoak.twin.predict import told

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
    began = time.perf_counter()
    case = pickle.loads(packed)
    rows = [{"point": name, **_predicted(case, change)} for name, change in asked]
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
