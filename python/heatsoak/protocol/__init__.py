"""What is to be done to a drive: ordered steps, their workloads, and the conditions.

:func:`load` reads a bundled protocol by name, a TOML file, or a native fio job file.
"""

from heatsoak.protocol.copy_step import ROLES, Copy, Role
from heatsoak.protocol.heat import Heat
from heatsoak.protocol.model import Matrix, Protocol
from heatsoak.protocol.observed import Observation, Observed
from heatsoak.protocol.overrides import apply_settings, read_labels
from heatsoak.protocol.rounds import Rounds, Step
from heatsoak.protocol.scaled import scaled
from heatsoak.protocol.score import Score
from heatsoak.protocol.sides import Turn, halves_of, of_side, turns
from heatsoak.protocol.source import bundled, load
from heatsoak.protocol.step import (
    LoadStep,
    Pause,
    Precondition,
    Purge,
    PurgeMethod,
    Replay,
    SingleStep,
    Spare,
    WorkloadStep,
)
from heatsoak.protocol.workload import REPETITIONS, Conditions, Label, Workload

__all__ = [
    "REPETITIONS",
    "ROLES",
    "Conditions",
    "Copy",
    "Heat",
    "Label",
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
    "Score",
    "SingleStep",
    "Spare",
    "Step",
    "Turn",
    "Workload",
    "WorkloadStep",
    "apply_settings",
    "bundled",
    "halves_of",
    "load",
    "of_side",
    "read_labels",
    "scaled",
    "turns",
]
