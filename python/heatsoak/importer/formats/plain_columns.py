"""Which columns of a plain table are read, and what each of them means."""

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from heatsoak.errors import UsageError, suggestion
from heatsoak.importer import tables
from heatsoak.importer.log import Options
from heatsoak.importer.numbers import number_of
from heatsoak.importer.runs import IDENTITY
from heatsoak.importer.source import Source
from heatsoak.importer.tables import derived
from heatsoak.importer.tables.cells import is_timed, is_unknown, is_value, state_of
from heatsoak.importer.tables.headers import Meaning, meaning
from heatsoak.importer.tables.layout import Layout
from heatsoak.importer.tables.rows import Section, Wanted
from heatsoak.importer.timestamps import read_times
from heatsoak.words import counted, listed, said, shortened

#: The most labels that a run gets.
_MAX_LABELS = 12
#: The most columns that a remark names, and an error.
_MAX_SHOWN, _MAX_NAMED = 8, 8
#: How much of a name is shown.
_MAX_SHOWN_NAME = 30
#: The longest label, in characters.
_MAX_LABEL = 100
#: A mapping states no longer interval: it names a column.
_MAX_INTERVAL_S = 1e6
#: Bytes or I/Os, as tools differ.
_EITHER = ("reads", "writes")
#: Of so many rows, times change.
_MANY = 10
#: Runs and steps have at least this many rows on average; what changes more often counts rows.
MIN_ROWS_EACH = 2


@dataclass(frozen=True)
class ReadColumn:
    """A column that is read: its index, name and meaning, and the device it belongs to."""

    index: int
    header: str
    meaning: Meaning
    device: str = ""


