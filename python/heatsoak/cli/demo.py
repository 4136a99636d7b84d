"""``heatsoak demo``: the published matrix on the simulated drive."""

from pathlib import Path

import typer

from heatsoak.analysis import analyze
from heatsoak.bench.session import Session
from heatsoak.cli.common import Format, FormatOption, OutputOption, console, print_json
from heatsoak.protocol import load
from heatsoak.report import print_matrix
from heatsoak.target import parse_place

_DRIVE = "samsung-950-pro-512"


def demo_command(output: OutputOption = None, output_format: FormatOption = Format.TEXT) -> None:
    """Run Puget's matrix of M.2 slots on the simulated 950 PRO, published figures beside it."""
    directory = output or _free_directory(Path("heatsoak-demo"))
    session = Session(parse_place(f"sim:{_DRIVE}"), lambda: load("puget"))
    findings = analyze(session.record(directory))
    document = findings.model_dump_json(indent=1)
    (directory / "findings.json").write_text(document + "\n", "utf-8")
    if output_format is Format.JSON:
        print_json(findings.model_dump(mode="json"))
        return
    out = console()
    print_matrix(findings, out)
    out.print(f"Recordings and findings.json are in {directory}; heatsoak analyze {directory}")


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
