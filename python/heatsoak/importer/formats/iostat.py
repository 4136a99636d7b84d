"""`iostat`: sysstat's in all versions, locales and layouts, as text or JSON; the BSDs' and macOS'.

What is read of each report: throughput, I/Os, waiting times, queue, and how busy each device and
the processors were.
"""

import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

from heatsoak.importer import sysstat
from heatsoak.importer.block_devices import Devices, Reports
from heatsoak.importer.formats.base import Format
from heatsoak.importer.frames import Array, intervals, run_slices
from heatsoak.importer.log import Clock, Log, Options, Remark
from heatsoak.importer.source import Source
from heatsoak.importer.tables.texts import Words

#: A clock may be set back so far without that a new run begins.
_SET_BACK_S = 5.0
_DIGITS = frozenset("0123456789-+.,n")
_DEVICE_WORDS = frozenset(("Device", "Device:", "device", "device:"))
_STAMP = re.compile(r"(?<!\d)\d{1,2}:\d{2}(?::\d{2}|\s*[AaPp]\.?[Mm])")
_COMMAND = re.compile(r"(?:^|[\s\"'/`$#>+|&;])iostat((?:\s+[\w./,=:-]+)+)")
#: What stands before every line where a tool such as `ts` added the time: no more than so long.
_LONGEST_PREFIX = 60
_TABLE_START = re.compile(r"(?:avg-cpu:|Device:?|Linux) ")
_TOTALS = re.compile(r"(?:kB|MB|Blk|GB)_(?:read|wrtn)")
#: A total in the report's own unit is good for finding the interval from so much on.
_LEAST_TOTAL = 50.0
_MACOS_OTHERS = frozenset(("tty", "cpu", "load", "average"))


@dataclass
class _Table:
    """A header's columns: `names[i]` is what the i-th value of a row becomes, if anything."""

    names: list[tuple[str, float] | None]
    headers: tuple[str, ...]
    #: The index of the word that names the device: 0 or -1.
    device_at: int
    #: Columns of totals with those of their rates.
    rates: list[tuple[int, int]]

    #: Whether the header itself begins with blanks, as all lines of a quoted text do.
    indented: bool = False

    @property
    def width(self) -> int:
        return len(self.names)


@dataclass
class _Call:
    """The reports of one call of iostat, with what stood before them."""

    date: str = ""
    stamps: Words = field(default_factory=Words)
    cpu_pct: "array[float]" = field(default_factory=lambda: array("d"))
    lengths_s: "array[float]" = field(default_factory=lambda: array("d"))
    first_number: int = 0
    #: Whether its first report is of an interval (``-y``), if that is known.
    skipped_boot: bool | None = None
    blanks: int | None = None


class _Reader:
    """Takes lines, or parts of JSON, and keeps what they tell."""

    def __init__(self) -> None:
        self.devices = Devices()
        self.calls: list[_Call] = []
        self.headers: dict[str, None] = {}
        self.interval_s: float | None = None
        self.skips_boot: bool | None = None
        #: Whether the last report may lack rows that iostat wrote.
        self.is_cut = False
        self._reports = 0
        self._seen: set[str] = set()
        self._has_cpu = False

    @property
    def call(self) -> _Call:
        if not self.calls:
            self.begin_call("")
        return self.calls[-1]

    def begin_call(self, date: str) -> None:
        self.calls.append(_Call(date, first_number=self._reports, skipped_boot=self.skips_boot))
        self._has_cpu, self._seen = False, set()

    def begin_report(self, stamp: str = "") -> None:
        """What follows is of a new report."""
        call = self.call
        call.stamps.append(stamp)
        call.cpu_pct.append(np.nan)
        call.lengths_s.append(np.nan)
        self._reports += 1
        self._seen, self._has_cpu = set(), False

    def stamp(self, stamp: str) -> None:
        """A report's time stands before it."""
        if self.call.stamps and not self._seen and not self._has_cpu:
            self.call.stamps.replace_last(stamp)
        else:
            self.begin_report(stamp)

    def cpu(self, idle_pct: float, prefix: str = "") -> None:
        call = self.call
        if not call.stamps or self._seen or self._has_cpu:
            self.begin_report(prefix)
        call.cpu_pct[-1] = 100.0 - idle_pct
        self._has_cpu = True

    def header(self, headers: Sequence[str], prefix: str = "") -> None:
        """A table of devices begins."""
        if not self.call.stamps or not self._seen.isdisjoint(headers):
            self.begin_report(prefix)
        self._seen.update(headers)
        self.headers.update(dict.fromkeys(headers))

    def row(self, device: str, values: list[tuple[str, float]]) -> None:
        self.devices.add(device, self._reports - 1, values)

    def length(self, total: float, rate: float) -> None:
        """A total and its rate tell how long the report's interval was."""
        if total >= _LEAST_TOTAL and rate > 0:
            lengths = self.call.lengths_s
            if lengths and not lengths[-1] > total / rate * 1e3:
                lengths[-1] = total / rate


