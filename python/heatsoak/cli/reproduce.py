"""``heatsoak lab reproduce``: compare the simulated drives with published figures."""

from dataclasses import asdict
from typing import Any, Literal

from heatsoak import catalog
from heatsoak import reproduce as reproduction
from heatsoak.cli import common, completion
from heatsoak.errors import UsageError
from heatsoak.output import Console, Text, print_out, table_of
from heatsoak.reproduce import FigureSet
from heatsoak.words import number_text, percent_text


def reproduce_command(
    figure_set: FigureSet = common.option(
        "--set",
        "published: what the catalog was built with; modern: an outside test, figures of "
        "2015 to 2026.",
        default=FigureSet.PUBLISHED,
    ),
    leave_out: Literal["drive"] | None = common.option(
        "",
        "drive: predict each drive from its class and data sheet, without what was fitted "
        "to it; only with --set modern.",
        is_rare=True,
        default=None,
    ),
    drive: str | None = common.option(
        "DRIVE",
        "Only figures of this drive; a TOML file replaces the drive with its model.",
        reads=common.drive_id,
        offers=completion.simulated,
        default=None,
    ),
    only: str | None = common.option(
        "ID-PREFIX",
        "Only figures whose id starts with this.",
        offers=completion.figures,
        default=None,
    ),
    min_figures: int | None = common.option(
        "N", "Exit 1 if fewer than N counted figures hold.", min=0, default=None
    ),
    output: common.OutputOption = None,
    seed: int = common.option(
        "", "Random seed of the simulated drives.", min=0, is_rare=True, default=0
    ),
    output_format: common.FormatOption = "text",
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
    with common.progress_bar() as progress:
        rows = reproduction.reproduce(
            questions, output, seed=seed, drives=custom, progress=progress
        )
    if leave_out is not None:
        rows = [row.without_fit() for row in rows]
    document = [row.as_dict() for row in rows]
    if output is not None:
        common.write_json(document, output / "reproduce.json")
    common.show(document, output_format, print_reproduction)
    if figure_set is FigureSet.MODERN and output_format == "text":
        found = reproduction.nearness(questions, rows)
        print_nearness([asdict(one) for one in found], common.console())
        _print_not_run()
    held = sum(row.ok for row in rows if row.counted)
    if min_figures is None or held >= min_figures:
        return 0
    return common.limit_broken(f"{held} counted figures hold, and --min-figures is {min_figures}")


def _print_not_run() -> None:
    figures = catalog.modern_figures()
    without = sum(figure.drive_id is None for figure in figures)
    print_out(
        f"{without} of the {len(figures)} figures of the set are of drives that the "
        "catalog does not have; they were not run."
    )


_NOTHING = "n/a"
_GROUPS = {
    "fitted": "Fitted",
    "held-out": "Held out from the fit",
    "known": "Known before",
    "predicted": "Predicted",
    None: "Not counted",
}


def print_reproduction(rows: list[dict[str, Any]], console: Console) -> None:
    """Print the rows by role, and how many of the counted ones hold."""
    figures = (*catalog.published().figures, *catalog.modern_figures())
    statements = {figure.id for figure in figures if figure.holds is not None}
    numbers = ("published", "simulated")
    table = table_of("Figure", *numbers, "", "", numbers=numbers)
    table.columns[0].no_wrap = True
    for role, title in _GROUPS.items():
        group = [row for row in rows if (row["role"] if row["counted"] else None) == role]
        if group:
            table.add_row(Text(title, style="bold"))
        for row in group:
            is_statement = row["id"] in statements
            table.add_row(
                row["id"],
                _published(row, is_statement=is_statement),
                _figure(row["simulated"], is_statement=is_statement),
                _mark(row),
                Text(row.get("why", "")),
            )
    console.print(table)
    console.print()
    console.print(_summary(rows))


def print_nearness(found: list[dict[str, Any]], console: Console) -> None:
    """Print how near modern figures come, by what they are figures of."""
    numbers = ("hold", "near", "median error")
    table = table_of("", *numbers, numbers=numbers)
    for one in found:
        near = ""
        if one["near_share"] is not None:
            near = f"{one['near']} within {percent_text(100 * one['near_share'])}"
        off = "" if one["off_share"] is None else percent_text(100 * one["off_share"])
        table.add_row(one["kind"].capitalize(), f"{one['held']} of {one['count']}", near, off)
    console.print(table)
    console.print()


def _summary(rows: list[dict[str, Any]]) -> str:
    counted = [row for row in rows if row["counted"]]
    parts = []
    for role in _GROUPS:
        of_role = [row for row in counted if row["role"] == role]
        if of_role:
            parts.append(f"{_held(of_role)} of {len(of_role)} {role}")
    roles = f" ({', '.join(parts)})" if parts else ""
    unmeasured = sum(row["simulated"] is None for row in counted)
    rest = f"; {unmeasured} could not be measured" if unmeasured else ""
    return f"{_held(counted)} of {len(counted)} counted rows hold{roles}{rest}."


def _held(rows: list[dict[str, Any]]) -> int:
    return sum(row["ok"] for row in rows)


def _mark(row: dict[str, Any]) -> Text:
    if row["ok"]:
        return Text("ok", style="green")
    return Text(_NOTHING if row["simulated"] is None else "off", style="red")


def _published(row: dict[str, Any], *, is_statement: bool) -> str:
    low, high = (_figure(end, is_statement=is_statement) for end in row["published"])
    text = low if low == high else f"{low} to {high}"
    return f"{text} ± {number_text(row['tolerance'])}" if row["tolerance"] else text


def _figure(value: float | None, *, is_statement: bool) -> str:
    if value is None:
        return _NOTHING
    return str(bool(value)).lower() if is_statement else number_text(value, 4)
