"""``heatsoak compare``: what a condition changes."""

from pathlib import Path
from typing import Annotated

import typer

from heatsoak.cli.common import (
    DeviceOption,
    FormatOption,
    MapOption,
    OutputFormat,
    SeparateOption,
    ShiftOption,
    console,
    open_recordings,
    print_json,
)
from heatsoak.errors import UsageError
from heatsoak.output import announce


def compare_command(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="RECORDING|FILE...",
            help="Recordings, directories of them, or logs of other tools.",
        ),
    ],
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="KEY",
            help="The condition that is compared: heatsink, slot, gpus...; or drive, model, "
            "protocol.",
        ),
    ],
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            metavar="VALUE",
            help="What the others are compared with; without it 'none', or the first given.",
        ),
    ] = None,
    each: Annotated[
        bool, typer.Option("--each", help="Show each set of the other conditions by itself too.")
    ] = False,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Compare what was not run alike, and warn of it.")
    ] = False,
    rank_by: Annotated[
        str | None,
        typer.Option(
            "--rank-by", metavar="METRIC", help="What groups are ranked by, instead of end level."
        ),
    ] = None,
    mapping: MapOption = None,
    device: DeviceOption = None,
    shift_s: ShiftOption = None,
    separate: SeparateOption = False,
    output_format: FormatOption = OutputFormat.TEXT,
) -> int:
    """Hold recordings that differ in one condition against each other."""
    # these take a while to load, and every command loads this module
    from heatsoak.analysis.comparison import NotAlikeError, compare
    from heatsoak.report.comparison import print_comparison

    recordings = open_recordings(paths, mapping, device, shift_s, separate=separate)
    try:
        comparison = compare(recordings, by, baseline, anyway, rank_by=rank_by)
    except NotAlikeError as error:
        for line in error.differences:
            announce(line)
        if anyway:
            return UsageError.exit_code
        announce("nothing that was run alike is left to compare; --anyway compares all the same")
        return UsageError.exit_code
    for line in comparison.caveats:
        announce(f"warning: not alike: {line}")
    if output_format is OutputFormat.JSON:
        for note in comparison.notes:
            announce(note)
        print_json([row.model_dump(mode="json") for row in comparison.rows])
    else:
        print_comparison(comparison, console(), each=each)
    return 0


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("compare")(compare_command)
