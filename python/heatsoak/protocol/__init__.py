"""What is to be done to a drive: ordered steps, their workloads, and the conditions.

:func:`load` reads a bundled protocol by name, a TOML file, or a native fio job file.
"""

from heatsoak.protocol.conditions import (
    REPETITIONS,
    Conditions,
    Label,
    cools_better,
    differing,
    kind_of_condition,
    label_text,
)
from heatsoak.protocol.model import RATES, Heat, Matrix, Observation, Observed, Protocol, ScoreRule
from heatsoak.protocol.source import apply_settings, bundled, load, read_labels, scaled
from heatsoak.protocol.steps import (
    FILL,
    MIN_STEADY_ROUNDS,
    ROLES,
    Copy,
    LoadStep,
    Pause,
    Precondition,
    Purge,
    PurgeMethod,
    Replay,
    Role,
    Rounds,
    SingleStep,
    Step,
    WorkloadStep,
)
from heatsoak.protocol.workload import Load, Workload, rw_of

__all__ = [
    "FILL",
    "MIN_STEADY_ROUNDS",
    "RATES",
    "REPETITIONS",
    "ROLES",
    "Conditions",
    "Copy",
    "Heat",
    "Label",
    "Load",
    "LoadStep",
    "Matrix",
    "Observation",
    "Observed",
    "Pause",
    "Precondition",
    "Protocol",
    "Purge",
    "PurgeMethod",
    "Replay",
    "Role",
    "Rounds",
    "ScoreRule",
    "SingleStep",
    "Step",
    "Workload",
    "WorkloadStep",
    "apply_settings",
    "bundled",
    "cools_better",
    "differing",
    "kind_of_condition",
    "label_text",
    "load",
    "read_labels",
    "rw_of",
    "scaled",
]
