"""``heatsoak import``: convert other tools' logs to recordings."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heatsoak.cli.common import (
    DeviceOption,
    FormatOption,
    LabelOption,
    MapOption,
    OutputFormat,
    SeparateOption,
    ShiftOption,
    console,
    print_json,
    progress_bar,
)
from heatsoak.errors import UsageError
from heatsoak.protocol import read_labels
from heatsoak.recording import require_new, save_all
from heatsoak.report.lists import imported_rows, print_imported

if TYPE_CHECKING:
    from heatsoak.importer import Options


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
    """Convert other tools' logs to recordings; logs of the same time are joined."""
    # the readers take a while to load, and every command loads this module
    from heatsoak.importer import Options, import_files

    require_new(output)
    if into is not None:
        options = Options.of(mapping or [], device)
        if len(files) > 1 or labels or separate:
            raise UsageError("--into takes one meter's log, no labels and no --separate")
        return _import_power(files[0], into, output, options, shift_s, output_format)
    with progress_bar(stays=False) as progress:
        imported = import_files(
            files,
            Options.of(mapping or [], device),
            conditions=read_labels(labels or []),
            shift_s=shift_s,
            joins=not separate,
            progress=progress,
        )
    return _print(imported_rows(save_all(imported, output)), output_format)


def _import_power(
    file: Path,
    into: Path,
    output: Path,
    options: "Options",
    shift_s: float | None,
    output_format: OutputFormat,
) -> int:
    from heatsoak.importer import save_with_meter

    return _print(
        imported_rows([save_with_meter(into, file, output, options, shift_s=shift_s)]),
        output_format,
    )


def _print(rows: list[dict[str, Any]], output_format: OutputFormat) -> int:
    if output_format is OutputFormat.JSON:
        print_json(rows)
    else:
        print_imported(rows, console())
    return 0


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("import")(import_command)
