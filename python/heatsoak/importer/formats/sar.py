"""`sar` and `sadf`: the text of one, the CSV, tables and JSON of the other, in all locales.

What is read: devices (`-d`), transfers of all of them together (`-b`, where there are no others),
the processors (`-u`), and temperatures (`-m TEMP`).
"""

import re
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

from heatsoak.importer import sysstat
from heatsoak.importer.block_devices import Devices, Reports
from heatsoak.importer.formats.base import Format
from heatsoak.importer.frames import Array, intervals
from heatsoak.importer.log import Clock, Log, Options, Remark
from heatsoak.importer.source import Source

Kind = Literal["disk", "io", "cpu", "temp", "other"]

#: The first two bytes of a binary file, and what it is called.
_MAGIC = (b"\x96\xd5", b"\xd5\x96")
_DAY_S = 86400.0
#: Samples further apart than so many intervals are two runs.
_LONGEST_GAP = 3.0
#: A device that stands for all of them: rows of `sar -b`.
_ALL = ""

_TIME = re.compile(
    r"\s*(?:([AP]M|上午|下午|午前|午後|오전|오후)\s*)?"
    r"(\d{1,2})[:.,時时시]\s?(\d{2})[:.,分분]\s?(\d{2})(?:[秒초])?"
    r"(?:\s?([AaPp])\.?\s?[Mm]\.?)?(?=\s|$)\s*(.*)",
    re.ASCII | re.DOTALL,
)
_RESTART = re.compile(r"LINUX.RESTART")
_ITEM_HEADERS = {"DEV": "disk", "CPU": "cpu", "TEMP": "temp"}
#: JSON's names, where they are not the headers of the text.
_JSON_NAMES = {"rkB": "rkB/s", "wkB": "wkB/s", "rd_sec": "rd_sec/s", "wr_sec": "wr_sec/s",
               "util-percent": "%util", "util": "%util"}  # fmt: skip
_UNNAMED = re.compile(r"[^a-z0-9]+")


@dataclass
class _Table:
    """A header: what kind it is of, where the item's name stands (-1 for last), and columns."""

    kind: Kind
    width: int
    item_at: int | None = None
    columns: list[tuple[int, str, float]] = field(default_factory=list)
    #: For processors where idle and waiting stand; for temperatures degrees and the device.
    places: tuple[int, ...] = ()


class _Reader:
    """Takes rows, and keeps what they tell by their time."""

    def __init__(self) -> None:
        self.devices = Devices()
        self.headers: dict[str, None] = {}
        self.numbers: dict[Any, int] = {}
        self.lasted_s = array("d")
        self.shared: dict[str, dict[int, float]] = {}
        self.restarts: list[Any] = []
        self.averages = False
        self.bad = self.first_bad = 0

    def number(self, time: Any, lasted_s: float = np.nan) -> int:
        """Return the number of the report of this time."""
        number = self.numbers.get(time)
        if number is None:
            number = self.numbers[time] = len(self.lasted_s)
            self.lasted_s.append(lasted_s)
        return number

    def row(self, table: _Table, words: Sequence[str], time: Any, lasted_s: float) -> bool:
        """Take a row's words; False where they are not such a row."""
        if table.kind == "other":
            return True
        values: list[tuple[str, float]] = []
        for at, name, scale in table.columns:
            value = sysstat.scaled(words[at], scale)
            if value != value and not sysstat.is_number(words[at]):
                return False
            values.append((name, value))
        item = words[table.item_at] if table.item_at is not None else _ALL
        if table.kind == "cpu":
            if item in ("all", "-1"):
                idle = sum(sysstat.scaled(words[at], 1.0) for at in table.places)
                self.share("cpu_pct", self.number(time, lasted_s), 100.0 - idle)
        elif table.kind == "temp":
            degrees_at, device_at = table.places
            name = f"temp_c.{_sensor(item, words[device_at])}"
            self.share(name, self.number(time, lasted_s), sysstat.scaled(words[degrees_at], 1.0))
        else:
            self.devices.add(item, self.number(time, lasted_s), values)
        return True

    def share(self, column: str, number: int, value: float) -> None:
        self.shared.setdefault(column, {})[number] = value

    def unread(self, line: int) -> None:
        self.bad += 1
        self.first_bad = self.first_bad or line


