"""``heatsoak history``: whether drives are slower than they were."""

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from rich.table import Table

from heatsoak import words
from heatsoak.cli import common
from heatsoak.errors import UsageError
from heatsoak.output import Console, Text, table_of

if TYPE_CHECKING:
    from heatsoak.history.findings import History, HistoryChange
    from heatsoak.ranges import Range


def _date(text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"'{text}' is not a date such as 2025-03-01") from None


def history_command(
    place: Annotated[
        Path,
        common.argument(
            "DIR|INDEX", "Take all recordings below this directory, or an index as it is."
        ),
    ],
    drive: str | None = common.option("SERIAL", "Show this drive, or model, alone.", default=None),
    workload: str | None = common.option(
        "WORDS",
        "Show this step, or workloads with these words: write, 'random read'.",
        default=None,
    ),
    since: datetime.date | None = common.option(
        "DATE", "Leave out what is older: 2025-03-01.", reads=_date, default=None
    ),
    output: Path | None = common.option(
        "--output -o FILE", "Keep the index here; default: in DIR.", is_rare=True, default=None
    ),
    output_format: common.FormatOption = "text",
    fail_on: Literal["slower", "unknown", "any"] | None = common.option(
        "",
        "Exit 1 if a drive is slower than it was (slower), if nothing tells whether any "
        "is (unknown), or for both (any).",
        default=None,
    ),
) -> int:
    from heatsoak.history import NAME, history, require_index, update

    opened = common.Opened()
    if place.is_dir():
        index = output or place / NAME
        with common.progress_bar(stays=False) as progress:
            update(place, index, progress, opened.leave_out)
    elif output is not None:
        raise UsageError(f"-o {output}: an index is only made of a directory: leave out -o")
    else:
        index = place
        require_index(index)
    found = history(index, drive=drive, workload=workload, since=since)
    common.show(found, output_format, print_history)
    is_broken = found.slower in _BREAKING.get(fail_on, ())
    return opened.exit_code(common.limit_broken(found.sentence) if is_broken else 0)


_BREAKING: dict[str | None, set[str]] = {"slower": {"yes"}, "unknown": {"cannot-tell"}}
_BREAKING["any"] = {"yes", "cannot-tell"}
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
    wrongly = "are dated before 2000, in the future, or against what the drive wrote"
    uncontrolled = "were cut short, or nobody controlled their load"
    for count, why in (
        (left.without_date, "have no date"),
        (left.wrongly_dated, wrongly),
        (left.not_comparable, uncontrolled),
        (left.without_rate, "have no rate"),
        (left.copies, "are of copies of recordings"),
    ):
        if count:
            console.print(
                Text(f"not compared: {words.counted(count, 'step')} that {why}", style="dim")
            )
    kept = f"{found.recordings:,} recordings are summed up in {found.index}"
    console.print(Text(kept, style="dim"), soft_wrap=True)


def _table(found: "History") -> Table:
    from heatsoak.analysis.definitions import MIN_DROP

    excluded = f"not by {words.percent_text(100 * MIN_DROP)}"
    numbers = ("Days", "Since", "Rate", "Change, %", "A year, %")
    table = table_of("Drive", "Step", "Workload", *numbers, "Slower?", numbers=numbers)
    for one in found.series:
        verdict = excluded if one.verdict == "same" else words.plain(one.verdict)
        table.add_row(
            Text(one.drive),
            Text(one.step),
            Text(one.workload),
            f"{one.days:,}",
            str(one.first),
            words.amount_text(one.rate, one.unit),
            _change(one.change),
            _change(one.per_year if one.lasted_a_year else None),
            Text(verdict, style=_STYLES.get(one.verdict, "")),
        )
    return table


def _change(change: "Range | None", unit: str = "") -> str:
    return "" if change is None else words.range_text(change, unit, signed=True)


def _said(drive: str, step: str, change: "HistoryChange") -> str:
    effect = change.effect
    did = _change(effect, "%") or "cannot be told from other changes"
    what = f"{change.kind} {change.before or 'not told'} to {change.after or 'not told'}"
    if change.kind == "sudden":
        what = f"a sudden change between {change.before} and {change.after}"
    what = what.removeprefix("together ") + (f", undone by {change.until}" if change.until else "")
    return f"{change.date}: {drive}, {what}; '{step}': {did}"