def _recognises(source: Source) -> bool:
    return _kind(source) is not None


def _kind(source: Source) -> Literal["text", "json", "bsd"] | None:
    before = ""
    for line in source.head_lines:
        if '"disk_device"' in line:
            return "json"
        if "/s" in line or "%b" in line or "%util" in line:
            words = _unprefixed_words(line.split())
            if len(words) > 2 and _table(words) is not None:
                return "text"
            if "KB/t" in line and _bsd_disks(before, line):
                return "bsd"
        elif "avg-cpu:" in line and "%iowait" in line:
            return "text"
        if line.strip():
            before = line
    return None


def _unprefixed_words(words: list[str]) -> list[str]:
    for index, word in enumerate(words[:6]):
        if word in _DEVICE_WORDS:
            return words[index:]
    return words


def _table(words: list[str]) -> _Table | None:
    """Return the table whose header these words are."""
    if words[0] in _DEVICE_WORDS or (
        words[0] not in sysstat.COLUMNS and not words[0][0].isdigit() and "/s" not in words[0]
    ):
        headers, device_at = words[1:], 0
    elif words[-1] in _DEVICE_WORDS:
        headers, device_at = words[:-1], -1
    else:
        return None
    known = [sysstat.COLUMNS.get(header) for header in headers]
    if sum(column is not None for column in known) < 2 or not {"rtps", "KB/t"}.isdisjoint(words):
        return None
    if not any(header.endswith("/s") or header == "tps" for header in headers):
        return None
    if words[0] not in _DEVICE_WORDS and device_at == 0 and not _is_translated(words):
        return None
    taken: set[str] = set()
    names: list[tuple[str, float] | None] = []
    both = any(column is not None and column[0] == "read_lat_us" for column in known)
    for column in known:
        wanted = column is not None and column[0] not in taken
        if column is not None and both and column[0] == "lat_us":
            wanted = False
        names.append(column if wanted else None)
        if column is not None:
            taken.add(column[0])
    rates = [
        (index, headers.index(f"{header}/s"))
        for index, header in enumerate(headers)
        if _TOTALS.fullmatch(header) and f"{header}/s" in headers
    ]
    return _Table(names, tuple(headers), device_at, rates)


def _is_translated(words: list[str]) -> bool:
    """Whether a header begins with another language's word for a device."""
    return words[0][0].isalpha() and words[1] in ("tps", "r/s", "rrqm/s")


def _read(source: Source, options: Options) -> list[Log]:
    reader = _Reader()
    kind = _kind(source)
    if kind == "json":
        _take_json(source, reader)
    elif kind == "bsd":
        _take_bsd(source, reader)
    else:
        _take_text(source, reader)
    if not reader.devices.rows:
        raise source.error("holds no devices: only 'iostat' with devices (without -c) can be read")
    return _logs(source, reader, options)


