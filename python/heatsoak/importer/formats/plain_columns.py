"""Which columns of a plain table are read, and what each of them means.

A header is classified once (`headers.column_of`); then the rules of `_RULES`, one after the other,
settle what only other columns, or values, tell.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from heatsoak.errors import UsageError, suggestion
from heatsoak.importer import tables
from heatsoak.importer.log import Options
from heatsoak.importer.numbers import number_of
from heatsoak.importer.runs import IDENTITY
from heatsoak.importer.source import Source
from heatsoak.importer.tables import headers, sizes
from heatsoak.importer.tables.cells import is_timed, is_unknown, is_value, state_of
from heatsoak.importer.tables.headers import TableColumn, meaning
from heatsoak.importer.tables.layout import Layout
from heatsoak.importer.tables.rows import Section, Wanted
from heatsoak.importer.timestamps import read_times
from heatsoak.recording import Touched
from heatsoak.words import counted, listed, said, shortened

#: The most labels that a run gets, and the longest, in characters.
_MAX_LABELS, _MAX_LABEL = 12, 100
#: The most columns that a remark names, and an error, and how much of a name these show.
_MAX_SHOWN, _MAX_NAMED, _MAX_NAME = 8, 5, 24
#: A mapping states no longer interval: it names a column.
_MAX_INTERVAL_S = 1e6
#: Bytes or I/Os, as tools differ.
_EITHER = ("reads", "writes")
#: Of so many rows, times change.
_MANY = 10
#: Runs and steps have at least this many rows on average; what changes more often counts rows.
MIN_ROWS_EACH = 2

#: A section's header, and the row of units below it.
SectionHeader = tuple[tuple[str, ...], tuple[str, ...]]


@dataclass
class Columns:
    """The columns of a table that are read, by its sections' headers.

    Attributes:
        by_heading: what is read of a section, by its header and its row of units: the same header
            may come again above another one.
        labels: the indices of texts that may say how a run was made, by the heading, too.
        owners: likewise, of those that may say whose a row is.
        identities: of the devices that columns belong to, where more than a name is known.
        interval_s: between rows, where a mapping states it.
    """

    source: Source
    layout: Layout
    options: Options
    is_crowded: bool = False
    interval_s: float | None = None
    by_heading: dict[SectionHeader, list[TableColumn]] = field(default_factory=dict)
    labels: dict[SectionHeader, list[int]] = field(default_factory=dict)
    owners: dict[SectionHeader, list[int]] = field(default_factory=dict)
    identities: dict[str, dict[str, str]] = field(default_factory=lambda: {"": {}})

    def of(self, section: Section) -> list[TableColumn]:
        """Return what is read of a section."""
        return self.by_heading[section.header, section.units]

    def choose(self, header: tuple[str, ...], units: tuple[str, ...]) -> Wanted:
        """Return what is kept of a section with this header."""
        sheet = _Sheet(self, header, units)
        try:
            columns = sheet.columns()
        except UsageError:
            if not self.by_heading:
                raise
            return Wanted((), {})  # only what stands below a header in the middle is lost
        taken = {c.index for c in columns}
        self.by_heading[header, units] = columns
        are_texts = {c.index for c in columns if c.is_role or c.is_state}
        labels = self.labels[header, units] = sheet.labels_of_runs(taken)
        owners = self.owners[header, units] = sheet.owners(taken)
        others = sum(map(bool, header)) - len(columns) - len(labels)
        if others > 0:
            what = counted(others, "other column is", "other columns are")
            self.source.note(f"{what} not needed")
        numbers = {i: tables.unit_of(sheet.unit_in_cells(i)) for i in taken - are_texts}
        words = dict.fromkeys([*sorted(are_texts), *labels, *owners])
        return Wanted(tuple(c.index for c in columns if c.is_time), numbers, tuple(words))


class _Sheet:
    """A section's header above the first rows of a table."""

    def __init__(self, table: Columns, header: tuple[str, ...], units: tuple[str, ...]) -> None:
        self.table, self.source, self.options = table, table.source, table.options
        self.layout = replace(table.layout, header=header)
        self.header, self.units, self.cells = header, units, self.layout.cells
        self.is_crowded = table.is_crowded

    def columns(self) -> list[TableColumn]:
        """Return what is read; raises UsageError for no times, or nothing measured."""
        columns = self._mapped()
        columns += self._classified({c.index for c in columns}, {c.name for c in columns})
        for rule in _RULES:
            columns = rule(self, columns)
        self._complain(columns)
        return columns

    def _mapped(self) -> list[TableColumn]:
        columns: list[TableColumn] = []
        for key, wanted in self.options.mapping.items():
            if key in ("interval_s", "interval") and 0 < number_of(wanted) < _MAX_INTERVAL_S:
                self.table.interval_s = number_of(wanted)
                self.options.used.add(key)
                continue
            column = _meaning_of_key(self.source, key)
            index = self._place_of(key, wanted)
            if column.quantity in ("bw_mb_s", "lat_us"):
                column = replace(column, has_unit=True)
            name = self.header[index] if index < len(self.header) else f"column {index + 1}"
            if index in {column.index for column in columns}:
                raise self.source.error(f"'{name}' is named twice in --map: it is one column")
            columns.append(replace(column, index=index, header=name))
            self.options.used.add(key)
        return columns

    def _classified(self, taken: set[int], named: set[str]) -> list[TableColumn]:
        columns, texts, untimed = list[TableColumn](), list[str](), list[TableColumn]()
        for index, name in enumerate(self.header):
            found = None if index in taken or not name else self._classify(index, name)
            if found is None or (found.is_role and found.name in named):
                continue
            if not self._may_be(found):
                if found.is_role:
                    untimed.append(found)
                else:
                    texts.append(f"'{name}'")
                continue
            if self.is_crowded and (found.is_total or not is_known(found)):
                continue
            if not (found.is_time and "time" in named & set(self.options.mapping)):
                columns.append(found)
        if not any(c.is_time for c in columns) and named.isdisjoint(tables.TIMES):
            columns += untimed[:1]
        if texts:
            shown = listed(texts, _MAX_SHOWN)
            self.source.note(f"left out, since their cells are not numbers: {shown}")
        return columns

    def _classify(self, index: int, header: str) -> TableColumn | None:
        if header.startswith("(PDH-CSV"):
            return TableColumn("time", has_unit=False, index=index, header=header)
        unit = self.units[index] if index < len(self.units) else ""
        found = headers.column_of(header, unit or self.unit_in_cells(index))
        if found is None:
            return None
        cells = self.cells(index)
        if found.quantity == "device" and any(map(is_value, cells)):
            return None
        if found.quantity == "direction" and not (cells and all(map(tables.direction_of, cells))):
            found = TableColumn("step", general=3)
        return replace(found, index=index, header=header)

    def _may_be(self, what: TableColumn) -> bool:
        """Whether cells may be what a header says: texts are neither times nor measured."""
        if what.is_state or what.is_total:
            return True
        told = [c for c in self.cells(what.index) if c.strip() and not is_unknown(c)]
        if what.is_role:
            return not what.is_time or not told or any(map(is_timed, told))
        return not told or any(is_value(cell) or state_of(cell) is not None for cell in told)

    def unit_in_cells(self, index: int) -> str:
        """Return a unit that stands behind the numbers; a prefix alone is one of temperatures."""
        name = self.header[index] if index < len(self.header) else ""
        for cell in self.cells(index)[:3]:
            match = _WITH_UNIT.match(cell)
            if match is None or tables.unit_of(match[1]) is None:
                continue
            if match[1] != "K" or tables.has_any(tables.tokens_of(name), "temp"):
                return match[1]
        return ""

    def _place_of(self, key: str, wanted: str) -> int:
        """The place of the column that a mapping names, or gives the number of."""
        plain, width = wanted.strip(), self.layout.width
        for match in (plain, plain.lower()):
            for index, name in enumerate(self.header):
                if match in (name, name.lower()):
                    return index
        what = f"has no column '{plain}' for '{key}' in --map"
        if plain.isascii() and plain.isdigit() and len(plain) < 6:
            if 1 <= int(plain) <= width:
                return int(plain) - 1
            what = f"has no column {plain} for '{key}' in --map: it has {width}"
        else:
            what += f"{suggestion(plain, self.header)}: it has {shown(self.layout)}"
        raise self.source.error(what, self.layout.line)

    # --- what a section holds besides ---

    def labels_of_runs(self, taken: set[int]) -> list[int]:
        """Return the columns of texts that may say how a run was made: that never change."""
        if self.is_crowded:
            return []
        found = []
        own = {Path(self.source.name).name, Path(self.source.name).stem, self.source.name}
        for index, name in enumerate(self.header):
            cells = self.cells(index)
            if index in taken or not name or len(cells) < MIN_ROWS_EACH:
                continue
            if headers.owner_and_name(name)[0]:
                continue  # of one drive of several
            slug = tables.slug(name)
            # nor does a flag, such as a processor's at its limit, say how a run was made
            is_text = not any(
                is_value(cell) or is_unknown(cell) or state_of(cell) is not None for cell in cells
            )
            # a file's or a column's own name says nothing of a run, and a long text is no label
            is_label = 0 < len(cells[0]) <= _MAX_LABEL and cells[0] not in {*own, name}
            is_setup = slug in tables.TOKENS["setups"] or slug in IDENTITY
            if is_label and len(set(cells)) == 1 and (is_text or is_setup):
                found.append(index)
        return found[:_MAX_LABELS]

    def owners(self, taken: set[int]) -> list[int]:
        """Return the columns whose texts may say whose a row is."""
        owners, fillers = tables.TOKENS["owners"], tables.TOKENS["owner_fillers"]
        found = []
        for index, name in enumerate(self.header if not self.is_crowded else ()):
            tokens = set(tables.tokens_of(name[:200]))
            is_owner = tokens <= owners | fillers and not tokens.isdisjoint(owners)
            what = None if is_owner or index in taken else meaning(name)
            is_owner |= what is not None and what.quantity == "device"
            if index not in taken and is_owner:
                found.append(index)
        return found

    # --- what is missing ---

    def _complain(self, columns: list[TableColumn]) -> None:
        taken = {c.index for c in columns}
        has_time = any(c.is_time for c in columns)
        measured = any(
            c.is_rate or c.is_temperature or c.is_state or c.quantity == "lat_us" or _is_metered(c)
            for c in columns
        )
        if measured and not has_time and is_of_results(self.layout):
            raise self.source.error(
                "has another test or device in each row, and no course in time: 'iostat -xty "
                "1' beside a test, or its own log of rates, has one",
                self.layout.line,
            )
        has_time = has_time or self.table.interval_s is not None
        what = "no column of throughput, temperature or power"
        if measured and has_time:
            return
        if measured:
            what = "no column of times"
            advice = "name it, --map time=?, or say how far apart its rows are, --map interval_s=?"
        elif self.header[:1] and self.header[0].startswith("(PDH-CSV"):
            advice = r"record \PhysicalDisk(*)\Disk Write Bytes/sec and Disk Read Bytes/sec too"
        elif any(self.is_free(i) for i in range(self.layout.width) if i not in taken):
            time = "" if has_time else "--map time=? "
            advice = f"if one is a drive's, name it: {time}{_NAME_IT}"
        else:
            advice = "a log of the drive has one in MB/s, IOPS or degrees"
        raise self.source.error(
            f"has {what} among {shown(self.layout)}: {advice}", self.layout.line
        )

    def is_free(self, index: int) -> bool:
        """Whether a column may be anything: it has values, and its name is of nothing known."""
        name = self.header[index] if self.header else ""
        cells = self.cells(index)
        if not cells or not is_value(cells[0]) or len(name) > 60 or (self.header and not name):
            return False
        tokens = tables.tokens_of(name)
        is_other = not _OTHERS.isdisjoint(tokens) or tables.has_any(tokens, "elsewhere")
        is_known = bool(name) and meaning(name) is not None
        return not (is_known or is_other or "%" in name or name.startswith("\\\\"))

    def may_be_rate(self, index: int) -> bool:
        """Whether values may be a throughput: numbers of one sign that do not only rise."""
        cells = [cell for cell in self.cells(index) if cell]
        numbers = [float(cell) for cell in cells if _PLAIN.fullmatch(cell)]
        rises = len(numbers) > MIN_ROWS_EACH and all(b > a for a, b in pairwise(numbers))
        has_one_sign = bool(numbers) and (min(numbers) >= 0 or max(numbers) <= 0)
        changes = len(set(numbers)) > 1 or len(numbers) < _MANY
        is_plain = len(numbers) == len(cells) and any(numbers)
        return is_plain and has_one_sign and changes and not rises