#: A section's header, and the row of units below it.
SectionHeader = tuple[tuple[str, ...], tuple[str, ...]]


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

    def __init__(
        self, source: Source, layout: Layout, options: Options, *, is_crowded: bool
    ) -> None:
        self.source, self.layout = source, layout
        self.is_crowded = is_crowded
        self.options = options
        self.interval_s: float | None = None
        self.by_heading: dict[SectionHeader, list[ReadColumn]] = {}
        self.labels: dict[SectionHeader, list[int]] = {}
        self.owners: dict[SectionHeader, list[int]] = {}
        self.identities: dict[str, dict[str, str]] = {"": {}}

    def of(self, section: Section) -> list[ReadColumn]:
        """Return what is read of a section."""
        return self.by_heading[section.header, section.units]

    def choose(self, header: tuple[str, ...], units: tuple[str, ...]) -> Wanted:
        """Return what is kept of a section with this header."""
        try:
            columns = self._chosen(header, units)
        except UsageError:
            if not self.by_heading:
                raise
            return Wanted((), {})  # only what stands below a header in the middle is lost
        taken = {c.index for c in columns}
        self.by_heading[header, units] = columns
        keys = [c.index for c in columns if c.meaning.column in tables.TIMES]
        words = [c.index for c in columns if c.meaning.is_role or c.meaning.state]
        labels = self.labels[header, units] = self._labels_of_runs(header, taken)
        owners = self.owners[header, units] = self._owners(header, taken)
        words += dict.fromkeys([*labels, *owners])
        others = sum(bool(name) for name in header) - len(columns) - len(labels)
        if others > 0:
            what = counted(others, "other column is", "other columns are")
            self.source.note(f"{what} not needed")
        numbers = {
            c.index: tables.unit_of(_unit_in_cells(self.layout, c.index))
            for c in columns
            if not (c.meaning.is_role or c.meaning.state)
        }
        return Wanted(tuple(keys), numbers, tuple(words))

    def _chosen(self, header: tuple[str, ...], units: tuple[str, ...]) -> list[ReadColumn]:
        columns = self._mapped(header)
        taken = {column.index for column in columns}
        named = {column.meaning.column for column in columns}
        texts: list[str] = []
        untimed: list[ReadColumn] = []
        for index, name in enumerate(header):
            if index in taken or not name:
                continue
            found = _meaning_of(
                self.layout, index, name, units[index] if index < len(units) else ""
            )
            if found is not None and not _may_be(found, self.layout, index):
                if found.is_role:
                    untimed.append(ReadColumn(index, name, found))
                else:
                    texts.append(f"'{name}'")
                continue
            if found is None or (found.is_role and found.column in named):
                continue
            if self.is_crowded and not _is_known(found, name):
                continue
            if found.column in tables.TIMES and "time" in named & set(self.options.mapping):
                continue
            columns.append(ReadColumn(index, name, found, derived.device_and_name(name)[0]))
        if not any(c.meaning.column in tables.TIMES for c in columns):
            columns += untimed[:1]
        if texts:
            shown = listed(texts, _MAX_SHOWN)
            self.source.note(f"left out, since their cells are not numbers: {shown}")
        if any(derived.DISK_INSTANCE.match(c.device) and c.device[0].isdigit() for c in columns):
            columns = [c for c in columns if not derived.VOLUME.match(c.device)]  # a part of a disk
        columns = self._in_units_of_tools(columns, header)
        columns = self._in_bytes(columns, header)
        columns = self._without_doubles(self._clocked(columns + self._totals(columns, header)))
        columns += self._electric(columns, header, units)
        columns += self._counting(columns, header)
        columns += self._bare_temperatures(columns, header)
        self._complain(columns, header)
        return columns

    def _in_units_of_tools(
        self, columns: list[ReadColumn], header: tuple[str, ...]
    ) -> list[ReadColumn]:
        """Rates of tools to which a kilo is 1024."""
        for tool in tables.TABLES["tools"]:
            if not set(tool["headers"]) <= set(header):
                continue
            self.source.note(f"{tool['name']}: {tool['note']}")
            return [
                replace(c, meaning=derived.in_binary(c.meaning)) if c.meaning.is_rate else c
                for c in columns
            ]
        return columns

    def _totals(self, columns: list[ReadColumn], header: tuple[str, ...]) -> list[ReadColumn]:
        """Counters of bytes, where there are no rates of bytes."""
        if self.is_crowded or any(c.meaning.column.endswith("bw_mb_s") for c in columns):
            return []
        taken = {column.index for column in columns}
        return [
            ReadColumn(index, name, found, derived.device_and_name(name)[0])
            for index, name in enumerate(header)
            if index not in taken
            and (found := derived.total(derived.device_and_name(name)[1])) is not None
        ]

    def _electric(
        self, columns: list[ReadColumn], header: tuple[str, ...], units: tuple[str, ...]
    ) -> list[ReadColumn]:
        """A meter's voltage and current, where there is neither power nor throughput."""
        has_load = any(c.meaning.is_rate or c.meaning.column == "power_w" for c in columns)
        if has_load or self.is_crowded:
            return []
        taken = {column.index for column in columns}
        return [
            ReadColumn(i, header[i], what)
            for i, what in derived.voltage_and_current(header, units, taken)
        ]

    def _counting(self, columns: list[ReadColumn], header: tuple[str, ...]) -> list[ReadColumn]:
        """The column that counts the rows, where none has times."""
        timed = any(c.meaning.column in tables.TIMES for c in columns)
        layout = replace(self.layout, header=header)
        if timed or self.interval_s is not None or is_of_results(layout, columns):
            return []
        for index, name in enumerate(header):
            counts = tables.slug(name.replace("#", "").strip())
            if counts and counts not in tables.TOKENS["counts"]:
                continue
            cells = self.layout.cells(index)
            counts = [int(cell) for cell in cells if cell.isdecimal() and len(cell) < 12]
            if len(counts) == len(cells) > 1 and all(b - a == 1 for a, b in pairwise(counts)):
                columns[:] = [c for c in columns if c.index != index]
                what = f"'{name}'" if name else "its first column"
                self.source.remark(
                    f"no column of times, but {what} counts rows: they are taken as 1 s apart; "
                    "--map interval_s=SECONDS says otherwise",
                    ("time",),
                )
                return [ReadColumn(index, name, Meaning("time"))]
        return []

    def _labels_of_runs(self, header: tuple[str, ...], taken: set[int]) -> list[int]:
        """The columns of texts that may say how a run was made: those that never change."""
        if self.is_crowded:
            return []
        found = []
        own = {Path(self.source.name).name, Path(self.source.name).stem, self.source.name}
        for index, name in enumerate(header):
            cells = self.layout.cells(index)
            if index in taken or not name or len(cells) < MIN_ROWS_EACH:
                continue
            if derived.device_and_name(name)[0]:
                continue  # of one drive of several
            is_setup = tables.slug(name) in tables.TOKENS["setups"] or tables.slug(name) in IDENTITY
            # nor does a flag, such as a processor's at its limit, say how a run was made
            is_text = not any(
                is_value(cell) or is_unknown(cell) or state_of(cell) is not None for cell in cells
            )
            # a file's or a column's own name says nothing of a run, and a long text is no label
            is_label = 0 < len(cells[0]) <= _MAX_LABEL and cells[0] not in {*own, name}
            if is_label and len(set(cells)) == 1 and (is_text or is_setup):
                found.append(index)
        return found[:_MAX_LABELS]

    def _owners(self, header: tuple[str, ...], taken: set[int]) -> list[int]:
        """The columns whose texts may say whose a row is."""
        if self.is_crowded:
            return []
        fitting = tables.TOKENS["owners"] | tables.TOKENS["owner_fillers"]
        found = []
        for index, name in enumerate(header):
            tokens = set(tables.tokens_of(name[:200]))
            is_owner = tokens <= fitting and not tokens.isdisjoint(tables.TOKENS["owners"])
            what = None if is_owner or index in taken else meaning(name)
            is_owner |= what is not None and what.column == "device"
            if index not in taken and is_owner:
                found.append(index)
        return found

    def _mapped(self, header: tuple[str, ...]) -> list[ReadColumn]:
        columns = []
        for key, wanted in self.options.mapping.items():
            if key in ("interval_s", "interval") and 0 < number_of(wanted) < _MAX_INTERVAL_S:
                self.interval_s = number_of(wanted)
                self.options.used.add(key)
                continue
            column = _meaning_of_key(self.source, key)
            index = _place_of(self.source, self.layout, key, wanted, header)
            if not column.has_unit and column.column.endswith(("bw_mb_s", "lat_us")):
                column = replace(column, has_unit=True)
            name = header[index] if index < len(header) else f"column {index + 1}"
            columns.append(ReadColumn(index, name, column))
            self.options.used.add(key)
        return columns

    def _clocked(self, columns: list[ReadColumn]) -> list[ReadColumn]:
        """Of two columns of times, the one with dates says when the other began."""
        times = [c for c in columns if c.meaning.column == "time"]
        still = [c for c in times if len(set(self.layout.cells(c.index)[:_MANY])) == 1]
        if 0 < len(still) < len(times) and len(self.layout.rows) > 1:
            columns = [c for c in columns if c not in still]
            times = [c for c in times if c not in still]
        if len(times) < 2 or any(c.meaning.column == "date" for c in columns):
            return columns
        for column in times:
            if read_times(self.layout.cells(column.index)[:3]).clock != "none":
                dated = replace(column, meaning=Meaning("date", has_unit=False))
                return [dated if c is column else c for c in columns]
        return columns

    def _without_doubles(self, columns: list[ReadColumn]) -> list[ReadColumn]:
        """Of columns with one meaning, keep the one with the plainest header."""
        kept: dict[tuple[str, str], ReadColumn] = {}
        numbers: dict[tuple[str, str], int] = {}
        for column in columns:
            key = (column.device, column.meaning.column)
            other = kept.get(key)
            if other is None:
                kept[key] = column
                continue
            if column.meaning.column.startswith("temp_c."):
                number = numbers.get(key, 2)
                while (column.device, f"{column.meaning.column}_{number}") in kept:
                    number += 1
                numbers[key] = number + 1
                name = f"{column.meaning.column}_{number}"
                renamed = replace(column, meaning=replace(column.meaning, column=name))
                kept[column.device, name] = renamed
                continue
            first, second = (column, other) if self._is_rather(column, other) else (other, column)
            kept[key] = first
            if not (first.meaning.is_role or _is_now(first.header) > _is_now(second.header)):
                self.source.remark(
                    f"'{first.header}' is taken as {first.meaning.column}, "
                    f"not '{second.header}', which could be it too",
                    ("rate", "identity", "temperature"),
                )
        # a rate without a unit beside reads and writes is a sum, or a limit
        return [
            column
            for column in kept.values()
            if column.meaning.column != "bw_mb_s"
            or column.meaning.has_unit
            or not all((column.device, f"{way}_bw_mb_s") in kept for way in ("read", "write"))
        ]

    def _is_rather(self, column: ReadColumn, other: ReadColumn) -> bool:
        """Whether a column is meant, not another one with the same meaning.

        The one that is mapped, else the one that is not 0 throughout, else the one with the
        plainer header.
        """
        mapped = self.options.mapping.values()
        if column.header in mapped or other.header in mapped:
            return column.header in mapped
        if not column.meaning.is_role and self._is_zero(column) != self._is_zero(other):
            return self._is_zero(other)
        return column.meaning.general < other.meaning.general

    def _is_zero(self, column: ReadColumn) -> bool:
        return not any(cell.strip("0.,") for cell in self.layout.cells(column.index))

    def _in_bytes(self, columns: list[ReadColumn], header: tuple[str, ...]) -> list[ReadColumn]:
        """``w_per_s`` beside ``wIOPS`` is in bytes; ``writes`` beside bytes are not.

        Alone, ``writes`` may be either, which its size decides.
        """
        plural = [c for c in columns if tables.slug(c.header) in _EITHER and not c.meaning.has_unit]
        rest = [c for c in columns if c not in plural]
        has_bytes = any(c.meaning.column.endswith("bw_mb_s") for c in rest)
        if has_bytes or any(derived.total(derived.device_and_name(name)[1]) for name in header):
            columns = rest + [
                replace(
                    c,
                    meaning=Meaning(
                        c.meaning.column.replace("bw_mb_s", "iops"), general=9, has_unit=False
                    ),
                )
                for c in plural
            ]
        if any(column.meaning.column.endswith("bw_mb_s") for column in columns):
            return columns
        counted = {(c.device, c.meaning.column) for c in columns if "iops" in c.header.lower()}
        in_bytes = []
        for column in columns:
            name = column.meaning.column
            is_other = name.endswith("iops") and "iops" not in column.header.lower()
            if is_other and (column.device, name) in counted:
                what = Meaning(name.replace("iops", "bw_mb_s"), has_unit=False)
                column = replace(column, meaning=what)
            in_bytes.append(column)
        return in_bytes

    def _complain(self, columns: list[ReadColumn], header: tuple[str, ...]) -> None:
        found = {column.meaning.column for column in columns}
        taken = {column.index for column in columns}
        layout = replace(self.layout, header=header)
        measured = [
            c for c in columns
            if c.meaning.is_rate or c.meaning.column.startswith("temp_c.") or c.meaning.state
            or "lat" in c.meaning.column or _is_metered(c.meaning)
        ]  # fmt: skip
        if measured and not _has_time(found) and is_of_results(layout, columns):
            raise self.source.error(
                "has the result of another test in each row, and no course in time: 'iostat -xty "
                "1' beside a test, or its own log of rates, has one",
                layout.line,
            )
        if not measured:
            time = "" if _has_time(found) or self.interval_s else "--map time=? "
            advice = f"if one is a drive's, name it: {time}{_NAME_IT}"
            if header[:1] and header[0].startswith("(PDH-CSV"):
                advice = r"record \PhysicalDisk(*)\Disk Write Bytes/sec and Disk Read Bytes/sec too"
            elif not any(_is_free(layout, c) for c in range(layout.width) if c not in taken):
                advice = "a log of the drive has one in MB/s, IOPS or degrees"
            what = "no column of throughput, temperature or power"
            raise self.source.error(f"has {what} among {_shown(layout)}: {advice}", layout.line)
        if not _has_time(found) and self.interval_s is None:
            raise self.source.error(
                f"has no column of times among {_shown(layout)}: name it, --map time=?, or say how "
                "far apart its rows are, --map interval_s=SECONDS",
                layout.line,
            )
        self._doubt_half(columns, layout)

    def _doubt_half(self, columns: list[ReadColumn], layout: Layout) -> None:
        """Say which column may be the other direction where one alone is told."""
        moving = [c.meaning for c in columns if c.meaning.is_rate or c.meaning.is_total]
        ways = {what.column.split("_")[0] for what in moving}
        if len(ways) != 1 or not ways <= {"read", "write"}:
            return
        way, other = ("read", "write") if "read" in ways else ("write", "read")
        taken = {column.index for column in columns}
        free = [i for i in range(len(layout.header)) if i not in taken and _is_free(layout, i)]
        for index in free:
            name = layout.header[index]
            if any(what.is_total for what in moving) or _may_be_rate(layout, index):
                text = (
                    f"its {way}s are told, and '{name}' may be its {other}s (--map {other}_mb_s=?)"
                )
                self.source.remark(text, ("rate",))

    def _bare_temperatures(
        self, columns: list[ReadColumn], header: tuple[str, ...]
    ) -> list[ReadColumn]:
        """Columns that only name a drive, or a part of the host, where nothing else was measured.

        Taken where their values may be temperatures.
        """
        others = [c.meaning for c in columns if not c.meaning.is_role]
        are_bare = all(what.column.startswith("temp_c.") and not what.has_unit for what in others)
        if self.is_crowded or not are_bare:
            return []
        taken = {column.index for column in columns if not column.meaning.is_role}
        bare = []
        for index, name in enumerate(header):
            is_bare = name and len(name) < 40 and not _HAS_A_UNIT.search(name)
            found = meaning(f"{name} temp") if is_bare and index not in taken else None
            cells = self.layout.cells(index)
            is_part = not tables.TOKENS["drive_parts"].isdisjoint(tables.tokens_of(name))
            is_named = is_part or tables.names_drive(name)
            if found is None or not (is_named or _is_known(found, name)):
                continue
            if not tables.TOKENS["not_warm"].isdisjoint(tables.tokens_of(name)):
                continue
            if not cells or not all(derived.is_warmth(cell) for cell in cells if cell.strip()):
                continue
            # each drive is one, so that it keeps its name
            column = f"temp_c.{tables.slug(name)}" if tables.names_drive(name) else found.column
            bare.append(ReadColumn(index, name, replace(found, column=column)))
        if bare:
            names = listed([f"'{column.header}'" for column in bare], _MAX_SHOWN)
            each = "a temperature" if len(bare) == 1 else "temperatures"
            self.source.remark(f"read as {each}: {names}", ("temperature",))
        taken = {column.index for column in bare}
        columns[:] = [column for column in columns if column.index not in taken]
        return bare