def _take_text(source: Source, reader: _Reader) -> None:
    table: _Table | None = None
    last_header, last_table = "", table
    pending = ""
    other = False
    idle_at: list[int] = []
    bad, first_bad = 0, 0
    prefix_words = _prefix_words(source.head_lines)
    prefix = ""
    for number, line in source.lines():
        if prefix_words:
            parts = line.split(None, prefix_words)
            prefix = sysstat.stamp(" ".join(parts[:prefix_words]))
            line = parts[prefix_words] if len(parts) > prefix_words else ""
        words = line.split()
        reader.is_cut = True
        if not words:
            table, other, pending = None, False, ""
            reader.is_cut = False
            call = reader.calls[-1] if reader.calls else None
            if call is not None and call.blanks is not None and not call.stamps:
                call.blanks += 1
            continue
        if table is not None:
            at = table.device_at
            if len(words) == table.width + 1 and words[1 + at][0] in _DIGITS:
                device = words[at]
                values = words[1:] if at == 0 else words[:-1]
            elif pending and len(words) == table.width and words[0][0] in _DIGITS:
                device, values, pending = pending, words, ""
            elif len(words) > table.width + 1 and all(
                map(sysstat.is_number, words[-table.width :])
            ):
                device, values = " ".join(words[: -table.width]), words[-table.width :]
            else:
                device, values = "", []
            if device and _take_row(reader, table, device, values):
                if line[0] == " " and at == 0 and device is words[0] and not table.indented:
                    reader.devices.groups.add(device)  # of -g: its name is set in by a blank
                continue
            if len(words) == 1 and not sysstat.is_number(words[0]):
                pending = words[0]
                continue
        if idle_at and sysstat.is_number(words[0]):
            idle = [sysstat.scaled(words[at], 1.0) for at in idle_at if at < len(words)]
            reader.cpu(sum(idle) if len(idle) == len(idle_at) else np.nan, prefix)
            idle_at = []
            continue
        if words[0] == "avg-cpu:" and "%idle" in words:
            idle_at = [words.index(word) - 1 for word in ("%idle", "%iowait") if word in words]
            table, pending = None, ""
            continue
        heading = sysstat.heading(line)
        if heading is not None:
            reader.begin_call(sysstat.stamp(heading.date))
            reader.call.blanks = 0
            table, idle_at = None, []
            continue
        if len(words) > 2 and ("/s" in line or "tps" in line):
            found = last_table if line == last_header else _table(words)
            if found is not None:
                table, pending, other = found, "", False
                last_header, last_table = line, found
                table.indented = line[0].isspace()
                reader.header(found.headers, prefix)
                continue
            if sum(word.endswith("/s") for word in words) > 1:
                table, other = None, True  # a table of file systems
                continue
        if len(line) <= 80:
            stamp = sysstat.stamp(line)
            if _STAMP.search(stamp):
                reader.stamp(stamp)
                table, idle_at = None, []
                continue
        command = _COMMAND.search(line) if "iostat" in line else None
        if command is not None:
            _take_command(reader, command.group(1).split())
        elif not other and (
            table is not None or sum(map(sysstat.is_number, words)) >= min(3, len(words))
        ):
            bad, first_bad = bad + 1, first_bad or number
    if bad:
        source.remark(f"{bad} lines could not be read, the first is line {first_bad}")
    for call in reader.calls:
        if call.skipped_boot is None and call.blanks is not None and call.blanks >= 2:
            call.skipped_boot = True  # with -y a blank line stands for the first report


def _take_row(reader: _Reader, table: _Table, device: str, words: Sequence[str]) -> bool:
    values = []
    for column, word in zip(table.names, words, strict=True):
        if column is not None:
            value = sysstat.scaled(word, column[1])
            if value != value and not sysstat.is_number(word):
                return False
            values.append((column[0], value))
    reader.row(device, values)
    for total_at, rate_at in table.rates:
        total, rate = sysstat.scaled(words[total_at], 1.0), sysstat.scaled(words[rate_at], 1.0)
        if words[total_at][-1].isdigit():
            reader.length(total, rate)
    return True


def _prefix_words(lines: Sequence[str]) -> int:
    """How many words a tool put before each line: a time, as `ts` does; 0 without one."""
    for line in lines:
        match = _TABLE_START.search(line[: _LONGEST_PREFIX + 9])
        if match is not None:
            prefix = line[: match.start()]
            has_time = _STAMP.search(prefix) or re.search(r"\b\d{10}\b", prefix)
            return len(prefix.split()) if has_time else 0
    return 0


def _take_command(reader: _Reader, words: Sequence[str]) -> None:
    """A command line in the file tells the interval, and whether the first report is skipped."""
    if not words[0].startswith("-") and not words[0].isdigit():
        return
    short = "".join(word[1:] for word in words if re.fullmatch(r"-[a-zA-Z]+", word))
    reader.skips_boot = "y" in short
    if reader.calls and not reader.calls[-1].stamps:
        reader.calls[-1].skipped_boot = reader.skips_boot
    for before, word in pairwise(["", *words]):
        if re.fullmatch(r"[1-9]\d{0,5}", word, re.ASCII) and before not in ("-o", "-g", "-j"):
            reader.interval_s = float(word)
            break
    if "-w" in words[:-1]:
        reader.interval_s = _positive(words[words.index("-w") + 1])


