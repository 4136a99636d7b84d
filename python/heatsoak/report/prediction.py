"""A prediction in the terminal."""

from rich.table import Table

from heatsoak.output import Console, Text
from heatsoak.twin import Prediction
from heatsoak.units import format_number

_ROWS = (
    ("begins to throttle after", "onset_s", "s"),
    ("having moved", "onset_gb", "GB"),
    ("loses to heat, in the worst minute", "depth_pct", "%"),
    ("moves then", "throttled_mb_s", "MB/s"),
    ("reports at most", "max_reported_temp_c", "C"),
    ("its governor sees at most", "hidden_temp_c", "C"),
)


def print_prediction(found: Prediction, console: Console) -> None:
    """Print a prediction, its answer first."""
    style = "bold red" if found.throttles >= 0.5 else "bold green"
    console.print(Text(found.answer, style=style), soft_wrap=True)
    console.print()
    console.print(Text(f"{found.drive}, {found.place}: {found.workload}"))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("")
    for heading in ("middle", "low", "high"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("")
    for name, key, unit in _ROWS:
        values = getattr(found, key)
        if values is not None:
            low, middle, high = (format_number(value, 3) for value in values)
            table.add_row(name, middle, low, high, unit)
    console.print(table)
    for text in found.assumed:
        console.print(Text(f"assumed: {text}", style="dim"), soft_wrap=True)
