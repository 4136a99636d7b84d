"""``heatsoak drives``: list the drives that can be tested."""

from typing import Annotated

import typer

from heatsoak import system
from heatsoak.bench.drive_settings import leftovers, put_all_back
from heatsoak.bench.rows import likeness_row, restored_rows
from heatsoak.cli import completion
from heatsoak.cli.common import FormatOption, OutputFormat, console, print_json
from heatsoak.errors import UsageError
from heatsoak.output import announce, print_out
from heatsoak.report.lists import print_drives, print_likeness
from heatsoak.sensor import Roots


def drives_command(
    restore: Annotated[
        bool,
        typer.Option(
            "--restore",
            help="Undo what killed runs left changed on drives: hidden sectors, TMT1 and TMT2.",
        ),
    ] = False,
    like: Annotated[
        str | None,
        typer.Option(
            "--like",
            metavar="MODEL|FILE",
            help="Tell what the catalog knows of a model, or of the drive of a log or of "
            "smartctl -a: where it throttles, its cache.",
            autocompletion=completion.drives,
        ),
    ] = None,
    known: Annotated[
        bool,
        typer.Option("--known", help="List the simulated drives alone, and all of them."),
    ] = False,
    output_format: FormatOption = OutputFormat.TEXT,
) -> int:
    """List real and simulated drives, with their sensors and whether writing is safe."""
    if restore + known + (like is not None) > 1:
        raise UsageError(
            "--like and --known only tell, and --restore changes drives: give one of them"
        )
    if restore:
        return _restore(output_format)
    if like is not None:
        return _like(like, output_format)
    # not needed for --like
    from heatsoak.target.inventory import inventory, simulated

    listed = simulated() if known else inventory(Roots())
    rows = [row.model_dump(mode="json") for row in listed]
    if output_format is OutputFormat.JSON:
        print_json(rows)
    else:
        print_drives(rows, console(), known=known)
    if known:
        return 0
    if system.IS_LINUX:
        for note in leftovers():
            announce(note.text)
    else:
        announce("this machine's own drives are listed on Linux only")
    return 0


def _restore(output_format: OutputFormat) -> int:
    """Restore the drives and print what was done; return 3 if something could not be restored."""
    system.require_linux("--restore")
    notes = put_all_back(Roots())
    if output_format is OutputFormat.JSON:
        print_json([row.model_dump(mode="json") for row in restored_rows(notes)])
    else:
        for text in [note.text for note in notes] or [
            "nothing to restore: no killed run left anything changed"
        ]:
            print_out(text)
    return 3 if any("is_left" in note.data for note in notes) else 0


def _like(model: str, output_format: OutputFormat) -> int:
    """Print what the catalog knows of drives of a model."""
    row = likeness_row(model)
    if output_format is OutputFormat.JSON:
        print_json(row.model_dump(mode="json"))
    else:
        print_likeness(row.model_dump(mode="json"), console())
    return 0


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("drives")(drives_command)
