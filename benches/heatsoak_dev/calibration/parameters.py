"""The fitted numbers of the catalog: every one with ``fitted = true``."""

import tomllib
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import tomlkit
from heatsoak.errors import UsageError
from heatsoak.files import require_file
from numpy.typing import NDArray

#: The default spread of an expectation, as a share of the bounds.
_SPREAD = 0.25
_DIGITS = 4

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Parameter:
    """A fitted number.

    Attributes:
        file: its file in the catalog.
        keys: its path of keys in the file.
        bounds: its permitted range.
        expect: its expected value before any fit, and the spread of that.
        stderr: its standard error after the fit; None if not calculated.
    """

    file: str
    keys: tuple[str, ...]
    value: float
    bounds: tuple[float, float]
    expect: tuple[float, float]
    stderr: float | None = None

    @property
    def name(self) -> str:
        """Its keys, joined."""
        return ".".join(self.keys)

    @property
    def id(self) -> str:
        """Its file and keys, as stages name them."""
        return f"{self.file.removesuffix('.toml')}:{self.name}"


class Tables:
    """The files of a catalog that a stage needs, with parameters that can be replaced.

    Attributes:
        parameters: the numbers that the stage fits, in the order of the files.
    """

    def __init__(
        self,
        names: Sequence[str],
        patterns: Sequence[str],
        most: int,
        catalog_dir: Path | None = None,
        given: Sequence[Parameter] = (),
    ) -> None:
        """Read the files `names` of the catalog in `catalog_dir`, or of heatsoak's own.

        `patterns` say which of their fitted numbers the stage fits, `most` how many those may be.
        `given` are the results of other stages. Raises UsageError for files that cannot be read,
        and for more numbers than that.
        """
        root = files("heatsoak.catalog")
        texts = {
            name: (root / name).read_text("utf-8")
            if catalog_dir is None
            else read_catalog_text(catalog_dir / name)
            for name in names
        }
        self._tables = {name: tomllib.loads(text) for name, text in texts.items()}
        for parameter in given:
            if parameter.file in self._tables:
                _put(self._tables[parameter.file], parameter.keys, parameter.value)
        self.parameters = [
            parameter
            for name, table in self._tables.items()
            for parameter in _fitted(name, table, ())
            if _matches(parameter.id, patterns)
        ]
        if len(self.parameters) > most:
            raise UsageError(
                f"{len(self.parameters)} numbers are marked as fitted: "
                f"{most} at most, or the fit explains nothing"
            )
        self._low = np.array([p.bounds[0] for p in self.parameters])
        self._high = np.array([p.bounds[1] for p in self.parameters])
        self._expected = np.array([p.expect[0] for p in self.parameters])
        self._spread = np.array([p.expect[1] for p in self.parameters])

    def having(self, values: Sequence[float]) -> dict[str, dict[str, Any]]:
        """Return the tables by file with these fitted numbers."""
        tables = deepcopy(self._tables)
        for parameter, value in zip(self.parameters, values, strict=True):
            _put(tables[parameter.file], parameter.keys, value)
        return tables

    def expected(self) -> Vector:
        """Return the expected point of the unit cube before any fit."""
        unit: Vector = (self._expected - self._low) / (self._high - self._low)
        return unit

    def present(self) -> Vector:
        """Return the point of the unit cube for the catalog's own values."""
        values = np.array([p.value for p in self.parameters])
        unit: Vector = (values - self._low) / (self._high - self._low)
        return unit

    def values(self, unit: Vector) -> list[float]:
        """Return the numbers at a point of the unit cube, which the bounds span."""
        return [float(value) for value in self._low + (self._high - self._low) * unit]

    def rounded(self, unit: Vector) -> list[float]:
        """Return the parameters as they are stored: few digits, and within their bounds."""
        return [
            min(max(float(f"{value:.{_DIGITS}g}"), float(low)), float(high))
            for value, low, high in zip(self.values(unit), self._low, self._high, strict=True)
        ]

    def beliefs(self, unit: Vector) -> Vector:
        """Return how far the parameters are from the expectations, in spreads."""
        far: Vector = (self._low + (self._high - self._low) * unit - self._expected) / self._spread
        return far


def write(parameters: Sequence[Parameter], directory: Path) -> list[Path]:
    """Write fitted numbers into the catalog in `directory`; nothing else changes.

    Returns the files. Raises UsageError if they are not a catalog's files.
    """
    written = []
    for name in dict.fromkeys(parameter.file for parameter in parameters):
        path = directory / name
        document = tomlkit.parse(read_catalog_text(path))
        for parameter in parameters:
            if parameter.file != name:
                continue
            table: Any = document
            for key in parameter.keys:
                if key not in table:
                    raise UsageError(f"{path}: there is no {parameter.name}")
                table = table[key]
            table["value"] = parameter.value
        path.write_text(tomlkit.dumps(document), "utf-8")
        written.append(path)
    return written


def _put(table: dict[str, Any], keys: Sequence[str], value: float) -> None:
    for key in keys:
        table = table[key]
    table["value"] = value


def _matches(name: str, patterns: Sequence[str]) -> bool:
    """Whether the first matching pattern includes it; one that starts with ``!`` excludes it."""
    for pattern in patterns:
        if fnmatchcase(name, pattern.removeprefix("!")):
            return not pattern.startswith("!")
    return False


def _fitted(name: str, table: dict[str, Any], keys: tuple[str, ...]) -> Iterator[Parameter]:
    """Every figure below `table` that is marked as fitted."""
    for key, value in table.items():
        if not isinstance(value, dict):
            continue
        here = (*keys, key)
        if value.get("fitted") is True:
            if "bounds" not in value:
                raise UsageError(f"{name}: {'.'.join(here)} is fitted but has no bounds")
            low, high = (float(bound) for bound in value["bounds"])
            middle, spread = value.get("expect", ((low + high) / 2, _SPREAD * (high - low)))
            expect = (float(middle), float(spread))
            yield Parameter(name, here, float(value["value"]), (low, high), expect)
        else:
            yield from _fitted(name, value, here)


def read_catalog_text(path: Path) -> str:
    """Return the text of a catalog's file; raises UsageError where it cannot be read."""
    require_file(path)
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read: {error.strerror}: name a catalog's directory"
        ) from error
