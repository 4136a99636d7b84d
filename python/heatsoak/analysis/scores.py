"""The numbers that a protocol is run for, calculated from a recording alone; and what they are made
of: totals over a stretch of a step, what I/O cost the host, and where power figures are from.

If something that a score needs is missing, there is no score, and a sentence says why.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from heatsoak import words
from heatsoak.analysis import findings, limit
from heatsoak.analysis.consistency import by_second
from heatsoak.analysis.course import end_of
from heatsoak.analysis.definitions import metric_of_score
from heatsoak.analysis.rounds import rounds_of, trials_of
from heatsoak.analysis.series import Array
from heatsoak.analysis.view import StepView
from heatsoak.protocol import MIN_STEADY_ROUNDS, RATES, Protocol, ScoreRule
from heatsoak.ranges import Range
from heatsoak.recording import Recording, SensorMeta, grid
from heatsoak.units import MB

_ENDS = ("low", "mid", "high")
_DIRECTIONS = ("", "read_", "write_")
#: If power is known for less than this share of a stretch, there is no mean.
_MIN_COVERED = 0.9


@dataclass(frozen=True)
class Totals:
    """Sums over a stretch; None for what was not logged.

    Attributes:
        length_s: length of the stretch.
        measured_s: the part of it that rates were logged for.
        busy_s: the time with any I/O in flight.
        mb: megabytes moved, 10^6 bytes.
        ios: I/Os completed.
        service_us: the mean time from issue to completion.
        over_10ms: I/Os that took longer; likewise `over_100ms`.
        power_w: the mean; None also if a tenth of the stretch or more has no readings.
    """

    length_s: float
    measured_s: float
    busy_s: float | None
    mb: float | None
    ios: float | None
    service_us: float | None
    over_10ms: float | None
    over_100ms: float | None
    power_w: float | None

    @property
    def energy_j(self) -> float | None:
        """The energy that the drive drew in the stretch."""
        return None if self.power_w is None else self.power_w * self.length_s


def totals(view: StepView, start_s: float = 0.0, end_s: float = np.inf) -> Totals:
    """Return the totals of `view` from `start_s` to `end_s`, counted from its start.

    Intervals that cross an edge count by the part inside.
    """
    start_s, end_s = max(start_s, 0.0), min(end_s, view.duration_s)
    rows = _Rows(view, start_s, end_s)
    latency = list(rows.latencies())
    timed = sum(float(np.sum(weight)) for weight, _ in latency)
    return Totals(
        length_s=end_s - start_s,
        measured_s=rows.measured_s,
        busy_s=rows.summed(["busy_pct"], rows.overlap_s / 100),
        mb=rows.summed([f"{name}bw_mb_s" for name in _DIRECTIONS], rows.overlap_s),
        ios=rows.summed([f"{name}iops" for name in _DIRECTIONS], rows.overlap_s),
        service_us=sum(float(w @ us) for w, us in latency) / timed if timed > 0 else None,
        over_10ms=rows.summed(["read_over_10ms", "write_over_10ms"], rows.inside),
        over_100ms=rows.summed(["read_over_100ms", "write_over_100ms"], rows.inside),
        power_w=rows.power_w(),
    )


class _Rows:
    """A step's samples, and how much of each sample's interval is in the stretch."""

    def __init__(self, view: StepView, start_s: float, end_s: float) -> None:
        self._view = view
        self._start_s, self._end_s = start_s, end_s
        self._t_s = self._view.column("t_s") - view.start_s
        interval_s = np.nan_to_num(self._view.column("interval_s"))
        self.overlap_s = self._overlap_s(self._t_s - interval_s, self._t_s)
        self.inside = np.zeros_like(self._t_s)
        np.divide(self.overlap_s, interval_s, out=self.inside, where=interval_s > 0)
        rates = [f"{name}{kind}" for name in _DIRECTIONS for kind in ("bw_mb_s", "iops", "lat_us")]
        known = np.any([np.isfinite(self._view.column(name)) for name in rates], axis=0)
        self.measured_s = float(np.sum(self.overlap_s[known]))

    def summed(self, names: list[str], weights: Array) -> float | None:
        """The weighted sum of columns; None if none of them was logged in the stretch."""
        found = None
        for name in names:
            values = self._view.column(name)
            known = np.isfinite(values) & (weights > 0)
            if known.any():
                found = (found or 0.0) + float(values[known] @ weights[known])
        return found

    def latencies(self) -> Iterator[tuple[Array, Array]]:
        """Numbers of I/Os and their mean latencies, for each logged direction."""
        for count, latency_us in self._view.rates_and_latencies():
            known = np.isfinite(latency_us) & np.isfinite(count) & (self.overlap_s > 0)
            if known.any():
                yield (count * self.overlap_s)[known], latency_us[known]

    def power_w(self) -> float | None:
        """The mean power; None if too little of it is known.

        A reading holds for the time since the previous one, and the last one a while longer.
        """
        watts = self._view.column("power_w")
        known = np.isfinite(watts) & (self._t_s > 0)
        if not known.any():
            return None
        order = np.argsort(self._t_s[known], kind="stable")
        t_s, watts = self._t_s[known][order], watts[known][order]
        since_s = grid.covered_s(np.append(0.0, t_s))[1:]
        reach_s = grid.LONGEST * grid.usual_of(since_s)
        weights = self._overlap_s(
            np.append(t_s - since_s, t_s[-1]), np.append(t_s, t_s[-1] + reach_s)
        )
        covered_s = float(np.sum(weights))
        if covered_s <= 0 or covered_s < _MIN_COVERED * (self._end_s - self._start_s):
            return None
        return float(np.append(watts, watts[-1]) @ weights) / covered_s

    def _overlap_s(self, from_s: Array, to_s: Array) -> Array:
        inside: Array = np.minimum(to_s, self._end_s) - np.maximum(from_s, self._start_s)
        return np.clip(inside, 0.0, None)


@dataclass(frozen=True)
class Cost:
    """CPU seconds, user and system, that a number of I/Os took.

    Attributes:
        duration_s: the elapsed time.
    """

    cpu_s: float
    ios: float
    duration_s: float

    @property
    def told(self) -> dict[str, float]:
        """CPU time per I/O, and the same as a share of one core, as findings have it."""
        each_us, core = 1e6 * self.cpu_s / self.ios, self.cpu_s / self.duration_s
        return {"cpu_us_per_io": each_us, "cpu_core_pct": 100 * core}


def cost_of(recording: Recording, view: StepView) -> Cost | None:
    """Return the CPU cost of a step; None if not measured, as for a simulated drive."""
    end = end_of(recording, view.step.name)
    cpu_s = None if end is None else end.data.get("load_cpu_s")
    if not isinstance(cpu_s, int | float) or view.duration_s <= 0:
        return None
    ios = totals(view).ios
    return Cost(float(cpu_s), ios, view.duration_s) if ios else None


def written_bytes(recording: Recording) -> float:
    """Return how much a recording's load wrote."""
    samples = recording.samples(["write_bw_mb_s", "interval_s"])
    written_mb = (samples["write_bw_mb_s"] * samples["interval_s"]).sum()
    return float(written_mb) * MB