_WITH_UNIT = re.compile(r"^[-+\d.,]+\s*([^\d\s.,:/+-][^\d:]{0,12})$")
_PLAIN = re.compile(r"-?\d+(?:\.\d+)?")
_CAPACITY = re.compile(r"\d ?[GT]B\b")
#: Kinds of words that no column of a drive's rate or temperature has.
_OTHERS = frozenset[str]().union(
    *(tables.TOKENS[kind] for kind in ("cpu", "gpu", "not_power", "not_load", "not_moved"))
)
#: How a column is named; which of them, only the user can tell.
_NAME_IT = "--map write_mb_s=? (or read_mb_s, iops, temp_c)"


def is_known(found: TableColumn) -> bool:
    """Return whether a temperature is the host's, or of what its name says is a drive."""
    is_hosts = found.name.startswith(("temp_c.cpu", "temp_c.gpu", "temp_c.ambient", "temp_c.case"))
    is_drives = tables.names_drive(found.header) or bool(_CAPACITY.search(found.header))
    return not found.is_temperature or is_hosts or is_drives


def _is_metered(what: TableColumn) -> bool:
    """Whether it is power for sure: not how often, or how long, power was on."""
    is_power = what.quantity == "power_w" and (what.has_unit or what.general <= 1)
    return is_power or what.quantity in (headers.VOLTAGE, headers.CURRENT)


