"""Charts over time: a line for each recording's run of the same workload, or its time without."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from heatsoak.analysis import RecordingFindings, StepFindings, Unloaded
from heatsoak.analysis.answer import CAUSE_WORDS
from heatsoak.analysis.names import Named, Names
from heatsoak.analysis.view import StepView, judged_steps, loaded_steps
from heatsoak.protocol import MIN_STEADY_ROUNDS
from heatsoak.protocol.phrases import listed
from heatsoak.report.page import words
from heatsoak.report.page.contract import (
    ChartQuantity,
    ChartSeries,
    LatencyHistogram,
    Line,
    WorkloadSection,
)
from heatsoak.report.page.tracks import (
    QuantitySeries,
    courses,
    courses_unloaded,
    histograms,
    seconds,
)
from heatsoak.units import format_duration

Pack = Callable[[QuantitySeries], ChartSeries]


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A line of a chart before it is packed; its first series is what the chart is about."""

    recording: int
    label: str
    view: StepView
    courses: list[QuantitySeries]
    seconds: QuantitySeries | None = None
    latency: list[LatencyHistogram] = field(default_factory=list)

    @property
    def series(self) -> list[QuantitySeries]:
        """All of its series."""
        return [*self.courses, *([self.seconds] if self.seconds else [])]

    def line(self, packed: Pack) -> Line:
        """Return it with its packed series."""
        return Line(
            recording=self.recording,
            step=None,
            label=self.label,
            start_s=self.view.start_s,
            tracks=[packed(course) for course in self.courses],
            seconds=packed(self.seconds) if self.seconds else None,
            latency=self.latency,
            level_mb_s=None,
        )


@dataclass(frozen=True, kw_only=True)
class DrawnStep(Drawn):
    """One recording's run of a workload."""

    step: int
    findings: StepFindings

    @property
    def level_mb_s(self) -> float | None:
        """The level before the first episode, or the mean if there is none."""
        if self.findings.episodes:
            return self.findings.episodes[0].before_mb_s
        return self.findings.mean_mb_s

    def line(self, packed: Pack) -> Line:
        """Return it with its packed series."""
        own = {"step": self.step, "level_mb_s": self.level_mb_s}
        return super().line(packed).model_copy(update=own)


class Chart(ABC):
    """Lines over the same time."""

    #: What is drawn at once, besides what each line is about.
    SHOWN: ClassVar[tuple[ChartQuantity, ...]]

    @property
    @abstractmethod
    def lines(self) -> Sequence[Drawn]:
        """Its lines before they are packed."""

    @property
    def shown(self) -> list[ChartQuantity]:
        """The quantities that are drawn at once, from the top."""
        about = [one.courses[0].quantity for one in self.lines if one.courses]
        known = {course.quantity for one in self.lines for course in one.courses}
        return list(dict.fromkeys([*about, *(one for one in self.SHOWN if one in known)]))

    @abstractmethod
    def workload(self, lines: list[Line]) -> WorkloadSection:
        """Return it with its packed lines."""


@dataclass
class StepChart(Chart):
    """All runs of one workload."""

    SHOWN = ("temperature", "power")

    id: str
    step: str
    protocol: str
    title: str
    drawn: list[DrawnStep] = field(default_factory=list)

    @property
    def lines(self) -> Sequence[DrawnStep]:
        """Its runs."""
        return self.drawn

    def workload(self, lines: list[Line]) -> WorkloadSection:
        """Return it with its packed lines."""
        longest_s = max(one.findings.duration_s for one in self.drawn)
        description = self.drawn[0].findings.workload
        return WorkloadSection(
            id=self.id,
            title=self.title,
            detail=f"{description}, {format_duration(longest_s)}",
            step=self.step,
            protocol=self.protocol,
            summary=summary([one.findings for one in self.drawn]),
            shown=self.shown,
            lines=lines,
        )


