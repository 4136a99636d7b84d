"""Delimited tables as loggers write them: where the header is, what parts the cells, the rows.

Rows are streamed, and of each only the cells that mean something are kept, as numbers: a file of
many GB with hundreds of columns takes the memory of the few columns that matter.
"""

import csv
import re
from abc import abstractmethod
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import overload
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl
from numpy.typing import NDArray

from heatsoak.importer.frames import Array
from heatsoak.importer.quantity import Unit, meaning, unit_of
from heatsoak.importer.source import Source

#: How many lines of a file tell its layout.
_HEAD_LINES = 250
#: As many rows of values one behind the other are the table.
_ENOUGH = 25
#: So many cells tell a header's code page.
_SAMPLED = 60
#: So many bytes of rows are worth taking at once.
_LEAST_BLOCK = 1 << 16
#: No logger writes larger numbers.
_LARGEST = 1e21
#: What can part cells; None is any white space.
_DELIMITERS = (",", ";", "\t", "|", "  ", None)
#: Those that are a single character, always.
_SINGLE = (",", ";", "\t")
_GAP = re.compile(r"\s{2,}|\t")
_RULE = re.compile(r"^[\s|+:=-]*(?:--|==)[\s|+:=-]*$")

_NUMBER = re.compile(
    r"^([+-]?(?:\d[\d.,'\u2019\u00a0\u202f ]*|[.,]\d+)(?:e[+-]?\d{1,4})?)\s*([^\d\s][^\d]{0,19})?$",
    re.IGNORECASE,
)
_MOMENT = re.compile(
    r"^\D{0,12}(?:\d{1,4}[./-]\d{1,2}[./-]\d{1,4}|\d{1,3}:\d{2})[\d\s:.,/TZ+-]*"
    r"(?:[AaPp]\.?[Mm]\.?)?(?:\s?[A-Z]{1,5})?$|^[A-Z][a-z]{2}[a-z]* .*\d:\d\d"
)

_TRUE = ("yes", "true", "on", "ja", "oui", "si", "sí", "sì", "sim", "tak", "ano", "igen", "kyllä",
         "evet", "да", "так", "是", "はい", "예", "ναι", "active", "throttled", "throttling",
         "wahr", "an", "vrai")  # fmt: skip
_FALSE = ("no", "false", "off", "nein", "non", "não", "nao", "nie", "ne", "nem", "ei", "hayır",
          "hayir", "нет", "ні", "否", "いいえ", "아니요", "아니오", "όχι", "nee", "nej", "inactive",
          "ok", "none", "normal", "falsch", "aus", "faux")  # fmt: skip
#: What Windows wrote before it wrote UTF-8, read as cp1252.
_CODE_PAGES = ("gbk", "big5", "cp932", "cp949", "cp1251", "cp1253", "cp1254", "cp1250")


def _states() -> dict[str, float]:
    states = {}
    for words, value in ((_FALSE, 0.0), (_TRUE, 1.0)):
        for word in words:
            for spelling in {word, word.capitalize()}:
                states[spelling.lower()] = value
                for page in () if word.isascii() else _CODE_PAGES:
                    try:
                        states[spelling.encode(page).decode("cp1252", "replace").lower()] = value
                    except UnicodeEncodeError:
                        continue
    return states


_STATES = _states()


def state_of(text: str) -> float | None:
    """Return 1 for yes, 0 for no, in many languages; None for anything else."""
    return _STATES.get(text.strip().lower())


#: What says that nothing is the matter, besides no.
_WELL = frozenset({
    "-", "--", "\u2013", "\u2014", "n", "f", "nominal", "cool", "good", "idle", "unthrottled",
    "clear", "healthy", "fine", "disabled", "full speed", "green", "0x0", "passive",
})  # fmt: skip
_UNKNOWN = frozenset({"", "n/a", "na", "nan", "null", "?", "unknown", "error", "n.a.", "nil"})
_NO = re.compile(
    r"^(?:no|not|non|nicht|kein|keine|never|0x0+)\b|^(?:level|lvl|l|state|stage|tmt|mode)[ _-]?0\b"
)


