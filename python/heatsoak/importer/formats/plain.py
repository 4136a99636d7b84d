"""Any delimited table with a header: what its columns mean is told by their names."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from heatsoak.errors import UsageError, suggestion
from heatsoak.importer.formats.base import Format
from heatsoak.importer.frames import Array
from heatsoak.importer.log import Log, Options, Remark
from heatsoak.importer.moment import Times, read_times
from heatsoak.importer.runs import IDENTITY, LEAST_SHARE, Indices, Rows, Texts, grouped, logs_of
from heatsoak.importer.source import Source
from heatsoak.importer.tables.cells import is_value, throttling_of
from heatsoak.importer.tables.layout import Layout, layout_of, ungarbled
from heatsoak.importer.tables.quantity import Meaning, meaning
from heatsoak.importer.tables.rows import Reader, Section, Wanted, remark_unread
from heatsoak.importer.tables.texts import Joined
from heatsoak.importer.tables.totals import total
from heatsoak.importer.tables.units import unit_of
from heatsoak.importer.tables.words import ROLES, direction_of, names_drive, slug

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
_EXAMPLE = "--map time=1 --map write_mb_s=2 --map temp_c=3"


#: Headers of texts that tell how a run was made.
_SETUPS = frozenset({
    "heatsink", "cooling", "cooler", "fan", "airflow", "config", "configuration", "setup",
    "condition", "conditions", "variant", "case", "enclosure", "orientation", "mounting", "mount",
    "pad", "thermal_pad", "heatspreader", "kuhlkorper", "kuhlung", "label", "slot", "adapter",
})  # fmt: skip
#: So many texts of a run are kept.
_MOST_LABELS = 12
#: Headers of columns that count the rows.
_COUNTS = frozenset({
    "", "#", "sample", "samples", "index", "idx", "i", "n", "no", "nr", "num", "number", "row",
    "id", "record", "entry", "tick", "unnamed0", "sample_no", "sample_nr", "sample_number",
    "sample_id", "point", "measurement", "messung", "lfd_nr", "step", "iteration", "序号", "编号",
})  # fmt: skip
#: What has a row less often tells nothing of throttling, and is something else, as a rule.
_RAREST_S = 6 * 3600.0


#: Runs and steps have at least as many rows on average; what changes more often counts rows.
_LEAST_ROWS = 2
#: Fewer rows than that tell nothing of it.
_FEW_ROWS = 10


@dataclass(frozen=True)
class _Column:
    """A column that is read: where it stands, what it is called, what it means, and whose it is."""

    index: int
    header: str
    meaning: Meaning
    device: str = ""


def _recognises(source: Source) -> bool:
    if source.head.lstrip()[:1] in (b"{", b"[", b"<"):
        return False
    layout = layout_of(source)
    return layout is not None and (bool(layout.header) or len(layout.rows) > 1)


def _read(source: Source, options: Options) -> list[Log]:
    layout = layout_of(source)
    if layout is None:
        raise source.error("holds no table of rows and columns")
    return read_table(source, layout, options, "plain")


def read_table(
    source: Source,
    layout: Layout,
    options: Options,
    format_name: str,
    *,
    begins_anew: bool = False,
    is_crowded: bool = False,
) -> list[Log]:
    """Return the runs of a table whose columns are told by their headers.

    With `begins_anew` the header comes again where a new run begins; with `is_crowded` most
    temperatures are of something else than a drive, and only those that say so are taken.
    """
    layout = replace(layout, header=_headers(layout))
    if not layout.header and not options.mapping:
        raise source.error(
            "has no header: name its columns by number, as in " + _EXAMPLE, layout.line
        )
    table = _Table(source, layout, options, is_crowded=is_crowded)
    reader = Reader(source, layout, table.choose)
    parts = []
    for number, section in enumerate(reader.sections()):
        for rows in table.rows(section):
            marks = section.marks if begins_anew else ()
            parts.append(replace(rows, marks=marks, goes_on=number > 0))
    if reader.decimals.doubt:
        source.remark(reader.decimals.doubt)
    logs = logs_of(format_name, source.name, parts)
    if not logs:
        raise source.error("holds no row whose time can be read")
    return [log.with_remarks(*table.remarks(source.name)) for log in logs]


# --- headers -----------------------------------------------------------------------------------


def _headers(layout: Layout) -> tuple[str, ...]:
    """The columns' names, as words that tell what they are."""
    header = ungarbled(layout.header)
    paths = layout.above
    if paths and sum(cell.startswith("/") for cell in paths) > len(paths) // 2:
        return tuple(_monitor_name(path, name) for path, name in zip(paths, header, strict=True))
    return header