def _meaning_of(layout: Layout, index: int, header: str, unit: str) -> Meaning | None:
    if header.startswith("(PDH-CSV"):
        return Meaning("time", has_unit=False)
    if not unit:
        unit = _unit_in_cells(layout, index)
    name = derived.device_and_name(header)[1]
    found = meaning(name, unit)
    values = layout.cells(index)
    if found is not None and found.column == "device" and any(map(is_value, values)):
        return None
    is_direction = found is not None and found.column == "direction"
    if is_direction and not (values and all(map(tables.direction_of, values))):
        return Meaning("step", general=3)
    return found


def _may_be(what: Meaning, layout: Layout, index: int) -> bool:
    """Whether cells may be what a header says: texts are neither times nor measured."""
    if what.state:
        return True
    cells = layout.cells(index)
    told = [cell for cell in cells if cell.strip() and not is_unknown(cell)]
    if what.is_role:
        is_time = what.column in tables.TIMES
        return not is_time or not told or any(is_timed(cell) for cell in told)
    return not told or any(is_value(cell) or state_of(cell) is not None for cell in told)


def _is_now(header: str) -> bool:
    """Whether a header says that it is of now, not a mean of all since the start."""
    return not tables.TOKENS["now"].isdisjoint(tables.tokens_of(header))


