"""How well parameters explain recordings: residuals whose squares add up to -2 ln(likelihood).

Readings differ from the model by noise of their own and by a deviation that lasts, for no room
keeps its temperature and no network is the true one. The deviation is an Ornstein-Uhlenbeck
process, so that a thousand readings of a second count for as much as they are worth: only what is
new in each of them counts. Its size and time are estimated from the residuals, by restricted
likelihood.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy.optimize import minimize

from heatsoak._core import whiten
from heatsoak.analysis.sensors.readings import Stretch
from heatsoak.catalog.specs import Strict
from heatsoak.twin import readings
from heatsoak.twin.model import TemperatureCourse
from heatsoak.twin.readings import Array, MeasuredRecording

#: An onset pins the hidden temperature no better than this: firmware looks about once a second,
#: and its own sensors have steps.
_ONSET_K = 0.5
#: While it holds a drive, a governor keeps it near its limit: hysteresis of TMT levels is 2 to 4 K,
#: bands and overshoot are about as wide.
_HELD_K = 2.5
#: A drive at full speed may be past its limit by this much and not yet slower.
_FREE_K = 0.7
#: What falls for other reasons does so at any temperature that drives have.
_ANY_K = 60.0
#: What meters and energies that are linear in the work agree within, of loads of one drive.
_POWER_SHARE = 0.02
#: Without load less is known: firmware has work of its own.
_REST_POWER_SHARE = 0.15
#: Firmware works for most of the time without load, but not in this share of it.
_AT_REST = 0.25
#: A deviation that lasts longer is an offset, as far as a recording can tell.
_MOST_S = 1800.0


class Noise(Strict):
    """What the readings have beside the model; before any fit, that a deviation is usual.

    Attributes:
        own_k: of each averaged reading on its own, rounding included.
        lasting_k, lasting_s: of the deviation that lasts, and for how long it does.
    """

    own_k: float = Field(ge=0)
    lasting_k: float = Field(0.5, ge=0)
    lasting_s: float = Field(60.0, gt=0)

    def whitened(self, t_s: Array, off_k: Array) -> tuple[Array, float]:
        """Return what is new in each reading, in standard deviations, (readings, columns).

        Beside it the logarithm of the determinant of the readings' covariance.
        """
        return whiten(t_s, (self.own_k, self.lasting_k, self.lasting_s), off_k)


class Likelihood:
    """The residuals of one recording under one noise; `whitened` takes their correlation out.

    What made a fall is not known. `heat` says of each how likely the governor did, by what the
    judge says and how near to the limit a model has it then: its residuals count for so much.
    """

    def __init__(self, measured: MeasuredRecording, noise: Noise) -> None:
        self.measured = measured
        self.noise = noise
        self._bin_t_s = measured.bin_t_s
        self.heat = np.array([fall.heat for fall in measured.falls])
        self._binned_c = measured.binned_c
        self._falls = [_FallPlaces.of(measured, fall) for fall in measured.falls]
        self._free = [measured.within(one) for one in measured.free]
        self._powers = _powers(measured) if measured.has_power else []

    @property
    def count(self) -> int:
        """How many residuals there are."""
        return len(self.measured.bins) + 3 * len(self._falls) + len(self._free) + len(self._powers)

    def off_k(self, course: TemperatureCourse) -> Array:
        """Return how far averaged readings are from courses, (readings, courses)."""
        modelled = course.at(self.measured.reading_t_s, course.sensor_c)
        return np.asarray(self._binned_c[:, None] - self.measured.averaged(modelled))

    def whitened(self, off_k: Array) -> Array:
        """Return what is new in each reading, in standard deviations."""
        return self.noise.whitened(self._bin_t_s, off_k)[0]

    @property
    def log_det(self) -> float:
        """The logarithm of the determinant of the readings' covariance."""
        return self.noise.whitened(self._bin_t_s, self._binned_c[:, None])[1]

    def residuals(self, course: TemperatureCourse, limit_c: Array, meter_x: Array) -> Array:
        """Return residuals of courses in standard deviations, (residuals, courses).

        Those of readings come first, then of falls, of what never fell, and of power where it was
        measured. `limit_c` and `meter_x` have a number for each course.
        """
        found = [self.whitened(self.off_k(course))]
        for fall, heat in zip(self._falls, self.heat.tolist(), strict=True):
            onset, held, before = fall.off(course, limit_c)[:3]
            found += [sqrt(heat) * onset, sqrt(heat) * held, sqrt(1.0 - heat) * before]
        found += [_over(course.hidden_c[inside], limit_c) for inside in self._free]
        for there, measured_w, share in self._powers:
            off = np.zeros(len(meter_x))
            if measured_w:
                cost_w = np.mean(course.power_w[there], axis=0)
                off = np.log(np.maximum(meter_x * measured_w, 1e-4) / cost_w)
            found.append(off / share)
        return np.vstack(found)

    def weigh(self, course: TemperatureCourse, limit_c: float) -> float:
        """Set how likely heat made each fall, as one course has it.

        Returns by how much the logarithm of the likelihood of the falls, whatever made them, is
        above what :meth:`residuals` has of them from now on.
        """
        above, shares = 0.0, []
        for fall, one in zip(self._falls, self.measured.falls, strict=True):
            onset, held, before, sd_k = np.ravel(fall.off(course, np.array([limit_c]))).tolist()
            by_heat = np.log(one.judged / sd_k) - 0.5 * (onset**2 + held**2)
            other = np.log((1.0 - one.judged) / _ANY_K) - 0.5 * before**2
            heat = 1.0 / (1.0 + np.exp(min(other - by_heat, 500.0)))
            squares = heat * (onset**2 + held**2) + (1.0 - heat) * before**2
            above += float(np.logaddexp(by_heat, other)) + 0.5 * squares
            shares.append(heat)
        self.heat = np.array(shares)
        return above