def shown(layout: Layout) -> str:
    """Return the names of a table's columns, as far as there is room, and its first row."""
    names, cells = (
        [shortened(said(text.replace("\x1f", " ")), _MAX_NAME) for text in texts if text.strip()]
        for texts in (layout.header, layout.rows[0][:_MAX_NAMED] if layout.rows else ())
    )
    nameless = counted(layout.width, "column without a name", "columns without names")
    first = f" (first row: {', '.join(cells)})" if cells else ""
    return (listed(names, _MAX_NAMED) or nameless) + first


def no_header(source: Source, layout: Layout) -> UsageError:
    """Return the error for a table whose columns no header and no mapping names."""
    return source.error(
        f"has no header above {shown(layout)}: name its columns by number, --map time=? {_NAME_IT}",
        layout.line,
    )


def is_of_results(layout: Layout) -> bool:
    """Return whether each row, without a time, is the result of another test."""
    tests = []
    for index, name in enumerate(layout.header):
        cells = layout.cells(index)
        is_text = all(cell and not is_value(cell) and state_of(cell) is None for cell in cells)
        if len(cells) < MIN_ROWS_EACH:
            continue
        if is_text and len(set(cells)) == len(cells):
            return True
        if tables.slug(name) in tables.TOKENS["settings"]:
            tests.append(cells)
    rows = list(zip(*tests, strict=False))
    changes = sum(a != b for a, b in pairwise(rows))
    return bool(rows) and 2 * changes >= len(rows)


