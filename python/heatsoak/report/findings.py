"""All that findings say, as tables and sentences for the terminal."""

from collections.abc import Mapping, Sequence

from rich.padding import Padding

from heatsoak.analysis import (
    Answer,
    Consistency,
    CopyFindings,
    Episode,
    Findings,
    RecordingFindings,
    RoundsFindings,
    ScoreFindings,
    SensorTrust,
    StepFindings,
)
from heatsoak.analysis.scores import written_bytes
from heatsoak.output import Console, Text, table_of
from heatsoak.recording import Recording
from heatsoak.report.steps import sentence
from heatsoak.units import MB
from heatsoak.words import (
    amount_text,
    counted,
    duration_text,
    known_text,
    labels_text,
    number_text,
    percent_text,
    rate_text,
    size_text,
    temp_text,
)


def consistency_text(found: Consistency) -> str:
    """Return ``consistency (last 400 s): 5,800 IOPS +- 1,900, ratio 3.1; 2 levels: ...``."""
    mean = amount_text(found.mean_iops, "IOPS", 2)
    text = f"consistency (last {number_text(found.window_s)} s): {mean}"
    if found.ratio is None:
        text += " with no deviation"
    else:
        ratio = number_text(found.ratio, 2) if found.ratio <= 100 else ">100"
        text += f" +- {number_text(found.stdev_iops, 2)}, ratio {ratio}"
    if found.derived_from_bytes:
        text += " (from MB/s and block size)"
    if found.each_s != 1:
        text += f" (means over {number_text(found.each_s)} s)"
    return "; ".join([text, *_levels(found), *_since(found), *_steady(found)])


def sensor_text(sensor: SensorTrust) -> str | None:
    """Return what a reader must know about a sensor; None if there is nothing to say."""
    if sensor.trust == "poor":
        return f"{sensor.name}: not trusted: {sensor.why}"
    if sensor.trust == "good":
        return f"{sensor.name}: trusted: {sensor.why}"
    return None


def _levels(found: Consistency) -> list[str]:
    if len(found.levels) < 2:
        return []
    by_share = sorted(found.levels, key=lambda level: -level.share)
    levels = ", ".join(
        f"{number_text(one.iops, 2)} for {percent_text(100 * one.share)}" for one in by_share
    )
    changes = counted(found.changes, "change")
    return [f"{len(found.levels)} levels: {levels} of the time, {changes}"]


def _since(found: Consistency) -> list[str]:
    since_s = found.as_at_end_since_s
    return [f"unchanged since {duration_text(since_s)}"] if since_s else []


def _steady(found: Consistency) -> list[str]:
    steady = found.steady_state
    if steady is None:
        return []
    figures = f"range {percent_text(steady.range_pct)}, slope {percent_text(steady.slope_pct)}"
    if not steady.reached or steady.since_s is None:
        return [f"no steady state by SNIA's test ({figures})"]
    start = duration_text(steady.since_s) if steady.since_s > 0 else "the start"
    text = f"steady state by SNIA's test from {start}"
    return [text if steady.at_end else f"{text}, not at the end"]


def print_scores(recording: RecordingFindings, console: Console) -> None:
    """Print a recording's scores with their definitions, or why there is none."""
    if not recording.scores:
        return
    scale = recording.scores[0].scale
    title = Text("Scores", style="bold")
    if scale != 1:
        told = f"  of a run at {number_text(scale)} of the protocol's sizes and times: "
        title.append(f"{told}not a result of the protocol", style="yellow")
    console.print(title)
    has_power = any(score.power_w is not None for score in recording.scores)
    has_cost = any(score.cpu_us_per_io is not None for score in recording.scores)
    power = ("W", "MB/s per W") if has_power else ()
    cost = ("CPU us/IO", "of a core") if has_cost else ()
    numbers = ("Value", *power, *cost)
    table = table_of("Score", *numbers, "Definition", numbers=numbers)
    for score in recording.scores:
        of_power = map(known_text, (score.power_w, score.mb_s_per_w) if has_power else ())
        of_cpu = [known_text(score.cpu_us_per_io), known_text(score.cpu_core_pct, percent_text)]
        why = Text(f"no score: {score.why}", style="yellow")
        table.add_row(
            Text(score.name),
            Text(score_text(score)),
            *of_power,
            *(of_cpu if has_cost else ()),
            Text(score.definition) if score.why is None else why,
        )
    console.print(table)


def print_rounds(rounds: RoundsFindings, console: Console) -> None:
    """Print whether rounds became steady, and the means of the last ones."""
    style = {True: "green", False: "yellow", None: ""}[rounds.is_steady]
    console.print(Text(rounds.name, style="bold").append(f"  {rounds.text}", style=style))
    if rounds.iops:
        means = ", ".join(known_text(mean, otherwise="?") for mean in rounds.iops)
        console.print(Text(f"{rounds.tracked}, IOPS round by round: {means}"))
    if rounds.taken == 0:
        return
    table = table_of("Step", "Workload", "IOPS", "MB/s", numbers=("IOPS", "MB/s"))
    for step in rounds.steps:
        rates = map(known_text, (step.mean_iops, step.mean_mb_s))
        table.add_row(Text(step.step), Text(step.workload), *rates)
    console.print(table)


def score_text(score: ScoreFindings) -> str:
    """Return a score with its unit: ``"11,204 IOPS"``; a dash if there is none."""
    if score.value is None:
        return "-"
    return amount_text(score.value, "" if score.unit == "x" else score.unit).rstrip()


