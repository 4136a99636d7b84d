"""``heatsoak places``: list the enclosures that a simulated drive can be in."""

import typer

from heatsoak.bench.rows import place_rows
from heatsoak.cli.common import FormatOption, OutputFormat, console, print_json
from heatsoak.report.lists import print_places


def places_command(output_format: FormatOption = OutputFormat.TEXT) -> None:
    """List the places that a simulated drive can be in: slots, benches, heatsinks, fans."""
    rows = [row.model_dump(mode="json") for row in place_rows()]
    if output_format is OutputFormat.JSON:
        print_json(rows)
    else:
        print_places(rows, console())


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("places")(places_command)
