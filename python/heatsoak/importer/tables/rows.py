"""The rows of a table, section by section.

Rows are streamed, and of each only the cells that mean something are kept, as numbers: a file of
many GB with hundreds of columns takes the memory of the few columns that matter.
"""

import re
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from heatsoak.errors import suggestion
from heatsoak.identity import node_of
from heatsoak.importer import tables
from heatsoak.importer.frames import Array
from heatsoak.importer.log import Options
from heatsoak.importer.numbers import multiple
from heatsoak.importer.source import MAX_COLUMNS, MAX_RUNS, Source
from heatsoak.importer.tables.cells import Numbers, Words, is_timed, is_value
from heatsoak.importer.tables.headers import meaning
from heatsoak.importer.tables.layout import Layout, decimals_of, is_rule, split
from heatsoak.output import from_spreadsheet
from heatsoak.words import counted, listed, number_text

#: Blocks of at least this many bytes are read at once.
_MIN_BLOCK = 1 << 16
#: The largest number that a logger writes.
_MAX_NUMBER = 1e21
#: The most columns that are named for cells that are not numbers, and the most cells of each.
_MAX_NAMED, _MAX_SHOWN = 8, 3
#: Up to this share of a column's cells may be left out without hiding a fall.
_LITTLE = 0.01
_TRUNCATED = ("is truncated", "are truncated")
#: What may stand behind a number that has no unit: ``588.54K``.
_PREFIXES = ("k", "K", "M", "G")
#: How a block is read: as texts, none of them quoted.
_AS_TEXTS: dict[str, Any] = {"has_header": False, "quote_char": None, "infer_schema_length": 0}
#: Delimiters of one character.
_SINGLE = (",", ";", "\t")


@dataclass(frozen=True)
class Wanted:
    """Which columns of a section are kept.

    Attributes:
        keys: those that a row must have, its time's.
        numbers: those that are numbers, with the unit that a cell's own unit is set against.
        words: those whose text is needed.
    """

    keys: tuple[int, ...]
    numbers: dict[int, tables.Unit | None]
    words: tuple[int, ...] = ()


@dataclass
class Section:
    """Rows below one header.

    Attributes:
        header: the names of its columns.
        units: the row of units, or empty.
        columns: numbers, by the column's place.
        words: texts, by the column's place.
        lines: each row's line.
        marks: rows before which the header stood again.
        footer: the line of texts below a repeated header, or empty.
    """

    header: tuple[str, ...]
    units: tuple[str, ...]
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
        rows = counted(len(unread), "row")
        first = section.lines[unread[0]]
        source.remark(f"the time of {rows} cannot be read, the first is in line {first}")


def wanted_drives(
    source: Source, options: Options, names: Sequence[str], paths: Sequence[str] = ()
) -> list[str]:
    """Return those of a file's drives that ``--device`` names, in part if none wholly; else all.

    `paths` are other names of the same drives. A kernel's name is taken in part only as a word:
    sda is not sdaa. Raises UsageError for none, and for more than are read.
    """
    device = options.device or ""
    short = _name_of(device)
    wanted = [name for name in names if short == _name_of(name) != ""]
    wanted = wanted or [name for name, path in zip(names, paths, strict=False) if path == device]
    node = node_of(device)
    wanted = wanted or [name for name in names if node is not None and node == node_of(name)]
    part = rf"\b{re.escape(short)}\b" if tables.DISK.fullmatch(short) else re.escape(short)
    wanted = wanted or [name for name in names if re.search(part, name.lower())]
    if not wanted:
        near = suggestion(device, names)
        known = listed(sorted(names), 10) or "none by name"
        raise source.error(f"has no drive '{device}'{near}: it has {known}")
    if len(wanted) > MAX_RUNS:
        raise source.error(
            f"covers {len(wanted):,} drives, more than the {MAX_RUNS:,} that are read: "
            "--device takes one of them"
        )
    if device:
        options.used.add("device")
    return wanted


def _name_of(path: str) -> str:
    return path.lower().removeprefix("/dev/").removeprefix("mapper/")


Choose = Callable[[tuple[str, ...], tuple[str, ...]], Wanted]


