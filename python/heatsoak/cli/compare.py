"""``heatsoak compare``: compare recordings by one condition."""

from typing import Annotated

import typer

from heatsoak.cli import completion
from heatsoak.cli.common import (
    AnywayOption,
    BaselineOption,
    DeviceOption,
    FormatOption,
    MapOption,
    OutputFormat,
    RecordingsArgument,
    SeparateOption,
    ShiftOption,
    console,
    open_recordings,
)
from heatsoak.errors import UsageError
from heatsoak.output import announce, print_json


def compare_command(
    paths: RecordingsArgument,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            metavar="KEY",
            autocompletion=completion.compared_by,
            help="The condition to compare by: heatsink, slot, gpus...; or drive, model, protocol, "
            "file.",
        ),
    ],
    baseline: BaselineOption = None,
    each: Annotated[
        bool, typer.Option("--each", help="Also show each set of other conditions separately.")
    ] = False,
    anyway: AnywayOption = False,
    pool_models: Annotated[
        bool,
        typer.Option("--pool-models", help="Take means over drive models, not for each model."),
    ] = False,
    rank_by: Annotated[
        str | None,
        typer.Option(
            "--rank-by", metavar="METRIC", help="Rank groups by this metric; default: end level."
        ),
    ] = None,
    mapping: MapOption = None,
    device: DeviceOption = None,
    shift_s: ShiftOption = None,
    separate: SeparateOption = False,
    output_format: FormatOption = OutputFormat.TEXT,
) -> int:
    # these take a while to load, and every command loads this module
    from heatsoak.analysis import analyze
    from heatsoak.analysis.comparison import NotAlikeError, compare
    from heatsoak.report.comparison import print_comparison

    opened = open_recordings(paths, mapping, device, shift_s, separate=separate)
    try:
        comparison = compare(
            opened.recordings,
            by,
            baseline,
            anyway,
            rank_by=rank_by,
            pool_models=pool_models,
            findings=analyze(opened.recordings) if opened.recordings else None,
        )
    except NotAlikeError as error:
        for line in error.differences:
            announce(line)
        if anyway:
            return UsageError.exit_code
        announce("no comparable runs are left; --anyway compares them regardless")
        return UsageError.exit_code
    for line in comparison.caveats:
        announce(f"warning: runs differ: {line}")
    if output_format is OutputFormat.JSON:
        for note in comparison.notes:
            announce(note)
        print_json([row.model_dump(mode="json") for row in comparison.rows])
    else:
        print_comparison(comparison, console(), each=each)
    return opened.exit_code()
