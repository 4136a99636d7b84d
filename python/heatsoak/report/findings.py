"""What findings say, for the terminal: the first screen, and all of it.

The first screen is the answer, the steps in at most fifteen lines, and what to type next.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rich.padding import Padding
from rich.table import Table

from heatsoak import analysis, output, words
from heatsoak.analysis.answer import rank_of
from heatsoak.analysis.findings import WORST_FIRST
from heatsoak.analysis.names import names_of
from heatsoak.analysis.scores import written_bytes
from heatsoak.recording import Recording
from heatsoak.report.steps import figures, in_short, sentence
from heatsoak.units import MB

#: The lines between the answer and the next command.
MAX_LINES = 15
_MAX_SCORES = 4
#: Letters of a line in which nothing is cut.
_UNCUT = output.Console(width=10_000)


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
    findings: analysis.Findings,
    recordings: Sequence[Recording],
    console: output.Console,
    command: str | None,
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
        console.print(_table(kept, console))
    if len(kept) < len(rows):
        others = Counter(row.verdict for row in rows) - Counter(row.verdict for row in kept)
        counts = ", ".join(f"{count} {verdict}" for verdict, count in others.most_common())
        _print_line(output.Text(f"and {len(rows) - len(kept)} more: {counts}"), console)
    for line in (*told, *left):
        _print_line(line, console)
    if (rest := _left_out(findings)) is not None:
        # a command must not be cut
        console.print(output.Text(f"{rest}: {command or 'add'} --evidence"), soft_wrap=True)


def _print_line(text: output.Text, console: output.Console) -> None:
    console.print(text, no_wrap=True, overflow="ellipsis")


def _rows(findings: analysis.Findings, recordings: Sequence[Recording], room: int) -> list[_Row]:
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


def _row_of(label: str, step: analysis.StepFindings) -> _Row:
    return _Row(
        label,
        step.step,
        step.duration_s if step.duration_s > 0 else None,
        step.mean_mb_s,
        step.max_temp_c,
        step.verdict,
        in_short(step),
        step.claim.rank,
    )


def _summary(label: str, recording: analysis.RecordingFindings) -> _Row:
    """A recording by its worst step."""
    temps_c = [step.max_temp_c for step in recording.steps if step.max_temp_c is not None]
    answer = recording.answer
    rows = [_row_of(label, step) for step in recording.steps if step.rounds is None]
    worst = min(rows, key=lambda row: row.badness, default=None) or _Row(
        label, "", None, None, None, answer.throttles, answer.sentence, ()
    )
    order = (WORST_FIRST.index(answer.throttles), *worst.badness)
    return replace(worst, max_temp_c=max(temps_c, default=None), badness=order)


#: So much of what is said of a row stays: "throttled by 50 %".
_SAID = 17


def _table(rows: Sequence[_Row], console: output.Console) -> Table:
    """The rows, a line each; where there is little room, numbers go before what is said."""
    temps = any(row.max_temp_c is not None for row in rows)
    numbers = ["Time", "MB/s", *(["Hottest"] if temps else [])]
    longest = max(len(row.text) for row in rows)
    for left_out in ((), ("Time",), ("Time", "Hottest")):
        table = _table_of(rows, [one for one in numbers if one not in left_out], console.width)
        needed = console.measure(table, options=console.options.update(width=10_000)).maximum
        if needed - max(longest - _SAID, 0) <= console.width:
            break
    return table


def _table_of(rows: Sequence[_Row], numbers: Sequence[str], width: int) -> Table:
    first = ["Recording"] if len({row.recording for row in rows}) > 1 else []
    table = output.table_of(*first, "Step", *numbers, "Verdict", "", numbers=numbers)
    for row in rows:
        cells: dict[str, str | output.Text] = {
            "Recording": output.Text(words.shortened(row.recording, width // 5), no_wrap=True),
            "Step": output.Text(words.shortened(row.what, width // 5), no_wrap=True),
            "Time": words.known_text(row.duration_s, words.duration_text),
            "MB/s": words.known_text(row.mean_mb_s),
            "Hottest": words.known_text(row.max_temp_c, words.temp_text),
            "Verdict": output.Text(row.verdict, style=style_of(row.verdict)),
            "": output.Text(row.text, no_wrap=True, overflow="ellipsis"),
        }
        table.add_row(*(cells[str(column.header)] for column in table.columns))
    for column in table.columns[:-1]:
        column.no_wrap = True
    return table


def markdown(findings: analysis.Findings, recordings: Sequence[Recording]) -> str:
    """Return the answer, its numbers and what to do next, and a row for each step, in Markdown."""
    answer = findings.answer
    worst = min(range(len(recordings)), key=lambda number: rank_of(findings.recordings[number]))
    numbers = figures(findings.recordings[worst], recordings[worst].meta)
    rows = _rows(findings, recordings, sum(len(one.steps) for one in findings.recordings))
    columns = [[column.header, *column.cells] for column in _table(rows, _UNCUT).columns]
    cells = [[words.said(cell) for cell in line] for line in zip(*columns, strict=True)]
    how = words.capital(answer.next or "").removesuffix(answer.command or "")
    parts = [
        answer.sentence,
        "\n".join(f"- **{text}** {name}" for text, name in numbers),
        f"{how}`{answer.command}`" if answer.command else how,
        words.markdown_table(cells) if rows else "",
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def _scores(findings: analysis.Findings) -> list[output.Text]:
    """The scores of the only recording: a table of several is a comparison."""
    if len(findings.recordings) != 1:
        return []
    scores = findings.recordings[0].scores
    known = [f"{score.name} {score_text(score)}" for score in scores if score.value is not None]
    if not known:
        return []
    scale = "" if scores[0].scale == 1 else " (scaled down: not a result of the protocol)"
    return [output.Text(f"scores: {words.listed(known, _MAX_SCORES)}{scale}")]


def _rounds(findings: analysis.Findings) -> list[output.Text]:
    rounds = [one for recording in findings.recordings for one in recording.rounds]
    if len(findings.recordings) != 1 or len(rounds) > _MAX_SCORES:
        return []
    return [output.Text(f"{one.name}: {one.text}") for one in rounds]


def _copies(findings: analysis.Findings, recordings: Sequence[Recording]) -> list[output.Text]:
    if len(findings.copies) > 1:
        return []
    parts = [one.meta.part_of_copy for one in recordings if one.is_readable]
    disks = {part.shared_disk for part in parts if part is not None and part.shared_disk}
    shared = [
        output.Text(
            f"source and destination are both on {disk}: it is not known which of them heats it"
        )
        for disk in sorted(disks)
    ]
    steps = [step for copy in findings.copies for step in copy.steps]
    return [*(output.Text(f"{step.step}: {step.text}") for step in steps), *shared]


def _without_temp(findings: analysis.Findings) -> list[output.Text]:
    """What would bring a temperature, for those that have none."""
    hints = Counter(one.no_temp for one in findings.recordings if one.no_temp is not None)
    return [output.Text(hint, style="yellow") for hint, _ in hints.most_common(1)]


def _left_out(findings: analysis.Findings) -> str | None:
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
        words.counted(poor, "sensor not trusted", "sensors not trusted"): poor,
        words.counted(notes, "note"): notes,
        words.counted(lines, "piece of evidence", "pieces of evidence"): lines,
    }
    return ", ".join(text for text, count in counts.items() if count) or None


def consistency_text(found: analysis.Consistency) -> str:
    """Return ``consistency (last 400 s): 5,800 IOPS +- 1,900, ratio 3.1; 2 levels: ...``."""
    mean = words.amount_text(found.mean_iops, "IOPS", 2)
    text = f"consistency (last {words.number_text(found.window_s)} s): {mean}"
    if found.ratio is None:
        text += " with no deviation"
    else:
        ratio = words.number_text(found.ratio, 2) if found.ratio <= 100 else ">100"
        text += f" +- {words.number_text(found.stdev_iops, 2)}, ratio {ratio}"
    if found.derived_from_bytes:
        text += " (from MB/s and block size)"
    if found.each_s != 1:
        text += f" (means over {words.number_text(found.each_s)} s)"
    return "; ".join([text, *_levels(found), *_since(found), *_steady(found)])


def sensor_text(sensor: analysis.SensorTrust) -> str | None:
    """Return what a reader must know about a sensor; None if there is nothing to say."""
    if sensor.trust == "poor":
        return f"{sensor.name}: not trusted: {sensor.why}"
    if sensor.trust == "good":
        return f"{sensor.name}: trusted: {sensor.why}"
    return None


def _levels(found: analysis.Consistency) -> list[str]:
    if len(found.levels) < 2:
        return []
    by_share = sorted(found.levels, key=lambda level: -level.share)
    levels = ", ".join(
        f"{words.number_text(one.iops, 2)} for {words.percent_text(100 * one.share)}"
        for one in by_share
    )
    changes = words.counted(found.changes, "change")
    return [f"{len(found.levels)} levels: {levels} of the time, {changes}"]


def _since(found: analysis.Consistency) -> list[str]:
    since_s = found.as_at_end_since_s
    return [f"unchanged since {words.duration_text(since_s)}"] if since_s else []


def _steady(found: analysis.Consistency) -> list[str]:
    steady = found.steady_state
    if steady is None:
        return []
    figures = (
        f"range {words.percent_text(steady.range_pct)}, slope "
        f"{words.percent_text(steady.slope_pct)}"
    )
    if not steady.reached or steady.since_s is None:
        return [f"no steady state by SNIA's test ({figures})"]
    start = words.duration_text(steady.since_s) if steady.since_s > 0 else "the start"
    text = f"steady state by SNIA's test from {start}"
    return [text if steady.at_end else f"{text}, not at the end"]


def print_scores(recording: analysis.RecordingFindings, console: output.Console) -> None:
    """Print a recording's scores with their definitions, or why there is none."""
    if not recording.scores:
        return
    scale = recording.scores[0].scale
    title = output.Text("Scores", style="bold")
    if scale != 1:
        told = f"  of a run at {words.number_text(scale)} of the protocol's sizes and times: "
        title.append(f"{told}not a result of the protocol", style="yellow")
    console.print(title)
    has_power = any(score.power_w is not None for score in recording.scores)
    has_cost = any(score.cpu_us_per_io is not None for score in recording.scores)
    power = ("W", "MB/s per W") if has_power else ()
    cost = ("CPU us/IO", "of a core") if has_cost else ()
    numbers = ("Value", *power, *cost)
    table = output.table_of("Score", *numbers, "Definition", numbers=numbers)
    for score in recording.scores:
        of_power = map(words.known_text, (score.power_w, score.mb_s_per_w) if has_power else ())
        of_cpu = [
            words.known_text(score.cpu_us_per_io),
            words.known_text(score.cpu_core_pct, words.percent_text),
        ]
        why = output.Text(f"no score: {score.why}", style="yellow")
        table.add_row(
            output.Text(score.name),
            output.Text(score_text(score)),
            *of_power,
            *(of_cpu if has_cost else ()),
            output.Text(score.definition) if score.why is None else why,
        )
    console.print(table)


