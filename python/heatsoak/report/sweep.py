"""A sweep in the terminal."""

from pathlib import Path
from typing import TYPE_CHECKING

from heatsoak.output import Console, Text, table_of
from heatsoak.words import duration_text

if TYPE_CHECKING:
    # predictions take a while to load, and every report would wait for them
    from heatsoak.sweep import Sweep
    from heatsoak.sweep.summary import Checked, Off

#: Groups that are shown: what fits a screen.
MOST_GROUPS = 20
#: How many of the table's columns are words; the others are numbers.
WORDS = 3


def print_sweep(found: "Sweep", directory: Path, console: Console) -> None:
    """Print what a sweep comes to, the answer first."""
    style = "bold red" if found.throttling or found.impossible else "bold green"
    console.print(Text(found.answer, style=style), soft_wrap=True)
    console.print()
    headings, rows = group_table(found)
    table = table_of(*headings, numbers=headings[WORDS:])
    for row in rows[:MOST_GROUPS]:
        table.add_row(*map(Text, row))
    console.print(table)
    if len(rows) > MOST_GROUPS:
        console.print(f"and {len(rows) - MOST_GROUPS} more, which throttle at fewer points")
    if found.checked is not None:
        console.print()
        console.print(Text(checked_words(found.checked)), soft_wrap=True)
    console.print(
        Text(f"tables: {directory}/points, {directory}/exact", style="dim"), soft_wrap=True
    )


def group_table(found: "Sweep") -> tuple[list[str], list[list[str]]]:
    """Return the headings and rows of the table of groups, the worst first if there are many."""
    lengths = len({one.for_s for one in found.groups}) > 1
    groups = found.groups
    if len(groups) > MOST_GROUPS:
        groups = sorted(groups, key=lambda one: -(one.throttling + one.impossible) / one.points)
    headings = ["Drive", "Enclosure", "Workload", *(["for"] if lengths else [])]
    return [*headings, "throttle", "soonest", "deepest", "hottest"], [
        [
            *(one.drive, one.enclosure, one.workload),
            *([duration_text(one.for_s)] if lengths else []),
            f"{one.throttling + one.impossible:,} of {one.points:,}",
            "" if one.soonest_s is None else duration_text(one.soonest_s),
            "" if one.deepest_pct is None else f"-{one.deepest_pct:.0f} %",
            "" if one.hottest_c is None else f"{one.hottest_c:.0f} C",
        ]
        for one in groups
    ]


def checked_words(found: "Checked") -> str:
    """Return how far predictions are from the exact engine, in a sentence."""
    said = (
        f"The exact engine agrees at {found.agree} of {found.points} points that it was run on "
        "whether the drive throttles"
    )
    if found.onset_pct is None or found.depth_points is None:
        return f"{said}."
    return (
        f"{said}; where both do ({found.both}), predictions are off by, in the median and at the "
        f"90th percentile: onset {_off(found.onset_pct)} %, depth {_off(found.depth_points)} "
        "points"
        + (
            f", MB/s {_off(found.throttled_mb_s_pct)} %."
            if found.throttled_mb_s_pct is not None
            else "."
        )
    )


def _off(found: "Off") -> str:
    return f"{found.median:.1f} and {found.p90:.1f}"
