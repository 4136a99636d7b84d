"""``heatsoak demo``: the published matrix on the simulated drive."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from heatsoak.analysis import Findings, analyze
from heatsoak.bench.session import plan_session
from heatsoak.cli.common import FormatOption, OutputFormat, OutputOption, console, print_json
from heatsoak.errors import ToolError
from heatsoak.output import announce
from heatsoak.protocol import load
from heatsoak.recording import Recording
from heatsoak.recording.outputs import write_output
from heatsoak.report.page.matrix import print_matrix
from heatsoak.target import parse_place
from heatsoak.units import format_bytes

if TYPE_CHECKING:
    from heatsoak.report.files import Reported

_DRIVE = "samsung-950-pro-512"


def demo_command(
    output: OutputOption = None, output_format: FormatOption = OutputFormat.TEXT
) -> None:
    """Run Puget's matrix of M.2 slots on the simulated 950 PRO, published figures beside it."""
    directory = output or _free_directory(Path("heatsoak-demo"))
    session = plan_session(parse_place(f"sim:{_DRIVE}"), lambda: load("puget"))
    recordings = session.record(directory)
    findings = analyze(recordings)
    document = findings.model_dump_json(indent=1)
    write_output(directory / "findings.json", document + "\n")
    out = console()
    if output_format is OutputFormat.TEXT:
        print_matrix(recordings, findings, out)  # before the page, which takes a while
    page = _write_page(recordings, findings, directory / "report.html")
    if output_format is OutputFormat.JSON:
        print_json(findings.model_dump(mode="json"))
        return
    out.print(f"Recordings and findings.json are in {directory}; heatsoak analyze {directory}")
    if page is not None:
        out.print(f"All of it with charts: {page.path}, {format_bytes(page.bytes)}", soft_wrap=True)


def _write_page(
    recordings: Sequence[Recording], findings: Findings, path: Path
) -> "Reported | None":
    """The page; a build without it says so, and the demo is none the worse for it."""
    # what makes it takes a while to load, and every command loads this module
    from heatsoak.report.files import write_report

    try:
        return write_report(recordings, findings, path)
    except ToolError as error:
        announce(f"warning: no {path.name}: {error}")
        return None


def _free_directory(wanted: Path) -> Path:
    """The directory, or the first of its numbered neighbours that is not there yet."""
    path, count = wanted, 2
    while path.exists():
        path = wanted.with_name(f"{wanted.name}-{count}")
        count += 1
    return path


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo")(demo_command)