def _take_bsd(source: Source, reader: _Reader) -> None:
    """`iostat -d` of the BSDs and macOS: disks side by side, a line for each report."""
    disks: list[tuple[str, int]] = []
    before, idle_at, width = "", -1, 0
    bad, first_bad = 0, 0
    for number, line in source.lines():
        words = line.split()
        if not words:
            continue
        if "KB/t" in words:
            disks = _bsd_disks(before, line)
            idle_at = words.index("id") if "id" in words else -1
            width = len(words)
        elif disks and len(words) == width and all(map(sysstat.is_number, words)):
            reader.begin_report()
            for disk, at in disks:
                _, tps, rate = (sysstat.scaled(word, 1.0) for word in words[at : at + 3])
                bw_mb_s = rate * sysstat.COLUMNS["MB/s"][1]
                reader.row(disk, [("bw_mb_s", bw_mb_s), ("iops", tps)])
            reader.headers["MB/s"] = None
            if idle_at >= 0:
                reader.call.cpu_pct[-1] = 100.0 - sysstat.scaled(words[idle_at], 1.0)
        elif (command := _COMMAND.search(line)) is not None:
            _take_command(reader, command.group(1).split())
        elif disks and sysstat.is_number(words[0]):
            bad, first_bad = bad + 1, first_bad or number
        before = line
    if bad:
        source.remark(f"{bad} lines could not be read, the first is line {first_bad}")


def _bsd_disks(names: str, header: str) -> list[tuple[str, int]]:
    """Return each disk's name and where its three values stand."""
    words = header.split()
    places = [at for at in range(len(words) - 2) if words[at : at + 3] == ["KB/t", "tps", "MB/s"]]
    disks = [name for name in names.split() if name not in _MACOS_OTHERS]
    return list(zip(disks, places, strict=True)) if len(disks) == len(places) else []


def _take_json(source: Source, reader: _Reader) -> None:
    """`-o JSON`: by lines as iostat writes them, however it was cut; else whole documents."""
    if not any(
        line.lstrip().startswith('{"disk_device"') and line.rstrip(" ,").endswith("}")
        for line in source.head_lines
    ):
        for document in source.documents():
            _take_document(reader, document.value)
        return
    bad, first_bad = 0, 0
    after_statistics = False
    for number, line in source.lines():
        body = line.strip()
        if body.startswith('{"disk_device"'):
            try:
                value = from_json(body.rstrip(","))
            except ValueError:
                bad, first_bad = bad + 1, first_bad or number
                continue
            _take_disk(reader, value)
        elif body.startswith('"disk"'):
            reader.header(("disk",))
        elif body.startswith('"timestamp"'):
            reader.stamp(sysstat.stamp(body.partition(":")[2].strip(' ",')))
        elif body.startswith('"avg-cpu"'):
            try:
                _take_cpu(reader, from_json(body.partition(":")[2].rstrip(" ,")))
            except ValueError:
                bad, first_bad = bad + 1, first_bad or number
        elif body.startswith('"date"'):
            reader.begin_call(sysstat.stamp(body.partition(":")[2].strip(' ",')))
        elif body.startswith('"statistics"'):
            after_statistics = True
            continue
        elif not body and after_statistics:
            reader.call.skipped_boot = True
        after_statistics = False
    if bad:
        source.remark(f"{bad} lines could not be read, the first is line {first_bad}")


def _take_document(reader: _Reader, value: Any) -> None:
    for host in _items(_entry(_entry(value, "sysstat"), "hosts")):
        date = _entry(host, "date")
        reader.begin_call(sysstat.stamp(date) if isinstance(date, str) else "")
        for report in _items(_entry(host, "statistics")):
            time = _entry(report, "timestamp")
            reader.begin_report(sysstat.stamp(time) if isinstance(time, str) else "")
            _take_cpu(reader, _entry(report, "avg-cpu"))
            reader.header(("disk",))
            for disk in _items(_entry(report, "disk")):
                _take_disk(reader, disk)


