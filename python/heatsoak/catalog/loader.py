"""Reads the catalog's files, and a user's own of the same form."""

import tomllib
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from heatsoak.catalog.places import Enclosure, PlaceFamily
from heatsoak.catalog.specs import Drive, Strict
from heatsoak.catalog.traces import TraceShape
from heatsoak.errors import UsageError, suggestion
from heatsoak.files import require_file

_CATALOG = files("heatsoak.catalog")
_Model = TypeVar("_Model", bound=Strict)


def drive_ids() -> list[str]:
    """Return the ids of the simulated drives."""
    return list(_drives())


def load_drive(name: str) -> Drive:
    """Return the drive of the id or the TOML file `name`.

    Raises UsageError for an unknown id, and for a bad file with its name and key.
    """
    if name in _drives():
        return _drives()[name]
    text = _own_file(name, "drive", drive_ids())
    return parse_drive(text, name).model_copy(update={"id": name})


def enclosure_ids() -> list[str]:
    """Return the ids of the simulated places."""
    return list(_enclosures())


def load_enclosure(name: str) -> Enclosure:
    """Return the place of the id or the TOML file `name`.

    Raises UsageError for an unknown id, and for a bad file with its name and key.
    """
    if name in _enclosures():
        return _enclosures()[name]
    return _own_enclosure(name, ())


def trace_ids() -> list[str]:
    """Return the ids of the shapes that traces can be made in."""
    return list(_traces())


def load_trace(name: str) -> TraceShape:
    """Return the shape of the id or the TOML file `name`.

    Raises UsageError for an unknown id, and for a bad file with its name and key.
    """
    if name in _traces():
        return _traces()[name]
    text = _own_file(name, "trace", trace_ids())
    shape = _validated(TraceShape, _toml(text, name), name)
    return shape.model_copy(update={"id": name})


def parse_drive(text: str, name: str) -> Drive:
    """Return the drive of a TOML text; `name` stands before every complaint."""
    return _validated(Drive, _toml(text, name), name)


def parse_enclosures(texts: dict[str, str]) -> dict[str, Enclosure]:
    """Return the places of TOML texts by their names, each a family or a single place.

    A single one may name any of the others as its base.
    """
    tables = {name: _toml(text, name) for name, text in texts.items()}
    singles = {name: data for name, data in tables.items() if "places" not in data}
    families: dict[str, Enclosure] = {}
    for name, data in tables.items():
        if name not in singles:
            families |= _validated(PlaceFamily, data, name).expand()

    def place(name: str, path: tuple[str, ...]) -> Enclosure:
        if name in families:
            return families[name]
        if name not in singles:
            raise UsageError(f"{path[-1]}: base: {_no_place(name, [*families, *singles])}")
        _no_circle(name, path)
        return _single(singles[name], name, lambda base: place(base, (*path, name)))

    return {name: place(name, ()) for name in sorted({*families, *singles})}


def read_catalog(name: str) -> dict[str, Any]:
    """Return the tables of one of the catalog's own files."""
    return _toml((_CATALOG / name).read_text("utf-8"), name)


@cache
def _drives() -> dict[str, Drive]:
    return {
        stem: parse_drive(text, stem).model_copy(update={"id": stem})
        for stem, text in _texts("drives")
    }


@cache
def _traces() -> dict[str, TraceShape]:
    return {
        stem: _validated(TraceShape, _toml(text, stem), stem).model_copy(update={"id": stem})
        for stem, text in _texts("traces")
    }


@cache
def _enclosures() -> dict[str, Enclosure]:
    return parse_enclosures(dict(_texts("enclosures")))


def _own_enclosure(name: str, path: tuple[str, ...]) -> Enclosure:
    """A user's own place; `path` names the files that it is a base of."""
    _no_circle(name, path)
    data = _toml(_own_file(name, "enclosure", enclosure_ids()), name)
    if "places" in data:
        raise UsageError(f"{name}: holds many places: a file that is named holds one, with air_c")

    def place(base: str) -> Enclosure:
        if base in _enclosures():
            return _enclosures()[base]
        beside = Path(name).parent / base
        if not beside.is_file():
            raise UsageError(f"{name}: base: {_no_place(base, enclosure_ids())}")
        return _own_enclosure(str(beside), (*path, name))

    return _single(data, name, place)


