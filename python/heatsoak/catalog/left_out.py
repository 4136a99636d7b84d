"""A drive as its class and its data sheet predict it: without what was fitted to the drive."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

from heatsoak.catalog import loader
from heatsoak.catalog.bases import whole_pages
from heatsoak.catalog.specs import Drive

Path = tuple[str, ...]


@dataclass(frozen=True)
class Fitted:
    """A number that was fitted: where it is in its file, and what was known of it before.

    Attributes:
        expect: mean and standard deviation, from the class and the data sheet.
    """

    path: Path
    value: float
    bounds: tuple[float, float]
    expect: tuple[float, float]


def fitted_numbers(tables: dict[str, Any], at: Path = ()) -> Iterator[Fitted]:
    """Yield the numbers of a file's tables that were fitted with an expectation."""
    for key, value in tables.items():
        if not isinstance(value, dict):
            continue
        if value.get("fitted") and "expect" in value:
            yield Fitted((*at, key), value["value"], tuple(value["bounds"]), tuple(value["expect"]))
        elif "value" not in value:
            yield from fitted_numbers(value, (*at, key))


def with_numbers(tables: dict[str, Any], numbers: dict[Path, float], **why: Any) -> dict[str, Any]:
    """Return a file's tables with some of its numbers replaced."""
    changed = dict(tables)
    for path, value in numbers.items():
        here = changed
        for key in path[:-1]:
            here[key] = dict(here[key])
            here = here[key]
        size = path[-1] == "bytes" or path[-1].endswith("_bytes")
        here[path[-1]] = {**why, "value": whole_pages(value) if size else value}
    return changed


def left_out(drive_id: str) -> Drive:
    """Return a drive with what was expected of its fitted numbers before any fit.

    That is what class and data sheet say, times the median of fitted over expected among the other
    drives of the same base.
    """
    tables = loader.own_tables(drive_id)
    expected = {
        number.path: number.expect[0] * _correction(drive_id, tables.get("base"), number.path)
        for number in fitted_numbers(tables)
    }
    why = {"assumed": "class and data sheet, corrected as the class's other drives were"}
    return loader.drive_from(with_numbers(tables, expected, **why), drive_id)


def _correction(drive_id: str, base: str | None, path: Path) -> float:
    """What was fitted to the class's other drives over what was expected of them."""
    others = [loader.own_tables(one) for one in loader.drive_ids() if one != drive_id]
    ratios = [
        number.value / number.expect[0]
        for tables in others
        if tables.get("base") == base
        for number in fitted_numbers(tables)
        if number.path == path
    ]
    return median(ratios) if ratios else 1.0
