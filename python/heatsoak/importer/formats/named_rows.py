"""Tables whose values come with their names: JSON of any monitor, lines of ``NAME=VALUE``.

In JSON an object is a row (one a line, in an array, or in a list of one object), or it holds
series: pairs of a value and its time, in either order, two lists of them, or rows below their
names. Which keys of it are the name, the drive and the host, `words.toml` says of all monitors.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, pairwise
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from heatsoak.errors import UsageError
from heatsoak.importer import tables
from heatsoak.importer.formats import Format, plain
from heatsoak.importer.log import Log, Options
from heatsoak.importer.numbers import at, number_of, size_of
from heatsoak.importer.source import Source, UnknownFormatError
from heatsoak.importer.tables import cells, layout
from heatsoak.importer.tables.headers import TableColumn, column_of, meaning
from heatsoak.importer.timestamps import read_times
from heatsoak.recording import grid
from heatsoak.words import listed

#: Objects that decide whether they are rows; rows have this share of their keys in common.
_SHOWN, _IN_COMMON = 8, 0.5
#: How deep objects may be nested: ``{"disk": {"write_mb_s": 500}}``; and lists of series in them.
_DEPTH, _DEEPEST = 6, 12
_SERIES: dict[str, Any] = tables.TABLES["series"]
#: Times since 1970 that are no other number: 2001 to 2128, in s, ms, us or ns.
_EPOCH = re.compile(r"[1-4]\d{9}(?:\d{3}){0,3}(?:\.\d*)?")


def _is_measured(what: TableColumn | None) -> bool:
    return what is not None and (
        what.is_rate or what.is_temperature or what.is_state or what.quantity == "power_w"
    )


# --- rows ----------------------------------------------------------------------------------------


def _rows(source: Source) -> Iterator[dict[str, Any]]:
    """The rows: objects of the file, or those of the only list of objects in one."""
    for document in source.documents():
        for value in _lists(document.value):
            yield dict(_flat(value))


def _lists(value: Any) -> list[Any]:
    if not isinstance(value, dict):
        return []
    inner = list(_within(value))
    if len(inner) == 1 and len(inner[0]) > 1:
        return inner[0]
    if not {*_SERIES["name"], *_SERIES["labels"][1:]}.isdisjoint(value.keys() - {"labels"}):
        return [value]
    names, rows = (
        next((lists for key in _SERIES[kind] if isinstance(lists := value.get(key), list)), [])
        for kind in ("columns", "values")
    )
    if _are(str, names) and _are(list, rows):
        return [dict(zip(names, map(_first, row), strict=False)) for row in rows]
    return [value]


def _within(value: dict[str, Any], depth: int = 1) -> Iterator[list[Any]]:
    """The lists of objects in an object, and in those that it holds."""
    for each in value.values():
        if _are(dict, each):
            yield each
        elif isinstance(each, dict) and depth < _DEPTH:
            yield from _within(each, depth + 1)


def _first(value: Any) -> Any:
    """A value, or the first of a list of what is said of one."""
    return value[0] if isinstance(value, list) and value else value


def _are(kind: type, values: Any) -> bool:
    return (
        isinstance(values, list)
        and bool(values)
        and all(isinstance(each, kind) for each in values[:_SHOWN])
    )


def _flat(value: dict[str, Any], above: str = "", depth: int = 1) -> Iterator[tuple[str, Any]]:
    """The numbers and texts of an object by their names, those of inner ones with theirs before."""
    for key, each in value.items():
        name = above if key.startswith("_") else f"{above} {key}".strip()
        if isinstance(each, dict) and depth < _DEPTH:
            yield from _flat(each, name, depth + 1)
        elif isinstance(each, str | int | float | bool) or each is None:
            yield name, each


# --- series --------------------------------------------------------------------------------------


class _Series(NamedTuple):
    """Names that may be its quantity, the best first, what else is said of it, times and values.

    Of `sums` each value is what was moved since the one before.
    """

    names: list[str]
    labels: dict[str, str]
    times: Sequence[Any]
    values: Sequence[Any]
    sums: bool = False


def _series_in(
    value: Any, above: tuple[str, ...] = (), around: dict[str, str] | None = None, depth: int = 0
) -> Iterator[_Series]:
    """The series in a part of a document, by the names and labels of what is around them."""
    if isinstance(value, list):
        for each in value if depth < _DEEPEST else ():
            if isinstance(each, dict):
                yield from _series_in(each, above, around, depth + 1)
    if not isinstance(value, dict) or depth >= _DEEPEST:
        return
    own = {key: str(each) for key, each in value.items() if isinstance(each, str | int)}
    labels = dict(around or {}) | {k: v for k, v in own.items() if k not in _SERIES["name"]}
    for key in _SERIES["labels"]:
        labels |= _labels_of(value.get(key))
    named = [own.get(key) or labels.get(key) for key in _SERIES["name"]]
    names = tuple(dict.fromkeys([*filter(None, named), *above]))
    found = False
    for series in _of_object(value, list(names), labels):
        found = True
        yield series
    for key, each in value.items() if not found else ():
        if isinstance(each, dict | list) and key not in _SERIES["labels"]:
            more = names if key in _SERIES["plain"] else (key, *names)
            yield from _series_in(each, more, labels, depth + 1)


def _labels_of(value: Any) -> dict[str, str]:
    """What labels say: an object, a list of ``name:value``, or one of objects of both."""
    if isinstance(value, dict):
        return {name: str(each) for name, each in value.items() if isinstance(each, str | int)}
    if isinstance(value, str):
        value = value.split(",")
    told: dict[str, str] = {}
    for each in value if isinstance(value, list) else ():
        if isinstance(each, str):
            name, _, text = each.partition(":")
        elif isinstance(each, dict):
            name, text = str(each.get("Name", "")), str(each.get("Value", ""))
        else:
            continue
        told |= {name: text} if name and text else {}
    return told


def _of_object(
    value: dict[str, Any], names: list[str], labels: dict[str, str]
) -> Iterator[_Series]:
    """The series that stand in an object itself."""
    times, rows, columns = (
        next((lists for key in _SERIES[kind] if isinstance(lists := value.get(key), list)), [])
        for kind in ("times", "values", "columns")
    )
    if len(times) == len(rows) > 0 and not isinstance(rows[0], list | dict):
        yield _Series(names, labels, times, rows, sums="Timestamps" in value)
        return
    fields = at(value, "schema/fields")
    if fields:  # Grafana's frames: columns of values
        columns, rows = fields, list(zip(*(at(value, "data/values") or ()), strict=False))
    if columns and rows:
        yield from _of_columns(columns, rows, names, labels)
        return
    for key, each in value.items():
        own = names if key in _SERIES["plain"] else [key, *names]
        if isinstance(each, dict) and each and all(map(_EPOCH.fullmatch, each)):
            yield _Series(own, labels, list(each), list(each.values()))
        elif _are(list, each) and all(len(pair) == 2 for pair in each[:_SHOWN]):
            pairs = [pair for pair in each if isinstance(pair, list) and len(pair) == 2]
            first, second = zip(*pairs, strict=True)
            if _are_times(first):
                yield _Series(own, labels, first, second)
            elif _are_times(second):
                yield _Series(own, labels, second, first)
        elif _are(dict, each) and len(each) > 1:
            yield from _of_rows([row for row in each if isinstance(row, dict)], own, labels)


def _of_columns(
    columns: list[Any], rows: list[Any], names: list[str], labels: dict[str, str]
) -> Iterator[_Series]:
    """The columns of rows of values, below their names or what else is said of each."""
    told = [one if isinstance(one, dict) else {"name": str(one)} for one in columns]
    rows = [row for row in rows if isinstance(row, list | tuple) and len(row) == len(told)]
    roles = [_role(str(one.get("name"))) for one in told]
    if "time" not in roles or not rows:
        return
    values = [list(map(_first, column)) for column in zip(*rows, strict=True)]
    for one, role, column in zip(told, roles, values, strict=True):
        head = str(one.get("name"))
        also = [f"{name} {head}" for name in names]
        own = [*names, head] if head.lower() in _SERIES["value"] else [head, *also, *names]
        if role not in ("time", "date"):
            more = _labels_of(one.get("labels"))
            own = [more["__name__"], *own] if "__name__" in more else own
            yield _Series(own, labels | more, values[roles.index("time")], column)


def _role(name: str) -> str:
    return what.quantity if (what := meaning(name)) is not None else ""


def _of_rows(
    rows: list[dict[str, Any]], names: list[str], labels: dict[str, str]
) -> Iterator[_Series]:
    """The values of objects that each have a time; a key above them names them, or their drive."""
    heads = [key for key, each in rows[0].items() if isinstance(each, str | int | float)]
    time = next((key for key in heads if _role(key) in ("time", "date")), None)
    if time is None:
        return
    times = [row.get(time) for row in rows]
    for head in heads:
        values = [row.get(head) for row in rows]
        if head == time or not any(map(np.isfinite, map(number_of, values))):
            continue
        if head.lower() not in _SERIES["value"]:
            if column_of(head) is not None and _role(head) not in tables.ROLES:
                more = {"device": names[0]} | labels if names else labels
                yield _Series([head], more, times, values)
        elif names:
            yield _Series(names, labels, times, values, sums=head == "Sum")


def _are_times(values: Sequence[Any]) -> bool:
    """Whether these are dates, or numbers of an epoch that only rise, or fall."""
    shown = [str(value) for value in values[:200]]
    if not all(map(_EPOCH.fullmatch, shown)):
        first = shown[0] if shown else ""
        return number_of(first) != number_of(first) and cells.is_value(first)
    steps = np.diff([float(text) for text in shown])
    return bool((steps > 0).all() or (steps < 0).all())


def _readings(source: Source, options: Options) -> Iterator[layout.SeriesValue]:
    """Each value of a drive's series, by what its names and labels say; raises UsageError."""
    unknown: dict[str, None] = {}
    has_any = False
    for document in source.documents():
        if at(document.value, "data/resultType") in ("vector", "scalar"):
            raise source.error(
                "is Prometheus' answer of a single moment: 'query_range' has the series",
                document.line,
            )
        for series in _series_in(document.value):
            if not series.names:
                raise source.error(
                    "its series have no names, which rate() and sums take away: query the "
                    "counter itself, as in node_disk_written_bytes_total",
                    document.line,
                )
            told = _told(series, options)
            if told is None:
                unknown[series.names[0][:60]] = None
                continue
            has_any = True
            words = list(map(str, series.times))
            times = read_times(words)
            values = np.array(list(map(number_of, series.values)))
            is_sum = series.sums and told[0].endswith("/s]")
            if is_sum or layout.PER_INTERVAL.search(series.names[0]):
                values = values / grid.usual_of(np.diff(np.sort(times.t_s)))
            if times.clock == "utc" and times.start_unix_s is not None:
                words = [f"{times.start_unix_s + t_s:.3f}" for t_s in times.t_s]
            for word, value in zip(words, values.tolist(), strict=False):
                if value == value:
                    yield layout.SeriesValue(*told, word, repr(value))
    names = listed(list(unknown), 5)
    if not has_any:
        raise source.error(
            "has no series of a drive's bytes, I/Os or temperature"
            + (f" among {names}: if one is, name it: --map write_mb_s=?" if unknown else "")
        )
    if unknown:
        source.note(f"series that are not a drive's, or not known: {names}")


