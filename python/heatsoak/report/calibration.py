"""What a fit of the simulated drive found, in a terminal."""

from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text


def print_calibration(calibration: dict[str, Any], console: Console) -> None:
    """Print parameters with their bounds, then each figure, fitted and held out apart."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("Parameter")
    for heading in ("value", "at least", "at most"):
        table.add_column(heading, justify="right")
    for parameter in calibration["parameters"]:
        low, high = parameter["bounds"]
        table.add_row(parameter["key"], f"{parameter['value']:g}", f"{low:g}", f"{high:g}")
    console.print(table)
    for role, title in (("fitted", "Figures that the fit saw"), ("held-out", "Figures held out")):
        rows = [row for row in calibration["rows"] if row["role"] == role]
        if rows:
            console.print()
            _print_rows(title, rows, console)
    parameters, figures = len(calibration["parameters"]), calibration["figures_fitted"]
    console.print(f"\n{parameters} parameters fitted to {figures} figures.")


def _print_rows(title: str, rows: list[dict[str, Any]], console: Console) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(title)
    for heading in ("published", "simulated", "off by"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for row in rows:
        low, high = row["published"]
        table.add_row(
            row["id"],
            f"{low:g}" if low == high else f"{low:g}-{high:g}",
            f"{row['simulated']:.1f}",
            f"{row['error']:+.1f}",
            Text("ok", style="green") if row["ok"] else Text("off", style="red"),
        )
    console.print(table)
    console.print(f"{sum(row['ok'] for row in rows)} of {len(rows)} within tolerance.")
