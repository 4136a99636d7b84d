"""What a condition changes: which rows people see, and tables of them for the terminal.

Scores are printed as reviews print them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import IO, Any

import polars as pl
from pydantic import BaseModel
from rich.padding import Padding
from rich.table import Table

from heatsoak import output, words
from heatsoak.analysis.definitions import METRICS
from heatsoak.comparison import Comparison, ComparisonRow, Ranked
from heatsoak.comparison.headline import summaries
from heatsoak.exporter.table import write_spreadsheet
from heatsoak.protocol import Label
from heatsoak.ranges import Range

_TONES = {"better": "green", "worse": "red", "mixed": "yellow", "alike": ""}
#: Letters of a group's name: if there is room, if there is less, and in a narrow table.
_NAMES, _NARROW_NAME = (24, 14), 8
#: What a narrow table needs besides its first column.
_NARROW_REST = 44
_ANY_WIDTH = 10_000
#: Prose in a terminal is not wider than this.
_MAX_LINE = 100
#: Rates of a step, and those that a chart has besides the mean where it has room.
_RATES = ("mean", "end", "before", "low")
_DRAWN = ("before", "low", "end", "consistency_mean")
#: Up to so many means, a chart has room; and more rows than that would not be looked at.
_FEW, _MAX_DRAWN = 6, 120


class ToldRow(BaseModel):
    """What people read of a row of a comparison; empty where nothing is known.

    Attributes:
        title: the metric with the unit of `baseline` and `value`.
        interval: of the change, with 95 %.
    """

    title: str
    change: str
    interval: str
    baseline: str
    value: str


def suited(rows: Sequence[ComparisonRow]) -> list[ComparisonRow]:
    """Return the metrics shown to people: of the rates, IOPS for random loads and MB/s for others.

    Rows of scores are all kept.
    """
    measured = {row.measured for row in rows}

    def is_double(row: ComparisonRow) -> bool:
        wanted, other = ("iops", "mb_s") if row.workload.startswith("random") else ("mb_s", "iops")
        kind = row.metric.removesuffix(f"_{other}")
        return kind in _RATES and (*row.measured[:3], f"{kind}_{wanted}") in measured

    return [row for row in rows if METRICS[row.metric].is_shown and not is_double(row)]


def drawn(rows: Sequence[ComparisonRow], groups: int) -> list[tuple[ComparisonRow, list[str]]]:
    """Return the rows of a chart of so many groups, and what each is of, as far as that differs."""
    chosen = [row for row in _drawn(rows) if row.delta_pct is not None][:_MAX_DRAWN]
    several = len({row.step for row in chosen}) > 1
    has_titles = not several or len({row.title for row in chosen}) > 1
    named = []
    for row in chosen:
        step = words.title_of(row.step) if several else ""
        title = (row.title if several else words.title_of(row.title)) if has_titles else ""
        group = str(row.group) if groups > 2 else ""
        named.append((row, [part for part in (step, row.model, title, group) if part]))
    return named


def _drawn(rows: Sequence[ComparisonRow]) -> list[ComparisonRow]:
    """Each step's rate, or the scores where there are no steps."""
    steps = suited([row for row in rows if row.definition is None])
    if not steps:
        return [row for row in rows if row.title == "score"]
    kind = {row.measured: row.metric.removesuffix("_mb_s").removesuffix("_iops") for row in steps}
    means = [row for row in steps if kind[row.measured] == "mean"]
    kinds = ("mean", *(_DRAWN if len(means) <= _FEW else ()))
    return [row for row in steps if kind[row.measured] in kinds]


def _value_text(value: float | None, at_least: float | None) -> str:
    """A value, or its lower bound: ``> 300``."""
    if value is not None:
        return words.number_text(value)
    return "" if at_least is None else f"> {words.number_text(at_least)}"


def _change_of(row: ComparisonRow) -> tuple[float | None, str, Range | None]:
    """The change as people read it, its unit, and its interval."""
    if METRICS[row.metric].scale == "difference":
        return row.delta, row.delta_unit, row.change
    return row.delta_pct, "%", row.change_pct


def told(row: ComparisonRow) -> ToldRow:
    """Return what people read of a row: each text is empty if it is not known."""
    change, unit, interval = _change_of(row)
    shown = interval and interval.rounded(1)
    return ToldRow(
        title=f"{row.title}, {row.unit}",
        change="" if change is None else words.difference_text(change, unit),
        interval=words.interval_text(shown, digits=3, signed=True) if shown else "",
        baseline=_value_text(row.baseline, row.baseline_at_least),
        value=_value_text(row.value, row.value_at_least),
    )


