"""The first screen: the answer, the steps in at most fifteen lines, and what to type next."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.table import Table

from heatsoak.analysis import Findings, RecordingFindings, StepFindings
from heatsoak.analysis.names import names_of
from heatsoak.output import Console, Text, table_of
from heatsoak.recording import Recording
from heatsoak.report.findings import (
    print_answer,
    score_text,
    style_of,
    title_of,
    written_text,
)
from heatsoak.report.steps import badness, in_short
from heatsoak.words import counted, duration_text, known_text, listed, shortened, temp_text

#: The lines between the answer and the next command.
MAX_LINES = 15
_MAX_SCORES = 4
_ORDER = {"yes": 0, "cannot-tell": 1, "no": 2, "not-loaded": 3}


@dataclass(frozen=True)
class _Row:
    """A line of the table; `badness` says which to keep where there are too many."""

    recording: str
    what: str
    duration_s: float | None
    mean_mb_s: float | None
    max_temp_c: float | None
    verdict: str
    text: str
    badness: tuple[float, ...]


def print_first_screen(
    findings: Findings, recordings: Sequence[Recording], console: Console, command: str | None
) -> None:
    """Print the answer and, below it, what the steps show in at most `MAX_LINES` lines.

    `command` shows the rest; None if that is the same command with ``--evidence``.
    """
    print_answer(findings.answer, console)
    if len(findings.recordings) == 1:
        _print_line(title_of(findings.recordings[0]), console)
    told = [*_scores(findings), *_rounds(findings), *_copies(findings, recordings)]
    left = [*_without_temp(findings), *written_text(recordings)]
    # a title, the table's heading, and what else there is
    room = MAX_LINES - len(told) - len(left) - 3
    rows = _rows(findings, recordings, room)
    kept = rows
    if len(rows) > room:
        worst = sorted(range(len(rows)), key=lambda number: rows[number].badness)[: room - 1]
        kept = [rows[number] for number in sorted(worst)]
    if kept:
        console.print(_table(kept, console.width))
    if len(kept) < len(rows):
        others = Counter(row.verdict for row in rows) - Counter(row.verdict for row in kept)
        counts = ", ".join(f"{count} {verdict}" for verdict, count in others.most_common())
        _print_line(Text(f"and {len(rows) - len(kept)} more: {counts}"), console)
    for line in (*told, *left):
        _print_line(line, console)
    if (rest := _left_out(findings)) is not None:
        # a command must not be cut
        console.print(Text(f"{rest}: {command or 'add'} --evidence"), soft_wrap=True)


def _print_line(text: Text, console: Console) -> None:
    console.print(text, no_wrap=True, overflow="ellipsis")


def _rows(findings: Findings, recordings: Sequence[Recording], room: int) -> list[_Row]:
    """A row for each step or, where these are too many, for each of several recordings."""
    labels = [one.label for one in names_of(recordings).recordings]
    named = list(zip(labels, findings.recordings, strict=True))
    steps = [
        _row_of(label, step)
        for label, recording in named
        # rounds have hundreds of steps
        for step in recording.steps
        if step.rounds is None
    ]
    if len(named) == 1 or len(steps) <= room:
        return steps
    return [_summary(label, recording) for label, recording in named]


def _row_of(label: str, step: StepFindings) -> _Row:
    return _Row(
        label,
        step.step,
        step.duration_s if step.duration_s > 0 else None,
        step.mean_mb_s,
        step.max_temp_c,
        step.verdict,
        in_short(step),
        badness(step),
    )


def _summary(label: str, recording: RecordingFindings) -> _Row:
    """A recording by its worst step."""
    temps_c = [step.max_temp_c for step in recording.steps if step.max_temp_c is not None]
    answer = recording.answer
    rows = [_row_of(label, step) for step in recording.steps if step.rounds is None]
    worst = min(rows, key=lambda row: row.badness, default=None) or _Row(
        label, "", None, None, None, answer.throttles, answer.sentence, ()
    )
    order = (_ORDER[answer.throttles], *worst.badness)
    return replace(worst, max_temp_c=max(temps_c, default=None), badness=order)


def _table(rows: Sequence[_Row], width: int) -> Table:
    """The rows, with long names and texts cut so that each takes one line."""
    names = len({row.recording for row in rows}) > 1
    temps = any(row.max_temp_c is not None for row in rows)
    numbers = [*(["Time"] if width >= 80 else []), "MB/s", *(["Hottest"] if temps else [])]
    first = ["Recording"] if names else []
    table = table_of(*first, "Step", *numbers, "Verdict", "", numbers=numbers)
    for row in rows:
        cells: dict[str, str | Text] = {
            "Recording": Text(shortened(row.recording, width // 4), no_wrap=True),
            "Step": Text(shortened(row.what, width // 4), no_wrap=True),
            "Time": known_text(row.duration_s, duration_text),
            "MB/s": known_text(row.mean_mb_s),
            "Hottest": known_text(row.max_temp_c, temp_text),
            "Verdict": Text(row.verdict, style=style_of(row.verdict)),
            "": Text(row.text, no_wrap=True, overflow="ellipsis"),
        }
        table.add_row(*(cells[str(column.header)] for column in table.columns))
    for column in table.columns[:-1]:
        column.no_wrap = True
    return table


def _scores(findings: Findings) -> list[Text]:
    """The scores of the only recording: a table of several is a comparison."""
    if len(findings.recordings) != 1:
        return []
    scores = findings.recordings[0].scores
    known = [f"{score.name} {score_text(score)}" for score in scores if score.value is not None]
    if not known:
        return []
    scale = "" if scores[0].scale == 1 else " (scaled down: not a result of the protocol)"
    return [Text(f"scores: {listed(known, _MAX_SCORES)}{scale}")]


def _rounds(findings: Findings) -> list[Text]:
    rounds = [one for recording in findings.recordings for one in recording.rounds]
    if len(findings.recordings) != 1 or len(rounds) > _MAX_SCORES:
        return []
    return [Text(f"{one.name}: {one.text}") for one in rounds]


def _copies(findings: Findings, recordings: Sequence[Recording]) -> list[Text]:
    if len(findings.copies) > 1:
        return []
    parts = [one.meta.part_of_copy for one in recordings if one.is_readable]
    disks = {part.shared_disk for part in parts if part is not None and part.shared_disk}
    shared = [
        Text(f"source and destination are both on {disk}: it is not known which of them heats it")
        for disk in sorted(disks)
    ]
    steps = [step for copy in findings.copies for step in copy.steps]
    return [*(Text(f"{step.step}: {step.text}") for step in steps), *shared]


def _without_temp(findings: Findings) -> list[Text]:
    """What would bring a temperature, for those that have none."""
    hints = Counter(one.no_temp for one in findings.recordings if one.no_temp is not None)
    return [Text(hint, style="yellow") for hint, _ in hints.most_common(1)]


def _left_out(findings: Findings) -> str | None:
    """What ``--evidence`` would show besides."""
    notes = sum(
        len([note for note in one.notes if note != one.no_temp]) for one in findings.recordings
    )
    poor = sum(sensor.trust == "poor" for one in findings.recordings for sensor in one.sensors)
    lines = sum(
        len(episode.evidence)
        for one in findings.recordings
        for step in one.steps
        for episode in step.episodes
    )
    counts = {
        counted(poor, "sensor not trusted", "sensors not trusted"): poor,
        counted(notes, "note"): notes,
        counted(lines, "piece of evidence", "pieces of evidence"): lines,
    }
    return ", ".join(text for text, count in counts.items() if count) or None