def throttling_of(words: Sequence[str]) -> tuple[Array, bool] | None:
    """Return for each text of a column of throttling 0 or 1; NaN where it is not known.

    Where the texts are numbers that only rise, they are a counter's readings: it is these that are
    returned then, with True. None where the texts do not tell on from off.
    """
    known = {word: _throttled(word) for word in set(words)}
    numbers = {word: _plain_number(word) for word in known}
    counted = np.array([numbers[word] for word in words])
    finite = counted[np.isfinite(counted)]
    if len(finite) == len(words) - sum(w.strip().lower() in _UNKNOWN for w in words) > 0:
        rises = bool(np.all(np.diff(finite) >= 0))
        if rises and (finite[0] > 1 or len(np.unique(finite)) > _LEVELS):
            return counted, True
    values = set(known.values())
    unsure = {word for word, value in known.items() if value == _SOME}
    if 0.0 not in values and unsure:
        missing = [word for word, value in known.items() if value is None]
        if not missing:
            return None  # always the same: it could be either
        known |= dict.fromkeys(missing, 0.0)
    told = {
        word: float("nan") if value is None else min(value, 1.0) for word, value in known.items()
    }
    return np.array([told[word] for word in words]), False


#: Something that is not known to be off.
_SOME = 2.0
#: Levels of throttling; numbers that take more values count something.
_LEVELS = 5


def _throttled(word: str) -> float | None:
    """0 for off, 1 for on, 2 for words that are neither known for on nor for off; None for none."""
    text = word.strip().strip("\"'").strip().lower()
    if text in _UNKNOWN:
        return None
    state = state_of(text)
    if state is not None:
        return state
    if text in _WELL or _NO.match(text):
        return 0.0
    if text in ("y", "t"):
        return 1.0
    number = _plain_number(text)
    if number == number:
        return float(number != 0)
    return _SOME


def _plain_number(word: str) -> float:
    match = _NUMBER.match(word.strip().strip("\"'")) if len(word) < 60 else None
    try:
        return float(match.group(1).strip().replace(",", ".")) if match else float("nan")
    except ValueError:
        return float("nan")


# --- the layout --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Layout:
    """How a table is laid out.

    Attributes:
        delimiter: what parts the cells; two blanks for any number of at least two, None for any.
        header: the names of the columns; empty where there is no header.
        units: what a row of units below the header says of each column; empty where there is none.
        above: the row above the header, where it has as many cells.
        line: the header's line; that of the first row where there is none.
        rows: the first rows of data, for what only values tell.
    """

    delimiter: str | None
    header: tuple[str, ...]
    units: tuple[str, ...] = ()
    above: tuple[str, ...] = ()
    line: int = 1
    first: int = 2
    rows: tuple[tuple[str, ...], ...] = ()

    @property
    def width(self) -> int:
        """How many columns it has."""
        return len(self.header) or max((len(row) for row in self.rows), default=0)


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


def is_value(cell: str) -> bool:
    """Whether a cell is a number, with or without a unit, a date or a time."""
    cell = cell.strip()
    if cell.isdecimal() and len(cell) < 60:
        return True
    return 0 < len(cell) < 60 and (
        _NUMBER.match(cell) is not None or _MOMENT.match(cell) is not None
    )


def layout_of(source: Source) -> Layout | None:
    """Return the layout of the table that a file holds; None for no table."""
    if source not in _LAYOUTS:
        _LAYOUTS[source] = find_layout(source.head_lines)
    return _LAYOUTS[source]


#: What several formats ask of one file is found once.
_LAYOUTS: WeakKeyDictionary[Source, Layout | None] = WeakKeyDictionary()


def find_layout(lines: Sequence[str]) -> Layout | None:
    """Return the layout of the table that these first lines of a file hold; None for no table."""
    filled = [
        (number, line)
        for number, line in enumerate(lines[:_HEAD_LINES], 1)
        if len(line) < 1 << 18 and line.strip() and not _RULE.match(line)
    ]
    if lines and (match := re.match(r"(?i)sep=(.)\s*$", lines[0][:1000])):
        found = _layout(filled, match.group(1))
        if found is not None:
            return found[1]
    best: tuple[float, Layout] | None = None
    for delimiter in _DELIMITERS:
        if delimiter is None and best is not None:
            break
        found = _layout(filled, delimiter)
        if found is not None and (best is None or found[0] > best[0]):
            best = found
    return best[1] if best is not None else None


