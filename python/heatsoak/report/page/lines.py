"""Lines of charts over time: how each looks, and one for each run of a workload, or its time
without.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

from heatsoak import analysis, words
from heatsoak.analysis.names import Named, Names
from heatsoak.analysis.view import RecordingView, StepView
from heatsoak.facts import table
from heatsoak.protocol import MIN_STEADY_ROUNDS
from heatsoak.report.page import contract, tracks
from heatsoak.report.page.packing import thinned
from heatsoak.report.page.tracks import QuantitySeries
from heatsoak.report.steps import all_in_short, verdicts


@cache
def palette() -> Mapping[str, Any]:
    """Return the colours of both themes, line patterns, and the look of causes.

    The lines' colours are four, since not many more can be told apart by everybody: with each
    colour, five patterns of dashes follow the solid line.
    """
    text = (files("heatsoak.report.page") / "palette.json").read_text("utf-8")
    return json.loads(text)  # type: ignore[no-any-return]


def line_styles(names: Names) -> list[contract.LineStyle]:
    """Return a style for each recording: the fifth line is the first that is dashed.

    Sets of conditions differ by colour, or by pattern too if there are more than colours; repeated
    runs differ by pattern, or by colour if all recordings are runs of the same. If two patterns are
    not enough, sets take the colour from the condition with the most values that there are colours
    for, and the pattern from the others together.
    """
    colors, patterns = len(palette()["light"]["lines"]), len(palette()["dashes"])
    sets = [one.color for one in names.recordings]
    count = len(set(sets))
    if count == 1:
        return [
            contract.LineStyle(color=n % colors, dash=n // colors % patterns)
            for n in range(len(sets))
        ]
    if count > 2 * colors and (main := _main_condition(names, colors)):
        values = [str(one.conditions.get(main)) for one in names.recordings]
        others = [key for key in names.keys if key != main]
        rests = [str([one.conditions.get(key) for key in others]) for one in names.recordings]
        if len(set(rests)) <= patterns:
            return [
                contract.LineStyle(color=color, dash=dash)
                for color, dash in zip(_places(values), _places(rests), strict=True)
            ]
    rows = -(-count // colors)
    runs = [sets[:number].count(own) for number, own in enumerate(sets)]
    return [
        contract.LineStyle(color=place % colors, dash=(place // colors + rows * run) % patterns)
        for place, run in zip(_places(sets), runs, strict=True)
    ]


def _main_condition(names: Names, most: int) -> str | None:
    """The condition with the most values, up to as many as there are colours."""
    values = {key: {str(one.conditions.get(key)) for one in names.recordings} for key in names.keys}
    fitting = [key for key, found in values.items() if len(found) <= most]
    return max(fitting, key=lambda key: len(values[key]), default=None)


def _places(values: Sequence[Hashable]) -> list[int]:
    known = list(dict.fromkeys(values))
    return [known.index(value) for value in values]


#: Reviews look at so much of the end of a random load.
LAST_S = 400.0
#: Statistics of how even a load is.
_EVENNESS = ("consistency", "stdev")

#: Gives a series its form on the page.
Add = Callable[[QuantitySeries], contract.ChartSeries]
#: The rows of each recording's steps, by their names.
Rows = list[dict[str, table.Row]]


def _shown(
    lines: Sequence[contract.Line], *more: contract.ChartQuantity
) -> list[contract.ChartQuantity]:
    """The quantities that are drawn at once, from the top: what lines are about, and `more`."""
    about = [line.tracks[0].quantity for line in lines if line.tracks]
    known = {track.quantity for line in lines for track in line.tracks}
    return list(dict.fromkeys([*about, *(one for one in more if one in known)]))


def steps_of(
    section: contract.WorkloadSection, findings: Sequence[analysis.RecordingFindings]
) -> list[tuple[contract.Line, analysis.StepFindings]]:
    """Return the lines of a chart that are runs, with what each shows."""
    return [
        (line, findings[line.recording].steps[line.step])
        for line in section.lines
        if line.step is not None
    ]


def _of_steps(
    id_: str,
    protocol: str,
    lines: list[contract.Line],
    findings: Sequence[analysis.RecordingFindings],
    *,
    alone: bool,
) -> contract.WorkloadSection:
    """The chart of all runs of a workload; one that stands `alone` in logs is named by its load."""
    steps = [findings[line.recording].steps[line.step or 0] for line in lines]
    first, name = steps[0], _name(steps[0])
    longest_s = max(one.duration_s for one in steps)
    last_s = None
    if any(line.seconds for line in lines):
        # reviews judge long random loads by their end
        is_long = longest_s > 1.2 * LAST_S and first.workload.startswith("random")
        scored_s = _scored_s(findings[lines[0].recording], first.step)
        last_s = scored_s or (LAST_S if is_long else None)
    return contract.WorkloadSection(
        id=id_,
        title=words.title_of(first.workload if alone else name),
        detail=f"{first.workload}, {words.duration_text(longest_s)}",
        step=name,
        protocol=protocol,
        summary=all_in_short(steps),
        verdicts=verdicts(steps),
        rate=_rate(steps),
        hottest=_hottest([one.max_temp_c for one in steps]),
        last_s=last_s,
        shown=_shown(lines, "temperature", "power"),
        lines=lines,
    )


def _scored_s(findings: analysis.RecordingFindings, step: str) -> float | None:
    """How much of a step's end counts for how even it is."""
    scores = (one for one in findings.scores if step in one.steps and one.statistic in _EVENNESS)
    return next((one.window_s for one in scores), None)


