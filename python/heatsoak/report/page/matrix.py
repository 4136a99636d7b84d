"""The matrix, on the page and in the terminal: one cell per set of conditions.

Published figures stand next to the findings where there are any.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Literal

import numpy as np
from rich.table import Table

from heatsoak import analysis, catalog, output, words
from heatsoak.analysis.findings import Claim
from heatsoak.analysis.names import Named, Names, names_of
from heatsoak.analysis.view import RecordingView
from heatsoak.facts.table import Row, rows_of
from heatsoak.protocol import Protocol
from heatsoak.recording import Recording
from heatsoak.report.page import contract

#: More conditions would make an unreadable table.
_MAX_KEYS = 4
#: The drive in the published table.
_PUBLISHED_DRIVE = "950 PRO"
_ONSET, _DEPTH, _MEAN = "onset_s", "depth_pct", "mean_mb_s"
_HEADINGS = {"slot": "Slot", "gpus": "GPUs", "gpu_load": "Load"}


def print_matrix(
    recordings: Sequence[Recording], findings: analysis.Findings, console: output.Console
) -> None:
    """Print when and how far each cell falls, and how many of the published figures hold."""
    rows = list(map(rows_of, map(RecordingView, recordings), findings.recordings))
    found = matrix(names_of(recordings), rows, ())
    if found is None:
        return
    table = Table(title="Throttled by about X % after about Y s", title_justify="left")
    ours = "simulated" if all(r.drive.get("simulated") for r in findings.recordings) else "measured"
    keys = list(found.cells[0].conditions)
    for key in keys:
        table.add_column(_HEADINGS.get(key, key), justify="right" if key == "gpus" else "left")
    for quantity in ("Onset, s", "Depth, %"):
        table.add_column(output.lines((quantity, ours)), justify="right")
        table.add_column(output.lines(("", "published")), justify="right")
        table.add_column("")
    previous = None
    for cell in found.cells:
        row = cell.conditions[found.row_key]
        if previous is not None and row != previous:
            table.add_section()
        previous = row
        figures = [part for name in (_ONSET, _DEPTH) for part in _in_table(cell.values.get(name))]
        table.add_row(*(cell.conditions[key] for key in keys), *figures)
    console.print(table)
    if found.held is not None:
        console.print(found.held)


def _in_table(figure: contract.MatrixFigure | None) -> tuple[str, str, output.Text]:
    """A figure, what was published, and whether it holds."""
    if figure is None:
        return "", "", output.Text("")
    published = "-".join(dict.fromkeys(map(words.number_text, figure.published or ())))
    marks = {True: output.Text("ok", style="green"), False: output.Text("off", style="red")}
    ours = words.known_text(figure.value, partial(words.number_text, digits=1), figure.text)
    return ours, published, marks.get(figure.holds, output.Text(""))  # type: ignore[arg-type]


@dataclass(frozen=True)
class _Member:
    number: int
    named: Named
    rows: list[Row]


def matrix(
    names: Names, rows: Sequence[Mapping[str, Row]], workloads: Sequence[contract.WorkloadSection]
) -> contract.MatrixSection | None:
    """Return the matrix of the conditions in which recordings differ.

    None if they do not differ, or if nothing was measured that it could show.
    """
    keys = _keys(names)
    if not 1 <= len(keys) <= _MAX_KEYS:
        return None
    order = {key: _order(names, key) for key in keys}
    row_key = max(keys, key=lambda key: len(order[key]))
    by_cell: dict[tuple[str, ...], list[_Member]] = {}
    for number, (named, by_step) in enumerate(zip(names.recordings, rows, strict=True)):
        place = tuple(_text(named, key) for key in keys)
        by_cell.setdefault(place, []).append(_Member(number, named, list(by_step.values())))
    metrics = list(_metrics(workloads))
    cells = [
        contract.MatrixCell(
            recording=members[0].number,
            conditions=dict(zip(keys, place, strict=True)),
            verdict=_verdict([row for member in members for row in member.rows]),
            values=_values(members, metrics, workloads),
        )
        for place, members in by_cell.items()
    ]
    if not any(cell.values for cell in cells):
        return None
    metrics = [_rated(metric, cells, list(by_cell.values()), workloads) for metric in metrics]
    held, source = _held(cells)
    return contract.MatrixSection(
        row_key=row_key,
        column_keys=[key for key in keys if key != row_key],
        order=order,
        metrics=metrics,
        cells=cells,
        held=held,
        source=source,
    )


def _keys(names: Names) -> list[str]:
    """The keys in the order of the protocol's axes, then the others.

    One of the others that only changes together with those before it would add but empty cells.
    """
    axes: dict[str, None] = {}
    for named in names.recordings:
        protocol = named.recording.meta.protocol
        if isinstance(protocol, Protocol) and protocol.matrix is not None:
            axes.update(dict.fromkeys(protocol.matrix.axes))
    kept = [key for key in axes if key in names.keys]

    def cells(keys: Sequence[str]) -> int:
        return len({tuple(_text(named, key) for key in keys) for named in names.recordings})

    for key in names.keys:
        if key not in axes and cells([*kept, key]) > cells(kept):
            kept.append(key)
    return kept


def _order(names: Names, key: str) -> list[str]:
    """The values: in the order of the protocol's axis, else numbers ascending, else as they
    come."""
    given = list(dict.fromkeys(_text(named, key) for named in names.recordings))
    for named in names.recordings:
        protocol = named.recording.meta.protocol
        if isinstance(protocol, Protocol) and protocol.matrix is not None:
            axis = [str(value) for value in protocol.matrix.axes.get(key, [])]
            if axis:
                return [v for v in axis if v in given] + [v for v in given if v not in axis]
    try:
        return sorted(given, key=float)
    except ValueError:
        return given


def _text(named: Named, key: str) -> str:
    value = named.conditions.get(key)
    return "not said" if value is None else str(value)


def _metrics(workloads: Sequence[contract.WorkloadSection]) -> Iterator[contract.MatrixMetric]:
    of_published = {chart.step in catalog.PUGET_STEPS for chart in workloads}
    whose = "Sequential: falls" if len(of_published) > 1 else "Falls"
    by = "by (last 60 s)" if True in of_published else "by"
    yield contract.MatrixMetric(id=_ONSET, label=f"{whose} after", unit="s", worse="low")
    yield contract.MatrixMetric(id=_DEPTH, label=f"{whose} {by}", unit="%", worse="high")
    for chart in workloads:
        kinds: list[tuple[str, str, str, Literal["low", "high"]]] = [
            (_ONSET, "falls after", "s", "low"),
            (_DEPTH, "falls by", "%", "high"),
        ]
        if any(line.level_mb_s is not None for line in chart.lines):
            kinds.append((_MEAN, "mean", "MB/s", "low"))
        for kind, what, unit, worse in kinds:
            yield contract.MatrixMetric(
                id=f"{chart.id}.{kind}",
                label=f"{chart.title}: {what}",
                unit=unit,
                worse=worse,
                workload=chart.id,
            )


def _values(
    members: Sequence[_Member],
    metrics: Sequence[contract.MatrixMetric],
    workloads: Sequence[contract.WorkloadSection],
) -> dict[str, contract.MatrixFigure]:
    found = {}
    for metric in metrics:
        figure = _figure(metric, _steps(members, metric, workloads))
        if figure is not None:
            found[metric.id] = _with_published(figure, metric, members[0])
    return found


def _steps(
    members: Sequence[_Member],
    metric: contract.MatrixMetric,
    workloads: Sequence[contract.WorkloadSection],
) -> list[list[Row]]:
    """The steps that a metric is about, for each run that has any."""
    found = []
    for member in members:
        if metric.workload is None:
            found.append(_summarised(member.rows))
        else:
            lines = next(one.lines for one in workloads if one.id == metric.workload)
            own = [line.step for line in lines if line.recording == member.number]
            found.append([member.rows[step] for step in own if step is not None])
    return [steps for steps in found if steps]


#: What a drive can take before it falls, which a faster drive uses up in less time.
_CAPACITIES = ("spare-area", "write-cache")
_RATED_BY = {
    _ONSET: "Colours show how much was written until it fell: a faster drive falls sooner.",
    _DEPTH: "Colours show the level that is left: a faster drive falls from a higher one.",
}


def _rated(
    metric: contract.MatrixMetric,
    cells: Sequence[contract.MatrixCell],
    by_cell: Sequence[Sequence[_Member]],
    workloads: Sequence[contract.WorkloadSection],
) -> contract.MatrixMetric:
    """The metric; cells that all fall for want of space are coloured by what that is worth."""
    kind = metric.id.rpartition(".")[2]
    if kind not in _RATED_BY:
        return metric
    rated: list[float] = []
    for members in by_cell:
        runs = [_worth(kind, steps) for steps in _steps(members, metric, workloads)]
        known = [value for value in runs if value is not None]
        if not known or len(known) < len(runs):
            return metric
        rated.append(float(np.mean(known)))
    for cell, value in zip(cells, rated, strict=True):
        if metric.id in cell.values:
            update = {"rated": value}
            cell.values[metric.id] = cell.values[metric.id].model_copy(update=update)
    return metric.model_copy(update={"rated_by": _RATED_BY[kind]})


def _worth(kind: str, steps: Sequence[Row]) -> float | None:
    """GB until the fall, or minus the level after it, if only capacity makes it fall."""
    fell = [row for row in steps if _ONSET in row]
    causes = {cause for row in fell for cause in (row["fell_by"] or "").split(", ")}
    if not causes or causes.difference(_CAPACITIES):
        return None
    if kind == _ONSET:
        return min(fell, key=itemgetter(_ONSET)).get("onset_gb")
    level = max(fell, key=itemgetter(_DEPTH)).get("low_mb_s")
    return None if level is None else -level


def _summarised(steps: list[Row]) -> list[Row]:
    """The steps that the matrix is about: the published ones, if they were run."""
    return [row for row in steps if row["step"] in catalog.PUGET_STEPS] or steps


def _figure(
    metric: contract.MatrixMetric, runs: Sequence[Sequence[Row]]
) -> contract.MatrixFigure | None:
    """The mean over runs of each run's earliest onset, deepest fall, or mean rate."""
    if not runs:
        return None
    if all(row["what"] in ("hot", "unseen") for steps in runs for row in steps):
        return contract.MatrixFigure(value=None, text="not judged")
    kind = metric.id.rpartition(".")[2]
    values = [value for steps in runs if (value := _of_run(metric, steps)) is not None]
    if not values:
        verdict = _verdict([step for steps in runs for step in steps])
        return contract.MatrixFigure(value=None, text=verdict if kind != _MEAN else "not measured")
    mean = float(np.mean(values))
    text = words.amount_text(mean, metric.unit, 2 if kind == _MEAN else 1)
    if len(values) < len(runs):
        text += f" in {len(values)} of {len(runs)} runs"
    return contract.MatrixFigure(value=mean, text=text)


