"""The fit: which values of the parameters explain the recordings, and how well they are known."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from scipy.optimize import least_squares

from heatsoak.analysis import analyze
from heatsoak.catalog import Drive, drive_ids, load_drive
from heatsoak.errors import UsageError
from heatsoak.recording import Recording
from heatsoak.twin.likelihood import Likelihood, Noise, estimate_noise, first_noise
from heatsoak.twin.model import (
    METER,
    Course,
    Model,
    Nodes,
    Prior,
    drive_priors,
    fixed_parameters,
    meter_prior,
    place_priors,
    start_prior,
)
from heatsoak.twin.readings import Array, Measured, measure, refuse_mixed
from heatsoak.twin.told import answer, told
from heatsoak.twin.twin import (
    Z90,
    Estimate,
    FittedNoise,
    FittedParameter,
    FittedRecording,
    Load,
    Twin,
    Uncertainty,
    crossing_s,
)

#: Networks in the order in which they are tried.
_NETWORKS: tuple[Nodes, ...] = (2, 1, 3)
#: Another network than packages on a board has to be likelier by this, in logarithms: strong
#: evidence (Kass and Raftery, JASA 90, 1995).
_STRONG = 3.0
#: Drives that stand for their class: what an unknown one has in common with.
_CLASSES = ("samsung-850-pro-512", "samsung-950-pro-512", "pcie4-tlc-1tb", "pcie5-tlc-2tb")
#: No parameter is looked for further than this many spreads from what is expected.
_FARTHEST = 6.0
#: Steps of derivatives, in spreads: small beside what matters, large beside rounding.
_STEP = 1e-4
#: Rounds of fitting the parameters and then their noise.
_ROUNDS = 3
#: Steps of one search.
_MOST_STEPS = 40
#: Parameters whose intervals are profiled: those that people ask for.
_PROFILED = ("limit_c", "k_per_w", "air_c")
#: Points of a profile on each side, at most, and how exactly its end is found.
_PROFILE_STEPS = 3
_PROFILE_TOLERANCE = 0.15
#: The squares add up to some hundred, of which 2.71 is to be found.
_PROFILE_EXACT = 5e-4
#: Of an impossible drive, such as one that runs away idle.
_IMPOSSIBLE = 1e3


@dataclass(frozen=True)
class Parameter:
    """A fitted parameter; `place` or `recording` where it is not the drive's own."""

    name: str
    prior: Prior
    place: str | None = None
    recording: int | None = None

    def concerns(self, index: int, measured: Measured) -> bool:
        """Return whether recording `index` depends on it."""
        if self.recording is not None:
            return self.recording == index
        return self.place is None or self.place == measured.place


