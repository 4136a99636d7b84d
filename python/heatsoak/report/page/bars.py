"""Scores and means as bars with 95 % intervals, and steps that differ in one parameter as curves.

The parameter is the share of reads, or the queue depth.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from heatsoak import analysis, words
from heatsoak.analysis.definitions import METRICS
from heatsoak.analysis.names import Names
from heatsoak.comparison import spread
from heatsoak.facts.table import Measure, Row
from heatsoak.protocol import Observation, Protocol, WorkloadStep
from heatsoak.ranges import Range
from heatsoak.report.page import contract
from heatsoak.report.page.lines import Rows, steps_of

_OF_RUNS = "Whiskers: 95 % confidence interval of the mean, from repeated runs (Student's t)."
_MEANS = {"MB/s": "mean_mb_s", "IOPS": "mean_iops"}
_OF_NOTHING = "No whiskers: one run each does not tell how far the next may differ."
_OF_RATES = (
    "Whiskers: from a rate that was held to one that was not. "
    "In grey: full speed after a rest, and how long it lasts."
)
_OF_MEANS = "Of repeated runs: 95 % confidence interval of the mean."


@dataclass(frozen=True)
class _Value:
    """One recording's value of a bar."""

    recording: int
    value: float
    power_w: float | None = None
    mb_s_per_w: float | None = None
    range: Range | None = None
    beside: str = ""


def bar_charts(
    names: Names,
    findings: Sequence[analysis.RecordingFindings],
    charts: Sequence[contract.WorkloadSection],
    rows: Rows,
    curves: Sequence[contract.CurveChart],
) -> list[contract.BarChart]:
    """Return a chart of each score, then of the means of steps that no other chart shows.

    Means that are a point of `curves`, the same as a score, or of a single run are left out.
    """
    found = [_of_score(names, key, runs) for key, runs in _scores(findings).items()]
    in_curves = {point.step for chart in curves for curve in chart.curves for point in curve.points}
    in_curves |= {
        score.steps[0]
        for recording in findings
        for score in recording.scores
        if len(score.steps) == 1 and score.statistic == "mean" and score.window_s is None
    }
    for chart in charts:
        steps = steps_of(chart, findings)
        if chart.step in in_curves or all(step.round is not None for _, step in steps):
            continue
        runs = [(line.recording, rows[line.recording][step.step]) for line, step in steps]
        made = _of_step(names, chart.title, runs)
        found += [made] if made and len(made.bars) > 1 else []
    return [
        chart.model_copy(update={"id": f"b{number}"})
        for number, chart in enumerate((chart for chart in found if chart), 1)
    ]


def _scores(
    findings: Sequence[analysis.RecordingFindings],
) -> dict[tuple[str, str, str], list[tuple[int, analysis.ScoreFindings]]]:
    """Scores by definition, each with the recordings that have it."""
    found: dict[tuple[str, str, str], list[tuple[int, analysis.ScoreFindings]]] = {}
    for number, recording in enumerate(findings):
        for score in recording.scores:
            if score.value is not None:
                # the rate that is sought may be one of reads, or of writes
                loads = [one.workload for r in recording.rounds for one in r.steps]
                what = f": {loads[0]}" if score.full_mb_s is not None and loads else ""
                key = (f"{score.name}{what}", score.unit, score.definition)
                found.setdefault(key, []).append((number, score))
    return found


def _of_score(
    names: Names, key: tuple[str, str, str], runs: Sequence[tuple[int, analysis.ScoreFindings]]
) -> contract.BarChart | None:
    name, unit, definition = key
    values = []
    for number, score in runs:
        assert score.value is not None
        of = score.value, score.power_w, score.mb_s_per_w, score.range, _full_speed(score)
        values.append(_Value(number, *of))
    return _chart(names, name, unit, runs[0][1].better, definition, values)


def _full_speed(score: analysis.ScoreFindings) -> str:
    """How fast it is after a rest, and for how long, where a rate was sought that it holds."""
    if score.full_mb_s is None:
        return ""
    if score.full_s is None:
        return "its full speed"
    return f"{words.rate_text(score.full_mb_s)} for {words.duration_text(score.full_s)}"


def _of_step(names: Names, title: str, runs: Sequence[tuple[int, Row]]) -> contract.BarChart | None:
    """Mean throughput in MB/s, or in IOPS if no bytes were logged."""
    for unit, key in _MEANS.items():
        values = [
            _Value(number, row[key], row.get("power_mean_w"))
            for number, row in runs
            if row.get(key) is not None
        ]
        if values:
            definition = f"Mean {unit} over the whole step."
            made = _chart(names, title, unit, "higher", definition, values)
            return made and made.model_copy(update={"is_score": False})
    return None


def _chart(
    names: Names, title: str, unit: str, better: str, definition: str, values: Sequence[_Value]
) -> contract.BarChart | None:
    groups: dict[int, list[_Value]] = {}
    for value in values:
        groups.setdefault(names.recordings[value.recording].color, []).append(value)
    if not groups:
        return None
    cells: spread.Cells = {
        0: {color: [(0, Measure(one.value)) for one in of] for color, of in groups.items()}
    }
    ranges, _ = spread.ranges_of(cells, METRICS["mean_mb_s"], list(groups), [0])
    bars = []
    for members, known in zip(groups.values(), ranges, strict=True):
        watts = [one.power_w for one in members if one.power_w is not None]
        ratios = [one.mb_s_per_w for one in members if one.mb_s_per_w is not None]
        bars.append(
            contract.Bar(
                label=names.recordings[members[0].recording].setting,
                recording=members[0].recording,
                value=float(np.mean([one.value for one in members])),
                range=(members[0].range if len(members) == 1 else None) or known,
                runs=len(members),
                power_w=float(np.mean(watts)) if watts else None,
                mb_s_per_w=float(np.mean(ratios)) if ratios else None,
                beside=members[0].beside if len(members) == 1 else "",
            )
        )
    of_runs = _OF_RUNS if any(known is not None for known in ranges) else _OF_NOTHING
    is_repeated = any(bar.runs > 1 for bar in bars)
    if any(bar.beside for bar in bars):
        of_runs = f"{_OF_RATES} {_OF_MEANS}" if is_repeated else _OF_RATES
    return contract.BarChart(
        id="",
        title=title,
        unit=unit,
        better="lower" if better == "lower" else "higher",
        definition=definition,
        interval=of_runs,
        bars=bars,
    )