def _rate(steps: Sequence[analysis.StepFindings]) -> str:
    """Mean throughput of the runs, the lowest and the highest of several."""
    means = [step.mean_mb_s for step in steps if step.mean_mb_s is not None]
    return words.span_text(means, "MB/s") if means else ""


def _hottest(temps_c: Sequence[float | None]) -> str:
    """The highest temperature of the runs, the lowest and the highest of several."""
    known = [temp_c for temp_c in temps_c if temp_c is not None]
    return words.temps_text(known) if known else ""


def unloaded_charts(
    names: Names, findings: Sequence[analysis.RecordingFindings], add: Add
) -> list[contract.WorkloadSection]:
    """Return the chart of all logs that show no load, if there are any: how warm they were."""
    lines, unloaded = [], []
    for number, (named, judged) in enumerate(zip(names.recordings, findings, strict=True)):
        if judged.unloaded is None:
            continue
        view = RecordingView(named.recording).idle
        assert view is not None
        shown = list(map(add, tracks.courses_unloaded(view, judged.unloaded)))
        lines.append(contract.Line(recording=number, label=named.label, tracks=shown))
        unloaded.append(judged.unloaded)
    if not lines:
        return []
    return [
        contract.WorkloadSection(
            id="unloaded",
            title="Without a load",
            detail=(
                f"nothing to judge, {words.duration_text(max(one.duration_s for one in unloaded))}"
            ),
            summary=_summary_unloaded(unloaded),
            hottest=_hottest([one.max_temp_c for one in unloaded]),
            shown=_shown(lines, "throughput", "iops", "busy", "power"),
            lines=lines,
        )
    ]


#: A whole recording is drawn by at most so many points of each series.
_OUTLINE = 2000


