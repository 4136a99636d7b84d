"""``heatsoak drives``: what can be tested here."""

from dataclasses import asdict

import typer

from heatsoak.cli.common import Format, FormatOption, console, print_json
from heatsoak.report import print_drives
from heatsoak.sensor import Roots


def drives_command(output_format: FormatOption = Format.TEXT) -> None:
    """List drives, real and simulated, with their sensors and whether writing is safe."""
    from heatsoak.target.inventory import inventory  # Linux only

    rows = [asdict(row) for row in inventory(Roots())]
    if output_format is Format.JSON:
        print_json(rows)
    else:
        print_drives(rows, console())


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("drives")(drives_command)
