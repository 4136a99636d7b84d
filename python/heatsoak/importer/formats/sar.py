"""`sar` and `sadf`: the text of one, the CSV, tables and JSON of the other, in all languages.

What is read: devices (`-d`), transfers of all of them together (`-b`, where there are no others),
the processors (`-u`), and temperatures (`-m TEMP`).
"""

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from heatsoak.importer import sysstat
from heatsoak.importer.block_devices import Devices, Reports
from heatsoak.importer.format import Format
from heatsoak.importer.frames import intervals
from heatsoak.importer.log import Log, Options, Remark
from heatsoak.importer.source import Source
from heatsoak.importer.sysstat_columns import COLUMNS
from heatsoak.importer.timestamps import Times

#: The first two bytes of a binary file.
_MAGIC = (b"\x96\xd5", b"\xd5\x96")
#: A device that stands for all of them: rows of `sar -b`.
_ALL = ""
#: Samples that are this many intervals apart are two runs.
_MAX_GAP_INTERVALS = 3.0
_DAY_S = 86400.0
_RESTART = re.compile(r"LINUX.RESTART")
_TIME = re.compile(
    r"\s*(?:([AP]M|上午|下午|午前|午後|오전|오후)\s*)?"
    r"(\d{1,2})[:.,時时시]\s?(\d{2})[:.,分분]\s?(\d{2})(?:[秒초])?"
    r"(?:\s?([AaPp])\.?\s?[Mm]\.?)?(?=\s|$)\s*(.*)",
    re.ASCII | re.DOTALL,
)
_AFTERNOON = ("PM", "下午", "午後", "오후")
_UNNAMED = re.compile(r"[^a-z0-9]+")
#: JSON's names, where they are not the headers of the text.
_JSON_NAMES = {"rkB": "rkB/s", "wkB": "wkB/s", "rd_sec": "rd_sec/s", "wr_sec": "wr_sec/s",
               "util-percent": "%util", "util": "%util", "bread": "bread/s",
               "bwrtn": "bwrtn/s"}  # fmt: skip


def _recognises(source: Source) -> bool:
    return _is_binary(source) or _kind(source) is not None


def _is_binary(source: Source) -> bool:
    return source.head[:2] in _MAGIC and b"\x21" in source.head[2:4]


def _kind(source: Source) -> Literal["text", "csv", "pairs", "json"] | None:
    for line in source.head_lines:
        if line.startswith("# hostname;interval;timestamp"):
            return "csv"
        if '"disk-device"' in line or '"file-date"' in line:
            return "json"
        if "\t" in line and _pair_of(line.split("\t")) is not None:
            return "pairs"
        if ("tps" in line or "%idle" in line) and "/s" not in line[:6]:
            match = _TIME.match(line)
            if match is not None and _table_of(match.group(6).split()) is not None:
                return "text"
    return None


def _read(source: Source, options: Options) -> list[Log]:
    if _is_binary(source):
        raise source.error(
            "is sar's binary file: 'sadf -d FILE -- -d -u > FILE.csv' makes one to import"
        )
    reader = _Reader(source)
    kind = _kind(source)
    if kind == "csv":
        _take_csv(source, reader)
    elif kind == "pairs":
        _take_pairs(source, reader)
    elif kind == "json":
        _take_json(source, reader)
    else:
        return _logs_of(source, reader, options, _take_text(source, reader))
    stamps = [sysstat.stamp(word) for word in (*reader.numbers, *reader.restarts)]
    return _logs_of(source, reader, options, sysstat.read_stamps(stamps))


FORMAT = Format("sar", "sar", _recognises, _read, priority=120)


# --- rows ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Table:
    """A header: what it is of, where the item's name stands (-1 for last), and its columns.

    Of processors `places` are those of idle and waiting, of temperatures degrees and the device.
    """

    kind: Literal["disk", "io", "cpu", "temp", "other"]
    headers: Sequence[str]
    item_at: int | None = None
    columns: list[sysstat.ReportColumn] = field(default_factory=list)
    places: tuple[int, ...] = ()

    @property
    def width(self) -> int:
        return len(self.headers)


