"""Any delimited table with a header, whose names tell what its columns mean; AIDA64's, too."""

import csv
import io
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np

from heatsoak.importer import block_devices, frames, runs, tables
from heatsoak.importer.formats import Format, plain_columns
from heatsoak.importer.log import Log, Options
from heatsoak.importer.source import Source
from heatsoak.importer.tables import cells, headers, sizes
from heatsoak.importer.tables.headers import TableColumn, meaning
from heatsoak.importer.tables.layout import Layout, headers_of, layout_of, long_rows, split, widened
from heatsoak.importer.tables.rows import Reader, Section, remark_unread, wanted_drives
from heatsoak.importer.timestamps import Times, read_times
from heatsoak.recording import grid
from heatsoak.words import amount_text, counted, listed

#: A table with rows farther apart than this shows no throttling: it is something else.
_MAX_INTERVAL_S = 6 * 3600.0
#: A column of dstat's, whose rates are in bytes, where its other lines were removed.
_DSTAT_COLUMN = "writ"
#: Rows given as values by name: so many tell which columns there are.
_FIRST_ROWS, _MAX_COLUMNS = 50, 2000
#: The column of times of rows that have none, as they are counted.
COUNTED = "time [s]"
#: Less than a counter of bytes or KiB grows at work.
_LEAST_GROWTH = 1e3
#: With fewer rows a column's texts may count them or not.
_MIN_ROWS = 10


def _recognises(source: Source) -> bool:
    if source.first_character in ("{", "[", "<"):
        return False
    layout = layout_of(source)
    if layout is None or not (layout.header or len(layout.rows) > 1):
        return False
    found = [what for name in layout.header if (what := meaning(name)) is not None]
    # between blanks stand words of prose, too
    is_named = any(layout.delimiter is not None or not what.is_role for what in found)
    return is_named or _has_rows(source, layout)


def _has_rows(source: Source, layout: Layout) -> bool:
    """Whether most lines have as many cells, of values: prose and listings have some by chance."""
    below = [line for line in source.head_lines[layout.first - 1 :] if line.strip()]
    alike = [line for line in below if len(split(line, layout.delimiter)) == layout.width]
    told = [cell for row in layout.rows for cell in row if cell.strip()]
    are_values = 2 * sum(map(cells.is_value, told)) > len(told)
    has_names = bool(layout.header) and layout.delimiter is not None
    return 2 * len(alike) >= len(below) and (are_values or has_names)


def _read(source: Source, options: Options, format_name: str = "plain") -> list[Log]:
    layout = layout_of(source)
    if layout is None:
        raise source.error("holds no table of rows and columns")
    is_crowded = format_name == AIDA64.name
    if not (is_crowded or options.mapping) and (readings := long_rows(source, layout)) is not None:
        return read_rows(source, options, widened(source, readings))
    return read_table(source, layout, options, format_name, is_crowded=is_crowded)