def _over(hidden_c: Array, limit_c: Array) -> Array:
    over_k = np.max(hidden_c, axis=0, initial=-np.inf) - limit_c
    return np.asarray(np.maximum(over_k, 0.0) / _FREE_K)


@dataclass(frozen=True)
class _FallPlaces:
    """A fall, and where on the grid it was held and ran free before it."""

    fall: readings.LoadFall
    held: slice | None
    before: slice

    @classmethod
    def of(cls, measured: MeasuredRecording, fall: readings.LoadFall) -> Self:
        held = None
        if fall.end_s is not None and fall.end_s - fall.t_s > 2 * readings.SETTLING_S:
            held = measured.within(Stretch(fall.t_s + readings.SETTLING_S, fall.end_s))
        return cls(fall, held, measured.within(Stretch(fall.since_s, fall.t_s)))

    def off(self, course: TemperatureCourse, limit_c: Array) -> Array:
        """Return residuals of when it began and how it was held, by heat; before it, by others.

        (4, courses): the last is what the first was divided by, in K.
        """
        fall, hidden_c = self.fall, course.hidden_c
        before_c, at_c = course.at(np.array([fall.t_s - 5.0, fall.t_s]), hidden_c)
        least_k = _ONSET_K if fall.at_full_speed else _HELD_K
        sd_k = np.hypot(least_k, (at_c - before_c) / 5.0 * fall.sd_s)
        held = free = np.zeros(len(limit_c))
        if self.held is not None and len(hidden_c[self.held]):
            held = (np.mean(hidden_c[self.held], axis=0) - limit_c) / _HELD_K
        if fall.at_full_speed:
            free = _over(hidden_c[self.before], limit_c)
        return np.stack([(at_c - limit_c) / sd_k, held, free, sd_k])


def _powers(measured: MeasuredRecording) -> list[tuple[NDArray[np.int64], float, float]]:
    """Loads and the rest with their measured means, 0 of none, and what those agree within."""
    power_w = measured.power_w
    is_known = np.isfinite(power_w)
    is_idle = is_known & (measured.read_mb_s + measured.write_mb_s == 0.0)
    for step in measured.steps.values():
        is_idle[measured.within(Stretch(step.start_s, step.end_s + 10.0))] = False
    if is_idle.any():
        # while it folds and collects, it does not rest
        is_idle &= power_w <= np.quantile(power_w[is_idle], _AT_REST)
    at = np.arange(len(power_w))
    loads = (at[measured.within(one)] for one in measured.loaded)
    parts = [(one[is_known[one]], _POWER_SHARE) for one in loads]
    return [
        (there, float(np.mean(power_w[there])) if len(there) else 0.0, share)
        for there, share in [*parts, (np.flatnonzero(is_idle), _REST_POWER_SHARE)]
    ]


def estimate_noise(
    measured: Sequence[MeasuredRecording], off_k: Sequence[Array], start: Noise
) -> Noise:
    """Return the likeliest noise of residuals, given what the parameters took of them.

    `off_k` are those of each recording's readings, and beside them their derivatives by
    standardized parameters. Restricted likelihood (Patterson and Thompson, Biometrika 58, 1971),
    with the parameters' priors, and wide ones of the noise itself.
    """
    times_s = [one.bin_t_s for one in measured]
    middle = np.log([start.own_k, start.lasting_k, start.lasting_s])
    spread = np.array([0.5, 0.8, 0.8])

    def cost(x: Array) -> float:
        noise = _noise_of(x)
        total = float(np.sum(((x - middle) / spread) ** 2))
        information = np.eye(off_k[0].shape[1] - 1)
        for t_s, both in zip(times_s, off_k, strict=True):
            white, log_det = noise.whitened(t_s, both)
            total += float(white[:, 0] @ white[:, 0]) + log_det
            information += white[:, 1:].T @ white[:, 1:]
        return total + float(np.linalg.slogdet(information)[1])

    found = minimize(
        cost,
        middle,
        method="Nelder-Mead",
        # a twentieth of a logarithm of likelihood is nothing to know
        options={"maxfev": 300, "xatol": 0.02, "fatol": 0.05},
    )
    return _noise_of(found.x)


def _noise_of(x: Array) -> Noise:
    own_k, lasting_k, lasting_s = np.exp(np.clip(x, -6.0, 8.0))
    return Noise(own_k=own_k, lasting_k=lasting_k, lasting_s=min(lasting_s, _MOST_S))