#: What a table of numbers has of a row.
_TEXTS = ("step", "model", "title", "unit", "group", "baseline_group", "change_unit", "verdict")
_NUMBERS = ("baseline", "value", "change", "low", "high", "runs")


def write_table(comparison: Comparison, file: IO[bytes], *, as_csv: bool) -> None:
    """Write a row for each step, metric and group that people see: numbers as CSV, or Markdown."""
    rows = summaries(suited(comparison.rows))
    if as_csv:
        schema = {**dict.fromkeys(_TEXTS, pl.String), **dict.fromkeys(_NUMBERS, pl.Float64)}
        write_spreadsheet(pl.DataFrame(map(_numbers, rows), schema), file)
        return
    head = ["step", "model", "", comparison.by, str(comparison.baseline), "value", "change"]
    lines = [[*head, "95 % interval", ""]]
    for row in rows:
        read = told(row)
        named = [row.step, row.model, read.title, str(row.group)]
        lines.append([*named, read.baseline, read.value, read.change, read.interval, row.verdict])
    kept = [column for column in zip(*lines, strict=True) if any(column[1:])]
    table = words.markdown_table([list(map(words.said, line)) for line in zip(*kept, strict=True)])
    file.write(f"{comparison.summary.text}\n\n{table}\n".encode())


def _numbers(row: ComparisonRow) -> dict[str, Any]:
    change, unit, known = _change_of(row)
    ends = {"low": known.low, "high": known.high} if known else {}
    named = {name: str(value) if name in _TEXTS else value for name, value in row}
    return {**named, "change": change, "change_unit": unit, **ends}


def _verdict_text(row: ComparisonRow) -> output.Text:
    text = "not shown" if row.verdict == "no difference shown" else row.verdict
    return output.Text(text, style=_TONES.get(row.verdict, ""))


_CONVENTION = (
    "'change': + means more than the baseline. 'better by' is positive where the group is better: "
    "more MB/s, or fewer us."
)


def _print_scores(comparison: Comparison, console: output.Console) -> list[ComparisonRow]:
    """Print the scores, with their steps if there are several; return the rows shown."""
    scores = summaries([row for row in comparison.rows if row.definition is not None])
    if not scores:
        return []
    console.print()
    console.print(output.Text("Scores", style="bold"))
    console.print(output.Text(_CONVENTION, style="dim"))
    shown: list[_Line] = []
    several = len({(row.protocol, row.model) for row in scores}) > 1
    for (protocol, model), rows in groupby(scores, key=lambda row: (row.protocol, row.model)):
        if several:
            shown.append(_Line(", ".join(filter(None, (protocol, model)))))
        for row in rows:
            name = row.step if row.title == "score" else f"  {row.title}"
            shown.append(_Line(f"{name}, {row.unit}", row))
    _print_lines(shown, comparison, console, with_sign=True)
    for name, definition in dict.fromkeys((row.step, row.definition) for row in scores):
        console.print(
            Padding(output.Text(f"{name}: {definition}", style="dim"), (0, 0, 0, 2), expand=False)
        )
    for row in scores:
        if len(row.steps) > 1 and row.title == "score" and row.group == comparison.groups[1]:
            _print_steps(row, scores, comparison, console)
    return scores


def _print_steps(
    score: ComparisonRow,
    scores: Sequence[ComparisonRow],
    comparison: Comparison,
    console: output.Console,
) -> None:
    """One row per step, and the resulting score last."""
    metric = f"mean_{score.metric.removeprefix('score_')}"
    steps = summaries(
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
    console.print(output.Text(f"{score.step}, {score.unit}, step by step", style="bold"))
    shown = [
        _Line(f"{row.step}  {row.workload}" if number == 0 else "", row)
        for _, rows in groupby(steps, key=lambda row: row.step)
        for number, row in enumerate(rows)
    ]
    shown += [_Line("mean (the score)", row) for row in scores if row.measured == score.measured]
    _print_lines(shown, comparison, console)


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
    shown: Sequence[_Line],
    comparison: Comparison,
    console: output.Console,
    *,
    with_sign: bool = False,
) -> None:
    """Print a table; in a narrow terminal with shorter names, and intervals below the changes."""
    for letters in _NAMES:
        table = _table(shown, comparison, letters, with_sign=with_sign)
        needed = console.measure(table, options=console.options.update(width=_ANY_WIDTH)).maximum
        if needed <= console.width:
            console.print(table)
            return
    table = _table(shown, comparison, _NARROW_NAME, is_narrow=True)
    table.columns[0].max_width = max(12, console.width - _NARROW_REST)
    console.print(table)


