"""A row for each judged step: what a history keeps, and recordings and racks are compared by."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
import polars as pl

from heatsoak import analysis, output, protocol
from heatsoak.analysis import definitions, findings
from heatsoak.analysis.consistency import WINDOW_S, by_second
from heatsoak.analysis.course import end_of
from heatsoak.analysis.likeness import load_key
from heatsoak.analysis.scores import totals
from heatsoak.analysis.series import Array, RateSeries
from heatsoak.analysis.view import RecordingView, StepView
from heatsoak.recording import Recording, grid
from heatsoak.recording.columns import throttle_counters

#: The columns of the index. `path` is relative to the directory that is indexed; `stamp` tells
#: whether the recording's files changed, `judged_by` which heatsoak judged it. `alike` is the same
#: for the same step after the same steps; `is_comparable` is false for a step that was cut short
#: or whose load nobody controlled. `what`, `heat`, `by`, `share` and `loss_pct` are those of the
#: claim that comes first, `fell_by` names the causes of all falls. Measures are those of
#: `definitions.METRICS`. Counters and wear are the drive's own, at the end of the step and the
#: start of the recording. A recording without a judged step has one row with `step` null.
SCHEMA: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("path", "stamp", "judged_by"), pl.String),
    "started_unix_s": pl.Float64,
    **dict.fromkeys(("drive", "serial", "model", "firmware"), pl.String),
    "size_bytes": pl.Int64,
    **dict.fromkeys(("host", "place", "protocol", "step", "workload", "alike"), pl.String),
    "round": pl.Int64,
    "is_comparable": pl.Boolean,
    **dict.fromkeys(("verdict", "fell_by", "what", "heat", "by"), pl.String),
    **dict.fromkeys(("share", "loss_pct", "full_mb_s"), pl.Float64),
    **{name: pl.Float64 for name in definitions.METRICS if not name.startswith("score_")},
    **dict.fromkeys(("used_pct", "written_gb", "throttle_count", "throttle_s"), pl.Float64),
}
_COUNTERS = {"throttle_count": "throttle_count.", "throttle_s": "throttle_time_s."}
_FIRMWARE_LABELS = ("firmware", "fw")


Row = dict[str, Any]


def summaries_of(opened: RecordingView, found: analysis.RecordingFindings) -> list[Row]:
    """Return the rows of a judged recording, without `path`, `stamp` and `judged_by`."""
    return list(rows_of(opened, found).values()) or [whose(opened.recording)]


def rows_of(opened: RecordingView, found: analysis.RecordingFindings) -> dict[str, Row]:
    """Return the same by the names that steps have in `found`."""
    recording = opened.recording
    views = {view.step.name: view for view in opened.views}
    of_all = whose(recording) if found.steps else {}
    return {
        step.step: of_all
        | _step(step, recording)
        | _numbers(views[step.step], step, recording.meta.columns)
        for step in found.steps
    }


def level_mb_s(row: Row) -> float | None:
    """Return the level until a step first falls, or its mean if it does not."""
    level: float | None = row.get("before_mb_s", row.get("mean_mb_s"))
    return level


def whose(recording: Recording) -> Row:
    """Return what all rows of a recording have in common."""
    meta = recording.meta
    told = {"started_unix_s": meta.started_unix_s, **_drive(recording), **_setting(recording)}
    return told | {"protocol": meta.protocol.name} | _wear(recording)


def _drive(recording: Recording) -> dict[str, Any]:
    drive, labels, identity = recording.meta.drive, recording.meta.conditions, recording.identity
    details = drive.get("details") or {}
    told = [drive.get("firmware"), details.get("firmware")]
    told += [sensor.details.get("firmware") for sensor in recording.meta.sensors]
    told += [labels.get(name) for name in _FIRMWARE_LABELS]
    return {
        "drive": _text(identity.text),
        "serial": _text(identity.serial),
        "model": _text(identity.model),
        "firmware": next((text for each in told if (text := _text(each))), None),
        "size_bytes": identity.size_bytes,
    }


def _setting(recording: Recording) -> dict[str, str]:
    """Where it was measured: how the drive was cooled, and in which machine."""
    labels, host = recording.meta.conditions, recording.meta.host
    # a kernel's release changes with every update, and memory a little
    facts = [host.get("system"), host.get("machine")]
    facts += [f"{host['cpus']} processors"] if host.get("cpus") else []
    machine = [*(_text(fact) for fact in facts), _listed(labels, "identity", _FIRMWARE_LABELS)]
    return {
        "place": _listed(labels, "cooling"),
        "host": ", ".join(text for text in machine if text),
    }


def _listed(labels: Mapping[str, protocol.Label], kind: str, without: tuple[str, ...] = ()) -> str:
    return output.printable(
        ", ".join(
            f"{name} {protocol.label_text(value)}"
            for name, value in sorted(labels.items())
            if protocol.kind_of_condition(name) == kind
            and name not in (*without, *protocol.REPETITIONS)
        )
    )


def _wear(recording: Recording) -> dict[str, Any]:
    known = [sensor.details for sensor in recording.meta.sensors]
    return {
        name: next((details[name] for details in known if details.get(name) is not None), None)
        for name in ("used_pct", "written_gb")
    }


def _step(step: analysis.StepFindings, recording: Recording) -> dict[str, Any]:
    name = step.step if step.round is None else step.step.removesuffix(f"/{step.round}")
    meta = recording.meta
    return {
        "step": output.printable(name),
        "round": step.round,
        "workload": output.printable(step.workload),
        "alike": load_key(meta.protocol, name, _listed(meta.conditions, "load")),
        "is_comparable": _is_comparable(step, recording),
        "verdict": step.verdict,
        "fell_by": ", ".join(sorted({one.cause for one in step.episodes})) or None,
        **step.claim.model_dump(include={"what", "heat", "by", "share", "loss_pct"}),
        "full_mb_s": None if step.full_mb_s is None else step.full_mb_s.mid,
    }


def _is_comparable(step: analysis.StepFindings, recording: Recording) -> bool:
    meta = recording.meta
    for one in meta.protocol.workload_steps:
        if (
            one.name == step.step
            and isinstance(one, protocol.Observed)
            and (one.watched or one.rw is None)
        ):
            return False
    if (end := end_of(recording, step.step)) is not None:
        return end.data.get("was_done") is not False
    return meta.status == "finished"


def _numbers(
    view: StepView, judged: findings.StepFindings, columns: Iterable[str]
) -> dict[str, float | None]:
    """A step's measures, and the drive's counters at its end."""
    found = {name: one.value for name, one in measures_of(view, judged).items()}
    # of steps that end with their time, they say no more than the mean and the power
    found |= {"duration_s": view.duration_s, "energy_j": judged.energy_j}
    for name, prefix in _COUNTERS.items():
        counted = [
            view.track(column).values
            for column in throttle_counters(columns)
            if column.startswith(prefix)
        ]
        is_known = counted and all(map(len, counted))
        found[name] = float(sum(values[-1] for values in counted)) if is_known else math.nan
    return {name: one for name, one in found.items() if one is not None and math.isfinite(one)}


def _text(value: Any) -> str | None:
    return output.printable(str(value).strip()) or None if value not in (None, "") else None


@dataclass(frozen=True)
class Measure:
    """One run's value of a metric.

    Attributes:
        value: None if it is beyond the step's end.
        at_least: its lower bound in that case.
    """

    value: float | None
    at_least: float | None = None

    @property
    def bound(self) -> float:
        """The value, or its lower bound."""
        known = self.value if self.value is not None else self.at_least
        assert known is not None
        return known


def measures_of(view: StepView, judged: findings.StepFindings) -> dict[str, Measure]:
    """Return the measures of a step, by metric; none without rates."""
    return dict(_measures(view, judged)) if view.has_rates else {}


def _rates(view: StepView) -> dict[str, RateSeries]:
    found: dict[str, RateSeries] = {view.throughput.unit: view.throughput}
    if view.throughput.unit == "mb_s" and len(view.iops.values):
        found["iops"] = view.iops
    return found


def _measures(view: StepView, judged: findings.StepFindings) -> Iterator[tuple[str, Measure]]:
    step, end_s = view.step, view.throughput.duration_s
    rates = _rates(view)
    means = {unit: series.mean(-math.inf, math.inf) for unit, series in rates.items()}
    for unit, series in rates.items():
        yield f"mean_{unit}", Measure(means[unit])
        yield f"end_{unit}", Measure(series.mean(max(0.0, end_s - definitions.LAST_S), end_s))
    if judged.episodes or judged.claim.what == "held":
        yield from _falls(view, judged.episodes)
    if "iops" in rates:
        yield from _steadiness(rates["iops"])
    if step.is_replay and "mb_s" in rates:
        yield from _of_replay(view, means["mb_s"])
    # the mean of the intervals' 99th percentiles is not that of the step: they do not combine
    for name, (values, weights) in (
        ("service_us" if step.is_replay else "latency_mean_us", _latencies(view)),
        ("read_latency_p99_us", (view.column("read_lat_p99_us"), None)),
        ("write_latency_p99_us", (view.column("write_lat_p99_us"), None)),
    ):
        if (found := _weighted_mean(view, values, weights)) is not None:
            yield name, Measure(found)
    if step.ends_with_its_data:
        yield "duration_s", Measure(view.duration_s)
    if len(view.temp.values):
        yield "temp_start_c", Measure(view.start_c)
        yield "temp_max_c", Measure(view.max_temp_c)
    if judged.power_mean_w is not None:
        yield "power_mean_w", Measure(judged.power_mean_w)
        if step.is_replay:
            yield "energy_j", Measure(judged.energy_j)
        if "mb_s" in rates and judged.power_mean_w:
            yield "efficiency_mb_per_j", Measure(means["mb_s"] / judged.power_mean_w)
    # those of reads or writes alone have another level
    fell = [episode for episode in judged.episodes if episode.direction is None]
    for series in rates.values():
        yield from _levels(fell, series, is_own=series is view.throughput)


def _of_replay(view: StepView, mean_mb_s: float) -> Iterator[tuple[str, Measure]]:
    """The measures of a replay, besides the mean over its whole time."""
    sums = totals(view)
    if sums.busy_s:
        yield "busy_mb_s", Measure(mean_mb_s * sums.measured_s / sums.busy_s)
    for name, slow in (("over_10ms_pct", sums.over_10ms), ("over_100ms_pct", sums.over_100ms)):
        if slow is not None and sums.ios:
            yield name, Measure(100 * slow / sums.ios)


def _latencies(view: StepView) -> tuple[Array, Array]:
    """The mean latency of reads and writes in each interval, in us, and their number."""
    count, total = np.zeros(len(view.samples)), np.zeros(len(view.samples))
    for ios, latency in view.rates_and_latencies():
        known = np.isfinite(latency) & np.isfinite(ios)
        count[known] += ios[known]
        total[known] += (latency * ios)[known]
    return np.where(count > 0, total / np.where(count > 0, count, 1.0), np.nan), count


def _weighted_mean(view: StepView, values: Array, weights: Array | None) -> float | None:
    """The mean of values by time, and by their weights; None if they were not logged."""
    t_s = view.column("t_s") - view.start_s
    known = np.isfinite(values) & (t_s > 0)
    if not known.any():
        return None
    interval_s = grid.covered_s(np.append(0.0, t_s[known]))[1:]
    by_weight = interval_s if weights is None else weights[known] * interval_s
    return float(np.average(values[known], weights=by_weight))


def _levels(
    fell: Sequence[findings.Episode], series: RateSeries, *, is_own: bool
) -> Iterator[tuple[str, Measure]]:
    """The rate until throughput first falls, and the one that the deepest fall ends at.

    Where the series `is_own` of the falls, it is the level that they have.
    """
    if not fell:
        return
    first = min(fell, key=attrgetter("onset_s"))
    if is_own or first.onset_s > 0:
        until = first.rates[0] if is_own else series.mean(0.0, first.onset_s)
        yield f"before_{series.unit}", Measure(until)
    deepest = max(fell, key=attrgetter("depth_pct"))
    low_s = max(deepest.onset_s, deepest.end_s - definitions.LAST_S)
    yield f"low_{series.unit}", Measure(series.mean(low_s, deepest.end_s))


def _falls(view: StepView, fell: Sequence[findings.Episode]) -> Iterator[tuple[str, Measure]]:
    """When throughput first falls, how warm the drive is then, and how far it falls at most."""
    first = min(fell, key=attrgetter("onset_s"), default=None)
    until_s = view.duration_s if first is None else first.onset_s
    yield "onset_s", Measure(None if first is None else until_s, until_s)
    if written_gb := view.written_gb(until_s):
        yield "onset_gb", Measure(None if first is None else written_gb, written_gb)
    if first is not None and first.temp_c_at_onset is not None:
        yield "onset_temp_c", Measure(first.temp_c_at_onset)
    yield "depth_pct", Measure(max((one.depth_pct for one in fell), default=0.0))
    yield "depth_at_end_pct", Measure(max((one.depth_at_end_pct for one in fell), default=0.0))


def _steadiness(series: RateSeries) -> Iterator[tuple[str, Measure]]:
    found = by_second(series, WINDOW_S)
    if len(found.values) < 2 or found.window_s < WINDOW_S:
        return
    yield "consistency_mean_iops", Measure(found.mean)
    yield "consistency_stdev_iops", Measure(found.stdev)
    if found.ratio is not None:
        yield "consistency_ratio", Measure(found.ratio)


def score_measures(score: findings.ScoreFindings) -> dict[str, Measure]:
    """Return the measures of a score that has a value, by metric name."""
    metric = definitions.metric_of_score(score.metric, score.statistic)
    found = {metric.name: Measure(score.value)}
    if score.mb_s_per_w is not None:
        found["score_mb_s_per_w"] = Measure(score.mb_s_per_w)
    return found
