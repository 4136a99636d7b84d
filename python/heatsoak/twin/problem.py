"""Recordings and a network: its parameters, how far off they are, and which are the likeliest."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from heatsoak.catalog import Drive
from heatsoak.twin import model
from heatsoak.twin.likelihood import Likelihood, Noise, estimate_noise
from heatsoak.twin.readings import Array, MeasuredRecording

#: Steps of derivatives, in spreads: small beside what matters, large beside rounding.
_STEP = 1e-4
#: Of an impossible drive, such as one that runs away idle.
_IMPOSSIBLE = 1e3
#: No parameter is looked for further than this many spreads from what is expected.
FARTHEST = 6.0
#: Rounds of fitting the parameters and then their noise.
_ROUNDS = 3
#: What the last step of a search may still take away, of the squares: of the last round, and of
#: those before it.
_EXACTLY, _ROUGHLY = 1e-6, 1e-3
#: Steps of one search.
_MOST_STEPS = 40


#: What several drives make of one recording, by its number: a column for each of them.
_Columns = Callable[[Sequence[model.Values], int], Array]


@dataclass(frozen=True)
class Parameter:
    """A fitted parameter; `place` or `recording` where it is not the drive's own."""

    name: str
    prior: model.Prior
    place: str | None = None
    recording: int | None = None

    def concerns(self, index: int, measured: MeasuredRecording) -> bool:
        """Return whether recording `index` depends on it."""
        if self.recording is not None:
            return self.recording == index
        match self.name:
            case "read_x":
                return bool(measured.read_mb_s.any())
            case "write_x" | "dense_x":
                return bool(measured.write_mb_s.any())
            case model.GOVERNED:
                return bool(measured.falls or measured.free)
        return self.place is None or self.place == measured.place


class Problem:
    """Recordings and a network: residuals and their derivatives by standardized parameters."""

    def __init__(
        self,
        base: Drive,
        nodes: model.Nodes,
        measured: Sequence[MeasuredRecording],
        *,
        by_sensor: bool = False,
    ) -> None:
        """`by_sensor` for a governor that acts on what the drive reports, not on its own."""
        self.model = model.ThermalModel(base, nodes)
        self.by_sensor = by_sensor
        self.measured = list(measured)
        self.rooms_c = rooms_of(self.measured)
        parameters = _parameters(base, nodes, self.measured, self.rooms_c)
        own = (model.GOVERNED, model.OFFSET) if by_sensor else ()
        self.parameters = [one for one in parameters if one.name not in own]
        self._fixed = {
            **model.fixed_parameters(nodes),
            **{model.room_name(place): room_c for place, room_c in self.rooms_c.items()},
        }
        first = (Noise(own_k=max(0.1, one.step_c / 12**0.5)) for one in self.measured)
        self.likelihoods = list(map(Likelihood, self.measured, first))

    def set_noise(self, noise: Noise) -> None:
        """Take readings to have this noise."""
        for one in self.likelihoods:
            one.noise = noise

    def weigh(self, u: Array) -> float:
        """Ask the model what made each fall; returns what :meth:`Likelihood.weigh` does of all."""
        values, above = self.values(u), 0.0
        for index, likelihood in enumerate(self.likelihoods):
            measured = likelihood.measured
            course = self.model.follow_beside([values], measured, f"start_k@{index}")
            above += likelihood.weigh(course, model.limit_c_of(values, measured))
        return above

    def values(self, u: Array) -> dict[str, float]:
        """Return the parameters, those that are not fitted among them."""
        fitted = {p.name: p.prior.value(float(x)) for p, x in zip(self.parameters, u, strict=True)}
        return {**self._fixed, **fitted}

    def residuals(self, u: Array) -> Array:
        """Return all residuals, those of the priors last."""
        tried = [self.values(u)]
        return np.concatenate([*self._each(lambda index: self._blocks(tried, index)[:, 0]), u])

    def jacobian(self, u: Array) -> Array:
        """Return the derivatives of :meth:`residuals`."""
        return np.vstack([*self._each(lambda index: self.slopes(u, index)), np.eye(len(u))])

    def slopes(self, u: Array, index: int) -> Array:
        """Return the derivatives of the residuals of one recording."""
        return self._of_one(u, index, self._blocks)[:, 1:]

    def off_k(self, u: Array) -> list[Array]:
        """Return how far each recording's readings are from the model, and the derivatives."""

        def off_k(tried: Sequence[model.Values], index: int) -> Array:
            course = self.model.follow_beside(tried, self.measured[index], f"start_k@{index}")
            return self.likelihoods[index].off_k(course)

        return self._each(lambda index: self._of_one(u, index, off_k))

    def _blocks(self, tried: Sequence[model.Values], index: int) -> Array:
        likelihood = self.likelihoods[index]
        try:
            course = self.model.follow_beside(tried, self.measured[index], f"start_k@{index}")
        except ValueError:
            return np.full((likelihood.count, len(tried)), _IMPOSSIBLE)
        limit_c = np.array([model.limit_c_of(one, self.measured[index]) for one in tried])
        meter_x = np.array([one.get(model.METER, 1.0) for one in tried])
        found = likelihood.residuals(course, limit_c, meter_x)
        return np.where(np.isnan(course.hidden_c[0]), _IMPOSSIBLE, found)

    def _each(self, of: Callable[[int], Array]) -> list[Array]:
        # the engine does not hold Python's lock
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(of, range(len(self.measured))))

    def _of_one(self, u: Array, index: int, of: _Columns) -> Array:
        """What `of` makes of one recording, and beside it the derivatives."""
        values, measured = self.values(u), self.measured[index]
        columns = [i for i, one in enumerate(self.parameters) if one.concerns(index, measured)]
        moved = (
            {**values, self.parameters[i].name: self.parameters[i].prior.value(float(u[i]) + _STEP)}
            for i in columns
        )
        found = of([values, *moved], index)
        both = np.zeros((len(found), 1 + len(u)))
        both[:, 0] = found[:, 0]
        both[:, 1 + np.asarray(columns)] = (found[:, 1:] - found[:, :1]) / _STEP
        return both


