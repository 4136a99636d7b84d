"""``heatsoak predict``: what a drive would do under a workload, in a place, with other cooling."""

from typing import Annotated

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
from heatsoak.report import print_prediction
from heatsoak.twin import Cooling, predict, subject_of, workload_of
from heatsoak.units import MB, parse_size


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
    require(ambient_c, "--ambient", -40, 150, "C")
    require(warmer_k, "--warmer", -100, 100, "K")
    require(airflow_m_s, "--airflow", 0, 100, "m/s")
    load, before = workload_of(workload)
    duration_s = duration_of(duration, load)
    found = predict(
        subject_of(subject),
        load,
        duration_s,
        before=before,
        enclosure=enclosure,
        cooling=Cooling(ambient_c, airflow_m_s, _heatsink(heatsink), warmer_k),
        holds_mb_s=None if holds is None else _rate_mb_s(holds),
    )
    if output_format is OutputFormat.JSON:
        print_json(found.model_dump(mode="json"))
    else:
        print_prediction(found, console())
    kept = 1 - found.throttles if found.holds is None else found.holds
    return 1 if fail_below is not None and kept < fail_below else 0


def _heatsink(text: str | None) -> str | float | None:
    if text is None:
        return None
    try:
        k_per_w = float(text)
    except ValueError:
        return text
    if not 0.01 <= k_per_w <= 1000:
        raise UsageError(f"--heatsink {text}: is no resistance in K/W: heatsinks have 0.5 to 20")
    return k_per_w


def _rate_mb_s(text: str) -> float:
    number = text.removesuffix("/s")
    try:
        rate = parse_size(number if not number.replace(".", "").isdecimal() else f"{number}MB") / MB
    except ValueError:
        raise UsageError(f"--holds {text}: is no rate such as 1490MB/s") from None
    if rate <= 0:
        raise UsageError(f"--holds {text}: must be more than 0")
    return rate


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("predict")(predict_command)
