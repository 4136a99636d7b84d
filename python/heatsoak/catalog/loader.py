"""Reads the catalog's files, and the user's own in the same format."""

import csv
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from heatsoak import toml
from heatsoak.catalog import bases
from heatsoak.catalog.places import Enclosure, PlaceFamily
from heatsoak.catalog.specs import Drive
from heatsoak.catalog.traces import TraceShape
from heatsoak.errors import UsageError, suggestion

_CATALOG = files("heatsoak.catalog")
_SHOWN_BY = {"drive": "heatsoak list has them", "place": "heatsoak list places has them"}
#: Where the numbers of the table of models come from.
_RECALLED = {"assumed": "of its data sheet, recalled, or of public listings"}
#: By which share a stated average of power is off, of three drives that were fitted.
_STATED_SPREAD = 0.15
#: What a drive draws of the most that it declares, in 51 pairs: quartiles 0.64, 0.83 and 0.94.
_OF_PS0_SHARE = 0.8
_OF_PS0 = {"assumed": "0.8 of what listings show it to declare for power state 0", "spread": 0.19}
#: The tables that make a file a twin's: a drive over its base, and the places it was fitted in.
_TWIN = {"drive", "places", "parameters"}


def drive_ids() -> list[str]:
    """Return the ids of the simulated drives: those with a file, and those of the table."""
    return sorted((*_names("drives"), *_models()))


def load_drive(name: str) -> Drive:
    """Return the drive with the id or TOML file `name`, which may be a twin's.

    Raises UsageError for an unknown id, or for a bad file, naming it and the key.
    """
    return _drive(name) if name in drive_ids() else _own_drive(name, ())


def enclosure_ids() -> list[str]:
    """Return the ids of the simulated enclosures."""
    return list(_enclosures())


def load_enclosure(name: str) -> Enclosure:
    """Return the enclosure with the id or TOML file `name`.

    A twin's file has one or several: the first, or the one named as ``twin.toml#PLACE``.
    Raises UsageError for an unknown id, or for a bad file, naming it and the key.
    """
    return _enclosures()[name] if name in _enclosures() else _own_enclosure(name, ())


def trace_ids() -> list[str]:
    """Return the ids of the trace shapes."""
    return list(_traces())


def load_trace(name: str) -> TraceShape:
    """Return the trace shape with the id or TOML file `name`.

    Raises UsageError for an unknown id, or for a bad file, naming it and the key.
    """
    if name in _traces():
        return _traces()[name]
    shape = toml.validated(TraceShape, _own_file(name, "trace", trace_ids()), name)
    return shape.model_copy(update={"id": name})


def own_tables(drive_id: str) -> dict[str, Any]:
    """Return what the catalog gives of a drive itself, without its base."""
    if (row := _models().get(drive_id)) is not None:
        return _tables_of_model(row)
    return read_catalog(f"drives/{drive_id}.toml")


def drive_from(tables: dict[str, Any], drive_id: str) -> Drive:
    """Return the drive that a file of the catalog with these tables would be."""
    return _drive_of(tables, drive_id, load_drive).model_copy(update={"id": drive_id})


def parse_enclosures(texts: dict[str, str]) -> dict[str, Enclosure]:
    """Return the enclosures in TOML texts by name; each text is a family or a single enclosure.

    A single enclosure may name any other as its base.
    """
    tables = {name: toml.toml_tables(text, name) for name, text in texts.items()}
    singles = {name: data for name, data in tables.items() if "places" not in data}
    families: dict[str, Enclosure] = {}
    for name, data in tables.items():
        if name not in singles:
            families |= toml.validated(PlaceFamily, data, name).expand()

    def place(name: str, path: tuple[str, ...]) -> Enclosure:
        if name in families:
            return families[name]
        if name not in singles:
            raise UsageError(_unknown(path[-1], name, "place", [*families, *singles]))
        _require_no_cycle(name, path)
        return _single(singles[name], name, lambda base: place(base, (*path, name)))

    return {name: place(name, ()) for name in sorted({*families, *singles})}


def names_of(drive_id: str) -> tuple[list[str], str]:
    """Return what a drive of the catalog reports as its model, its other names, and its base.

    Only the head of its file is parsed: there are dozens.
    """
    if (row := _models().get(drive_id)) is not None:
        return [row["model"], *filter(None, row["also"].split("|"))], row["base"]
    head = toml.toml_tables(_text("drives", drive_id).partition("\n[")[0], drive_id)
    return [head["model"], *head.get("also", ())], head.get("base", "")


def read_catalog(name: str) -> dict[str, Any]:
    """Return the tables of one of the catalog's files."""
    return toml.toml_tables((_CATALOG / name).read_text("utf-8"), name)


@cache
def _models() -> dict[str, dict[str, str]]:
    """The lines of the table of drives of which only a data sheet is known, by their ids."""
    lines = (_CATALOG / "models.csv").read_text("utf-8").splitlines()
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    return {row["id"]: row for row in rows}


