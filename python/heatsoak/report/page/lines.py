"""Charts over time: a line for each recording's run of the same workload."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from heatsoak.analysis import RecordingFindings, StepFindings
from heatsoak.analysis.view import StepView, judged_steps
from heatsoak.report.page import words
from heatsoak.report.page.contract import ChartSeries, LatencyHistogram, Line, WorkloadSection
from heatsoak.report.page.names import Named, Names
from heatsoak.report.page.tracks import QuantitySeries, courses, histograms, seconds
from heatsoak.units import format_duration

#: This many of the last rounds are drawn.
_ROUNDS = 5


@dataclass(frozen=True)
class Drawn:
    """One recording's run of a workload, before it is packed."""

    recording: int
    step: int
    label: str
    findings: StepFindings
    view: StepView
    courses: list[QuantitySeries]
    seconds: QuantitySeries | None
    latency: list[LatencyHistogram]

    @property
    def series(self) -> list[QuantitySeries]:
        """All of its series."""
        return [*self.courses, *([self.seconds] if self.seconds else [])]

    @property
    def level_mb_s(self) -> float | None:
        """The level before the first episode, or the mean if there is none."""
        if self.findings.episodes:
            return self.findings.episodes[0].before_mb_s
        return self.findings.mean_mb_s

    def line(self, tracks: list[ChartSeries], of_seconds: ChartSeries | None) -> Line:
        """Return it with its packed series."""
        return Line(
            recording=self.recording,
            step=self.step,
            label=self.label,
            start_s=self.view.start_s,
            tracks=tracks,
            seconds=of_seconds,
            latency=self.latency,
            level_mb_s=self.level_mb_s,
        )


@dataclass
class Chart:
    """All runs of one workload."""

    id: str
    step: str
    protocol: str
    title: str
    drawn: list[Drawn] = field(default_factory=list)

    def workload(self, lines: list[Line]) -> WorkloadSection:
        """Return it with its lines."""
        longest_s = max(one.findings.duration_s for one in self.drawn)
        description = self.drawn[0].findings.workload
        return WorkloadSection(
            id=self.id,
            title=self.title,
            detail=f"{description}, {format_duration(longest_s)}",
            step=self.step,
            protocol=self.protocol,
            summary=summary([one.findings for one in self.drawn]),
            lines=lines,
        )


def charts(names: Names, findings: Sequence[RecordingFindings]) -> list[Chart]:
    """Return the charts in the order of their steps."""
    alone = _are_single_logs(names)
    found: dict[tuple[str, str, str], Chart] = {}
    for number, (named, judged) in enumerate(zip(names.recordings, findings, strict=True)):
        views = {view.step.name: view for view in judged_steps(named.recording)}
        protocol = named.recording.meta.protocol
        drawn_rounds = _drawn_rounds(judged)
        for index, step in enumerate(judged.steps):
            view = views.get(step.step)
            if view is None or (step.rounds is not None and step.step not in drawn_rounds):
                continue
            name = step.step.rpartition("/")[0] if step.rounds is not None else step.step
            key = (protocol.name, "" if alone else name, step.workload)
            if key not in found:
                title = step.workload if alone else name
                found[key] = Chart(f"w{len(found) + 1}", name, protocol.name, words.title_of(title))
            label = named.label
            if step.round is not None:
                label = f"{label}, round {step.round}"
            found[key].drawn.append(_drawn(named, number, index, label, step, view))
    return list(found.values())


def summary(steps: Sequence[StepFindings]) -> str:
    """Return what the lines of a chart show, in a sentence."""
    fallen = [step for step in steps if step.episodes]
    unknown = sum(step.why_unknown is not None for step in steps)
    judged = len(steps) - unknown
    if judged == 0:
        return f"Could not be judged: {steps[0].why_unknown}."
    of = f" in {len(fallen)} of {judged} runs" if judged > 1 else ""
    left = f" {words.counted(unknown, 'run')} could not be judged." if unknown else ""
    if not fallen and (slow := [step for step in steps if step.throttles]):
        return f"Throttles from the start: {'; '.join(slow[0].why)}.{left}"
    if not fallen:
        bound = sum(step.verdict == "limited-by-host" for step in steps)
        held = " The host limits it." if bound else ""
        return f"Steady{' in every run' if judged > 1 else ''}.{held}{left}"
    depths = [max(episode.depth_pct for episode in step.episodes) for step in fallen]
    onsets = [step.episodes[0].onset_s for step in fallen]
    return (
        f"Falls{of}, by {words.span(depths, '%')} after {words.span(onsets, 's')}; "
        f"{_causes(fallen)}.{left}"
    )


def _causes(fallen: Sequence[StepFindings]) -> str:
    causes = list(dict.fromkeys(step.verdict for step in fallen))
    if causes == ["unknown"]:
        return "the cause is unknown"
    named = words.listed([words.CAUSES[cause] for cause in causes])
    return f"{'cause' if len(causes) == 1 else 'causes'}: {named}"


def _drawn(
    named: Named, number: int, index: int, label: str, step: StepFindings, view: StepView
) -> Drawn:
    return Drawn(
        recording=number,
        step=index,
        label=label,
        findings=step,
        view=view,
        courses=courses(view),
        seconds=seconds(view),
        latency=histograms(named.recording, view),
    )


def _are_single_logs(names: Names) -> bool:
    """Whether all are logs with one load each, which may name the same load differently."""
    protocols = [named.recording.meta.protocol for named in names.recordings]
    return len(protocols) > 1 and all(
        protocol.is_observed and len(protocol.steps) == 1 for protocol in protocols
    )


def _drawn_rounds(findings: RecordingFindings) -> set[str]:
    """The steps of rounds that are drawn: the tracked one, in the last rounds."""
    drawn = set()
    for rounds in findings.rounds:
        names = [rounds.tracked] if rounds.tracked else [step.step for step in rounds.steps]
        last = range(max(1, rounds.taken - _ROUNDS + 1), rounds.taken + 1)
        drawn |= {f"{name}/{number}" for name in names for number in last}
    return drawn