_ITEM_HEADERS: dict[str, Literal["disk", "cpu", "temp"]] = {
    "DEV": "disk", "CPU": "cpu", "TEMP": "temp",
}  # fmt: skip


def _table_of(words: Sequence[str]) -> _Table | None:
    """Return the table whose header these words are; None for what is not a header."""
    if not any(word[:1].isalpha() or word[:1] == "%" for word in words):
        return None
    item_at = next((at for at in (0, len(words) - 1) if words[at] in _ITEM_HEADERS), None)
    kind = None if item_at is None else _ITEM_HEADERS[words[item_at]]
    if kind == "cpu" and "%idle" in words:
        places = tuple(words.index(word) for word in ("%idle", "%iowait") if word in words)
        return _Table("cpu", words, item_at, places=places)
    if kind == "temp" and "degC" in words and "DEVICE" in words:
        return _Table("temp", words, item_at, places=(words.index("degC"), words.index("DEVICE")))
    if kind == "disk" and (columns := sysstat.columns_of(words)):
        return _Table("disk", words, item_at, columns)
    if kind is None and "rtps" in words:
        return _Table("io", words, columns=_io_columns(words))
    if kind is None and not all(word[:1].isalpha() or word[:1] == "%" for word in words):
        return None
    return _Table("other", words)


def _io_columns(headers: Sequence[str]) -> list[sysstat.ReportColumn]:
    """Those of `-b`, whose sum of all transfers counts discards, too."""
    return [column for column in sysstat.columns_of(headers) if column[1] != "iops"]


class _Reader:
    """Takes rows of any layout; all of one time are a report."""

    def __init__(self, source: Source) -> None:
        self.devices = Devices(source)
        self.numbers: dict[Any, int] = {}
        self.lasted_s = array("d")
        self.restarts: list[Any] = []
        self.has_averages = False

    def number(self, time: Any, lasted_s: float = np.nan) -> int:
        """Return the number of the report of this time."""
        number = self.numbers.get(time)
        if number is None:
            number = self.numbers[time] = len(self.lasted_s)
            self.lasted_s.append(lasted_s)
        return number

    def header(self, table: _Table) -> None:
        """Take a table's header."""
        if table.kind in ("disk", "io"):
            self.devices.headers.update(dict.fromkeys(table.headers))

    def row(self, table: _Table, words: Sequence[str], time: Any, lasted_s: float = np.nan) -> bool:
        """Take a row's words; False where they are not such a row."""
        if table.kind == "other":
            return True
        item = words[table.item_at] if table.item_at is not None else _ALL
        if table.kind == "cpu":
            if item in ("all", "-1"):
                idle = sum(sysstat.scaled(words[at], 1.0) for at in table.places)
                self.devices.share("cpu_pct", self.number(time, lasted_s), 100.0 - idle)
        elif table.kind == "temp":
            degrees, device = (words[at] for at in table.places)
            self.degrees(item, device, sysstat.scaled(degrees, 1.0), self.number(time, lasted_s))
        else:
            values = sysstat.values_of(table.columns, words)
            if values is None:
                return False
            self.devices.add(item, self.number(time, lasted_s), values)
        return True

    def degrees(self, item: str, device: str, degrees: float, number: int) -> None:
        """Take a temperature, with the number of its sensor: ``temp_c.nvme_pci_0100_1``."""
        word = _UNNAMED.sub("_", device.lower()).strip("_")
        host = "cpu_" if word.startswith(("coretemp", "k10temp", "zenpower", "cpu")) else ""
        name = f"{host}{word or 'sensor'}_{_UNNAMED.sub('_', item.lower())}"
        self.devices.share(f"temp_c.{name}", number, degrees)


# --- layouts -------------------------------------------------------------------------------------


