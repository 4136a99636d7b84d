"""``heatsoak calibrate``: fit the simulated drives to the published figures (for developers)."""

from pathlib import Path
from typing import Annotated

import typer
from heatsoak.cli.common import FormatOption, OutputFormat, console, progress_bar
from heatsoak.errors import UsageError, suggestion
from heatsoak.output import print_json, print_out

from heatsoak_dev.calibration.tables import print_calibration, print_leave_one_out


def calibrate_command(
    directory: Annotated[
        Path | None,
        typer.Option("--write", metavar="DIR", help="Write the fitted values to this catalog."),
    ] = None,
    hold_out: Annotated[
        list[str] | None,
        typer.Option(
            "--hold-out",
            metavar="ID",
            help="Leave a cell, or all that match a pattern, out of the fit: 'puget.*.2gpu.*'.",
        ),
    ] = None,
    leave_one_out: Annotated[
        bool,
        typer.Option(
            "--leave-one-out",
            help="Predict each cell from a fit of all others; compare with main effects only.",
        ),
    ] = False,
    stage: Annotated[
        str | None,
        typer.Option(help="Fit only this stage; take the others from the catalog."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed of additional starting points.")] = 0,
    starts: Annotated[int, typer.Option(min=1, help="Number of starting points.")] = 1,
    iterations: Annotated[int, typer.Option(min=1, help="Maximum iterations of each fit.")] = 20,
    drive: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="Fit this drive to the modern figures printed of it, and no stage."
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Do not fit; check the catalog as it is.")
    ] = False,
    output_format: FormatOption = OutputFormat.TEXT,
) -> None:
    """Fit the simulated drives to the published figures: a minute; leave-one-out: minutes."""
    # loads scipy's optimisers, which are slow to import
    from heatsoak_dev import calibration

    if drive is not None:
        with progress_bar() as progress:
            fitted = calibration.fit_drive(drive, progress)
        if directory is not None:
            calibration.write(fitted, directory)
        for parameter in fitted:
            print_out(f"{parameter.id} = {parameter.value:g}")
        return
    if stage is not None and stage not in calibration.STAGES:
        raise UsageError(
            f"--stage: there is no stage '{stage}'{suggestion(stage, calibration.STAGES)}: "
            f"stages are {', '.join(calibration.STAGES)}"
        )
    if leave_one_out:
        if check or hold_out or directory is not None:
            raise UsageError(
                "--leave-one-out cannot be combined with --check, --hold-out or --write"
            )
        with progress_bar() as progress:
            predicted = calibration.leave_one_out(iterations=iterations, progress=progress)
        if output_format is OutputFormat.JSON:
            print_json(predicted.as_dict())
        else:
            print_leave_one_out(predicted.as_dict(), console())
        return
    found: list[calibration.Calibration] = []
    for name in calibration.STAGES if stage is None else (stage,):
        if check:
            found.append(calibration.check_calibration(stage=name))
            continue
        with progress_bar() as progress:
            found.append(
                calibration.calibrate(
                    stage=name,
                    given=[parameter for one in found for parameter in one.parameters],
                    seed=seed,
                    hold_out=hold_out or (),
                    starts=starts,
                    iterations=iterations,
                    progress=progress,
                )
            )
    if directory is not None:
        calibration.write([parameter for one in found for parameter in one.parameters], directory)
        if not check:
            calibration.write_roles([row for one in found for row in one.rows], directory)
    if output_format is OutputFormat.JSON:
        print_json({"stages": [one.as_dict() for one in found]})
    else:
        for one in found:
            print_calibration(one.as_dict(), console())
