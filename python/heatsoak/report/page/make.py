"""Makes everything on the page from recordings and findings."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from heatsoak import comparison, words
from heatsoak.analysis import Findings, RecordingFindings
from heatsoak.analysis.answer import rank_of
from heatsoak.analysis.findings import Throttles
from heatsoak.analysis.names import Names, names_of
from heatsoak.comparison.headline import summaries
from heatsoak.errors import UsageError
from heatsoak.output import Progress
from heatsoak.protocol import Observation, Protocol
from heatsoak.protocol.conditions import drive_name
from heatsoak.recording import Recording
from heatsoak.recording.columns import TEMPERATURES
from heatsoak.report.comparison import drawn, suited, told
from heatsoak.report.page import contract, lines
from heatsoak.report.page.bars import bar_charts, curve_charts
from heatsoak.report.page.facts import page_recording
from heatsoak.report.page.matrix import matrix
from heatsoak.report.page.packing import SeriesPacker
from heatsoak.report.steps import figures

if TYPE_CHECKING:
    # twins take a while to load, and every report would wait for them
    from heatsoak.twin.twin import Twin


def comparisons(
    names: Names,
    by: str | None = None,
    baseline: str | None = None,
    *,
    anyway: bool = False,
    findings: Findings | None = None,
) -> tuple[list[contract.ComparisonSection], list[str]]:
    """Return the comparisons, and notes on what could not be compared.

    Without `by`, recordings that differ in exactly one condition are compared by it. Raises
    UsageError, as `compare` does, only for a comparison that was asked for.
    """
    recordings = [named.recording for named in names.recordings]
    if by is not None:
        found = comparison.compare(recordings, by, baseline, anyway, findings=findings)
        return [_section(found)], []
    if len(names.keys) != 1:
        return [], []
    key = names.keys[0]
    try:
        return [_section(comparison.compare(recordings, key, findings=findings))], []
    except comparison.NotAlikeError as error:
        return [], [f"not compared by {key}: {line}" for line in _first(error.differences)]
    except UsageError:  # only one value of it is known
        return [], []


def _section(found: comparison.Comparison) -> contract.ComparisonSection:
    places = {id(row): number for number, row in enumerate(found.rows)}

    def of(rows: Sequence[comparison.ComparisonRow]) -> list[int]:
        return [places[id(row)] for row in rows]

    over_all = summaries(found.rows)
    kept = set(map(id, over_all))
    apart = [row for row in suited(found.rows) if id(row) not in kept]
    return contract.ComparisonSection(
        **dict(found),
        told=[told(row) for row in found.rows],
        shown=of(suited(over_all)),
        apart=of(apart),
        drawn=[
            contract.DrawnRow(
                row=places[id(row)],
                name=name,
                at=row.delta_pct,
                range=row.change_pct,
                verdict=row.verdict,
            )
            for row, name in drawn(over_all, len(found.groups))
            if row.delta_pct is not None
        ],
    )


def _first(texts: Sequence[str]) -> list[str]:
    more = [f"and {len(texts) - 3} more"] if len(texts) > 3 else []
    return [*texts[:3], *more]


#: Bytes of base64 that series may take; less if the rest is so large that the page would exceed
#: `PAGE_BYTES`, including its program; but never less than the minimum.
DATA_BUDGET, MIN_DATA = 1_100_000, 150_000
PAGE_BYTES, PROGRAM_BYTES = 1_500_000, 180_000
#: Charts are all open up to so many; beyond, the worst one, as long as there are not more than so
#: many rows above what comes after them.
_MAX_OPEN, _MAX_WITH_CHART = 2, 12
_TONES_OF_ANSWERS: dict[Throttles, contract.Tone] = {"yes": "bad", "no": "good"}
_TONES_OF_COMPARISONS: dict[str, contract.Tone] = {"better": "good", "worse": "bad"}


def make_page(
    recordings: Sequence[Recording],
    findings: Findings,
    *,
    by: str | None = None,
    baseline: str | None = None,
    anyway: bool = False,
    compared: comparison.Comparison | None = None,
    title: str | None = None,
    data_budget: int | None = None,
    twin: "Twin | None" = None,
    progress: Progress | None = None,
) -> contract.Page:
    """Return the page of `recordings`, whose `findings` are in the same order.

    `by` and `baseline` ask for a comparison, as for :func:`heatsoak.comparison.compare`, unless
    it was `compared` already;
    `data_budget` is how many bytes of base64 the series may take; None keeps the page's file within
    `PAGE_BYTES`. A `twin` is shown beside the recordings, and `progress` told how far its maps are.
    Raises UsageError for a comparison that cannot be made, and for a twin that follows none of them
    or is of another drive.
    """
    names = names_of(recordings)
    found = findings.recordings
    series = SeriesPacker()
    steps, rows = lines.charts(names, found, series.add)
    workloads = _with_charts_open([*steps, *lines.unloaded_charts(names, found, series.add)], found)
    curves = curve_charts(names, found, rows)
    worst = min(range(len(found)), key=lambda number: rank_of(found[number]))
    overview = lines.whole_run(worst, names.recordings[worst], found[worst], series.add)
    sections, notes = [_section(compared)] if compared else [], list[str]()
    if not compared:
        sections, notes = comparisons(names, by, baseline, anyway=anyway, findings=findings)
    page_recordings = [
        page_recording(named, one, style)
        for named, one, style in zip(names.recordings, found, lines.line_styles(names), strict=True)
    ]
    bars = bar_charts(names, found, steps, rows, curves)
    beside = None
    if twin is not None:
        from heatsoak.report.page.twin import twin_section

        beside = twin_section(twin, names, found, series.add, progress)
    if data_budget is None:
        parts = [*page_recordings, *sections, *bars, *curves, *workloads]
        parts += [] if beside is None else [beside]
        left = PAGE_BYTES - PROGRAM_BYTES - sum(len(part.model_dump_json()) for part in parts)
        data_budget = max(MIN_DATA, min(DATA_BUDGET, left))
    data = series.pack(data_budget)
    notes += map(_sentence, _notes(names, found))
    if series.is_thinned:
        notes.append(
            "Charts with fewer points than were recorded keep the minimum and maximum of each "
            "stretch: no dip or peak is lost."
        )
    return contract.Page(
        title=title or _title(names),
        headline=_headline(names, findings, worst, sections),
        recordings=page_recordings,
        sensor=_sensor(found),
        overview=overview,
        workloads=workloads,
        matrix=matrix(names, rows, steps),
        bars=bars,
        curves=curves,
        comparisons=sections,
        twin=beside,
        notes=notes,
        data=data,
    )


def _with_charts_open(
    workloads: Sequence[contract.WorkloadSection], findings: Sequence[RecordingFindings]
) -> list[contract.WorkloadSection]:
    """The workloads, with the charts open that a reader came for: few, or the worst."""
    shown = {chart.id for chart in workloads}
    if len(shown) > _MAX_OPEN:
        loaded = {one.id: steps for one in workloads if (steps := lines.steps_of(one, findings))}
        worst = sorted(loaded, key=lambda id_: min(step.claim.rank for _, step in loaded[id_]))
        shown = set(worst[: 1 if len(worst) <= _MAX_WITH_CHART else 0])
    return [one.model_copy(update={"is_open": one.id in shown}) for one in workloads]


def _sensor(findings: Sequence[RecordingFindings]) -> str | None:
    """The sensor of the drives' temperatures; None if they are of several."""
    steps = [one for judged in findings for one in (*judged.steps, judged.unloaded) if one]
    found = {one.temp_sensor for one in steps if one.temp_sensor}
    return found.pop().removeprefix(TEMPERATURES) if len(found) == 1 else None