def power_of(recording: Recording, samples: pl.DataFrame) -> findings.Power | None:
    """Return where a recording's power figures come from; None if nothing is known."""
    found = _source(recording, samples) or {}
    found |= _rating(recording, samples)
    return findings.Power(**found) if found else None


def _source(recording: Recording, samples: pl.DataFrame) -> dict[str, Any] | None:
    meta = recording.meta
    if "power_w" not in meta.columns or samples["power_w"].count() == 0:
        return None
    sensor = next((one for one in meta.sensors if "power_w" in one.columns), None)
    kind = None if sensor is None else sensor.details.get("power")
    if sensor is not None and kind in ("measured", "reported"):
        return {"source": kind, "text": f"{sensor.source}{_quality(sensor)}"}
    if meta.drive.get("kind") == "simulated" or meta.drive.get("simulated"):
        return {"source": "modelled", "text": "by the simulated drive"}
    name = meta.protocol.name if meta.protocol.is_observed else "the recording"
    return {"source": "logged", "text": f"in {name}"}


def _quality(sensor: SensorMeta) -> str:
    details = sensor.details
    told = ["estimated by the drive"] if details.get("estimated") else []
    if (error_pct := details.get("error_pct")) is not None:
        told.append(f"at most {words.percent_text(error_pct)} off, as it states")
    return f" ({', '.join(told)})" if told else ""


