"""Published figures as a function of the parameters that a calibration stage fits."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from heatsoak_dev.calibration.parameters import Parameter, Tables, Vector

FitRole = Literal["fitted", "held-out"]


@dataclass(frozen=True)
class CalibrationRow:
    """One published figure and the simulated one.

    Attributes:
        id: as in ``heatsoak lab reproduce``.
        metric: what it is, its unit last.
        published: both ends of the published range.
        limits: that range widened by its tolerance.
        kept: the part of the tolerance that a fit leaves free, since a recording that is judged
            loses a little.
        role: whether the fit used it.
    """

    id: str
    metric: str
    published: tuple[float, float]
    limits: tuple[float, float]
    simulated: float
    role: FitRole
    kept: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether it counts as reproduced."""
        return self.limits[0] <= self.simulated <= self.limits[1]

    @property
    def error(self) -> float:
        """How far off the published range it is; 0 within."""
        low, high = self.published
        return self.simulated - min(max(self.simulated, low), high)

    @property
    def in_tolerances(self) -> float:
        """How far off the middle of its range it is; 1 is the edge of what counts."""
        low, high = self.limits
        return (self.simulated - (low + high) / 2) / ((high - low) / 2 - self.kept)

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "id": self.id,
            "published": list(self.published),
            "simulated": self.simulated,
            "error": self.error,
            "ok": self.ok,
            "role": self.role,
        }


class Figures(ABC):
    """The figures of a stage.

    Attributes:
        stage: the name of the stage.
        tables: the files of the catalog with the numbers that are fitted.
        simulations: how much was simulated so far.
        worst_first: whether every figure is to be within its tolerance, rather than all of them as
            likely as they can be.
    """

    worst_first = True

    def __init__(self, stage: str, tables: Tables) -> None:
        self.stage = stage
        self.tables = tables
        self.simulations = 0

    @property
    def parameters(self) -> list[Parameter]:
        """The numbers that are fitted."""
        return self.tables.parameters

    @abstractmethod
    def rows(self, values: Sequence[float]) -> tuple[CalibrationRow, ...]:
        """Return every figure, simulated with these numbers."""

    def refine(self, unit: Vector) -> bool:  # noqa: ARG002 -- for stages that simplify
        """Correct the simulation's simplifications near a point; return whether to continue the
        fit."""
        return False

    def errors(self, unit: Vector) -> Vector:
        """Return the errors of the figures that are fitted, in tolerances."""
        rows = self.rows(self.tables.values(unit))
        return np.array([row.in_tolerances for row in rows if row.role == "fitted"])