class Problem:
    """Recordings and a network: residuals and their derivatives by standardized parameters."""

    def __init__(self, base: Drive, nodes: Nodes, measured: Sequence[Measured]) -> None:
        self.model = Model(base, nodes)
        self.measured = list(measured)
        self.parameters = _parameters(base, nodes, self.measured)
        self._fixed = fixed_parameters(nodes)
        self.likelihoods = [Likelihood(one, first_noise(one.step_c)) for one in self.measured]

    def set_noise(self, noise: Noise) -> None:
        """Take readings to have this noise."""
        self.likelihoods = [Likelihood(one, noise) for one in self.measured]

    def values(self, u: Array) -> dict[str, float]:
        """Return the parameters, those that are not fitted among them."""
        fitted = {p.name: p.prior.value(float(x)) for p, x in zip(self.parameters, u, strict=True)}
        return {**self._fixed, **fitted}

    def course(self, u: Array, index: int) -> Course:
        """Return what the model makes of recording `index`; ValueError where it cannot be."""
        values = self.values(u)
        return self.model.follow(values, self.measured[index], values[f"start_k@{index}"])

    def block(self, u: Array, index: int) -> Array:
        """Return the residuals of one recording."""
        likelihood = self.likelihoods[index]
        try:
            values = self.values(u)
            meter_x = values.get(METER, 1.0)
            return likelihood.residuals(self.course(u, index), values["limit_c"], meter_x)
        except ValueError:
            one = self.measured[index]
            count = len(one.onsets) + len(one.held) + len(one.free)
            count += len(one.loaded) + 1 if one.has_power else 0
            return np.full(len(one.bins) + count, _IMPOSSIBLE)

    def residuals(self, u: Array) -> Array:
        """Return all residuals, those of the priors last."""
        return np.concatenate([*(self.block(u, i) for i in range(len(self.measured))), u])

    def jacobian(self, u: Array) -> Array:
        """Return the derivatives of :meth:`residuals`."""
        blocks = [self._slopes(u, i, self.block) for i in range(len(self.measured))]
        return np.vstack([*blocks, np.eye(len(u))])

    def off_k(self, u: Array, index: int) -> Array:
        """Return how far a recording's readings are from the model."""
        return self.likelihoods[index].off_k(self.course(u, index))

    def reading_slopes(self, u: Array) -> list[Array]:
        """Return the derivatives of :meth:`off_k`, for each recording."""
        return [self._slopes(u, i, self.off_k) for i in range(len(self.measured))]

    def _slopes(self, u: Array, index: int, of: Callable[[Array, int], Array]) -> Array:
        here = of(u, index)
        slopes = np.zeros((len(here), len(u)))
        for column, parameter in enumerate(self.parameters):
            if parameter.concerns(index, self.measured[index]):
                moved = u.copy()
                moved[column] += _STEP
                slopes[:, column] = (of(moved, index) - here) / _STEP
        return slopes


def _parameters(base: Drive, nodes: Nodes, measured: list[Measured]) -> list[Parameter]:
    fixed = fixed_parameters(nodes)
    fastest = (
        max(_fastest(one.read_mb_s) for one in measured),
        max(_fastest(one.write_mb_s) for one in measured),
    )
    priors = drive_priors(base, fastest)
    priors = {name: prior for name, prior in priors.items() if name not in fixed}
    found = [Parameter(name, prior) for name, prior in priors.items()]
    if any(one.has_power for one in measured):
        found.append(Parameter(METER, meter_prior()))
    for place in dict.fromkeys(one.place for one in measured):
        rooms = [o.ambient_c for o in measured if o.place == place and o.ambient_c is not None]
        room_c = float(np.mean(rooms)) if rooms else None
        of_place = place_priors(room_c, has_mount=nodes == 3)
        found += [Parameter(f"{name}@{place}", p, place=place) for name, p in of_place.items()]
    found += [
        Parameter(f"start_k@{index}", start_prior(), recording=index)
        for index in range(len(measured))
    ]
    return found


def _fastest(mb_s: Array) -> float:
    """What a drive reached for more than a moment."""
    return float(np.quantile(mb_s, 0.98))


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


def solve(problem: Problem, start: Array | None = None) -> Solution:
    """Return the likeliest parameters, and the noise that the readings have beside them."""
    u = np.zeros(len(problem.parameters)) if start is None else start
    noise = problem.likelihoods[0].noise
    first = first_noise(problem.measured[0].step_c)
    for turn in range(_ROUNDS):
        u = minimized(problem, u)
        if turn < _ROUNDS - 1:
            off_k = [problem.off_k(u, index) for index in range(len(problem.measured))]
            slopes = problem.reading_slopes(u)
            noise = estimate_noise(problem.measured, off_k, slopes, first)
            problem.set_noise(noise)
    slope = problem.jacobian(u)
    information = slope.T @ slope
    residuals = problem.residuals(u)
    log_det = sum(likelihood.log_det for likelihood in problem.likelihoods)
    log_information = float(np.linalg.slogdet(information)[1])
    evidence = -0.5 * (float(residuals @ residuals) + log_det + log_information)
    covariance = np.asarray(np.linalg.inv(information), dtype=np.float64)
    return Solution(problem, u, covariance, noise, evidence)


