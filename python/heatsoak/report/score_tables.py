"""Scores of groups against each other, and what their steps add to them, as reviews print it."""

from collections.abc import Sequence
from itertools import groupby

from rich.padding import Padding
from rich.table import Table

from heatsoak.analysis.comparison import Comparison, Row
from heatsoak.output import Console, Text
from heatsoak.report.cells import (
    change_text,
    interval_text,
    signed_text,
    value_text,
    verdict_text,
)

_CONVENTION = (
    "'change': + is more than the baseline. 'better by' has AnandTech's sign: worse is negative, "
    "for MB/s and for us alike."
)


def print_score_tables(comparison: Comparison, console: Console) -> list[Row]:
    """Print the scores, and step by step those made of several; return the rows shown."""
    scores = _summaries([row for row in comparison.rows if row.definition is not None])
    if not scores:
        return []
    console.print()
    console.print(Text("Scores", style="bold"))
    console.print(Text(_CONVENTION, style="dim"))
    table = _table(comparison, with_sign=True)
    several = len({row.protocol for row in scores}) > 1
    for protocol, rows in groupby(scores, key=lambda row: row.protocol):
        if several:
            table.add_row(Text(protocol, style="italic"))
        for row in rows:
            name = (
                f"{row.step}, {row.unit}" if row.title == "score" else f"  {row.title}, {row.unit}"
            )
            table.add_row(*_cells(row, name, comparison, with_sign=True))
    console.print(table)
    _print_definitions(scores, console)
    for row in scores:
        if len(row.steps) > 1 and row.title == "score" and row.group == comparison.groups[1]:
            _print_steps(row, scores, comparison, console)
    return scores


def _print_definitions(scores: Sequence[Row], console: Console) -> None:
    said: dict[tuple[str, str], None] = {}
    for row in scores:
        said.setdefault((row.step, row.definition or ""))
    for name, definition in said:
        line = Text(f"{name}: {definition}", style="dim")
        console.print(Padding(line, (0, 0, 0, 2)))


def _print_steps(
    score: Row, scores: Sequence[Row], comparison: Comparison, console: Console
) -> None:
    """One row a step, and last the score that they make."""
    metric = f"mean_{score.metric.removeprefix('score_')}"
    steps = _summaries(
        [
            row
            for name in score.steps
            for row in comparison.rows
            if (row.protocol, row.step, row.metric) == (score.protocol, name, metric)
            and row.definition is None
        ]
    )
    if not steps:
        return
    console.print()
    console.print(Text(f"{score.step}, {score.unit}, step by step", style="bold"))
    table = _table(comparison, with_sign=False)
    previous = None
    for row in steps:
        name = "" if row.step == previous else f"{row.step}  {row.workload}"
        previous = row.step
        table.add_row(*_cells(row, name, comparison, with_sign=False))
    table.add_section()
    for row in scores:
        if (row.protocol, row.step, row.metric) == (score.protocol, score.step, score.metric):
            table.add_row(*_cells(row, "mean of these: the score", comparison, with_sign=False))
    console.print(table)


def _table(comparison: Comparison, *, with_sign: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("")
    two = len(comparison.groups) == 2
    if not two:
        table.add_column(comparison.by)
    value = str(comparison.groups[1]) if two else ""
    signs = ["better by"] if with_sign else []
    for heading in (str(comparison.baseline), value, "change", *signs, "95 % interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("difference", no_wrap=True)
    return table


def _cells(row: Row, name: str, comparison: Comparison, *, with_sign: bool) -> list[str | Text]:
    sign = "" if row.better_by_pct is None else f"{signed_text(row.better_by_pct, 1)} %"
    return [
        Text(name),
        *([] if len(comparison.groups) == 2 else [Text(str(row.group))]),
        value_text(row.baseline, row.baseline_at_least),
        value_text(row.value, row.value_at_least),
        change_text(row),
        *([sign] if with_sign else []),
        interval_text(row),
        verdict_text(row),
    ]


def _summaries(rows: Sequence[Row]) -> list[Row]:
    """The rows over all sets of other conditions, where there are several sets."""
    pooled = {(r.protocol, r.step, r.metric) for r in rows if r.pooled}
    return [r for r in rows if r.pooled or (r.protocol, r.step, r.metric) not in pooled]
