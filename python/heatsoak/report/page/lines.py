"""Charts over time: a line for each recording's run of the same workload, or its time without."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from heatsoak.analysis import RecordingFindings, StepFindings, Unloaded
from heatsoak.analysis.names import Names
from heatsoak.analysis.view import RecordingView, StepView
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
    """A line of a chart before it is packed; its first series is what the chart is about.

    Attributes:
        step: the number of the step in the recording's findings, and `findings` what it shows; None
            of a log that shows no load.
    """

    recording: int
    label: str
    view: StepView
    courses: list[QuantitySeries]
    step: int | None = None
    findings: StepFindings | None = None
    seconds: QuantitySeries | None = None
    latency: list[LatencyHistogram] = field(default_factory=list)

    @property
    def series(self) -> list[QuantitySeries]:
        """All of its series."""
        return [*self.courses, *([self.seconds] if self.seconds else [])]

    @property
    def level_mb_s(self) -> float | None:
        """The level before the first episode, or the mean if there is none."""
        if self.findings is None:
            return None
        episodes = self.findings.episodes
        return episodes[0].before_mb_s if episodes else self.findings.mean_mb_s

    def line(self, packed: Pack) -> Line:
        """Return it with its packed series."""
        return Line(
            recording=self.recording,
            step=self.step,
            label=self.label,
            start_s=self.view.start_s,
            tracks=[packed(course) for course in self.courses],
            seconds=packed(self.seconds) if self.seconds else None,
            latency=self.latency,
            level_mb_s=self.level_mb_s,
        )


@dataclass(frozen=True)
class Chart:
    """Lines over the same time before they are packed, and what is said of them."""

    section: WorkloadSection
    drawn: list[Drawn]

    @property
    def runs(self) -> list[tuple[Drawn, StepFindings]]:
        """The lines of runs, with what each shows."""
        return [(one, one.findings) for one in self.drawn if one.findings is not None]

    def workload(self, packed: Pack) -> WorkloadSection:
        """Return it with its packed lines."""
        lines = [one.line(packed) for one in self.drawn]
        return self.section.model_copy(update={"lines": lines})


def _shown(drawn: Sequence[Drawn], *more: ChartQuantity) -> list[ChartQuantity]:
    """The quantities that are drawn at once, from the top: what lines are about, and `more`."""
    about = [one.courses[0].quantity for one in drawn if one.courses]
    known = {course.quantity for one in drawn for course in one.courses}
    return list(dict.fromkeys([*about, *(one for one in more if one in known)]))


def _of_steps(
    id_: str, protocol: str, step: str, title: str, scored_s: float | None, drawn: list[Drawn]
) -> Chart:
    """The chart of all runs of a workload; `scored_s` is the end that a score of evenness is of."""
    steps = [one.findings for one in drawn if one.findings is not None]
    longest_s, workload = max(one.duration_s for one in steps), steps[0].workload
    last_s = None
    if any(one.seconds is not None for one in drawn):
        # reviews judge long random loads by their end
        is_long = longest_s > 1.2 * LAST_S and workload.startswith("random")
        last_s = scored_s or (LAST_S if is_long else None)
    section = WorkloadSection(
        id=id_,
        title=title,
        detail=f"{workload}, {duration_text(longest_s)}",
        step=step,
        protocol=protocol,
        summary=all_in_short(steps),
        verdicts=verdicts(steps),
        rate=_rate(steps),
        hottest=_hottest([one.max_temp_c for one in steps]),
        last_s=last_s,
        shown=_shown(drawn, "temperature", "power"),
        lines=[],
    )
    return Chart(section, drawn)


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


def unloaded_charts(names: Names, findings: Sequence[RecordingFindings]) -> list[Chart]:
    """Return the chart of all logs that show no load, if there are any: how warm they were."""
    drawn, unloaded, protocols = [], [], []
    for number, (named, judged) in enumerate(zip(names.recordings, findings, strict=True)):
        if judged.unloaded is None:
            continue
        view = RecordingView(named.recording).idle
        assert view is not None
        shown = courses_unloaded(view, judged.unloaded)
        drawn.append(Drawn(recording=number, label=named.label, view=view, courses=shown))
        unloaded.append(judged.unloaded)
        protocols.append(named.recording.meta.protocol.name)
    if not drawn:
        return []
    section = WorkloadSection(
        id="unloaded",
        title="Without a load",
        detail=f"nothing to judge, {duration_text(max(one.duration_s for one in unloaded))}",
        step=drawn[0].view.step.name,
        protocol=protocols[0],
        summary=_summary_unloaded(unloaded),
        verdicts={},
        rate="",
        hottest=_hottest([one.max_temp_c for one in unloaded]),
        shown=_shown(drawn, "throughput", "iops", "busy", "power"),
        lines=[],
    )
    return [Chart(section, drawn)]


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


#: A step, its title, the end that a score is of, and its runs.
_Runs = tuple[str, str, float | None, list[Drawn]]


def charts(names: Names, findings: Sequence[RecordingFindings]) -> list[Chart]:
    """Return the charts of workloads in the order of their steps."""
    alone = _are_single_logs(names)
    found: dict[tuple[str, str, str], _Runs] = {}
    for number, (named, judged) in enumerate(zip(names.recordings, findings, strict=True)):
        views = {view.step.name: view for view in RecordingView(named.recording).views}
        protocol = named.recording.meta.protocol
        drawn_rounds = _drawn_rounds(judged)
        for index, step in enumerate(judged.steps):
            view = views.get(step.step)
            if view is None or (step.rounds is not None and step.step not in drawn_rounds):
                continue
            name = step.step.rpartition("/")[0] if step.rounds is not None else step.step
            title = title_of(step.workload if alone else name)
            first: _Runs = (name, title, _scored_s(judged, step.step), [])
            *_, lines = found.setdefault(
                (protocol.name, "" if alone else name, step.workload), first
            )
            one = Drawn(
                recording=number,
                step=index,
                label=named.label if step.round is None else f"{named.label}, round {step.round}",
                findings=step,
                view=view,
                courses=courses(view),
                seconds=seconds(view),
                latency=histograms(named.recording, view),
            )
            lines.append(one)
    return [
        _of_steps(f"w{number}", protocol, *of)
        for number, ((protocol, *_), of) in enumerate(found.items(), 1)
    ]


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
