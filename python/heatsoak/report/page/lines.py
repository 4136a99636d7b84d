"""Charts over time: a line for each recording's run of the same workload, or its time without."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from heatsoak.analysis import RecordingFindings, StepFindings, Unloaded
from heatsoak.analysis.names import Named, Names
from heatsoak.analysis.view import StepView, judged_steps, loaded_steps
from heatsoak.protocol import MIN_STEADY_ROUNDS
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
from heatsoak.report.steps import all_in_short, verdicts
from heatsoak.words import duration_text, listed, span_text, temps_text, title_of

#: Reviews look at so much of the end of a random load.
LAST_S = 400.0
#: Statistics of how even a load is.
_EVENNESS = ("consistency", "stdev")

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
    #: The end that the protocol's score of consistency is of.
    scored_s: float | None = None

    @property
    def lines(self) -> Sequence[DrawnStep]:
        """Its runs."""
        return self.drawn

    @property
    def steps(self) -> list[StepFindings]:
        """What its runs show."""
        return [one.findings for one in self.drawn]

    def _last_s(self, longest_s: float) -> float | None:
        """The length of the separate chart of its end, which reviews judge random loads by."""
        if all(one.seconds is None for one in self.drawn):
            return None
        is_long = longest_s > 1.2 * LAST_S and self.steps[0].workload.startswith("random")
        return self.scored_s or (LAST_S if is_long else None)

    def workload(self, lines: list[Line]) -> WorkloadSection:
        """Return it with its packed lines."""
        steps = self.steps
        longest_s = max(step.duration_s for step in steps)
        description = steps[0].workload
        return WorkloadSection(
            id=self.id,
            title=self.title,
            detail=f"{description}, {duration_text(longest_s)}",
            step=self.step,
            protocol=self.protocol,
            summary=all_in_short(steps),
            verdicts=verdicts(steps),
            rate=_rate(steps),
            hottest=_hottest([step.max_temp_c for step in steps]),
            last_s=self._last_s(longest_s),
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
            detail=f"nothing to judge, {duration_text(longest_s)}",
            step=self.drawn[0].view.step.name,
            protocol=self.protocol,
            summary=_summary_unloaded(self.unloaded),
            verdicts={},
            rate="",
            hottest=_hottest([one.max_temp_c for one in self.unloaded]),
            shown=self.shown,
            lines=lines,
        )


def _scored_s(findings: RecordingFindings, step: str) -> float | None:
    """How much of a step's end counts for how even it is."""
    scores = (one for one in findings.scores if step in one.steps and one.statistic in _EVENNESS)
    return next((one.window_s for one in scores), None)


def _rate(steps: Sequence[StepFindings]) -> str:
    """Mean throughput of the runs, the lowest and the highest of several."""
    means = [step.mean_mb_s for step in steps if step.mean_mb_s is not None]
    return span_text(means, "MB/s") if means else ""


def _hottest(temps_c: Sequence[float | None]) -> str:
    """The highest temperature of the runs, the lowest and the highest of several."""
    known = [temp_c for temp_c in temps_c if temp_c is not None]
    return temps_text(known) if known else ""


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
        parts.append(f"The highest temperatures were {temps_text(temps_c)}.")
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
                found[key] = StepChart(f"w{len(found) + 1}", name, protocol.name, title_of(title))
                found[key].scored_s = _scored_s(judged, step.step)
            label = named.label
            if step.round is not None:
                label = f"{label}, round {step.round}"
            found[key].drawn.append(_drawn(named, number, index, label, step, view))
    return list(found.values())


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
