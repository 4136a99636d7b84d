"""``heatsoak reproduce``: compare the simulated drives with published figures."""

from dataclasses import asdict
from enum import StrEnum
from typing import Annotated

import typer

from heatsoak import catalog
from heatsoak import reproduce as reproduction
from heatsoak.cli import completion
from heatsoak.cli.common import (
    FormatOption,
    OutputFormat,
    OutputOption,
    console,
    drive_id,
    limit_code,
    progress_bar,
    show,
    write_json,
)
from heatsoak.errors import UsageError
from heatsoak.output import print_out
from heatsoak.report.reproduction import print_nearness, print_reproduction
from heatsoak.reproduce import FigureSet


class LeaveOut(StrEnum):
    """What a prediction does without."""

    DRIVE = "drive"


def reproduce_command(
    figure_set: Annotated[
        FigureSet,
        typer.Option(
            "--set",
            help="published: what the catalog was built with; modern: an outside test, figures of "
            "2015 to 2026.",
        ),
    ] = FigureSet.PUBLISHED,
    leave_out: Annotated[
        LeaveOut | None,
        typer.Option(
            "--leave-out",
            help="drive: predict each drive from its class and data sheet, without what was fitted "
            "to it; only with --set modern.",
        ),
    ] = None,
    drive: Annotated[
        str | None,
        typer.Option(
            metavar="DRIVE",
            parser=drive_id,
            help="Only figures of this drive; a TOML file replaces the drive with its model.",
            autocompletion=completion.simulated,
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(
            metavar="ID-PREFIX",
            help="Only figures whose id starts with this.",
            autocompletion=completion.figures,
        ),
    ] = None,
    fail_below: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Exit 1 if fewer than N counted figures hold."),
    ] = None,
    output: OutputOption = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the simulated drives.")] = 0,
    output_format: FormatOption = OutputFormat.TEXT,
) -> int:
    custom = {}
    if drive is not None and drive.endswith(".toml"):
        drive, spec = reproduction.drive_like(drive)
        custom[drive] = spec
    questions = reproduction.questions(drive, only, figure_set)
    if leave_out is not None:
        if figure_set is not FigureSet.MODERN:
            raise UsageError("--leave-out only works with --set modern")
        custom = {**reproduction.left_out_drives(questions), **custom}
    with progress_bar() as progress:
        rows = reproduction.reproduce(
            questions, output, seed=seed, drives=custom, progress=progress
        )
    if leave_out is not None:
        rows = [row.without_fit() for row in rows]
    document = [row.as_dict() for row in rows]
    if output is not None:
        write_json(document, output / "reproduce.json")
    show(document, output_format, print_reproduction)
    if figure_set is FigureSet.MODERN and output_format is OutputFormat.TEXT:
        found = reproduction.nearness(questions, rows)
        print_nearness([asdict(one) for one in found], console())
        figures = catalog.modern_figures()
        without = sum(figure.drive_id is None for figure in figures)
        print_out(
            f"{without} of the {len(figures)} figures of the set are of drives that the "
            "catalog does not have; they were not run."
        )
    held = sum(row.ok for row in rows if row.counted)
    return limit_code(holds=fail_below is None or held >= fail_below)