def _unit_in_cells(layout: Layout, index: int) -> str:
    """A unit that stands behind the numbers; a prefix alone is one of temperatures."""
    name = layout.header[index] if index < len(layout.header) else ""
    for cell in layout.cells(index)[:3]:
        match = re.match(r"^[-+\d.,]+\s*([^\d\s.,:/+-][^\d:]{0,12})$", cell)
        if match is None or tables.unit_of(match.group(1)) is None:
            continue
        if match.group(1) != "K" or tables.has_any(tables.tokens_of(name), "temp"):
            return match.group(1)
    return ""


def _is_metered(what: Meaning) -> bool:
    """Whether it is power for sure: not how often, or how long, power was on."""
    is_power = what.column == "power_w" and (what.has_unit or what.general <= 1)
    return is_power or what.column in (derived.VOLTAGE, derived.CURRENT)


#: What a name says that is a share, or something each second.
_HAS_A_UNIT = re.compile(r"%|/s(?:ec)?\b", re.IGNORECASE)
_CAPACITY = re.compile(r"\d ?[GT]B\b")


def _is_known(found: Meaning, header: str) -> bool:
    """Whether a temperature is the host's, or of what its name says is a drive."""
    named = found.column.startswith(("temp_c.cpu", "temp_c.gpu", "temp_c.ambient", "temp_c.case"))
    is_temperature = found.column.startswith("temp_c.")
    return (
        not is_temperature or named or tables.names_drive(header) or bool(_CAPACITY.search(header))
    )


