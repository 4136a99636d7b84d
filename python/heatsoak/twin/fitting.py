"""The fit: which values of the parameters explain the recordings, and how well they are known."""

import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations, groupby

import numpy as np
from threadpoolctl import threadpool_limits

from heatsoak import catalog
from heatsoak.analysis import analyze
from heatsoak.errors import UsageError
from heatsoak.identity import numbered
from heatsoak.recording import Recording, without_copies
from heatsoak.twin import readings
from heatsoak.twin.asked import RateBounds
from heatsoak.twin.experiments import propose
from heatsoak.twin.intervals import estimates_of, fitted_parameter
from heatsoak.twin.model import Nodes, ThermalModel, limit_c_of
from heatsoak.twin.own_log import OwnLoads, OwnStep, misfit
from heatsoak.twin.problem import FARTHEST, Problem, Solution, fastest_mb_s, solve
from heatsoak.twin.readings import Array
from heatsoak.twin.shown import Shown, laws
from heatsoak.twin.told import answer, told
from heatsoak.twin.twin import DRAWS, FittedRecording, FullRates, Twin, Uncertainty

#: Networks that are tried beside packages on a board.
_OTHER_NETWORKS: tuple[Nodes, ...] = (1, 3)
#: Another network than packages on a board has to be likelier by this, in logarithms: strong
#: evidence (Kass and Raftery, JASA 90, 1995).
_STRONG = 3.0
#: What is so far less likely when it was solved roughly is not solved to the end.
_HOPELESS = 6.0
#: Of reads and writes at once, neither's full speed shows.
_ALONE = 0.95
#: The score of a solution that predicts nothing: less than any other's.
_NONE = 1e6
#: So many draws are tried, and so many of them count at least.
_TRIED, _LEAST_COUNT = 96, 16.0
#: What draws differ in by so many deviations of a load is in the readings already.
_SPARE = 1.5
#: Where all are far off, they count alike.
_MOST_FLATTENED = 1e4
#: What the judge leaves so far open may be heat or not.
_OPEN = (0.03, 0.97)
#: Drives that stand for their class: what an unknown one has in common with.
_CLASSES = ("samsung-850-pro-512", "samsung-950-pro-512", "pcie4-tlc-1tb", "pcie5-tlc-2tb")


def choose_base(measured: Sequence[readings.MeasuredRecording], model: str | None) -> catalog.Drive:
    """Return the catalog's drive that is most like a measured one.

    The one of its model if there is one, else the slowest class whose drives are as fast.
    """
    named = catalog.like(model) if model else None
    if named is not None and named.kind == "model":
        return named.drive
    read, write = fastest_mb_s(measured)

    def rated_mb_s(drive: catalog.Drive) -> tuple[float, float]:
        return drive.read_mb_s, drive.write_mb_s

    # no drive is faster than its class, while any load may be slower
    classes = sorted(map(catalog.load_drive, _CLASSES), key=rated_mb_s)
    able = (d for d in classes if 1.2 * d.read_mb_s >= read and 1.2 * d.write_mb_s >= write)
    return next(able, classes[-1])


def read_all(recordings: Iterable[Recording]) -> list[readings.MeasuredRecording]:
    """Return what recordings tell; raises UsageError as `measure`, and for several drives."""
    opened, _ = without_copies(list(recordings))
    if not opened:
        raise UsageError("no recordings were given")
    for path, of_log in groupby(opened, key=lambda one: one.path_text):
        drives = [one.identity for one in of_log]
        if (count := len(set(numbered(drives)))) > 1:
            names = sorted({one.name or one.text for one in drives})
            raise UsageError(
                f"{path}: is of {count} drives, and a twin is of one: choose it with "
                f"--device (device=) from {', '.join(names)}"
            )
    findings = analyze(opened)
    measured = [
        readings.measure(recording, found)
        for recording, found in zip(opened, findings.recordings, strict=True)
    ]
    for first, second in combinations(measured, 2):
        if (differ := first.drive.contradicted_by(second.drive)) is not None:
            raise UsageError(
                f"{first.path} and {second.path} are of two drives ({differ[0]} and {differ[1]}): "
                "a twin is of one"
            )
    return measured


