"""Shapes that a fall may have after its onset."""

from dataclasses import dataclass

import numpy as np

from heatsoak.analysis.series import Array

#: Onsets of a quick fall are tried so far apart.
_APART_S = 0.25
#: Slope and bend beside a quick fall are one after so long.
_SCALE_S = 10.0
_RAMPS_S = (0.5, 1.0, 2.0, 3.0, 4.0)
_APPROACHES_S = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
#: Time constants of slow approaches, as shares of the fall's length; and how they set in: at once
#: as a governor's own does, or gently as heat does that has to get through a board.
_CONSTANTS = (0.02, 0.05, 0.1, 0.2, 0.35, 0.6, 1.0, 2.0, 4.0)
_POWERS = (1.0, 1.5, 2.0)
#: Onsets of a slow fall are tried this share of its length apart.
_SLOW_APART = 0.01


@dataclass(frozen=True)
class ShapeFamily:
    """Shapes of a fall: a step, ramps, and approaches, by time constant and power.

    Slope and bend beside them are one after `scale_s`; onsets are tried `apart_s` apart.
    """

    ramps_s: tuple[float, ...]
    approaches: tuple[tuple[float, float], ...]
    scale_s: float
    apart_s: float

    def means(self, begin: Array, end: Array) -> Array:
        """Means from `begin` to `end` after the onset, those of slope and bend last."""
        length = end - begin
        shapes = [length]
        for ramp_s in self.ramps_s:
            shapes.append(_ramp_area(end, ramp_s) - _ramp_area(begin, ramp_s))
        for constant_s, power in self.approaches:
            if power == 1:
                gone = np.exp(-begin / constant_s) - np.exp(-end / constant_s)
                shapes.append(length - constant_s * gone)
            else:
                middle = 0.5 * (begin + end)
                shapes.append(-length * np.expm1(-((middle / constant_s) ** power)))
        shapes.append((end**2 - begin**2) / (2 * self.scale_s))
        shapes.append((end**3 - begin**3) / (3 * self.scale_s**2))
        return np.stack(shapes)

    def at(self, ages_s: Array) -> Array:
        """What is lost so long after the onset, that of slope and bend last."""
        shapes = [np.ones(len(ages_s))]
        shapes += [np.minimum(ages_s / ramp_s, 1) for ramp_s in self.ramps_s]
        shapes += [
            -np.expm1(-((ages_s / constant) ** power)) for constant, power in self.approaches
        ]
        shapes += [ages_s / self.scale_s, (ages_s / self.scale_s) ** 2]
        return np.stack(shapes)


def quick_falls() -> ShapeFamily:
    """Return what is told by what is next to the onset."""
    approaches = tuple((constant_s, 1.0) for constant_s in _APPROACHES_S)
    return ShapeFamily(_RAMPS_S, approaches, _SCALE_S, _APART_S)


def slow_falls(fall_s: float) -> ShapeFamily:
    """Return falls that take about `fall_s`."""
    approaches = tuple((share * fall_s, power) for power in _POWERS for share in _CONSTANTS)
    return ShapeFamily((), approaches, fall_s, max(_APART_S, _SLOW_APART * fall_s))


def _ramp_area(x: Array, length_s: float) -> Array:
    inside = np.minimum(x, length_s)
    return np.asarray(inside**2 / (2 * length_s) + x - inside)
