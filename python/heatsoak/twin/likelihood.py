"""How well parameters explain recordings: residuals whose squares add up to -2 ln(likelihood).

Readings differ from the model by noise of their own and by a deviation that lasts, for no room
keeps its temperature and no network is the true one. The deviation is an Ornstein-Uhlenbeck
process, so that a thousand readings of a second count for as much as they are worth: a Kalman
filter follows it, and what is left is what is new in each reading. Its size and time are estimated
from the residuals, by restricted likelihood.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy.optimize import minimize

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
    """What the readings have beside the model.

    Attributes:
        own_k: of each averaged reading on its own, rounding included.
        lasting_k, lasting_s: of the deviation that lasts, and for how long it does.
    """

    own_k: float = Field(ge=0)
    lasting_k: float = Field(ge=0)
    lasting_s: float = Field(gt=0)


@dataclass(frozen=True)
class Filter:
    """A Kalman filter of the deviation that lasts, which leaves what is new in each reading.

    Attributes, each one a reading:
        kept: how much of the deviation is left since the one before.
        gain: how much of what is new belongs to the deviation.
        sd_k: of what is new.
    """

    kept: list[float]
    gain: list[float]
    sd_k: list[float]

    @classmethod
    def of(cls, noise: Noise, t_s: Array) -> Self:
        """Return that of averaged readings at `t_s` with a noise."""
        own, lasting = noise.own_k**2, noise.lasting_k**2
        kept = np.exp(-np.diff(t_s, prepend=t_s[0]) / noise.lasting_s).tolist()
        gains, sds = [], []
        variance = lasting
        for share in kept:
            variance = share**2 * variance + (1.0 - share**2) * lasting
            total = variance + own
            gains.append(variance / total)
            sds.append(sqrt(total))
            variance *= own / total
        return cls(kept, gains, sds)

    @property
    def log_det(self) -> float:
        """The logarithm of the determinant of the readings' covariance."""
        return 2.0 * float(np.sum(np.log(self.sd_k)))

    def whitened(self, off_k: Array) -> Array:
        """Return what is new in each reading, in standard deviations; columns each on their own."""
        # Python's own numbers are several times as fast as NumPy's one by one
        rows = off_k.tolist() if off_k.ndim == 1 else off_k
        white, lasting = [], 0.0 * rows[0]
        for kept, gain, sd_k, off in zip(self.kept, self.gain, self.sd_k, rows, strict=True):
            lasting = kept * lasting
            new = off - lasting
            white.append(new / sd_k)
            lasting = lasting + gain * new
        return np.asarray(white)


def first_noise(step_c: float) -> Noise:
    """Return what is assumed before any fit."""
    return Noise(own_k=max(0.1, step_c / np.sqrt(12)), lasting_k=0.5, lasting_s=60.0)


class Likelihood:
    """The residuals of one recording under one noise; `filter` removes their correlation.

    What made a fall is not known. `heat` says of each how likely the governor did, by what the
    judge says and how near to the limit a model has it then: its residuals count for so much.
    """

    def __init__(
        self, measured: MeasuredRecording, noise: Noise, heat: Array | None = None
    ) -> None:
        self.measured = measured
        self.noise = noise
        self.filter = Filter.of(noise, measured.bin_t_s)
        judged = np.array([fall.heat for fall in measured.falls])
        self.heat = judged if heat is None else heat
        self._falls = [_FallPlaces.of(measured, fall) for fall in measured.falls]
        self._free = [measured.within(one) for one in measured.free]
        self._powers = _powers(measured) if measured.has_power else []

    @property
    def count(self) -> int:
        """How many residuals there are."""
        return len(self.measured.bins) + 3 * len(self._falls) + len(self._free) + len(self._powers)

    def off_k(self, course: TemperatureCourse) -> Array:
        """Return how far averaged readings are from a course."""
        measured = self.measured
        modelled = np.interp(measured.reading_t_s, course.t_s, course.sensor_c)
        return measured.binned_c - measured.averaged(modelled)

    def residuals(self, course: TemperatureCourse, limit_c: float, meter_x: float) -> Array:
        """Return residuals of a course in standard deviations.

        Those of readings come first, then of falls, of what never fell, and of power where it was
        measured.
        """
        found: list[float] = []
        for fall, heat in zip(self._falls, self.heat.tolist(), strict=True):
            onset, held, before = fall.off(course, limit_c)[:3]
            found += [sqrt(heat) * onset, sqrt(heat) * held, sqrt(1.0 - heat) * before]
        found += [_over(course.hidden_c[inside], limit_c) for inside in self._free]
        for there, measured_w, share in self._powers:
            cost_w = float(np.mean(course.power_w[there])) if measured_w else 0.0
            off = np.log(max(meter_x * measured_w, 1e-4) / cost_w) if measured_w else 0.0
            found.append(off / share)
        return np.concatenate([self.filter.whitened(self.off_k(course)), found])

    def weigh(self, course: TemperatureCourse, limit_c: float) -> float:
        """Set how likely heat made each fall, as a course has it.

        Returns by how much the logarithm of the likelihood of the falls, whatever made them, is
        above what :meth:`residuals` has of them from now on.
        """
        above, shares = 0.0, []
        for fall, one in zip(self._falls, self.measured.falls, strict=True):
            onset, held, before, sd_k = fall.off(course, limit_c)
            by_heat = np.log(one.judged / sd_k) - 0.5 * (onset**2 + held**2)
            other = np.log((1.0 - one.judged) / _ANY_K) - 0.5 * before**2
            heat = 1.0 / (1.0 + np.exp(min(other - by_heat, 500.0)))
            squares = heat * (onset**2 + held**2) + (1.0 - heat) * before**2
            above += float(np.logaddexp(by_heat, other)) + 0.5 * squares
            shares.append(heat)
        self.heat = np.array(shares)
        return above