class Reader:
    """Streams a table into sections; counts what cannot be read."""

    def __init__(self, source: Source, layout: Layout, choose: Choose) -> None:
        self._source = source
        self._layout = layout
        self._choose = choose
        mark, self.doubt = decimals_of(layout)
        self._numbers = Numbers(mark)
        self._left_out: dict[str, _LeftOut] = {}

    def sections(self) -> list[Section]:
        """Return the sections: a new one for each header that differs from the one before."""
        layout = self._layout
        sections: list[Section] = []
        sink = self._begin(layout.header, layout.units)
        names = _folded(layout.header)
        is_below_header = False
        pending: tuple[list[str], int] | None = None  # a row without its last cells
        odd_since = 0
        delimiter, width = layout.delimiter, layout.width
        for begin, block in self._source.blocks():
            if pending is None and begin >= layout.first and sink.take(block, delimiter, begin):
                is_below_header, odd_since = False, 0
                continue
            for number, line in self._source.lines_of(begin, block):
                if number < layout.first or not line:
                    continue
                cells = split(line, delimiter)
                is_heading = bool(layout.text) and line.strip() == layout.text
                if is_heading:
                    cells = list(layout.header)
                elif layout.is_exact and len(cells) != width:
                    self._source.skip(number, 1, ())
                    continue
                if pending is not None:
                    # cells are missing in the middle of the file: the last one may be cut, too
                    kept = pending[0][:-1] + [""] * (sink.needed - len(pending[0]) + 1)
                    what = [_TRUNCATED] if sink.add(kept, pending[1]) else []
                    self._source.skip(pending[1], 1, (), *what)
                    pending = None
                if sink.add(cells, number):
                    is_below_header, odd_since = False, 0
                elif len(cells) < 2 and not line.strip():
                    continue
                elif sink.is_data(cells):
                    pending, odd_since = (cells, number), 0
                elif is_heading or (layout.header and names[0] == _bare(cells[0]) != ""):
                    # what stood right above a repeated header is its preamble
                    self._source.skip(number, -odd_since, ())
                    odd_since = 0
                    folded = _folded(cells)
                    if folded == names:
                        sink.mark()
                    elif _is_header(cells, width):
                        if len(sections) >= MAX_RUNS:
                            raise self._source.error(
                                f"has over {MAX_RUNS} different headers: split it where they "
                                "change",
                                number,
                            )
                        sections.append(sink.section(self._left_out))
                        sink = self._begin(tuple(cell.strip() for cell in cells), ())
                        names, width = folded, len(cells)
                    is_below_header = True
                elif is_below_header and _are_texts(cells, width):
                    sink.note(line)
                    is_below_header = False
                elif not is_rule(line):
                    # where they hide a fall, a time without rows is told of as well
                    self._source.skip(number, 1, ())
                    odd_since += 1
        if pending is not None:
            self._source.remark(f"line {pending[1]}, the last, is truncated: left out", ())
        sections.append(sink.section(self._left_out))
        self._remark_left_out()
        return [section for section in sections if len(section)]

    def _begin(self, header: tuple[str, ...], units: tuple[str, ...]) -> "_Sink":
        if len(header) > MAX_COLUMNS:
            raise self._source.error(
                f"has {len(header):,} columns, more than the {MAX_COLUMNS:,} that are read: "
                "export those of the drive"
            )
        wanted = self._choose(header, units)
        return _Sink(self._source, header, units, wanted, self._numbers)

    def _remark_left_out(self) -> None:
        lost = {name: cells for name, cells in self._left_out.items() if cells.count}
        for name, cells in list(lost.items())[:_MAX_NAMED]:
            is_much = cells.count > _LITTLE * cells.cells
            self._source.remark(cells.text_for(name), ("rate", "temperature") if is_much else ())
        if len(lost) > _MAX_NAMED:
            count = sum(cells.count for cells in list(lost.values())[_MAX_NAMED:])
            self._source.remark(
                f"{len(lost) - _MAX_NAMED} more columns have cells that are not numbers: "
                f"{count:,} left out"
            )


@dataclass
class _LeftOut:
    """Cells of a column that are neither numbers nor empty."""

    count: int = 0
    cells: int = 0
    shown: dict[str, None] = field(default_factory=dict)

    def show(self, cell: str) -> None:
        """Show one of them, if it is not shown yet and few are."""
        if len(self.shown) < _MAX_SHOWN:
            self.shown.setdefault(" ".join(cell.split())[:20])

    def text_for(self, name: str) -> str:
        """What is said of them."""
        shown = listed([repr(cell) for cell in self.shown])
        what = "cells is not a number" if self.count == 1 else "cells are not numbers"
        name = " ".join(name.replace("\x1f", " ").split())[:60]
        return f"column '{name}': {self.count:,} of {self.cells:,} {what} ({shown}), left out"


