"""The words that `predict` and `advise` share: a drive, a load, and how long it runs."""

import tomllib
from pathlib import Path
from typing import Annotated

import typer

from heatsoak.catalog import Drive, load_drive
from heatsoak.cli import completion
from heatsoak.errors import UsageError, suggestion
from heatsoak.protocol import Pause, WorkloadStep, load
from heatsoak.twin import Twin
from heatsoak.units import parse_seconds

#: Loads by a word of fio's, as reviewers run them.
_WORDS = {"read": "128k", "write": "128k", "randread": "4k", "randwrite": "4k"}
#: How long a load is that says nothing of that.
_USUAL_S = 600.0

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
    typer.Option(metavar="LOAD", help="read, write, randread, randwrite, or PROTOCOL[:STEP]."),
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
    typer.Option("--for", metavar="TIME", help="How long; default: the step's time, or 10m."),
]


def require(value: float | None, option: str, low: float, high: float, unit: str) -> None:
    """Refuse what lies outside, and what is no number."""
    if value is not None and not low <= value <= high:
        raise UsageError(f"{option} {value:g}: must be between {low:g} and {high:g} {unit}")


def subject_of(text: str) -> Twin | Drive:
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


def step_of(text: str) -> tuple[WorkloadStep, list[WorkloadStep | Pause]]:
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


def duration_of(text: str | None, step: WorkloadStep) -> float:
    """Return how long a load runs, in s; raises UsageError for what is no time."""
    if text is None:
        return step.runtime_s or _USUAL_S
    try:
        found_s = parse_seconds(text)
    except ValueError as error:
        raise UsageError(f"--for {text}: {error}") from None
    if not 1 <= found_s <= 86400:
        raise UsageError(f"--for {text}: must be between 1s and 24h, such as 10m")
    return found_s
