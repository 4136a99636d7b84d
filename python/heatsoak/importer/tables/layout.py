"""How a table is laid out: delimiter, header and decimal mark, by a file's first lines.

A long table, as monitoring systems export, has a row for each value: the name of a series, a time
and a value. Its series become columns, and rows of the same time one row.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from heatsoak.importer import tables
from heatsoak.importer.source import Source
from heatsoak.importer.tables.cells import CODE_PAGES, GROUPED, NUMBER, is_value
from heatsoak.importer.tables.headers import meaning, monitor_name, total
from heatsoak.importer.timestamps import read_times

#: How many of a file's lines are looked at.
_HEAD_LINES = 250
#: This many rows of values in a row are the table.
_ENOUGH_ROWS = 25
#: How many of a header's cells are tried in other code pages.
_SAMPLED = 60
#: What can separate cells; None is any white space.
_DELIMITERS = (",", ";", "\t", "|", "  ", None)
#: A comment above a table that says something of it, and is not its header.
_COMMENT = re.compile(r"#+\s*$|#+ ?[A-Z]\w*: ")
_GAP = re.compile(r"\s{2,}|\t")
_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class Layout:
    """How a table is laid out.

    Attributes:
        delimiter: of the cells; two blanks for any number of at least two, None for any.
        header: the names of the columns; empty where there is no header.
        units: what a row of units below the header says of each column; empty where there is none.
        above: the row above the header, where it has as many cells.
        line: the header's line; that of the first row where there is none.
        rows: the first rows of data.
        text: the header as its line has it.
        is_exact: whether rows have as many cells as the header, which was cut by where they stand.
    """

    delimiter: str | None
    header: tuple[str, ...]
    units: tuple[str, ...] = ()
    above: tuple[str, ...] = ()
    line: int = 1
    first: int = 2
    rows: tuple[tuple[str, ...], ...] = ()
    text: str = ""
    is_exact: bool = False

    @property
    def has_fit(self) -> bool:
        """Whether names stand above all cells, or there are none."""
        return not self.header or not self.rows or len(self.header) == len(self.rows[0])

    @property
    def width(self) -> int:
        """How many columns it has."""
        return len(self.header) or max((len(row) for row in self.rows), default=0)

    def cells(self, index: int) -> list[str]:
        """Return the first cells of a column."""
        return [row[index].strip() for row in self.rows if index < len(row)]


def is_rule(line: str) -> bool:
    """Whether a line is only drawn."""
    return ("--" in line or "==" in line) and not line.strip(" \t\r\f\v|+:=-")


def split(line: str, delimiter: str | None) -> list[str]:
    """Return the cells of a line; a quoted cell may hold the delimiter."""
    if delimiter is None:
        return line.split()
    if delimiter == "  ":
        return [cell for cell in _GAP.split(line.strip()) if cell]
    if delimiter == "|":
        line = line.strip()
        if line.startswith("|"):
            line = line[1:].removesuffix("|")
        return [cell.strip() for cell in line.split("|")]
    if '"' not in line:
        return line.split(delimiter)
    try:
        return next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])
    except csv.Error:
        return []


def layout_of(source: Source) -> Layout | None:
    """Return the layout of the table that a file holds; None for no table."""
    if source not in _LAYOUTS:
        _LAYOUTS[source] = find_layout(source.head_lines)
    return _LAYOUTS[source]


#: Several formats ask for the layout of one file.
_LAYOUTS: WeakKeyDictionary[Source, Layout | None] = WeakKeyDictionary()


def find_layout(lines: Sequence[str]) -> Layout | None:
    """Return the layout of the table that these first lines of a file hold; None for no table."""
    filled = [
        (number, line)
        for number, line in enumerate(lines[:_HEAD_LINES], 1)
        if len(line) < 1 << 18 and line.strip() and not is_rule(line) and not _COMMENT.match(line)
    ]
    if lines and (match := re.match(r"(?i)sep=(.)\s*$", lines[0][:1000])):
        found = _layout(filled, match.group(1))
        if found is not None:
            return found[1]
    best: tuple[float, Layout] | None = None
    for delimiter in _DELIMITERS:
        if delimiter is None and best is not None and best[1].has_fit:
            break
        found = _layout(filled, delimiter)
        if found is not None and (
            best is None or (found[0], found[1].has_fit) > (best[0], best[1].has_fit)
        ):
            best = found
    return best[1] if best is not None else _of_one_column(filled)


def _of_one_column(lines: list[tuple[int, str]]) -> Layout | None:
    """The layout of numbers that stand below each other, a name above them or none."""
    are_values = [NUMBER.match(line.strip()) is not None for _, line in lines]
    if not any(are_values):
        return None
    start = are_values.index(True)
    if start > 1 or len(lines) - start < 2 or not all(are_values[start:]):
        return None
    header = (lines[0][1].strip(),) if start else ()
    rows = tuple((line.strip(),) for _, line in lines[start : start + 50])
    (line, text), first = lines[0], lines[start][0]
    return Layout("\n", header, line=line, first=first, rows=rows, text=text.strip() * start)


class _Row(NamedTuple):
    """A line as cells, and whether they are values."""

    number: int
    line: str
    cells: list[str]
    is_data: bool


def _layout(lines: list[tuple[int, str]], delimiter: str | None) -> tuple[float, Layout] | None:
    """Return the largest block of rows of values that has these cells, with how large it is."""
    rows: list[_Row] = []
    alike = 0
    for number, line in lines:
        if alike > _ENOUGH_ROWS:
            break
        if delimiter not in (None, "  ") and delimiter not in line.strip():
            continue
        cells = split(line.lstrip("#").lstrip() if delimiter is None else line, delimiter)
        if len(cells) < 2:
            continue
        filled = [cell for cell in cells if cell.strip()]
        values = sum(map(is_value, filled))
        rows.append(_Row(number, line, cells, values > 0 and 4 * values >= len(filled)))
        alike = alike + 1 if len(rows) > 1 and _same_block(rows[-2], rows[-1]) else 0
    best: tuple[float, int, int] | None = None
    start = 0
    for index in range(1, len(rows) + 1):
        if index < len(rows) and _same_block(rows[index - 1], rows[index]):
            continue
        if rows[start].is_data:
            width = len(_filled(rows[start:index]))
            above = rows[start - 1] if start else None
            has_header = above is not None and (
                abs(len(above.cells) - width) <= 1
                or (delimiter is None and _of_words(above, rows[start:index]) is not None)
            )
            score = min(index - start, 20) * min(width, 50) * (2.0 if has_header else 1.0)
            if best is None or score > best[0]:
                best = (score, start, index)
        start = index
    if best is None:
        return _only_header(rows, delimiter)
    score, start, stop = best
    return score, _with_header(rows, start, stop, delimiter)


def _same_block(a: _Row, b: _Row) -> bool:
    return a.is_data == b.is_data and (not a.is_data or len(a.cells) == len(b.cells))


def _filled(rows: Sequence[_Row]) -> list[int]:
    """The places in which any row has a cell that is not empty."""
    width = len(rows[0].cells)
    return [at for at in range(width) if any(row.cells[at].strip() for row in rows)]


def _only_header(rows: list[_Row], delimiter: str | None) -> tuple[float, Layout] | None:
    for row in rows:
        found = [m for cell in row.cells[:500] if (m := meaning(cell)) is not None]
        if any(m.is_role for m in found) and any(m.is_rate for m in found) and delimiter:
            header = tuple(cell.strip() for cell in row.cells)
            return 0.5, Layout(delimiter, header, line=row.number, first=row.number + 1)
    return None


def _with_header(rows: list[_Row], start: int, stop: int, delimiter: str | None) -> Layout:
    own = rows[start : min(stop, start + 50)]
    width = len(own[0].cells)
    data = tuple(tuple(row.cells) for row in own)
    above = [
        (row, tuple(cell.strip() for cell in row.cells))
        for row in rows[max(0, start - 3) : start]
        if not row.is_data and 2 * len(row.cells) >= len(_filled(own))
    ]
    units: tuple[str, ...] = ()
    if len(above) > 1 and _are_units(above[-1][1]):
        units = above.pop()[1]
    first = own[0].number
    if not above:
        return Layout(delimiter, (), line=first, first=first, rows=data)
    row, header = above.pop()
    over = above[-1][1] if above and len(above[-1][1]) == len(header) else ()
    of_words = _of_words(row, own) if delimiter is None and len(header) != width else None
    names, is_exact, text = of_words or _placed(header, own), of_words is not None, row.line.strip()
    return Layout(delimiter, names, units, over, row.number, first, data, text, is_exact)


def _placed(header: tuple[str, ...], rows: Sequence[_Row]) -> tuple[str, ...]:
    """The names above the cells that they are of: rows may have empty ones between, or in front."""
    width, filled = len(rows[0].cells), _filled(rows)
    if len(header) == len(filled) < width:
        names = dict(zip(filled, header, strict=True))
        return tuple(names.get(at, "") for at in range(width))
    if len(header) == width + 1 and not header[0].strip("#"):
        return header[1:]
    counts = [row.cells[0].strip(' "') for row in rows]
    if len(header) == width - 1 and counts == [str(at) for at in range(1, len(rows) + 1)]:
        return ("", *header)  # R numbers rows and has no name for that
    return header


def _of_words(header: _Row, rows: Sequence[_Row]) -> tuple[str, ...] | None:
    """The names of as many columns as rows have cells, of words between blanks; None for others."""
    names: list[str] = []
    for word in header.cells:
        if (
            names
            and tables.split_unit(f"{names[-1]} {word}")[1]
            and not tables.split_unit(names[-1])[1]
        ):
            names[-1] += f" {word}"
        else:
            names.append(word)
    if len(names) == len(rows[0].cells):
        return tuple(names)
    return _by_place(header.line, [row.line for row in rows[:50]])


def _by_place(line: str, rows: Sequence[str]) -> tuple[str, ...] | None:
    """The names of columns that all begin, or all end, where their names do; None for others."""
    words = [(word.start(), word.end(), word[0]) for word in _WORD.finditer(line.expandtabs())]
    spans = [[word.span() for word in _WORD.finditer(row.expandtabs())] for row in rows]
    if len({len(each) for each in spans}) > 1:
        return None
    for side, best in ((1, max), (0, min)):
        edges = [best(span[side] for span in column) for column in zip(*spans, strict=True)]
        if not set(edges) <= {word[side] for word in words}:
            continue
        if side:
            places = [int(np.searchsorted(edges, end)) for _, end, _ in words]
        else:
            places = [int(np.searchsorted(edges, begin, "right")) - 1 for begin, _, _ in words]
        names: list[list[str]] = [[] for _ in edges]
        for place, (_, _, word) in zip(places, words, strict=True):
            if 0 <= place < len(names):
                names[place].append(word)
        return tuple(map(" ".join, names))
    return None


def _are_units(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell]
    return bool(filled) and all(
        tables.unit_of(cell) is not None or len(cell) < 3 for cell in filled
    )


@lru_cache(maxsize=4)
def ungarbled(header: tuple[str, ...]) -> tuple[str, ...]:
    """Return a header as it was before the code page it was written in was taken for another.

    As it is, where no code page makes more sense of it.
    """
    # a degree sign alone is no sign of it
    odd = [cell for cell in header if sum(not c.isascii() for c in cell) > 1][:_SAMPLED]
    if not odd:
        return header
    best, most = "", sum(meaning(cell) is not None for cell in odd)
    for page in CODE_PAGES:
        known = sum(meaning(_in_page(cell, page)) is not None for cell in odd)
        if known > most:
            best, most = page, known
    return tuple(_in_page(cell, best) for cell in header) if best else header


def _in_page(cell: str, page: str) -> str:
    return cell if cell.isascii() else cell.encode("cp1252", "replace").decode(page, "replace")


def headers_of(layout: Layout) -> tuple[str, ...]:
    """Return the columns' names in words that :func:`meaning` knows."""
    header = ungarbled(layout.header)
    paths = layout.above
    if paths and sum(cell.startswith("/") for cell in paths) > len(paths) // 2:
        return tuple(monitor_name(path, name) for path, name in zip(paths, header, strict=True))
    return header


