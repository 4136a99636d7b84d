"""Reads the catalog's files, and the user's own in the same format."""

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from heatsoak.catalog.bases import drive_over, over
from heatsoak.catalog.places import Enclosure, PlaceFamily
from heatsoak.catalog.specs import Drive
from heatsoak.catalog.traces import TraceShape
from heatsoak.errors import UsageError, suggestion
from heatsoak.toml import toml_file, toml_tables, validated

_CATALOG = files("heatsoak.catalog")
_SHOWN_BY = {"drive": "heatsoak drives lists them", "enclosure": "heatsoak places lists them"}
#: The tables that make a file a twin's: a drive over its base, and the places it was fitted in.
_TWIN = {"drive", "places", "parameters"}


def drive_ids() -> list[str]:
    """Return the ids of the simulated drives."""
    return list(_names("drives"))


def load_drive(name: str) -> Drive:
    """Return the drive with the id or TOML file `name`, which may be a twin's.

    Raises UsageError for an unknown id, or for a bad file, naming it and the key.
    """
    if name in _names("drives"):
        return _drive(name)
    return _own_drive(name, ())


def enclosure_ids() -> list[str]:
    """Return the ids of the simulated enclosures."""
    return list(_enclosures())


def load_enclosure(name: str) -> Enclosure:
    """Return the enclosure with the id or TOML file `name`.

    A twin's file has one or several: the first, or the one named as ``twin.toml#PLACE``.
    Raises UsageError for an unknown id, or for a bad file, naming it and the key.
    """
    if name in _enclosures():
        return _enclosures()[name]
    return _own_enclosure(name, ())


def trace_ids() -> list[str]:
    """Return the ids of the trace shapes."""
    return list(_traces())


def load_trace(name: str) -> TraceShape:
    """Return the trace shape with the id or TOML file `name`.

    Raises UsageError for an unknown id, or for a bad file, naming it and the key.
    """
    if name in _traces():
        return _traces()[name]
    shape = validated(TraceShape, _own_file(name, "trace", trace_ids()), name)
    return shape.model_copy(update={"id": name})


def parse_drive(text: str, name: str) -> Drive:
    """Return the drive in a TOML text; `name` precedes every error message."""
    return _drive_of(toml_tables(text, name), name, load_drive)


def own_tables(drive_id: str) -> dict[str, Any]:
    """Return what the catalog's file of a drive gives, without its base."""
    return read_catalog(f"drives/{drive_id}.toml")


def drive_from(tables: dict[str, Any], drive_id: str) -> Drive:
    """Return the drive that a file of the catalog with these tables would be."""
    return _drive_of(tables, drive_id, load_drive).model_copy(update={"id": drive_id})


def parse_enclosures(texts: dict[str, str]) -> dict[str, Enclosure]:
    """Return the enclosures in TOML texts by name; each text is a family or a single enclosure.

    A single enclosure may name any other as its base.
    """
    tables = {name: toml_tables(text, name) for name, text in texts.items()}
    singles = {name: data for name, data in tables.items() if "places" not in data}
    families: dict[str, Enclosure] = {}
    for name, data in tables.items():
        if name not in singles:
            families |= validated(PlaceFamily, data, name).expand()

    def place(name: str, path: tuple[str, ...]) -> Enclosure:
        if name in families:
            return families[name]
        if name not in singles:
            raise UsageError(f"{path[-1]}: base: {_unknown(name, [*families, *singles])}")
        _require_no_cycle(name, path)
        return _single(singles[name], name, lambda base: place(base, (*path, name)))

    return {name: place(name, ()) for name in sorted({*families, *singles})}


@cache
def names_of(drive_id: str) -> tuple[list[str], float]:
    """Return the models of a drive of the catalog, and its capacity in bytes.

    Its file alone is read, and its base's where that gives the capacity: there are dozens.
    """
    tables = own_tables(drive_id)
    capacity = tables.get("capacity", {}).get("user_bytes")
    user_bytes = capacity["value"] if capacity else names_of(tables["base"])[1]
    return [tables["model"], *tables.get("also", ())], float(user_bytes)


def read_catalog(name: str) -> dict[str, Any]:
    """Return the tables of one of the catalog's files."""
    return toml_tables((_CATALOG / name).read_text("utf-8"), name)


@cache
def _drive(name: str) -> Drive:
    """A drive of the catalog; only what is asked for is read, for there are dozens."""
    tables = own_tables(name)
    return _drive_of(tables, name, _drive).model_copy(update={"id": name})


@cache
def _traces() -> dict[str, TraceShape]:
    return {
        stem: validated(TraceShape, toml_tables(text, stem), stem).model_copy(update={"id": stem})
        for stem, text in _texts("traces")
    }


@cache
def _enclosures() -> dict[str, Enclosure]:
    return parse_enclosures(dict(_texts("enclosures")))