def print_copy(copy: CopyFindings, console: Console) -> None:
    """Print the result of a copy, with a sentence or two on each step."""
    console.print(Text(f"Copy from {copy.source} to {copy.destination}", style="bold"))
    for step in copy.steps:
        moved = "" if step.bytes is None else f"{size_text(step.bytes)} "
        rate = "" if step.mb_s is None else f", {rate_text(step.mb_s)}"
        took = f"{step.step}: {moved}in {duration_text(step.duration_s)}{rate}; "
        console.print(Text(took + step.text), soft_wrap=True)


def power_text(recording: RecordingFindings) -> str | None:
    """Return where power figures come from, and the drive's rating; None without either."""
    power = recording.power
    if power is None:
        return None
    by = "" if power.text.startswith(("by ", "in ")) else "by "
    parts = ["not measured" if power.source is None else f"{power.source} {by}{power.text}"]
    if power.rated_max_w is not None:
        states = ", ".join(map(str, power.rated_states))
        which = f"power state{'s' if len(power.rated_states) > 1 else ''} {states}"
        parts.append(f"the drive states at most {amount_text(power.rated_max_w, 'W')} in {which}")
    return f"power: {'; '.join(parts)}"


_STYLES = {"steady": "green", "unknown": "yellow", "thermal": "red"}
_OTHER_CAUSE = "magenta"


def style_of(verdict: str) -> str:
    """Return the colour of a verdict."""
    return _STYLES.get(verdict, _OTHER_CAUSE)


def print_findings(findings: Findings, recordings: Sequence[Recording], console: Console) -> None:
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


def written_text(recordings: Sequence[Recording]) -> list[Text]:
    """Return how much loads of heatsoak's own wrote, if anything worth a word."""
    own = [one for one in recordings if one.is_readable and not one.meta.protocol.is_observed]
    written = sum(map(written_bytes, own))
    return [Text(f"{size_text(written)} were written")] if written >= MB else []


def print_answer(answer: Answer, console: Console) -> None:
    """Print whether the drive throttles, why, and what would help or tell more."""
    style = {"yes": "bold red", "no": "bold green"}.get(answer.throttles, "bold yellow")
    console.print(Text(answer.sentence, style=style), soft_wrap=True)
    for reason in answer.because:
        console.print(Text(f"  - {reason}"), soft_wrap=True)
    if answer.next is not None:
        console.print(Text(f"  next: {answer.next}"), soft_wrap=True)
    console.print()


def titled(name: str, labels: Mapping[str, object]) -> Text:
    """Return a name as a title, with labels beside it."""
    told = labels_text(labels)
    return Text(name, style="bold").append(f"  {told}" if told else "", style="not bold")


def title_of(recording: RecordingFindings) -> Text:
    """Return the drive and the conditions of a recording."""
    drive = recording.drive
    device = drive.get("details", {}).get("device")
    name = drive.get("model") or device or drive.get("path") or "a drive"
    simulated = " (simulated)" if drive.get("simulated") else ""
    return titled(f"{name}{simulated}", recording.conditions)


def _print_recording(recording: RecordingFindings, console: Console) -> None:
    console.print(title_of(recording))
    console.print(Text(recording.path, style="dim"))
    # rounds have hundreds of steps: their results are printed below
    steps = [step for step in recording.steps if step.rounds is None]
    has_cost = any(step.cpu_us_per_io is not None for step in steps)
    has_power = any(step.power_mean_w is not None for step in steps)
    costs = [*(["CPU us/IO"] if has_cost else []), *(["W", "J"] if has_power else [])]
    numbers = ("Time", "MB/s", *costs, "Start")
    table = table_of("Step", "Workload", *numbers, "Verdict", "", numbers=numbers)
    for step in steps:
        table.add_row(
            Text(step.step),
            Text(step.workload),
            duration_text(step.duration_s) if step.duration_s > 0 else "",
            known_text(step.mean_mb_s),
            *([_cost(step)] if has_cost else []),
            *(map(known_text, (step.power_mean_w, step.energy_j)) if has_power else ()),
            known_text(step.start_temp_c, temp_text),
            Text(step.verdict, style=style_of(step.verdict)),
            Text(sentence(step)),
        )
    if steps:
        console.print(table)
    for rounds in recording.rounds:
        print_rounds(rounds, console)
    print_scores(recording, console)
    if (told := power_text(recording)) is not None:
        console.print(Text(told))
    for step in steps:
        for episode in step.episodes:
            _print_evidence(step, episode, console)
    for step in steps:
        if step.consistency is not None:
            console.print(Text(f"{step.step}, {consistency_text(step.consistency)}"))
    for sensor in recording.sensors:
        if (text := sensor_text(sensor)) is not None:
            console.print(Text(text, style="yellow" if sensor.trust == "poor" else ""))
    for note in recording.notes:
        console.print(Text(f"note: {note}", style="yellow"))


def _cost(step: StepFindings) -> str:
    """CPU time per I/O, and the share of a core."""
    share = known_text(step.cpu_core_pct, percent_text)
    return known_text(step.cpu_us_per_io) + (f" ({share} of a core)" if share else "")


def _print_evidence(step: StepFindings, episode: Episode, console: Console) -> None:
    if not episode.evidence:
        return
    named = "unknown"
    if episode.confidence:
        named = f"{episode.cause}, {percent_text(100 * episode.confidence)} likely"
    at = number_text(episode.onset_s, 2)
    console.print(Text(f"{step.step}, the drop at {at} s: {named}"))
    for line in episode.evidence:
        console.print(Padding(Text(line), (0, 0, 0, 2)))