def _told(series: _Series, options: Options) -> tuple[str, str, str] | None:
    """The quantity, the drive and the host of a series."""
    if (name := series.names[0]) in options.mapping.values():
        return name, "", ""
    drive = next((name for name in series.names if tables.DISK.fullmatch(name)), None)
    labels = series.labels if drive is None else {"device": drive} | series.labels
    names = series.names
    if series.sums:  # CloudWatch's, of each period
        names = [f"{name} [{'IO/s' if name.endswith('Ops') else 'B/s'}]" for name in names
                 if name.endswith(("Ops", "Bytes"))] or names  # fmt: skip
    return next(filter(None, (layout.labelled(name, labels) for name in names)), None)


# --- lines of names and values -------------------------------------------------------------------

_PAIR = re.compile(r"([A-Za-z%][\w./%() -]{0,39}?)\s*=\s*(\"[^\"]*\"|[^\s,;=]+)")
#: Longer lines hold no such rows.
_LONGEST = 2000
#: A line of values with units, which alone say what they are: ``27904.00 IOPS,  109.00 MiB/s``.
_MEASURE = r"(\d[\d.]*)\s*([A-Za-z/°%]{1,8})"
_MEASURES = re.compile(rf"\s*{_MEASURE}(?:[,;\s]+{_MEASURE})+\s*")
#: What writes a line each so many seconds, by what stands in its lines or above them.
_BEATS: list[dict[str, Any]] = tables.TABLES["beats"]