def _sensor(item: str, device: str) -> str:
    """A sensor's name: its device's and number, ``nvme_pci_0100_1``."""
    word = _UNNAMED.sub("_", device.lower()).strip("_")
    host = "cpu_" if word.startswith(("coretemp", "k10temp", "zenpower", "cpu")) else ""
    return f"{host}{word or 'sensor'}_{_UNNAMED.sub('_', item.lower())}"


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
        if "\t" in line and _pair(line.split("\t")) is not None:
            return "pairs"
        if ("tps" in line or "%idle" in line) and "/s" not in line[:6]:
            match = _TIME.match(line)
            if match is not None and _table(match.group(6).split()) is not None:
                return "text"
    return None


def _table(words: Sequence[str]) -> _Table | None:
    """Return the table whose header these words are; None for what is no header."""
    if not words or not any(word[:1].isalpha() or word[:1] == "%" for word in words):
        return None
    places: tuple[int, ...] = ()
    item_at: int | None = None
    kind: Kind = "other"
    for at in (0, len(words) - 1):
        found = _ITEM_HEADERS.get(words[at])
        if found is not None:
            kind, item_at = found, at  # type: ignore[assignment]
            break
    known = [sysstat.COLUMNS.get(word) for word in words]
    columns: list[tuple[int, str, float]] = []
    if kind == "cpu":
        if "%idle" not in words:
            kind = "other"
        else:
            places = tuple(words.index(w) for w in ("%idle", "%iowait") if w in words)
    elif kind == "temp":
        if "degC" not in words or "DEVICE" not in words:
            kind = "other"
        else:
            places = (words.index("degC"), words.index("DEVICE"))
    elif kind == "disk" or "rtps" in words:
        kind = "disk" if kind == "disk" else "io"
        taken: set[str] = set()
        for at, column in enumerate(known):
            if column is not None and column[0] not in taken:
                taken.add(column[0])
                if not (kind == "io" and column[0] == "iops"):
                    columns.append((at, *column))
        if not columns:
            kind = "other"
    elif not all(word[:1].isalpha() or word[:1] == "%" for word in words):
        return None
    return _Table(kind, len(words), item_at, columns, places)


def _read(source: Source, options: Options) -> list[Log]:
    if _is_binary(source):
        raise source.error(
            "is sar's binary file: 'sadf -d FILE -- -d -u > FILE.csv' makes one to import"
        )
    reader = _Reader()
    kind = _kind(source)
    if kind == "csv":
        logs = _take_csv(source, reader, options)
    elif kind == "pairs":
        logs = _take_pairs(source, reader, options)
    elif kind == "json":
        logs = _take_json(source, reader, options)
    else:
        logs = _take_text(source, reader, options)
    return logs


# --- sar's text ---


def _take_text(source: Source, reader: _Reader, options: Options) -> list[Log]:
    table: _Table | None = None
    date = ""
    first_date: str | None = None
    days = 0.0  # from the first heading's day
    sections: dict[tuple[str, ...], float] = {}
    section: tuple[str, ...] = ()
    halves = False
    for number, line in source.lines():
        match = _TIME.match(line)
        if match is None:
            heading = sysstat.heading(line)
            if heading is not None:
                date = sysstat.stamp(heading.date)
                if first_date is None:
                    first_date = date
                else:
                    days = _days_between(first_date, date, days)
                sections, table = {}, None
            elif table is not None and line.strip() and not reader.averages:
                reader.averages = ":" in line
            continue
        half_before, hours, minutes, seconds, half, rest = match.groups()
        hour = int(hours)
        if half_before:
            half = "p" if half_before in ("PM", "下午", "午後", "오후") else "a"
        if half:
            halves = True
            hour = hour % 12 + (12 if half in "pP" else 0)
        second = 3600.0 * hour + 60.0 * int(minutes) + int(seconds)
        words = rest.split()
        if not words:
            continue
        if _RESTART.match(rest):
            reader.restarts.append(days * _DAY_S + second)
            continue
        if words[0] == "COM":
            continue
        if words[-1][0] not in "0123456789-+.n" or words[0] in _ITEM_HEADERS:
            found = _table(words)
            if found is not None:
                table, section = found, tuple(words)
                if found.kind in ("disk", "io"):
                    reader.headers.update(dict.fromkeys(words))
                continue
        if table is None or len(words) != table.width:
            if table is not None and table.kind in ("disk", "io"):
                reader.unread(number)
            continue
        last = sections.get(section)
        at = days * _DAY_S + second
        if last is not None:
            at += _DAY_S * max(0.0, np.floor((last - at) / _DAY_S + 0.5))
        sections[section] = at
        if not reader.row(table, words, at, np.nan):
            reader.unread(number)
    return _logs_of_clock(source, reader, options, first_date or "", halves)