def _tables_of_model(row: dict[str, str]) -> dict[str, Any]:
    """What a file of its own would give of a model that is a line of the table."""
    (model, *also), base = names_of(row["id"])
    told: dict[str, Any] = {"model": model, "also": also, "base": base, "basis": "data sheet"}
    # the rule of the IDEMA for the sectors of a drive sold with so many GB (LBA1-03)
    size = 512.0 * (97_696_368 + 1_953_504 * (float(row["gb"]) - 50))
    told |= {"enclosure": "open-bench", "capacity": {"user_bytes": {"value": size, **_RECALLED}}}
    for column, text in row.items():
        table, _, key = column.partition(".")
        if key and text:
            told.setdefault(table, {})[key] = {"value": float(text), **_RECALLED}
    if row["cache_gb"]:
        cache_bytes = bases.whole_pages(float(row["cache_gb"]) * 1e9)
        told["cache"] = {"bytes": {"value": cache_bytes, **_RECALLED}} if cache_bytes else "none"
    rated, ps0_w = told.setdefault("rated", {}), row["limits.ps0_w"]
    for way in ("read_w", "write_w"):
        if way in rated:
            rated[way]["spread"] = _STATED_SPREAD
        elif ps0_w:
            rated[way] = {**_OF_PS0, "value": _OF_PS0_SHARE * float(ps0_w)}
    return told


@cache
def _drive(name: str) -> Drive:
    """A drive of the catalog; only what is asked for is read, for there are dozens."""
    return drive_from(own_tables(name), name)


@cache
def _traces() -> dict[str, TraceShape]:
    return {
        name: toml.validated(
            TraceShape, {**toml.toml_tables(_text("traces", name), name), "id": name}, name
        )
        for name in _names("traces")
    }


@cache
def _enclosures() -> dict[str, Enclosure]:
    return parse_enclosures({name: _text("enclosures", name) for name in _names("enclosures")})


def _own_drive(name: str, path: tuple[str, ...]) -> Drive:
    """A user's own drive; `path` are the files that have it as their base."""
    _require_no_cycle(name, path)
    tables = _own_file(name, "drive", drive_ids())
    if tables.keys() >= _TWIN:
        return _drive_of_twin(tables, name)

    def load(base: str) -> Drive:
        if base in drive_ids():
            return _drive(base)
        return _own_drive(_beside(name, base, "drive", drive_ids()), (*path, name))

    return _drive_of(tables, name, load).model_copy(update={"id": name})


def _own_enclosure(name: str, path: tuple[str, ...]) -> Enclosure:
    """A user's own enclosure; `path` are the files that have it as their base."""
    _require_no_cycle(name, path)
    file, _, place_of_twin = name.partition("#") if not Path(name).is_file() else (name, "", "")
    data = _own_file(file, "place", enclosure_ids())
    if data.keys() >= _TWIN:
        return _enclosure_of_twin(data, name, place_of_twin)
    if "places" in data:
        raise UsageError(
            f"{name}: has several enclosures: name a file with a single one, with air_c"
        )

    def place(base: str) -> Enclosure:
        if base in _enclosures():
            return _enclosures()[base]
        return _own_enclosure(_beside(name, base, "place", enclosure_ids()), (*path, name))

    return _single(data, name, place)


def _drive_of(tables: dict[str, Any], name: str, load: Callable[[str], Drive]) -> Drive:
    """The drive in a file's tables, over its base if it names one."""
    if (base := tables.get("base")) is not None:
        if not isinstance(base, str):
            raise UsageError(f"{name}: base: must be the id of a drive (is {base!r})")
        below = load(base).model_dump(exclude_none=True, exclude={"id", "base", "also", "basis"})
        tables = bases.drive_over(below, tables, name)
    return toml.validated(Drive, tables, name)


def _drive_of_twin(tables: dict[str, Any], name: str) -> Drive:
    """A twin's drive: fitted tables in place of its base's, at home in its first place."""
    own = dict(_table(tables, "drive", name))
    base = load_drive(str(own.pop("base", "")))
    whole = {**base.model_dump(exclude_none=True), **own, "id": name, "enclosure": name}
    return toml.validated(Drive, whole, name)


def _enclosure_of_twin(tables: dict[str, Any], name: str, place: str) -> Enclosure:
    places = _table(tables, "places", name)
    chosen = place or next(iter(places), "")
    if chosen not in places:
        known = ", ".join(places)
        raise UsageError(f"{name}: the twin has no place '{chosen}': it has {known}")
    return toml.validated(Enclosure, {**_table(places, chosen, name), "id": name}, name)


def _table(tables: dict[str, Any], key: str, name: str) -> dict[str, Any]:
    found = tables[key]
    if not isinstance(found, dict):
        raise UsageError(f"{name}: {key}: must be a table, as heatsoak fit writes it")
    return found


def _beside(name: str, base: str, what: str, known: list[str]) -> str:
    """The path of a file's base, which is in the same directory."""
    if not (beside := Path(name).parent / base).is_file():
        raise UsageError(_unknown(name, base, what, known))
    return str(beside)


def _unknown(name: str, base: str, what: str, known: list[str]) -> str:
    return f"{name}: base: there is no {what} '{base}'{suggestion(base, known)}"


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
        tables = bases.over(place(base).model_dump(exclude_defaults=True, exclude={"id"}), tables)
    found = toml.validated(Enclosure, tables, name)
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


def _text(folder: str, name: str) -> str:
    return (_CATALOG / folder / f"{name}.toml").read_text("utf-8")


def _own_file(name: str, what: str, known: list[str]) -> dict[str, Any]:
    if not name.endswith(".toml") and not Path(name).is_file():
        shown = _SHOWN_BY.get(what, f"known are {', '.join(known)}")
        raise UsageError(
            f"there is no simulated {what} '{name}'{suggestion(name, known)}: {shown}; the path of "
            "a TOML file works too"
        )
    return toml.toml_file(name)
