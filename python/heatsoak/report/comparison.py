"""What a condition changes, as tables for the terminal: steps, and scores as reviews print them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.padding import Padding
from rich.table import Table

from heatsoak.analysis.comparison import METRICS, Comparison, ComparisonRow, Ranked, metric_of
from heatsoak.output import Console, Text
from heatsoak.protocol import Label
from heatsoak.words import listed, said, shortened

_TONES = {"better": "green", "worse": "red", "mixed": "yellow", "alike": ""}
#: Letters of a group's name in tables: in headings and lines, if there is room, and if not.
_WIDE_NAMES, _NARROW_NAME, _NARROW_GROUP = (24, 14), 8, 10
#: What a narrow table needs besides its first column.
_NARROW_REST = 44
_ANY_WIDTH = 10_000
#: Prose is not wider than this.
_MAX_LINE = 100
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
    lines: list[_Line] = []
    several = len({(row.protocol, row.model) for row in scores}) > 1
    for (protocol, model), rows in groupby(scores, key=lambda row: (row.protocol, row.model)):
        if several:
            lines.append(_Line(", ".join(filter(None, (protocol, model)))))
        for row in rows:
            name = (
                f"{row.step}, {row.unit}" if row.title == "score" else f"  {row.title}, {row.unit}"
            )
            lines.append(_Line(name, row))
    _print_lines(lines, comparison, console, with_sign=True)
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
            if row.measured == (score.protocol, score.model, name, metric)
            and row.definition is None
        ]
    )
    if not steps:
        return
    console.print()
    console.print(Text(f"{score.step}, {score.unit}, step by step", style="bold"))
    lines: list[_Line] = []
    previous = None
    for row in steps:
        name = "" if row.step == previous else f"{row.step}  {row.workload}"
        previous = row.step
        lines.append(_Line(name, row))
    lines += [_Line("mean (the score)", row) for row in scores if row.measured == score.measured]
    _print_lines(lines, comparison, console)


@dataclass(frozen=True)
class _Line:
    """A line of a table: a heading, or a row with what it is of.

    Attributes:
        group: the row's group, with other conditions if those are listed.
        count: in how many sets of other conditions it is higher.
    """

    name: str
    row: ComparisonRow | None = None
    group: str = ""
    count: str = ""
    is_detail: bool = False


def _print_lines(
    lines: Sequence[_Line], comparison: Comparison, console: Console, *, with_sign: bool = False
) -> None:
    """Print a table; in a narrow terminal with shorter names, and intervals below the changes."""
    table = _narrow(lines, comparison, console.width)
    for letters in _WIDE_NAMES:
        wide = _wide(lines, comparison, letters, with_sign=with_sign)
        needed = console.measure(wide, options=console.options.update(width=_ANY_WIDTH)).maximum
        if needed <= console.width:
            table = wide
            break
    console.print(table)


def _has_groups(lines: Sequence[_Line], comparison: Comparison) -> bool:
    """Whether a line must say whose it is."""
    return len(comparison.groups) > 2 or any(line.is_detail for line in lines)


def _wide(
    lines: Sequence[_Line], comparison: Comparison, letters: int, *, with_sign: bool
) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("", no_wrap=True)
    has_groups, has_counts = _has_groups(lines, comparison), any(line.count for line in lines)
    if has_groups:
        table.add_column(comparison.by, no_wrap=True)
    value = "" if has_groups else shortened(str(comparison.groups[1]), letters)
    baseline = shortened(str(comparison.baseline), letters)
    signs = ["better by"] if with_sign else []
    counts = ["higher in"] if has_counts else []
    for heading in (baseline, value, "change", *signs, "95 % interval", *counts):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("difference", no_wrap=True)
    for line in lines:
        row = line.row
        if row is None:
            table.add_row(Text(line.name, style="italic"))
            continue
        table.add_row(
            Text(line.name),
            *([Text(_group(line, row, letters))] if has_groups else []),
            value_text(row.baseline, row.baseline_at_least),
            value_text(row.value, row.value_at_least),
            change_text(row),
            *([_better_by_text(row)] if with_sign else []),
            interval_text(row),
            *([line.count] if has_counts else []),
            verdict_text(row),
            style="dim" if line.is_detail else "",
        )
    return table


def _narrow(lines: Sequence[_Line], comparison: Comparison, width: int) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    has_groups = _has_groups(lines, comparison)
    table.add_column("", max_width=max(12, width - _NARROW_REST), overflow="fold")
    value = "" if has_groups else shortened(str(comparison.groups[1]), _NARROW_NAME)
    for heading in (shortened(str(comparison.baseline), _NARROW_NAME), value, "change"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("difference", no_wrap=True)
    for line in lines:
        row = line.row
        if row is None or (has_groups and line.name):
            table.add_row(Text(line.name, style="" if row else "italic"))
        if row is None:
            continue
        name = f"  {_group(line, row, _NARROW_GROUP)}" if has_groups else line.name
        style = "dim" if line.is_detail else ""
        table.add_row(
            Text(name),
            value_text(row.baseline, row.baseline_at_least),
            value_text(row.value, row.value_at_least),
            change_text(row),
            verdict_text(row),
            style=style,
        )
        if interval := interval_text(row):
            table.add_row("", "", "", interval, style=style)
    return table


def _group(line: _Line, row: ComparisonRow, most: int) -> str:
    return line.group or shortened(str(row.group), most)


def _better_by_text(row: ComparisonRow) -> str:
    return "" if row.better_by_pct is None else f"{signed_text(row.better_by_pct, 1)} %"


def _summaries(rows: Sequence[ComparisonRow]) -> list[ComparisonRow]:
    """The rows over all sets of other conditions, if there are several sets."""
    pooled = {row.measured for row in rows if row.pooled}
    return [row for row in rows if row.pooled or row.measured not in pooled]


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
    for _, of_step in groupby(steps, key=lambda row: row.measured[:3]):
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
    width = min(console.width, _MAX_LINE)
    summary = comparison.summary
    if len(comparison.headlines) > 1:
        console.print(Text(summary.text, style=f"bold {_TONES[summary.tone]}"), width=width)
    for headline in comparison.headlines:
        console.print(Text(headline.text, style=_TONES[headline.tone]), width=width)
        if len(comparison.headlines) == 1 and headline.details:
            console.print(Text(" ".join(headline.details)), width=width)
    console.print()
    title = Text(f"{comparison.by}: {_listed(others)} compared with {said(baseline)}", style="bold")
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
    name += f", {first.model}" if first.model else ""
    console.print(Text(name, style="bold").append(f"  {first.workload}", style="not bold"))
    lines = []
    previous = None
    for row in rows:
        title = "" if row.metric == previous else f"{row.title}, {row.unit}"
        previous = row.metric
        is_detail = not row.pooled and any(r.pooled and r.metric == row.metric for r in rows)
        group = (
            f"  {shortened(str(row.group), _WIDE_NAMES[-1])}{_where(row, rows)}"
            if is_detail
            else ""
        )
        count = f"{row.pairs_higher} of {row.pairs}" if row.pooled else ""
        lines.append(_Line(title, row, group, count, is_detail))
    _print_lines(lines, comparison, console)


def _is_summary(row: ComparisonRow, rows: Sequence[ComparisonRow]) -> bool:
    """Whether it is the row over all sets of other conditions."""
    return row.pooled or not any(r.pooled and r.measured == row.measured for r in rows)


def _suited(rows: Sequence[ComparisonRow]) -> list[ComparisonRow]:
    """The metrics shown to people: of the rates, IOPS for random loads and MB/s for others."""
    twin = {"mb_s": "iops", "iops": "mb_s"}
    left_out = "mb_s" if rows[0].workload.startswith("random") else "iops"
    names = {row.metric for row in rows}
    doubles = {
        f"{kind}_{left_out}"
        for kind in ("mean", "end", "before", "low")
        if f"{kind}_{twin[left_out]}" in names
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
            no_wrap=heading not in ("", "not distinguished from"),
            overflow="fold",
        )
    previous = None
    for each in ranked:
        low, high = each.ci95
        table.add_row(
            "" if each.step == previous else each.step,
            f"{each.rank}{_open(each.ranks)}",
            shortened(
                str(each.group), _WIDE_NAMES[0] if console.width >= _MAX_LINE else _NARROW_GROUP
            ),
            value_text(each.value, each.value_at_least),
            "" if low is None or high is None else f"{number_text(low)} to {number_text(high)}",
            "" if each.best_share is None else f"{100 * each.best_share:.0f} %",
            _listed([shortened(str(g), _NARROW_GROUP) for g in each.not_told_apart_from]),
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
    return listed([said(name) for name in names])
