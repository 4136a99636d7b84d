"""What a sweep's file asks for: drives, places, workloads, and what is changed about each."""

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field

from heatsoak.catalog.specs import Strict
from heatsoak.errors import UsageError
from heatsoak.toml import toml_file, validated
from heatsoak.twin import Cooling
from heatsoak.twin.case import AIRFLOW_M_S, AMBIENT_C, WARMING_K
from heatsoak.twin.named import heatsink_of
from heatsoak.units import parse_rate_mb_s, parse_seconds

#: As a word of an axis: as it is without that.
NONE = "none"
#: A plan is held in memory, a kilobyte a point.
_MOST_POINTS = 1_000_000
#: As `predict --for` takes them.
_LEAST_S, _LONGEST_S = 1.0, 6 * 3600.0
#: More than any quantity of a sweep, and a float without loss.
_LARGEST = 1e15
#: Values of a range are round to this many places, so that they read as they were meant.
_PLACES = 6


class Change(Strict):
    """A point's parameters; None is as it is."""

    ambient_c: float | None = None
    warmer_k: float | None = None
    airflow_m_s: float | None = None
    heatsink: str | float | None = None
    holds_mb_s: float | None = None

    @property
    def cooling(self) -> Cooling:
        """What is changed about the place."""
        return Cooling(self.ambient_c, self.airflow_m_s, self.heatsink, self.warmer_k or 0.0)


def _listed(given: Any) -> list[Any]:
    """One value, a list, or a range ``{from, to, steps}``, as a list."""
    if not isinstance(given, dict):
        return given if isinstance(given, list) else [given]
    if given.keys() != {"from", "to", "steps"}:
        raise ValueError("a range is { from = 20, to = 50, steps = 7 }, with nothing else")
    ends, steps = (given["from"], given["to"]), given["steps"]
    if not all(_is_number(end) for end in ends):
        raise ValueError("a range goes from a number to a number")
    if isinstance(steps, bool) or not isinstance(steps, int) or not 2 <= steps <= _MOST_POINTS:
        raise ValueError("a range has at least 2 steps, both ends included")
    return [
        round(float(value), _PLACES) for value in np.linspace(float(ends[0]), float(ends[1]), steps)
    ]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST


def _axis(meaning: Callable[[Any], Any]) -> BeforeValidator:
    """An axis whose values are each different, and mean something."""

    def values(given: Any) -> tuple[Any, ...]:
        found = [meaning(one) for one in _listed(given)]
        if not found:
            raise ValueError("has no values: list at least one")
        twice = next((one for place, one in enumerate(found) if one in found[:place]), None)
        if twice is not None:
            raise ValueError(f"has {twice} twice")
        return tuple(found)

    return BeforeValidator(values)


def _number(limits: tuple[float, float], unit: str) -> BeforeValidator:
    low, high = limits

    def meaning(value: Any) -> float:
        if not _is_number(value) or not low <= value <= high:
            raise ValueError(f"{value}: must be a number between {low:g} and {high:g} {unit}")
        return float(value)

    return _axis(meaning)


def _word(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{value}: must be a name in quotes")
    return value


def _heatsink(value: Any) -> str | float | None:
    return None if value == NONE else heatsink_of(_text(value))


def _rate(value: Any) -> float | None:
    return None if value == NONE else parse_rate_mb_s(_text(value))


def _length_s(value: Any) -> float:
    found_s = parse_seconds(value)
    if not _LEAST_S <= found_s <= _LONGEST_S:
        raise ValueError(f"{value}: must be between 1s and 6h, such as 10m")
    return found_s


def _text(value: Any) -> str:
    if not _is_number(value) and not isinstance(value, str):
        raise ValueError(f"{value}: must be a name in quotes, or a number")
    return str(value)


class Grid(Strict):
    """The axes of a sweep; a point is one value of each.

    Attributes:
        drives: of the catalog, or files of twins and drives.
        enclosures: places of the catalog or of the twins; None is each drive's own.
        workloads: as `predict --workload` takes them.
        ambient_c, warmer_k, airflow_m_s, heatsink, holds: as `predict` has them; None is without.
        for_s: how long; None is as long as `predict` takes without ``--for``.
    """

    drives: Annotated[tuple[str, ...], _axis(_word)]
    workloads: Annotated[tuple[str, ...], _axis(_word)] = ("write",)
    enclosures: Annotated[tuple[str | None, ...], _axis(_word)] = (None,)
    ambient_c: Annotated[tuple[float | None, ...], _number(AMBIENT_C, "C")] = (None,)
    warmer_k: Annotated[tuple[float | None, ...], _number(WARMING_K, "K")] = (None,)
    airflow_m_s: Annotated[tuple[float | None, ...], _number(AIRFLOW_M_S, "m/s")] = (None,)
    heatsink: Annotated[tuple[str | float | None, ...], _axis(_heatsink)] = (None,)
    holds: Annotated[tuple[float | None, ...], _axis(_rate)] = (None,)
    for_s: Annotated[tuple[float | None, ...], _axis(_length_s)] = Field(
        default=(None,), alias="for"
    )

    @property
    def changes(self) -> list[Change]:
        """The parameters' combinations, the last axis fastest."""
        return list(self._changes())

    def _changes(self) -> Iterator[Change]:
        names = list(Change.model_fields)
        axes = (self.ambient_c, self.warmer_k, self.airflow_m_s, self.heatsink, self.holds)
        for values in product(*axes):
            yield Change.model_validate(dict(zip(names, values, strict=True)))

    @property
    def size(self) -> int:
        """How many points it has."""
        axes = (getattr(self, name) for name in type(self).model_fields)
        return int(np.prod([len(axis) for axis in axes], dtype=object))


def load_grid(path: Path) -> Grid:
    """Return the grid in a TOML file; UsageError with file and key for what is wrong."""
    grid = validated(Grid, toml_file(path), str(path))
    if grid.size > _MOST_POINTS:
        raise UsageError(
            f"{path}: has {grid.size:,} points, and {_MOST_POINTS:,} are the most: "
            "take fewer steps, or several sweeps"
        )
    return grid
