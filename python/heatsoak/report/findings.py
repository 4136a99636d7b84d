"""Findings as tables and sentences in a terminal."""

from rich.padding import Padding
from rich.table import Table

from heatsoak.analysis import Episode, Findings, RecordingFindings, StepFindings
from heatsoak.output import Console, Text
from heatsoak.report.copies import print_copy
from heatsoak.report.power import power_text
from heatsoak.report.scores import print_rounds, print_scores
from heatsoak.report.steadiness import consistency_text, sensor_text
from heatsoak.units import format_duration

_STYLES = {"steady": "green", "unknown": "yellow", "thermal": "red"}
_OTHER_CAUSE = "magenta"
_VERBS = {"thermal": "throttled", "sliding": "slid"}


def print_findings(findings: Findings, console: Console, *, evidence: bool = True) -> None:
    """Print each recording's verdicts; with `evidence` also what they rest on."""
    for index, recording in enumerate(findings.recordings):
        if index:
            console.print()
        _print_recording(recording, console, evidence)
    for copy in findings.copies:
        console.print()
        print_copy(copy, console)


def sentence(step: StepFindings) -> str:
    """Return what a step shows in a sentence, as the bench's users say it."""
    if not step.episodes:
        return step.why_unknown or "; ".join(step.why)
    parts = []
    for episode in step.episodes:
        fell = _VERBS.get(episode.cause, "fell")
        text = f"{fell} by about {episode.depth_pct:.0f} % after about {episode.onset_s:.0f} s"
        if episode.cause != step.verdict:
            text += f" ({episode.cause})"
        if episode.oscillates and episode.period_s is not None:
            text += f", swinging every {episode.period_s:.0f} s"
        if episode.recovered:
            text += f", back after {format_duration(episode.end_s - episode.onset_s)}"
        parts.append(text)
    more = f"; and {len(parts) - 2} times more" if len(parts) > 3 else ""
    return "; ".join([*step.why, *(parts[:2] if more else parts)]) + more


def _print_recording(recording: RecordingFindings, console: Console, evidence: bool) -> None:
    drive = recording.drive
    name = drive.get("model") or drive.get("path") or "a drive"
    labels = ", ".join(f"{key} {value}" for key, value in recording.conditions.items())
    title = Text(f"{name}{' (simulated)' if drive.get('simulated') else ''}", style="bold")
    console.print(title.append(f"  {labels}" if labels else "", style="not bold"))
    console.print(Text(recording.path, style="dim"))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    # of rounds there are hundreds of steps: what they came to stands below
    steps = [step for step in recording.steps if step.rounds is None]
    has_cost = any(step.cpu_us_per_io is not None for step in steps)
    has_power = any(step.power_mean_w is not None for step in steps)
    costs = (["CPU us/IO"] if has_cost else []) + (["W", "J"] if has_power else [])
    for heading in ("Step", "Workload", "Time", "MB/s", *costs, "Start", "Verdict", ""):
        right = heading in ("Time", "MB/s", "Start", *costs)
        table.add_column(heading, justify="right" if right else "left")
    for step in steps:
        table.add_row(
            Text(step.step),
            Text(step.workload),
            format_duration(step.duration_s) if step.duration_s > 0 else "",
            "" if step.mean_mb_s is None else f"{step.mean_mb_s:,.0f}",
            *([_cost(step)] if has_cost else []),
            *(_power(step) if has_power else []),
            "" if step.start_temp_c is None else f"{step.start_temp_c:.0f} C",
            Text(step.verdict, style=_STYLES.get(step.verdict, _OTHER_CAUSE)),
            Text(sentence(step)),
        )
    if steps:
        console.print(table)
    for rounds in recording.rounds:
        print_rounds(rounds, console)
    print_scores(recording, console)
    if (told := power_text(recording)) is not None:
        console.print(Text(told))
    if evidence:
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
    """Processor time of an I/O, and the share of a core that it came to."""
    if step.cpu_us_per_io is None:
        return ""
    share = "" if step.cpu_core_pct is None else f" ({step.cpu_core_pct:.0f} % of a core)"
    return f"{step.cpu_us_per_io:.1f}{share}"


def _power(step: StepFindings) -> list[str]:
    """Mean power and energy."""
    if step.power_mean_w is None or step.energy_j is None:
        return ["", ""]
    return [f"{step.power_mean_w:.2f}", f"{step.energy_j:,.0f}"]


def _print_evidence(step: StepFindings, episode: Episode, console: Console) -> None:
    if not episode.evidence:
        return
    named = f"{episode.cause}, {episode.confidence:.0%} likely" if episode.confidence else "unknown"
    console.print(Text(f"{step.step}, the drop at {episode.onset_s:.0f} s: {named}"))
    for line in episode.evidence:
        console.print(Padding(Text(line), (0, 0, 0, 2)))
