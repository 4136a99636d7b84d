"""The next run that would tell most of a drive: by what it would take away of what is uncertain.

Each plan is run on the twin itself, and what its log would bring is added to what the fit knows:
the derivatives of its residuals say that before anything is measured (Chaloner and Verdinelli,
Statistical Science 10, 1995).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from heatsoak import words
from heatsoak.analysis.sensors.readings import Stretch
from heatsoak.identity import DriveIdentity
from heatsoak.twin import readings
from heatsoak.twin.intervals import gradients_of
from heatsoak.twin.model import SENSOR
from heatsoak.twin.problem import Problem, Solution
from heatsoak.twin.twin import Z90, Brings, Experiment, FullRates, Part, Twin

#: A run that makes all intervals together less than a third narrower is not worth proposing.
_LEAST_BITS = 0.5
#: After so many time constants 5 % of the way are left.
_SETTLED = 3.0
#: What is asked of a twin, as :func:`gradients_of` has it: in which unit, and how many of it.
_ASKED = (
    ("the resistance to the air", "%", 100.0),
    ("the limit that its sensor reports", "K", 1.0),
    ("the limit itself", "K", 1.0),
)
#: Thresholds lie at these shares of the way from rest to the drive's limit.
_THRESHOLDS = (0.5, 0.7, 0.9)


@dataclass(frozen=True)
class _Plan:
    """A run: its parts, and the thresholds at which it is repeated."""

    name: str
    parts: tuple[Part, ...]
    tmt1_c: tuple[float, ...] = ()
    has_power: bool = False


def propose(twin: Twin, solution: Solution) -> list[Experiment]:
    """Return runs that would tell more, those first that would tell most.

    Runs that would not halve any interval are left out, and all are where there was no load: it
    is not known what the drive can do.
    """
    if twin.full_load == FullRates():
        return []
    gradients = gradients_of(twin, solution, twin.places[0])
    found = []
    for plan in _plans(twin, solution):
        try:
            covariance = _after(plan, twin, solution)
        except (ValueError, np.linalg.LinAlgError):  # the drive could not do that
            continue
        now, then = (gradients @ of @ gradients.T for of in (solution.covariance, covariance))
        bits = 0.5 * float(np.linalg.slogdet(now)[1] - np.linalg.slogdet(then)[1]) / np.log(2)
        if bits >= _LEAST_BITS:
            found.append(_experiment(plan, bits, now, then))
    return sorted(found, key=lambda one: -one.bits)


def _experiment(plan: _Plan, bits: float, now: readings.Array, then: readings.Array) -> Experiment:
    halves = (Z90 * np.sqrt(np.diag(one)) for one in (now, then))
    brings = [
        Brings(quantity=quantity, unit=unit, now=factor * x, then=factor * y)
        for (quantity, unit, factor), x, y in zip(_ASKED[: len(now)], *halves, strict=True)
    ]
    return Experiment(
        name=plan.name,
        answer=_answer(plan, brings),
        bits=round(bits, 2),
        duration_s=sum(part.duration_s for part in plan.parts) * max(len(plan.tmt1_c), 1),
        parts=list(plan.parts),
        tmt1_c=list(plan.tmt1_c),
        has_power=plan.has_power,
        brings=brings,
    )


def _answer(plan: _Plan, brings: Sequence[Brings]) -> str:
    parts = [
        f"{words.duration_text(part.duration_s)} "
        + ("of rest" if not part.share else f"at {words.share_text(part.share)} of full load")
        for part in plan.parts
    ]
    what = words.listed(parts)
    if plan.tmt1_c:
        what += f", with TMT1 at {words.listed([*map(words.temp_text, plan.tmt1_c)])} in turn"
    if plan.has_power:
        what += ", with its power recorded"
    most = max(brings, key=lambda one: one.now / one.then)
    return (
        f"{what}: {most.quantity} would be known within "
        f"{words.amount_text(most.then, most.unit, 2)} instead of {words.number_text(most.now, 2)}"
    )


def _plans(twin: Twin, solution: Solution) -> Iterator[_Plan]:
    place = twin.places[0]
    slow = twin.estimate("time_constant_s", place)
    assert slow is not None
    # whole minutes, so that a person can read it
    load_s = rest_s = 60.0 * max(5.0, np.ceil(_SETTLED * slow.value / 60))
    full, half, rest = (
        Part(share=1, duration_s=load_s),
        Part(share=0.5, duration_s=load_s),
        Part(share=0, duration_s=rest_s),
    )
    soak = _Plan("soak", (full, rest))
    levels = _Plan("two-levels", (half, full, rest))
    yield soak
    yield levels
    yield _Plan("half-rate", (half, rest))
    if not any(one.has_power for one in twin.recordings):
        yield _Plan("soak-with-power", soak.parts, has_power=True)
    tmt_c = next((o.takes_tmt1_c for o in solution.problem.measured if o.takes_tmt1_c), None)
    if tmt_c is not None:
        served = twin.under_full_load(place, duration_s=1)
        rest_c, limit_c = float(served["governed_c"][0]), served["begins_c"]
        steps = {round(rest_c + share * (limit_c - rest_c)) for share in _THRESHOLDS}
        taken = tuple(float(c) for c in sorted(steps) if tmt_c[0] <= c <= tmt_c[1])
        if len(taken) == len(_THRESHOLDS):
            yield _Plan("tmt-steps", (rest, full), taken)


def _after(plan: _Plan, twin: Twin, solution: Solution) -> readings.Array:
    """Return the covariance of the fit's parameters once a plan's logs are there as well."""
    logs = [_log(plan, twin, solution, tmt1_c) for tmt1_c in plan.tmt1_c or (None,)]
    known = solution.problem
    logs = [*known.measured, *logs]
    problem = Problem(known.model.base, known.model.nodes, logs, by_sensor=known.by_sensor)
    problem.set_noise(solution.noise)
    at = {p.name: float(x) for p, x in zip(known.parameters, solution.u, strict=True)}
    names = [parameter.name for parameter in problem.parameters]
    u = np.asarray([at.get(name, 0.0) for name in names])
    # what is new has only its prior
    information = np.eye(len(names))
    old = [names.index(parameter.name) for parameter in known.parameters]
    information[np.ix_(old, old)] = np.linalg.inv(solution.covariance)
    for index in range(len(known.measured), len(problem.measured)):
        slopes = problem.slopes(u, index)
        information += slopes.T @ slopes
    return np.asarray(np.linalg.inv(information)[np.ix_(old, old)])


def _log(
    plan: _Plan, twin: Twin, solution: Solution, tmt1_c: float | None
) -> readings.MeasuredRecording:
    """What a plan's log would hold, if the twin is the drive."""
    values, known = dict(solution.values), solution.problem
    values["limit_c"] = min(values["limit_c"], tmt1_c or np.inf)
    place, full = twin.places[0], twin.full_load.alone
    lumped = known.model.lumped(values, place, governed=True)
    shares: list[readings.Array] = []
    falls, steps, free, changes = [], {}, [], []
    now_s = 0.0
    for part in plan.parts:
        end_s = now_s + part.duration_s
        seconds = round(part.duration_s / readings.GRID_S)
        asked = full.asked(known.model.base, part.share, seconds)
        served = asked.serve(lumped, seconds)
        shares.append(served["mb_s"] / (full.read_mb_s + full.write_mb_s))
        changes.append(end_s)
        if part.share:
            steps[f"{part.share:.0%}"] = Stretch(now_s, end_s)
            slowed = served["governed_c"] >= served["begins_c"]
            onset_s = now_s + readings.GRID_S * float(np.argmax(slowed))
            if not slowed.any():
                free.append(Stretch(now_s, end_s))
            elif onset_s > now_s:  # else it was held from the start
                falls.append(
                    readings.LoadFall(
                        onset_s,
                        readings.ONSET_SD_S,
                        at_full_speed=part.share == 1,
                        since_s=now_s,
                        end_s=end_s,
                    )
                )
                changes.append(onset_s)
        now_s = end_s
    share = np.concatenate(shares)
    t_s = np.arange(1.0, len(share) + 1) * readings.GRID_S
    log = readings.MeasuredRecording(
        path=plan.name,
        place=place,
        drive=DriveIdentity(),
        size_bytes=None,
        t_s=t_s,
        read_mb_s=share * full.read_mb_s,
        write_mb_s=share * full.write_mb_s,
        read_iops=share * full.read_iops,
        write_iops=share * full.write_iops,
        power_w=np.full(len(t_s), np.nan),
        sensor=SENSOR,
        reading_t_s=t_s,
        reading_c=np.zeros(len(t_s)),  # only derivatives count
        step_c=1.0,
        bins=readings.bins_of(t_s, sorted(changes)),
        falls=falls,
        steps=steps,
        free=free,
        tmt1_c=tmt1_c,
    )
    if not plan.has_power:
        return log
    return replace(log, power_w=known.model.follow(values, log).power_w)
