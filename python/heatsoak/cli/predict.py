"""``heatsoak predict``: what a drive would do under a workload, in a place, with other cooling."""

import tomllib
from pathlib import Path
from typing import Annotated

import typer

from heatsoak.catalog import Drive, load_drive
from heatsoak.cli import completion
from heatsoak.cli.common import FormatOption, OutputFormat, console, print_json
from heatsoak.errors import UsageError, suggestion
from heatsoak.protocol import Pause, WorkloadStep, load
from heatsoak.report import print_prediction
from heatsoak.twin import Cooling, Twin, predict
from heatsoak.units import MB, parse_seconds, parse_size

#: Loads by a word of fio's, as reviewers run them.
_WORDS = {"read": "128k", "write": "128k", "randread": "4k", "randwrite": "4k"}
#: How long a load is that says nothing of that.
_USUAL_S = 600.0


def predict_command(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="TWIN|DRIVE",
            help="What heatsoak fit wrote, or a simulated drive.",
            autocompletion=completion.drives,
        ),
    ],
    workload: Annotated[
        str,
        typer.Option(
            metavar="LOAD",
            help="read, write, randread, randwrite, or PROTOCOL[:STEP].",
        ),
    ] = "write",
    enclosure: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE",
            help="A place of the twin's, or one that heatsoak places lists.",
            autocompletion=completion.enclosures,
        ),
    ] = None,
    ambient_c: Annotated[
        float | None, typer.Option("--ambient", metavar="C", help="The air at the drive.")
    ] = None,
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
    duration: Annotated[
        str | None,
        typer.Option("--for", metavar="TIME", help="How long; default: the step's time, or 10m."),
    ] = None,
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
    _require(ambient_c, "--ambient", -40, 150, "C")
    _require(airflow_m_s, "--airflow", 0, 100, "m/s")
    step, before = _step(workload)
    duration_s = _duration_s(duration, step)
    found = predict(
        _subject(subject),
        step,
        duration_s,
        before=before,
        enclosure=enclosure,
        cooling=Cooling(ambient_c, airflow_m_s, _heatsink(heatsink)),
        holds_mb_s=None if holds is None else _rate_mb_s(holds),
    )
    if output_format is OutputFormat.JSON:
        print_json(found.model_dump(mode="json"))
    else:
        print_prediction(found, console())
    kept = 1 - found.throttles if found.holds is None else found.holds
    return 1 if fail_below is not None and kept < fail_below else 0


def _require(value: float | None, option: str, low: float, high: float, unit: str) -> None:
    """Refuse what lies outside, and what is no number."""
    if value is not None and not low <= value <= high:
        raise UsageError(f"{option} {value:g}: must be between {low:g} and {high:g} {unit}")


def _subject(text: str) -> Twin | Drive:
    """A twin's file, or a drive of the catalog or of the user's own."""
    path = Path(text)
    if path.suffix == ".toml" and path.is_file():
        try:
            is_twin = "uncertainty" in tomllib.loads(path.read_text("utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
            is_twin = True  # what is wrong is said there
        if is_twin:
            return Twin.load(path)
    return load_drive(text)


def _step(text: str) -> tuple[WorkloadStep, list[WorkloadStep | Pause]]:
    """A load, and the loads and pauses that its protocol prepares the drive with."""
    if text in _WORDS:
        words = {"name": text, "rw": text, "bs": _WORDS[text], "iodepth": 32, "runtime": _USUAL_S}
        return WorkloadStep.model_validate(words), []
    name, _, wanted = text.partition(":")
    if Path(text).exists():
        name, wanted = text, ""
    steps = [one for one in load(name).steps if isinstance(one, WorkloadStep | Pause)]
    known = [one for one in steps if isinstance(one, WorkloadStep) and one.is_judged]
    if not known:
        raise UsageError(f"--workload {text}: has no step with a workload of one drive")
    found = [one for one in known if one.name == wanted] if wanted else known
    if not found:
        names = [one.name for one in known]
        raise UsageError(
            f"--workload {text}: has no step '{wanted}'{suggestion(wanted, names)}: "
            f"{', '.join(names)}"
        )
    before = steps[: steps.index(found[0])]
    return found[0], [one for one in before if isinstance(one, Pause) or not one.is_judged]


def _duration_s(text: str | None, step: WorkloadStep) -> float:
    if text is None:
        return step.runtime_s or _USUAL_S
    try:
        found_s = parse_seconds(text)
    except ValueError as error:
        raise UsageError(f"--for {text}: {error}") from None
    if not 1 <= found_s <= 86400:
        raise UsageError(f"--for {text}: must be between 1s and 24h, such as 10m")
    return found_s


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