# --- what a user's mapping (``--map``) means -----------------------------------------------------

#: Short names that a mapping may use for a recording's columns, without their units.
_SHORT = {
    "read_mb_s": "read_bw_mb_s", "write_mb_s": "write_bw_mb_s", "mb_s": "bw_mb_s",
    "temp_c": "temp_c.composite", "temp": "temp_c.composite", "power": "power_w",
    "interval": "interval_s",
}  # fmt: skip
#: What other names in a mapping are made of: a quantity and its unit.
_KEY_WORDS = frozenset({
    "read", "write", "bw", "iops", "lat", "p50", "p99", "p999", "max", "temp", "time", "timestamp",
    "elapsed", "t", "interval", "power", "queue", "busy", "pct", "cpu", "speed", "rate",
    "throughput", "ambient", "case", "sensor1", "sensor2", "throttled", "throttling", "mb", "mib",
    "gb", "gib", "kb", "kib", "b", "bytes", "gbit", "mbit", "s", "ms", "us", "ns", "min", "h", "c",
    "f", "k", "w", "mw",
})  # fmt: skip


def _meaning_of_key(source: Source, key: str) -> Meaning:
    """Return what a mapping's key means."""
    column = _SHORT.get(key, key)
    if column in tables.ROLES:
        return Meaning(column, has_unit=False)
    words = set(re.split(r"[_.]", key.lower()))
    found = meaning(column)
    if found is None or not (words <= _KEY_WORDS or found.column == column):
        known = [*tables.ROLES, *_SHORT, "read_iops", "write_iops", "iops", "read_lat_us",
                 "write_lat_us", "power_w", "queue", "busy_pct", "interval_s"]  # fmt: skip
        raise source.error(
            f"'{key}' in --map is not a quantity{suggestion(key, known)}; quantities are time, "
            "write_mb_s, read_iops, temp_c"
        )
    return replace(found, doubt="")