def _headline(
    names: Names, found: Findings, worst: int, sections: Sequence[contract.ComparisonSection]
) -> contract.Headline:
    """What the recordings show overall; if they were compared, what differs.

    Its figures are of the `worst` recording, of this number.
    """
    answer = found.answer
    rounds = [one for recording in found.recordings for one in recording.rounds]
    told = figures(found.recordings[worst], names.recordings[worst].recording.meta)
    shown = [f"it was at {number} at most" for number, _ in told]
    how = answer.next and words.capital(answer.next).removesuffix(f": {answer.command}")
    whole = contract.Headline(
        text=answer.sentence.removesuffix(answer.worst).rstrip(),
        tone=_TONES_OF_ANSWERS.get(answer.throttles, "unsure"),
        figures=[contract.NamedValue(name=name, text=text) for text, name in told],
        of=names.recordings[worst].label if len(names.recordings) > 1 and told else "",
        next=how if answer.command else how and f"{how}.",
        command=answer.command,
        more=[
            *filter(None, [answer.worst]),
            *(_sentence(one) for one in answer.because if one not in shown),
            *(f"{words.title_of(one.name)}: {one.text}." for one in rounds),
            *_cut(names),
            *_without_temperatures(found),
        ],
    )
    compared = next((one for one in sections if one.headlines), None)
    if compared is None:
        return whole
    tone = _TONES_OF_COMPARISONS.get(compared.summary.tone, "unsure")
    details = compared.headlines[0].details if len(compared.headlines) == 1 else []
    more = [*details, whole.text, *whole.more]
    return whole.model_copy(update={"text": compared.summary.text, "tone": tone, "more": more})