def _table(
    shown: Sequence[_Line],
    comparison: Comparison,
    letters: int,
    *,
    with_sign: bool = False,
    is_narrow: bool = False,
) -> Table:
    """A row for each line; a narrow table has groups below names, and intervals below changes."""
    has_groups = len(comparison.groups) > 2 or any(line.is_detail for line in shown)
    has_counts = any(line.count for line in shown) and not is_narrow
    baseline, value = (words.shortened(str(group), letters) for group in comparison.groups[:2])
    numbers = [baseline, "value" if has_groups else value, "change"]
    numbers += ["better by"] if with_sign else []
    numbers += [] if is_narrow else ["95 % interval"]
    numbers += ["higher in"] if has_counts else []
    has_column = has_groups and not is_narrow
    groups = [comparison.by] if has_column else []
    table = output.table_of("", *groups, *numbers, "difference", numbers=numbers)
    table.columns[-1].no_wrap = True
    for line in shown:
        row = line.row
        if row is None:
            table.add_row(output.Text(line.name, style="italic"))
            continue
        group = line.group or words.shortened(str(row.group), letters)
        name = line.name
        if has_groups and is_narrow:
            if name:
                table.add_row(output.Text(name))
            name = f"  {group}"
        read = told(row)
        better_by = (
            "" if row.better_by_pct is None else words.difference_text(row.better_by_pct, "%")
        )
        table.add_row(
            output.Text(name),
            *([output.Text(group)] if has_column else []),
            read.baseline,
            read.value,
            output.lines([read.change, read.interval])
            if is_narrow and read.interval
            else read.change,
            *([better_by] if with_sign else []),
            *([] if is_narrow else [read.interval]),
            *([line.count] if has_counts else []),
            _verdict_text(row),
            style="dim" if line.is_detail else "",
        )
    return table


_ONE = "one run"
_INTERVAL_NOTES = {
    None: "one run each: nothing tells how far the next run may differ, so none is called better",
    "runs": "several runs in a group: the interval covers differences between runs",
    "drives": "several drives in a group: the interval covers differences between drives",
    "conditions": "1 run each in several other conditions: the interval covers how the change "
    "differs between those",
}


def print_comparison(
    comparison: Comparison, console: output.Console, *, each: bool = False
) -> None:
    """Print the result of each step, and the ranking of the groups.

    With `each`, each set of other conditions is listed below the result over all sets.
    """
    comparison = comparison if each else _fewer(comparison)
    _print_title(comparison, console)
    shown = _print_scores(comparison, console)
    steps = [row for row in comparison.rows if row.definition is None]
    for _, of_step in groupby(steps, key=lambda row: row.measured[:3]):
        rows = suited(list(of_step))
        rows = rows if each else summaries(rows)
        console.print()
        _print_step(rows, comparison, console)
        shown += rows
    if len(comparison.groups) > 2:
        for metric in dict.fromkeys(each.metric for each in comparison.ranking):
            console.print()
            ranked = [each for each in comparison.ranking if each.metric == metric]
            _print_ranking(ranked, comparison.by, console)
    _print_notes(comparison, shown, console)


def _fewer(comparison: Comparison) -> Comparison:
    """The groups whose speed differs most from the baseline's."""
    by: dict[Label, float] = dict.fromkeys(comparison.groups[1:], 0.0)
    for row in comparison.rows:
        if row.metric.startswith(("mean_", "score_")):
            by[row.group] = max(by[row.group], abs(row.delta_pct or 0.0))
    kept = [comparison.baseline, *sorted(by, key=lambda group: -by[group])[: words.MOST_NAMED]]
    lists = ("rows", "headlines", "ranking")
    fewer = {
        name: [one for one in getattr(comparison, name) if one.group in kept] for name in lists
    }
    return comparison.model_copy(update=fewer)


def _print_title(comparison: Comparison, console: output.Console) -> None:
    baseline, *others = comparison.groups
    width = min(console.width, _MAX_LINE) if console.is_terminal else console.width
    summary = comparison.summary
    if len(comparison.headlines) > 1:
        console.print(output.Text(summary.text, style=f"bold {_TONES[summary.tone]}"), width=width)
    for headline in comparison.headlines:
        console.print(output.Text(headline.text, style=_TONES[headline.tone]), width=width)
        if len(comparison.headlines) == 1 and headline.details:
            console.print(output.Text(" ".join(headline.details)), width=width)
    console.print()
    title = output.Text(
        f"{comparison.by}: {_listed(others)} compared with {words.said(baseline)}", style="bold"
    )
    console.print(title)
    console.print(output.Text(f"{_listed(comparison.drives)}; {_listed(comparison.protocols)}"))
    console.print(
        output.Text(
            f"Changes are relative to {comparison.by} '{baseline}': + means more (for MB/s and "
            "IOPS: faster), - means less.",
            style="dim",
        )
    )