def _named(line: str) -> dict[str, str]:
    """What a line says, each value by its name or its unit, and the time before them."""
    if len(line) > _LONGEST:
        return {}
    if "=" in line and (
        pairs := {name.strip(): value.strip('"') for name, value in _PAIR.findall(line)}
    ):
        stamp = line[: line.index(next(iter(pairs)))].strip(" \t[]-:")
        return ({"time": stamp} if cells.is_value(stamp) else {}) | pairs
    found = re.findall(_MEASURE, line) if _MEASURES.fullmatch(line) else []
    return {f"[{unit}]": value for value, unit in found if tables.unit_of(unit) is not None}


def _text_rows(source: Source) -> Iterator[dict[str, str]]:
    head = "\n".join(source.head_lines[:200])
    beat = next((one for one in _BEATS if re.search(one["mark"], head)), None)
    count, keys = 0, _keys(source)
    for _, line in source.lines():
        row = _named(line)
        if 2 * len(keys & row.keys()) <= len(keys):
            continue
        count += 1
        if beat is not None and not any((w := meaning(key)) and w.is_role for key in row):
            row = {plain.COUNTED: f"{count * beat['interval_s']:g}"} | row
        yield row
    if beat is not None and count:
        source.note(
            f"{beat['tool']} writes a line every {beat['interval_s']:g} s: they are counted"
        )


