"""``heatsoak doctor``: what is here, what is missing, and how to get it."""

from typing import Annotated

import typer

from heatsoak.cli import completion
from heatsoak.cli.common import FormatOption, OutputFormat, console, print_json
from heatsoak.doctor import examine
from heatsoak.report.lists import print_checkup
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
    """Say what can be tested here, what is missing for more, and how to get it.

    Nothing is changed, no drive is opened for writing, and none is sent a command.
    """
    checkup = examine(Roots(), target).model_dump(mode="json")
    if output_format is OutputFormat.JSON:
        print_json(checkup)
    else:
        print_checkup(checkup, console())
    return 0


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(doctor_command)