def _place_of(
    source: Source, layout: Layout, key: str, wanted: str, header: tuple[str, ...]
) -> int:
    """Return the place of the column that a mapping names, or gives the number of."""
    plain = wanted.strip()
    for match in (plain, plain.lower()):
        for index, name in enumerate(header):
            if match in (name, name.lower()):
                return index
    width = layout.width
    if plain.isascii() and plain.isdigit() and len(plain) < 6:
        if 1 <= int(plain) <= width:
            return int(plain) - 1
        raise source.error(
            f"has no column {plain} for '{key}' in --map: it has {width}", layout.line
        )
    raise source.error(
        f"has no column '{plain}' for '{key}' in --map{suggestion(plain, header)}: it has "
        f"{_shown(replace(layout, header=header))}",
        layout.line,
    )


#: How a column is named; which of them, only the user can tell.
_NAME_IT = "--map write_mb_s=? (or read_mb_s, iops, temp_c)"


def _shown(layout: Layout) -> str:
    """The names of a table's columns, as far as there is room for them, and its first row."""
    names, cells = (
        [
            shortened(said(text.replace("\x1f", " ")), _MAX_SHOWN_NAME)
            for text in texts
            if text.strip()
        ]
        for texts in (layout.header, layout.rows[0][:_MAX_NAMED] if layout.rows else ())
    )
    shown = listed(names, _MAX_NAMED) or counted(
        layout.width, "column without a name", "columns without names"
    )
    first = ", ".join(cells)
    return f"{shown} (first row: {first})" if first else shown


