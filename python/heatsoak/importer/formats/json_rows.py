"""A table as JSON: an object for each row, or rows of values below the columns' names.

The objects stand one a line, in an array, or in a list of one object. Prometheus' answers to
``query_range`` are a long table: a metric, a time and a value each.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from heatsoak.errors import UsageError
from heatsoak.importer.formats import Format, plain
from heatsoak.importer.log import Log, Options
from heatsoak.importer.numbers import at
from heatsoak.importer.source import Source
from heatsoak.importer.tables import layout
from heatsoak.importer.tables.derived import total
from heatsoak.importer.tables.headers import meaning

#: Objects that decide whether they are rows; rows have this share of their keys in common.
_SHOWN, _IN_COMMON = 8, 0.5
#: How deep objects may be nested: ``{"disk": {"write_mb_s": 500}}``.
_DEPTH = 3


def _recognises(source: Source) -> bool:
    if source.first_character not in ("{", "["):
        return False
    if '"resultType"' in "\n".join(source.head_lines)[:_HEAD]:
        return True
    try:
        shown = list(islice(_rows(source), _SHOWN))
    except UsageError:
        return False
    if len(shown) < 2:
        return False
    common = set.intersection(*(set(row) for row in shown))
    if not common or len(common) < _IN_COMMON * max(len(row) for row in shown):
        return False
    found = [known for key in common if (known := meaning(key) or total(key)) is not None]
    return any(known.is_rate or known.column.startswith(("temp_c.", "power_w")) for known in found)


def _read(source: Source, options: Options) -> list[Log]:
    if '"resultType"' in "\n".join(source.head_lines)[:_HEAD]:
        return plain.read_rows(source, options, layout.widened(source, _of_prometheus(source)))
    return plain.read_rows(source, options, _rows(source))


def _rows(source: Source) -> Iterator[dict[str, Any]]:
    """The rows: objects of the file, or those of the only list of objects in one."""
    for document in source.documents():
        for value in _lists(document.value):
            yield dict(_flat(value))


def _lists(value: Any) -> list[Any]:
    if not isinstance(value, dict):
        return []
    inner = [each for each in value.values() if isinstance(each, list) and _are_objects(each)]
    if len(inner) == 1 and len(inner[0]) > 1:
        return inner[0]
    names = next((names for key in _NAMES if isinstance(names := value.get(key), list)), [])
    rows = next((rows for key in _VALUES if isinstance(rows := value.get(key), list)), [])
    if names and rows and all(isinstance(row, list) for row in rows):
        return [dict(zip(map(str, names), row, strict=False)) for row in rows]
    return [value]


#: What holds the columns' names, and what their values, where a row is a list: netdata, pandas.
_NAMES, _VALUES = ("labels", "columns"), ("data", "values")


def _are_objects(values: list[Any]) -> bool:
    return bool(values) and all(isinstance(value, dict) for value in values[:_SHOWN])


def _flat(value: dict[str, Any], above: str = "", depth: int = 1) -> Iterator[tuple[str, Any]]:
    """The numbers and texts of an object by their names, those of inner ones with theirs before."""
    for key, each in value.items():
        name = f"{above} {key}".strip()
        if isinstance(each, dict) and depth < _DEPTH:
            yield from _flat(each, name, depth + 1)
        elif isinstance(each, str | int | float | bool) or each is None:
            yield name, each


# --- Prometheus ---

#: Within so many characters an answer says of which kind it is.
_HEAD = 1000


def _of_prometheus(source: Source) -> Iterator[layout.SeriesValue]:
    for document in source.documents():
        if at(document.value, "data/resultType") != "matrix":
            raise source.error(
                "is Prometheus' answer of a single moment: 'query_range' has the series",
                document.line,
            )
        for series in at(document.value, "data/result") or ():
            labels = at(series, "metric")
            if not isinstance(labels, dict):
                continue
            name = str(labels.get("__name__", ""))
            if not name:
                raise source.error(
                    "its series have no names, which rate() and sums take away: query the "
                    "counter itself, as in node_disk_written_bytes_total",
                    document.line,
                )
            told = layout.labelled(name, {key: str(text) for key, text in labels.items()})
            if told is None:
                continue
            for pair in at(series, "values") or ():
                if isinstance(pair, list) and len(pair) == 2:
                    yield layout.SeriesValue(*told, str(pair[0]), str(pair[1]))


FORMAT = Format("json-rows", "a table of JSON objects", _recognises, _read, priority=190)
