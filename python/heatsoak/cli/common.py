"""Options and output that several commands share."""

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from heatsoak.analysis import Findings


class Format(StrEnum):
    """How a result is printed."""

    TEXT = "text"
    JSON = "json"


class FailOn(StrEnum):
    """What ``--fail-on`` takes."""

    THROTTLE = "throttle"


FormatOption = Annotated[
    Format, typer.Option("--format", help="A table for people, or one JSON document.")
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="Directory to write into; must be new.")
]
FailOnOption = Annotated[
    FailOn | None, typer.Option("--fail-on", help="Exit 1 if any step throttles.")
]
FailBelowOption = Annotated[
    float | None,
    typer.Option("--fail-below", metavar="MB_S", help="Exit 1 if any step's mean is lower."),
]


def console() -> Console:
    """Return the console for results: standard output, as wide as the terminal or 120 columns."""
    return Console(width=None if sys.stdout.isatty() else 120, highlight=False)


def print_json(document: Any) -> None:
    """Print one JSON document to standard output."""
    print(json.dumps(document, ensure_ascii=False, indent=1))


def exit_code(findings: Findings, fail_on: FailOn | None, fail_below: float | None) -> int:
    """Return 1 if a limit that was asked for did not hold, else 0."""
    steps = [step for recording in findings.recordings for step in recording.steps]
    throttled = any(step.verdict == "thermal" for step in steps)
    means = [step.mean_mb_s for step in steps if step.mean_mb_s is not None]
    too_slow = fail_below is not None and any(mean < fail_below for mean in means)
    return int((fail_on is FailOn.THROTTLE and throttled) or too_slow)