def _no_place(name: str, known: list[str]) -> str:
    return f"there is no place '{name}'{suggestion(name, known)}"


def _no_circle(name: str, path: tuple[str, ...]) -> None:
    if name in path:
        circle = " -> ".join((*path[path.index(name) :], name))
        raise UsageError(f"{name}: base: goes round in a circle: {circle}")


def _single(data: dict[str, Any], name: str, place: Callable[[str], Enclosure]) -> Enclosure:
    """One place of its tables, on top of its base's if it names one."""
    tables = dict(data)
    base = tables.pop("base", None)
    if base is not None:
        if not isinstance(base, str):
            raise UsageError(f"{name}: base: it has to be the id of a place (is {base!r})")
        tables = _over(place(base).model_dump(exclude_defaults=True, exclude={"id"}), tables)
    return _validated(Enclosure, tables, name).model_copy(update={"id": name})


def _over(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Tables over tables: they are merged, and a number replaces a number, provenance and all."""
    merged = dict(below)
    for key, value in above.items():
        old = below.get(key)
        if isinstance(old, dict) and isinstance(value, dict) and "value" not in value:
            merged[key] = _over(old, value)
        else:
            merged[key] = value
    return merged


def _texts(folder: str) -> list[tuple[str, str]]:
    entries = sorted((_CATALOG / folder).iterdir(), key=lambda entry: entry.name)
    return [
        (entry.name.removesuffix(".toml"), entry.read_text("utf-8"))
        for entry in entries
        if entry.name.endswith(".toml")
    ]


def _own_file(name: str, what: str, known: list[str]) -> str:
    path = Path(name)
    if not name.endswith(".toml") and not path.is_file():
        raise UsageError(
            f"there is no simulated {what} '{name}'{suggestion(name, known)}: there are "
            f"{', '.join(known)}; the path of a TOML file works too"
        )
    require_file(path)
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        raise UsageError(f"{name}: there is no such file") from None
    except OSError as error:
        raise UsageError(f"{name}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{name}: is not a text file in UTF-8") from error


def _toml(text: str, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{name}: is not valid TOML: {error}") from error


def _validated(model: type[_Model], data: dict[str, Any], name: str) -> _Model:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise UsageError(f"{name}: {_explain(error, model)}") from error


def _explain(error: ValidationError, model: type[BaseModel]) -> str:
    """Return the first thing that is wrong in one line: the key, and what would be right."""
    # a misspelt key is missing too: say the former
    first = min(error.errors(), key=lambda entry: entry["type"] != "extra_forbidden")
    keys = [str(part) for part in first["loc"]]
    if first["type"] == "extra_forbidden":
        known = _keys_at(model, keys[:-1])
        where = f" in {'.'.join(keys[:-1])}" if keys[:-1] else ""
        return f"unknown key '{keys[-1]}'{where}{suggestion(keys[-1], known)}"
    if first["type"] == "missing":
        return f"{'.'.join(keys)} is missing"
    message = str(first["msg"]).removeprefix("Value error, ")
    message = message[0].lower() + message[1:]
    value = first.get("input")
    shown = f" (is {value!r})" if isinstance(value, str | float) else ""
    return f"{'.'.join(keys)}: {message}{shown}" if keys else message


def _keys_at(model: type[BaseModel], path: list[str]) -> set[str]:
    """The keys of the table at `path`, looking through tables whose names are free."""
    here: Any = model
    for part in path:
        field = getattr(here, "model_fields", {}).get(part)
        if field is None:
            continue
        kinds = [field.annotation, *getattr(field.annotation, "__args__", ())]
        here = next((kind for kind in kinds if hasattr(kind, "model_fields")), here)
    return set(getattr(here, "model_fields", {}))