# --- rules: what other columns, or values, tell of a column --------------------------------------


_ESXTOP, _DEVICE, _ADAPTER = (f"Physical Disk {kind}" for kind in ("", "SCSI Device(", "Adapter("))


def _of_whole_disks(sheet: _Sheet, columns: list[TableColumn]) -> list[TableColumn]:
    """Beside numbered disks, a letter is a part of one; esxtop's adapters are sums of devices."""
    if any(_ESXTOP in c.header for c in columns):
        sheet.source.remark("esxtop's megabytes are taken as 2^20 bytes", ("unit",))
    if any(_DEVICE in c.header for c in columns):
        columns = [c for c in columns if _ADAPTER not in c.header]
    if any(headers.DISK_INSTANCE.match(c.owner) and c.owner[0].isdigit() for c in columns):
        return [c for c in columns if not headers.VOLUME.match(c.owner)]
    return columns


def _in_units_of_tools(sheet: _Sheet, columns: list[TableColumn]) -> list[TableColumn]:
    """To some tools a kilo is 1024."""
    for tool in tables.TABLES["tools"]:
        if set(tool["headers"]) <= set(sheet.header):
            sheet.source.note(f"{tool['name']}: {tool['note']}")
            return [sizes.in_binary(c) if c.is_rate else c for c in columns]
    return columns


