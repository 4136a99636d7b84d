"""``heatsoak fit``: a model of one drive in its places, from recordings of it."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from heatsoak.catalog import load_drive
from heatsoak.cli import completion
from heatsoak.cli.common import (
    ForceOption,
    FormatOption,
    OutputFormat,
    ReadOptions,
    RecordingsArgument,
    drive_id,
    show,
    with_groups,
)
from heatsoak.errors import UsageError
from heatsoak.output import Console, Text, table_of
from heatsoak.recording.files import check_free, write_output
from heatsoak.report.page.facts import protocol_toml
from heatsoak.twin import FittedParameter, Twin, fit, protocol_of
from heatsoak.words import number_text, percent_text


@with_groups
def fit_command(
    paths: RecordingsArgument,
    read: ReadOptions,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="TWIN.toml", help="Write the twin to this file."),
    ] = None,
    force: ForceOption = False,
    next_run: Annotated[
        Path | None,
        typer.Option(
            "--next",
            metavar="PROTOCOL.toml",
            help="Write the run that would tell most to this file, for heatsoak run.",
        ),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(
            metavar="DRIVE",
            parser=drive_id,
            help="The simulated drive that everything comes from that is not fitted; "
            "by default the most similar one.",
            autocompletion=completion.simulated,
        ),
    ] = None,
    output_format: FormatOption = OutputFormat.TEXT,
) -> int:
    chosen = None if base is None else load_drive(base)
    outputs = [path for path in (output, next_run) if path is not None]
    check_free(outputs, force=force, inputs=[*paths, *filter(None, (read.power,))])
    opened = read.open(paths)
    twin = fit(opened.recordings, chosen)
    if output is not None:
        twin.save(output)
    if next_run is not None:
        _write_next(twin, next_run)
    show(twin, output_format, partial(print_twin, path=output, next_run=next_run))
    return opened.exit_code()


def _write_next(twin: Twin, path: Path) -> None:
    if not twin.experiments:
        raise UsageError(f"--next {path}: no run would tell much more of this drive")
    write_output(path, protocol_toml(protocol_of(twin.experiments[0], twin.full_load)))


_NETWORKS = {
    1: "a drive of one piece",
    2: "packages on a board",
    3: "packages on a board, on a mount that warms with it",
}


def print_twin(
    twin: Twin, console: Console, path: Path | None = None, next_run: Path | None = None
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


def _parameters(twin: Twin) -> Table:
    numbers = ("value", "90 %", "expected", "learned")
    table = table_of("Parameter", *numbers, numbers=numbers)
    for parameter in twin.parameters:
        table.add_row(
            parameter.name,
            f"{number_text(parameter.value)} {parameter.unit}".rstrip(),
            f"{number_text(parameter.low)} to {number_text(parameter.high)}",
            _expected(parameter),
            percent_text(100 * parameter.learned),
        )
    return table


def _expected(parameter: FittedParameter) -> str:
    """What was expected, two thirds of the time."""
    prior = parameter.prior
    return f"{number_text(prior.value(-1))} to {number_text(prior.value(1))}"