def _layout(lines: list[tuple[int, str]], delimiter: str | None) -> tuple[float, Layout] | None:
    """Return the largest block of rows of values that has these cells, with how large it is."""
    mark = " " if delimiter in (None, "  ") else delimiter
    rows: list[tuple[int, list[str], bool]] = []
    alike = 0
    for number, line in lines:
        if alike > _ENOUGH:
            break
        if mark not in line or mark not in line.strip():
            continue
        cells = split(line.lstrip("#").lstrip() if delimiter is None else line, delimiter)
        if len(cells) < 2:
            continue
        filled = [cell for cell in cells if cell.strip()]
        values = sum(map(is_value, filled))
        rows.append((number, cells, values > 0 and 4 * values >= len(filled)))
        alike = alike + 1 if len(rows) > 1 and _same_block(rows[-2], rows[-1]) else 0
    best: tuple[float, int, int] | None = None
    start = 0
    for index in range(1, len(rows) + 1):
        if index < len(rows) and _same_block(rows[index - 1], rows[index]):
            continue
        if rows[start][2]:
            width = len(rows[start][1])
            has_header = start > 0 and abs(len(rows[start - 1][1]) - width) <= 1
            score = min(index - start, 20) * min(width, 50) * (2.0 if has_header else 1.0)
            if best is None or score > best[0]:
                best = (score, start, index)
        start = index
    if best is None:
        return _only_header(rows, delimiter)
    score, start, stop = best
    return score, _with_header(rows, start, stop, delimiter)


def _same_block(a: tuple[int, list[str], bool], b: tuple[int, list[str], bool]) -> bool:
    return a[2] == b[2] and (not a[2] or len(a[1]) == len(b[1]))


def _only_header(
    rows: list[tuple[int, list[str], bool]], delimiter: str | None
) -> tuple[float, Layout] | None:
    for number, cells, _ in rows:
        found = [m for cell in cells[:500] if (m := meaning(cell)) is not None]
        if any(m.is_role for m in found) and any(m.is_rate for m in found) and delimiter:
            header = tuple(cell.strip() for cell in cells)
            return 0.5, Layout(delimiter, header, line=number, first=number + 1)
    return None


def _with_header(
    rows: list[tuple[int, list[str], bool]], start: int, stop: int, delimiter: str | None
) -> Layout:
    width = len(rows[start][1])
    data = tuple(tuple(cells) for _, cells, _ in rows[start : min(stop, start + 50)])
    above = [
        (number, tuple(cell.strip() for cell in cells))
        for number, cells, is_data in rows[max(0, start - 3) : start]
        if not is_data and 2 * len(cells) >= width
    ]
    units: tuple[str, ...] = ()
    if len(above) > 1 and _are_units(above[-1][1]):
        units = above.pop()[1]
    first = rows[start][0]
    if not above:
        return Layout(delimiter, (), line=first, first=first, rows=data)
    line, header = above.pop()
    over = above[-1][1] if above and len(above[-1][1]) == len(header) else ()
    return Layout(delimiter, header, units, over, line, first, data)


def _are_units(cells: Sequence[str]) -> bool:
    filled = [cell for cell in cells if cell]
    return bool(filled) and all(unit_of(cell) is not None or len(cell) < 3 for cell in filled)


def ungarbled(header: Sequence[str]) -> tuple[str, ...]:
    """Return a header as it was before the code page it was written in was taken for another.

    As it is, where no code page makes more sense of it.
    """
    return _ungarbled(tuple(header))