def _rating(recording: Recording, samples: pl.DataFrame) -> dict[str, Any]:
    """The highest power that the drive states for the power states that it was in."""
    stated = (one.details.get("power_states") for one in recording.meta.sensors)
    states: list[dict[str, Any]] = next((found for found in stated if found), [])
    rated_w = {state["state"]: state["max_w"] for state in states if "max_w" in state}
    seen: set[int] = set()
    if "power_state" in recording.meta.columns:
        seen = set(samples["power_state"].drop_nulls().to_list())
    known = {state: watts for state, watts in rated_w.items() if not seen or state in seen}
    if not known:
        return {}
    return {"rated_max_w": max(known.values()), "rated_states": sorted(known)}


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
    recording: Recording, views: Mapping[str, StepView], rounds: Sequence[findings.RoundsFindings]
) -> list[findings.ScoreFindings]:
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
    rounds: Sequence[findings.RoundsFindings],
) -> findings.ScoreFindings:
    metric = metric_of_score(wanted.metric, wanted.statistic)
    score = findings.ScoreFindings(
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
    if wanted.metric == "limit_mb_s":
        return score.model_copy(update=_limit(wanted, protocol, recording, views))
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


def _limit(
    wanted: ScoreRule, protocol: Protocol, recording: Recording, views: Mapping[str, StepView]
) -> dict[str, Any]:
    """The rate that is held without end, in the mean of the steps it is sought for."""
    sought = [one for one in protocol.rounds if one.tracks in wanted.steps]
    trials = [trials_of(one, recording, views) for one in sought]
    found = [limit.limit_of(one) if one else None for one in trials]
    known = [one for one in found if one is not None]
    if len(known) < len(found):
        return {"why": "; ".join(one.text for one in rounds_of(recording, views))}
    low, mid, high = (float(np.mean([getattr(one, key) for one in known])) for key in _ENDS)
    of_steps = {str(one.tracks): found.mid for one, found in zip(sought, known, strict=True)}
    told = {"value": mid, "range": Range(low, mid, high, "this run"), "of_steps": of_steps}
    if len(trials) == 1:
        (full, *_), *_ = trials
        told |= {"full_mb_s": full.asked_mb_s, "full_s": None if full.is_held else full.held_s}
    return told


def _recorded(
    name: str, protocol: Protocol, rounds: Sequence[findings.RoundsFindings]
) -> list[str]:
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
        after = f"{words.seconds_text(view.duration_s)}{_ended(recording)}"
        raise _NoScoreError(f"'{name}' was interrupted after {after}")
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
        took, last = words.seconds_text(end_s), words.seconds_text(wanted.last_s)
        raise _NoScoreError(f"'{name}' took {took}, but its last {last} count")
    start_s = 0.0 if wanted.last_s is None else max(0.0, end_s - wanted.last_s)
    sums = totals(view, start_s, end_s)
    if wanted.metric != "duration_s" and sums.measured_s < MIN_MEASURED * sums.length_s:
        share = sums.measured_s / sums.length_s if sums.length_s > 0 else 0.0
        raise _NoScoreError(f"only {words.share_text(share)} of '{name}' was measured")
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
        case "limit_mb_s":
            raise AssertionError("a limit is of rounds, not of a step")


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
    known = [part.sums.energy_j for part in parts if part.sums.energy_j is not None]
    if len(known) < len(parts) or sum(known) <= 0:
        return {}
    found = {"power_w": sum(known) / sum(part.sums.length_s for part in parts)}
    moved = [part.sums.mb for part in parts if part.sums.mb is not None]
    if len(moved) == len(parts):
        found["mb_s_per_w"] = sum(moved) / sum(known)
    return found


def _cost(parts: Sequence[_Part]) -> dict[str, float]:
    costs = [part.cost for part in parts if part.cost is not None]
    if len(costs) < len(parts):
        return {}
    cpu_s, ios = sum(cost.cpu_s for cost in costs), sum(cost.ios for cost in costs)
    return Cost(cpu_s, ios, sum(cost.duration_s for cost in costs)).told