def _days_between(first: str, date: str, otherwise: float) -> float:
    times = sysstat.read_stamps([first, date])
    if len(times.t_s) == 2 and np.isfinite(times.t_s).all() and times.clock == "local":
        return float(times.t_s[1] // _DAY_S)
    return otherwise


def _logs_of_clock(
    source: Source, reader: _Reader, options: Options, date: str, halves: bool
) -> list[Log]:
    t_s = np.fromiter(reader.numbers.keys(), dtype=float, count=len(reader.numbers))
    begin: float | None = None
    clock: Clock = "none"
    remarks = []
    if date:
        word = f"{date} 12:00:00{' AM' if halves else ''}"
        times = sysstat.read_stamps([word])
        if times.clock == "local" and times.begin_unix_s is not None:
            begin, clock = times.begin_unix_s - (0.0 if halves else 0.5 * _DAY_S), "local"
            if times.doubt:
                remarks.append(Remark(times.doubt, doubt=True))
    restarts = np.asarray(reader.restarts, dtype=float)
    return _logs(source, reader, options, t_s, restarts, clock, begin, remarks)


# --- sadf's text ---


def _take_csv(source: Source, reader: _Reader, options: Options) -> list[Log]:
    tables: list[tuple[_Table, bool]] = []
    for number, line in source.lines():
        if line.startswith("#"):
            names = line.lstrip("# ").strip().split(";")
            if len(names) > 3 and names[2].strip() == "timestamp":
                tables = _csv_tables(names[3:])
                for table, _ in tables:
                    if table.kind in ("disk", "io"):
                        reader.headers.update(dict.fromkeys(names[3:]))
            continue
        words = line.strip().split(";")
        if len(words) < 4:
            if line.strip():
                reader.unread(number)
            continue
        lasted_s, time = sysstat.scaled(words[1], 1.0), words[2]
        if _RESTART.match(words[3]):
            reader.restarts.append(time)
            continue
        if words[3].startswith("COM") or all(table.kind == "other" for table, _ in tables):
            continue
        if not _take_groups(reader, tables, words[3:], time, lasted_s):
            reader.unread(number)
    return _logs_of_words(source, reader, options)


def _csv_tables(names: Sequence[str]) -> list[tuple[_Table, bool]]:
    """Return the tables side by side in a header, and whether each is repeated (``[...]``)."""
    tables: list[tuple[_Table, bool]] = []
    group: list[str] = []
    for name in names:
        if group and name.isupper() and name != "DEVICE":
            tables.append((_table(group) or _Table("other", len(group)), False))
            group = []
        group.append(name.removesuffix("[...]"))
        if name.endswith("[...]"):
            tables.append((_table(group) or _Table("other", len(group)), True))
            group = []
    if group:
        tables.append((_table(group) or _Table("other", len(group)), False))
    return tables


def _take_groups(
    reader: _Reader,
    tables: Sequence[tuple[_Table, bool]],
    words: Sequence[str],
    time: str,
    lasted_s: float,
) -> bool:
    """Take a row's tables; one with several that repeat is taken from its end and its begin."""
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
    """Whether a repeated table goes on here: numbers where it has numbers, a name of its kind."""
    item = words[table.item_at] if table.item_at is not None else ""
    if table.kind == "cpu" and not item.lstrip("-").isdecimal():
        return False
    return all(
        sysstat.is_number(word) for at, word in enumerate(words) if at != table.item_at
    ) and (table.kind != "disk" or not sysstat.is_number(item))


def _pair(words: Sequence[str]) -> tuple[str, str] | None:
    """Return the time and the header of a line of ``sadf -p``."""
    if len(words) != 6 or not words[1].lstrip("-").isdecimal():
        return None
    header = words[4]
    if header in sysstat.COLUMNS or header in ("%idle", "%iowait"):
        return words[2], header
    return None


def _take_pairs(source: Source, reader: _Reader, options: Options) -> list[Log]:
    idle: dict[int, float] = {}
    for number, line in source.lines():
        words = line.rstrip().split("\t")
        if len(words) > 3 and _RESTART.match(words[3]):
            reader.restarts.append(words[2])
            continue
        pair = _pair(words)
        if pair is None:
            if len(words) < 4 and line.strip():
                reader.unread(number)
            continue
        time, header = pair
        lasted_s, item = sysstat.scaled(words[1], 1.0), words[3]
        value = sysstat.scaled(words[5], 1.0)
        if value != value and not sysstat.is_number(words[5]):
            reader.unread(number)
            continue
        report = reader.number(time, lasted_s)
        if header in ("%idle", "%iowait"):
            if item == "all":
                idle[report] = idle.get(report, 0.0) + value
            continue
        name, scale = sysstat.COLUMNS[header]
        if item == "-" and name == "iops":
            continue
        reader.headers[header] = None
        device = _ALL if item == "-" else item
        reader.devices.add(device, report, [(name, sysstat.scaled(words[5], scale))])
    for report, value in idle.items():
        reader.share("cpu_pct", report, 100.0 - value)
    return _logs_of_words(source, reader, options)


def _logs_of_words(source: Source, reader: _Reader, options: Options) -> list[Log]:
    known = list(dict.fromkeys([*reader.numbers, *reader.restarts]))
    stamps = [sysstat.stamp(word) for word in known]
    times = sysstat.read_stamps(stamps)
    at = dict(zip(known, times.t_s.tolist(), strict=True))
    t_s = np.asarray([at[word] for word in reader.numbers], dtype=float)
    restarts = np.asarray([at[word] for word in reader.restarts], dtype=float)
    remarks = [Remark(times.doubt, doubt=True)] if times.doubt else []
    return _logs(source, reader, options, t_s, restarts, times.clock, times.begin_unix_s, remarks)


# --- sadf's JSON ---


def _take_json(source: Source, reader: _Reader, options: Options) -> list[Log]:
    by_lines = any(
        line.lstrip().startswith('"timestamp"') and line.rstrip(" ,").endswith("}")
        for line in source.head_lines
    )
    if not by_lines:
        for document in source.documents():
            for host in _items(_entry(_entry(document.value, "sysstat"), "hosts")):
                for report in _items(_entry(host, "statistics")):
                    _take_report(reader, report)
                for restart in _items(_entry(host, "restarts")):
                    time, _ = _json_time(_entry(restart, "boot"))
                    if time is not None:
                        reader.restarts.append(time)
        return _logs_of_words(source, reader, options)
    parts: dict[str, Any] = {}
    for number, line in source.lines():
        body = line.strip().rstrip(",")
        key = body.partition(":")[0]
        if not body.endswith("}") or not body.startswith(('"timestamp"', '"io"', '{"', '"boot"')):
            continue
        try:
            value = from_json(body if body[0] == "{" else body.partition(":")[2])
        except ValueError:
            reader.unread(number)
            continue
        if key == '"timestamp"':
            _take_report(reader, parts)
            parts = {"timestamp": value, "disk": [], "cpu-load": [], "temperature": []}
        elif key == '"io"':
            parts["io"] = value
        elif isinstance(value, dict):
            for name, kind in (
                ("disk-device", "disk"),
                ("cpu", "cpu-load"),
                ("degC", "temperature"),
            ):
                if name in value and kind in parts:
                    parts[kind].append(value)
            time, _ = _json_time(_entry(value, "boot"))
            if time is not None:
                reader.restarts.append(time)
    _take_report(reader, parts)
    return _logs_of_words(source, reader, options)


def _take_report(reader: _Reader, report: Any) -> None:
    time, lasted_s = _json_time(_entry(report, "timestamp"))
    if time is None:
        return
    for disk in _items(_entry(report, "disk")):
        name = _entry(disk, "disk-device")
        if isinstance(name, str) and name:
            _take_values(reader, name, disk, reader.number(time, lasted_s))
    io = _entry(report, "io")
    if isinstance(io, dict):
        flat = {
            f"{key}/s" if key in ("bread", "bwrtn") else key: value
            for part in ("io-reads", "io-writes")
            for key, value in (io[part].items() if isinstance(io.get(part), dict) else ())
        }
        _take_values(reader, _ALL, flat, reader.number(time, lasted_s))
    for load in (*_items(_entry(report, "cpu-load")), *_items(_entry(report, "cpu-load-all"))):
        idle = sysstat.json_number(_entry(load, "idle"))
        if _entry(load, "cpu") in ("all", "-1") and idle == idle:
            waiting = sysstat.json_number(_entry(load, "iowait"))
            busy = 100.0 - idle - (0.0 if waiting != waiting else waiting)
            reader.share("cpu_pct", reader.number(time, lasted_s), busy)
    power = _entry(report, "power-management")
    for sensor in (*_items(_entry(report, "temperature")), *_items(_entry(power, "temperature"))):
        degrees = sysstat.json_number(_entry(sensor, "degC"))
        item, device = _entry(sensor, "number"), _entry(sensor, "device")
        if degrees == degrees and isinstance(item, (int, str)):
            name = _sensor(str(item)[:20], str(device)[:100])
            reader.share(f"temp_c.{name}", reader.number(time, lasted_s), degrees)


def _take_values(reader: _Reader, device: str, values: dict[str, Any], number: int) -> None:
    taken: dict[str, float] = {}
    for key in ("rkB", "wkB", *values):  # before the sectors that newer versions keep beside them
        header = _JSON_NAMES.get(key, key)
        column = sysstat.COLUMNS.get(header)
        if column is not None and key in values and column[0] not in taken:
            taken[column[0]] = sysstat.json_number(values[key]) * column[1]
            reader.headers[header] = None
    if taken:
        reader.devices.add(device, number, taken.items())


def _json_time(value: Any) -> tuple[str | None, float]:
    date, time = _entry(value, "date"), _entry(value, "time")
    if not isinstance(date, str) or not isinstance(time, str):
        return None, np.nan
    zone = " UTC" if _entry(value, "utc") == 1 else ""
    return f"{date} {time}{zone}", sysstat.json_number(_entry(value, "interval"))


def _entry(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _items(value: Any) -> Iterable[Any]:
    return value if isinstance(value, list) else ()


# --- what all have in common ---


def _logs(
    source: Source,
    reader: _Reader,
    options: Options,
    t_s: Array,
    restarts: Array,
    clock: Clock,
    begin_unix_s: float | None,
    remarks: list[Remark],
) -> list[Log]:
    """Return the logs of reports numbered by their place in `t_s`."""
    if reader.bad:
        source.remark(f"{reader.bad} lines could not be read, the first is line {reader.first_bad}")
    together = reader.devices.rows.pop(_ALL, None)
    if together is not None and not reader.devices.rows:
        reader.devices.rows[_ALL] = together
        remarks.append(Remark("all devices of the host together (sar -b)", doubt=True))
    if not reader.devices.rows:
        if not any(name.startswith("temp_c.") for name in reader.shared):
            what = "only averages" if reader.averages and not reader.numbers else "no devices"
            raise source.error(f"holds {what}: 'sar -d' with an interval reports on devices")
        for number in reader.numbers.values():
            reader.devices.add(_ALL, number, [])
    runs = _runs(reader, t_s, restarts, clock, begin_unix_s)
    if not runs:
        raise source.error("has no report whose time can be read")
    names, about = reader.devices.chosen(source, options, runs)
    remarks += about
    about_units = sysstat.unit_remark(tuple(reader.headers))
    if about_units:
        remarks.append(Remark(about_units))
    logs = reader.devices.logs(names, runs, format="sar", source=source)
    return [log.with_remarks(*remarks) for log in logs]


def _runs(
    reader: _Reader, t_s: Array, restarts: Array, clock: Clock, begin_unix_s: float | None
) -> list[Reports]:
    """Cut the reports into runs: at restarts, and where there were none for a while."""
    order = np.argsort(t_s, kind="stable")
    order = order[np.isfinite(t_s[order])]
    if not len(order):
        return []
    at_s = t_s[order]
    stated_s = np.frombuffer(reader.lasted_s, dtype=float)[order]
    usual_s = intervals(at_s)
    cut = np.zeros(len(order), dtype=bool)
    if len(order) > 1:
        cut[1:] = np.diff(at_s) > _LONGEST_GAP * float(np.median(np.diff(at_s)))
    cut[
        np.searchsorted(at_s, restarts[np.isfinite(restarts)], side="right").clip(0, len(cut) - 1)
    ] = len(restarts) > 0
    cut[0] = True
    begins = np.flatnonzero(cut)
    runs = []
    for begin, end in zip(begins, [*begins[1:], len(order)], strict=True):
        part = slice(int(begin), int(end))
        times = sysstat.apart(at_s[part])
        lasted = intervals(times)
        stated = stated_s[part]
        lasted = np.where((stated > 0) & (stated < 1e6), stated, lasted)
        if end - begin == 1 and not lasted[0] > 0:
            lasted = usual_s[part]
        start = float(times[0] - lasted[0])
        numbers = order[part]
        runs.append(
            Reports(
                t_s=times - start,
                interval_s=lasted,
                numbers=numbers.tolist(),
                clock=clock,
                begin_unix_s=None if begin_unix_s is None else begin_unix_s + start,
                shared={
                    name: _by_number(values, numbers) for name, values in reader.shared.items()
                },
            )
        )
    return runs


def _by_number(values: dict[int, float], numbers: NDArray[np.intp]) -> Array:
    return np.asarray([values.get(number, np.nan) for number in numbers.tolist()], dtype=float)


FORMAT = Format("sar", "sar", _recognises, _read)
