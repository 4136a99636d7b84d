"""What ``heatsoak history`` prints: the answer, and a row for each drive and workload."""

from typing import TYPE_CHECKING

from rich.table import Table

from heatsoak.output import Console, Text, table_of
from heatsoak.words import number_text

if TYPE_CHECKING:
    from heatsoak.history.findings import History, HistoryChange, Interval

_STYLES = {"slower": "bold red", "faster": "green", "cannot-tell": "yellow", "too-few": "dim"}


def print_history(found: "History", console: Console) -> None:
    """Print the answer, all drives and workloads, and what changed besides time."""
    console.print(Text(found.sentence, style="bold"), soft_wrap=True)
    if found.series:
        console.print()
        console.print(_table(found))
    shown: dict[str, None] = {}
    for one in found.series:
        shown |= dict.fromkeys(_said(one.drive, one.step, change) for change in one.changes)
    for line in shown:
        console.print(Text(line), soft_wrap=True)
    left = found.left_out
    for count, why in (
        (left.without_date, "have no date"),
        (
            left.wrongly_dated,
            "are dated before 2000, in the future, or against what the drive wrote",
        ),
        (left.not_comparable, "were cut short, or nobody controlled their load"),
        (left.without_rate, "have no rate"),
    ):
        if count:
            console.print(Text(f"not compared: {count:,} steps that {why}", style="dim"))
    console.print(
        Text(f"{found.recordings:,} recordings are summed up in {found.index}", style="dim"),
        soft_wrap=True,
    )


def _table(found: "History") -> Table:
    numbers = ("Days", "Since", "Rate", "Change, %", "A year, %")
    table = table_of("Drive", "Step", "Workload", *numbers, "Slower?", numbers=numbers)
    for one in found.series:
        table.add_row(
            Text(one.drive),
            Text(one.step),
            Text(one.workload),
            f"{one.days:,}",
            str(one.first),
            f"{number_text(one.rate)} {one.unit}",
            _change(one.change),
            _change(one.per_year),
            Text(one.verdict.replace("-", " "), style=_STYLES.get(one.verdict, "")),
        )
    return table


def _change(interval: "Interval | None") -> str:
    if interval is None:
        return ""
    return f"{interval.pct:+.1f} ({interval.low_pct:+.1f} to {interval.high_pct:+.1f})"


def _said(drive: str, step: str, change: "HistoryChange") -> str:
    effect = change.effect
    did = f"{_change(effect)} %" if effect is not None else "cannot be told from other changes"
    what = f"{change.kind} {change.before or 'not told'} to {change.after or 'not told'}"
    if change.kind == "sudden":
        what = f"a sudden change between {change.before} and {change.after}"
    return f"{change.date}: {drive}, {what}; '{step}': {did}"
