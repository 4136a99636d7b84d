"""The numbers that a protocol is run for, calculated from a recording alone.

If something that a score needs is missing, there is no score, and a sentence says why.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from heatsoak.analysis.consistency import by_second
from heatsoak.analysis.course import end_of
from heatsoak.analysis.definitions import metric_of_score
from heatsoak.analysis.findings import RoundsFindings, ScoreFindings
from heatsoak.analysis.totals import Cost, Totals, cost_of, totals
from heatsoak.analysis.view import StepView
from heatsoak.protocol import MIN_STEADY_ROUNDS, RATES, Protocol, ScoreRule
from heatsoak.recording import Recording
from heatsoak.words import seconds_text, share_text

#: If less than this share of a stretch was measured, there is no score.
MIN_MEASURED = 0.9
#: Sampling may cut this much off a step: it may be shorter than its window by this.
_EDGE_S = 1.0


class _NoScoreError(Exception):
    """What is missing, in a sentence."""


@dataclass(frozen=True)
class _Part:
    """One step's contribution to a score."""

    name: str
    value: float
    sums: Totals
    cost: Cost | None


def scores_of(
    recording: Recording, views: Mapping[str, StepView], rounds: Sequence[RoundsFindings]
) -> list[ScoreFindings]:
    """Return the scores that a recording's protocol defines; `views` are its steps by name."""
    protocol = recording.meta.protocol
    if not isinstance(protocol, Protocol):
        return []
    return [_score(wanted, protocol, recording, views, rounds) for wanted in protocol.scores]


def _score(
    wanted: ScoreRule,
    protocol: Protocol,
    recording: Recording,
    views: Mapping[str, StepView],
    rounds: Sequence[RoundsFindings],
) -> ScoreFindings:
    metric = metric_of_score(wanted.metric, wanted.statistic)
    score = ScoreFindings(
        name=wanted.name,
        metric=wanted.metric,
        statistic=wanted.statistic,
        value=None,
        unit=metric.unit,
        better=metric.better,
        definition=wanted.definition,
        steps=list(wanted.steps),
        window_s=wanted.last_s,
        while_busy=wanted.while_busy,
        scale=protocol.scale,
    )
    try:
        names = [one for name in wanted.steps for one in _recorded(name, protocol, rounds)]
        parts = [_part(wanted, _whole(name, recording, views), recording) for name in names]
    except _NoScoreError as missing:
        return score.model_copy(update={"why": str(missing)})
    found = {
        "value": float(np.mean([part.value for part in parts])),
        "of_steps": {part.name: part.value for part in parts},
        **(_efficiency(parts) if wanted.metric in RATES and wanted.statistic == "mean" else {}),
        **_cost(parts),
    }
    return score.model_copy(update=found)


def _recorded(name: str, protocol: Protocol, rounds: Sequence[RoundsFindings]) -> list[str]:
    """The recorded steps that a score's step means: itself, or its steps in the last rounds."""
    for each, found in zip(protocol.rounds, rounds, strict=True):
        if name not in [step.name for step in each.steps]:
            continue
        if found.is_steady is False:
            raise _NoScoreError(found.text)
        if found.taken == 0 or (found.tracked is None and found.taken < each.at_most):
            raise _NoScoreError(f"only {found.taken} of {each.at_most} rounds were run")
        first = max(1, found.taken - MIN_STEADY_ROUNDS + 1)
        return [f"{name}/{number}" for number in range(first, found.taken + 1)]
    return [name]


def _whole(name: str, recording: Recording, views: Mapping[str, StepView]) -> StepView:
    """The step, if it ran to its end."""
    view = views.get(name)
    meta = recording.meta
    if view is None or not view.has_rates:
        for event in recording.events:
            if event.kind == "step-skipped" and event.step == name:
                raise _NoScoreError(f"'{name}' was left out: {event.text}")
        if view is not None:
            raise _NoScoreError(f"'{name}' has no I/O samples")
        raise _NoScoreError(f"'{name}' was not run{_ended(recording)}")
    end = end_of(recording, name)
    if end is None and meta.status != "finished":
        raise _NoScoreError(
            f"'{name}' was interrupted after {seconds_text(view.duration_s)}{_ended(recording)}"
        )
    if end is not None and end.text:
        raise _NoScoreError(f"'{name}' {end.text}")
    return view