def decimals_of(layout: Layout) -> tuple[str, str]:
    """Return the decimal mark of the first rows, and what is doubtful of it."""
    commas = points = unclear = 0
    for row in layout.rows:
        for cell in row:
            has_mark = len(cell) < 60 and ("," in cell or "." in cell)
            match = NUMBER.match(cell.strip()) if has_mark else None
            if match is None:
                continue
            number = match.group(1).rstrip()
            comma, point = number.rfind(","), number.rfind(".")
            if comma > point >= 0 or number.count(".") > 1:
                commas += 1
            elif point > comma >= 0 or number.count(",") > 1 or comma < 0:
                points += 1
            elif GROUPED.match(number) and not number.lstrip("+-").startswith("0"):
                unclear += 1
            else:
                commas += 1
    if commas or points:
        return "," if commas > points else ".", ""
    if not unclear:
        return ".", ""
    mark = "." if layout.delimiter == "," else ","
    what = "the decimal mark" if mark == "," else "a separator of thousands"
    return mark, f"the comma in its numbers is read as {what}"


# --- long tables: a row for each value -----------------------------------------------------------

_LONGEST_NAME = 1000
#: What a value takes in memory.
_VALUE_BYTES = 200
_LONG: dict[str, list[str]] = tables.TABLES["long"]
#: A series as Prometheus and Grafana write it: ``node_disk_io_now{device="sda"}``.
_LABELLED = re.compile(r"([^{]*)\{(.*)\}\s*$")
_LABEL = re.compile(r'(\w+)\s*[=:]\s*"?([^",}]*)"?')
#: The kernel's sensors of an NVMe drive: the first is the composite one.
_HWMON = re.compile(r"temp(\d+)")
#: What exporters put before the names of quantities.
_EXPORTER = re.compile(r"^(?:node|smartctl|windows|telegraf)_(?:(?:hwmon|nvme|disk|device)_)*")
_NAMESPACE = re.compile(r"(nvme\d+)n\d+")