def _in_bytes_or_ios(_: _Sheet, columns: list[TableColumn]) -> list[TableColumn]:
    """``writes`` beside bytes are I/Os; ``w_per_s`` beside ``wIOPS`` is in bytes."""
    plural = [c for c in columns if tables.slug(c.header) in _EITHER and not c.has_unit]
    rest = [c for c in columns if c not in plural]
    if any(c.quantity == "bw_mb_s" or c.is_total for c in rest):
        columns = rest + [replace(c, quantity="iops", general=9) for c in plural]
    if any(c.quantity == "bw_mb_s" and not c.is_total for c in columns):
        return columns
    counts = {(c.owner, c.name) for c in columns if "iops" in c.header.lower()}
    return [
        replace(c, quantity="bw_mb_s", unit=tables.Unit("other"), has_unit=False, general=0)
        if c.quantity == "iops" and not c.is_total and (c.owner, c.name) in counts
        and "iops" not in c.header.lower() else c
        for c in columns
    ]  # fmt: skip


def _totals_alone(_: _Sheet, columns: list[TableColumn]) -> list[TableColumn]:
    """Counters of bytes count where there are no rates of bytes."""
    rates = [c for c in columns if not c.is_total]
    has_rates = any(c.quantity == "bw_mb_s" for c in rates)
    return rates if has_rates else rates + [c for c in columns if c.is_total]


def _clocked(sheet: _Sheet, columns: list[TableColumn]) -> list[TableColumn]:
    """Of several columns of times those that stand still are none; one with dates says when."""
    times = [c for c in columns if c.quantity == "time"]
    still = [c for c in times if len(set(sheet.cells(c.index)[:_MANY])) == 1]
    if 0 < len(still) < len(times) and len(sheet.layout.rows) > 1:
        columns = [c for c in columns if c not in still]
        times = [c for c in times if c not in still]
    if len(times) < 2 or any(c.quantity == "date" for c in columns):
        return columns
    for column in times:
        if read_times(sheet.cells(column.index)[:3]).clock != "none":
            dated = replace(column, quantity="date", unit=tables.Unit("other"), has_unit=False)
            return [dated if c is column else c for c in columns]
    return columns


