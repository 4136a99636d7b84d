"""``heatsoak rack report``: which drives of a rack pass, and whether it is place or drive."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from heatsoak.cli.common import (
    FailBelowOption,
    ForceOption,
    FormatOption,
    Opened,
    OutputFormat,
    console,
    limit_code,
    progress_bar,
    show,
)
from heatsoak.output import Text
from heatsoak.units import format_bytes


class FailOnRack(StrEnum):
    """What ``--fail-on`` takes here."""

    THROTTLE = "throttle"
    UNKNOWN = "unknown"
    OUTLIER = "outlier"
    ANY = "any"


def rack_report_command(
    directories: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...", help="Take all recordings below, and the rack.json of a rack run."
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Also write this file: .html page, .csv table, JUnit .xml.",
        ),
    ] = None,
    by_place: Annotated[
        str | None,
        typer.Option(
            "--by-place",
            metavar="KEY,...",
            help="The labels that are the place; default: host and cooling, where they vary.",
        ),
    ] = None,
    force: ForceOption = False,
    output_format: FormatOption = OutputFormat.TEXT,
    fail_on: Annotated[
        FailOnRack | None,
        typer.Option(
            "--fail-on",
            help="Exit 1 if a step throttles or may have (throttle), if nothing tells whether it "
            "does (unknown), if a drive is worse than others of its model (outlier), or for all "
            "of these and any fall of throughput (any).",
        ),
    ] = None,
    fail_below: FailBelowOption = None,
) -> int:
    """Say which drives of a rack pass, which are unlike their model, and what the place does."""
    # these take a while to load, and every command loads this module's neighbours
    from heatsoak.rack.results.files import check, write
    from heatsoak.rack.results.reading import read_results
    from heatsoak.rack.results.report import report
    from heatsoak.rack.results.text import print_rack

    if output is not None:
        check(output, force=force)
    opened = Opened()
    with progress_bar(stays=False) as progress:
        rack = read_results(directories, progress, opened.leave_out)
    keys = [key.strip() for key in (by_place or "").split(",") if key.strip()]
    found = report(
        rack,
        by_place=keys,
        forbidden=None if fail_on is None else fail_on.value,
        fail_below_mb_s=fail_below,
    )
    written = None if output is None else write(found, rack, output)
    show(found, output_format, print_rack)
    if written is not None and output_format is OutputFormat.TEXT:
        console().print(Text(f"{output}: {format_bytes(written)}"), soft_wrap=True)
    return opened.exit_code(limit_code(holds=found.limits_hold))
