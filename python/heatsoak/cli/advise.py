"""``heatsoak advise``: the least cooling that keeps a workload at full speed."""

from typing import Annotated

import typer

from heatsoak.cli.common import FormatOption, OutputFormat, console, print_json, progress_bar
from heatsoak.cli.foretold import (
    AmbientOption,
    EnclosureOption,
    LengthOption,
    SubjectArgument,
    WorkloadOption,
    duration_of,
    require,
)
from heatsoak.errors import UsageError
from heatsoak.report.prediction import print_advice
from heatsoak.twin import advise, subject_of, workload_of


def advise_command(
    subject: SubjectArgument,
    workload: WorkloadOption = "write",
    enclosure: EnclosureOption = None,
    ambient_c: AmbientOption = None,
    duration: LengthOption = None,
    prices: Annotated[
        list[str] | None,
        typer.Option("--price", metavar="HEATSINK=PRICE", help="Also: the gain for its price."),
    ] = None,
    output_format: FormatOption = OutputFormat.TEXT,
) -> int:
    """Say how little cooling keeps a workload at full speed, and what heatsinks would bring."""
    require(ambient_c, "--ambient", -40, 150, "C")
    load, before = workload_of(workload)
    named = dict(map(_price, prices or []))
    with progress_bar(stays=False) as progress:
        found = advise(
            subject_of(subject),
            load,
            duration_of(duration, load),
            before=before,
            enclosure=enclosure,
            ambient_c=ambient_c,
            prices=named,
            progress=progress,
        )
    if output_format is OutputFormat.JSON:
        print_json(found.model_dump(mode="json"))
    else:
        print_advice(found, console())
    return 0


def _price(text: str) -> tuple[str, float]:
    name, _, number = text.rpartition("=")
    try:
        price = float(number)
    except ValueError:
        price = -1.0
    if not name or not 0 < price < 1e9:
        raise UsageError(f"--price {text}: is not HEATSINK=PRICE, such as wings-px1=75")
    return name, price


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("advise")(advise_command)
