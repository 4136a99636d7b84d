"""``heatsoak import``: other tools' logs into recordings."""

from pathlib import Path
from typing import Annotated

import typer

from heatsoak.cli.common import (
    DeviceOption,
    Format,
    FormatOption,
    LabelOption,
    MapOption,
    SeparateOption,
    ShiftOption,
    console,
    print_json,
    progress_bar,
)
from heatsoak.protocol import read_labels
from heatsoak.recording import save_all
from heatsoak.report import imported_rows, print_imported


def import_command(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Logs of any tool that is known, or directories."),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Directory to write into; must be new.")
    ],
    mapping: MapOption = None,
    device: DeviceOption = None,
    labels: LabelOption = None,
    shift_s: ShiftOption = None,
    separate: SeparateOption = False,
    output_format: FormatOption = Format.TEXT,
) -> int:
    """Make recordings of other tools' logs; logs of the same time become one."""
    # the readers take a while to load, and every command loads this module
    from heatsoak.importer import Options, import_files

    with progress_bar(stays=False) as progress:
        held = import_files(
            files,
            Options.of(mapping or [], device),
            conditions=read_labels(labels or []),
            shift_s=shift_s,
            joins=not separate,
            progress=progress,
        )
    rows = imported_rows(save_all(held, output))
    if output_format is Format.JSON:
        print_json(rows)
    else:
        print_imported(rows, console())
    return 0


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("import")(import_command)