@lru_cache(maxsize=4)
def _ungarbled(header: tuple[str, ...]) -> tuple[str, ...]:
    # a degree sign alone is no sign of it
    odd = [cell for cell in header if sum(not c.isascii() for c in cell) > 1][:_SAMPLED]
    if not odd:
        return header
    best, most = "", sum(meaning(cell) is not None for cell in odd)
    for page in _CODE_PAGES:
        known = sum(meaning(_in_page(cell, page)) is not None for cell in odd)
        if known > most:
            best, most = page, known
    return tuple(_in_page(cell, best) for cell in header) if best else header


def _in_page(cell: str, page: str) -> str:
    return cell if cell.isascii() else cell.encode("cp1252", "replace").decode(page, "replace")


# --- numbers -----------------------------------------------------------------------------------

_GROUPED = re.compile(r"^[+-]?\d{1,3}(?:([.,'\u2019\u00a0\u202f ])\d{3})+$")
_BLANKS = str.maketrans("", "", "'\u2019\u00a0\u202f ")


@dataclass(frozen=True)
class Decimals:
    """Which mark stands before decimals, and whether that is certain."""

    mark: str = "."
    doubt: str = ""


def decimals_of(layout: Layout) -> Decimals:
    """Return the decimal mark that the first rows speak for."""
    commas = points = unclear = 0
    for row in layout.rows:
        for cell in row:
            has_mark = len(cell) < 60 and ("," in cell or "." in cell)
            match = _NUMBER.match(cell.strip()) if has_mark else None
            if match is None:
                continue
            number = match.group(1).rstrip()
            comma, point = number.rfind(","), number.rfind(".")
            if comma > point >= 0 or number.count(".") > 1:
                commas += 1
            elif point > comma >= 0 or number.count(",") > 1 or comma < 0:
                points += 1
            elif _GROUPED.match(number) and not number.lstrip("+-").startswith("0"):
                unclear += 1
            else:
                commas += 1
    if commas or points:
        return Decimals("," if commas > points else ".")
    if not unclear:
        return Decimals()
    mark = "." if layout.delimiter == "," else ","
    what = "the decimal mark" if mark == "," else "a separator of thousands"
    return Decimals(mark, f"the comma in its numbers is read as {what}")


class Numbers:
    """Makes numbers of cells: with units, marks of thousands, decimal commas, yes and no."""

    def __init__(self, decimals: Decimals) -> None:
        self._comma = decimals.mark == ","
        self._known: dict[str, tuple[float, str]] = {}

    def read(self, cell: str) -> tuple[float, str]:
        """Return the number in a cell and the unit behind it; NaN for what is none."""
        known = self._known.get(cell)
        if known is None:
            known = self._read(cell.strip().strip("\"'").strip())
            if len(self._known) > 20_000:
                self._known.clear()
            self._known[cell] = known
        return known

    def _read(self, text: str) -> tuple[float, str]:
        state = state_of(text)
        if state is not None:
            return state, ""
        match = _NUMBER.match(text) if len(text) < 400 else None
        if match is None:
            return float("nan"), ""
        number, unit = match.group(1).strip(), match.group(2) or ""
        number = number.translate(_BLANKS)
        if self._comma:
            grouped = _GROUPED.match(number) is not None and number.count(".") > 1
            if "," in number or grouped:
                number = number.replace(".", "").replace(",", ".")
        else:
            number = number.replace(",", "")
        try:
            return float(number), unit
        except ValueError:
            return float("nan"), ""


# --- rows --------------------------------------------------------------------------------------


class _Texts(Sequence[str]):
    """What columns of texts share: an index gives one, a slice a list."""

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return list(self)[index]
        return self._at(index if index >= 0 else index + len(self))

    @abstractmethod
    def _at(self, index: int) -> str:
        """Return the text at `index`, from 0."""


