"""``heatsoak analyze``: judge recordings."""

from pathlib import Path
from typing import Annotated

import typer

from heatsoak.analysis import analyze
from heatsoak.cli.common import (
    FailBelowOption,
    FailOnOption,
    Format,
    FormatOption,
    console,
    exit_code,
    print_json,
)
from heatsoak.recording import find_recordings
from heatsoak.report import print_findings


def analyze_command(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="RECORDING...", help="Recordings, or directories of them."),
    ],
    output_format: FormatOption = Format.TEXT,
    fail_on: FailOnOption = None,
    fail_below: FailBelowOption = None,
) -> int:
    """Judge recordings: does it throttle, when, by how much, and why."""
    findings = analyze(recording for path in paths for recording in find_recordings(path))
    if output_format is Format.JSON:
        print_json(findings.model_dump(mode="json"))
    else:
        print_findings(findings, console())
    return exit_code(findings, fail_on, fail_below)


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("analyze")(analyze_command)
