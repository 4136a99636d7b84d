"""The words that `predict` and `advise` share: a drive, a load, and how long it runs."""

from typing import Annotated

import typer

from heatsoak.cli import completion
from heatsoak.errors import UsageError
from heatsoak.protocol import WorkloadStep
from heatsoak.twin import Demand, length_s
from heatsoak.units import parse_seconds

SubjectArgument = Annotated[
    str,
    typer.Argument(
        metavar="TWIN|DRIVE",
        help="What heatsoak fit wrote, or a simulated drive.",
        autocompletion=completion.drives,
    ),
]
WorkloadOption = Annotated[
    str,
    typer.Option(
        metavar="LOAD",
        help="read, write, randread, randwrite, PROTOCOL[:STEP], or a trace or recording.",
    ),
]
EnclosureOption = Annotated[
    str | None,
    typer.Option(
        metavar="PLACE",
        help="A place of the twin's, or one that heatsoak places lists.",
        autocompletion=completion.enclosures,
    ),
]
AmbientOption = Annotated[
    float | None, typer.Option("--ambient", metavar="C", help="The air at the drive.")
]
LengthOption = Annotated[
    str | None,
    typer.Option(
        "--for", metavar="TIME", help="How long; default: the step's or recorded time, or 10m."
    ),
]


def require(value: float | None, option: str, low: float, high: float, unit: str) -> None:
    """Refuse what lies outside, and what is no number."""
    if value is not None and not low <= value <= high:
        raise UsageError(f"{option} {value:g}: must be between {low:g} and {high:g} {unit}")


def duration_of(text: str | None, workload: WorkloadStep | Demand) -> float:
    """Return how long a load runs, in s; raises UsageError for what is no time."""
    if text is None:
        return length_s(workload)
    try:
        found_s = parse_seconds(text)
    except ValueError as error:
        raise UsageError(f"--for {text}: {error}") from None
    if found_s >= 1 and isinstance(workload, Demand):
        return found_s
    if not 1 <= found_s <= 6 * 3600:
        raise UsageError(f"--for {text}: must be between 1s and 6h, such as 10m")
    return found_s