def no_header(source: Source, layout: Layout) -> UsageError:
    """Return the error for a table whose columns no header and no mapping names."""
    return source.error(
        f"has no header above {_shown(layout)}: name its columns by number, --map time=? "
        f"{_NAME_IT}",
        layout.line,
    )


def _has_time(found: Container[str]) -> bool:
    return any(role in found for role in tables.TIMES)


def _is_free(layout: Layout, index: int) -> bool:
    """Whether a column may be anything: it has values, and its name is of nothing known."""
    name = layout.header[index] if layout.header else ""
    cells = layout.cells(index)
    if not cells or not is_value(cells[0]) or len(name) > 60 or (layout.header and not name):
        return False
    other = {word for kind in _OTHERS for word in tables.TOKENS[kind]}
    is_other = not other.isdisjoint(tables.tokens_of(name)) or tables.has_any(
        tables.tokens_of(name), "elsewhere"
    )
    is_known = bool(name) and meaning(name) is not None
    return not (is_known or is_other or "%" in name or name.startswith("\\\\"))


#: Kinds of words that no column of a drive's rate or temperature has.
_OTHERS = ("cpu", "gpu", "not_power", "not_load", "not_moved")


def _may_be_rate(layout: Layout, index: int) -> bool:
    """Whether a column's values may be a throughput: numbers of one sign that do not only rise."""
    cells = [cell for cell in layout.cells(index) if cell]
    numbers = [float(cell) for cell in cells if _PLAIN.fullmatch(cell)]
    rises = len(numbers) > MIN_ROWS_EACH and all(b > a for a, b in pairwise(numbers))
    has_one_sign = bool(numbers) and (min(numbers) >= 0 or max(numbers) <= 0)
    changes = len(set(numbers)) > 1 or len(numbers) < _MANY
    return len(numbers) == len(cells) and any(numbers) and has_one_sign and changes and not rises


_PLAIN = re.compile(r"-?\d+(?:\.\d+)?")


def is_of_results(layout: Layout, columns: Sequence[ReadColumn]) -> bool:
    """Return whether each row, without a time, is the result of another test."""
    devices = {column.index for column in columns if column.meaning.column == "device"}
    tests = []
    for index, name in enumerate(layout.header):
        cells = layout.cells(index)
        is_text = all(cell and not is_value(cell) and state_of(cell) is None for cell in cells)
        if index in devices or len(cells) < MIN_ROWS_EACH:
            continue
        if is_text and len(set(cells)) == len(cells):
            return True
        if tables.slug(name) in tables.TOKENS["settings"]:
            tests.append(cells)
    rows = list(zip(*tests, strict=False))
    changes = sum(a != b for a, b in pairwise(rows))
    return bool(rows) and 2 * changes >= len(rows)