_MIN_POINTS = 3


@dataclass(frozen=True)
class _Axis:
    """A parameter in which steps differ.

    Attributes:
        x: a step's value on the axis.
        rest: what the steps of one curve have in common.
        title: the title of a chart, from one of its steps.
    """

    label: str
    is_log: bool
    x: Callable[[WorkloadStep], float]
    rest: Callable[[WorkloadStep], tuple[object, ...]]
    title: Callable[[WorkloadStep], str]


def _common(step: WorkloadStep) -> tuple[object, ...]:
    return (step.is_random, step.bs, step.numjobs, str(step.span), str(step.offset), step.rate)


def _kind(step: WorkloadStep) -> str:
    return "random" if step.is_random else "sequential"


_AXES = (
    _Axis(
        label="share of reads, %",
        is_log=False,
        x=lambda step: 100 * step.read_share,
        rest=lambda step: (*_common(step), step.iodepth),
        title=lambda step: (
            f"Reads and writes mixed: {_kind(step)}, {words.block_text(step.bs)}, QD{step.iodepth}"
        ),
    ),
    _Axis(
        label="queue depth",
        is_log=True,
        x=lambda step: step.iodepth * step.numjobs,
        rest=lambda step: (*_common(step)[:2], *_common(step)[3:], step.rw, step.rwmixread),
        title=lambda step: f"Queue depth: {step.describe().rpartition(', QD')[0]}",
    ),
)


def curve_charts(
    names: Names, findings: Sequence[analysis.RecordingFindings], rows: Rows
) -> list[contract.CurveChart]:
    """Return the charts of all protocols, and the course of rounds."""
    found: dict[tuple[object, ...], contract.CurveChart] = {}
    for number, (named, judged) in enumerate(zip(names.recordings, findings, strict=True)):
        protocol = named.recording.meta.protocol
        if isinstance(protocol, Observation):
            continue
        curves = [*_curves(protocol, judged, rows[number]), *_rounds(judged)]
        for key, chart, points in curves:
            chart = found.setdefault((protocol.name, *key), chart)
            chart.curves.append(contract.Curve(label=named.label, recording=number, points=points))
    return [
        chart.model_copy(update={"id": f"c{number}"})
        for number, chart in enumerate(found.values(), 1)
    ]


_Found = tuple[tuple[object, ...], contract.CurveChart, list[contract.CurvePoint]]


def _curves(
    protocol: Protocol, findings: analysis.RecordingFindings, rows: Mapping[str, Row]
) -> Iterator[_Found]:
    values = _values(findings, rows)
    steps = [step for step in _once(protocol) if step.name in values]
    for axis in _AXES:
        groups: dict[tuple[object, ...], list[WorkloadStep]] = {}
        for step in steps:
            groups.setdefault(axis.rest(step), []).append(step)
        for rest, members in groups.items():
            if len({axis.x(step) for step in members}) < _MIN_POINTS:
                continue
            unit = "IOPS" if all(values[step.name]["MB/s"] is None for step in members) else "MB/s"
            points = [
                contract.CurvePoint(
                    x=axis.x(step), y=y, step=step.name, power_w=values[step.name]["W"]
                )
                for step in sorted(members, key=axis.x)
                if (y := values[step.name][unit]) is not None
            ]
            if len(points) >= _MIN_POINTS:
                chart = _curve_chart(axis.title(members[0]), axis.label, unit, is_log=axis.is_log)
                yield (axis.label, unit, *rest), chart, points


def _rounds(findings: analysis.RecordingFindings) -> Iterator[_Found]:
    for rounds in findings.rounds:
        points = [
            contract.CurvePoint(x=number, y=mean, step=f"{rounds.tracked}/{number}")
            for number, mean in enumerate(rounds.iops, 1)
            if mean is not None
        ]
        if len(points) >= 2:
            title = f"{words.title_of(rounds.name)}: {rounds.tracked}, round by round"
            yield (rounds.name,), _curve_chart(title, "round", "IOPS", is_log=False), points


def _curve_chart(title: str, x_label: str, unit: str, *, is_log: bool) -> contract.CurveChart:
    return contract.CurveChart(
        id="", title=title, x_label=x_label, x_is_log=is_log, unit=unit, curves=[]
    )


def _values(
    findings: analysis.RecordingFindings, rows: Mapping[str, Row]
) -> dict[str, dict[str, float | None]]:
    """Each step's result by unit; for steps in rounds, the mean over the last rounds."""
    last = {one.step: dict(one) for rounds in findings.rounds for one in rounds.steps}
    return {
        name: {unit: of.get(key) for unit, key in (_MEANS | {"W": "power_mean_w"}).items()}
        for name, of in {**rows, **last}.items()
        if any(of.get(key) is not None for key in _MEANS.values())
    }


def _once(protocol: Protocol) -> Iterator[WorkloadStep]:
    """The judged workloads, each workload of rounds once."""
    for step in protocol.steps:
        for part in step.parts:
            if part.kind == "workload" and not part.beside:
                yield part