def _cut(names: Names) -> list[str]:
    states = Counter(named.recording.meta.status for named in names.recordings)
    said = []
    if states["running"]:
        cut = words.counted(states["running"], "recording")
        said.append(f"{cut} was cut short or is still running.")
    for status in ("interrupted", "failed"):
        if states[status]:
            said.append(f"{words.counted(states[status], 'run')} {status} before the end.")
    return said


def _without_temperatures(found: Findings) -> list[str]:
    all_ = found.recordings
    without = sum(not recording.sensors for recording in all_)
    if not without or not any(step.episodes for one in all_ for step in one.steps):
        return []
    where = "" if without == len(all_) else f" in {without} of {len(all_)} recordings"
    return [f"No temperature was recorded{where}, so heat can only be judged by its pattern."]


def _sentence(text: str) -> str:
    return f"{words.capital(text)}."


#: In what remarks that are alike differ.
_DIFFERING = re.compile(r"'[^']*'|\d[\d.,]*")


def _notes(names: Names, findings: Sequence[RecordingFindings]) -> list[str]:
    """What to know when reading the recordings, with whose it is.

    Remarks that differ only in numbers and names are told once.
    """
    alike: dict[str, list[tuple[str, str]]] = {}
    for named, judged in zip(names.recordings, findings, strict=True):
        for note in judged.notes:
            alike.setdefault(_DIFFERING.sub("#", note), []).append((named.label, note))
    told = []
    for notes in alike.values():
        (label, text), whose = notes[0], {label for label, _ in notes}
        if others := len({note for _, note in notes}) - 1:
            text += f"; and {words.counted(others, 'more note')} like it"
        if len(whose) < len(findings):
            text = f"{text} ({label})" if len(whose) == 1 else f"in {len(whose)} recordings: {text}"
        told.append(text)
    return told


def _title(names: Names) -> str:
    metas = [named.recording.meta for named in names.recordings]
    by = f" by {words.listed(list(map(words.plain, names.keys)), 3)}" if names.keys else ""
    runs = f", {len(metas)} runs{by}" if len(metas) > 1 else ""
    protocols = list(dict.fromkeys(_protocol(meta.protocol) for meta in metas))
    what = protocols[0] if len(protocols) == 1 else words.counted(len(protocols), "protocol")
    if not any(meta.drive.get("model") or meta.drive.get("path") for meta in metas):
        paths = [named.recording.path.absolute() for named in names.recordings]
        files = dict.fromkeys(words.said(path.name) for path in paths)
        return f"{words.title_of(what)}: {words.listed(list(files), 3)}"
    drives = list(dict.fromkeys(drive_name(meta.drive) for meta in metas))
    drive = drives[0] if len(drives) == 1 else words.counted(len(drives), "drive")
    return f"{drive}: {what}{runs}"


def _protocol(protocol: Protocol | Observation) -> str:
    if isinstance(protocol, Protocol):
        return protocol.title or protocol.name
    return protocol.name if protocol.name.endswith("log") else f"{protocol.name} log"
