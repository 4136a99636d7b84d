"""What is here: this machine, drives, places and protocols (``doctor``, ``drives``, ...)."""

from typing import Annotated

import typer

from heatsoak import system
from heatsoak.cli import completion
from heatsoak.cli.common import FormatOption, OutputFormat, show
from heatsoak.errors import HeatsoakError, UsageError
from heatsoak.output import Console, announce
from heatsoak.report.lists import (
    print_checkup,
    print_drives,
    print_likeness,
    print_places,
    print_protocols,
)
from heatsoak.sensor import Roots


def doctor_command(
    target: Annotated[
        str | None,
        typer.Option(
            "--on",
            metavar="TARGET",
            help="Also say what would keep this from being tested: a directory, /dev/nvme0n1.",
            autocompletion=completion.targets,
        ),
    ] = None,
    output_format: FormatOption = OutputFormat.TEXT,
) -> int:
    # other commands of this module need none of it
    from heatsoak.doctor import examine

    show(examine(Roots(), target).model_dump(mode="json"), output_format, print_checkup)
    return 0


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
    # places and protocols need none of it
    from heatsoak.bench.places import leftovers
    from heatsoak.bench.rows import likeness_row
    from heatsoak.target.place import inventory, simulated

    if restore + known + (like is not None) > 1:
        raise UsageError(
            "--like and --known only tell, and --restore changes drives: give one of them"
        )
    if restore:
        return _restore(output_format)
    if like is not None:
        row = likeness_row(like.removeprefix("sim:"))
        show(row.model_dump(mode="json"), output_format, print_likeness)
        return 0

    def table(rows: list[dict[str, object]], out: Console) -> None:
        print_drives(rows, out, known=known)

    listed = simulated() if known else inventory(Roots())
    show([row.model_dump(mode="json") for row in listed], output_format, table)
    if known:
        return 0
    if system.IS_LINUX:
        for note in leftovers():
            announce(note.text)
    else:
        announce("this machine's own drives are listed on Linux only")
    return 0


def _restore(output_format: OutputFormat) -> int:
    """Restore the drives, and print what was done; an error's code if something is left."""
    from heatsoak.bench.places import put_all_back
    from heatsoak.bench.rows import restored_rows

    system.require_linux("--restore")
    notes = put_all_back(Roots())

    def lines(rows: list[dict[str, object]], out: Console) -> None:
        for row in rows:
            out.print(row["said"], soft_wrap=True)
        if not rows:
            out.print("nothing to restore: no killed run left anything changed", soft_wrap=True)

    show([row.model_dump(mode="json") for row in restored_rows(notes)], output_format, lines)
    return HeatsoakError.exit_code if any("is_left" in note.data for note in notes) else 0


def places_command(output_format: FormatOption = OutputFormat.TEXT) -> None:
    from heatsoak.bench.rows import place_rows

    show([row.model_dump(mode="json") for row in place_rows()], output_format, print_places)


def protocols_command(output_format: FormatOption = OutputFormat.TEXT) -> None:
    from heatsoak.bench.rows import protocol_rows

    show([row.model_dump(mode="json") for row in protocol_rows()], output_format, print_protocols)
