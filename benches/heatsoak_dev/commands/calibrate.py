"""``heatsoak calibrate``: fit the simulated drives to the published figures (for developers)."""

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from heatsoak.cli.common import FormatOption, OutputFormat, console, progress_bar
from heatsoak.errors import UsageError, suggestion
from heatsoak.output import Console, Text, print_json, print_out
from rich.table import Table

if TYPE_CHECKING:
    from heatsoak_dev.calibration import Calibration, PairGuess

#: A table's header, and its rows.
TextTable = tuple[list[str], list[list[str]]]


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
    output_format: FormatOption = "text",
) -> None:
    """Fit the simulated drives to the published figures: a minute; leave-one-out: minutes."""
    # loads scipy's optimisers, which are slow to import
    from heatsoak_dev import calibration

    if drive is not None:
        _calibrate_drive(drive, directory)
        return
    stages = _stages(stage)
    if leave_one_out:
        if check or hold_out or directory is not None:
            raise UsageError(
                "--leave-one-out cannot be combined with --check, --hold-out or --write"
            )
        _leave_one_out(iterations, output_format)
        return
    if check:
        found = [calibration.check_calibration(stage=name) for name in stages]
    else:
        found = _calibrate(stages, seed, hold_out or (), starts, iterations)
    if directory is not None:
        calibration.write([parameter for one in found for parameter in one.parameters], directory)
        if not check:
            calibration.write_roles([row for one in found for row in one.rows], directory)
    if output_format == "json":
        print_json({"stages": [one.as_dict() for one in found]})
    else:
        for one in found:
            print_calibration(one.as_dict(), console())


def _stages(stage: str | None) -> Sequence[str]:
    """Those to fit; raises UsageError for one that does not exist."""
    from heatsoak_dev.calibration import STAGES

    if stage is not None and stage not in STAGES:
        raise UsageError(
            f"--stage: there is no stage '{stage}'{suggestion(stage, STAGES)}: "
            f"stages are {', '.join(STAGES)}"
        )
    return STAGES if stage is None else (stage,)


def _calibrate(
    stages: Sequence[str], seed: int, hold_out: Sequence[str], starts: int, iterations: int
) -> list["Calibration"]:
    """Fit stages one after another, each given what those before came to."""
    from heatsoak_dev import calibration

    found: list[Calibration] = []
    for name in stages:
        with progress_bar() as progress:
            found.append(
                calibration.calibrate(
                    stage=name,
                    given=[parameter for one in found for parameter in one.parameters],
                    seed=seed,
                    hold_out=hold_out,
                    starts=starts,
                    iterations=iterations,
                    progress=progress,
                )
            )
    return found


def _calibrate_drive(drive: str, directory: Path | None) -> None:
    """Fit a drive to the modern figures printed of it."""
    from heatsoak_dev import calibration

    with progress_bar() as progress:
        fitted = calibration.fit_drive(drive, progress)
    if directory is not None:
        calibration.write(fitted, directory)
    for parameter in fitted:
        print_out(f"{parameter.id} = {parameter.value:g}")


def _leave_one_out(iterations: int, output_format: OutputFormat) -> None:
    """Predict each cell from a fit of all others."""
    from heatsoak_dev import calibration

    with progress_bar() as progress:
        predicted = calibration.leave_one_out(iterations=iterations, progress=progress)
    if output_format == "json":
        print_json(predicted.as_dict())
    else:
        print_leave_one_out(predicted.as_dict(), console())


def print_calibration(calibration: dict[str, Any], console: Console) -> None:
    """Print parameters with their bounds, then the fitted figures and those held out."""
    _print(parameter_table(calibration), console)
    for role, title in (("fitted", "Fitted figures"), ("held-out", "Figures held out")):
        rows = [row for row in calibration["rows"] if row["role"] == role]
        if rows:
            console.print()
            _print(fit_table(rows, title), console)
            console.print(f"{sum(row['ok'] for row in rows)} of {len(rows)} within tolerance.")
    if calibration["loose"]:
        console.print()
        _print(loose_table(calibration), console)
    parameters, figures = len(calibration["parameters"]), calibration["figures_fitted"]
    stage = calibration["stage"]
    console.print(f"\nStage {stage}: {parameters} parameters fitted to {figures} figures.\n")


def print_leave_one_out(predicted: dict[str, Any], console: Console) -> None:
    """Print the prediction of each cell without itself, then how far off both methods are."""
    _print(leave_one_out_table(predicted), console)
    console.print()
    _print(summary_table(predicted), console)
    console.print(
        f"\nModel: {predicted['parameters']} parameters fitted to the other cells. Effects: slot, "
        "cards and load, additive; six coefficients for onsets and six for depths."
    )