def rooms_of(measured: Sequence[MeasuredRecording]) -> dict[str, float]:
    """Return the mean temperatures of the rooms of places that have a measured one."""
    found: dict[str, list[float]] = {}
    for one in measured:
        if one.room_c is not None:
            found.setdefault(one.place, []).append(float(np.mean(one.room_c)))
    return {place: float(np.mean(means)) for place, means in found.items()}


def _parameters(
    base: Drive, nodes: model.Nodes, measured: list[MeasuredRecording], rooms_c: dict[str, float]
) -> list[Parameter]:
    fixed = model.fixed_parameters(nodes)
    priors = model.drive_priors(base, fastest_mb_s(measured))
    priors = {name: prior for name, prior in priors.items() if name not in fixed}
    found = [Parameter(name, prior) for name, prior in priors.items()]
    if base.cache is not None and any(one.cache_gb[1] is not None for one in measured):
        found.append(Parameter(model.DENSE, model.dense_prior(base)))
    if any(one.has_power for one in measured):
        found.append(Parameter(model.METER, model.METER_PRIOR))
    if any(one.tmt1_c is not None for one in measured):
        found.append(Parameter(model.TMT_OFFSET, model.TMT_PRIOR))
    for place in dict.fromkeys(one.place for one in measured):
        neighbours = dict.fromkeys(n for o in measured if o.place == place for n in o.neighbours_c)
        of_place = {
            **model.place_priors(rooms_c.get(place), has_mount=nodes == 3),
            **model.neighbour_priors(neighbours),
        }
        found += [Parameter(f"{name}@{place}", p, place=place) for name, p in of_place.items()]
    found += [
        Parameter(f"start_k@{index}", model.start_prior(one.fell_k), recording=index)
        for index, one in enumerate(measured)
    ]
    return found


def fastest_mb_s(measured: Sequence[MeasuredRecording]) -> tuple[float, float]:
    """Return what a drive reached for more than a moment, reading and writing."""
    read, write = (
        max(float(np.quantile(rates, 0.98)) for rates in of)
        for of in zip(*((one.read_mb_s, one.write_mb_s) for one in measured), strict=True)
    )
    return read, write


@dataclass(frozen=True)
class Solution:
    """The likeliest parameters of one network.

    Attributes:
        u: standardized parameters; `covariance` is theirs, by Laplace's approximation.
        evidence: the logarithm of the likelihood, averaged over the priors (Laplace).
    """

    problem: Problem
    u: Array
    covariance: Array
    noise: Noise
    evidence: float

    @property
    def values(self) -> dict[str, float]:
        """The parameters."""
        return self.problem.values(self.u)


def solve(problem: Problem, start: Array | None = None, *, roughly: bool = False) -> Solution:
    """Return the likeliest parameters, and the noise that the readings have beside them.

    `roughly` is enough to tell what explains the recordings from what does not.
    """
    u = np.zeros(len(problem.parameters)) if start is None else start
    noise = first = problem.likelihoods[0].noise
    rounds = _ROUNDS - 1 if roughly else _ROUNDS
    for turn in range(rounds):
        is_last = turn == rounds - 1 and not roughly
        u = minimized(problem, u, tolerance=_EXACTLY if is_last else _ROUGHLY)
        above = problem.weigh(u)
        if turn < rounds - 1:
            noise = estimate_noise(problem.measured, problem.off_k(u), first)
            problem.set_noise(noise)
    slope = problem.jacobian(u)
    information = slope.T @ slope
    residuals = problem.residuals(u)
    log_det = sum(likelihood.log_det for likelihood in problem.likelihoods)
    log_information = float(np.linalg.slogdet(information)[1])
    evidence = above - 0.5 * (float(residuals @ residuals) + log_det + log_information)
    covariance = np.asarray(np.linalg.inv(information), dtype=np.float64)
    return Solution(problem, u, covariance, noise, evidence)


def minimized(problem: Problem, u: Array, *, tolerance: float) -> Array:
    """Return the standardized parameters with the least squares, from `u` on.

    `tolerance` is the share of the squares that a last step may still take away.
    """
    found = least_squares(
        problem.residuals,
        np.clip(u, -FARTHEST + 0.01, FARTHEST - 0.01),
        jac=problem.jacobian,
        bounds=(-FARTHEST, FARTHEST),
        max_nfev=_MOST_STEPS,
        xtol=1e-5,
        ftol=tolerance,
        gtol=1e-6,
    )
    return np.asarray(found.x)
