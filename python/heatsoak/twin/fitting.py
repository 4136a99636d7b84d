"""The fit: which values of the parameters explain the recordings, and how well they are known."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict

import numpy as np

from heatsoak.analysis import analyze
from heatsoak.catalog import Drive, like, load_drive
from heatsoak.errors import UsageError
from heatsoak.recording import Recording
from heatsoak.twin.experiments import propose
from heatsoak.twin.intervals import estimates_of, fitted_parameter
from heatsoak.twin.model import Nodes, limit_c_of
from heatsoak.twin.problem import Problem, fastest_mb_s
from heatsoak.twin.readings import Array, Measured, measure, refuse_mixed
from heatsoak.twin.solving import Solution, solve
from heatsoak.twin.told import answer, told
from heatsoak.twin.twin import FittedNoise, FittedRecording, Load, Twin, Uncertainty

#: Networks in the order in which they are tried.
_NETWORKS: tuple[Nodes, ...] = (2, 1, 3)
#: Another network than packages on a board has to be likelier by this, in logarithms: strong
#: evidence (Kass and Raftery, JASA 90, 1995).
_STRONG = 3.0
#: Drives that stand for their class: what an unknown one has in common with.
_CLASSES = ("samsung-850-pro-512", "samsung-950-pro-512", "pcie4-tlc-1tb", "pcie5-tlc-2tb")


def choose_base(measured: Sequence[Measured], model: str | None) -> Drive:
    """Return the catalog's drive that is most like a measured one.

    The one of its model if there is one, else the slowest class whose drives are as fast.
    """
    named = like(model) if model else None
    if named is not None and named.kind == "model":
        return named.drive
    read, write = fastest_mb_s(measured)

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
        full_load=_full_load(measured),
        noise=FittedNoise(**asdict(solution.noise)),
        estimates=[],
        recordings=recordings,
        parameters=parameters,
        uncertainty=Uncertainty(covariance=solution.covariance.tolist()),
        rooms_c=problem.rooms_c,
    )
    estimates = list(estimates_of(twin, solution))
    twin = twin.model_copy(update={"estimates": estimates, "answer": answer(estimates, measured)})
    return twin.model_copy(update={"experiments": propose(twin, solution)})


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