def whole_run(
    number: int, named: Named, judged: analysis.RecordingFindings, add: Add
) -> contract.WorkloadSection | None:
    """Return the chart of a recording from its start to its end; None for one load alone."""
    opened = RecordingView(named.recording)
    views = sorted([*opened.fills, *opened.views], key=lambda view: view.start_s)
    if len(views) < 2:
        return None
    begin_s = min(views[0].start_s, *opened.samples["t_s"].head(1))
    whole = StepView(views[0].step, opened.samples, begin_s, {}, views[0].course)
    shown = []
    for course in tracks.courses_of_all(whole):
        kept = thinned(course.values, math.ceil(2 * len(course.values) / _OUTLINE))
        shown.append(replace(course, t_s=course.t_s[kept], values=course.values[kept]))
    lines = [contract.Line(recording=number, label=named.label, tracks=list(map(add, shown)))]
    steps = {step.step: at for at, step in enumerate(judged.steps)}
    drawn = {one.step for one in judged.steps if one.rounds is None} | _drawn_rounds(judged)
    bands = [
        contract.StepBand(
            name=words.title_of(view.step.name),
            start_s=view.start_s - begin_s,
            end_s=view.end_s - begin_s,
            step=steps.get(view.step.name),
        )
        for view in views
        if view in opened.fills or view.step.name in drawn
    ]
    return contract.WorkloadSection(
        id="whole",
        title="The whole run",
        detail=f"{named.label}, {words.duration_text(whole.throughput.duration_s)}",
        shown=_shown(lines, "temperature"),
        lines=lines,
        bands=bands,
    )


def _summary_unloaded(found: Sequence[analysis.Unloaded]) -> str:
    """How warm the drives were, and what their temperatures followed, in a sentence or two."""
    if len(found) == 1 and found[0].reasons:
        return ". ".join(map(words.capital, [*found[0].reasons, ""])).strip()
    parts = []
    if temps_c := [one.max_temp_c for one in found if one.max_temp_c is not None]:
        parts.append(f"The highest temperatures were {words.temps_text(temps_c)}.")
    followed = Counter(one.follows for one in found if one.follows is not None).most_common()
    if followed:
        each = [f"{what} in {count} of {len(found)}" for what, count in followed]
        parts.append(f"They followed {words.listed(each)} logs.")
    return " ".join(parts) or "No temperature was logged."


def charts(
    names: Names, findings: Sequence[analysis.RecordingFindings], add: Add
) -> tuple[list[contract.WorkloadSection], Rows]:
    """Return the charts of workloads in the order of their steps, and the rows of these."""
    alone = _are_single_logs(names)
    found: dict[tuple[str, str, str], list[contract.Line]] = {}
    rows: Rows = []
    for number, (named, judged) in enumerate(zip(names.recordings, findings, strict=True)):
        opened = RecordingView(named.recording)
        views = {view.step.name: view for view in opened.views}
        rows.append(table.rows_of(opened, judged))
        drawn_rounds = _drawn_rounds(judged)
        for index, step in enumerate(judged.steps):
            if step.rounds is not None and step.step not in drawn_rounds:
                continue
            view = views[step.step]
            each_s = tracks.seconds(view)
            line = contract.Line(
                recording=number,
                label=named.label if step.round is None else f"{named.label}, round {step.round}",
                tracks=list(map(add, tracks.courses(view))),
                step=index,
                seconds=None if each_s is None else add(each_s),
                latency=tracks.histograms(named.recording, view),
                level_mb_s=table.level_mb_s(rows[number][step.step]),
            )
            key = (named.recording.meta.protocol.name, "" if alone else _name(step), step.workload)
            found.setdefault(key, []).append(line)
    sections = [
        _of_steps(f"w{number}", name, lines, findings, alone=alone)
        for number, ((name, *_), lines) in enumerate(found.items(), 1)
    ]
    return sections, rows


def _name(step: analysis.StepFindings) -> str:
    return step.step if step.rounds is None else step.step.rpartition("/")[0]


def _are_single_logs(names: Names) -> bool:
    """Whether all are logs with one load each, which may name the same load differently."""
    protocols = [named.recording.meta.protocol for named in names.recordings]
    return len(protocols) > 1 and all(
        protocol.is_observed and len(protocol.steps) == 1 for protocol in protocols
    )


def _drawn_rounds(findings: analysis.RecordingFindings) -> set[str]:
    """The steps of rounds that are drawn: the tracked one, in the last rounds."""
    drawn = set()
    for rounds in findings.rounds:
        names = [rounds.tracked] if rounds.tracked else [step.step for step in rounds.steps]
        last = range(max(1, rounds.taken - MIN_STEADY_ROUNDS + 1), rounds.taken + 1)
        drawn |= {f"{name}/{number}" for name in names for number in last}
    return drawn