def _of_run(metric: contract.MatrixMetric, steps: Sequence[Row]) -> float | None:
    kind = metric.id.rpartition(".")[2]
    if metric.id == _DEPTH and steps[0]["step"] in catalog.PUGET_STEPS:
        kind = "depth_at_end_pct"  # as in the published figures, which stand beside it
    # what held its speed fell by nothing
    found = [row[kind] for row in steps if kind in row and (kind == _MEAN or _ONSET in row)]
    if not found:
        return None
    return float(np.mean(found) if kind == _MEAN else min(found) if kind == _ONSET else max(found))


def _with_published(
    figure: contract.MatrixFigure, metric: contract.MatrixMetric, member: _Member
) -> contract.MatrixFigure:
    """The figure, with the published one for the same cell of the same drive."""
    cell = _published(member)
    if cell is None or metric.id not in (_ONSET, _DEPTH):
        return figure
    bounds = cell.onset_s if metric.id == _ONSET else cell.depth_pct
    check = cell.onset_holds if metric.id == _ONSET else cell.depth_holds
    text = words.span_text(bounds, metric.unit, 3)
    holds = figure.value is not None and check(figure.value)
    update = {"published": bounds, "published_text": text, "holds": holds}
    return figure.model_copy(update=update)


def _published(member: _Member) -> catalog.PugetCell | None:
    meta = member.named.recording.meta
    conditions = meta.conditions
    if not {"slot", "gpus", "gpu_load"} <= conditions.keys():
        return None
    if _PUBLISHED_DRIVE not in str(meta.drive.get("model")) or meta.protocol.name != "puget":
        return None
    gpus = conditions["gpus"]
    if not isinstance(gpus, int):
        return None
    return catalog.puget_cell(str(conditions["slot"]), gpus, str(conditions["gpu_load"]))


def _verdict(steps: Sequence[Row]) -> str:
    """The verdict of the step that falls deepest; if none does, the worst of their verdicts."""

    def rank(row: Row) -> tuple[float, ...]:
        return -row.get(_DEPTH, 0.0), *Claim(
            **{key: row[key] for key in ("what", "heat", "loss_pct")}
        ).rank

    return min(steps, key=rank)["verdict"] if steps else "unknown"


def _held(cells: Sequence[contract.MatrixCell]) -> tuple[str | None, str | None]:
    parts = []
    for metric, name in ((_ONSET, "onsets"), (_DEPTH, "depths")):
        known = [cell.values[metric].holds for cell in cells if metric in cell.values]
        known = [holds for holds in known if holds is not None]
        if known:
            parts.append(f"{sum(map(bool, known))} of {len(known)} {name}")
    if not parts:
        return None, None
    article = catalog.published().articles["puget"]
    return (
        f"{words.listed(parts)} are within the published ranges and their tolerance.",
        f"{article.publisher}, {article.title}, {article.date}",
    )
