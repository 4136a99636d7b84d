"""HWiNFO's sensor log: hundreds of columns, and a footer that names each one's device."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from heatsoak.importer import tables
from heatsoak.importer.formats import Format
from heatsoak.importer.formats.plain import name_of, read_columns
from heatsoak.importer.formats.plain_columns import Columns
from heatsoak.importer.log import Log, Options
from heatsoak.importer.source import Source
from heatsoak.importer.tables.headers import DRIVE_TEMP, Direction, TableColumn, meaning
from heatsoak.importer.tables.layout import Layout, split, ungarbled
from heatsoak.importer.tables.rows import Section, Wanted

_DEVICE = re.compile(
    r"^(S\.?M\.?A\.?R\.?T\.?|Drive|[^:\[\]]{1,24}):\s*(.*?)\s*(?:\(([^()]*)\))?\s*(?:\[[^\]]*\])?$"
)
_UNIT = re.compile(r"\[([^\[\]]*)\]\s*$")
_HEAD = re.compile(r'^\ufeff?"?[^",;\t]{2,20}"?([,;\t])"?[^",;\t]{2,20}"?\1.*\[[^\]]*\]')
#: How it writes dates and times, on most machines.
_MOMENT = re.compile(r"^\d{1,2}\.\d{1,2}\.\d{4},\d{1,2}:\d{1,2}:\d{1,2}\.\d{3},")
#: Names that only it has, in English.
_NAMES = (
    "virtual memory", "drive temperature", "drive remaining life", "drive warning",
    "drive failure", "total activity", "read activity", "read rate", "write rate",
    "total host writes", "total cpu usage", "core clocks", "physical memory",
)  # fmt: skip
_WIDE = 20
_DAY = re.compile(r'^"?\d{1,4}[./-]\d{1,2}[./-]\d{1,4}"?[,;\t]"?\d{1,2}:\d{1,2}:\d{1,2}')


def _layout(source: Source) -> Layout | None:
    """The header's layout: a date, a time, and names that end in units in brackets."""
    lines = source.head_lines[:6]
    for number, line in enumerate(lines, 1):
        if (match := _HEAD.match(line)) is None:
            continue
        header = tuple(cell.strip() for cell in split(line, match.group(1)))
        roles = [what.quantity if (what := meaning(cell)) else "" for cell in header[:2]]
        named = [cell for cell in header[2:] if cell]
        bracketed = sum(_UNIT.search(cell) is not None for cell in named)
        below = source.head_lines[number : number + 20]
        # another logger's units, or none of a logger's rows
        is_other = any(below) and not _DAY.match(below[0])
        if roles != ["date", "time"] or 2 * bracketed < len(named) or is_other:
            continue
        is_its_own = line.lstrip("\ufeff").startswith('Date,Time,"') or any(
            map(_MOMENT.match, below[:3])
        )
        known = sum(name in line.lower() for name in _NAMES)
        if is_its_own or known >= 2 or len(named) >= _WIDE:
            rows = tuple(tuple(split(row, match.group(1))) for row in below)
            return Layout(match.group(1), header, line=number, first=number + 1, rows=rows)
    return None


# --- drives ----------------------------------------------------------------------------------


@dataclass
class _Drive:
    """A drive's columns, by their names."""

    identity: dict[str, str] = field(default_factory=dict)
    columns: dict[str, TableColumn] = field(default_factory=dict)

    def add(self, column: TableColumn) -> None:
        """Add a column; of several temperatures each keeps a name of its own."""
        number = 2
        while column.is_temperature and column.name in self.columns:
            column, number = replace(column, quantity=f"temp_c.sensor{number}"), number + 1
        self.columns.setdefault(column.name, column)

    @property
    def has_load(self) -> bool:
        """Whether one of its columns is a rate."""
        return any(column.is_rate for column in self.columns.values())


def _footer(line: str, delimiter: str | None, width: int) -> list[str] | None:
    """The row of devices; a list of drive letters in a name (``[C:, D:]``) is not quoted."""
    if not line:
        return None
    cells = split(line, delimiter)
    if len(cells) > width:
        joined: list[str] = []
        for cell in cells:
            if joined and joined[-1].count("[") > joined[-1].count("]"):
                joined[-1] += f"{delimiter}{cell}"
            else:
                joined.append(cell)
        cells = joined
    return cells if abs(len(cells) - width) <= 2 else None


