"""What a condition changes, as tables in a terminal."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from rich.table import Table

from heatsoak.analysis.comparison import METRICS, Comparison, Ranked, Row
from heatsoak.output import Console, Text
from heatsoak.protocol import Label
from heatsoak.report.cells import (
    change_text,
    interval_text,
    number_text,
    value_text,
    verdict_text,
)
from heatsoak.report.score_tables import print_score_tables

_WHAT_OF = {
    "this run": "1 run each: the interval is of this run, not of the next one",
    "runs": "the runs of a group differ, and the interval tells what more of them would show",
    "conditions": "1 run each in several other conditions: the interval is of how the change "
    "differs in those",
}


def print_comparison(comparison: Comparison, console: Console, *, each: bool = False) -> None:
    """Print what each step shows, and the order of the groups.

    With `each`, what the single sets of other conditions show comes under what they show together.
    """
    _print_title(comparison, console)
    shown = print_score_tables(comparison, console)
    steps = [row for row in comparison.rows if row.definition is None]
    for _, of_step in groupby(steps, key=lambda row: (row.protocol, row.step)):
        rows = [row for row in _suited(list(of_step)) if each or _is_summary(row, comparison.rows)]
        console.print()
        _print_step(rows, comparison, console)
        shown += rows
    if len(comparison.groups) > 2:
        for ranked in _by_metric(comparison.ranking):
            console.print()
            _print_ranking(ranked, console)
    _print_notes(comparison, shown, console)


def _print_title(comparison: Comparison, console: Console) -> None:
    baseline, *others = comparison.groups
    title = Text(f"{comparison.by}: {_listed(others)} against {baseline}", style="bold")
    console.print(title)
    console.print(Text(f"{_listed(comparison.drives)}; {_listed(comparison.protocols)}"))
    console.print(
        Text(
            f"Changes are from {comparison.by} '{baseline}': + is more than there, in MB/s and "
            "IOPS faster; - is less.",
            style="dim",
        )
    )


def _print_step(rows: Sequence[Row], comparison: Comparison, console: Console) -> None:
    first = rows[0]
    name = first.step if len(comparison.protocols) == 1 else f"{first.protocol}: {first.step}"
    console.print(Text(name, style="bold").append(f"  {first.workload}", style="not bold"))
    several = any(row.pooled for row in rows)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("", no_wrap=True)
    table.add_column(comparison.by)
    for heading in (str(comparison.baseline), "", "change", "95 % interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    if several:
        table.add_column("more in", justify="right", no_wrap=True)
    table.add_column("difference", no_wrap=True)
    previous = None
    for row in rows:
        title = "" if row.metric == previous else f"{row.title}, {row.unit}"
        previous = row.metric
        is_detail = not row.pooled and any(r.pooled and r.metric == row.metric for r in rows)
        count = f"{row.pairs_higher} of {row.pairs}" if row.pooled else ""
        table.add_row(
            title,
            Text(f"  {row.group}{_where(row, rows)}" if is_detail else str(row.group)),
            value_text(row.baseline, row.baseline_at_least),
            value_text(row.value, row.value_at_least),
            change_text(row),
            interval_text(row),
            *([count] if several else []),
            verdict_text(row),
            style="dim" if is_detail else "",
        )
    console.print(table)


def _is_summary(row: Row, rows: Sequence[Row]) -> bool:
    """Whether it is the row over all sets of other conditions."""
    same = (row.protocol, row.step, row.metric)
    return row.pooled or not any(r.pooled and (r.protocol, r.step, r.metric) == same for r in rows)


def _suited(rows: Sequence[Row]) -> list[Row]:
    """What people look at, and of the rates IOPS where it is random, else MB/s."""
    twin = {"mb_s": "iops", "iops": "mb_s"}
    left_out = "mb_s" if rows[0].workload.startswith("random") else "iops"
    names = {row.metric for row in rows}
    doubles = {
        f"{kind}_{left_out}" for kind in ("mean", "end") if f"{kind}_{twin[left_out]}" in names
    }
    return [row for row in rows if METRICS[row.metric].is_shown and row.metric not in doubles]


def _where(row: Row, rows: Sequence[Row]) -> str:
    """The conditions that tell a single set from the others."""
    alike = next(r for r in rows if r.pooled and r.metric == row.metric).other_conditions
    apart = [f"{key} {value}" for key, value in row.other_conditions.items() if key not in alike]
    return f" {', '.join(apart)}" if apart else ""


def _print_ranking(ranked: Sequence[Ranked], console: Console) -> None:
    first = ranked[0]
    metric = METRICS[first.metric]
    of = "highest" if metric.better == "higher" else "lowest"
    console.print(
        Text("Rank by ", style="bold").append(f"{metric.title}, {metric.unit}; the {of} is best")
    )
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("", "rank", "", metric.unit, "95 % interval", "best in", "not told from"):
        right = heading in ("rank", metric.unit, "95 % interval", "best in")
        table.add_column(
            heading, justify="right" if right else "left", no_wrap=heading != "not told from"
        )
    previous = None
    for each in ranked:
        low, high = each.ci95
        table.add_row(
            "" if each.step == previous else each.step,
            f"{each.rank}{_open(each.ranks)}",
            str(each.group),
            value_text(each.value, each.value_at_least),
            "" if low is None or high is None else f"{number_text(low)} to {number_text(high)}",
            "" if each.best_share is None else f"{100 * each.best_share:.0f} %",
            _listed(each.not_told_apart_from),
        )
        previous = each.step
    console.print(table)


def _open(ranks: tuple[int, int]) -> str:
    """The ranks that are left open."""
    low, high = ranks
    return "" if low == high else f" ({low}-{high})"


def _by_metric(ranking: Iterable[Ranked]) -> list[list[Ranked]]:
    """The steps that are ranked by the same."""
    groups: dict[str, list[Ranked]] = {}
    for each in ranking:
        groups.setdefault(each.metric, []).append(each)
    return list(groups.values())


def _print_notes(comparison: Comparison, rows: Sequence[Row], console: Console) -> None:
    groups = len(comparison.groups)
    said = [_WHAT_OF[b] for b in dict.fromkeys(row.interval_of for row in rows) if b is not None]
    if any(row.pooled for row in rows):
        said.append("'more in': in how many of the other conditions; --each shows each")
    if groups > 2:
        said.append(
            f"{groups - 1} groups against one: better and worse allow for that (Holm), an "
            "interval does not"
        )
        said.append(
            "groups share a rank where no difference is shown; in brackets, those left open"
        )
        said.append("'best in' is the share of draws from the noise in which a group is the best")
    console.print()
    for text in said:
        console.print(Text(f"note: {text}", style="dim"))
    for note in comparison.notes:
        console.print(Text(f"note: {note}", style="yellow"))
    for caveat in comparison.caveats:
        console.print(Text(f"warning: not alike: {caveat}", style="red"))


def _listed(names: Iterable[Label]) -> str:
    words = [str(name) for name in names]
    return (
        words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""
    )