def print_rounds(rounds: analysis.RoundsFindings, console: output.Console) -> None:
    """Print whether rounds became steady, and the means of the last ones."""
    style = {True: "green", False: "yellow", None: ""}[rounds.is_steady]
    console.print(output.Text(rounds.name, style="bold").append(f"  {rounds.text}", style=style))
    if rounds.iops:
        means = ", ".join(words.known_text(mean, otherwise="?") for mean in rounds.iops)
        console.print(output.Text(f"{rounds.tracked}, IOPS round by round: {means}"))
    if rounds.taken == 0:
        return
    table = output.table_of("Step", "Workload", "IOPS", "MB/s", numbers=("IOPS", "MB/s"))
    for step in rounds.steps:
        rates = map(words.known_text, (step.mean_iops, step.mean_mb_s))
        table.add_row(output.Text(step.step), output.Text(step.workload), *rates)
    console.print(table)


def score_text(score: analysis.ScoreFindings) -> str:
    """Return a score with its unit: ``"11,204 IOPS"``; a dash if there is none."""
    if score.value is None:
        return "-"
    text = words.amount_text(score.value, "" if score.unit == "x" else score.unit).rstrip()
    if score.range is None or score.range.low == score.range.high:
        return text
    return f"{text} ({words.span_text((score.range.low, score.range.high), digits=3)})"


