"""A table as JSON: an object for each row, one a line, in an array, or in a list of one object."""

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import Any

from heatsoak.errors import UsageError
from heatsoak.importer.format import Format
from heatsoak.importer.formats import plain
from heatsoak.importer.log import Log, Options
from heatsoak.importer.source import Source
from heatsoak.importer.tables.headers import meaning

#: Objects that decide whether they are rows; rows have this share of their keys in common.
_SHOWN, _IN_COMMON = 8, 0.5
#: How deep objects may be nested: ``{"disk": {"write_mb_s": 500}}``.
_DEPTH = 3
_MAX_COLUMNS = 2000


def _recognises(source: Source) -> bool:
    if source.head.lstrip()[:1] not in (b"{", b"["):
        return False
    try:
        shown = list(islice(_rows(source), _SHOWN))
    except UsageError:
        return False
    if len(shown) < 2:
        return False
    common = set.intersection(*(set(row) for row in shown))
    if not common or len(common) < _IN_COMMON * max(len(row) for row in shown):
        return False
    found = [known for key in common if (known := meaning(key)) is not None]
    return any(known.is_rate or known.column.startswith(("temp_c.", "power_w")) for known in found)


def _read(source: Source, options: Options) -> list[Log]:
    rows = _rows(source)
    first = list(islice(rows, _SHOWN))
    columns = list(dict.fromkeys(key for row in first for key in row))[:_MAX_COLUMNS]
    text = io.StringIO()
    table = csv.DictWriter(text, columns, restval="", extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    table.writerows(chain(first, rows))
    rows_source = Source.of_bytes(source.name, text.getvalue().encode())
    logs = plain.FORMAT.read(rows_source, options)
    remarks = tuple(rows_source.remarks.values())
    return [replace(log, remarks=(*log.remarks, *remarks)) for log in logs]


def _rows(source: Source) -> Iterator[dict[str, Any]]:
    """The rows: objects of the file, or those of the only list of objects in one."""
    for document in source.documents():
        for value in _lists(document.value):
            yield dict(_flat(value))


def _lists(value: Any) -> list[Any]:
    if not isinstance(value, dict):
        return []
    inner = [each for each in value.values() if isinstance(each, list) and _are_objects(each)]
    return inner[0] if len(inner) == 1 and len(inner[0]) > 1 else [value]


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


FORMAT = Format("json-rows", "a table of JSON objects", _recognises, _read, priority=190)