def _over(hidden_c: Array, limit_c: float) -> float:
    over_k = float(np.max(hidden_c)) - limit_c if len(hidden_c) else 0.0
    return max(0.0, over_k) / _FREE_K


@dataclass(frozen=True)
class _FallPlaces:
    """A fall, and where on the grid it was held and ran free before it."""

    fall: readings.LoadFall
    held: NDArray[np.bool_] | None
    before: NDArray[np.bool_]

    @classmethod
    def of(cls, measured: MeasuredRecording, fall: readings.LoadFall) -> Self:
        held = None
        if fall.end_s is not None and fall.end_s - fall.t_s > 2 * readings.SETTLING_S:
            held = measured.within(Stretch(fall.t_s + readings.SETTLING_S, fall.end_s))
        return cls(fall, held, measured.within(Stretch(fall.since_s, fall.t_s)))

    def off(self, course: TemperatureCourse, limit_c: float) -> tuple[float, float, float, float]:
        """Return residuals of when it began and how it was held, by heat; before it, by others.

        The last is what the first was divided by, in K.
        """
        fall, hidden_c = self.fall, course.hidden_c
        at_c = float(np.interp(fall.t_s, course.t_s, hidden_c))
        before_c = float(np.interp(fall.t_s - 5.0, course.t_s, hidden_c))
        least_k = _ONSET_K if fall.at_full_speed else _HELD_K
        sd_k = float(np.hypot(least_k, (at_c - before_c) / 5.0 * fall.sd_s))
        held = 0.0
        if self.held is not None and self.held.any():
            held = (float(np.mean(hidden_c[self.held])) - limit_c) / _HELD_K
        free = _over(hidden_c[self.before], limit_c) if fall.at_full_speed else 0.0
        return (at_c - limit_c) / sd_k, held, free, sd_k


def _powers(measured: MeasuredRecording) -> list[tuple[NDArray[np.bool_], float, float]]:
    """Loads and the rest with their measured means, 0 of none, and what those agree within."""
    power_w = measured.power_w
    is_known = np.isfinite(power_w)
    is_idle = is_known & (measured.read_mb_s + measured.write_mb_s == 0.0)
    for step in measured.steps.values():
        is_idle &= ~measured.within(Stretch(step.start_s, step.end_s + 10.0))
    if is_idle.any():
        # while it folds and collects, it does not rest
        is_idle &= power_w <= np.quantile(power_w[is_idle], _AT_REST)
    parts = [(measured.within(one) & is_known, _POWER_SHARE) for one in measured.loaded]
    return [
        (there, float(np.mean(power_w[there])) if there.any() else 0.0, share)
        for there, share in [*parts, (is_idle, _REST_POWER_SHARE)]
    ]


def estimate_noise(
    measured: Sequence[MeasuredRecording],
    off_k: Sequence[Array],
    slopes: Sequence[Array],
    start: Noise,
) -> Noise:
    """Return the likeliest noise of residuals `off_k`, given what the parameters took of them.

    `slopes` are their derivatives by standardized parameters, (readings, parameters) for each
    recording. Restricted likelihood (Patterson and Thompson, Biometrika 58, 1971), with the
    parameters' priors, and wide ones of the noise itself.
    """
    times_s = [one.bin_t_s for one in measured]
    residual_and_slopes = [np.column_stack(pair) for pair in zip(off_k, slopes, strict=True)]
    middle = np.log([start.own_k, start.lasting_k, start.lasting_s])
    spread = np.array([0.5, 0.8, 0.8])

    def cost(x: Array) -> float:
        noise = _noise_of(x)
        total = float(np.sum(((x - middle) / spread) ** 2))
        information = np.eye(slopes[0].shape[1])
        for t_s, both in zip(times_s, residual_and_slopes, strict=True):
            filtered = Filter.of(noise, t_s)
            white = filtered.whitened(both)
            total += float(white[:, 0] @ white[:, 0]) + filtered.log_det
            information += white[:, 1:].T @ white[:, 1:]
        return total + float(np.linalg.slogdet(information)[1])

    found = minimize(cost, middle, method="Nelder-Mead", options={"maxfev": 300, "xatol": 0.02})
    return _noise_of(found.x)


def _noise_of(x: Array) -> Noise:
    own_k, lasting_k, lasting_s = np.exp(np.clip(x, -6.0, 8.0))
    return Noise(own_k=own_k, lasting_k=lasting_k, lasting_s=min(lasting_s, _MOST_S))