@dataclass
class UnloadedChart(Chart):
    """The logs of drives that were never loaded: how warm they were, and why."""

    SHOWN = ("throughput", "iops", "busy", "power")

    drawn: list[Drawn]
    protocol: str
    unloaded: list[Unloaded]

    @property
    def lines(self) -> Sequence[Drawn]:
        """A line for each log."""
        return self.drawn

    def workload(self, lines: list[Line]) -> WorkloadSection:
        """Return it with its packed lines."""
        longest_s = max(one.duration_s for one in self.unloaded)
        return WorkloadSection(
            id="unloaded",
            title="Without a load",
            detail=f"nothing to judge, {format_duration(longest_s)}",
            step=self.drawn[0].view.step.name,
            protocol=self.protocol,
            summary=_summary_unloaded(self.unloaded),
            shown=self.shown,
            lines=lines,
        )


def unloaded_charts(names: Names, findings: Sequence[RecordingFindings]) -> list[UnloadedChart]:
    """Return the chart of all logs that show no load, if there are any."""
    drawn, unloaded, protocols = [], [], []
    for number, (named, judged) in enumerate(zip(names.recordings, findings, strict=True)):
        if judged.unloaded is None:
            continue
        view = next(view for view in loaded_steps(named.recording) if view.is_idle)
        shown = courses_unloaded(view, judged.unloaded)
        drawn.append(Drawn(recording=number, label=named.label, view=view, courses=shown))
        unloaded.append(judged.unloaded)
        protocols.append(named.recording.meta.protocol.name)
    return [UnloadedChart(drawn, protocols[0], unloaded)] if drawn else []


def _summary_unloaded(found: Sequence[Unloaded]) -> str:
    """How warm the drives were, and what their temperatures followed, in a sentence or two."""
    if len(found) == 1 and found[0].reasons:
        return ". ".join(
            f"{text[:1].upper()}{text[1:]}" for text in [*found[0].reasons, ""]
        ).strip()
    parts = []
    if temps_c := [one.max_temp_c for one in found if one.max_temp_c is not None]:
        parts.append(f"The highest temperatures were {words.span(temps_c, 'C')}.")
    followed = Counter(one.follows for one in found if one.follows is not None).most_common()
    if followed:
        each = [f"{what} in {count} of {len(found)}" for what, count in followed]
        parts.append(f"They followed {listed(each)} logs.")
    return " ".join(parts) or "No temperature was logged."


def charts(names: Names, findings: Sequence[RecordingFindings]) -> list[StepChart]:
    """Return the charts of workloads in the order of their steps."""
    alone = _are_single_logs(names)
    found: dict[tuple[str, str, str], StepChart] = {}
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
                found[key] = StepChart(
                    f"w{len(found) + 1}", name, protocol.name, words.title_of(title)
                )
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
    of = f" in {len(fallen)} of {judged} runs," if judged > 1 else ""
    left = f" {words.counted(unknown, 'run')} could not be judged." if unknown else ""
    if not fallen and (slow := [step for step in steps if step.throttles]):
        if slow[0].counted:
            return f"Throttles by its own count: {slow[0].counted}.{left}"
        return f"Throttles from the start: {'; '.join(slow[0].why)}.{left}"
    if not fallen:
        bound = sum(step.verdict == "limited-by-host" for step in steps)
        held = " The host limits it." if bound else ""
        return f"Steady{' in every run' if judged > 1 else ''}.{held}{left}"
    depths = [max(episode.depth_pct for episode in step.episodes) for step in fallen]
    onsets = [step.episodes[0].onset_s for step in fallen]
    return (
        f"Falls{of} by {words.span(depths, '%')} after {words.span(onsets, 's')}; "
        f"{_causes(fallen)}.{left}"
    )


def _causes(fallen: Sequence[StepFindings]) -> str:
    causes = list(dict.fromkeys(step.verdict for step in fallen))
    if causes == ["unknown"]:
        return "the cause is unknown"
    named = "; ".join(CAUSE_WORDS[cause] for cause in causes)
    return f"{'cause' if len(causes) == 1 else 'causes'}: {named}"


def _drawn(
    named: Named, number: int, index: int, label: str, step: StepFindings, view: StepView
) -> DrawnStep:
    return DrawnStep(
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
        last = range(max(1, rounds.taken - MIN_STEADY_ROUNDS + 1), rounds.taken + 1)
        drawn |= {f"{name}/{number}" for name in names for number in last}
    return drawn
