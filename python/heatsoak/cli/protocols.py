"""``heatsoak protocols``: list the bundled protocols."""

import typer

from heatsoak.bench.rows import protocol_rows
from heatsoak.cli.common import FormatOption, OutputFormat, console, print_json
from heatsoak.report.lists import print_protocols


def protocols_command(output_format: FormatOption = OutputFormat.TEXT) -> None:
    """List the bundled protocols and how long they take."""
    rows = [row.model_dump(mode="json") for row in protocol_rows()]
    if output_format is OutputFormat.JSON:
        print_json(rows)
    else:
        print_protocols(rows, console())


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("protocols")(protocols_command)