_MONITOR_UNITS = {"temperature": "[°C]", "load": "[%]", "power": "[W]", "throughput": "[B/s]"}


def _monitor_name(path: str, name: str) -> str:
    """Libre and Open Hardware Monitor write a sensor's path above its name."""
    parts = path.strip().strip("/").split("/")
    unit = next((_MONITOR_UNITS[part] for part in parts if part in _MONITOR_UNITS), None)
    if len(parts) < 3 or unit is None:
        return name if not parts[0] else f"{name} [{parts[-2] if len(parts) > 1 else '-'}]"
    what = parts[0]
    if "gpu" in what:
        name = f"GPU {name}"
    elif "cpu" in what:
        name = f"CPU {name}"
    elif what in ("nvme", "hdd", "ssd", "storage", "ata"):
        name = f"{what}{parts[1]}\x1f{name}"
    else:
        return f"{name} [-]"
    return f"{name} {unit}"


#: AIDA64's names of what a disk does.
_DISK = re.compile(r"^(Disk \d{1,2}) (?:Activity|Read Speed|Write Speed)$")
#: A disk by its number and its letters, or by a letter alone, in any language.
_DISK_INSTANCE = re.compile(r"^\d{1,3}(?: [A-Z]:)*$|^[A-Z]:$")
_VOLUME = re.compile(r"^[A-Z]:$")
_PDH = re.compile(r"^\\\\[^\\]*\\([^\\(]+)(?:\(([^)]*)\))?\\(.+)$")


def _named(header: str) -> tuple[str, str]:
    """Return whose a column is, where the header tells, and what it is called."""
    if "\x1f" in header:
        device, _, name = header.partition("\x1f")
        return device, name
    match = _PDH.match(header)
    if match is None:
        numbered = _DISK.match(header)
        return (numbered.group(1) if numbered is not None else ""), header
    what, instance, counter = match.group(1), match.group(2) or "", match.group(3)
    if _DISK_INSTANCE.match(instance) and (names_drive(what) or "datentr" in what.lower()):
        return instance, counter
    if what.lower() in ("physicaldisk", "logicaldisk"):
        return "", counter if what.lower() == "physicaldisk" else "other [-]"
    if what.lower().startswith("processor"):
        return "", "CPU usage [%]" if counter == "% Processor Time" and instance in (
            "_Total", "0,_Total"
        ) else "other [-]"  # fmt: skip
    return "", "other [-]"


def _meaning_of(layout: Layout, index: int, header: str, unit: str) -> Meaning | None:
    if header.startswith("(PDH-CSV"):
        return Meaning("time", has_unit=False)
    if not unit:
        unit = _unit_in_cells(layout, index)
    name = _named(header)[1]
    found = meaning(name, unit)
    values = [row[index] for row in layout.rows if index < len(row)]
    if found is not None and found.column == "device" and any(map(is_value, values)):
        return None
    is_direction = found is not None and found.column == "direction"
    if is_direction and not (values and all(map(direction_of, values))):
        return Meaning("step", general=3)
    return found


def _unit_in_cells(layout: Layout, index: int) -> str:
    for row in layout.rows[:3]:
        if index < len(row):
            match = re.match(r"^\s*[-+\d.,]+\s*([^\d\s.,:/+-][^\d:]{0,12})$", row[index])
            if match is not None and unit_of(match.group(1)) is not None:
                return match.group(1)
    return ""


# --- what is read ------------------------------------------------------------------------------