def _without_doubles(sheet: _Sheet, columns: list[TableColumn]) -> list[TableColumn]:
    """Of columns of one name, keep the one with the plainest header; temperatures get numbers."""
    kept: dict[tuple[str, str], TableColumn] = {}
    numbers: dict[tuple[str, str], int] = {}
    for column in columns:
        name, key = column.name, (column.owner, column.name)
        while column.is_temperature and (column.owner, name) in kept:
            numbers[key] = numbers.get(key, 1) + 1
            name = f"{column.name}_{numbers[key]}"
        if column.is_temperature:
            column = replace(column, quantity=name)
        other = kept.get((column.owner, name))
        if other is None:
            kept[column.owner, name] = column
            continue
        is_rather = _is_rather(sheet, column, other)
        first, second = (column, other) if is_rather else (other, column)
        kept[column.owner, name] = first
        if not (first.is_role or _is_now(first) > _is_now(second)):
            text = f"'{first.header}' is taken as {name}, not '{second.header}'"
            sheet.source.remark(f"{text}, which could be it too", _ANY_OF)
    # a rate without a unit beside reads and writes is a sum, or a limit
    return [
        c
        for c in kept.values()
        if c.name != "bw_mb_s"
        or c.has_unit
        or not all((c.owner, f"{way}_bw_mb_s") in kept for way in ("read", "write"))
    ]


_ANY_OF: tuple[Touched, ...] = "rate", "identity", "temperature"


def _is_rather(sheet: _Sheet, column: TableColumn, other: TableColumn) -> bool:
    """Whether a column is meant, not another one of the same name.

    The one that is mapped, else the one that is not 0 throughout, else the one with the plainer
    header.
    """
    mapped = sheet.options.mapping.values()
    if column.header in mapped or other.header in mapped:
        return column.header in mapped
    zero, other_zero = (
        not any(cell.strip("0.,") for cell in sheet.cells(c.index)) for c in (column, other)
    )
    if not column.is_role and zero != other_zero:
        return other_zero
    return column.general < other.general


def _is_now(column: TableColumn) -> bool:
    """Whether a header says that it is of now, not a mean of all since the start."""
    return not tables.TOKENS["now"].isdisjoint(tables.tokens_of(column.header))


def _electric(sheet: _Sheet, columns: list[TableColumn]) -> list[TableColumn]:
    """A meter's voltage and current count where there is neither power nor throughput."""
    if sheet.is_crowded or any(c.is_rate or c.quantity == "power_w" for c in columns):
        return columns
    taken = {c.index for c in columns}
    return columns + headers.voltage_and_current(sheet.header, sheet.units, taken)


def _counting(sheet: _Sheet, columns: list[TableColumn]) -> list[TableColumn]:
    """The column that counts the rows stands for times, where none has times."""
    is_timed = any(c.is_time for c in columns) or sheet.table.interval_s is not None
    if is_timed or is_of_results(sheet.layout):
        return columns
    for index, name in enumerate(sheet.header):
        counts = tables.slug(name.replace("#", "").strip())
        if counts and counts not in tables.TOKENS["counts"]:
            continue
        cells = sheet.cells(index)
        numbers = [int(cell) for cell in cells if cell.isdecimal() and len(cell) < 12]
        if len(numbers) == len(cells) > 1 and all(b - a == 1 for a, b in pairwise(numbers)):
            what = f"'{name}'" if name else "its first column"
            sheet.source.remark(
                f"no column of times, but {what} counts rows: they are taken as 1 s apart; "
                "--map interval_s=SECONDS says otherwise",
                ("time",),
            )
            others = [c for c in columns if c.index != index]
            return [*others, TableColumn("time", index=index, header=name)]
    return columns