def _take_text(source: Source, reader: _Reader) -> Times:
    """Take the lines of sar's text, and return the times of its reports and restarts."""
    table: _Table | None = None
    date: str | None = None
    days = 0.0  # from the first heading's day
    sections: dict[tuple[str, ...], float] = {}
    section: tuple[str, ...] = ()
    has_halves = False
    for number, line in source.lines():
        match = _TIME.match(line)
        if match is None:
            heading = sysstat.heading(line)
            if heading is not None:
                stamp = sysstat.stamp(heading.date)
                date = stamp if date is None else date
                days = _days_between(date, stamp, days)
                sections, table = {}, None
            elif table is not None and line.strip() and not reader.has_averages:
                reader.has_averages = ":" in line
            continue
        half_before, hours, minutes, seconds, half, rest = match.groups()
        hour = int(hours)
        if half_before:
            half = "p" if half_before in _AFTERNOON else "a"
        if half:
            has_halves = True
            hour = hour % 12 + (12 if half in "pP" else 0)
        at_s = days * _DAY_S + 3600.0 * hour + 60.0 * int(minutes) + int(seconds)
        words = rest.split()
        if not words:
            continue
        if _RESTART.match(rest):
            reader.restarts.append(at_s)
            continue
        if words[0] == "COM":
            continue
        if words[-1][0] not in "0123456789-+.n" or words[0] in _ITEM_HEADERS:
            found = _table_of(words)
            if found is not None:
                table, section = found, tuple(words)
                reader.header(found)
                continue
        if table is None or len(words) != table.width:
            if table is not None and table.kind in ("disk", "io"):
                reader.devices.unread(number)
            continue
        last_s = sections.get(section)
        if last_s is not None:
            at_s += _DAY_S * max(0.0, np.floor((last_s - at_s) / _DAY_S + 0.5))
        sections[section] = at_s
        if not reader.row(table, words, at_s):
            reader.devices.unread(number)
    t_s = np.array([*reader.numbers, *reader.restarts], dtype=float)
    if date:
        midday = sysstat.read_stamps([f"{date} 12:00:00{' AM' if has_halves else ''}"])
        if midday.clock == "local" and midday.start_unix_s is not None:
            start_unix_s = midday.start_unix_s - (0.0 if has_halves else 0.5 * _DAY_S)
            return Times(t_s, "local", start_unix_s, midday.doubt)
    return Times(t_s, "none", None)