def read_rows(source: Source, options: Options, rows: Iterator[dict[str, Any]]) -> list[Log]:
    """Return the runs of a table whose rows are values by the names of their columns."""
    first = list(islice(rows, _FIRST_ROWS))
    columns = list(dict.fromkeys(key for row in first for key in row))[:_MAX_COLUMNS]
    if "interval_s" in options.mapping:
        columns = [name for name in columns if name != COUNTED]
    text = io.StringIO()
    table = csv.DictWriter(text, columns, restval="", extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    table.writerows(chain(first, rows))
    # JSON may hold half a character, which no text can
    own = Source.of_bytes(source.name, text.getvalue().encode(errors="replace"))
    logs = _read(own, options)
    source.remarks |= own.remarks
    return logs


def read_table(
    source: Source, layout: Layout, options: Options, format_name: str, *, is_crowded: bool = False
) -> list[Log]:
    """Return the runs of a table whose headers say what its columns are.

    With `is_crowded` it is of a monitor: a repeated header starts a new run, and as most
    temperatures are not a drive's, only those that say so are taken.
    """
    layout = replace(layout, header=headers_of(layout))
    if not layout.header and not options.mapping:
        raise plain_columns.no_header(source, layout)
    return read_columns(
        plain_columns.Columns(source, layout, options, is_crowded=is_crowded), format_name
    )


def read_columns(columns: plain_columns.Columns, format_name: str) -> list[Log]:
    """Return the runs of a table; where it is crowded, a repeated header begins a run."""
    source = columns.source
    table = _Table(columns)
    reader = Reader(source, columns.layout, columns.choose)
    parts = []
    for number, section in enumerate(reader.sections()):
        for rows in table.rows(section):
            marks = section.marks if columns.is_crowded else ()
            parts.append(replace(rows, marks=marks, goes_on=number > 0))
    if reader.doubt:
        source.remark(reader.doubt)
    logs = runs.logs_of(format_name, source.name, parts)
    if not logs:
        raise source.error("holds no row whose time can be read")
    return _with_other_drives(logs, table.idle)


class _Table:
    """Makes runs of the sections that are read."""

    def __init__(self, columns: plain_columns.Columns) -> None:
        self._columns, self._source, self._options = columns, columns.source, columns.options
        #: Drives that are left out where others are not, by name.
        self.idle: set[str] = set()
        header = columns.layout.header
        is_us = header[:1] and header[0].startswith("(PDH-CSV")
        # these write American dates, whatever the machine's language
        self._day_first = False if is_us or any("\x1f" in name for name in header) else None

    def rows(self, section: Section) -> list[runs.Rows]:
        """Return the rows of a section, by device where its headers or a column name some."""
        heading = section.header, section.units
        columns = self._columns.of(section)
        by_role = {c.quantity: c for c in columns if c.is_role}
        times = self._times(section, by_role)
        devices = [d for d in dict.fromkeys(c.owner for c in columns) if d]
        wanted = wanted_drives(self._source, self._options, devices) if devices else []
        by_device: dict[str, list[TableColumn]] = {}
        for column in columns:
            if not column.is_role:
                by_device.setdefault(column.owner, []).append(column)
        parts = []
        labels = {
            tables.slug(section.header[index]): _texts(section.words[index])
            for index in self._columns.labels[heading]
        }
        for device in wanted or [""]:
            # columns of no device first, so that a device's own replace them
            own = by_device.get("", []) + (by_device.get(device, []) if device else [])
            values, states, totals = self._values(section, own, times.t_s)
            direction = by_role.get("direction")
            part = runs.Rows(
                times,
                values,
                states,
                totals,
                labels,
                steps=self._labels(section, by_role.get("step")),
                runs=self._labels(section, by_role.get("run")) or self._setups(labels),
                has_passes=_has_passes(section.header),
                drive=self._columns.identities.get(device, {"path": device}),
            )
            owners = self._owners(section, times, by_role)
            words = [] if direction is None else list(section.words[direction.index])
            for one, rows in self._of_devices(part, owners):
                if direction is None:
                    parts.append(self._apart(rows))
                else:
                    parts.append(
                        _pivoted(rows, words if one is None else runs.picked_words(words, one))
                    )
        named = {column.name for column in columns if column.owner}
        shared = {column.name for column in by_device.get("", [])} - named
        return self._busy(parts, shared if wanted else ()) if len(parts) > 1 else parts

    def _owners(
        self, section: Section, times: Times, by_role: dict[str, TableColumn]
    ) -> Sequence[str] | None:
        """Which drive or host each row is of, by as few columns as tell rows of one time apart."""
        owner = by_role.get("device")
        self._identity = _identity(owner.header) if owner is not None else "path"
        told: dict[int, Sequence[str]] = {}
        if owner is not None:
            told[owner.index] = section.words[owner.index]
        others = [by_role[role] for role in ("direction", "step", "run") if role in by_role]
        keys: list[Any] = times.t_s.tolist()
        if len(set(keys)) < len(keys):
            kinds = [section.words[column.index] for column in others]
            keys = list(zip(keys, *kinds, *told.values(), strict=True))
            for index in self._columns.owners[section.header, section.units]:
                words = list(section.words[index])
                also = list(zip(keys, words, strict=True))
                names = len(set(zip(words, *told.values(), strict=True)))
                # runs of one drive, each with a clock from 0, have the same times one by one
                changes = sum(map(str.__ne__, words[1:], words))
                is_of_runs = times.clock == "none" and changes < plain_columns.MIN_ROWS_EACH * names
                counts_rows = plain_columns.MIN_ROWS_EACH * names > len(words)
                if len(set(also)) > len(set(keys)) and not (is_of_runs or counts_rows):
                    told[index], keys, self._identity = words, also, "path"
        if len(told) < 2:
            return next(iter(told.values()), None)
        each = (told[index] for index in sorted(told))
        return [" ".join(words) for words in zip(*each, strict=True)]

    def _setups(self, labels: dict[str, runs.Texts]) -> Sequence[str] | None:
        """How the runs were made, where that changes and no column numbers the runs."""
        for name, texts in labels.items():
            changes = int(np.count_nonzero(texts[1:] != texts[:-1]))
            if name in tables.TOKENS["setups"] and 1 <= changes < len(texts) / _MIN_ROWS:
                words = [str(text) for text in texts]
                if not any(map(cells.is_value, set(words))):
                    return words
        return None

    def _labels(self, section: Section, column: TableColumn | None) -> Sequence[str] | None:
        """The column's texts; None where they only count the rows."""
        if column is None:
            return None
        words = section.words[column.index]
        if len(words) > _MIN_ROWS and plain_columns.MIN_ROWS_EACH * len(set(words)) > len(words):
            self._source.note(f"'{column.header}' counts rows: not used for steps or runs")
            return None
        return words

    def _busy(self, parts: list[runs.Rows], shared: Container[str]) -> list[runs.Rows]:
        """The drives that moved anything or were hot, or all of them if none did.

        `shared` are columns that are of no drive alone.
        """
        loads = [
            sum(float(np.nansum(v)) for n, v in part.columns.items() if n.endswith("bw_mb_s"))
            + sum(float(np.ptp(v[np.isfinite(v)])) for v in part.totals.values() if (v == v).any())
            for part in parts
        ]
        kept: list[runs.Rows] = []
        left: list[tuple[runs.Rows, float]] = []
        for part, load in zip(parts, loads, strict=True):
            own = {name: v for name, v in part.columns.items() if name not in shared}
            warmth = (values for name, values in own.items() if name.startswith("temp_c."))
            has_values = any(np.isfinite(v).any() for v in [*own.values(), *part.totals.values()])
            if has_values and runs.counts_among(load, max(loads), warmth):
                kept.append(part)
            else:
                left.append((part, load))
        if not kept:
            return parts
        if left:
            names = [name_of(part.drive) for part, _ in left]
            self._source.note(f"drives without load are left out: {listed(names, 20)}")
        # what little they moved stands beside the others
        also = [part for part, load in left if load > 0 and part.drive.get("path")]
        self.idle |= {part.drive["path"] for part in also}
        self.idle -= {str(part.drive.get("path")) for part in kept}
        return kept + also

    def _of_devices(
        self, rows: runs.Rows, devices: Sequence[str] | None
    ) -> Iterator[tuple[runs.Indices | None, runs.Rows]]:
        """The rows of each device that a column names, with their indices."""
        if devices is None:
            yield None, rows
            return
        found = runs.grouped(devices)
        wanted = wanted_drives(self._source, self._options, [name for name in found if name])
        rows = replace(
            rows,
            steps=None if rows.steps is None else list(rows.steps),
            runs=None if rows.runs is None else list(rows.runs),
        )
        for name in wanted:
            which = found[name]
            yield which, replace(rows.part(which), drive={self._identity: name})

    def _times(self, section: Section, by_role: dict[str, TableColumn]) -> Times:
        rows = len(section)
        if self._columns.interval_s is not None and by_role.keys().isdisjoint(tables.TIMES):
            return Times(
                np.arange(1.0, rows + 1) * np.float64(self._columns.interval_s), "none", None
            )
        time = by_role.get("time") or by_role.get("uptime") or by_role["date"]
        date = by_role.get("date")
        words: Sequence[str] = section.words[time.index]
        scale = time.unit.scale if time.has_unit else None
        dated: Times | None = None
        if date is not None and date is not time:
            if ":" in next(iter(words), ""):
                joined = cells.Words()
                for both in zip(section.words[date.index], words, strict=True):
                    joined.append(" ".join(both))
                words, date = joined, None
            else:
                dated = read_times(section.words[date.index])
        times = read_times(words, scale, day_first=self._day_first)
        if scale is None and times.clock == "none":
            times = self._in_seconds(times, words, time.header)
        if dated is not None and dated.start_unix_s is not None and times.start_unix_s is None:
            begin = dated.start_unix_s - float(np.nan_to_num(times.t_s[:1]).sum())
            times = replace(times, clock=dated.clock, start_unix_s=begin)
        if times.doubt:
            self._source.remark(times.doubt, times.touches)
        remark_unread(self._source, section, times.t_s)
        usual_s = grid.usual_of(np.diff(np.unique(times.t_s[np.isfinite(times.t_s)])))
        if usual_s > _MAX_INTERVAL_S:
            raise self._source.error(
                f"its rows are {amount_text(usual_s / 3600, 'h')} apart: not a log of a drive"
            )
        return times

    def _apart(self, rows: runs.Rows) -> runs.Rows:
        """Rows that all carry one time, the end's or the beginning's, as far apart as is stated."""
        known = rows.times.t_s[np.isfinite(rows.times.t_s)]
        is_one_run = rows.steps is None and rows.runs is None
        if len(known) < _MIN_ROWS or len(np.unique(known)) > 1 or not is_one_run:
            return rows
        seconds = self._columns.interval_s or 1.0
        every, apart = counted(len(known), "row"), amount_text(seconds, "s")
        how = "" if self._columns.interval_s else " (--map interval_s=SECONDS says how far)"
        text = f"its {every} all carry the same time: taken as {apart} apart{how}"
        self._source.remark(text, ("time", "identity"))
        t_s = known[0] + np.cumsum(np.isfinite(rows.times.t_s)) * seconds
        t_s = np.where(np.isfinite(rows.times.t_s), t_s, np.nan)
        return replace(rows, times=replace(rows.times, t_s=t_s))

    def _in_seconds(self, times: Times, words: Sequence[str], header: str) -> Times:
        """Plain numbers without a unit: whole ones that go up in hundreds are milliseconds."""
        first = next(iter(words), "")
        usual = grid.usual_of(np.diff(times.t_s[np.isfinite(times.t_s)]))
        if ":" in first or not usual:
            return times
        is_ms = usual >= 200 and usual not in (300.0, 600.0, 900.0, 1800.0, 3600.0)
        if is_ms or usual >= 100:
            unit = "milliseconds" if is_ms else "seconds"
            self._source.remark(f"'{header}' has no unit: read as {unit}", ("time",))
        return replace(times, t_s=times.t_s * 1e-3) if is_ms else times

    def _values(
        self, section: Section, columns: list[TableColumn], t_s: frames.Array
    ) -> tuple[dict[str, frames.Array], dict[str, frames.Array], dict[str, frames.Array]]:
        values: dict[str, frames.Array] = {}
        states: dict[str, frames.Array] = {}
        totals: dict[str, frames.Array] = {}
        growing: dict[str, str] = {}
        raws = {c.index: self._upward(c, section.columns.get(c.index)) for c in columns}
        counted = _counted(columns, raws)
        guessed = sizes.unit_by_magnitude(
            frames.rates(raws[c.index], t_s) if c.index in counted else raws[c.index]
            for c in columns
            if c.quantity == "bw_mb_s" and not c.has_unit
        )
        if any(c.header == _DSTAT_COLUMN for c in columns if not c.has_unit):
            guessed = sizes.IN_BYTES
        ways = {c.direction for c in columns if c.is_rate}
        for column in columns:
            if column.is_state:
                throttling = cells.throttling_of(section.words[column.index])
                if throttling is not None and throttling[1]:
                    values[column.name] = throttling[0]
                elif throttling is not None:
                    states[column.name.split(".", 1)[1]] = throttling[0]
                continue
            raw = raws[column.index]
            if column.quantity == "lat_us" and column.statistic and column.direction is None:
                if len(ways) != 1 or None in ways:
                    continue
                column = replace(column, direction=next(iter(ways)))
            if column.is_temperature and not column.has_unit:
                column = sizes.temperature_by_size(column, raw)
            if column.quantity == "bw_mb_s" and not (column.has_unit or column.is_total):
                text = f"throughput without a unit ('{column.header}') is read as {guessed[0]}"
                column = replace(column, unit=tables.Unit("rate", guessed[1], doubt=text))
            name, unit = column.name, column.unit
            if unit.doubt:
                self._source.remark(unit.doubt, unit.touches)
            if unit.note:
                self._source.note(unit.note)
            if column.is_total or column.index in counted:
                totals[name] = raw * unit.scale
                if not column.is_total:
                    growing[name] = (
                        f"'{column.header}' only grows: read as a counter, not as a rate"
                    )
                continue
            is_plain = unit.scale == 1.0 and unit.offset == 0.0
            values[name] = raw if is_plain else raw * unit.scale + unit.offset
        has_bytes = any(name.endswith("bw_mb_s") for name in (*values, *(totals.keys() - growing)))
        for name, text in growing.items():
            # what is judged are bytes, where they were logged
            if has_bytes and name.endswith("iops"):
                self._source.note(text)
            else:
                self._source.remark(text, ("rate", "unit"))
        if {headers.VOLTAGE, headers.CURRENT} <= values.keys():
            values["power_w"] = values.pop(headers.VOLTAGE) * values.pop(headers.CURRENT)
            self._source.note("power is voltage times current")
        return values, states, totals

    def _upward(self, column: TableColumn, raw: frames.Array | None) -> frames.Array:
        """A column's numbers; those of a rate that is drawn downward, as netdata does, upward."""
        is_rate = column.is_rate and not column.is_total
        if raw is None or not is_rate or not (raw < 0).any() or (raw > 0).any():
            return np.empty(0) if raw is None else raw
        self._source.note(f"'{column.header}' is negative throughout: taken without sign")
        return -raw


def _with_other_drives(logs: list[Log], idle: Container[str]) -> list[Log]:
    """Lay what other drives of its host moved beside each, where their names are a kernel's.

    Leaves out those that are `idle`.
    """
    hosts: dict[tuple[str, ...], list[tuple[str, Log]]] = {}
    for log in logs:
        words = str(log.drive.get("path", "")).split()
        devices = [
            word for word in words if block_devices.is_disk(word) or block_devices.is_array(word)
        ]
        if len(devices) == 1:
            host = tuple(word for word in words if word not in devices)
            hosts.setdefault(host, []).append((devices[0], log))
    beside: dict[int, Log] = {}
    for found in hosts.values():
        names = {name for name, _ in found}
        drives = [
            log
            for name, log in found
            if block_devices.is_disk(name) and not block_devices.is_part(name, names)
        ]
        own = [log for _, log in found]
        beside |= zip(map(id, own), block_devices.with_other_drives(own, drives), strict=True)
    taken = [beside.get(id(log), log) for log in logs if log.drive.get("path") not in idle]
    if len(taken) == len(logs) or len({str(log.drive.get("path")) for log in taken}) > 1:
        return taken
    path = str(taken[0].drive.get("path"))  # it needs no name to be told apart
    return [replace(log, label=log.label.removeprefix(path).strip()) for log in taken]


def _counted(columns: Sequence[TableColumn], raws: Mapping[int, frames.Array]) -> set[int]:
    """The columns of rates that are counters; one that stands still beside another is one too."""
    grow = {c.index: c.quantity for c in columns if _only_grows(c, raws[c.index])}
    alike = {c.index for c in columns if c.quantity in grow.values()}
    return {*grow, *(n for n in alike if len(np.unique(raws[n][np.isfinite(raws[n])])) == 1)}


def _only_grows(what: TableColumn, raw: frames.Array) -> bool:
    """Whether what should be a rate is a counter: large at first, and never less than before."""
    known = raw[np.isfinite(raw)]
    if not what.is_rate or what.is_total or len(known) < _MIN_ROWS:
        return False
    grown = np.diff(known)
    is_count = bool((grown >= 0).all()) and len(np.unique(known)) >= _MIN_ROWS
    is_ios = what.quantity == "iops"
    if what.has_unit:
        most = sizes.MAX_IOPS if is_ios else sizes.MAX_MB_S / what.unit.scale
        return is_count and float(np.median(known)) > most
    usual = float(np.median(grown))
    is_work = usual > (0.0 if is_ios else _LEAST_GROWTH)
    return is_count and is_work and float(known[0]) > _MIN_ROWS * usual


def _has_passes(header: Sequence[str]) -> bool:
    """Whether columns say how many seconds were read and how many written: one, then the other."""
    ways: set[str | None] = set()
    for name in header:
        rest, unit = tables.split_unit(name)
        is_time = unit is not None and unit.kind == "time" and unit.scale >= 1.0
        if is_time and "per" not in tables.tokens_of(rest):
            ways.add(
                None
                if tables.has_any(tables.tokens_of(rest), "latency")
                else tables.direction_of(rest)
            )
    return {"read", "write"} <= ways


def name_of(drive: Mapping[str, str]) -> str:
    """Return what messages call a drive, by its identity."""
    serial = f" ({drive['serial']})" if drive.get("serial") else ""
    return (drive.get("path") or drive.get("model") or "the drive") + serial


def _identity(header: str) -> str:
    return {"model": "model", "serial": "serial"}.get(tables.slug(header), "path")


def _texts(words: Sequence[str]) -> runs.Texts:
    same: dict[str, str] = {}
    return np.array([same.setdefault(word, word) for word in words], dtype=object)


# --- rows of one direction each ------------------------------------------------------------------


def _pivoted(rows: runs.Rows, directions: Sequence[str]) -> runs.Rows:
    """Rows of one direction each, as rows with columns for both."""
    kinds = {word: tables.direction_of(word) for word in set(directions)}
    which = [kinds[word] for word in directions]
    masks = {kind: np.array([w == kind for w in which]) for kind in ("read", "write")}
    columns: dict[str, frames.Array] = {}
    for name, values in rows.columns.items():
        if name in ("bw_mb_s", "iops") or name.startswith("lat_"):
            for kind, mask in masks.items():
                if mask.any():
                    columns[f"{kind}_{name}"] = np.where(mask, values, np.nan)
        else:
            columns[name] = values
    return _merged(replace(rows, columns=columns))


def _merged(rows: runs.Rows) -> runs.Rows:
    """Neighbouring rows of the same time as one row."""
    t_s = rows.times.t_s
    if len(t_s) < 2:
        return rows
    first = np.concatenate([[True], t_s[1:] != t_s[:-1]])
    if first.all():
        return rows
    group = np.cumsum(first) - 1
    keep = np.flatnonzero(first)
    kept = rows.part(keep)

    def fold(values: frames.Array) -> frames.Array:
        out = np.full(len(keep), np.nan)
        known = np.isfinite(values)
        out[group[known][::-1]] = values[known][::-1]
        return out

    folded = rows.changed(fold)
    return replace(kept, columns=folded.columns, states=folded.states, totals=folded.totals)


# --- AIDA64: lines about the machine, names, a row of units, rows --------------------------------


def _is_aida64(source: Source) -> bool:
    layout = layout_of(source)
    if layout is None:
        return False
    roles = [found.quantity if (found := meaning(name)) else "" for name in layout.header[:3]]
    is_named = any("AIDA64" in line[:200] for line in source.head_lines[: layout.line - 1][:20])
    return roles == ["date", "time", "uptime"] or (
        is_named and not set(roles).isdisjoint(tables.TIMES)
    )


FORMAT = Format("plain", "a delimited table (CSV)", _recognises, _read, priority=200)
AIDA64 = Format(
    "aida64", "AIDA64's sensor log", _is_aida64, partial(_read, format_name="aida64"), 170
)