class Words(_Texts):
    """The texts of a column, kept as bytes, since there can be very many."""

    _BLOCK = 4096

    def __init__(self) -> None:
        self._blocks: list[bytes] = []
        self._last: list[str] = []

    def append(self, word: str) -> None:
        """Add a text."""
        self._last.append(word)
        if len(self._last) == self._BLOCK:
            self._blocks.append("\n".join(self._last).encode("utf-8", "replace"))
            self._last = []

    def replace_last(self, word: str) -> None:
        """Put another text in place of the last one."""
        if not self._last:
            self._last = self._blocks.pop().decode().split("\n")
        self._last[-1] = word
        if len(self._last) == self._BLOCK:
            self.append(self._last.pop())

    def extend(self, words: Sequence[str]) -> None:
        """Add many texts."""
        begin = 0
        while begin < len(words):
            end = begin + self._BLOCK - len(self._last) - 1
            self._last += words[begin:end]
            if end < len(words):
                self.append(words[end])
            begin = end + 1

    def __len__(self) -> int:
        return len(self._blocks) * self._BLOCK + len(self._last)

    def __iter__(self) -> Iterator[str]:
        for block in self._blocks:
            yield from block.decode().split("\n")
        yield from self._last

    def _at(self, index: int) -> str:
        block, place = divmod(index, self._BLOCK)
        if block == len(self._blocks):
            return self._last[place]
        return self._blocks[block].decode().split("\n")[place]


class Joined(_Texts):
    """Two columns of texts as one, a blank between."""

    def __init__(self, first: Sequence[str], second: Sequence[str]) -> None:
        self._first, self._second = first, second

    def __len__(self) -> int:
        return len(self._first)

    def __iter__(self) -> Iterator[str]:
        return (f"{a} {b}" for a, b in zip(self._first, self._second, strict=True))

    def _at(self, index: int) -> str:
        return f"{self._first[index]} {self._second[index]}"


@dataclass(frozen=True)
class Wanted:
    """Which columns of a section are kept.

    Attributes:
        keys: those that a row must have, its time's.
        numbers: those that are numbers, with the unit that a cell's own unit is set against.
        words: those whose text is needed.
    """

    keys: tuple[int, ...]
    numbers: dict[int, Unit | None]
    words: tuple[int, ...] = ()


@dataclass
class Section:
    """Rows below one header.

    Attributes:
        header: the names of its columns.
        units: the row of units, or empty.
        wanted: what was kept.
        columns: numbers, by the column's place.
        words: texts, by the column's place.
        lines: each row's line.
        marks: rows before which the header stood again.
        footer: the line of texts below a repeated header, or empty.
    """

    header: tuple[str, ...]
    units: tuple[str, ...]
    wanted: Wanted
    columns: dict[int, Array] = field(default_factory=dict)
    words: dict[int, Words] = field(default_factory=dict)
    lines: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    marks: list[int] = field(default_factory=list)
    footer: str = ""

    def __len__(self) -> int:
        return len(self.lines)


def remark_unread(source: Source, section: Section, t_s: Array) -> None:
    """Say which rows' times cannot be read."""
    unread = np.flatnonzero(~np.isfinite(t_s))
    if len(unread):
        what = "row" if len(unread) == 1 else "rows"
        source.remark(
            f"the time of {len(unread)} {what} cannot be read, the first is in line "
            f"{section.lines[unread[0]]}"
        )


Choose = Callable[[tuple[str, ...], tuple[str, ...]], Wanted]