def minimized(
    problem: Problem, u: Array, *, held: int | None = None, tolerance: float = 1e-6
) -> Array:
    """Return the standardized parameters with the least squares, from `u` on; `held` stays.

    `tolerance` is the share of the squares that a last step may still take away.
    """
    free = np.arange(len(u)) != held
    start = np.clip(u, -_FARTHEST + 0.01, _FARTHEST - 0.01)

    def whole(x: Array) -> Array:
        full = start.copy()
        full[free] = x
        return full

    def residuals(x: Array) -> Array:
        return problem.residuals(whole(x))

    def jacobian(x: Array) -> Array:
        return problem.jacobian(whole(x))[:, free]

    found = least_squares(
        residuals,
        start[free],
        jac=jacobian,
        bounds=(-_FARTHEST, _FARTHEST),
        max_nfev=_MOST_STEPS,
        xtol=1e-5,
        ftol=tolerance,
        gtol=1e-6,
    )
    return whole(np.asarray(found.x))


def choose_base(measured: Sequence[Measured], model: str | None) -> Drive:
    """Return the catalog's drive that is most like a measured one.

    The one of its model if there is one, else the slowest class whose drives are as fast.
    """
    named = next((d for d in map(load_drive, drive_ids()) if d.model == model), None)
    if named is not None:
        return named
    read = max(_fastest(one.read_mb_s) for one in measured)
    write = max(_fastest(one.write_mb_s) for one in measured)

    def rated_mb_s(drive: Drive) -> tuple[float, float]:
        return drive.read_mb_s, drive.write_mb_s

    # no drive is faster than its class, while any load may be slower
    classes = sorted(map(load_drive, _CLASSES), key=rated_mb_s)
    able = (d for d in classes if 1.2 * d.read_mb_s >= read and 1.2 * d.write_mb_s >= write)
    return next(able, classes[-1])


def read_all(recordings: Iterable[Recording]) -> list[Measured]:
    """Return what recordings tell; raises UsageError as `measure`, and for several drives."""
    opened = list(recordings)
    if not opened:
        raise UsageError("no recordings were given")
    findings = analyze(opened)
    measured = [
        measure(recording, found)
        for recording, found in zip(opened, findings.recordings, strict=True)
    ]
    refuse_mixed(measured)
    return measured


def best(base: Drive, measured: Sequence[Measured]) -> Solution:
    """Return the solution of the smallest network that explains the recordings.

    Raises UsageError where no drive that can be does.
    """
    found: list[Solution] = []
    for nodes in _NETWORKS:
        problem = Problem(base, nodes, measured)
        try:
            found.append(solve(problem, _start(problem, found)))
        except (ValueError, np.linalg.LinAlgError):
            continue  # it would run away at rest, or be known of nothing
    if not found:
        raise UsageError(
            f"{measured[0].path}: no drive like {base.id} gets as warm as that: name another base"
        )
    usual = found[0]
    other = max(found, key=lambda one: one.evidence)
    return other if other.evidence > usual.evidence + _STRONG else usual


def _start(problem: Problem, found: Sequence[Solution]) -> Array | None:
    """Where a network is looked for first: at what the usual one found of the same parameters."""
    if not found:
        return None
    of = found[0]
    known = {p.name: float(x) for p, x in zip(of.problem.parameters, of.u, strict=True)}
    return np.asarray([known.get(parameter.name, 0.0) for parameter in problem.parameters])