def _keys(source: Source) -> frozenset[str]:
    """What several lines behind each other say by name, if it is of a drive; else nothing."""
    rows = [_named(line) for line in source.head_lines[:200]]
    keys = [frozenset(row) for row in rows if row]
    alike = next((a for a, b in pairwise(keys) if a == b), frozenset[str]())
    return alike if any(_is_measured(column_of(key)) for key in alike) else frozenset()


# --- blocks of lines with a name and a value each, one block a moment ----------------------------

_FIELD = re.compile(r"\s*([A-Za-z][\w /().%-]{0,60}?)\s*[:=]\s*(\S.{0,200})$")
#: So many blocks are no list of a single moment.
_BLOCKS = 3


def _rows_of(pairs: Iterable[tuple[str, str]]) -> Iterator[dict[str, str]]:
    """Yield values by their names, a row each time that a name comes again."""
    row: dict[str, str] = {}
    for key, value in pairs:
        if key in row:
            yield row
            row = {}
        row[key] = value
    if row:
        yield row


def _fields(source: Source) -> Iterator[tuple[str, str]]:
    """Each name with its value, in blocks that begin with a time or with the same name."""
    for _, line in source.lines():
        if cells.is_value(stamp := line.strip()):
            yield "time", stamp
        elif (match := _FIELD.match(line[:300])) is not None:
            yield match[1], match[2].strip()


def _are_blocks(source: Source) -> bool:
    if source.first_character in ("{", "[", "<"):
        return False
    fields = [match[1] for line in source.head_lines[:500] if (match := _FIELD.match(line[:300]))]
    often = [key for key, count in Counter(fields).items() if count >= _BLOCKS]
    return any(map(_is_measured, map(column_of, often)))


def _is_list(source: Source) -> bool:
    """Whether most lines have a name and a value, each once, as a drive's description has them."""
    filled = [line for line in source.head_lines if line.strip()]
    is_text = source.first_character not in ("{", "[", "<") and len(filled) > 1
    return is_text and 4 * sum(map(bool, map(_SAID_OF.match, filled))) >= 3 * len(filled)


_SAID_OF = re.compile(r"\s*[A-Za-z][^:=|,;\t\d]{1,60}[^:=|,;\t]{0,20}\s*:(?:\s+\S.*)?$")


def _refuse_list(source: Source, _: Options) -> list[Log]:
    raise UnknownFormatError(
        f"{source.name}: is a list of names and values of a moment, of which none is a known "
        "reading of a drive: 'smartctl -x' or 'nvme smart-log', in a loop with 'date', have them"
    )


# --- Get-Counter's screen: a time, then a counter's path and its value below it ------------------

