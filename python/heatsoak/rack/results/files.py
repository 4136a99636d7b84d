"""A rack's results as a file: the page, a table, or JUnit XML for build servers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl

from heatsoak.errors import UsageError
from heatsoak.exporter.table import write_spreadsheet
from heatsoak.rack.results.findings import RackReport
from heatsoak.rack.results.measures import MEASURES
from heatsoak.rack.results.page import rack_page
from heatsoak.rack.results.reading import Results
from heatsoak.recording.outputs import check_free, replacing
from heatsoak.report.files import kind_of
from heatsoak.report.junit import add_child
from heatsoak.report.page.html import Bundle, render
from heatsoak.report.steps import printable_lines

_KINDS = ("page", "csv", "junit")


def check(path: Path, *, force: bool) -> None:
    """Raise, before any work, UsageError if the results cannot be written there, and ToolError if
    a page is asked for but its program was not built."""
    kind = kind_of(path)
    if kind not in _KINDS:
        raise UsageError(f"{path}: a rack has no picture of its own: use .html, .csv or .xml")
    check_free([path], force=force)
    if kind == "page":
        Bundle.load()


def write(found: RackReport, rack: Results, path: Path) -> int:
    """Write the results, and return how many bytes; raises ToolError if that fails."""
    kind = kind_of(path)
    with replacing(path) as partial:
        if kind == "page":
            partial.write_text(render(rack_page(found, rack), Bundle.load()), "utf-8", newline="\n")
        elif kind == "csv":
            _write_table(found, partial)
        else:
            _write_junit(found, partial)
        return partial.stat().st_size


def _write_table(found: RackReport, partial: Path) -> None:
    """A row for each step of each test, and for each test without one."""
    keys = list(dict.fromkeys(label for test in found.tests for label in test.labels))
    schema: dict[str, type[pl.DataType]] = {
        **dict.fromkeys(("drive", "serial", "model", "firmware"), pl.String),
        **{f"condition.{key}": pl.String for key in keys},
        **dict.fromkeys(("recording", "state", "step"), pl.String),
        **{measure.id: pl.Float64 for measure in MEASURES},
        "passes": pl.Boolean,
        "why": pl.String,
    }
    rows = [{key: row.get(key) for key in schema} for row in _rows(found)]
    write_spreadsheet(pl.DataFrame(rows, schema=schema), partial)


def _rows(found: RackReport) -> Iterator[dict[str, Any]]:
    drives = {one.drive: one for one in found.drives}
    for test in found.tests:
        drive = drives[test.drive]
        names = {"drive", "serial", "model", "firmware", "recording", "state"}
        row = test.model_dump(include=names)
        row |= {f"condition.{key}": value for key, value in test.labels.items()}
        row |= {"passes": drive.passes, "why": "; ".join(drive.why) or None}
        if not test.values:
            yield row
        for step, values in test.values.items():
            yield row | {"step": step} | values


#: What JUnit calls why a drive does not pass.
_WHY_NOT = {"fails": "does-not-pass", "throttles": "throttles", "open": "unknown"}


def _write_junit(found: RackReport, path: Path) -> None:
    """A case for each drive: a failure if a limit does not hold or it is worse than others of its
    model, an error if a test of it came to nothing."""
    root = ElementTree.Element("testsuites", name="heatsoak rack")
    protocols = printable_lines(", ".join(found.protocols))
    suite = ElementTree.SubElement(root, "testsuite", name=protocols)
    unfinished = {one.drive for one in found.tests if one.state != "finished"}
    counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for drive in found.drives:
        names = {"classname": drive.where or "rack", "name": drive.drive}
        shown = {key: printable_lines(name) for key, name in names.items()}
        case = ElementTree.SubElement(suite, "testcase", shown)
        counts["tests"] += 1
        if not drive.passes:
            is_error = drive.drive in unfinished
            tag = "error" if is_error else "skipped" if drive.verdict == "open" else "failure"
            kind = "unfinished" if is_error else _WHY_NOT[drive.verdict]
            add_child(case, tag, kind, drive.why[0], "\n".join(drive.why))
            counts["skipped" if tag == "skipped" else f"{tag}s"] += 1
    for key, value in counts.items():
        suite.set(key, str(value))
        root.set(key, str(value))
    ElementTree.indent(root)
    ElementTree.ElementTree(root).write(path, "utf-8", xml_declaration=True)
