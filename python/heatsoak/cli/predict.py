"""``heatsoak predict`` and ``advise``: what a drive would do, and the cooling that it needs."""

from functools import partial
from typing import Annotated

import typer

from heatsoak.cli import completion
from heatsoak.cli.common import (
    FormatOption,
    OutputFormat,
    limit_code,
    progress_bar,
    seconds_between,
    show,
)
from heatsoak.errors import UsageError
from heatsoak.protocol import WorkloadStep
from heatsoak.report.prediction import print_advice, print_prediction
from heatsoak.twin import Cooling, Demand, advise, length_s, predict, subject_of, workload_of
from heatsoak.twin.case import AIRFLOW_M_S, AMBIENT_C, WARMING_K
from heatsoak.twin.named import heatsink_of
from heatsoak.units import parse_number, parse_rate_mb_s, parse_share
from heatsoak.words import duration_text

SubjectArgument = Annotated[
    str,
    typer.Argument(
        metavar="TWIN|DRIVE",
        help="What heatsoak fit wrote, or a simulated drive.",
        autocompletion=completion.simulated,
    ),
]
WorkloadOption = Annotated[
    str,
    typer.Option(
        metavar="LOAD",
        help="read, write, randread, randwrite, PROTOCOL[:STEP], or a trace or recording.",
        autocompletion=completion.workloads,
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
    float | None,
    typer.Option(
        "--ambient",
        metavar="C",
        parser=partial(parse_number, unit="C", low=AMBIENT_C[0], high=AMBIENT_C[1]),
        help="Temperature of the air at the drive.",
    ),
]
WarmerOption = Annotated[
    float,
    typer.Option(
        "--warmer",
        metavar="K",
        parser=partial(parse_number, unit="K", low=WARMING_K[0], high=WARMING_K[1]),
        help="How much warmer that air is than it was in the place; not with --ambient.",
    ),
]
AirflowOption = Annotated[
    float | None,
    typer.Option(
        "--airflow",
        metavar="M_S",
        parser=partial(parse_number, unit="m/s", low=AIRFLOW_M_S[0], high=AIRFLOW_M_S[1]),
        help="Speed of the air at the drive.",
    ),
]
LengthOption = Annotated[
    float | None,
    typer.Option(
        "--for",
        metavar="TIME",
        parser=seconds_between(1),
        help="How long; default: the step's or recorded time, or 10m.",
    ),
]
#: A load that nobody recorded is followed no longer than this.
_LONGEST_S = 6 * 3600.0


def predict_command(
    subject: SubjectArgument,
    workload: WorkloadOption = "write",
    enclosure: EnclosureOption = None,
    ambient_c: AmbientOption = None,
    warmer_k: WarmerOption = 0.0,
    airflow_m_s: AirflowOption = None,
    heatsink: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE|K_PER_W",
            parser=heatsink_of,
            help="Add a heatsink: the one of a place that heatsoak places lists, or of so many "
            "K/W, such as 2.",
            autocompletion=completion.enclosures,
        ),
    ] = None,
    duration_s: LengthOption = None,
    holds_mb_s: Annotated[
        float | None,
        typer.Option(
            "--holds",
            metavar="RATE",
            parser=parse_rate_mb_s,
            help="Also: does it hold 1490MB/s throughout?",
        ),
    ] = None,
    fail_below: Annotated[
        float | None,
        typer.Option(
            "--fail-below",
            metavar="P",
            parser=parse_share,
            help="Exit 1 if it holds the rate, or full speed, with a lower probability: 0.95, 95%.",
        ),
    ] = None,
    output_format: FormatOption = OutputFormat.TEXT,
) -> int:
    load, before = workload_of(workload)
    with progress_bar(stays=False) as progress:
        progress(0.0, f"predicting {load.name}")
        found = predict(
            subject_of(subject),
            load,
            _length_s(duration_s, load),
            before=before,
            enclosure=enclosure,
            cooling=Cooling(ambient_c, airflow_m_s, heatsink, warmer_k),
            holds_mb_s=holds_mb_s,
        )
    show(found, output_format, print_prediction)
    kept = 1 - found.throttles if found.holds is None else found.holds
    return limit_code(holds=fail_below is None or kept >= fail_below)


def advise_command(
    subject: SubjectArgument,
    workload: WorkloadOption = "write",
    enclosure: EnclosureOption = None,
    ambient_c: AmbientOption = None,
    warmer_k: WarmerOption = 0.0,
    airflow_m_s: AirflowOption = None,
    duration_s: LengthOption = None,
    prices: Annotated[
        list[str] | None,
        typer.Option("--price", metavar="HEATSINK=PRICE", help="Also: the gain for its price."),
    ] = None,
    output_format: FormatOption = OutputFormat.TEXT,
) -> int:
    load, before = workload_of(workload)
    named = dict(map(_price, prices or []))
    with progress_bar(stays=False) as progress:
        found = advise(
            subject_of(subject),
            load,
            _length_s(duration_s, load),
            before=before,
            enclosure=enclosure,
            cooling=Cooling(ambient_c, airflow_m_s, None, warmer_k),
            prices=named,
            progress=progress,
        )
    show(found, output_format, print_advice)
    return 0


def _length_s(wanted_s: float | None, workload: WorkloadStep | Demand) -> float:
    if wanted_s is not None and wanted_s > _LONGEST_S and isinstance(workload, WorkloadStep):
        raise UsageError(f"--for {duration_text(wanted_s)}: must be between 1s and 6h")
    return wanted_s or length_s(workload)


def _price(text: str) -> tuple[str, float]:
    name, _, number = text.rpartition("=")
    try:
        price = float(number)
    except ValueError:
        price = -1.0
    if not name or not 0 < price < 1e9:
        raise UsageError(f"--price {text}: is not HEATSINK=PRICE, such as wings-px1=75")
    return name, price
