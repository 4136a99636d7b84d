"""Titles, numbers and tables in the words of reports."""

import re
from collections.abc import Collection, Sequence

from rich.table import Table

from heatsoak.protocol.phrases import plain
from heatsoak.units import format_number

_DEPTH = re.compile(r"\bqd(?=\d)")


def number(value: float) -> str:
    """Return a number in about three digits: ``1,499``, ``73``, ``6.4``, ``0.25``."""
    if abs(value) >= 10:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 1 else f"{format_number(value, 2)}"


def about(value: float) -> str:
    """Return a whole number, or two digits below one: onsets and depths are not more exact."""
    return f"{value:,.0f}" if abs(value) >= 1 or value == 0 else f"{format_number(value, 2)}"


def title_of(step: str) -> str:
    """Return a step's name as a title: ``Sequential write``."""
    text = _DEPTH.sub(lambda found: found.group().upper(), plain(step))
    return text[:1].upper() + text[1:]


def span(values: Sequence[float], unit: str) -> str:
    """Return a range: ``8 to 71 s``, or ``8 s`` if both ends read the same."""
    low, high = about(min(values)), about(max(values))
    return f"{low} {unit}" if low == high else f"{low} to {high} {unit}"


def counted(count: int, one: str, many: str | None = None) -> str:
    """Return ``1 place`` or ``3 places``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def table_of(*headings: str, numbers: Collection[str] = ()) -> Table:
    """Return an empty table without rules: words at the left, `numbers` at the right and whole."""
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in headings:
        if heading in numbers:
            made.add_column(heading, justify="right", no_wrap=True)
        else:
            made.add_column(heading, overflow="fold")
    return made