def print_copy(copy: analysis.CopyFindings, console: output.Console) -> None:
    """Print the result of a copy, with a sentence or two on each step."""
    console.print(output.Text(f"Copy from {copy.source} to {copy.destination}", style="bold"))
    for step in copy.steps:
        moved = "" if step.bytes is None else f"{words.size_text(step.bytes)} "
        rate = "" if step.mb_s is None else f", {words.rate_text(step.mb_s)}"
        took = f"{step.step}: {moved}in {words.duration_text(step.duration_s)}{rate}; "
        console.print(output.Text(took + step.text), soft_wrap=True)


def power_text(recording: analysis.RecordingFindings) -> str | None:
    """Return where power figures come from, and the drive's rating; None without either."""
    power = recording.power
    if power is None:
        return None
    by = "" if power.text.startswith(("by ", "in ")) else "by "
    parts = ["not measured" if power.source is None else f"{power.source} {by}{power.text}"]
    if power.rated_max_w is not None:
        states = ", ".join(map(str, power.rated_states))
        which = f"power state{'s' if len(power.rated_states) > 1 else ''} {states}"
        parts.append(
            f"the drive states at most {words.amount_text(power.rated_max_w, 'W')} in {which}"
        )
    return f"power: {'; '.join(parts)}"


_STYLES = {"steady": "green", "unknown": "yellow", "thermal": "red"}
_OTHER_CAUSE = "magenta"


def style_of(verdict: str) -> str:
    """Return the colour of a verdict."""
    return _STYLES.get(verdict, _OTHER_CAUSE)


