"""The fit: which values of the parameters explain the recordings, and how well they are known."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby

import numpy as np

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
from heatsoak.twin.own_log import OwnStep, held_shares, misfit, predict_own_log
from heatsoak.twin.problem import Problem, Solution, fastest_mb_s, solve
from heatsoak.twin.shown import Shown, Tables, laws
from heatsoak.twin.told import answer, told
from heatsoak.twin.twin import FittedRecording, FullRates, Twin, Uncertainty

#: Networks in the order in which they are tried.
_NETWORKS: tuple[Nodes, ...] = (2, 1, 3)
#: Another network than packages on a board has to be likelier by this, in logarithms: strong
#: evidence (Kass and Raftery, JASA 90, 1995).
_STRONG = 3.0
#: Of reads and writes at once, neither's full speed shows.
_ALONE = 0.95
#: The score of a solution that predicts nothing: less than any other's.
_NONE = 1e6
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
        own_log: what becomes of the recorded loads.
        score: the logarithm of the likelihood of all that.
    """

    solution: Solution
    law: Tables | None
    own_log: list[OwnStep]
    score: float

    @classmethod
    def of(cls, solution: Solution) -> "HeldSolution":
        """Try the laws; the base's own stays, unless another is strongly likelier."""
        problem, values = solution.problem, solution.values
        base = problem.model.base
        most = RateBounds(base.read_mb_s, base.write_mb_s)
        found = []
        for law in laws(base, held_shares(base, problem.measured, most)):
            model = ThermalModel(Shown(law=law).on(base), problem.model.nodes)
            try:
                own_log = [
                    step
                    for index, one in enumerate(problem.measured)
                    for step in predict_own_log(
                        model, values, one, values[f"start_k@{index}"], most
                    )
                ]
            except ValueError:  # its levels do not go with each other
                continue
            found.append(cls(solution, law, own_log, solution.evidence - 0.5 * misfit(own_log)))
        # one that is at its limit at rest predicts nothing
        return _usual_or_likelier(found or [cls(solution, None, [], -_NONE)])


def _usual_or_likelier(found: Sequence[HeldSolution]) -> HeldSolution:
    """The first, unless another is strongly likelier."""
    likeliest = max(found, key=lambda one: one.score)
    return likeliest if likeliest.score > found[0].score + _STRONG else found[0]


def best(base: catalog.Drive, measured: Sequence[readings.MeasuredRecording]) -> HeldSolution:
    """Return the solution of the smallest network that explains the recordings.

    Raises UsageError where no drive that can be does.
    """
    found: list[HeldSolution] = []
    for nodes in _NETWORKS:
        problem = Problem(base, nodes, measured)
        try:
            found.append(HeldSolution.of(solve(problem, _start(problem, found))))
        except (ValueError, np.linalg.LinAlgError):
            continue  # it would run away at rest, or be known of nothing
    if not found:
        raise UsageError(
            f"{measured[0].path}: no drive like {base.id} gets as warm as that: name another base"
        )
    return _usual_or_likelier(found)


def _start(problem: Problem, found: Sequence[HeldSolution]) -> readings.Array | None:
    """Where a network is looked for first: at what the usual one found of the same parameters."""
    if not found:
        return None
    of = found[0].solution
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
    shown = Shown.of(chosen, measured)
    full = _full_load(measured)
    held = best(shown.on(full.on(chosen)), measured)
    return twin_of(held, shown, full, known["model"]).model_copy(update=known)


def twin_of(held: HeldSolution, shown: Shown, full: FullRates, model: str | None = None) -> Twin:
    """Return the twin that a solution is."""
    solution, problem = held.solution, held.solution.problem
    measured = problem.measured
    parameters = [fitted_parameter(solution, index) for index in range(len(problem.parameters))]
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
        uncertainty=Uncertainty(covariance=solution.covariance.tolist()),
        rooms_c=problem.rooms_c,
        shown=shown.model_copy(update={"law": held.law}),
        own_log=held.own_log,
    )
    estimates = list(estimates_of(twin, solution))
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
