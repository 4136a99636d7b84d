"""A rack's results as people see them, in a terminal, on the page, as a table, or as servers do."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any
from xml.etree import ElementTree

import numpy as np
import polars as pl

from heatsoak import output, words, writing
from heatsoak.exporter.table import write_spreadsheet
from heatsoak.rack.results import reading
from heatsoak.rack.results.compared import natural
from heatsoak.ranges import Range
from heatsoak.report import files, outcomes
from heatsoak.report.page import contract
from heatsoak.report.page.packing import Packer
from heatsoak.report.rack import RackMeasure, RackReport, RackTestResult


def write(
    found: RackReport,
    rack: reading.Results,
    path: Path,
    fail_below_mb_s: float | None,
    *,
    replace: bool,
) -> int:
    """Write the results, and return how many bytes; raises ToolError if that fails."""
    kind = files.kind_of(path, files.OF_RACKS)
    with writing.output(path, replace=replace) as file:
        if kind == "page":
            files.write_page(rack_page(found, rack), file)
        elif kind == "csv":
            _write_table(found, file)
        elif kind == "ocp":
            runs = list(_runs(found, rack))
            outcomes.write_ocp(runs, file, fail_below_mb_s=fail_below_mb_s)
        elif kind == "markdown":
            file.write(_markdown(found).encode())
        else:
            _write_junit(found, file)
        return writing.size_of(file)


def _write_table(found: RackReport, file: IO[bytes]) -> None:
    """A row for each step of each test, and for each test without one."""
    keys = list(dict.fromkeys(label for test in found.tests for label in test.labels))
    schema: dict[str, type[pl.DataType]] = {
        # named as in Backblaze's drive statistics
        **dict.fromkeys(("date", "serial_number", "model"), pl.String),
        "capacity_bytes": pl.Int64,
        **dict.fromkeys(("drive", "firmware"), pl.String),
        **{f"condition.{key}": pl.String for key in keys},
        **dict.fromkeys(("recording", "state", "step"), pl.String),
        **dict.fromkeys(reading.MEASURES, pl.Float64),
        "passes": pl.Boolean,
        "why": pl.String,
    }
    rows = [{key: row.get(key) for key in schema} for row in _rows(found)]
    write_spreadsheet(pl.DataFrame(rows, schema=schema), file)


def _rows(found: RackReport) -> Iterator[dict[str, Any]]:
    drives = {one.drive: one for one in found.drives}
    for test in found.tests:
        drive = drives[test.drive]
        row = test.model_dump(include={"model", "drive", "firmware", "recording", "state"})
        row |= {"serial_number": test.serial, "capacity_bytes": test.size_bytes}
        if test.started_unix_s is not None:
            row["date"] = datetime.fromtimestamp(test.started_unix_s, UTC).date().isoformat()
        row |= {f"condition.{key}": value for key, value in test.labels.items()}
        row |= {"passes": drive.passes, "why": "; ".join(drive.why) or None}
        for step, values in test.values.items() or [(None, {})]:
            yield row | {"step": step} | values


_HEADERS = ("Drive", "Model", "Where", "Passes?", "Why not")


def _markdown(found: RackReport) -> str:
    """What is said in a terminal, and a row for each drive."""
    rows = [
        (one.drive, one.model or "", one.where, _PASSES[one.verdict][0], "; ".join(one.told))
        for one in found.drives
    ]
    table = words.markdown_table([_HEADERS, *rows])
    return "\n\n".join([found.sentence, *found.told, table, *found.not_compared, ""])


def _runs(found: RackReport, rack: reading.Results) -> Iterator[outcomes.RunOnDrive]:
    """The tests of each drive; with the first, how it is worse than others of its model."""
    tests: dict[str, list[reading.Tested]] = {}
    for test in rack.tests:
        tests.setdefault(test.drive, []).append(test)
    for drive in found.drives:
        of = tests[drive.drive]
        piece = outcomes.piece(
            name=drive.model or drive.drive,
            serial_no=drive.serial,
            revision=drive.firmware,
            location=drive.where,
            computer_system=", ".join(dict.fromkeys(one.host for one in of if one.host)),
        )
        unlike = [one for one in found.outliers if one.is_worse and one.drive == drive.drive]
        worse = "; ".join(one.sentence for one in unlike) or None
        for number, test in enumerate(of):
            where = reading.where([test], found.place_labels)
            yield outcomes.RunOnDrive(
                label=f"{test.drive} ({where})" if where else test.drive,
                drive=piece,
                findings=test.findings,
                rows=test.by_step,
                wrong=(test.state, outcomes.printable_lines(test.why[0])) if test.why else None,
                worse=None if number else worse,
            )


#: What JUnit calls why a drive does not pass.
_WHY_NOT = {"fails": "does-not-pass", "throttles": "throttles", "open": "unknown"}


def _write_junit(found: RackReport, file: IO[bytes]) -> None:
    """A case for each drive: a failure if a limit does not hold or it is worse than others of its
    model, an error if a test of it came to nothing."""
    suite = ElementTree.Element(
        "testsuite", name=outcomes.printable_lines(", ".join(found.protocols))
    )
    unfinished = {one.drive for one in found.tests if one.state != "finished"}
    for drive in found.drives:
        names = {"classname": drive.where or "rack", "name": drive.drive}
        shown = {key: outcomes.printable_lines(name) for key, name in names.items()}
        case = ElementTree.SubElement(suite, "testcase", shown)
        if not drive.passes:
            is_error = drive.drive in unfinished
            tag = "error" if is_error else "skipped" if drive.verdict == "open" else "failure"
            kind = "unfinished" if is_error else _WHY_NOT[drive.verdict]
            outcomes.add_child(case, tag, kind, drive.why[0], "\n".join(drive.why))
    outcomes.write_suites("heatsoak rack", [suite], file)


#: Digits of a mean.
_DIGITS = 4


def rack_page(found: RackReport, rack: reading.Results) -> contract.Page:
    """Return the page of what a rack's recordings show."""
    count = words.counted(len(found.drives), "drive")
    hosts = {one.host for one in found.tests if one.host}
    where = f" in {words.counted(len(hosts), 'host')}" if hosts else ""
    what = (
        f": {words.listed([words.plain(one) for one in found.protocols])}"
        if found.protocols
        else ""
    )
    return contract.Page(
        title=f"Rack of {count}{where}{what}",
        headline=contract.Headline(
            text=found.sentence,
            tone="good" if found.passed == len(found.drives) else "bad",
        ),
        rack=_section(found, rack),
        notes=[f"{words.capital(one)}." for one in found.not_compared],
        data=Packer().data(),
    )


