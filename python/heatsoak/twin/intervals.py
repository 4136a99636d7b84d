"""How well a fit knows its parameters, and what follows from them: by its draws."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from heatsoak import ranges
from heatsoak.twin.model import OFFSET
from heatsoak.twin.problem import Solution
from heatsoak.twin.readings import Array, MeasuredRecording
from heatsoak.twin.twin import DerivedQuantity, FittedParameter, Twin

#: Steps of derivatives, in spreads.
_STEP = 1e-2

#: Something that follows from standardized parameters.
Quantity = Callable[[Array], float]


def fitted_parameter(solution: Solution, index: int, drawn: Array) -> FittedParameter:
    """Return a parameter with its 90 % interval, of standardized draws of it."""
    parameter = solution.problem.parameters[index]
    prior, u = parameter.prior, float(solution.u[index])
    low, high = _ends(drawn, u)
    return FittedParameter(
        name=parameter.name,
        value=prior.value(u),
        low=prior.value(low),
        high=prior.value(high),
        unit=prior.unit,
        how="draws",
        u=u,
        learned=float(np.clip(1.0 - solution.covariance[index, index], 0.0, 1.0)),
        scale=prior.scale,
        expected=prior.median,
        spread=prior.spread,
        why=prior.why,
    )


def _ends(drawn: Array, value: float) -> tuple[float, float]:
    """The ends of 90 %, which the likeliest value lies in."""
    low, high = np.quantile(drawn, ranges.tails(ranges.FITTED_LEVEL), method="weibull").tolist()
    return min(low, value), max(high, value)


def estimates_of(twin: Twin, measured: Sequence[MeasuredRecording]) -> Iterator[DerivedQuantity]:
    """Yield what follows from the parameters in each place."""
    for place in twin.places:
        asked = [("air_k_per_w", "K/W", _resistance_of(twin, place))]
        if twin.throttled:
            asked.append(("limit_reported_c", "C", _limit_of(twin, place)))
        swing_k = max(float(np.ptp(one.reading_c)) for one in measured if one.place == place)
        asked.append(("time_constant_s", "s", _rise_of(twin, place, swing_k)))
        for name, unit, of in asked:
            value = of(twin.u)
            drawn = np.array([of(u) for u in twin.drawn])
            low, high = _ends(drawn, value)
            found = np.array([low, value, high])
            low, value, high = (found if unit == "C" else np.exp(found)).tolist()
            yield DerivedQuantity(
                name=name, place=place, value=value, low=low, high=high, unit=unit
            )


def gradients_of(twin: Twin, solution: Solution, place: str) -> Array:
    """Return derivatives of what people ask for, in a place, by standardized parameters.

    (3, parameters): the logarithm of the resistance to the air, the limit as reported in C, and the
    limit itself in C, where that is another one.
    """

    def hidden_limit_c(u: Array) -> float:
        return solution.problem.values(u)["limit_c"]

    asked = [_resistance_of(twin, place), _limit_of(twin, place)]
    if OFFSET in solution.values:
        asked.append(hidden_limit_c)
    moved = solution.u + _STEP * np.eye(len(solution.u))
    found = np.array([[of(u) for u in [solution.u, *moved]] for of in asked])
    return np.asarray((found[:, 1:] - found[:, :1]) / _STEP)


def _resistance_of(twin: Twin, place: str) -> Quantity:
    """The logarithm of what lies between board and air."""

    def total(u: Array) -> float:
        values = twin.values(u)
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