def _own_drive(name: str, path: tuple[str, ...]) -> Drive:
    """A user's own drive; `path` are the files that have it as their base."""
    _require_no_cycle(name, path)
    tables = _own_file(name, "drive", drive_ids())
    if tables.keys() >= _TWIN:
        return _drive_of_twin(tables, name)

    def load(base: str) -> Drive:
        if base in _names("drives"):
            return _drive(base)
        beside = Path(name).parent / base
        if not beside.is_file():
            known = suggestion(base, drive_ids())
            raise UsageError(f"{name}: base: there is no drive '{base}'{known}")
        return _own_drive(str(beside), (*path, name))

    return _drive_of(tables, name, load).model_copy(update={"id": name})


def _own_enclosure(name: str, path: tuple[str, ...]) -> Enclosure:
    """A user's own enclosure; `path` are the files that have it as their base."""
    _require_no_cycle(name, path)
    file, _, place_of_twin = name.partition("#") if not Path(name).is_file() else (name, "", "")
    data = _own_file(file, "enclosure", enclosure_ids())
    if data.keys() >= _TWIN:
        return _enclosure_of_twin(data, name, place_of_twin)
    if "places" in data:
        raise UsageError(
            f"{name}: has several enclosures: name a file with a single one, with air_c"
        )

    def place(base: str) -> Enclosure:
        if base in _enclosures():
            return _enclosures()[base]
        beside = Path(name).parent / base
        if not beside.is_file():
            raise UsageError(f"{name}: base: {_unknown(base, enclosure_ids())}")
        return _own_enclosure(str(beside), (*path, name))

    return _single(data, name, place)


def _drive_of(tables: dict[str, Any], name: str, load: Callable[[str], Drive]) -> Drive:
    """The drive in a file's tables, over its base if it names one."""
    if (base := tables.get("base")) is not None:
        if not isinstance(base, str):
            raise UsageError(f"{name}: base: must be the id of a drive (is {base!r})")
        below = load(base).model_dump(exclude_none=True, exclude={"id", "base", "also"})
        tables = drive_over(below, tables, name)
    return validated(Drive, tables, name)


def _drive_of_twin(tables: dict[str, Any], name: str) -> Drive:
    """A twin's drive: fitted tables in place of its base's, at home in its first place."""
    own = dict(_table(tables, "drive", name))
    base = load_drive(str(own.pop("base", "")))
    whole = {**base.model_dump(exclude_none=True), **own, "id": name, "enclosure": name}
    return validated(Drive, whole, name)


def _enclosure_of_twin(tables: dict[str, Any], name: str, place: str) -> Enclosure:
    places = _table(tables, "places", name)
    chosen = place or next(iter(places), "")
    if chosen not in places:
        known = ", ".join(places)
        raise UsageError(f"{name}: the twin has no place '{chosen}': it has {known}")
    return validated(Enclosure, {**_table(places, chosen, name), "id": name}, name)


def _table(tables: dict[str, Any], key: str, name: str) -> dict[str, Any]:
    found = tables[key]
    if not isinstance(found, dict):
        raise UsageError(f"{name}: {key}: must be a table, as heatsoak fit writes it")
    return found


def _unknown(name: str, known: list[str]) -> str:
    return f"there is no enclosure '{name}'{suggestion(name, known)}"


def _require_no_cycle(name: str, path: tuple[str, ...]) -> None:
    if name in path:
        cycle = " -> ".join((*path[path.index(name) :], name))
        raise UsageError(f"{name}: base: is circular: {cycle}")


def _single(data: dict[str, Any], name: str, place: Callable[[str], Enclosure]) -> Enclosure:
    """The enclosure in a file's tables, merged over its base if it names one."""
    tables = dict(data)
    base = tables.pop("base", None)
    if base is not None:
        if not isinstance(base, str):
            raise UsageError(f"{name}: base: must be the id of an enclosure (is {base!r})")
        tables = over(place(base).model_dump(exclude_defaults=True, exclude={"id"}), tables)
    found = validated(Enclosure, tables, name)
    # one that gives its own links gives what they are in that air
    is_moved = "air_speed_m_s" in data and "links" not in data
    if is_moved and all(link.halved_at_m_s is None for link in found.links.values()):
        raise UsageError(
            f"{name}: air_speed_m_s: no way to the air of '{base}' answers to moving air: also "
            "give the speed that halves a resistance, as links.air.halved_at_m_s"
        )
    return found.model_copy(update={"id": name})


@cache
def _names(folder: str) -> tuple[str, ...]:
    """The stems of a folder's files, in order."""
    names = sorted(entry.name for entry in (_CATALOG / folder).iterdir())
    return tuple(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def _texts(folder: str) -> list[tuple[str, str]]:
    return [
        (stem, (_CATALOG / folder / f"{stem}.toml").read_text("utf-8")) for stem in _names(folder)
    ]


def _own_file(name: str, what: str, known: list[str]) -> dict[str, Any]:
    if not name.endswith(".toml") and not Path(name).is_file():
        shown = _SHOWN_BY.get(what, f"known are {', '.join(known)}")
        raise UsageError(
            f"there is no simulated {what} '{name}'{suggestion(name, known)}: {shown}; the path of "
            "a TOML file works too"
        )
    return toml_file(name)
