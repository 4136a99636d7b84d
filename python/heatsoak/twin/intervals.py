"""How well a fit knows its parameters, and what follows from them."""

from collections.abc import Callable, Iterator

import numpy as np

from heatsoak.twin.model import slopes_of
from heatsoak.twin.problem import Problem, Solution, minimized
from heatsoak.twin.readings import Array
from heatsoak.twin.twin import Z90, DerivedQuantity, FittedParameter, Twin

#: Parameters whose intervals are profiled: those that people ask for.
_PROFILED = ("limit_c", "k_per_w", "air_c")
#: Points of a profile on each side, at most, and how exactly its end is found.
_PROFILE_STEPS = 3
_PROFILE_TOLERANCE = 0.15
#: The squares add up to some hundred, of which 2.71 is to be found.
_PROFILE_EXACT = 5e-4
#: Steps of derivatives, in spreads.
_STEP = 1e-2

#: Something that follows from standardized parameters.
Quantity = Callable[[Array], float]


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


def estimates_of(twin: Twin, solution: Solution) -> Iterator[DerivedQuantity]:
    """Yield what follows from the parameters in each place."""
    for place in twin.places:
        asked = [("air_k_per_w", "K/W", _resistance_of(solution, place))]
        if twin.throttled:
            asked.append(("limit_reported_c", "C", _limit_of(twin, place)))
        here = [one for one in solution.problem.measured if one.place == place]
        swing_k = max(float(np.ptp(one.reading_c)) for one in here)
        asked.append(("time_constant_s", "s", _rise_of(twin, place, swing_k)))
        for name, unit, of in asked:
            yield _derived(name, place, unit, solution, of)


def gradients_of(twin: Twin, solution: Solution, place: str) -> Array:
    """Return derivatives of what people ask for, in a place, by standardized parameters.

    (3, parameters): the logarithm of the resistance to the air, the limit as reported in C, and the
    limit itself in C.
    """

    def hidden_limit_c(u: Array) -> float:
        return solution.problem.values(u)["limit_c"]

    asked = (_resistance_of(solution, place), _limit_of(twin, place), hidden_limit_c)
    return np.stack([slopes_of(quantity, solution.u, _STEP) for quantity in asked])


def _resistance_of(solution: Solution, place: str) -> Quantity:
    """The logarithm of what lies between board and air."""

    def total(u: Array) -> float:
        values = solution.problem.values(u)
        return float(np.log(values[f"k_per_w@{place}"] + values.get(f"mount_k_per_w@{place}", 0.0)))

    return total


def _limit_of(twin: Twin, place: str) -> Quantity:
    """What is reported when the governor engages, under full load from rest."""

    def reported(u: Array) -> float:
        served = twin.under_full_load(place, u=u)
        if np.isfinite(served["onset_s"]):
            return float(served["onset_sensor_c"])
        # the limit is further than the load gets: as far above what it reaches
        return float(served["sensor_c"][-1] + served["begins_c"] - served["governed_c"][-1])

    return reported


def _rise_of(twin: Twin, place: str, rise_k: float) -> Quantity:
    """The logarithm of when the reported temperature has gone 63 % of its way, of so much."""

    def rise(u: Array) -> float:
        course = twin.follow_step(place, rise_k, u=u)
        way = (course.sensor_c - course.sensor_c[0]) / (course.sensor_c[-1] - course.sensor_c[0])
        return float(np.log(np.interp(1 - np.exp(-1), way, course.t_s)))

    return rise


def _derived(name: str, place: str, unit: str, solution: Solution, of: Quantity) -> DerivedQuantity:
    """A quantity with 90 %; one that is known by its logarithm if its unit is not C."""
    gradient = slopes_of(of, solution.u, _STEP)
    half = Z90 * np.sqrt(gradient @ solution.covariance @ gradient)
    found = of(solution.u) + half * np.array([-1.0, 0.0, 1.0])
    low, value, high = (found if unit == "C" else np.exp(found)).tolist()
    return DerivedQuantity(name=name, place=place, value=value, low=low, high=high, unit=unit)
