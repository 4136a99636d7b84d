"""What ``heatsoak doctor`` prints."""

from typing import Any

from rich.console import RenderableType
from rich.table import Table

from heatsoak.output import Console, Text, lines

_STYLES = {"ok": "green", "limited": "yellow", "missing": "red", "unneeded": "dim"}


def print_checkup(checkup: dict[str, Any], console: Console) -> None:
    """Print the document of ``heatsoak doctor --format json``."""
    console.print(Text(checkup["sentence"], style="bold"), soft_wrap=True)
    console.print()
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for _ in range(2):
        table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for fact in checkup["facts"]:
        state = fact["state"]
        table.add_row(Text(fact["name"]), Text(state, style=_STYLES[state]), _told(fact))
    console.print(table)
    if checkup["get_all"]:
        console.print()
        console.print("To get all that is missing:")
        for command in checkup["get_all"]:
            console.print(Text(f"  {command}"), soft_wrap=True)


def _told(fact: dict[str, Any]) -> RenderableType:
    if fact["state"] == "ok":
        return Text(fact["found"]).append(f": {fact['brings']}", style="dim")
    told = f"{fact['brings']}: {fact['found']}"
    # on a line of its own, to be copied
    return lines([told, fact["get"]]) if fact["get"] else Text(told)
