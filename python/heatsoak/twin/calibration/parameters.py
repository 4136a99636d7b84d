"""The fitted numbers of the catalog: every one with ``fitted = true``."""

import tomllib
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import tomlkit

from heatsoak.errors import UsageError

DRIVE_FILE = "drives/samsung-950-pro-512.toml"
PLACES_FILE = "enclosures/puget.toml"
FILES = (DRIVE_FILE, PLACES_FILE)
#: More would be a table of its own, not a model.
MOST_PARAMETERS = 24


@dataclass(frozen=True)
class Parameter:
    """A fitted number: the file and keys it stands under, and what it may be."""

    file: str
    keys: tuple[str, ...]
    value: float
    bounds: tuple[float, float]

    @property
    def name(self) -> str:
        """Its keys, joined."""
        return ".".join(self.keys)


class Tables:
    """The files of a catalog that hold fitted numbers, with others put in their place."""

    def __init__(self, catalog_dir: Path | None = None) -> None:
        """Read the catalog in `catalog_dir`, or heatsoak's own; raises UsageError."""
        root = files("heatsoak.catalog")
        texts = {
            name: (root / name).read_text("utf-8")
            if catalog_dir is None
            else _read(catalog_dir / name)
            for name in FILES
        }
        self._tables = {name: tomllib.loads(text) for name, text in texts.items()}
        self.parameters = [
            parameter
            for name, table in self._tables.items()
            for parameter in _fitted(name, table, ())
        ]
        if len(self.parameters) > MOST_PARAMETERS:
            raise UsageError(
                f"{len(self.parameters)} numbers are marked as fitted: "
                f"{MOST_PARAMETERS} at most, or the fit explains nothing"
            )

    def having(self, values: list[float]) -> dict[str, dict[str, Any]]:
        """Return the tables by file with these fitted numbers."""
        tables = deepcopy(self._tables)
        for parameter, value in zip(self.parameters, values, strict=True):
            table = tables[parameter.file]
            for key in parameter.keys:
                table = table[key]
            table["value"] = value
        return tables


def write(parameters: tuple[Parameter, ...], directory: Path) -> list[Path]:
    """Write fitted numbers into the catalog in `directory`; all else stays as it was.

    Returns the files. Raises UsageError where they are not a catalog's.
    """
    written = []
    for name in FILES:
        path = directory / name
        document = tomlkit.parse(_read(path))
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


def _fitted(name: str, table: dict[str, Any], keys: tuple[str, ...]) -> Iterator[Parameter]:
    """Every figure below `table` that is marked as fitted."""
    for key, value in table.items():
        if not isinstance(value, dict):
            continue
        here = (*keys, key)
        if value.get("fitted") is True:
            if "bounds" not in value:
                raise UsageError(f"{name}: {'.'.join(here)} is fitted and has no bounds")
            low, high = value["bounds"]
            yield Parameter(name, here, float(value["value"]), (float(low), float(high)))
        else:
            yield from _fitted(name, value, here)


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read: {error.strerror}: name a catalog's directory"
        ) from error