_COUNTER = re.compile(r"^(.*?)\s*(\\\\[^\\]+\\[^\\]+\\.+?)\s*:?\s*$")


def _counters(source: Source) -> Iterator[tuple[str, str]]:
    path = ""
    for _, line in source.lines():
        if len(line) < _LONGEST and (match := _COUNTER.match(line)) is not None:
            path = match[2]
            if match[1].strip():
                yield "time", match[1].strip()
        elif path and line.strip():
            yield path, line.strip()
            path = ""


# --- dstat, dool and pcp-dstat: groups of columns with a name above each group -------------------

_GROUP = re.compile(r"-*([a-z][\w/.]*(?:-[\w/.]+)*?)-*$")
#: Lines above its CSV, of which one tells the interval and the year, which dates lack.
_ABOVE = re.compile(
    r'"(?:Dstat|dool|pcp-dstat) \S{1,20} CSV output"|"(?:Author|Host|URL):"'
    r'|"Cmdline:","[^"]{0,400}?d(?:stat|ool)[^"]{0,400}?(?:\s(?P<every>[1-9]\d{0,5})(?:\s+\d{1,9})?)?"'
    r'(?:.{0,200}"Date:",\s*"\d{1,2} [A-Z][a-z]{2} (?P<year>\d{4}))?',
    re.IGNORECASE,
)
_DATES = ((re.compile(r"(\d{1,2})-(\d{1,2}) (?=\d{1,2}:)"), r"{}-\2-\1 "),
          (re.compile(r"([A-Z][a-z]{2})-(\d{1,2}) (?=\d{1,2}:)"), r"\2 \1 {} "))  # fmt: skip
_TOTALS = {"dsk/total", "disk/total", "dsk", "disk"}


def _is_csv(source: Source) -> bool:
    return any(map(_ABOVE.match, source.head_lines))


def _dstat(source: Source) -> Iterator[dict[str, str]]:
    """The rows of dstat's screen, whose numbers have binary prefixes, or of its CSV."""
    groups, names = list[str](), list[list[str]]()
    count, every_s, year, is_first, is_csv = 0, 1.0, "", True, _is_csv(source)
    for number, line in source.lines():
        body = line.strip()
        cells = layout.split(body, ",") if is_csv else line.split("|")
        parts = [[cell] if is_csv else cell.split() for cell in cells]
        if (above := _ABOVE.match(body)) is not None:
            year = above["year"] or year
            if above["every"]:
                every_s = float(above["every"])
                source.note(f"interval of {every_s:g} s: from the command line in it")
            groups, names, is_first = [], [], True
            if body.lower().startswith('"pcp'):
                source.remark("pcp-dstat's dsk columns are taken as bytes/s", ("unit",))
        elif line.startswith("-") and len(line) < _LONGEST:
            groups = [match[1] for word in line.split() if (match := _GROUP.match(word))]
        elif is_csv and body.startswith('"') and (names or not groups):
            groups, names = [], []
            for cell in cells:
                groups.append(cell or "".join(groups[-1:]))
        elif body.startswith('"') if is_csv else "writ" in line:
            names = [[head.rpartition(":")[2] for head in heads] for heads in parts]
            disks = {group for group in groups if group.startswith(("dsk", "disk"))}
            if disks and disks <= _TOTALS:
                text = "all drives of the machine together: one may hide another"
                source.remark(text, ("identity",))
        elif len(parts) == len(names) == len(groups):
            if is_first:
                source.note("the first report is the average since boot: left out")
            else:
                count += 1
                yield _dstat_row(zip(groups, names, parts, strict=True), count * every_s, year)
            is_first = False
        elif names and body and is_csv:
            source.skip(number)


