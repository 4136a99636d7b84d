"""``heatsoak fit``: a model of one drive in its places, from recordings of it."""

from pathlib import Path
from typing import Annotated

import typer

from heatsoak.catalog import load_drive
from heatsoak.cli import completion
from heatsoak.cli.common import (
    DeviceOption,
    FormatOption,
    MapOption,
    OutputFormat,
    PowerOption,
    SeparateOption,
    ShiftOption,
    console,
    open_recordings,
    print_json,
)
from heatsoak.errors import UsageError
from heatsoak.recording.outputs import check_free, write_output
from heatsoak.report.page.facts import protocol_toml
from heatsoak.report.prediction import print_twin
from heatsoak.twin import Twin, fit, protocol_of


def fit_command(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="RECORDING|FILE...",
            help="Recordings of one drive, directories of them, or logs of other tools.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="TWIN.toml", help="Write the twin to this file."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
    next_run: Annotated[
        Path | None,
        typer.Option(
            "--next",
            metavar="PROTOCOL.toml",
            help="Write the run that would tell most to this file, for heatsoak run.",
        ),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(
            metavar="DRIVE",
            help="The simulated drive that everything comes from that is not fitted; "
            "by default the most similar one.",
            autocompletion=completion.drives,
        ),
    ] = None,
    mapping: MapOption = None,
    device: DeviceOption = None,
    shift_s: ShiftOption = None,
    separate: SeparateOption = False,
    power: PowerOption = None,
    output_format: FormatOption = OutputFormat.TEXT,
) -> int:
    """Fit a model of a drive in its places: its limit, and how it sheds heat.

    Recordings with the same conditions of cooling share a place.
    """
    chosen = None if base is None else load_drive(base)
    outputs = [path for path in (output, next_run) if path is not None]
    check_free(outputs, force=force, inputs=[*paths, *filter(None, (power,))])
    opened = open_recordings(paths, mapping, device, shift_s, separate=separate, power=power)
    twin = fit(opened.recordings, chosen)
    if output is not None:
        twin.save(output)
    if next_run is not None:
        _write_next(twin, next_run)
    if output_format is OutputFormat.JSON:
        print_json(twin.model_dump(mode="json"))
    else:
        print_twin(twin, console(), output, next_run)
    return opened.exit_code()


def _write_next(twin: Twin, path: Path) -> None:
    if not twin.experiments:
        raise UsageError(f"--next {path}: no run would tell much more of this drive")
    write_output(path, protocol_toml(protocol_of(twin.experiments[0], twin.full_load)))


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("fit")(fit_command)