def fit(recordings: Iterable[Recording], base: Drive | None = None) -> Twin:
    """Return the twin of the drive that `recordings` are of.

    One run or several, in one place or several: recordings with the same conditions of cooling
    share a place. `base` is the drive of the catalog that everything comes from that is not fitted,
    by default the most similar one.

    Raises UsageError for recordings without temperatures of the drive, or with none that moved,
    without throughput and power, of several drives, or too short.
    """
    opened = list(recordings)
    measured = read_all(opened)
    known = {
        key: next((found for one in measured if (found := getattr(one, key))), None)
        for key in ("model", "serial", "size_bytes")
    }
    chosen = choose_base(measured, known["model"]) if base is None else base
    return twin_of(best(chosen, measured), known["model"]).model_copy(update=known)


def twin_of(solution: Solution, model: str | None = None) -> Twin:
    """Return the twin that a solution is."""
    problem = solution.problem
    measured = problem.measured
    parameters = [_fitted(solution, index) for index in range(len(problem.parameters))]
    throttled = any(one.onsets for one in measured)
    values = solution.values
    recordings = [
        FittedRecording(
            path=one.path,
            place=one.place,
            start_k=values[f"start_k@{index}"],
            onsets_s=[onset.t_s + one.first_s for onset in one.onsets],
            has_power=one.has_power,
        )
        for index, one in enumerate(measured)
    ]
    twin = Twin(
        answer="",
        told=told(parameters, solution.covariance, measured, recordings),
        base=problem.model.base.id,
        model=model,
        throttled=throttled,
        nodes=problem.model.nodes,
        full_load=_full_load(measured),
        noise=FittedNoise(**asdict(solution.noise)),
        estimates=[],
        recordings=recordings,
        parameters=parameters,
        uncertainty=Uncertainty(covariance=solution.covariance.tolist()),
    )
    estimates = [
        estimate
        for place in twin.places
        for estimate in (_resistance(solution, place), _limit(twin, solution, place))
        if estimate is not None
    ]
    limit = next((e for e in estimates if e.name == "limit_reported_c"), None)
    resistance = next(e for e in estimates if e.name == "air_k_per_w")
    seen_c = max(float(np.max(one.reading_c)) for one in measured)
    fell = any(one.unexplained for one in measured)
    said = answer(limit, resistance, seen_c, fell=fell)
    return twin.model_copy(update={"estimates": estimates, "answer": said})


def _full_load(measured: Sequence[Measured]) -> Load:
    """The fastest load before anything held it back."""
    found = [Load()]
    for one in measured:
        for stretch in one.loaded:
            inside = one.within(stretch)
            if not inside.any():
                continue
            names = ("read_mb_s", "write_mb_s", "read_iops", "write_iops")
            means = {name: float(np.median(getattr(one, name)[inside])) for name in names}
            found.append(Load(**means))
    return max(found, key=lambda load: load.read_mb_s + load.write_mb_s)


def _fitted(solution: Solution, index: int) -> FittedParameter:
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


def _resistance(solution: Solution, place: str) -> Estimate:
    """From the board to the air, all of it."""

    def total(u: Array) -> float:
        values = solution.problem.values(u)
        return float(np.log(values[f"k_per_w@{place}"] + values.get(f"mount_k_per_w@{place}", 0.0)))

    middle, deviation = _delta(solution, total)
    low, value, high = np.exp(middle + deviation * np.array([-Z90, 0.0, Z90])).tolist()
    return Estimate(name="air_k_per_w", place=place, value=value, low=low, high=high, unit="K/W")


def _limit(twin: Twin, solution: Solution, place: str) -> Estimate | None:
    """What is reported when the governor engages, under full load from rest."""
    if not twin.throttled:
        return None

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


def _delta(solution: Solution, quantity: Callable[[Array], float]) -> tuple[float, float]:
    """A quantity with its standard deviation, by its derivatives."""
    here, step = quantity(solution.u), 1e-2
    slope = np.zeros(len(solution.u))
    for index in range(len(slope)):
        moved = solution.u.copy()
        moved[index] += step
        slope[index] = (quantity(moved) - here) / step
    return here, float(np.sqrt(slope @ solution.covariance @ slope))