def _dstat_row(
    parts: Iterable[tuple[str, list[str], list[str]]], at_s: float, year: str
) -> dict[str, str]:
    row, times, idle = dict[str, str](), {plain.COUNTED: f"{at_s:g}"}, list[float]()
    for group, heads, words in parts:
        kind, _, device = group.partition("/")
        if kind in ("dsk", "disk", "io"):
            group = f"{kind.replace('disk', 'dsk')}/{device or 'total'}"
        if heads[-1:] and heads[-1] in ("time", "date/time", "epoch"):
            stamp = " ".join(words).strip('"')
            for date, in_full in _DATES if year else ():
                stamp = date.sub(in_full.format(year), stamp)
            times |= {heads[-1]: stamp}
        elif group.startswith("total"):
            named = dict(zip(heads, words, strict=False))
            idle += [number_of(named[head]) for head in ("idl", "wai") if head in named]
        elif len(heads) == len(words):
            own = (f"{group}/{'%' * (head == 'util')}{head}" for head in heads)
            row |= dict(zip(own, map(_plain, words), strict=True))
    time = next(head for head in ("epoch", "time", "date/time", plain.COUNTED) if head in times)
    busy = {"CPU usage [%]": f"{100 - sum(idle):g}"} if idle else {}
    return {time.replace("epoch", "time"): times[time]} | busy | row


def _plain(word: str) -> str:
    value = size_of(word.rstrip("B").rstrip("kMGT"), word.rstrip("B")[-1:].strip("0123456789"))
    return word if value is None else repr(value)


def _is_dstat(source: Source) -> bool:
    lines = source.head_lines[:20]
    return _is_csv(source) or any(
        a.startswith("-") and " -dsk/" in f" {a}" and "writ" in b for a, b in pairwise(lines)
    )


def _are_counters(source: Source) -> bool:
    lines = [line for line in source.head_lines[:50] if len(line) < _LONGEST]
    return any("CounterSamples" in line for line in lines) and any(map(_COUNTER.match, lines))


# --- the formats ---------------------------------------------------------------------------------


def _is_json(source: Source) -> str:
    """How a JSON document is read: ``rows`` or ``series``; empty for another."""
    if source not in _KINDS:
        try:
            shown = source.first_character in ("{", "[") and islice(source.documents(), _SHOWN)
            _KINDS[source] = _kind([document.value for document in shown or ()])
        except UsageError:
            _KINDS[source] = ""
    return _KINDS[source]


#: Documents are parsed once to tell, and once to read.
_KINDS: WeakKeyDictionary[Source, str] = WeakKeyDictionary()


def _kind(documents: list[Any]) -> str:
    rows = [dict(_flat(value)) for value in islice(chain(*map(_lists, documents)), _SHOWN)]
    common = set.intersection(*map(set, rows)) if len(rows) > 1 else set()
    if len(common) < _IN_COMMON * max(map(len, rows), default=0):
        common = set()
    known = [what for key in common if (what := column_of(key)) is not None]
    if any(map(_is_measured, known)):
        return "rows"
    if documents and at(documents[0], "data/resultType") is not None:
        return "series"
    if any(True for document in documents for _ in _series_in(document)):
        return "series"
    # rows of times and numbers, whose names a mapping may tell
    numbers = [key for key in common if np.isfinite(number_of(rows[0][key]))]
    return "rows" * (any(what.is_time for what in known) and len(numbers) > 1)


def _read_json(source: Source, options: Options) -> list[Log]:
    if _is_json(source) == "series":
        return plain.read_rows(source, options, layout.widened(source, _readings(source, options)))
    return plain.read_rows(source, options, _rows(source))


def _text(source: Source) -> Iterator[dict[str, str]] | None:
    """The rows of a text of values with their names; None for another."""
    if source.first_character in ("{", "[", "<"):
        return None
    if _are_counters(source):
        return _rows_of(_counters(source))
    table = layout.layout_of(source)
    if table is not None and any(map(column_of, table.header)):
        return None
    return _text_rows(source) if _keys(source) else None


def _read_dstat(source: Source, options: Options) -> list[Log]:
    return plain.read_rows(source, options, _dstat(source))


def _read_text(source: Source, options: Options) -> list[Log]:
    return plain.read_rows(source, options, _text(source) or iter(()))


def _read_blocks(source: Source, options: Options) -> list[Log]:
    return plain.read_rows(source, options, _rows_of(_fields(source)))


JSON = Format("json-rows", "a table of JSON objects, or series in JSON", _is_json, _read_json, 190)
TEXT = Format("named-rows", "lines of names and values", _text, _read_text, 190)
DSTAT = Format("dstat", "dstat", _is_dstat, _read_dstat, 150)
BLOCKS = Format("blocks", "blocks of names and values", _are_blocks, _read_blocks, 192)
LIST = Format("list", "a list of names and values", _is_list, _refuse_list, 195, is_read=False)
