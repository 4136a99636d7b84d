"""``heatsoak export``: write recordings in formats that other tools read."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from heatsoak.cli.common import (
    DamagedOption,
    FormatOption,
    Opened,
    OutputFormat,
    console,
    print_json,
)
from heatsoak.errors import UsageError
from heatsoak.exporter import ExportFormat, export
from heatsoak.recording import find_recordings
from heatsoak.report.lists import print_written


def export_command(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="RECORDING...", help="Recordings or directories of them."),
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            help="One file for all, a directory for one file each, or - for standard output.",
        ),
    ],
    kind: Annotated[
        ExportFormat | None,
        typer.Option("--as", help="Format; default: by the suffix of PATH."),
    ] = None,
    with_truth: Annotated[
        bool, typer.Option("--with-truth", help="Include sim.*, which only a simulator knows.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
    damaged: DamagedOption = False,
    output_format: FormatOption = OutputFormat.TEXT,
) -> int:
    """Write recordings as CSV, Parquet, OpenMetrics text, or logs for fio-plot."""
    opened = Opened()
    opened.take(
        [each for p in paths for each in find_recordings(p, opened.leave_out, damaged=damaged)]
    )
    if output == "-" and output_format is OutputFormat.JSON:
        raise UsageError("-o - and --format json cannot both use standard output")
    written = export(opened.recordings, output, kind, force=force, truth=with_truth)
    if output == "-":
        return opened.exit_code()
    rows = [asdict(file) for file in written]
    if output_format is OutputFormat.JSON:
        print_json(rows)
    else:
        print_written(rows, console())
    return opened.exit_code()


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("export")(export_command)