def _bare_temperatures(sheet: _Sheet, columns: list[TableColumn]) -> list[TableColumn]:
    """Columns that only name a drive, or a part of the host, where nothing else was measured.

    They count where their values may be temperatures.
    """
    others = [c for c in columns if not c.is_role]
    if sheet.is_crowded or not all(c.is_temperature and not c.has_unit for c in others):
        return columns
    taken, bare = {c.index for c in others}, []
    for index, name in enumerate(sheet.header):
        is_bare = index not in taken and name and len(name) < 40 and not _HAS_A_UNIT.search(name)
        found = meaning(f"{name} temp") if is_bare else None
        tokens, cells = set(tables.tokens_of(name)), sheet.cells(index)
        is_drive = tables.names_drive(name)
        is_named = is_drive or not tokens.isdisjoint(tables.TOKENS["drive_parts"])
        if found is None or not (is_named or is_known(replace(found, header=name))):
            continue
        if not tokens.isdisjoint(tables.TOKENS["not_warm"]) or not cells:
            continue
        if all(sizes.is_warmth(cell) for cell in cells if cell.strip()):
            # each drive is one, so that it keeps its name
            quantity = f"temp_c.{tables.slug(name)}" if is_drive else found.quantity
            bare.append(replace(found, index=index, header=name, quantity=quantity))
    if bare:
        names = listed([f"'{column.header}'" for column in bare], _MAX_SHOWN)
        each = "a temperature" if len(bare) == 1 else "temperatures"
        sheet.source.remark(f"read as {each}: {names}", ("temperature",))
    again = {column.index for column in bare}
    return [column for column in columns if column.index not in again] + bare


#: What a name says that is a share, or something each second.
_HAS_A_UNIT = re.compile(r"%|/s(?:ec)?\b", re.IGNORECASE)


def _doubt_half(sheet: _Sheet, columns: list[TableColumn]) -> list[TableColumn]:
    """Where one direction alone is told, say which column may be the other."""
    moving = [c for c in columns if c.is_rate]
    ways = {c.direction for c in moving}
    if len(ways) != 1 or None in ways:
        return columns
    way, other = ("read", "write") if "read" in ways else ("write", "read")
    taken = {c.index for c in columns}
    for index, name in enumerate(sheet.header):
        if index in taken or not sheet.is_free(index):
            continue
        if any(c.is_total for c in moving) or sheet.may_be_rate(index):
            text = f"its {way}s are told, and '{name}' may be its {other}s (--map {other}_mb_s=?)"
            sheet.source.remark(text, ("rate",))
    return columns


#: In the order in which they are applied.
_RULES: tuple[Callable[[_Sheet, list[TableColumn]], list[TableColumn]], ...] = (
    _of_whole_disks, _in_units_of_tools, _in_bytes_or_ios, _totals_alone, _clocked,
    _without_doubles, _electric, _counting, _bare_temperatures, _doubt_half,
)  # fmt: skip


# --- what a user's mapping (``--map``) means -----------------------------------------------------

#: Short names that a mapping may use for a recording's columns, without their units.
_SHORT = {
    "read_mb_s": "read_bw_mb_s", "write_mb_s": "write_bw_mb_s", "mb_s": "bw_mb_s",
    "temp_c": "temp_c.composite", "temp": "temp_c.composite", "power": "power_w",
    "interval": "interval_s",
}  # fmt: skip


def _meaning_of_key(source: Source, key: str) -> TableColumn:
    """Return what a mapping's key means."""
    column = _SHORT.get(key, key)
    if column in tables.ROLES:
        return TableColumn(column, has_unit=False)
    words = set(re.split(r"[_.]", key.lower()))
    found = meaning(column)
    if found is None or not (words <= tables.TOKENS["mapped"] or found.name == column):
        known = [*tables.ROLES, *_SHORT, "read_iops", "write_iops", "iops", "read_lat_us",
                 "write_lat_us", "power_w", "queue", "busy_pct", "interval_s"]  # fmt: skip
        raise source.error(
            f"'{key}' in --map is not a quantity{suggestion(key, known)}; quantities are time, "
            "write_mb_s, read_iops, temp_c"
        )
    return replace(found, unit=replace(found.unit, doubt=""))
