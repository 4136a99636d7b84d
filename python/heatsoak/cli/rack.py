"""``heatsoak rack``: many drives under one protocol."""

import typer

from heatsoak.cli import rack_report

rack_app = typer.Typer(help="Test a rack of drives, and judge it.", rich_markup_mode=None)
rack_report.add_to(rack_app)


def add_to(root: typer.Typer) -> None:
    """Add the commands."""
    root.add_typer(rack_app, name="rack")