class SeriesValue(NamedTuple):
    """A value of a series: what it is, of which drive and host (empty: of all), and when."""

    quantity: str
    drive: str
    host: str
    time: str
    value: str


def labelled(name: str, labels: dict[str, str]) -> tuple[str, str, str] | None:
    """Return the quantity, the drive and the host of a series with labels, or of a path.

    None for what is neither a drive's nor the host's: a limit, another chip's sensor.
    """
    if len(name) > _LONGEST_NAME:
        return None
    if (match := _LABELLED.match(name)) is not None:
        name, labels = match[1].strip(), {**labels, **dict(_LABEL.findall(match[2]))}
        name = name or labels.pop("__name__", "")
    name = _EXPORTER.sub("", name)
    drive = next((labels[key] for key in _LONG["drive"] if labels.get(key)), "").removeprefix(
        "/dev/"
    )
    host = next((labels[key] for key in _LONG["host"] if labels.get(key)), "")
    if labels.get("temperature_type", "current") != "current":
        return None
    if (chip := labels.get("chip")) is not None:
        number = _HWMON.fullmatch(labels.get("sensor", ""))
        if chip.startswith("nvme"):
            first = number is None or number[1] == "1"
            which = "composite" if first or number is None else f"sensor {int(number[1]) - 1}"
            name, drive = f"{name} {which}", chip.removeprefix("nvme_")
        elif "coretemp" in chip or "k10temp" in chip:
            name, drive = f"cpu {name}", ""
        else:
            return None
    if (path := _PATH.search(name)) is not None:
        is_rate = any(each.search(name) for each in (PER_SECOND, PER_INTERVAL))
        name, of_path, of_host = _of_path(path[0].split("."))
        drive, host = drive or of_path, host or of_host
        name = f"{name}_per_sec" if is_rate else name
    if not name or (meaning(name) or total(name)) is None:
        return None
    unit = next((labels[key] for key in _LONG["unit"] if labels.get(key)), "")
    return f"{name} [{unit}]" if unit and "[" not in name else name, drive, host