@dataclass(frozen=True)
class HeldSolution:
    """A solution held to the recordings: with the law that leaves most nearly what was left.

    Attributes:
        measured: the recordings, with what the solution makes of their falls.
        shown: what they show beside heat, the law among it.
        loads: the recorded ones; `own_log` is what becomes of them.
        score: the logarithm of the likelihood of all that.
    """

    solution: Solution
    measured: list[readings.MeasuredRecording]
    shown: Shown
    loads: list[OwnLoads]
    own_log: list[OwnStep]
    score: float

    @classmethod
    def of(cls, solution: Solution, shown: Shown) -> "HeldSolution":
        """Try the laws; the base's own stays, unless another is strongly likelier."""
        base = solution.problem.model.base
        # with what the model makes of their falls
        measured = [
            one.measured.explained(one.heat.tolist()) for one in solution.problem.likelihoods
        ]
        full = RateBounds(base.read_mb_s, base.write_mb_s)
        loads = [OwnLoads(base, one, full) for one in measured]
        found = []
        shares = np.concatenate([np.zeros(0), *(x for one in loads for x in one.held_shares())])
        for law in laws(base, shares):
            tried = cls(
                solution, measured, shown.model_copy(update={"law": law}), loads, [], -_NONE
            )
            # its levels may not go with each other
            with suppress(ValueError):
                own_log = tried.own_log_at(tried.model, solution.u)
                score = solution.evidence - 0.5 * misfit(own_log)
                found.append(replace(tried, own_log=own_log, score=score))
        # one that is at its limit at rest predicts nothing
        return _usual_or_likelier(found or [cls(solution, measured, shown, loads, [], -_NONE)])

    @property
    def model(self) -> ThermalModel:
        """Its network, with its law."""
        known = self.solution.problem.model
        return ThermalModel(Shown(law=self.shown.law).on(known.base), known.nodes)

    def own_log_at(self, model: ThermalModel, u: Array) -> list[OwnStep]:
        """Return what a drive of these standardized parameters makes of the recorded loads."""
        values = self.solution.problem.values(u)
        return [
            step
            for index, one in enumerate(self.loads)
            for step in one.predict(model, values, values[f"start_k@{index}"])
        ]

    def drawn(self) -> Array:
        """Return standardized parameters as likely as the recordings leave them, (tried, n).

        Draws of what the readings leave open, by their curvature, count less the further each is
        from what became of the recorded loads: so far as that is not in the readings already.
        """
        solution, chance, model = self.solution, np.random.default_rng(0), self.model
        # the other methods leave signs to the machine's linear algebra, and with them the draws
        factor = np.linalg.cholesky(solution.covariance)
        half = chance.standard_normal((_TRIED // 2, len(solution.u))) @ factor.T
        tried = np.clip(solution.u + np.concatenate([half, -half]), -FARTHEST, FARTHEST)

        def squares_of(u: Array) -> float:
            try:
                return misfit(self.own_log_at(model, u), _SPARE)
            except ValueError:  # it would run away at rest
                return np.inf

        # the engine does not hold Python's lock
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            weights = _weights(np.array(list(pool.map(squares_of, tried))))
        # of equal weight, and each as often as its weight says but for chance
        places = (chance.random() + np.arange(_TRIED)) / _TRIED
        chosen = np.minimum(np.searchsorted(np.cumsum(weights), places), len(tried) - 1)
        return np.asarray(tried[chance.permutation(chosen)])


def _weights(squares: Array) -> Array:
    """Weights of draws by how far off each is; flattened until enough of them count."""
    off = squares - squares.min()
    flatter = 1.0
    while True:
        weights = np.exp(-0.5 * off / flatter)
        weights /= weights.sum()
        if 1.0 / float(np.sum(weights**2)) >= _LEAST_COUNT or flatter > _MOST_FLATTENED:
            return np.asarray(weights)
        flatter *= 1.5


def _usual_or_likelier(found: Sequence[HeldSolution]) -> HeldSolution:
    """The first, unless another is strongly likelier."""
    likeliest = max(found, key=lambda one: one.score)
    return likeliest if likeliest.score > found[0].score + _STRONG else found[0]


def best(
    base: catalog.Drive, measured: Sequence[readings.MeasuredRecording], full: FullRates
) -> HeldSolution:
    """Return the solution of the smallest network that explains the recordings.

    Raises UsageError where no drive that can be does.
    """

    def attempt(
        nodes: Nodes,
        one: Sequence[readings.MeasuredRecording],
        by_sensor: bool,
        near: Sequence[HeldSolution],
        roughly: bool = False,
    ) -> Iterator[HeldSolution]:
        shown = Shown.of(base, one)
        problem = Problem(shown.on(full.on(base)), nodes, one, by_sensor=by_sensor)
        # it may run away at rest, or be known of nothing
        with suppress(ValueError, np.linalg.LinAlgError):
            start = _start(problem, near)
            yield HeldSolution.of(solve(problem, start, roughly=roughly), shown)

    rough: list[HeldSolution] = []
    for explained in _explanations(measured):
        for by_sensor in (False, True):
            rough += attempt(2, explained, by_sensor, rough, roughly=True)
    rough.sort(key=lambda one: one.score)
    known = ((one.solution.problem.by_sensor, str(_causes(one.measured))) for one in rough)
    found: list[HeldSolution] = []
    for (by_sensor, _), one in dict(zip(known, rough, strict=True)).items():
        if one.score > rough[-1].score - _HOPELESS:
            found += attempt(2, one.measured, by_sensor, [one])
    found.sort(key=lambda one: -one.score)
    likeliest = found[0].measured if found else measured
    for nodes in _OTHER_NETWORKS:
        found += attempt(nodes, likeliest, False, found[:1])
    if not found:
        raise UsageError(
            f"{measured[0].path}: no drive like {base.id} gets as warm as that: name another base"
        )
    return _usual_or_likelier(found)


def _explanations(
    measured: Sequence[readings.MeasuredRecording],
) -> list[list[readings.MeasuredRecording]]:
    """What may have made the falls, from where to look: as judged, or all that is open alike."""
    found: dict[str, list[readings.MeasuredRecording]] = {}
    for heat in (None, 1.0, 0.0):
        of = [
            one.explained(
                fall.judged if heat is None or not _OPEN[0] < fall.judged < _OPEN[1] else heat
                for fall in one.falls
            )
            for one in measured
        ]
        found.setdefault(str(_causes(of)), of)
    return list(found.values())


def _causes(measured: Sequence[readings.MeasuredRecording]) -> list[list[bool]]:
    return [[fall.by_heat for fall in one.falls] for one in measured]


def _start(problem: Problem, found: Sequence[HeldSolution]) -> Array | None:
    """Where a network is looked for first: at the best that was found of the same parameters."""
    if not found:
        return None
    of = max(found, key=lambda one: one.score).solution
    known = {p.name: float(x) for p, x in zip(of.problem.parameters, of.u, strict=True)}
    return np.asarray([known.get(parameter.name, 0.0) for parameter in problem.parameters])


def fit(recordings: Iterable[Recording], base: catalog.Drive | None = None) -> Twin:
    """Return the twin of the drive that `recordings` are of.

    One run or several, in one place or several: recordings with the same conditions of cooling
    share a place. `base` is the drive of the catalog that everything comes from that is not fitted,
    by default the most similar one.

    Raises UsageError for recordings without temperatures of the drive, or with none that moved,
    without throughput and power, of several drives, or too short.
    """
    measured = read_all(recordings)
    known = {
        key: next((found for one in measured if (found := getattr(one.drive, key))), None)
        for key in ("model", "serial")
    }
    known["size_bytes"] = next((one.size_bytes for one in measured if one.size_bytes), None)
    chosen = choose_base(measured, known["model"]) if base is None else base
    full = _full_load(measured)
    # matrices are so small that threads wait for each other, on a busy machine for most of the time
    with threadpool_limits(1, "blas"):
        found = twin_of(best(chosen, measured, full), full, known["model"])
    return found.model_copy(update=known)


def twin_of(held: HeldSolution, full: FullRates, model: str | None = None) -> Twin:
    """Return the twin that a solution is."""
    solution, problem, measured = held.solution, held.solution.problem, held.measured
    drawn = held.drawn()
    parameters = [fitted_parameter(solution, index, of) for index, of in enumerate(drawn.T)]
    values = solution.values
    # a threshold that a host set says nothing of the drive's own, unless that comes first
    throttled = any(one.onsets for one in measured if limit_c_of(values, one) == values["limit_c"])
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
        full_load=full,
        noise=solution.noise,
        estimates=[],
        recordings=recordings,
        parameters=parameters,
        uncertainty=Uncertainty(draws=drawn[:DRAWS].tolist()),
        rooms_c=problem.rooms_c,
        shown=held.shown,
        own_log=held.own_log,
    )
    estimates = list(estimates_of(twin, measured))
    said = " ".join(filter(None, [twin.not_reproduced, answer(estimates, measured)]))
    assumed = [f"Assumed: {what}." for what in twin.assumed]
    twin = twin.model_copy(
        update={"estimates": estimates, "answer": said, "told": [*twin.told, *assumed]}
    )
    return twin.model_copy(update={"experiments": propose(twin, solution)})


def _full_load(measured: Sequence[readings.MeasuredRecording]) -> FullRates:
    """The fastest reads and the fastest writes before anything held them back; 0 of none."""
    found = dict.fromkeys(FullRates.model_fields, 0.0)
    for one in measured:
        for stretch in one.unheld:
            inside = one.within(stretch)
            here = {name: float(np.median(getattr(one, name)[inside])) for name in found}
            for way in ("read", "write"):
                mb_s = here[f"{way}_mb_s"]
                is_alone = mb_s > _ALONE * (here["read_mb_s"] + here["write_mb_s"])
                if is_alone and mb_s > found[f"{way}_mb_s"]:
                    found |= {name: here[name] for name in found if name.startswith(way)}
    return FullRates(**found)
