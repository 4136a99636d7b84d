"""How finely, how often and how late a temperature is reported."""

import numpy as np

from heatsoak.analysis.sensors.readings import Log, Readings
from heatsoak.analysis.series import Array

#: Changes of load between stretches shorter than this show no lag.
_LEAST_STAY_S = 30
#: How long after a change of load the reading is looked at.
_REACH_S = 90
#: Slopes are taken over this time, so that rounding to whole degrees does not make them.
_SLOPE_S = 7
_LEAST_RESPONSE_K = 5.0
_LEAST_CHANGES = 5


def step_c(readings: Readings) -> float | None:
    """Return the step that a temperature is rounded to; None where it is not, or hardly moved."""
    moved = np.abs(np.diff(readings.values))
    moved = moved[moved > 1e-9]
    if len(moved) < _LEAST_CHANGES:
        return None
    least = float(np.min(moved))
    if least < 0.01:
        return None
    steps = moved / least
    return round(least, 3) if np.all(np.abs(steps - np.round(steps)) < 0.05) else None


def renewed_s(readings: Readings) -> float | None:
    """Return the shortest time in which a temperature usually changes; None if it rarely does."""
    at_s = readings.t_s[1:][np.diff(readings.values) != 0]
    if len(at_s) < _LEAST_CHANGES + 1:
        return None
    return float(np.quantile(np.diff(at_s), 0.05))


def lag_s(readings: Readings, log: Log) -> float | None:
    """Return how long after the load comes or goes a temperature changes fastest.

    The readings about all changes of load are laid upon each other, which is the correlation of
    the reading's slope with the changes. A heat capacity that is loaded directly changes fastest at
    once, whatever its size; what lies behind another one changes later. None where no load came or
    went for at least half a minute, or the temperature did not follow clearly.
    """
    edges = _changes(log)
    curves = [curve for at_s, sign in edges if (curve := _about(readings, at_s, sign)) is not None]
    if not curves:
        return None
    response = np.mean(curves, axis=0)
    if response[-1] < _LEAST_RESPONSE_K:
        return None
    slope = response[_SLOPE_S:] - response[:-_SLOPE_S]
    # the middle of the best of equals: rounding makes flat tops
    best = np.flatnonzero(slope >= slope.max() - 1e-9)
    fastest = int(best[len(best) // 2])
    return float(max(fastest - _SLOPE_S // 2, 0))


def _changes(log: Log) -> list[tuple[int, int]]:
    """When the load came (+1) or went (-1) and stayed so, in seconds."""
    loaded = log.is_loaded
    known = np.flatnonzero(np.isfinite(loaded))
    if len(known) == 0:
        return []
    state = loaded[known]
    turns = np.flatnonzero(np.diff(state)) + 1
    edges = np.concatenate([[0], turns, [len(state)]])
    lengths = np.diff(np.concatenate([known[edges[:-1]], [known[-1] + 1]]))
    return [
        (int(known[turn]), 1 if state[turn] == 1 else -1)
        for index, turn in enumerate(turns.tolist())
        if min(lengths[index], lengths[index + 1]) >= _LEAST_STAY_S
    ]


def _about(readings: Readings, at_s: int, sign: int) -> Array | None:
    """How a temperature went on from `at_s`, each second; None where it was read too seldom."""
    before = _SLOPE_S // 2
    near = readings.between(at_s - 5, at_s + _REACH_S + 5)
    times_s = near.t_s
    if len(times_s) < 5 or times_s[0] > at_s or times_s[-1] < at_s + _REACH_S:
        return None
    if np.max(np.diff(times_s)) > 5:
        return None
    grid = at_s + np.arange(-before, _REACH_S + 1)
    curve = np.interp(grid, times_s, near.values)
    return np.asarray(sign * (curve - curve[before]))