#: A series as Graphite names it, within functions or without: ``nas.disk-sda.disk_octets.write``.
_PATH = re.compile(r"[\w-]+(?:\.[\w:-]+){2,}")
_CPUS = tables.TOKENS["cpu"] | tables.TOKENS["gpu"]
#: Functions that make rates of counters, and amounts of each interval.
PER_SECOND = re.compile(r"(?i)persecond|scaletoseconds|\brate\(")
PER_INTERVAL = re.compile(r"(?i)derivative|\bincrease\(|\bdelta\(")
#: What collectd puts before a drive's name, and before that of a chip.
_PLUGIN = re.compile(rf"^(?:[a-z]+[-_](?={tables.DISK.pattern}$)|sensors-)")


def _of_path(parts: list[str]) -> tuple[str, str, str]:
    """What a path's last parts name, and the drive and the host before these."""
    parts = [_PLUGIN.sub("", part) for part in parts]
    disks = [index for index, part in enumerate(parts) if tables.DISK.fullmatch(part)]
    if disks:
        start = disks[-1] + 1
    else:
        tails = range(len(parts) - 1, max(len(parts) - 4, 0), -1)
        ends = (" ".join(parts[at:]) for at in tails)
        known = (at for at, end in zip(tails, ends, strict=True) if meaning(end) or total(end))
        start = next(known, len(parts) - 1)
        is_part = tables.names_drive(parts[start - 1]) or not _CPUS.isdisjoint(
            tables.tokens_of(parts[start - 1])
        )
        start -= is_part
    before = parts[: disks[-1]] if disks else parts[:start]
    host = " ".join(part for part in before if part not in tables.TABLES["paths"]["fillers"])
    words = [tables.TABLES["paths"]["units"].get(part, part) for part in parts[start:]]
    return " ".join(words), parts[disks[-1]] if disks else "", host