def print_findings(
    findings: analysis.Findings, recordings: Sequence[Recording], console: output.Console
) -> None:
    """Print the answer, and everything that each recording shows."""
    print_answer(findings.answer, console)
    for index, recording in enumerate(findings.recordings):
        if index:
            console.print()
        _print_recording(recording, console)
    for copy in findings.copies:
        console.print()
        print_copy(copy, console)
    for text in written_text(recordings):
        console.print(text)


def written_text(recordings: Sequence[Recording]) -> list[output.Text]:
    """Return how much loads of heatsoak's own wrote, if anything worth a word."""
    own = [one for one in recordings if one.is_readable and not one.meta.protocol.is_observed]
    written = sum(map(written_bytes, own))
    return [output.Text(f"{words.size_text(written)} were written")] if written >= MB else []


def print_answer(answer: analysis.Answer, console: output.Console) -> None:
    """Print whether the drive throttles, why, and what would help or tell more."""
    style = {"yes": "bold red", "no": "bold green"}.get(answer.throttles, "bold yellow")
    console.print(output.Text(answer.sentence, style=style), soft_wrap=True)
    for reason in answer.because:
        console.print(output.Text(f"  - {reason}"), soft_wrap=True)
    if answer.next is not None:
        console.print(output.Text(f"  next: {answer.next}"), soft_wrap=True)
    console.print()


def titled(name: str, labels: Mapping[str, object]) -> output.Text:
    """Return a name as a title, with labels beside it."""
    told = words.labels_text(labels)
    return output.Text(name, style="bold").append(f"  {told}" if told else "", style="not bold")


def title_of(recording: analysis.RecordingFindings) -> output.Text:
    """Return the drive and the conditions of a recording."""
    drive = recording.drive
    device = drive.get("details", {}).get("device")
    name = drive.get("model") or device or drive.get("path") or "a drive"
    simulated = " (simulated)" if drive.get("simulated") else ""
    return titled(f"{name}{simulated}", recording.conditions)


def _print_recording(recording: analysis.RecordingFindings, console: output.Console) -> None:
    console.print(title_of(recording))
    console.print(output.Text(recording.path, style="dim"))
    # rounds have hundreds of steps: their results are printed below
    steps = [step for step in recording.steps if step.rounds is None]
    has_cost = any(step.cpu_us_per_io is not None for step in steps)
    has_power = any(step.power_mean_w is not None for step in steps)
    costs = [*(["CPU us/IO"] if has_cost else []), *(["W", "J"] if has_power else [])]
    numbers = ("Time", "MB/s", *costs, "Start")
    table = output.table_of("Step", "Workload", *numbers, "Verdict", "", numbers=numbers)
    for step in steps:
        table.add_row(
            output.Text(step.step),
            output.Text(step.workload),
            words.duration_text(step.duration_s) if step.duration_s > 0 else "",
            words.known_text(step.mean_mb_s),
            *([_cost(step)] if has_cost else []),
            *(map(words.known_text, (step.power_mean_w, step.energy_j)) if has_power else ()),
            words.known_text(step.start_temp_c, words.temp_text),
            output.Text(step.verdict, style=style_of(step.verdict)),
            output.Text(sentence(step)),
        )
    if steps:
        console.print(table)
    for rounds in recording.rounds:
        print_rounds(rounds, console)
    print_scores(recording, console)
    if (told := power_text(recording)) is not None:
        console.print(output.Text(told))
    for step in steps:
        for episode in step.episodes:
            _print_evidence(step, episode, console)
    for step in steps:
        if step.consistency is not None:
            console.print(output.Text(f"{step.step}, {consistency_text(step.consistency)}"))
    for sensor in recording.sensors:
        if (text := sensor_text(sensor)) is not None:
            console.print(output.Text(text, style="yellow" if sensor.trust == "poor" else ""))
    for note in recording.notes:
        console.print(output.Text(f"note: {note}", style="yellow"))


def _cost(step: analysis.StepFindings) -> str:
    """CPU time per I/O, and the share of a core."""
    share = words.known_text(step.cpu_core_pct, words.percent_text)
    return words.known_text(step.cpu_us_per_io) + (f" ({share} of a core)" if share else "")


def _print_evidence(
    step: analysis.StepFindings, episode: analysis.Episode, console: output.Console
) -> None:
    if not episode.evidence:
        return
    named = "unknown"
    if episode.confidence:
        named = f"{episode.cause}, {words.percent_text(100 * episode.confidence)} likely"
    at = words.number_text(episode.onset_s, 2)
    console.print(output.Text(f"{step.step}, the drop at {at} s: {named}"))
    for line in episode.evidence:
        console.print(Padding(output.Text(line), (0, 0, 0, 2), expand=False))