class _Table:
    """Which columns are read, and what is made of them."""

    def __init__(
        self, source: Source, layout: Layout, options: Options, *, is_crowded: bool
    ) -> None:
        self._source = source
        self._is_crowded = is_crowded
        self._layout = layout
        self._mapping = dict(options.mapping)
        self._device = (options.device or "").lower()
        self._device_shown = options.device or ""
        self._doubts: dict[str, None] = {}
        self._notes: dict[str, None] = {}
        self._interval_s: float | None = None
        is_us = layout.header[:1] and layout.header[0].startswith("(PDH-CSV")
        # these write dates as Americans do, whatever the machine's language
        self._day_first = False if is_us or any("\x1f" in n for n in layout.header) else None
        self._columns: dict[tuple[str, ...], list[_Column]] = {}
        self._labels_of: dict[tuple[str, ...], list[int]] = {}

    def remarks(self, name: str) -> list[Remark]:
        """What is said of the columns, each once."""
        return [Remark(f"{name}: {text}", doubt=True) for text in self._doubts] + [
            Remark(f"{name}: {text}") for text in self._notes
        ]

    def choose(self, header: tuple[str, ...], units: tuple[str, ...]) -> Wanted:
        """Return what is kept of a section with this header."""
        try:
            columns = self._chosen(header, units)
        except UsageError:
            if not self._columns:
                raise
            return Wanted((), {})  # what stands below a header in the middle is lost, not the rest
        self._columns[header] = columns
        keys = [c.index for c in columns if c.meaning.column in ("time", "date", "uptime")]
        words = [c.index for c in columns if c.meaning.is_role or c.meaning.state]
        self._labels_of[header] = labels = self._told_of_runs(header, {c.index for c in columns})
        words += labels
        numbers = {
            c.index: unit_of(_unit_in_cells(self._layout, c.index))
            for c in columns
            if not (c.meaning.is_role or c.meaning.state)
        }
        return Wanted(tuple(keys), numbers, tuple(words))

    def _chosen(self, header: tuple[str, ...], units: tuple[str, ...]) -> list[_Column]:
        columns = self._mapped(header)
        taken = {column.index for column in columns}
        named = {column.meaning.column for column in columns}
        for index, name in enumerate(header):
            if index in taken or not name:
                continue
            found = _meaning_of(
                self._layout, index, name, units[index] if index < len(units) else ""
            )
            if found is None or (found.is_role and found.column in named):
                continue
            if self._is_crowded and not _is_known(found, name):
                continue
            if found.column in ("time", "date", "uptime") and "time" in named & set(self._mapping):
                continue
            columns.append(_Column(index, name, found, _named(name)[0]))
        if any(_DISK_INSTANCE.match(c.device) and c.device[0].isdigit() for c in columns):
            columns = [c for c in columns if not _VOLUME.match(c.device)]  # a part of a disk
        columns = self._without_doubles(self._clocked(columns + self._totals(columns, header)))
        columns += self._counting(columns, header)
        columns += self._bare_temperatures(columns, header)
        self._complain(columns, header)
        labels = self._told_of_runs(header, {column.index for column in columns})
        others = sum(bool(name) for name in header) - len(columns) - len(labels)
        if others > 0:
            self._notes.setdefault(
                f"{others} other column{'s are' if others > 1 else ' is'} not needed"
            )
        return columns

    def _totals(self, columns: list[_Column], header: tuple[str, ...]) -> list[_Column]:
        """Counters of bytes, where no column tells of rates of bytes."""
        if self._is_crowded or any(c.meaning.column.endswith("bw_mb_s") for c in columns):
            return []
        taken = {column.index for column in columns}
        return [
            _Column(index, name, found, _named(name)[0])
            for index, name in enumerate(header)
            if index not in taken and (found := total(_named(name)[1])) is not None
        ]

    def _counting(self, columns: list[_Column], header: tuple[str, ...]) -> list[_Column]:
        """The column that counts the rows, where none tells the time."""
        timed = any(c.meaning.column in ("time", "date", "uptime") for c in columns)
        if timed or self._interval_s is not None:
            return []
        for index, name in enumerate(header):
            if slug(name.replace("#", "").strip()) not in _COUNTS:
                continue
            cells = [row[index].strip() for row in self._layout.rows if index < len(row)]
            counts = [int(cell) for cell in cells if cell.isdecimal() and len(cell) < 12]
            if len(counts) == len(cells) > 1 and all(b - a == 1 for a, b in pairwise(counts)):
                columns[:] = [c for c in columns if c.index != index]
                what = f"'{name}'" if name else "its first column"
                self._doubts.setdefault(
                    f"no column of times, but {what} counts rows: they are taken as 1 s apart; "
                    "--map interval_s=SECONDS says otherwise"
                )
                return [_Column(index, name, Meaning("time"))]
        return []

    def _told_of_runs(self, header: tuple[str, ...], taken: set[int]) -> list[int]:
        """The columns of texts that may tell how a run was made: always the same, as a rule."""
        if self._is_crowded:
            return []
        found = []
        for index, name in enumerate(header):
            cells = [row[index].strip() for row in self._layout.rows if index < len(row)]
            if index in taken or not name or len(cells) < _LEAST_ROWS:
                continue
            is_setup = slug(name) in _SETUPS or slug(name) in IDENTITY
            is_text = not any(map(is_value, cells)) and len(cells[0]) < 100
            if cells[0] and len(set(cells)) == 1 and (is_text or is_setup):
                found.append(index)
        return found[:_MOST_LABELS]

    def _mapped(self, header: tuple[str, ...]) -> list[_Column]:
        columns = []
        for key, wanted in self._mapping.items():
            if key in ("interval_s", "interval") and _is_number(wanted):
                self._interval_s = float(wanted)
                continue
            column = self._key(key)
            index = self._place(key, wanted, header)
            if not column.has_unit and column.column.endswith(("bw_mb_s", "lat_us")):
                column = replace(column, has_unit=True)
            name = header[index] if index < len(header) else f"column {index + 1}"
            columns.append(_Column(index, name, column))
        return columns

    def _key(self, key: str) -> Meaning:
        column = _SHORT.get(key, key)
        if column in ROLES:
            return Meaning(column, has_unit=False)
        words = set(re.split(r"[_.]", key.lower()))
        found = meaning(column)
        if found is None or not (words <= _KEY_WORDS or found.column == column):
            known = [*ROLES, *_SHORT, "read_iops", "write_iops", "iops", "read_lat_us",
                     "write_lat_us", "power_w", "queue", "busy_pct", "interval_s"]  # fmt: skip
            raise self._source.error(
                f"'{key}' in --map is no quantity{suggestion(key, known)}; such are time, "
                "write_mb_s, read_iops, temp_c"
            )
        return replace(found, doubt="")

    def _place(self, key: str, wanted: str, header: tuple[str, ...]) -> int:
        plain = wanted.strip()
        for match in (plain, plain.lower()):
            for index, name in enumerate(header):
                if match in (name, name.lower()):
                    return index
        width = self._layout.width
        if plain.isascii() and plain.isdigit() and len(plain) < 6:
            if 1 <= int(plain) <= width:
                return int(plain) - 1
            raise self._source.error(
                f"has no column {plain} for '{key}' in --map: it has {width}", self._layout.line
            )
        shown = ", ".join(name for name in header[:12] if name)
        raise self._source.error(
            f"has no column '{plain}' for '{key}' in --map{suggestion(plain, header)}: "
            f"it has {shown or f'{width} columns without names'}"
            + (", ..." if len(header) > 12 else ""),
            self._layout.line,
        )

    def _clocked(self, columns: list[_Column]) -> list[_Column]:
        """Of two columns of times, the one that tells the day says when the other began."""
        times = [c for c in columns if c.meaning.column == "time"]
        if len(times) < 2 or any(c.meaning.column == "date" for c in columns):
            return columns
        for column in times:
            cells = [row[column.index] for row in self._layout.rows if column.index < len(row)]
            if read_times(cells[:3]).clock != "none":
                dated = replace(column, meaning=Meaning("date", has_unit=False))
                return [dated if c is column else c for c in columns]
        return columns

    def _without_doubles(self, columns: list[_Column]) -> list[_Column]:
        """Of columns that mean the same, keep the one whose header says the least besides."""
        kept: dict[tuple[str, str], _Column] = {}
        for column in columns:
            key = (column.device, column.meaning.column)
            other = kept.get(key)
            if other is None:
                kept[key] = column
                continue
            if column.meaning.column.startswith("temp_c."):
                number = 2
                while (column.device, f"{column.meaning.column}_{number}") in kept:
                    number += 1
                name = f"{column.meaning.column}_{number}"
                renamed = replace(column, meaning=replace(column.meaning, column=name))
                kept[column.device, name] = renamed
                continue
            mapped = column.header in self._mapping.values()
            first, second = (column, other) if (
                mapped or column.meaning.general < other.meaning.general
            ) else (other, column)  # fmt: skip
            kept[key] = first
            if not first.meaning.is_role:
                self._doubts.setdefault(
                    f"'{first.header}' is taken for {first.meaning.column}, "
                    f"not '{second.header}', which could be it too"
                )
        return list(kept.values())

    def _complain(self, columns: list[_Column], header: tuple[str, ...]) -> None:
        found = {column.meaning.column for column in columns}
        shown = ", ".join(_named(name)[1] for name in header[:12] if name) or "no header"
        more = ", ..." if len(header) > 12 else ""
        if not found & {"time", "date", "uptime"} and self._interval_s is None:
            raise self._source.error(
                f"has no column of times among {shown}{more}: name it, as in "
                f"{self._example(columns, header)}, "
                "or state the rows' interval with --map interval_s=SECONDS",
                self._layout.line,
            )
        measured = [
            c for c in columns
            if c.meaning.is_rate or c.meaning.column.startswith("temp_c.") or c.meaning.state
            or "lat" in c.meaning.column
        ]  # fmt: skip
        if not measured:
            raise self._source.error(
                f"has no column of throughput or temperature among {shown}{more}: "
                f"name one, as in {self._example(columns, header)}",
                self._layout.line,
            )

    def _example(self, columns: list[_Column], header: tuple[str, ...]) -> str:
        """A mapping of this table's own columns, in their order, of what is not known of them."""
        found = {column.meaning.column for column in columns}
        taken = {column.index for column in columns}
        row = self._layout.rows[0] if self._layout.rows else header
        free = [
            name
            for index, name in enumerate(header)
            if index not in taken and name and index < len(row) and is_value(row[index])
        ]
        wanted = ["time"] if not found & {"time", "date", "uptime"} else []
        if not any(name.endswith("bw_mb_s") for name in found):
            wanted.append("write_mb_s")
        if not any(name.startswith("temp_c.") for name in found):
            wanted.append("temp_c")
        pairs = ",".join(f"{key}={name}" for key, name in zip(wanted, free, strict=False))
        return f"--map '{pairs}'" if pairs else "--map write_mb_s=COLUMN"

    def _bare_temperatures(self, columns: list[_Column], header: tuple[str, ...]) -> list[_Column]:
        """Columns that only name a drive, or a part of the host, where nothing else was measured.

        Taken where their values may be temperatures.
        """
        if self._is_crowded or any(not c.meaning.is_role for c in columns):
            return []
        bare = []
        for index, name in enumerate(header):
            found = meaning(f"{name} temp") if name and len(name) < 40 else None
            cells = [row[index] for row in self._layout.rows if index < len(row)]
            if found is None or not (names_drive(name) or _is_known(found, name)):
                continue
            if not cells or not all(_is_warmth(cell) for cell in cells if cell.strip()):
                continue
            # each drive is one, so that it keeps its name
            column = f"temp_c.{slug(name)}" if names_drive(name) else found.column
            bare.append(_Column(index, name, replace(found, column=column)))
        if bare:
            names = ", ".join(f"'{column.header}'" for column in bare[:8])
            each = "a temperature" if len(bare) == 1 else "temperatures"
            self._doubts.setdefault(f"read as {each}: {names}")
        taken = {column.index for column in bare}
        columns[:] = [column for column in columns if column.index not in taken]
        return bare

    # --- rows ---

    def rows(self, section: Section) -> list[Rows]:
        """Return what a section holds: for each device that its headers name, if they do."""
        columns = self._columns[section.header]
        by_role = {c.meaning.column: c for c in columns if c.meaning.is_role}
        times = self._times(section, by_role)
        devices = [d for d in dict.fromkeys(c.device for c in columns) if d]
        wanted = [d for d in devices if self._device in d.lower()] if self._device else devices
        if self._device and devices and not wanted:
            raise self._source.error(
                f"has no drive '{self._device_shown}': it has {', '.join(devices[:10])}"
            )
        parts = []
        labels = {
            slug(section.header[index]): _texts(section.words[index])
            for index in self._labels_of[section.header]
        }
        for device in wanted or [""]:
            # what is of no device in particular first: a device's own column goes before it
            own = sorted(
                (c for c in columns if c.device in (device, "") and not c.meaning.is_role),
                key=lambda c: c.device,
            )
            values, states, totals = self._values(section, own)
            direction = by_role.get("direction")
            part = Rows(
                times,
                values,
                states,
                totals,
                labels,
                steps=self._labels(section, by_role.get("step")),
                runs=self._labels(section, by_role.get("run")) or self._setups(labels),
                drive={"path": device} if device else {},
            )
            owner = by_role.get("device")
            self._identity = _identity(owner.header) if owner is not None else "path"
            owners = None if owner is None else section.words[owner.index]
            for one, rows in self._of_devices(part, owners):
                if direction is not None:
                    words = section.words[direction.index]
                    rows = _pivoted(rows, words if one is None else _picked(words, one))
                parts.append(rows)
        return self._busy(parts) if len(parts) > 1 else parts

    def _setups(self, labels: dict[str, Texts]) -> Sequence[str] | None:
        """How the runs were made, where that changes and no column counts them."""
        for name, texts in labels.items():
            changes = int(np.count_nonzero(texts[1:] != texts[:-1]))
            if name in _SETUPS and 1 <= changes < len(texts) / _FEW_ROWS:
                words = [str(text) for text in texts]
                if not any(map(is_value, set(words))):
                    return words
        return None

    def _labels(self, section: Section, column: _Column | None) -> Sequence[str] | None:
        """The column's texts; None where it rather counts the rows."""
        if column is None:
            return None
        words = section.words[column.index]
        if len(words) > _FEW_ROWS and _LEAST_ROWS * len(set(words)) > len(words):
            self._notes.setdefault(f"'{column.header}' counts rows: it divides nothing")
            return None
        return words

    def _busy(self, parts: list[Rows]) -> list[Rows]:
        """The drives that carried load, or all if none did."""
        loads = [
            sum(float(np.nansum(v)) for n, v in part.columns.items() if n.endswith("bw_mb_s"))
            + sum(float(np.nanmax(v) - np.nanmin(v)) for v in part.totals.values() if v.size)
            for part in parts
        ]
        most = max(loads)
        has_load = [load >= LEAST_SHARE * most for load in loads]
        left = [str(p.drive.get("path")) for p, has in zip(parts, has_load, strict=True) if not has]
        if left:
            self._notes.setdefault(f"drives without load are left out: {', '.join(left[:20])}")
        return [part for part, has in zip(parts, has_load, strict=True) if has]

    def _of_devices(
        self, rows: Rows, devices: Sequence[str] | None
    ) -> Iterator[tuple[Indices | None, Rows]]:
        """The rows of each device that a column names, and which they are."""
        if devices is None:
            yield None, rows
            return
        found = grouped(devices)
        known = [name for name in found if name]
        wanted = [name for name in known if self._device in name.lower()]
        if not wanted:
            raise self._source.error(
                f"has no drive '{self._device_shown}': "
                f"it has {', '.join(known[:10]) or 'none by name'}"
            )
        for name in wanted:
            which = found[name]
            yield which, _part(rows, which, {self._identity: name})

    def _times(self, section: Section, by_role: dict[str, _Column]) -> Times:
        rows = len(section)
        if self._interval_s is not None and not {"time", "date", "uptime"} & set(by_role):
            return Times(np.arange(1.0, rows + 1) * np.float64(self._interval_s), "none", None)
        time = by_role.get("time") or by_role.get("uptime") or by_role["date"]
        date = by_role.get("date")
        words: Sequence[str] = section.words[time.index]
        scale = time.meaning.scale if time.meaning.has_unit else None
        dated: Times | None = None
        if date is not None and date is not time:
            if ":" in next(iter(words), ""):
                words, date = Joined(section.words[date.index], words), None
            else:
                dated = read_times(section.words[date.index])
        times = read_times(words, scale, day_first=self._day_first)
        if scale is None and times.clock == "none":
            times = self._in_seconds(times, words, time.header)
        if dated is not None and dated.begin_unix_s is not None and times.begin_unix_s is None:
            begin = dated.begin_unix_s - float(np.nan_to_num(times.t_s[:1]).sum())
            times = replace(times, clock=dated.clock, begin_unix_s=begin)
        if times.doubt:
            self._doubts.setdefault(times.doubt)
        remark_unread(self._source, section, times.t_s)
        between = np.diff(np.unique(times.t_s[np.isfinite(times.t_s)]))
        if len(between) and float(np.median(between)) > _RAREST_S:
            raise self._source.error(
                f"its rows are {float(np.median(between)) / 3600:.3g} h apart: no log of a drive"
            )
        return times

    def _in_seconds(self, times: Times, words: Sequence[str], header: str) -> Times:
        """Plain numbers without a unit: whole ones that go up in hundreds are milliseconds."""
        first = next(iter(words), "")
        between = np.diff(times.t_s[np.isfinite(times.t_s)])
        between = between[between > 0]
        if ":" in first or len(between) == 0:
            return times
        usual = float(np.median(between))
        is_ms = usual >= 200 and usual not in (300.0, 600.0, 900.0, 1800.0, 3600.0)
        self._doubts.setdefault(
            f"'{header}' has no unit: read as {'milliseconds' if is_ms else 'seconds'}"
        ) if is_ms or usual >= 100 else None
        return replace(times, t_s=times.t_s * 1e-3) if is_ms else times

    def _values(
        self, section: Section, columns: list[_Column]
    ) -> tuple[dict[str, Array], dict[str, Array], dict[str, Array]]:
        values: dict[str, Array] = {}
        states: dict[str, Array] = {}
        totals: dict[str, Array] = {}
        guessed = _unit_by_magnitude(
            section.columns[c.index]
            for c in columns
            if c.meaning.column.endswith("bw_mb_s") and not c.meaning.has_unit
        )
        one = {c.meaning.column.split("_")[0] for c in columns if c.meaning.is_rate}
        for column in columns:
            what = column.meaning
            name = what.column
            if what.state:
                told = throttling_of(section.words[column.index])
                if told is not None and told[1]:
                    values[name] = told[0]
                elif told is not None:
                    states[name.split(".", 1)[1]] = told[0]
                continue
            raw = section.columns[column.index]
            if what.is_total:
                totals[name] = raw * what.scale
                self._notes.setdefault(what.note)
                continue
            if name.startswith("temp_c.") and not what.has_unit:
                what = _temperature_by_size(what, raw, column.header)
            if name.startswith("lat_") and name != "lat_us":
                if len(one) != 1 or not one <= {"read", "write"}:
                    continue
                name = f"{next(iter(one))}_{name}"
            if name.endswith("bw_mb_s") and not what.has_unit:
                unit, scale = guessed
                doubt = f"throughput without a unit ('{column.header}') is read as {unit}"
                what = replace(what, scale=scale, doubt=doubt)
            if what.doubt:
                self._doubts.setdefault(what.doubt)
            if what.note:
                self._notes.setdefault(what.note)
            plain = what.scale == 1.0 and what.offset == 0.0
            values[name] = raw if plain else raw * what.scale + what.offset
        return values, states, totals