def _print_step(
    rows: Sequence[ComparisonRow], comparison: Comparison, console: output.Console
) -> None:
    first = rows[0]
    name = first.step if len(comparison.protocols) == 1 else f"{first.protocol}: {first.step}"
    name += f", {first.model}" if first.model else ""
    console.print(output.Text(name, style="bold").append(f"  {first.workload}", style="not bold"))
    shown = []
    previous = None
    for row in rows:
        title = "" if row.metric == previous else told(row).title
        previous = row.metric
        is_detail = not row.pooled and any(r.pooled and r.metric == row.metric for r in rows)
        name = words.shortened(str(row.group), _NAMES[-1])
        group = f"  {name}{_where(row, rows)}" if is_detail else ""
        count = f"{row.pairs_higher} of {row.pairs}" if row.pooled else ""
        shown.append(_Line(title, row, group, count, is_detail))
    _print_lines(shown, comparison, console)


def _where(row: ComparisonRow, rows: Sequence[ComparisonRow]) -> str:
    """The conditions that distinguish one set from the others."""
    alike = next(r for r in rows if r.pooled and r.metric == row.metric).other_conditions
    apart = [f"{key} {value}" for key, value in row.other_conditions.items() if key not in alike]
    return f" {', '.join(apart)}" if apart else ""


def _print_ranking(ranked: Sequence[Ranked], by: str, console: output.Console) -> None:
    first = ranked[0]
    metric = METRICS[first.metric]
    of = "highest" if metric.better == "higher" else "lowest"
    console.print(
        output.Text("Rank by ", style="bold").append(
            f"{metric.title}, {metric.unit}; the {of} is best"
        )
    )
    numbers = ("rank", metric.unit, "95 % interval", "best in")
    table = output.table_of("", "rank", by, *numbers[1:], "not distinguished from", numbers=numbers)
    letters = _NAMES[0] if console.width >= _MAX_LINE else _NARROW_NAME
    previous = None
    for each in ranked:
        ends = [end for end in each.ci95 if end is not None]
        table.add_row(
            "" if each.step == previous else each.step,
            f"{each.rank}{_possible(each.ranks)}",
            output.Text(words.shortened(str(each.group), letters)),
            _value_text(each.value, each.value_at_least),
            words.span_text(ends, digits=3) if ends else "",
            "" if each.best_share is None else words.percent_text(100 * each.best_share),
            _listed([words.shortened(str(g), _NARROW_NAME) for g in each.not_told_apart_from]),
        )
        previous = each.step
    console.print(table)


def _possible(ranks: tuple[int, int]) -> str:
    """The range of ranks that the data permit."""
    low, high = ranks
    return "" if low == high else f" ({low}-{high})"


def _print_notes(
    comparison: Comparison, rows: Sequence[ComparisonRow], console: output.Console
) -> None:
    groups = len(comparison.groups)
    bases = dict.fromkeys(row.interval_of for row in rows if row.interval_of or row.verdict == _ONE)
    notes = [_INTERVAL_NOTES[basis] for basis in bases]
    if groups > words.MOST_NAMED + 1:
        notes.append(
            f"{words.MOST_NAMED} of {groups - 1} are shown that differ most: -o FILE.csv has all"
        )
    if any(row.pooled for row in rows):
        notes.append("'higher in': in how many sets of other conditions; --each lists them")
    if groups > 2:
        notes.append(
            f"{groups - 1} comparisons: 'better' and 'worse' are corrected for that "
            "(Benjamini-Hochberg), intervals are not"
        )
        notes.append(
            "groups share a rank if no difference is shown; possible ranks are in brackets"
        )
        notes.append("'best in': how likely a group is the best")
    console.print()
    for text in notes:
        console.print(output.Text(f"note: {text}", style="dim"))
    for note in comparison.notes:
        console.print(output.Text(f"note: {note}", style="yellow"))
    for caveat in comparison.caveats:
        console.print(output.Text(f"warning: not alike: {caveat}", style="red"))


def _listed(names: Iterable[Label]) -> str:
    return words.listed([words.said(name) for name in names], words.MOST_NAMED)
