"""``heatsoak sweep``: thousands of what-ifs over drives, places, workloads and cooling."""

from pathlib import Path
from typing import Annotated

from heatsoak.cli import common
from heatsoak.errors import UsageError
from heatsoak.output import Console, Text, table_of
from heatsoak.sweep import DRAWS, SUMMARY, Sweep, load_grid, summary, sweep
from heatsoak.units import parse_share
from heatsoak.words import percent_text


def sweep_command(
    grid: Annotated[
        Path,
        common.argument(
            "GRID.toml", "Drives, enclosures, workloads, and what is changed about them."
        ),
    ],
    output: Path | None = common.option(
        "--output -o DIR",
        "Where the table is, or goes; default: sweeps/ and the grid's name.",
        default=None,
    ),
    draws: int = common.option(
        "N",
        "Likely drives at each point: 40 as predict, 1 is the middle.",
        min=1,
        is_rare=True,
        default=DRAWS,
    ),
    jobs: int | None = common.option(
        "--jobs -j N", "Processes; default: one a processor.", min=1, is_rare=True, default=None
    ),
    scheduler: str | None = common.option(
        "ADDRESS", "Work on the Dask cluster of this scheduler.", is_rare=True, default=None
    ),
    seed: int = common.option("", "Random seed of likely drives.", min=0, is_rare=True, default=0),
    min_share: float | None = common.option(
        "SHARE",
        "Exit 1 if fewer of the points keep full speed: 0.95, 95%.",
        reads=parse_share,
        default=None,
    ),
    output_format: common.FormatOption = "text",
) -> int:
    """What is in the directory already is not run again."""
    if jobs is not None and scheduler is not None:
        raise UsageError("--jobs is for processes of this machine: leave it out with --scheduler")
    directory = output or Path("sweeps") / grid.stem
    with common.progress_bar(stays=False) as progress:
        found = sweep(
            load_grid(grid),
            directory,
            seed=seed,
            draws=draws,
            jobs=jobs,
            scheduler=scheduler,
            progress=progress,
        )
    common.write_json(found.model_dump(mode="json"), directory / SUMMARY)
    common.show(found, output_format, lambda found, out: print_sweep(found, directory, out))
    kept = 1 - (found.throttling + found.impossible) / found.points
    if min_share is None or kept >= min_share:
        return 0
    return common.limit_broken(
        f"{percent_text(100 * kept)} of the points keep full speed, and --min-share is "
        f"{percent_text(100 * min_share)}"
    )


def print_sweep(found: Sweep, directory: Path, console: Console) -> None:
    style = "bold red" if found.throttling or found.impossible else "bold green"
    console.print(Text(found.answer, style=style), soft_wrap=True)
    console.print()
    headings, rows = summary.group_table(found)
    table = table_of(*headings, numbers=headings[summary.WORDS :])
    for row in rows[: summary.MOST_GROUPS]:
        table.add_row(*map(Text, row))
    console.print(table)
    if len(rows) > summary.MOST_GROUPS:
        console.print(f"and {len(rows) - summary.MOST_GROUPS} more, which throttle at fewer points")
    console.print(Text(f"table: {directory}/points", style="dim"), soft_wrap=True)