def _identity(header: str) -> str:
    return {"model": "model", "serial": "serial"}.get(slug(header), "path")


def _texts(words: Sequence[str]) -> Texts:
    same: dict[str, str] = {}
    return np.array([same.setdefault(word, word) for word in words], dtype=object)


def _temperature_by_size(what: Meaning, raw: Array, header: str) -> Meaning:
    """What a temperature without a unit must be in to be one."""
    known = raw[np.isfinite(raw) & (raw > 0)]
    usual = float(np.median(known)) if len(known) else 0.0
    if 250 < usual < 400:
        return replace(what, offset=-273.15, doubt=f"'{header}' is read as kelvin")
    if 5000 < usual < 150_000:
        return replace(what, scale=1e-3, doubt=f"'{header}' is read as thousandths of a degree")
    return what


def _unit_by_magnitude(rates: Iterable[Array]) -> tuple[str, float]:
    """What rates without a unit must be in to be a drive's, and how much of a MB/s that is."""
    known = [values[np.isfinite(values) & (values > 0)] for values in rates]
    typical = max((float(np.median(values)) for values in known if len(values)), default=0.0)
    if typical > 2e7:
        return "bytes a second", 1e-6
    return ("kB/s", 1e-3) if typical > 2e4 else ("MB/s", 1.0)