def widened(source: Source, readings: Iterable[SeriesValue]) -> Iterator[dict[str, str]]:
    """Yield a row for each time and drive, in the order of time, with the series as columns."""
    rows: dict[tuple[str, str], dict[str, dict[str, str]]] = {}
    for one in readings:
        source.keep(_VALUE_BYTES)
        row = rows.setdefault((one.host, one.drive), {}).setdefault(one.time, {})
        row[one.quantity] = one.value
    for host, drive in list(rows):
        # a controller's temperature is that of its only namespace
        parts = [
            name for at, name in rows
            if at == host and (match := _NAMESPACE.fullmatch(name)) and match[1] == drive
        ]  # fmt: skip
        if len(parts) == 1:
            _lay(rows[host, parts[0]], rows.pop((host, drive)))
    for host in {host for host, drive in rows if drive}:
        everywhere = rows.pop((host, ""), {})
        for (at, _), own in rows.items():
            if at == host:
                _lay(own, everywhere)
    are_many = len({host for host, _ in rows}) > 1
    for (host, drive), own in rows.items():
        words = list(own)
        for index in np.argsort(read_times(words).t_s, kind="stable").tolist():
            named = {"device": f"{host} {drive}".strip() if are_many else drive}
            yield {
                "time": words[index],
                **(named if drive or are_many else {}),
                **own[words[index]],
            }


def _lay(own: dict[str, dict[str, str]], other: dict[str, dict[str, str]]) -> None:
    for time, values in other.items():
        own[time] = {**values, **own.get(time, {})}


def long_rows(source: Source, layout: Layout) -> Iterator[SeriesValue] | None:
    """Return the values of a long table; None for a table of another layout."""
    names = [name.strip().lower() for name in layout.header]
    wanted = [_LONG[kind] for kind in ("series", "value", "time")]
    found = [next((name for name in known if name in names), "") for known in wanted]
    if not all(found):
        return None
    return _readings(source, layout, names, *(names.index(name) for name in found))


def _readings(
    source: Source, layout: Layout, names: list[str], series: int, value: int, time: int
) -> Iterator[SeriesValue]:
    others = [index for index in range(len(names)) if index not in (series, value, time)]
    known: dict[tuple[str, ...], tuple[str, str, str] | None] = {}
    for number, line in source.lines():
        cells = split(line, layout.delimiter)
        if number < layout.first or len(cells) != layout.width or cells[value] == names[value]:
            continue
        key = (cells[series], *(cells[index] for index in others))
        if key not in known:
            known[key] = labelled(
                cells[series], {names[index]: cells[index].strip() for index in others}
            )
        if (told := known[key]) is not None:
            yield SeriesValue(*told, cells[time], cells[value])