def _section(found: RackReport, rack: reading.Results) -> contract.RackSection:
    row_key = (
        reading.HOST if any(one.host for one in found.tests) else next(iter(found.place_labels), "")
    )
    column_keys = [label for label in found.place_labels if label != row_key]
    in_places = [(_place(one, [row_key]), _place(one, column_keys)) for one in found.tests]
    rows = sorted({row for row, _ in in_places}, key=natural)
    columns = sorted({column for _, column in in_places}, key=natural)
    at = [
        {name: number for number, name in enumerate(names)}
        for names in (rows, columns, [one.drive for one in found.drives])
    ]
    tiles: dict[tuple[int, int, int], list[RackTestResult]] = {}
    for test, (row, column) in zip(found.tests, in_places, strict=True):
        tile = at[0][row], at[1][column], at[2][test.drive]
        tiles.setdefault(tile, []).append(test)
    unlike = {one.drive for one in found.outliers}
    lines = {one.drive: list(one.line) for one in reversed(rack.tests)}
    return contract.RackSection(
        row_label=words.plain(row_key),
        column_label=", ".join(map(words.plain, column_keys)),
        rows=rows,
        columns=columns,
        measures=[_chart(one) for one in found.measures],
        drives=[
            contract.RackDriveLine(
                **dict(one), is_unlike=one.drive in unlike, line=lines[one.drive]
            )
            for one in found.drives
        ],
        tiles=[
            contract.RackTile(
                row=row,
                column=column,
                drive=drive,
                values=[_mean(tests, measure) for measure in found.measures],
            )
            for (row, column, drive), tests in sorted(tiles.items())
        ],
    )


def _chart(of: RackMeasure) -> contract.RackChart:
    models: dict[str, list[contract.Delta]] = {}
    for one in of.drives:
        at = one.measured if one.own is None else one.own.mid
        models.setdefault(one.model, []).append(_delta(of, one.drive, at, one.own))
    return contract.RackChart(
        **of.model_dump(include={"name", "unit", "value_unit", "worse", "sentence"}),
        places=[
            contract.DeltaGroup(
                title=words.plain(label.label),
                deltas=[_delta(of, one.place, one.effect.mid, one.effect) for one in label.places],
                why_unknown=label.why_unknown,
            )
            for label in of.places
        ],
        models=[
            contract.DeltaGroup(title=model, deltas=deltas, why_unknown=None)
            for model, deltas in models.items()
        ],
    )


def _delta(of: RackMeasure, name: str, at: float, known: Range | None) -> contract.Delta:
    verdict = "same"
    if known is not None and known.has_sign:
        verdict = "worse" if (at < 0) == (of.worse == "low") else "better"
    return contract.Delta(name=[name], at=at, range=known, verdict=verdict)


def _place(test: RackTestResult, keys: Sequence[str]) -> str:
    return ", ".join(test.labels.get(key, "") for key in keys)


def _mean(tests: Sequence[RackTestResult], measure: RackMeasure) -> float | None:
    values = [one.values.get(measure.step, {}).get(measure.measure) for one in tests]
    known = [value for value in values if value is not None]
    return float(f"{np.mean(known):.{_DIGITS}g}") if known else None


#: By a drive's verdict: a word, and its style.
_PASSES = {
    "passes": ("yes", "green"),
    "open": ("open", "yellow"),
    "throttles": ("throttles", "bold red"),
    "fails": ("no", "bold red"),
}


def print_rack(found: RackReport, console: output.Console, *, written: Path | None = None) -> None:
    """Print the answer, what differs between places and drives, and rows of the first drives.

    A table that was `written` is not printed.
    """
    console.print(output.Text(found.sentence, style="bold"), soft_wrap=True)
    for sentence in found.told:
        console.print(output.Text(sentence), soft_wrap=True)
    if written is None:
        console.print()
        table = output.table_of(*_HEADERS)
        table.columns[-1].ratio = 1
        for one in found.drives[: words.MOST_NAMED]:
            named = map(output.Text, (one.drive, one.model or "", one.where))
            table.add_row(*named, output.Text(*_PASSES[one.verdict]), output.lines(one.told))
        console.print(table)
        if (more := len(found.drives) - words.MOST_NAMED) > 0:
            console.print(output.Text(f"and {more} more: -o FILE.csv has all"))
    better = [f"{one.drive}: {one.sentence}" for one in found.outliers if not one.is_worse]
    if better:
        said = f"unlike the others, but not worse: {words.listed(better, words.MOST_NAMED)}"
        console.print(output.Text(said), soft_wrap=True)
    for sentence in found.not_compared:
        console.print(output.Text(sentence, style="dim"), soft_wrap=True)