class Reader:
    """Streams a table into sections; counts what cannot be read."""

    def __init__(self, source: Source, layout: Layout, choose: Choose) -> None:
        self._source = source
        self._layout = layout
        self._choose = choose
        self.decimals = decimals_of(layout)
        self._numbers = Numbers(self.decimals)
        self._odd: list[int] = []
        self._odd_count = 0
        self._cut: list[int] = []
        self._cut_count = 0

    def sections(self) -> list[Section]:
        """Return the sections: a new one for each header that differs from the one before."""
        layout = self._layout
        sections: list[Section] = []
        sink = self._begin(layout.header, layout.units)
        names = _folded(layout.header)
        is_below_header = False
        pending: tuple[list[str], int] | None = None
        odd_since = 0
        delimiter, width = layout.delimiter, layout.width
        for begin, block in self._source.blocks():
            if pending is None and begin >= layout.first and sink.take(block, delimiter, begin):
                is_below_header = False
                odd_since = 0
                continue
            for number, line in self._source.lines_of(begin, block):
                if number < layout.first or not line:
                    continue
                cells = split(line, delimiter)
                if pending is not None:
                    self._add_cut(sink, *pending)
                    pending = None
                if sink.add(cells, number):
                    is_below_header = False
                    odd_since = 0
                    continue
                if len(cells) < 2 and not line.strip():
                    continue
                if sink.is_data(cells):
                    pending = (cells, number)
                    odd_since = 0
                    continue
                if layout.header and cells[0].strip().strip("#").strip().lower() == names[0]:
                    folded = _folded(cells)
                    self._forget(odd_since)
                    odd_since = 0
                    if folded == names:
                        sink.mark()
                    elif _is_header(cells, width):
                        sections.append(sink.section())
                        header = tuple(cell.strip() for cell in cells)
                        sink = self._begin(header, ())
                        names, width = folded, len(cells)
                    is_below_header = True
                    continue
                if is_below_header and _are_texts(cells, width):
                    sink.note(line)
                    is_below_header = False
                    continue
                if _RULE.match(line):
                    continue
                self._count_odd(number)
                odd_since += 1
        if pending is not None:
            self._source.remark(f"line {pending[1]}, the last, is cut: left out")
        sections.append(sink.section())
        self._remark()
        return [section for section in sections if len(section)]

    def _begin(self, header: tuple[str, ...], units: tuple[str, ...]) -> "_Sink":
        return _Sink(header, units, self._choose(header, units), self._numbers)

    def _add_cut(self, sink: "_Sink", cells: list[str], number: int) -> None:
        """A row with cells missing in the middle of a file: its last cell may be cut, too."""
        kept = cells[:-1] + [""] * (sink.needed - len(cells) + 1)
        if not sink.add(kept, number):
            self._count_odd(number)
            return
        self._cut_count += 1
        if len(self._cut) < 1:
            self._cut.append(number)

    def _count_odd(self, number: int) -> None:
        self._odd_count += 1
        if len(self._odd) < 1:
            self._odd.append(number)

    def _forget(self, count: int) -> None:
        """What stood right above a repeated header is that header's preamble."""
        self._odd_count -= count
        if self._odd_count <= 0:
            self._odd_count = 0
            self._odd = []

    def _remark(self) -> None:
        if self._odd_count:
            what = "line" if self._odd_count == 1 else "lines"
            self._source.remark(
                f"{self._odd_count} {what} could not be read, the first is line {self._odd[0]}"
            )
        if self._cut_count:
            what = "line is" if self._cut_count == 1 else "lines are"
            self._source.remark(f"{self._cut_count} {what} cut, the first is line {self._cut[0]}")


