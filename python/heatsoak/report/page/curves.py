"""Steps that differ in one parameter, as curves over it: the share of reads, or the queue depth."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from heatsoak.analysis import RecordingFindings
from heatsoak.analysis.findings import StepFindings
from heatsoak.analysis.names import Names
from heatsoak.protocol import Observation, Protocol, WorkloadStep
from heatsoak.report.page.contract import Curve, CurveChart, CurvePoint
from heatsoak.words import block_text, title_of

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
            f"Reads and writes mixed: {_kind(step)}, {block_text(step.bs)}, QD{step.iodepth}"
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


def curve_charts(names: Names, findings: Sequence[RecordingFindings]) -> list[CurveChart]:
    """Return the charts of all protocols, and the course of rounds."""
    found: dict[tuple[object, ...], CurveChart] = {}
    for number, (named, judged) in enumerate(zip(names.recordings, findings, strict=True)):
        protocol = named.recording.meta.protocol
        if isinstance(protocol, Observation):
            continue
        curves = [*_curves(protocol, judged), *_rounds(judged)]
        for key, chart, points in curves:
            chart = found.setdefault((protocol.name, *key), chart)
            chart.curves.append(Curve(label=named.label, recording=number, points=points))
    return [
        chart.model_copy(update={"id": f"c{number}"})
        for number, chart in enumerate(found.values(), 1)
    ]


_Found = tuple[tuple[object, ...], CurveChart, list[CurvePoint]]


def _curves(protocol: Protocol, findings: RecordingFindings) -> Iterator[_Found]:
    values = _values(findings)
    steps = [step for step in _once(protocol) if step.name in values]
    for axis in _AXES:
        groups: dict[tuple[object, ...], list[WorkloadStep]] = {}
        for step in steps:
            groups.setdefault(axis.rest(step), []).append(step)
        for rest, members in groups.items():
            if len({axis.x(step) for step in members}) < _MIN_POINTS:
                continue
            unit = "IOPS" if all(values[step.name].mb_s is None for step in members) else "MB/s"
            points = [
                CurvePoint(x=axis.x(step), y=y, step=step.name, power_w=values[step.name].power_w)
                for step in sorted(members, key=axis.x)
                if (y := values[step.name].of(unit)) is not None
            ]
            if len(points) >= _MIN_POINTS:
                chart = _chart(axis.title(members[0]), axis.label, unit, is_log=axis.is_log)
                yield (axis.label, unit, *rest), chart, points


def _rounds(findings: RecordingFindings) -> Iterator[_Found]:
    for rounds in findings.rounds:
        points = [
            CurvePoint(x=number, y=mean, step=f"{rounds.tracked}/{number}")
            for number, mean in enumerate(rounds.iops, 1)
            if mean is not None
        ]
        if len(points) >= 2:
            title = f"{title_of(rounds.name)}: {rounds.tracked}, round by round"
            yield (rounds.name,), _chart(title, "round", "IOPS", is_log=False), points


def _chart(title: str, x_label: str, unit: str, *, is_log: bool) -> CurveChart:
    return CurveChart(id="", title=title, x_label=x_label, x_is_log=is_log, unit=unit, curves=[])


@dataclass(frozen=True)
class _Value:
    mb_s: float | None
    iops: float | None
    power_w: float | None

    def of(self, unit: str) -> float | None:
        return self.mb_s if unit == "MB/s" else self.iops


def _values(findings: RecordingFindings) -> dict[str, _Value]:
    """Each step's result; for steps in rounds, the mean over the last rounds."""
    found = {step.step: _of_step(step) for step in findings.steps if step.rounds is None}
    for rounds in findings.rounds:
        found |= {s.step: _Value(s.mean_mb_s, s.mean_iops, None) for s in rounds.steps}
    return {name: v for name, v in found.items() if v.mb_s is not None or v.iops is not None}


def _of_step(step: StepFindings) -> _Value:
    iops = None if step.consistency is None else step.consistency.mean_iops
    return _Value(step.mean_mb_s, iops, step.power_mean_w)


def _once(protocol: Protocol) -> Iterator[WorkloadStep]:
    """The judged workloads, each workload of rounds once."""
    for step in protocol.steps:
        for part in step.parts:
            if part.kind == "workload" and not part.beside:
                yield part