def _by_footer(
    header: Sequence[str], found: dict[int, TableColumn], footer: list[str]
) -> list[_Drive]:
    """The drives that the footer names, with their columns."""
    drives: dict[tuple[str, str], _Drive] = {}
    for index, text in enumerate(footer[: len(header)]):
        device = _DEVICE.match(text.strip())
        what = found.get(index)
        if device is None or not device[2]:
            continue
        is_drive = device[1].startswith(("S.M.A.R.T", "SMART", "Drive"))
        if not is_drive and not (what and what.quantity == "bw_mb_s"):
            continue
        unit = _unit(header[index])
        if what is None and unit is not None and unit.kind == "temp":
            is_airflow = "airflow" in header[index].lower()
            what = TableColumn("temp_c.airflow" if is_airflow else DRIVE_TEMP, unit, index=index)
        if what is None or not _is_of_drive(what):
            continue
        # what the two blocks of one drive, its health and its activity, have in common
        model, serial = device[2], device[3] or ""
        identity = {"model": model} | ({"serial": serial} if serial else {})
        while (
            not what.is_temperature and what.name in drives.get((model, serial), _Drive()).columns
        ):
            model += " "  # another of the same model, without a serial number
        drives.setdefault((model, serial), _Drive(identity)).add(what)
    return _united(list(drives.values()))


def _united(drives: list[_Drive]) -> list[_Drive]:
    """Health and activity of one drive, of which only one block tells the serial number."""
    loads = [drive for drive in drives if drive.has_load]
    for health in [drive for drive in drives if not drive.has_load]:
        same = [d for d in loads if d.identity.get("model") == health.identity.get("model")]
        if len(same) == 1 and not same[0].columns.keys() & health.columns.keys():
            same[0].columns |= health.columns
            same[0].identity = health.identity | same[0].identity
            drives = [drive for drive in drives if drive is not health]
    return drives


def _by_order(found: dict[int, TableColumn]) -> list[_Drive]:
    """The drives without a footer: a name that comes again begins the next drive's block."""
    healths: list[_Drive] = []
    loads: list[_Drive] = []
    last = -10
    for index, what in sorted(found.items()):
        if not _is_of_drive(what):
            continue
        is_load = what.is_rate or what.quantity == "busy_pct"
        blocks = loads if is_load else healths
        is_first = what.name == DRIVE_TEMP or (
            not is_load and index > last + 1 and what.name.endswith("airflow")
        )
        if not blocks or what.name in blocks[-1].columns or (is_first and blocks[-1].columns):
            blocks.append(_Drive())
        blocks[-1].add(what)
        last = index
    for load, health in zip(loads, healths, strict=False):
        load.columns = health.columns | load.columns
    drives = loads + healths[len(loads) :]
    for number, drive in enumerate(drives, 1):
        drive.identity = {"path": f"drive {number}"} if len(drives) > 1 else {}
    return drives


# --- columns -------------------------------------------------------------------------------------


def _meanings(header: Sequence[str]) -> dict[int, TableColumn]:
    """What columns mean, by their words, and a drive's also by the order of their units."""
    found = {
        index: replace(what, index=index, header=cell)
        for index, cell in enumerate(header)
        if (what := meaning(cell)) is not None
        and (not _is_of_drive(what) or _may_be_drives(what, cell))
    }
    units = [_unit(cell) for cell in header]
    if not any(what.quantity == "bw_mb_s" for what in found.values()):
        found |= _rates_by_units(units)
    if not _has_drives_temperature(found):
        found |= _temperatures_by_units(units)
    return found


def _has_drives_temperature(found: dict[int, TableColumn]) -> bool:
    return any(what.is_temperature and _is_of_drive(what) for what in found.values())


def _may_be_drives(found: TableColumn, header: str) -> bool:
    """Whether a column is a drive's by its name.

    Most temperatures and most throttling are not: they are usually the processor's.
    """
    if found.is_temperature or found.is_state:
        return tables.names_drive(header)
    is_rate = found.quantity == "bw_mb_s" and found.direction is not None
    return is_rate or found.quantity == "busy_pct"


def _unit(cell: str) -> tables.Unit | None:
    match = _UNIT.search(cell)
    return tables.unit_of(match.group(1)) if match is not None else None


_NONE = tables.Unit("other")
_WAYS: tuple[Direction, Direction] = ("read", "write")


def _rates_by_units(units: Sequence[tables.Unit | None]) -> dict[int, TableColumn]:
    """A drive's activity is, in any language, three shares, two rates and two totals."""
    kinds = [unit.kind if unit else "" for unit in units]
    found = {}
    for i in range(len(units) - 4):
        if kinds[i : i + 5] == ["pct", "pct", "pct", "rate", "rate"]:
            found[i + 2] = TableColumn("busy_pct", index=i + 2)
            for at, way in enumerate(_WAYS, i + 3):
                found[at] = TableColumn("bw_mb_s", units[at] or _NONE, way, index=at)
    return found