def _print(shown: TextTable, console: Console) -> None:
    header, rows = shown
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number, heading in enumerate(header):
        table.add_column(heading, justify="right" if number else "left")
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)


# --- the tables of the command and of benches/validation.md ---------------------------------------


def fit_table(rows: Sequence[dict[str, Any]], title: str = "figure") -> TextTable:
    """Return published and simulated figures."""
    header = [title, "published", "simulated", "off by", "within tolerance"]
    return header, [
        [
            row["id"].removeprefix("puget."),
            _ends(row["published"]),
            f"{row['simulated']:.1f}",
            f"{row['error']:+.1f}",
            "yes" if row["ok"] else "no",
        ]
        for row in rows
    ]


def parameter_table(found: dict[str, Any]) -> TextTable:
    """Return the fitted numbers, and how much of each the figures told."""
    rows = []
    for parameter in found["parameters"]:
        (middle, spread), error = parameter["expect"], parameter["stderr"]
        rows.append(
            [
                _named(parameter),
                f"{parameter['value']:g}",
                "" if error is None else f"{error:.2g}",
                f"{middle:g} ± {spread:g}",
                "" if error is None else f"{1 - (error / spread) ** 2:.0%}",
            ]
        )
    return ["parameter", "value", "±", "expected", "learned"], rows


def _named(parameter: dict[str, Any]) -> str:
    """The key, and the file where it is not one of the 950 PRO or of its slots."""
    file = Path(parameter["file"]).stem
    own = file in ("samsung-950-pro-512", "puget")
    return str(parameter["key"]) if own else f"{file}: {parameter['key']}"


def loose_table(found: dict[str, Any]) -> TextTable:
    """Return what is determined by the expectations more than by the figures."""
    moving = "parameters that move together, in units of the expected spread"
    return [moving, "figures / expectations"], [
        [
            ", ".join(f"{name} {share:+.2f}" for name, share in direction["shares"].items()),
            f"{direction['information']:.2f}",
        ]
        for direction in found["loose"]
    ]


def leave_one_out_table(predicted: dict[str, Any]) -> TextTable:
    """Return each cell's onset and depth, published and by both methods without it."""
    rows = []
    for cell in predicted["cells"]:
        row = [cell["id"].removeprefix("puget.")]
        for metric in ("onset_s", "depth_pct"):
            row.append(_ends(cell[metric]))
            row += [f"{cell[by][metric]:.1f}" for by in ("model", "baseline")]
        rows.append(row)
    return ["left out", "onset, s", "model", "effects", "depth, %", "model", "effects"], rows


def summary_table(predicted: dict[str, Any]) -> TextTable:
    """Return how far off both methods are."""
    both = [predicted["summary"][by] for by in ("model", "baseline")]
    shown = (
        ("onset, mean absolute error, s", "onset_error_s", "{:.1f}"),
        ("onset, mean relative error", "onset_error_share", "{:.0%}"),
        ("depth, mean absolute error, points", "depth_error_pct", "{:.1f}"),
        ("onset within 25 %", "near_onset", "{} of {cells}"),
        ("depth within 8 points", "near_depth", "{} of {cells}"),
        ("both", "near_both", "{} of {cells}"),
        ("onset within the published tolerance", "held_onset", "{} of {cells}"),
        ("depth within the published tolerance", "held_depth", "{} of {cells}"),
    )
    return ["off by", "model", "effects"], [
        [title, *(form.format(by[key], cells=by["cells"]) for by in both)]
        for title, key, form in shown
    ]


def sites_table(guesses: Sequence["PairGuess"]) -> TextTable:
    """Return how the pairs of each site are predicted from those of all others."""
    sites = dict.fromkeys(guess.pair.site for guess in guesses)
    groups = {site: [one for one in guesses if one.pair.site == site] for site in sites}
    groups["coolings that another site has"] = [one for one in guesses if one.is_shared]
    groups["all"] = list(guesses)
    rows = []
    for name, group in groups.items():
        off_k = sorted(abs(one.error_k) for one in group if not one.pair.held)
        signs = [one.is_right for one in group if not one.pair.held]
        bounds = [one.is_right for one in group if one.pair.held]
        middle = f"{statistics.median(off_k):.1f}, {off_k[-1]:.1f}" if off_k else ""
        shares = (f"{sum(which)} of {len(which)}" if which else "" for which in (signs, bounds))
        rows.append([name, middle, *shares])
    return ["left out", "off by, K: median, most", "signs right", "bounds kept"], rows


def _ends(both: Sequence[float]) -> str:
    low, high = both
    if low <= -273.15:  # a bound: nothing is colder
        return f"at most {high:g}"
    return f"{low:g}" if low == high else f"{low:g}-{high:g}"
