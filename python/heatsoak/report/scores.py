"""Scores and rounds in a terminal."""

from rich.table import Table

from heatsoak.analysis import RecordingFindings, RoundsFindings, Score
from heatsoak.output import Console, Text

_DASH = "-"


def print_scores(recording: RecordingFindings, console: Console) -> None:
    """Print a recording's scores with their definitions, and why one is missing."""
    if not recording.scores:
        return
    scale = recording.scores[0].scale
    title = Text("Scores", style="bold")
    if scale != 1:
        title.append(f"  of a run at {scale:g} of the protocol's sizes and times", style="yellow")
        title.append(": no result of it", style="yellow")
    console.print(title)
    has_power = any(score.power_w is not None for score in recording.scores)
    has_cost = any(score.cpu_us_per_io is not None for score in recording.scores)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("")
    table.add_column("", justify="right", no_wrap=True)
    for heading in ("W", "MB/s per W") if has_power else ():
        table.add_column(heading, justify="right", no_wrap=True)
    for heading in ("CPU us/IO", "of a core") if has_cost else ():
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("")
    for score in recording.scores:
        table.add_row(
            Text(score.name),
            Text(score_text(score)),
            *([_number(score.power_w), _number(score.mb_s_per_w)] if has_power else []),
            *([_number(score.cpu_us_per_io), _share(score.cpu_core_pct)] if has_cost else []),
            Text(score.definition)
            if score.why is None
            else Text(f"no score: {score.why}", style="yellow"),
        )
    console.print(table)


def print_rounds(rounds: RoundsFindings, console: Console) -> None:
    """Print whether rounds became steady, and the means of their last ones."""
    style = {True: "green", False: "yellow", None: ""}[rounds.is_steady]
    console.print(Text(rounds.name, style="bold").append(f"  {rounds.text}", style=style))
    if rounds.iops:
        means = ", ".join("?" if mean is None else f"{mean:,.0f}" for mean in rounds.iops)
        console.print(Text(f"{rounds.tracked}, IOPS round by round: {means}"))
    if rounds.taken == 0:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("Step")
    table.add_column("Workload")
    for heading in ("IOPS", "MB/s"):
        table.add_column(heading, justify="right", no_wrap=True)
    for step in rounds.steps:
        table.add_row(
            Text(step.step), Text(step.workload), _number(step.mean_iops), _number(step.mean_mb_s)
        )
    console.print(table)


def score_text(score: Score) -> str:
    """Return a score with its unit: ``"11,204 IOPS"``; a dash where there is none."""
    if score.value is None:
        return _DASH
    unit = "" if score.unit == "x" else f" {score.unit}"
    return f"{_number(score.value)}{unit}"


def _share(pct: float | None) -> str:
    return "" if pct is None else f"{pct:.0f} %"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
