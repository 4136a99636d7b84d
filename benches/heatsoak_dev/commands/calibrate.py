"""``heatsoak calibrate``: fit the simulated drives to the published figures (for developers)."""

from pathlib import Path
from typing import Annotated, Any

import typer
from heatsoak.cli.common import FormatOption, OutputFormat, console, progress_bar
from heatsoak.errors import UsageError, suggestion
from heatsoak.output import Console, Text, print_json, print_out
from rich.table import Table


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


def print_calibration(calibration: dict[str, Any], console: Console) -> None:
    """Print parameters with their bounds, then the fitted figures and those held out."""
    _print_parameters(calibration["parameters"], console)
    for role, title in (("fitted", "Fitted figures"), ("held-out", "Figures held out")):
        rows = [row for row in calibration["rows"] if row["role"] == role]
        if rows:
            console.print()
            _print_rows(title, rows, console)
    if calibration["loose"]:
        console.print()
        console.print(
            "Combinations that are determined by the expectations more than by the figures:"
        )
        for direction in calibration["loose"]:
            moved = ", ".join(f"{name} {share:+.2f}" for name, share in direction["shares"].items())
            console.print(f"  {direction['information']:.2f}  {moved}", soft_wrap=True)
    parameters, figures = len(calibration["parameters"]), calibration["figures_fitted"]
    stage = calibration["stage"]
    console.print()
    console.print(f"Stage {stage}: {parameters} parameters fitted to {figures} figures.")
    console.print()


def print_leave_one_out(predicted: dict[str, Any], console: Console) -> None:
    """Print the prediction of each cell without itself, then how far off both methods are."""
    table = _table("Left out", "onset, s", "model", "effects", "depth, %", "model", "effects")
    for cell in predicted["cells"]:
        numbers = []
        for metric in ("onset_s", "depth_pct"):
            numbers.append(_range(cell[metric]))
            numbers += [f"{cell[by][metric]:.1f}" for by in ("model", "baseline")]
        table.add_row(cell["id"], *numbers)
    console.print(table)
    console.print()
    model, baseline = predicted["summary"]["model"], predicted["summary"]["baseline"]
    table = _table("Off by", "model", "effects")
    for title, key, form in (
        ("onset, mean, s", "onset_error_s", "{:.1f}"),
        ("onset, mean, as a share", "onset_error_share", "{:.0%}"),
        ("depth, mean, points", "depth_error_pct", "{:.1f}"),
        ("onset within a quarter", "near_onset", "{} of {cells}"),
        ("depth within 8 points", "near_depth", "{} of {cells}"),
        ("both", "near_both", "{} of {cells}"),
        ("onset within its tolerance", "held_onset", "{} of {cells}"),
        ("depth within its tolerance", "held_depth", "{} of {cells}"),
    ):
        cells = model["cells"]
        table.add_row(title, *(form.format(by[key], cells=cells) for by in (model, baseline)))
    console.print(table)
    console.print()
    console.print(
        f"Model: {predicted['parameters']} parameters fitted to the other cells. Effects: slot, "
        "cards and load, additive; six coefficients for onsets and six for depths."
    )


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(first)
    for heading in others:
        table.add_column(heading, justify="right")
    return table


def _range(ends: list[float]) -> str:
    low, high = ends
    return f"{low:g}" if low == high else f"{low:g}-{high:g}"


def _print_parameters(parameters: list[dict[str, Any]], console: Console) -> None:
    table = _table("Parameter", "value", "+-", "expected", "+-", "at least", "at most")
    for parameter in parameters:
        error = parameter["stderr"]
        table.add_row(
            parameter["key"],
            f"{parameter['value']:g}",
            "" if error is None else f"{error:.2g}",
            *(f"{number:g}" for number in (*parameter["expect"], *parameter["bounds"])),
        )
    console.print(table)


def _print_rows(title: str, rows: list[dict[str, Any]], console: Console) -> None:
    table = _table(title, "published", "simulated", "off by")
    table.add_column("")
    for row in rows:
        table.add_row(
            row["id"],
            _range(row["published"]),
            f"{row['simulated']:.1f}",
            f"{row['error']:+.1f}",
            Text("ok", style="green") if row["ok"] else Text("off", style="red"),
        )
    console.print(table)
    console.print(f"{sum(row['ok'] for row in rows)} of {len(rows)} within tolerance.")
