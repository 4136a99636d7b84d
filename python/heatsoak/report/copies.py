"""Copies in a terminal: what was copied, how fast, and who held up whom."""

from heatsoak.analysis import CopyFindings
from heatsoak.output import Console, Text
from heatsoak.units import format_bytes, format_duration


def print_copy(copy: CopyFindings, console: Console) -> None:
    """Print a copy as a whole, each of its steps in a sentence or two."""
    console.print(Text(f"Copy from {copy.source} to {copy.destination}", style="bold"))
    for step in copy.steps:
        moved = "" if step.bytes is None else f"{format_bytes(step.bytes)} "
        rate = "" if step.mb_s is None else f", {step.mb_s:,.0f} MB/s"
        took = f"{step.step}: {moved}in {format_duration(step.duration_s)}{rate}; "
        console.print(Text(took + step.text), soft_wrap=True)
