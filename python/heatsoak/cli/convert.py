"""``heatsoak import`` and ``export``: other tools' logs to recordings, and recordings to theirs."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from heatsoak.cli.common import (
    DamagedOption,
    DeviceOption,
    ForceOption,
    FormatOption,
    LabelOption,
    MapOption,
    Opened,
    OutputFormat,
    SeparateOption,
    ShiftOption,
    progress_bar,
    show,
)
from heatsoak.errors import UsageError
from heatsoak.exporter import ExportFormat, export
from heatsoak.protocol import read_labels
from heatsoak.recording import find_recordings, require_new, save_all
from heatsoak.report.lists import imported_rows, print_imported, print_written


def import_command(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...", help="Logs of any supported tool, or directories of logs."
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Output directory; must be new or empty.")
    ],
    mapping: MapOption = None,
    device: DeviceOption = None,
    labels: LabelOption = None,
    shift_s: ShiftOption = None,
    separate: SeparateOption = False,
    into: Annotated[
        Path | None,
        typer.Option(
            "--into",
            metavar="RECORDING",
            help="Add the power from a meter's log to a copy of this recording.",
        ),
    ] = None,
    output_format: FormatOption = OutputFormat.TEXT,
) -> int:
    # the readers take a while to load, and every command loads this module
    from heatsoak.importer import Options, import_files, save_with_meter

    require_new(output)
    options = Options.of(mapping or [], device)
    if into is not None:
        if len(files) > 1 or labels or separate:
            raise UsageError("--into takes one meter's log, no labels and no --separate")
        made = [save_with_meter(into, files[0], output, options, shift_s=shift_s)]
    else:
        with progress_bar(stays=False) as progress:
            imported = import_files(
                files,
                options,
                conditions=read_labels(labels or []),
                shift_s=shift_s,
                joins=not separate,
                progress=progress,
            )
        made = save_all(imported, output)
    show(imported_rows(made), output_format, print_imported)
    return 0


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
    force: ForceOption = False,
    damaged: DamagedOption = False,
    output_format: FormatOption = OutputFormat.TEXT,
) -> int:
    opened = Opened()
    opened.take(
        [each for p in paths for each in find_recordings(p, opened.leave_out, damaged=damaged)]
    )
    if output == "-" and output_format is OutputFormat.JSON:
        raise UsageError("-o - and --format json cannot both use standard output")
    written = export(opened.recordings, output, kind, force=force, truth=with_truth)
    if output == "-":
        return opened.exit_code()
    show([asdict(file) for file in written], output_format, print_written)
    return opened.exit_code()