def _ended(recording: Recording) -> str:
    meta = recording.meta
    if recording.was_cut:
        return ": the recording ends before the step does"
    if meta.status == "finished":
        return ""
    return f": the run was {meta.status}{f': {meta.reason}' if meta.reason else ''}"


def _part(wanted: ScoreRule, view: StepView, recording: Recording) -> _Part:
    name = view.step.name
    end_s = view.duration_s
    if wanted.last_s is not None and end_s < wanted.last_s - _EDGE_S:
        raise _NoScoreError(
            f"'{name}' took {seconds_text(end_s)}, but its last {seconds_text(wanted.last_s)} count"
        )
    start_s = 0.0 if wanted.last_s is None else max(0.0, end_s - wanted.last_s)
    sums = totals(view, start_s, end_s)
    if wanted.metric != "duration_s" and sums.measured_s < MIN_MEASURED * sums.length_s:
        share = sums.measured_s / sums.length_s if sums.length_s > 0 else 0.0
        raise _NoScoreError(f"only {share_text(share)} of '{name}' was measured")
    value = _value(wanted, view, sums)
    return _Part(name, value, sums, cost_of(recording, view))


def _value(wanted: ScoreRule, view: StepView, sums: Totals) -> float:
    name = view.step.name
    match wanted.metric:
        case "iops" | "mb_s":
            return _rate(wanted, view, sums)
        case "service_us":
            return _known(sums.service_us, f"no latencies were logged in '{name}'")
        case "over_10ms_pct" | "over_100ms_pct":
            limit = wanted.metric.removeprefix("over_").removesuffix("ms_pct")
            slow = sums.over_10ms if limit == "10" else sums.over_100ms
            slow = _known(slow, f"I/Os over {limit} ms were not counted in '{name}'")
            ios = _known(sums.ios or None, f"no I/O was counted in '{name}'")
            return 100 * slow / ios
        case "duration_s":
            return view.duration_s
        case "energy_j":
            return _known(sums.energy_j, f"no power was logged in '{name}'")


def _rate(wanted: ScoreRule, view: StepView, sums: Totals) -> float:
    name = view.step.name
    unit = metric_of_score(wanted.metric, "mean").unit
    moved = sums.ios if wanted.metric == "iops" else sums.mb
    moved = _known(moved, f"no {unit} were logged in '{name}'")
    if wanted.while_busy:
        busy_s = _known(sums.busy_s, f"busy time was not logged in '{name}'")
        return moved / _known(busy_s or None, f"nothing was ever in flight in '{name}'")
    if wanted.statistic == "mean" and wanted.last_s is None:
        return moved / sums.measured_s
    series = view.iops if wanted.metric == "iops" else view.throughput
    seconds = by_second(series, wanted.last_s or np.inf)
    if len(seconds.values) < 2:
        raise _NoScoreError(f"'{name}' has fewer than two whole seconds")
    if wanted.statistic == "mean":
        return seconds.mean
    if wanted.statistic == "stdev":
        return seconds.stdev
    return _known(seconds.ratio, f"the rate is the same in every second of '{name}'")


def _known(value: float | None, otherwise: str) -> float:
    if value is None:
        raise _NoScoreError(otherwise)
    return value


def _efficiency(parts: Sequence[_Part]) -> dict[str, float]:
    energies = [part.sums.energy_j for part in parts]
    known = [energy for energy in energies if energy is not None]
    if len(known) < len(parts) or sum(known) <= 0:
        return {}
    found = {"power_w": sum(known) / sum(part.sums.length_s for part in parts)}
    moved = [part.sums.mb for part in parts]
    if all(mb is not None for mb in moved):
        found["mb_s_per_w"] = sum(mb for mb in moved if mb is not None) / sum(known)
    return found


def _cost(parts: Sequence[_Part]) -> dict[str, float]:
    costs = [part.cost for part in parts if part.cost is not None]
    if len(costs) < len(parts):
        return {}
    whole = Cost(
        sum(cost.cpu_s for cost in costs),
        sum(cost.ios for cost in costs),
        sum(cost.duration_s for cost in costs),
    )
    return {"cpu_us_per_io": whole.us_per_io, "cpu_core_pct": whole.core_pct}