class _Sink:
    """Takes rows into the arrays of a section."""

    def __init__(
        self, header: tuple[str, ...], units: tuple[str, ...], wanted: Wanted, numbers: Numbers
    ) -> None:
        self._header, self._units, self._wanted = header, units, wanted
        self._read = numbers.read
        self._columns = {index: array("d") for index in wanted.numbers}
        self._fill = [(index, self._columns[index], index) for index in wanted.numbers]
        self._words = {index: Words() for index in wanted.words}
        self._lines = array("Q")
        self._marks: list[int] = []
        self._footer = ""
        self._scales: dict[tuple[int, str], float] = {}
        self._key = wanted.keys[0] if wanted.keys else None
        self.needed = max([*wanted.numbers, *wanted.words, *wanted.keys], default=0) + 1

    def is_data(self, cells: list[str]) -> bool:
        """Whether a row has a time, or, without one, any value."""
        if self._key is None:
            return bool(self._columns) and any(map(is_value, cells))
        return self._key < len(cells) and _is_timed(cells[self._key])

    def add(self, cells: list[str], number: int) -> bool:
        """Take a row; False if it is not a whole row of data."""
        if len(cells) < self.needed:
            return False
        if self._key is not None:
            if not _is_timed(cells[self._key]):
                return False
        elif not any(is_value(cells[index]) for index in self._columns):
            return False
        for index, column, _ in self._fill:
            cell = cells[index]
            try:
                column.append(float(cell))
            except ValueError:
                column.append(self._slow(index, cell))
        for index, words in self._words.items():
            words.append(cells[index].strip().replace("\n", " "))
        self._lines.append(number)
        return True

    def take(self, block: bytes, delimiter: str | None, number: int) -> bool:
        """Take rows at once; False, and none of them, where any is not plainly a whole one."""
        if len(block) < _LEAST_BLOCK or self._key is None or delimiter not in _SINGLE:
            return False
        if b'"' in block or b"\0" in block:
            return False
        places = sorted({*self._columns, *self._words, self._key, self.needed - 1})
        try:
            cells = pl.read_csv(
                block,
                has_header=False,
                separator=delimiter,
                quote_char=None,
                columns=places,
                infer_schema_length=0,
            )
        except (pl.exceptions.PolarsError, IndexError):
            return False
        rows = block.count(b"\n") + 1
        by_place = dict(zip(places, cells.fill_null("").get_columns(), strict=True))
        timed = by_place[self._key].str.contains(r"^[0-9]")
        # where the last cell is there, so are those before it
        if len(cells) != rows or not timed.all() or (by_place[self.needed - 1] == "").any():
            return False
        for index, column in self._columns.items():
            column.frombytes(self._numbers(index, by_place[index]).tobytes())
        for index, words in self._words.items():
            words.extend([cell.strip() for cell in by_place[index].to_list()])
        self._lines.frombytes(np.arange(number, number + rows, dtype=np.uint64).tobytes())
        return True

    def _numbers(self, index: int, cells: pl.Series) -> Array:
        numbers = cells.cast(pl.Float64, strict=False)
        if not numbers.null_count():
            return numbers.to_numpy()
        values = numbers.fill_null(np.nan).to_numpy(writable=True)
        odd = np.flatnonzero(numbers.is_null().to_numpy())
        values[odd] = [self._number(index, cell) for cell in cells.gather(odd).to_list()]
        return values

    def _number(self, index: int, cell: str) -> float:
        try:
            return float(cell)
        except ValueError:
            return self._slow(index, cell)

    def _slow(self, index: int, cell: str) -> float:
        value, unit = self._read(cell)
        if not unit or value != value:
            return value
        scale = self._scales.get((index, unit))
        if scale is None:
            base, own = self._wanted.numbers[index], unit_of(unit)
            scale = 1.0
            if base is not None and own is not None and own.kind == base.kind:
                scale = own.scale / base.scale
            if len(self._scales) < 10_000:
                self._scales[index, unit] = scale
        return value * scale

    def mark(self) -> None:
        """The header stood here again."""
        self._marks.append(len(self._lines))

    def note(self, line: str) -> None:
        """A row of texts stood below the header."""
        self._footer = self._footer or line

    def section(self) -> Section:
        """Return what was taken, and let go of it."""
        self._fill = []
        columns = {index: _sane(self._columns.pop(index)) for index in list(self._columns)}
        return Section(
            self._header,
            self._units,
            self._wanted,
            columns,
            self._words,
            np.frombuffer(self._lines, np.uint64) if self._lines else np.empty(0, np.uint64),
            self._marks,
            self._footer,
        )


def _sane(column: "array[float]") -> Array:
    """The numbers, without those that nothing measures and that would overflow."""
    values = np.frombuffer(column, float) if column else np.empty(0)
    values[~(np.abs(values) < _LARGEST)] = np.nan
    return values


def _is_timed(cell: str) -> bool:
    """Whether a cell may be a time: a number, or what begins as a date does."""
    if cell[:1].isdecimal():
        return True
    cell = cell.strip(" \"'[(")
    begin = cell.removeprefix("T")[:2].lstrip("+-.,")
    return begin[:1].isdecimal() or (len(cell) < 60 and _MOMENT.match(cell) is not None)


def _folded(cells: Sequence[str]) -> list[str]:
    return [cell.strip().strip("#").strip().lower() for cell in cells]


def _are_texts(cells: Sequence[str], width: int) -> bool:
    return 2 * len(cells) >= width and 2 * sum(map(is_value, cells)) < len(cells)


def _is_header(cells: Sequence[str], width: int) -> bool:
    return 2 * len(cells) >= width or any(meaning(cell) is not None for cell in cells[1:])
