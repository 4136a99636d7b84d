"""``heatsoak fit``: a model of one drive in its places, from recordings of it."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from heatsoak.catalog import load_drive
from heatsoak.cli import completion
from heatsoak.cli.common import (
    DeviceOption,
    ForceOption,
    FormatOption,
    MapOption,
    OutputFormat,
    PowerOption,
    RecordingsArgument,
    SeparateOption,
    ShiftOption,
    drive_id,
    open_recordings,
    show,
)
from heatsoak.errors import UsageError
from heatsoak.recording.files import check_free, write_output
from heatsoak.report.page.facts import protocol_toml
from heatsoak.report.prediction import print_twin
from heatsoak.twin import Twin, fit, protocol_of


def fit_command(
    paths: RecordingsArgument,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="TWIN.toml", help="Write the twin to this file."),
    ] = None,
    force: ForceOption = False,
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
            parser=drive_id,
            help="The simulated drive that everything comes from that is not fitted; "
            "by default the most similar one.",
            autocompletion=completion.simulated,
        ),
    ] = None,
    mapping: MapOption = None,
    device: DeviceOption = None,
    shift_s: ShiftOption = None,
    separate: SeparateOption = False,
    power: PowerOption = None,
    output_format: FormatOption = OutputFormat.TEXT,
) -> int:
    chosen = None if base is None else load_drive(base)
    outputs = [path for path in (output, next_run) if path is not None]
    check_free(outputs, force=force, inputs=[*paths, *filter(None, (power,))])
    opened = open_recordings(paths, mapping, device, shift_s, separate=separate, power=power)
    twin = fit(opened.recordings, chosen)
    if output is not None:
        twin.save(output)
    if next_run is not None:
        _write_next(twin, next_run)
    show(twin, output_format, partial(print_twin, path=output, next_run=next_run))
    return opened.exit_code()


def _write_next(twin: Twin, path: Path) -> None:
    if not twin.experiments:
        raise UsageError(f"--next {path}: no run would tell much more of this drive")
    write_output(path, protocol_toml(protocol_of(twin.experiments[0], twin.full_load)))