def _days_between(first: str, date: str, otherwise: float) -> float:
    if first == date:
        return 0.0
    times = sysstat.read_stamps([first, date])
    if len(times.t_s) == 2 and np.isfinite(times.t_s).all() and times.clock == "local":
        return float(times.t_s[1] // _DAY_S)
    return otherwise


def _take_csv(source: Source, reader: _Reader) -> None:
    """Take `sadf -d`."""
    tables: list[tuple[_Table, bool]] = []
    for number, line in source.lines():
        if line.startswith("#"):
            names = line.lstrip("# ").strip().split(";")
            if len(names) > 3 and names[2].strip() == "timestamp":
                tables = _csv_tables(names[3:])
                for table, _ in tables:
                    reader.header(table)
            continue
        words = line.strip().split(";")
        if len(words) < 4:
            if line.strip():
                reader.devices.unread(number)
            continue
        lasted_s, time = sysstat.scaled(words[1], 1.0), words[2]
        if _RESTART.match(words[3]):
            reader.restarts.append(time)
            continue
        if words[3].startswith("COM") or all(table.kind == "other" for table, _ in tables):
            continue
        if not _take_groups(reader, tables, words[3:], time, lasted_s):
            reader.devices.unread(number)


def _csv_tables(names: Sequence[str]) -> list[tuple[_Table, bool]]:
    """Return the tables side by side in a header, and whether each is repeated (``[...]``)."""
    tables: list[tuple[_Table, bool]] = []
    group: list[str] = []

    def end(repeats: bool) -> None:
        if group:
            tables.append((_table_of(group) or _Table("other", group), repeats))

    for name in names:
        if name.isupper() and name != "DEVICE":
            end(False)
            group = []
        group = [*group, name.removesuffix("[...]")]
        if name.endswith("[...]"):
            end(True)
            group = []
    end(False)
    return tables


def _take_groups(
    reader: _Reader,
    tables: Sequence[tuple[_Table, bool]],
    words: Sequence[str],
    time: str,
    lasted_s: float,
) -> bool:
    """Take a row's tables; one with several that repeat is taken from its end and its start."""
    at = 0
    for index, (table, repeats) in enumerate(tables):
        after = sum(other.width for other, _ in tables[index + 1 :])
        last = index == len(tables) - 1
        taken = 0
        while at + table.width <= len(words) - (0 if last else after):
            part = words[at : at + table.width]
            if taken and not last and not _fits(table, part):
                break
            if not reader.row(table, part, time, lasted_s):
                return False
            at += table.width
            taken += 1
            if not repeats:
                break
        if not taken:
            return False
    return at == len(words)


def _fits(table: _Table, words: Sequence[str]) -> bool:
    """Whether a repeated table continues here: numbers where it has numbers, a name of its kind."""
    item = words[table.item_at] if table.item_at is not None else ""
    if table.kind == "cpu" and not item.lstrip("-").isdecimal():
        return False
    return all(
        sysstat.is_number(word) for at, word in enumerate(words) if at != table.item_at
    ) and (table.kind != "disk" or not sysstat.is_number(item))


def _pair_of(words: Sequence[str]) -> tuple[str, str] | None:
    """Return the time and the header of a line of ``sadf -p``."""
    if len(words) != 6 or not words[1].lstrip("-").isdecimal():
        return None
    header = words[4]
    if header in COLUMNS or header in ("%idle", "%iowait"):
        return words[2], header
    return None


def _take_pairs(source: Source, reader: _Reader) -> None:
    """Take `sadf -p`: a value a line."""
    idle: dict[int, float] = {}
    for number, line in source.lines():
        words = line.rstrip().split("\t")
        if len(words) > 3 and _RESTART.match(words[3]):
            reader.restarts.append(words[2])
            continue
        pair = _pair_of(words)
        if pair is None:
            if len(words) < 4 and line.strip():
                reader.devices.unread(number)
            continue
        time, header = pair
        item = words[3]
        columns = _io_columns([header]) if item == "-" else sysstat.columns_of([header])
        values = sysstat.values_of(columns or [(0, "idle", 1.0)], words[5:])
        if values is None:
            reader.devices.unread(number)
            continue
        report = reader.number(time, sysstat.scaled(words[1], 1.0))
        if columns:
            reader.devices.headers[header] = None
            reader.devices.add(_ALL if item == "-" else item, report, values)
        elif item == "all":
            idle[report] = idle.get(report, 0.0) + values[0][1]
    for report, value in idle.items():
        reader.devices.share("cpu_pct", report, 100.0 - value)


def _take_json(source: Source, reader: _Reader) -> None:
    """Take `sadf -j`: a report's time stands before its values."""
    time: str | None = None
    lasted_s = np.nan
    for key, value in sysstat.json_parts(source, reader.devices.unread):
        if key == "timestamp":
            time, lasted_s = _json_time(value)
        if not isinstance(value, dict):
            continue
        restart, _ = _json_time(value.get("boot"))
        if restart is not None:
            reader.restarts.append(restart)
        if time is None:
            continue
        device, idle = value.get("disk-device"), sysstat.json_number(value.get("idle"))
        degrees, item = sysstat.json_number(value.get("degC")), value.get("number")
        if isinstance(device, str) and device:
            _take_values(reader, device, value, reader.number(time, lasted_s))
        elif key == "io":
            both = [sysstat.member(value, part) or {} for part in ("io-reads", "io-writes")]
            flat = {name: number for part in both if isinstance(part, dict)
                    for name, number in part.items()}  # fmt: skip
            _take_values(reader, _ALL, flat, reader.number(time, lasted_s))
        elif value.get("cpu") in ("all", "-1") and idle == idle:
            waiting = sysstat.json_number(value.get("iowait"))
            busy = 100.0 - idle - (0.0 if waiting != waiting else waiting)
            reader.devices.share("cpu_pct", reader.number(time, lasted_s), busy)
        elif degrees == degrees and isinstance(item, (int, str)):
            name = str(value.get("device"))[:100]
            reader.degrees(str(item)[:20], name, degrees, reader.number(time, lasted_s))


def _take_values(reader: _Reader, device: str, given: dict[str, Any], number: int) -> None:
    # newer versions have sectors besides kB
    keys = dict.fromkeys(key for key in ("rkB", "wkB", *given) if key in given)
    values = {_JSON_NAMES.get(key, key): given[key] for key in keys}
    found = sysstat.json_values(values)
    if found:
        reader.devices.headers.update(dict.fromkeys(values))
        reader.devices.add(device, number, found)


def _json_time(value: Any) -> tuple[str | None, float]:
    date, time = sysstat.member(value, "date"), sysstat.member(value, "time")
    if not isinstance(date, str) or not isinstance(time, str):
        return None, np.nan
    zone = " UTC" if value.get("utc") == 1 else ""
    return f"{date} {time}{zone}", sysstat.json_number(value.get("interval"))


# --- when the reports were -----------------------------------------------------------------------


def _logs_of(source: Source, reader: _Reader, options: Options, times: Times) -> list[Log]:
    """Return the logs of reports; `times` are theirs, by their numbers, and then of restarts."""
    devices = reader.devices
    remarks = [Remark(times.doubt, True, ("time",))] if times.doubt else []
    together = devices.rows.pop(_ALL, None)
    if together is not None and not devices.rows:
        devices.rows[_ALL] = together
    if not devices.rows:
        if not any(name.startswith("temp_c.") for name in devices.host):
            only_averages = reader.has_averages and not reader.numbers
            what = "only averages" if only_averages else "no devices"
            raise source.error(f"holds {what}: 'sar -d' with an interval reports on devices")
        for number in reader.numbers.values():
            devices.add(_ALL, number, [])
    runs = _runs(reader, times, tuple(remarks))
    if not runs:
        raise source.error("has no report whose time can be read")
    return devices.logs("sar", options, runs)


def _runs(reader: _Reader, times: Times, remarks: tuple[Remark, ...]) -> list[Reports]:
    """Cut the reports into runs: at restarts, and where there were none for a while."""
    t_s, restarts = times.t_s[: len(reader.numbers)], times.t_s[len(reader.numbers) :]
    order = np.argsort(t_s, kind="stable")
    order = order[np.isfinite(t_s[order])]
    if not len(order):
        return []
    at_s = t_s[order]
    stated_s = np.frombuffer(reader.lasted_s, dtype=float)[order]
    usual_s = intervals(at_s)
    is_cut = np.zeros(len(at_s), dtype=bool)
    if len(at_s) > 1:
        between_s = np.diff(at_s)
        is_cut[1:] = between_s > _MAX_GAP_INTERVALS * float(np.median(between_s))
    after = np.searchsorted(at_s, restarts[np.isfinite(restarts)], side="right")
    is_cut[after.clip(0, len(at_s) - 1)] = True
    is_cut[0] = True
    begins = np.flatnonzero(is_cut)
    runs = []
    for begin, end in zip(begins, [*begins[1:], len(order)], strict=True):
        part = slice(int(begin), int(end))
        ends_s = sysstat.apart(at_s[part])
        stated = stated_s[part]
        lasted_s = np.where((stated > 0) & (stated < 1e6), stated, intervals(ends_s))
        if end - begin == 1 and not lasted_s[0] > 0:
            lasted_s = usual_s[part]
        clock, start_unix_s = times.clock, times.start_unix_s
        runs.append(Reports(ends_s, lasted_s, order[part], clock, start_unix_s, remarks=remarks))
    return runs
