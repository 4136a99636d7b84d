"""Published figures next to the simulated ones, as a table for the terminal."""

from typing import Any

from heatsoak import catalog
from heatsoak.output import Console, Text, table_of
from heatsoak.words import number_text

_NOTHING = "n/a"
_GROUPS = {
    "fitted": "Fitted",
    "held-out": "Held out from the fit",
    "known": "Known before",
    "predicted": "Predicted",
    None: "Not counted",
}


def print_reproduction(rows: list[dict[str, Any]], console: Console) -> None:
    """Print the rows of ``heatsoak reproduce`` by role, and how many of the counted ones hold."""
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
            shown = _truth if row["id"] in statements else _number
            table.add_row(
                row["id"],
                _published(row, shown),
                _NOTHING if row["simulated"] is None else shown(row["simulated"]),
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
            near = f"{one['near']} within {one['near_share']:.0%}"
        off = "" if one["off_share"] is None else f"{one['off_share']:.0%}"
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


def _published(row: dict[str, Any], shown: Any) -> str:
    low, high = row["published"]
    text = shown(low) if low == high else f"{shown(low)} to {shown(high)}"
    return f"{text} ± {_number(row['tolerance'])}" if row["tolerance"] else text


def _truth(value: float) -> str:
    return "true" if value else "false"


def _number(value: float) -> str:
    """The number with four digits and no exponent."""
    return f"{value:,.0f}" if abs(value) >= 1000 else number_text(round(value, 3), 4)
