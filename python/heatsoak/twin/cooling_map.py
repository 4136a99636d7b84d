"""A map of a place: what other air and other cooling would make of the twin's full load."""

from dataclasses import dataclass
from math import floor

import numpy as np

from heatsoak.errors import UsageError
from heatsoak.output import Progress
from heatsoak.twin.case import Case, Cooling
from heatsoak.twin.named import USUAL_S, step_of
from heatsoak.twin.predict import Prediction, told
from heatsoak.twin.twin import Twin

#: Air temperatures: from a cool cellar to the air under a loaded graphics card.
_AIR_C = (12.0, 56.0)
_AIR_STEP_K = 4.0
#: Resistances to the air: from a large heatsink in a flow of air to half as much again as a bare
#: module has in still air, which is 9 to 10 K/W.
_K_PER_W = (2.0, 14.0)
_RESISTANCES = 8


@dataclass(frozen=True)
class CoolingMap:
    """What a drive does under its full load, by air and by resistance to it.

    Attributes:
        air_c: air at the drive, rising, the place's own among them; `own_air` is its number.
        k_per_w: all of the resistance from the board to the air, likewise.
        points: a row for each resistance, in which there is one for each air temperature; None
            where the drive would run away without any load.
    """

    place: str
    workload: str
    duration_s: float
    air_c: list[float]
    own_air: int
    k_per_w: list[float]
    own_k_per_w: int
    points: list[list[Prediction | None]]

    @property
    def own(self) -> Prediction | None:
        """What it does in the place as it was."""
        return self.points[self.own_k_per_w][self.own_air]


def cooling_map(
    twin: Twin,
    place: str | None = None,
    duration_s: float = USUAL_S,
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> CoolingMap:
    """Return the map of one of a twin's places, by default the first.

    Air is the place's own, warmed by so many kelvins: where nobody measured the room, the twin
    knows only how far its limit is above it. The likely drives are those of `predict`.

    Raises UsageError for an unknown place, and for a twin whose limit is not known.
    """
    name = twin.enclosure(place).id
    if not twin.throttled:
        raise UsageError(f"the twin has no map of where it throttles: {twin.answer}")
    full = twin.full_load
    step, _ = step_of("read" if full.read_mb_s > full.write_mb_s else "write")
    case = Case.of(twin, step, duration_s, enclosure=name, seed=seed)
    resistance = twin.estimate("air_k_per_w", name)
    assert resistance is not None
    airs_k, own_air = _airs_k(twin.values()[f"air_c@{name}"])
    factors, own_factor = _factors(resistance.value)
    rows: list[list[Prediction | None]] = []
    for number, factor in enumerate(factors):
        row = []
        for column, warming_k in enumerate(airs_k):
            row.append(_point(case, Cooling(warming_k=warming_k, k_per_w_x=factor)))
            if progress is not None:
                done = (number * len(airs_k) + column + 1) / (len(factors) * len(airs_k))
                progress(done, f"map of {name}")
        rows.append(row)
    air_c = twin.values()[f"air_c@{name}"]
    return CoolingMap(
        place=name,
        workload=step.describe(),
        duration_s=duration_s,
        air_c=[air_c + warming_k for warming_k in airs_k],
        own_air=own_air,
        k_per_w=[resistance.value * factor for factor in factors],
        own_k_per_w=own_factor,
        points=rows,
    )


def _point(case: Case, cooling: Cooling) -> Prediction | None:
    try:
        return told(case, cooling)
    except UsageError:  # too hot even at rest
        return None


def _airs_k(own_c: float) -> tuple[list[float], int]:
    """How much warmer than its own the air is, column by column, and where it is its own."""
    low, high = min(_AIR_C[0], own_c - 2 * _AIR_STEP_K), max(_AIR_C[1], own_c + 2 * _AIR_STEP_K)
    below, above = floor((own_c - low) / _AIR_STEP_K), floor((high - own_c) / _AIR_STEP_K)
    return [_AIR_STEP_K * count for count in range(-below, above + 1)], below


def _factors(own_k_per_w: float) -> tuple[list[float], int]:
    """What the resistance is multiplied by, row by row, and where it is its own."""
    low = min(_K_PER_W[0] / own_k_per_w, 0.5)
    high = max(_K_PER_W[1] / own_k_per_w, 1.5)
    steps = _RESISTANCES - 1
    below = min(max(round(steps * (1 - low) / (high - low)), 1), steps - 1)
    rows = [*np.linspace(low, 1, below, endpoint=False), *np.linspace(1, high, steps - below + 1)]
    return [float(row) for row in rows], below
