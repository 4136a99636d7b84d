"""A twin in the terminal: its answer first, then what was fitted, then what cannot be told."""

from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from heatsoak.output import Console, Text
from heatsoak.units import format_number

if TYPE_CHECKING:
    # fits take a while to load, and every report would wait for them
    from heatsoak.twin import FittedParameter, Twin

_NETWORKS = {
    1: "a drive of one piece",
    2: "packages on a board",
    3: "packages on a board, on a mount that warms with it",
}


def print_twin(
    twin: "Twin", console: Console, path: Path | None = None, next_run: Path | None = None
) -> None:
    """Print a twin; `path` is where it was written, `next_run` where the proposed run was."""
    console.print(twin.answer)
    for sentence in twin.told:
        console.print(f"  - {sentence}")
    for experiment in twin.experiments[:1]:
        console.print(Text(f"  next: {experiment.answer}"), soft_wrap=True)
        how = "--next FILE writes it as a protocol"
        if next_run is not None:
            how = f"heatsoak run {next_run} --on DRIVE"
        console.print(Text(f"    {how}"), soft_wrap=True)
    console.print()
    console.print(_parameters(twin))
    console.print()
    model = f" ({twin.model})" if twin.model else ""
    console.print(f"network: {_NETWORKS[twin.nodes]}; all else from {twin.base}{model}")
    if path is not None:
        console.print(f"written to {path}")


def _parameters(twin: "Twin") -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("Parameter", no_wrap=True)
    for heading in ("value", "90 %", "expected", "learned"):
        table.add_column(heading, justify="right", no_wrap=True)
    for parameter in twin.parameters:
        table.add_row(
            parameter.name,
            f"{_number(parameter.value)} {parameter.unit}".rstrip(),
            f"{_number(parameter.low)} to {_number(parameter.high)}",
            _expected(parameter),
            f"{parameter.learned:.0%}",
        )
    return table


def _expected(parameter: "FittedParameter") -> str:
    """What was expected, two thirds of the time."""
    prior = parameter.prior
    return f"{_number(prior.value(-1))} to {_number(prior.value(1))}"


def _number(value: float) -> str:
    return format_number(value, 3)
