"""``heatsoak history``: whether drives are slower than they were."""

import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from heatsoak.cli.common import (
    FormatOption,
    Opened,
    OutputFormat,
    limit_code,
    progress_bar,
    show,
)
from heatsoak.errors import UsageError


class FailOnTrend(StrEnum):
    """What ``--fail-on`` takes here."""

    SLOWER = "slower"
    UNKNOWN = "unknown"
    ANY = "any"


def _date(text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"'{text}' is not a date such as 2025-03-01") from None


def history_command(
    place: Annotated[
        Path,
        typer.Argument(
            metavar="DIR|INDEX",
            help="Take all recordings below this directory, or an index as it is.",
        ),
    ],
    drive: Annotated[
        str | None,
        typer.Option("--drive", metavar="SERIAL", help="Show this drive, or model, alone."),
    ] = None,
    workload: Annotated[
        str | None,
        typer.Option(
            "--workload",
            metavar="WORDS",
            help="Show this step, or workloads with these words: write, 'random read'.",
        ),
    ] = None,
    since: Annotated[
        datetime.date | None,
        typer.Option(
            "--since",
            metavar="DATE",
            parser=_date,
            help="Leave out what is older: 2025-03-01.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Keep the index here; default: in DIR."
        ),
    ] = None,
    output_format: FormatOption = OutputFormat.TEXT,
    fail_on: Annotated[
        FailOnTrend | None,
        typer.Option(
            "--fail-on",
            help="Exit 1 if a drive is slower than it was (slower), if nothing tells whether any "
            "is (unknown), or for both (any).",
        ),
    ] = None,
) -> int:
    # these take a while to load, and every command loads this module's neighbours
    from heatsoak.history import NAME, history, require_duckdb, require_index, update
    from heatsoak.report.history import print_history

    require_duckdb()
    opened = Opened()
    if place.is_dir():
        index = output or place / NAME
        with progress_bar(stays=False) as progress:
            update(place, index, progress, opened.leave_out)
    elif output is not None:
        raise UsageError(f"-o {output}: an index is only made of a directory: leave out -o")
    else:
        index = place
        require_index(index)
    found = history(index, drive=drive, workload=workload, since=since)
    show(found, output_format, print_history)
    is_hit = {
        None: False,
        FailOnTrend.SLOWER: found.slower == "yes",
        FailOnTrend.UNKNOWN: found.slower == "cannot-tell",
        FailOnTrend.ANY: found.slower != "no",
    }[fail_on]
    return opened.exit_code(limit_code(holds=not is_hit))