def _temperatures_by_units(units: Sequence[tables.Unit | None]) -> dict[int, TableColumn]:
    """A drive's health is temperatures, shares, and exactly two answers of yes or no."""
    kinds = [unit.kind if unit else "" for unit in units]
    found = {}
    for i in range(1, len(kinds) - 1):
        if kinds[i : i + 2] != ["flag", "flag"] or "flag" in (kinds[i - 1], *kinds[i + 2 : i + 3]):
            continue
        last = i - 1
        while last > 0 and kinds[last] == "pct":
            last -= 1
        first = last + 1
        while first > 0 and kinds[first - 1] == "temp" and last - first < 7:
            first -= 1
        for place, at in enumerate(range(first, last + 1), 1):
            name = DRIVE_TEMP if place == 1 else f"temp_c.sensor{place}"
            found[at] = TableColumn(name, units[at] or _NONE, index=at)
    return found


#: Columns of the host.
_HOST = ("temp_c.cpu", "temp_c.gpu", "cpu_", "gpu_", "temp_c.ambient", "temp_c.case")


def _is_of_drive(found: TableColumn) -> bool:
    return not found.name.startswith(_HOST)


# --- reading -------------------------------------------------------------------------------------


class _Columns(Columns):
    """Whose columns are whose only the footer says, when the rows are read."""

    def choose(self, header: tuple[str, ...], units: tuple[str, ...]) -> Wanted:
        """Return what is kept of a section with this header."""
        found = _meanings(ungarbled(header))
        self.labels[header, units] = self.owners[header, units] = []
        states = {index for index, what in found.items() if what.is_state}
        wanted = set(found)
        if not _has_drives_temperature(found):
            # only the footer, at the end, says which temperatures are a drive's
            wanted |= {i for i, name in enumerate(header) if _may_be_health(header, i, name)}
        numbers = dict.fromkeys(sorted(wanted - states - {0, 1}))
        return Wanted((1,), numbers, (0, 1, *sorted(states)))

    def of(self, section: Section) -> list[TableColumn]:
        """Return what is read of a section; raises UsageError for neither drive nor host."""
        header = ungarbled(section.header)
        found = _meanings(header)
        footer = _footer(section.footer, self.layout.delimiter, len(header))
        drives = _by_order(found) if footer is None else _by_footer(header, found, footer)
        if footer is None and len(drives) > 1:
            text = (
                "it ends without the row that names the drives: columns are grouped by their order"
            )
            self.source.remark(text, ("identity", "temperature"))
        if not drives and all(map(_is_of_drive, found.values())):
            raise self.source.error(
                "has no column of a drive: neither its temperature nor its read and write rate"
            )
        columns = [
            TableColumn("date", index=0),
            TableColumn("time", has_unit=False, index=1),
            *_host(found),
        ]
        for drive in drives:
            owner = name_of(drive.identity)
            self.identities[owner] = drive.identity
            columns += [replace(column, owner=owner) for column in drive.columns.values()]
        return [
            replace(c, header=header[c.index], unit=replace(c.unit, doubt="", note=""))
            for c in columns
            if c.index in section.columns or c.index in section.words
        ]


def _may_be_health(header: Sequence[str], index: int, name: str) -> bool:
    """Whether a temperature stands where a drive's health does: near answers of yes or no."""
    unit = _unit(name)
    if unit is None or unit.kind != "temp":
        return False
    ahead = [_unit(cell) for cell in header[index + 1 : index + 7]]
    return any(unit is not None and unit.kind == "flag" for unit in ahead)


def _host(found: dict[int, TableColumn]) -> list[TableColumn]:
    """One column of each kind for the host, which all its drives share."""
    best: dict[str, tuple[int, int, TableColumn]] = {}
    for index, what in found.items():
        if _is_of_drive(what):
            continue
        name = what.name
        if name.startswith(("temp_c.cpu", "temp_c.gpu")):
            name = name[: len("temp_c.cpu")]
            if name != what.name and what.general > 4:
                continue
        rank = what.general + 10 * (name != what.name), index, replace(what, quantity=name)
        best[name] = min(best.get(name, rank), rank, key=lambda one: one[:2])
    return [column for *_, column in best.values()]


def _read(source: Source, options: Options) -> list[Log]:
    layout = _layout(source)
    if layout is None:
        raise source.error("is not a log of HWiNFO")
    return read_columns(_Columns(source, layout, options, is_crowded=True), "hwinfo")


FORMAT = Format("hwinfo", "HWiNFO's sensor log", _layout, _read, priority=160)