_CAPACITY = re.compile(r"\d ?[GT]B\b")


def _is_known(found: Meaning, header: str) -> bool:
    """Whether a temperature is the host's, or of what its name says is a drive."""
    named = found.column.startswith(("temp_c.cpu", "temp_c.gpu", "temp_c.ambient", "temp_c.case"))
    is_temperature = found.column.startswith("temp_c.")
    return not is_temperature or named or names_drive(header) or bool(_CAPACITY.search(header))


def _is_warmth(cell: str) -> bool:
    try:
        return 5 <= float(cell.replace(",", ".")) <= 125
    except ValueError:
        return False


def _is_number(text: str) -> bool:
    try:
        return 0 < float(text) < 1e6
    except ValueError:
        return False


def _pivoted(rows: Rows, directions: Sequence[str]) -> Rows:
    """Rows of one direction each, as rows with a column for each direction."""
    kinds = {word: direction_of(word) for word in set(directions)}
    which = [kinds[word] for word in directions]
    masks = {kind: np.array([w == kind for w in which]) for kind in ("read", "write")}
    columns: dict[str, Array] = {}
    for name, values in rows.columns.items():
        if name in ("bw_mb_s", "iops") or name.startswith("lat_"):
            for kind, mask in masks.items():
                if mask.any():
                    columns[f"{kind}_{name}"] = np.where(mask, values, np.nan)
        else:
            columns[name] = values
    return _merged(replace(rows, columns=columns))


