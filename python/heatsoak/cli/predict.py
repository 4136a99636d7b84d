"""``heatsoak predict``: what a drive would do under a workload, in a place, with other cooling."""

from collections.abc import Callable
from typing import Annotated, TypeVar

import typer

from heatsoak.cli.common import FormatOption, OutputFormat, console, print_json
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
from heatsoak.report.prediction import print_prediction
from heatsoak.twin import Cooling, predict, subject_of, workload_of
from heatsoak.twin.case import AIRFLOW_M_S, AMBIENT_C, WARMING_K
from heatsoak.twin.named import heatsink_of, rate_of

_Value = TypeVar("_Value")


def predict_command(
    subject: SubjectArgument,
    workload: WorkloadOption = "write",
    enclosure: EnclosureOption = None,
    ambient_c: AmbientOption = None,
    warmer_k: Annotated[
        float,
        typer.Option("--warmer", metavar="K", help="How much warmer the air is than it was there."),
    ] = 0.0,
    airflow_m_s: Annotated[
        float | None, typer.Option("--airflow", metavar="M_S", help="How fast it moves.")
    ] = None,
    heatsink: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE|K_PER_W",
            help="Put on the heatsink of a place, or one of so many K/W to the air.",
        ),
    ] = None,
    duration: LengthOption = None,
    holds: Annotated[
        str | None,
        typer.Option(metavar="RATE", help="Also: does it hold 1490MB/s throughout?"),
    ] = None,
    fail_below: Annotated[
        float | None,
        typer.Option(
            "--fail-below",
            metavar="P",
            min=0,
            max=1,
            help="Exit 1 if it holds the rate, or full speed, with a lower probability.",
        ),
    ] = None,
    output_format: FormatOption = OutputFormat.TEXT,
) -> int:
    """Predict whether a drive throttles under a workload: when, how far, how hot."""
    require(ambient_c, "--ambient", *AMBIENT_C, "C")
    require(warmer_k, "--warmer", *WARMING_K, "K")
    require(airflow_m_s, "--airflow", *AIRFLOW_M_S, "m/s")
    load, before = workload_of(workload)
    duration_s = duration_of(duration, load)
    found = predict(
        subject_of(subject),
        load,
        duration_s,
        before=before,
        enclosure=enclosure,
        cooling=Cooling(ambient_c, airflow_m_s, _of("--heatsink", heatsink, heatsink_of), warmer_k),
        holds_mb_s=_of("--holds", holds, rate_of),
    )
    if output_format is OutputFormat.JSON:
        print_json(found.model_dump(mode="json"))
    else:
        print_prediction(found, console())
    kept = 1 - found.throttles if found.holds is None else found.holds
    return 1 if fail_below is not None and kept < fail_below else 0


def _of(option: str, text: str | None, meaning: Callable[[str], _Value]) -> _Value | None:
    """What an option's text means; UsageError for what it cannot."""
    if text is None:
        return None
    try:
        return meaning(text)
    except ValueError as error:
        raise UsageError(f"{option} {text}: {error}") from None


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("predict")(predict_command)