class _Sink:
    """Takes rows into the arrays of a section."""

    def __init__(
        self,
        source: Source,
        header: tuple[str, ...],
        units: tuple[str, ...],
        wanted: Wanted,
        numbers: Numbers,
    ) -> None:
        self._source = source
        self._header, self._units, self._wanted = header, units, wanted.numbers
        self._read = numbers.read
        self._columns = {index: array("d") for index in wanted.numbers}
        self._words = {index: Words() for index in wanted.words}
        self._lines = array("Q")
        self._marks: list[int] = []
        self._footer = ""
        self._scales: dict[tuple[int, str], float] = {}
        self._empty = dict.fromkeys(wanted.numbers, 0)
        self._left_out = {index: _LeftOut() for index in wanted.numbers}
        #: What a row takes: its line's number, its numbers, and its texts, of about three words.
        self._row_bytes = 8 * (1 + len(wanted.numbers) + 3 * len(wanted.words))
        self._key = wanted.keys[0] if wanted.keys else None
        self.needed = max([*wanted.numbers, *wanted.words, *wanted.keys], default=0) + 1

    def is_data(self, cells: list[str]) -> bool:
        """Whether a row has a time, or, without one, any value."""
        if self._key is None:
            return bool(self._columns) and any(map(is_value, cells))
        return self._key < len(cells) and is_timed(cells[self._key])

    def add(self, cells: list[str], number: int) -> bool:
        """Take a row; False if it is not a whole row of data."""
        if len(cells) < self.needed:
            return False
        if self._key is not None:
            if not is_timed(cells[self._key]):
                return False
        elif not any(is_value(cells[index]) for index in self._columns):
            return False
        for index, column in self._columns.items():
            column.append(self._number(index, cells[index]))
        for index, words in self._words.items():
            words.append(from_spreadsheet(cells[index].strip()).replace("\n", " "))
        self._lines.append(number)
        self._source.keep(self._row_bytes)
        return True

    def take(self, block: bytes, delimiter: str | None, number: int) -> bool:
        """Take rows at once; False, and none of them, where any is not plainly a whole one."""
        if len(block) < _MIN_BLOCK or self._key is None or delimiter not in _SINGLE:
            return False
        if b'"' in block or b"\0" in block:
            return False
        places = sorted({*self._columns, *self._words, self._key, self.needed - 1})
        try:
            cells = pl.read_csv(block, separator=delimiter, columns=places, **_AS_TEXTS)
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
            words.extend([from_spreadsheet(cell.strip()) for cell in by_place[index].to_list()])
        self._source.keep(self._row_bytes * rows)
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
            value, unit = self._read(cell)
        if value != value:
            if cell.strip(" \t\"'"):
                self._left_out[index].show(cell)
            else:
                self._empty[index] += 1
            return value
        if not unit:
            return value
        scale = self._scales.get((index, unit))
        if scale is None:
            base, own = self._wanted[index], tables.unit_of(unit)
            scale = 1.0
            if base is not None and own is not None and own.kind == base.kind:
                scale = own.scale / base.scale
            elif base is None and unit in _PREFIXES:
                scale = multiple(unit, 1e3)
            if len(self._scales) < 10_000:
                self._scales[index, unit] = scale
        return value * scale

    def mark(self) -> None:
        """The header stood here again."""
        self._marks.append(len(self._lines))

    def note(self, line: str) -> None:
        """A row of texts stood below the header."""
        self._footer = self._footer or line

    def section(self, left_out: dict[str, _LeftOut]) -> Section:
        """Return what was taken, and let go of it; add to `left_out`, by header, what is not."""
        columns = {index: self._sane(index) for index in list(self._columns)}
        for index, lost in self._left_out.items():
            name = self._header[index] if index < len(self._header) else f"column {index + 1}"
            known = left_out.setdefault(name, _LeftOut())
            known.count += lost.count
            known.cells += len(self._lines)
            for cell in lost.shown:
                known.show(cell)
        return Section(
            self._header,
            self._units,
            columns,
            self._words,
            np.frombuffer(self._lines, np.uint64) if self._lines else np.empty(0, np.uint64),
            self._marks,
            self._footer,
        )

    def _sane(self, index: int) -> Array:
        """The numbers of a column, without those that nothing measures and that would overflow."""
        column = self._columns.pop(index)
        values = np.frombuffer(column, float) if column else np.empty(0)
        wrong = ~(np.abs(values) < _MAX_NUMBER)
        lost = self._left_out[index]
        lost.count = int(np.count_nonzero(wrong)) - self._empty[index]
        for value in values[wrong & ~np.isnan(values)][:_MAX_SHOWN].tolist():
            lost.show(number_text(value))
        if lost.count and not lost.shown:
            lost.show("NaN")
        values[wrong] = np.nan
        return values


def _folded(cells: Sequence[str]) -> list[str]:
    return [_bare(cell) for cell in cells]


def _bare(cell: str) -> str:
    return cell.strip().strip("#").strip().lower()


def _are_texts(cells: Sequence[str], width: int) -> bool:
    return 2 * len(cells) >= width and 2 * sum(map(is_value, cells)) < len(cells)


def _is_header(cells: Sequence[str], width: int) -> bool:
    return 2 * len(cells) >= width or any(meaning(cell) is not None for cell in cells[1:])