def _picked(words: Sequence[str], which: Indices) -> list[str]:
    texts = list(words)
    return [texts[index] for index in which.tolist()]


def _part(rows: Rows, which: Indices, drive: dict[str, str]) -> Rows:
    """Some of the rows."""
    return replace(
        rows,
        times=replace(rows.times, t_s=rows.times.t_s[which]),
        columns={name: values[which] for name, values in rows.columns.items()},
        states={name: values[which] for name, values in rows.states.items()},
        totals={name: values[which] for name, values in rows.totals.items()},
        labels={name: texts[which] for name, texts in rows.labels.items()},
        steps=None if rows.steps is None else _picked(rows.steps, which),
        runs=None if rows.runs is None else _picked(rows.runs, which),
        drive=drive,
    )


def _merged(rows: Rows) -> Rows:
    """Neighbouring rows of the same time as one row."""
    t_s = rows.times.t_s
    if len(t_s) < 2:
        return rows
    first = np.concatenate([[True], t_s[1:] != t_s[:-1]])
    if first.all():
        return rows
    group = np.cumsum(first) - 1
    keep = np.flatnonzero(first)
    kept = _part(rows, keep, dict(rows.drive))

    def fold(values: Array) -> Array:
        out = np.full(len(keep), np.nan)
        known = np.isfinite(values)
        out[group[known][::-1]] = values[known][::-1]
        return out

    return replace(
        kept,
        columns={name: fold(values) for name, values in rows.columns.items()},
        states={name: fold(values) for name, values in rows.states.items()},
        totals={name: fold(values) for name, values in rows.totals.items()},
    )


FORMAT = Format("plain", "a delimited table (CSV)", _recognises, _read)
