"""``heatsoak calibrate``: fit the simulated drive to the published figures again."""

import typer


def add_to(app: typer.Typer) -> None:
    """Add the command."""