def _entry(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _items(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        yield from value


def _take_cpu(reader: _Reader, value: Any) -> None:
    idle, waiting = (sysstat.json_number(_entry(value, key)) for key in ("idle", "iowait"))
    if idle == idle:
        reader.cpu(idle + (0.0 if waiting != waiting else waiting))


def _take_disk(reader: _Reader, value: Any) -> None:
    name = _entry(value, "disk_device")
    if not isinstance(name, str) or not name:
        return
    values = {}
    for key, number in value.items():
        column = sysstat.COLUMNS.get("%util" if key == "util" else key)
        if column is not None and column[0] not in values:
            values[column[0]] = sysstat.json_number(number) * column[1]
            if key.endswith("/s"):
                reader.headers[key] = None
    if "read_lat_us" in values:
        values.pop("lat_us", None)
    if not reader.call.stamps:
        reader.begin_report()
    reader.row(name, list(values.items()))
    for total in ("kB_read", "kB_wrtn", "MB_read", "MB_wrtn"):
        if total in value:
            reader.length(
                sysstat.json_number(value[total]), sysstat.json_number(value.get(f"{total}/s"))
            )


def _positive(word: str) -> float | None:
    value = sysstat.scaled(word, 1.0)
    return value if 0 < value < 1e6 else None


def _logs(source: Source, reader: _Reader, options: Options) -> list[Log]:
    calls = [call for call in reader.calls if call.stamps]
    looped = len(calls) > 2 and all(len(call.stamps) <= 2 for call in calls)
    runs: list[Reports] = []
    dropped = 0
    for together in [calls] if looped else [[call] for call in calls]:
        kept, n_dropped = _runs(source, reader, together, options)
        runs += kept
        dropped += n_dropped
    if not runs:
        raise source.error(
            "holds only averages since boot: 'iostat -xty 1' reports what happens meanwhile"
        )
    if reader.is_cut:
        runs[-1].is_cut = True
    names, remarks = reader.devices.chosen(source, options, runs)
    about_units = sysstat.unit_remark(tuple(reader.headers))
    if about_units:
        remarks.append(Remark(about_units))
    if any("_w+d" in header for header in reader.headers):
        remarks.append(Remark("its writes include discards (iostat -s)", doubt=True))
    if dropped:
        what = "first report" if dropped == 1 else "first report of each call"
        remarks.append(Remark(f"the {what} is the average since boot (no -y): left out"))
    logs = reader.devices.logs(names, runs, format="iostat", source=source)
    if not logs:
        raise source.error(f"has no report of {names[0]} but the average since boot")
    return [log.with_remarks(*remarks) for log in logs]


def _runs(
    source: Source, reader: _Reader, calls: list[_Call], options: Options
) -> tuple[list[Reports], int]:
    """Return the reports of calls that belong together, and how many averages were left out."""
    stamps: Sequence[str] = calls[0].stamps
    if len(calls) > 1:
        stamps = [stamp for call in calls for stamp in call.stamps]
    numbers = np.concatenate([call.first_number + np.arange(len(call.stamps)) for call in calls])
    cpu_pct = np.concatenate([np.frombuffer(call.cpu_pct, dtype=float) for call in calls])
    lengths_s = np.concatenate([np.frombuffer(call.lengths_s, dtype=float) for call in calls])
    of_call = np.repeat(np.arange(len(calls)), [len(call.stamps) for call in calls])
    boot = np.zeros(len(stamps), dtype=bool)
    usual_s = _usual(lengths_s)
    begin = 0
    for call in calls:
        boot[begin] = _is_since_boot(call, usual_s)
        begin += len(call.stamps)
    if len(calls) > 2 and all(len(call.stamps) == 1 for call in calls):
        boot[:] = False  # a loop around single reports: with -y, or nobody would have made it
        if _hardly_changes(reader, numbers):
            boot[:] = True
    kept = np.flatnonzero(~boot)
    if not len(kept):
        return [], int(boot.sum())
    remarks: list[Remark] = []
    clock: Clock = "none"
    begin_unix_s: float | None = None
    stated = options.mapping.get("interval_s")
    interval_s = _positive(stated) if stated is not None else None
    if stated is not None and interval_s is None:
        raise source.error(f"interval_s={stated}: give the seconds between two reports")
    times = sysstat.read_stamps(stamps, calls[0].date) if any(stamps) else None
    if times is not None and np.isfinite(times.t_s).sum() > len(stamps) / 2:
        if times.doubt:
            remarks.append(Remark(times.doubt, doubt=True))
        all_s = times.t_s
        clock, begin_unix_s = times.clock, times.begin_unix_s
        unread = int(np.isnan(all_s[kept]).sum())
        if unread:
            source.remark(f"{unread} reports have no time that can be read: left out")
        kept = kept[np.isfinite(all_s[kept])]
    else:
        if interval_s is None and reader.interval_s is not None:
            interval_s = reader.interval_s
            remarks.append(Remark(f"interval of {interval_s:g} s: from the command line in it"))
        elif interval_s is None and usual_s is not None:
            interval_s = usual_s
            remarks.append(Remark(f"interval of {interval_s:g} s: from totals and their rates"))
        elif interval_s is None:
            interval_s = 1.0
            text = "has no times (iostat -t): taken as a report a second; --map interval_s=N if not"
            remarks.append(Remark(text, doubt=True))
        all_s = np.cumsum(~boot) * interval_s
    runs = []
    absent = _has_gaps(reader, numbers[kept])
    for part in run_slices(all_s[kept], _SET_BACK_S):
        taken = kept[part]
        t_s = sysstat.apart(np.maximum.accumulate(all_s[taken]))
        lasted_s = _lasted(t_s, taken, all_s, boot, of_call)
        if len(taken) == 1 and not lasted_s[0] > 0:
            lasted_s = np.full(1, interval_s or 1.0)
        start_s = float(t_s[0] - lasted_s[0])
        runs.append(
            Reports(
                t_s=t_s - start_s,
                interval_s=lasted_s,
                numbers=numbers[taken],
                clock=clock,
                begin_unix_s=None if begin_unix_s is None else begin_unix_s + start_s,
                shared={"cpu_pct": cpu_pct[taken]},
                absent_is_idle=absent,
                remarks=tuple(remarks),
            )
        )
    return runs, int(boot.sum())


def _is_since_boot(call: _Call, usual_s: float | None) -> bool:
    if call.skipped_boot is not None:
        return not call.skipped_boot
    first_s = call.lengths_s[0]
    if usual_s is not None and first_s == first_s:
        return bool(first_s > 3 * usual_s) or len(call.stamps) == 1
    return True


def _usual(lengths_s: Array) -> float | None:
    """The interval that totals and rates tell, in whole seconds where it is so within 3 %."""
    known = lengths_s[1:][np.isfinite(lengths_s[1:])]
    if not len(known):
        return None
    usual = float(np.median(known))
    whole = round(usual) if usual < 1e6 else 0
    if whole < 1:
        return None
    return float(whole) if abs(usual - whole) <= 0.03 * whole else usual


def _hardly_changes(reader: _Reader, numbers: NDArray[np.int64]) -> bool:
    """Whether single reports are averages since boot, which no minute changes by much."""
    for rows in reader.devices.rows.values():
        for name in ("read_bw_mb_s", "write_bw_mb_s", "bw_mb_s"):
            values = rows.values(name)
            if values is None or len(values) < len(numbers) or not values.max() > 0:
                continue
            with np.errstate(invalid="ignore", divide="ignore"):
                change = np.abs(np.diff(values)) / values[:-1]
            if not bool(np.all(change < 0.02)):
                return False
    return True


def _has_gaps(reader: _Reader, numbers: NDArray[np.int64]) -> bool:
    """Whether some device is missing from some of these reports, as with -z."""
    for rows in reader.devices.rows.values():
        reports = np.frombuffer(rows.reports, dtype=np.int64)
        first, last = np.searchsorted(reports, [numbers[0], numbers[-1] + 1])
        if last - first < len(numbers):
            return True
    return False


def _lasted(
    t_s: Array,
    taken: NDArray[np.intp],
    all_s: Array,
    boot: NDArray[np.bool_],
    of_call: NDArray[np.intp],
) -> Array:
    """Return the seconds that each report is of: since the one before it in the same call."""
    lasted = intervals(t_s)
    for place, index in enumerate(taken.tolist()):
        if index and boot[index - 1] and of_call[index] == of_call[index - 1]:
            since = all_s[index] - all_s[index - 1]
            if since > 0:
                lasted[place] = since
    return lasted


FORMAT = Format("iostat", "iostat", _recognises, _read)
