"""How well a fit knows its parameters, and what follows from them."""

from collections.abc import Callable, Iterator

import numpy as np

from heatsoak.twin.problem import Problem
from heatsoak.twin.readings import Array
from heatsoak.twin.solving import Solution, minimized
from heatsoak.twin.twin import Z90, Estimate, FittedParameter, Twin, crossing_s

#: Parameters whose intervals are profiled: those that people ask for.
_PROFILED = ("limit_c", "k_per_w", "air_c")
#: Points of a profile on each side, at most, and how exactly its end is found.
_PROFILE_STEPS = 3
_PROFILE_TOLERANCE = 0.15
#: The squares add up to some hundred, of which 2.71 is to be found.
_PROFILE_EXACT = 5e-4


def fitted_parameter(solution: Solution, index: int) -> FittedParameter:
    """Return a parameter with its 90 % interval."""
    parameter = solution.problem.parameters[index]
    prior, u = parameter.prior, float(solution.u[index])
    variance = float(solution.covariance[index, index])
    is_profiled = parameter.name.partition("@")[0] in _PROFILED
    half = Z90 * np.sqrt(variance)
    low, high = profile(solution, index) if is_profiled else (u - half, u + half)
    return FittedParameter(
        name=parameter.name,
        value=prior.value(u),
        low=prior.value(low),
        high=prior.value(high),
        unit=prior.unit,
        how="profile" if is_profiled else "laplace",
        u=u,
        learned=float(np.clip(1.0 - variance, 0.0, 1.0)),
        scale=prior.scale,
        expected=prior.median,
        spread=prior.spread,
        why=prior.why,
    )


def profile(solution: Solution, index: int) -> tuple[float, float]:
    """Return 90 % of a standardized parameter, by what the others make of each of its values.

    The interval ends where twice the logarithm of the likelihood, priors included and at its
    greatest over all other parameters, is 2.71 below its maximum.
    """
    problem, best_u = solution.problem, solution.u
    least = _cost(problem, best_u)
    drop = Z90**2
    sides = []
    for sign in (-1.0, 1.0):
        half = Z90 * float(np.sqrt(solution.covariance[index, index]))
        for _ in range(_PROFILE_STEPS):
            # the others go along as the curvature says, so that few steps are left
            along = solution.covariance[:, index] / solution.covariance[index, index]
            there = minimized(
                problem, best_u + sign * half * along, held=index, tolerance=_PROFILE_EXACT
            )
            excess = max(_cost(problem, there) - least, 1e-3)
            half *= float(np.clip(np.sqrt(drop / excess), 0.5, 2.0))
            if abs(excess / drop - 1) < _PROFILE_TOLERANCE:
                break
        sides.append(float(best_u[index]) + sign * half)
    return sides[0], sides[1]


def _cost(problem: Problem, u: Array) -> float:
    residuals = problem.residuals(u)
    return float(residuals @ residuals)


def estimates_of(twin: Twin, solution: Solution) -> Iterator[Estimate]:
    """Yield what follows from the parameters in each place."""
    for place in twin.places:
        yield _resistance(solution, place)
        if twin.throttled:
            yield _limit(twin, solution, place)
        yield _time_constant(twin, solution, place)


def _resistance(solution: Solution, place: str) -> Estimate:
    """From the board to the air, all of it."""

    def total(u: Array) -> float:
        values = solution.problem.values(u)
        return float(np.log(values[f"k_per_w@{place}"] + values.get(f"mount_k_per_w@{place}", 0.0)))

    middle, deviation = _delta(solution, total)
    low, value, high = np.exp(middle + deviation * np.array([-Z90, 0.0, Z90])).tolist()
    return Estimate(name="air_k_per_w", place=place, value=value, low=low, high=high, unit="K/W")


def _limit(twin: Twin, solution: Solution, place: str) -> Estimate:
    """What is reported when the governor engages, under full load from rest."""

    def reported(u: Array) -> float:
        course, limit_c = twin.follow_load(twin.full_load, place, u=u)
        onset_s = crossing_s(course, limit_c)
        if not np.isfinite(onset_s):
            # the limit is further than the load gets: as far above what it reaches
            return float(course.sensor_c[-1] + limit_c - course.hidden_c[-1])
        return float(np.interp(onset_s, course.t_s, course.sensor_c))

    value, deviation = _delta(solution, reported)
    low, high = value - Z90 * deviation, value + Z90 * deviation
    return Estimate(name="limit_reported_c", place=place, value=value, low=low, high=high, unit="C")


def _time_constant(twin: Twin, solution: Solution, place: str) -> Estimate:
    """When the reported temperature has gone 63 % of its way after load begins."""

    def rise_s(u: Array) -> float:
        course = twin.follow_step(place, u=u)
        way = (course.sensor_c - course.sensor_c[0]) / (course.sensor_c[-1] - course.sensor_c[0])
        return float(np.log(np.interp(1 - np.exp(-1), way, course.t_s)))

    middle, deviation = _delta(solution, rise_s)
    low, value, high = np.exp(middle + deviation * np.array([-Z90, 0.0, Z90])).tolist()
    return Estimate(name="time_constant_s", place=place, value=value, low=low, high=high, unit="s")


def _delta(solution: Solution, quantity: Callable[[Array], float]) -> tuple[float, float]:
    """A quantity with its standard deviation, by its derivatives."""
    here, step = quantity(solution.u), 1e-2
    slope = np.zeros(len(solution.u))
    for index in range(len(slope)):
        moved = solution.u.copy()
        moved[index] += step
        slope[index] = (quantity(moved) - here) / step
    return here, float(np.sqrt(slope @ solution.covariance @ slope))
