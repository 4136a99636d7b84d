"""What a plain table of main effects makes of the matrix: the least that a model has to beat.

Additive in slot, number of cards and their load, for the logarithm of the onset and for the depth,
by ordinary least squares (six coefficients each). It has no physics, and sees the same cells as a
fit of the simulated drive.
"""

from collections.abc import Sequence

import numpy as np

from heatsoak.catalog import PugetCell
from heatsoak.twin.calibration.parameters import Vector

_SLOTS = ("top", "upright", "underside")  # against the bottom slot


def onset_s(cell: PugetCell) -> float:
    """The middle of the published range."""
    return sum(cell.onset_s) / 2


def depth_pct(cell: PugetCell) -> float:
    """The middle of the published range."""
    return sum(cell.depth_pct) / 2


def predict(seen: Sequence[PugetCell], cell: PugetCell) -> tuple[float, float]:
    """Return onset in s and depth in % of a cell from others.

    A level of a factor that none of `seen` has is taken as what changes least.
    """
    effects = np.array([_effects(other) for other in seen])
    logs = np.log([onset_s(other) for other in seen])
    depths = np.array([depth_pct(other) for other in seen])
    here = _effects(cell)
    return (
        float(np.exp(here @ np.linalg.lstsq(effects, logs)[0])),
        float(here @ np.linalg.lstsq(effects, depths)[0]),
    )


def _effects(cell: PugetCell) -> Vector:
    slots = [float(cell.slot == slot) for slot in _SLOTS]
    return np.array([1.0, *slots, float(cell.gpus == 2), float(cell.gpu_load == "loaded")])
