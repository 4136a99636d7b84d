"""What a condition changes, as tables for the terminal: steps, and scores as reviews print them."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from rich.padding import Padding
from rich.table import Table

from heatsoak.analysis.comparison import METRICS, Comparison, ComparisonRow, Ranked, metric_of
from heatsoak.output import Console, Text
from heatsoak.protocol import Label

_STYLES = {"better": "green", "worse": "red"}
_VERDICT_WORDS = {"negligible": "negligible", "no difference shown": "not shown"}


def value_text(value: float | None, at_least: float | None) -> str:
    """Return a value, or its lower bound: ``"> 300"``."""
    if value is not None:
        return number_text(value)
    return "" if at_least is None else f"> {number_text(at_least)}"


def change_text(row: ComparisonRow) -> str:
    """Return how a row's value differs from the baseline's."""
    if metric_of(row.metric).scale == "difference":
        if row.delta is None:
            return ""
        return f"{signed_text(row.delta, _digits(row.delta))} {row.delta_unit}"
    if row.delta_pct is None:
        return ""
    return f"{signed_text(row.delta_pct, 1)} %"


def interval_text(row: ComparisonRow) -> str:
    """Return the confidence interval of that change; empty if there is none."""
    is_difference = metric_of(row.metric).scale == "difference"
    low, high = row.ci95 if is_difference else row.ci95_pct
    if low is None or high is None:
        return ""
    digits = _digits(max(abs(low), abs(high))) if is_difference else 1
    return f"{signed_text(low, digits)} to {signed_text(high, digits)}"


def _digits(value: float) -> int:
    return 0 if abs(value) >= 10 else 1


def signed_text(value: float, digits: int) -> str:
    """Return a number with its sign."""
    if abs(value) >= 1000:
        return f"{value:+,.0f}"
    return f"{round(value, digits) + 0.0:+.{digits}f}"


def number_text(value: float) -> str:
    """Return a number in about three digits."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def verdict_text(row: ComparisonRow) -> Text:
    """Return what a row shows, in the words and colours of the tables."""
    return Text(_VERDICT_WORDS.get(row.verdict, row.verdict), style=_STYLES.get(row.verdict, ""))


_CONVENTION = (
    "'change': + means more than the baseline. 'better by' has AnandTech's sign: worse is "
    "negative, for MB/s and for us."
)


def print_score_tables(comparison: Comparison, console: Console) -> list[ComparisonRow]:
    """Print the scores, with their steps if there are several; return the rows shown."""
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


def _print_definitions(scores: Sequence[ComparisonRow], console: Console) -> None:
    said: dict[tuple[str, str], None] = {}
    for row in scores:
        said.setdefault((row.step, row.definition or ""))
    for name, definition in said:
        line = Text(f"{name}: {definition}", style="dim")
        console.print(Padding(line, (0, 0, 0, 2)))


def _print_steps(
    score: ComparisonRow, scores: Sequence[ComparisonRow], comparison: Comparison, console: Console
) -> None:
    """One row per step, and the resulting score last."""
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
            table.add_row(*_cells(row, "mean (the score)", comparison, with_sign=False))
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


def _cells(
    row: ComparisonRow, name: str, comparison: Comparison, *, with_sign: bool
) -> list[str | Text]:
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


def _summaries(rows: Sequence[ComparisonRow]) -> list[ComparisonRow]:
    """The rows over all sets of other conditions, if there are several sets."""
    pooled = {(r.protocol, r.step, r.metric) for r in rows if r.pooled}
    return [r for r in rows if r.pooled or (r.protocol, r.step, r.metric) not in pooled]


_INTERVAL_NOTES = {
    "this run": "1 run each: the interval covers noise within this run, not the next run",
    "runs": "several runs in a group: the interval covers differences between runs",
    "conditions": "1 run each in several other conditions: the interval covers how the change "
    "differs between those",
}


def print_comparison(comparison: Comparison, console: Console, *, each: bool = False) -> None:
    """Print the result of each step, and the ranking of the groups.

    With `each`, each set of other conditions is listed below the result over all sets.
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
    title = Text(f"{comparison.by}: {_listed(others)} compared with {baseline}", style="bold")
    console.print(title)
    console.print(Text(f"{_listed(comparison.drives)}; {_listed(comparison.protocols)}"))
    console.print(
        Text(
            f"Changes are relative to {comparison.by} '{baseline}': + means more (for MB/s and "
            "IOPS: faster), - means less.",
            style="dim",
        )
    )


def _print_step(rows: Sequence[ComparisonRow], comparison: Comparison, console: Console) -> None:
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
        table.add_column("higher in", justify="right", no_wrap=True)
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


def _is_summary(row: ComparisonRow, rows: Sequence[ComparisonRow]) -> bool:
    """Whether it is the row over all sets of other conditions."""
    same = (row.protocol, row.step, row.metric)
    return row.pooled or not any(r.pooled and (r.protocol, r.step, r.metric) == same for r in rows)


def _suited(rows: Sequence[ComparisonRow]) -> list[ComparisonRow]:
    """The metrics shown to people: of the rates, IOPS for random loads and MB/s for others."""
    twin = {"mb_s": "iops", "iops": "mb_s"}
    left_out = "mb_s" if rows[0].workload.startswith("random") else "iops"
    names = {row.metric for row in rows}
    doubles = {
        f"{kind}_{left_out}" for kind in ("mean", "end") if f"{kind}_{twin[left_out]}" in names
    }
    return [row for row in rows if METRICS[row.metric].is_shown and row.metric not in doubles]


def _where(row: ComparisonRow, rows: Sequence[ComparisonRow]) -> str:
    """The conditions that distinguish one set from the others."""
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
    for heading in (
        "",
        "rank",
        "",
        metric.unit,
        "95 % interval",
        "best in",
        "not distinguished from",
    ):
        right = heading in ("rank", metric.unit, "95 % interval", "best in")
        table.add_column(
            heading,
            justify="right" if right else "left",
            no_wrap=heading != "not distinguished from",
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
    """The range of ranks that the data permit."""
    low, high = ranks
    return "" if low == high else f" ({low}-{high})"


def _by_metric(ranking: Iterable[Ranked]) -> list[list[Ranked]]:
    """The rankings, grouped by metric."""
    groups: dict[str, list[Ranked]] = {}
    for each in ranking:
        groups.setdefault(each.metric, []).append(each)
    return list(groups.values())


def _print_notes(comparison: Comparison, rows: Sequence[ComparisonRow], console: Console) -> None:
    groups = len(comparison.groups)
    said = [
        _INTERVAL_NOTES[b] for b in dict.fromkeys(row.interval_of for row in rows) if b is not None
    ]
    if any(row.pooled for row in rows):
        said.append("'higher in': in how many sets of other conditions; --each lists them")
    if groups > 2:
        said.append(
            f"{groups - 1} comparisons: 'better' and 'worse' are corrected for that (Holm), "
            "intervals "
            "are not"
        )
        said.append("groups share a rank if no difference is shown; possible ranks are in brackets")
        said.append("'best in' is the share of bootstrap draws in which a group is the best")
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
