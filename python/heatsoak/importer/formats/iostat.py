"""`iostat`: sysstat's in all versions, languages and layouts, as text or JSON; BSD's and macOS'.

What is read of each report: throughput, I/Os, latencies, queue, and how busy each device and the
processors were.
"""

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from heatsoak.importer import sysstat
from heatsoak.importer.block_devices import Devices, Reports
from heatsoak.importer.format import Format
from heatsoak.importer.frames import Array, intervals, run_slices
from heatsoak.importer.log import Clock, Log, Options, Remark
from heatsoak.importer.source import Source
from heatsoak.importer.sysstat_columns import COLUMNS
from heatsoak.importer.tables.cells import Words

_COMMAND = re.compile(r"(?:^|[\s\"'/`$#>+|&;])iostat((?:\s+[\w./,=:-]+)+)")
#: A total in the report's own unit tells how long the interval was from here on.
_MIN_TOTAL = 50.0
_TOTALS = re.compile(r"(?:kB|MB|Blk|GB)_(?:read|wrtn)")
#: A clock may be set back this far within a run.
_SET_BACK_S = 5.0

_DIGITS = frozenset("0123456789-+.,n")
_DEVICE_WORDS = frozenset(("Device", "Device:", "device", "device:"))
_STAMP = re.compile(r"(?<!\d)\d{1,2}:\d{2}(?::\d{2}|\s*[AaPp]\.?[Mm])")
#: The longest prefix that a tool such as `ts` puts before every line.
_MAX_PREFIX = 60
_TABLE_START = re.compile(r"(?:avg-cpu:|Device:?|Linux) ")
#: What macOS names beside the disks.
_MACOS_OTHERS = frozenset(("tty", "cpu", "load", "average"))


def _recognises(source: Source) -> bool:
    return _kind(source) is not None


def _kind(source: Source) -> Literal["text", "json", "bsd"] | None:
    before = ""
    for line in source.head_lines:
        if '"disk_device"' in line:
            return "json"
        if "/s" in line or "%b" in line or "%util" in line:
            words = _without_prefix(line.split())
            if len(words) > 2 and _table_of(words) is not None:
                return "text"
            if "KB/t" in line and _disks_of(before, line):
                return "bsd"
        elif "avg-cpu:" in line and "%iowait" in line:
            return "text"
        if line.strip():
            before = line
    return None


def _read(source: Source, options: Options) -> list[Log]:
    reader = _Reader(source)
    kind = _kind(source)
    if kind == "json":
        _take_json(source, reader)
    elif kind == "bsd":
        _take_bsd(source, reader)
    else:
        _take_text(source, reader)
    if not reader.devices.rows:
        raise source.error("holds no devices: only 'iostat' with devices (without -c) can be read")
    return _logs_of(source, reader, options)


FORMAT = Format("iostat", "iostat", _recognises, _read, priority=130)


# --- reports -------------------------------------------------------------------------------------


@dataclass
class _Call:
    """The reports of one call of iostat."""

    #: The day that its heading names.
    date: str = ""
    stamps: Words = field(default_factory=Words)
    lengths_s: "array[float]" = field(default_factory=lambda: array("d"))
    first_number: int = 0
    #: Whether its first report is of an interval (``-y``), if that is known.
    skipped_boot: bool | None = None
    blanks: int | None = None


class _Reader:
    """Takes parts of reports, in the file's order, whatever the layout."""

    def __init__(self, source: Source) -> None:
        self.devices = Devices(source)
        self.calls: list[_Call] = []
        self.interval_s: float | None = None
        #: Whether the last report may lack devices that iostat wrote.
        self.is_cut = False
        self._skips_boot: bool | None = None
        self._reports = 0
        self._seen: set[str] = set()
        self._has_cpu = False

    @property
    def call(self) -> _Call:
        """The call whose reports are being taken."""
        if not self.calls:
            self.begin_call("")
        return self.calls[-1]

    def begin_call(self, date: str) -> None:
        """Take what follows as another call's."""
        self.calls.append(_Call(date, first_number=self._reports, skipped_boot=self._skips_boot))
        self._has_cpu, self._seen = False, set()

    def begin_report(self, stamp: str = "") -> None:
        """Take what follows as a new report's."""
        self.call.stamps.append(stamp)
        self.call.lengths_s.append(np.nan)
        self._reports += 1
        self._seen, self._has_cpu = set(), False

    def stamp(self, stamp: str) -> None:
        """Take the time that stands before a report."""
        if self.call.stamps and not self._seen and not self._has_cpu:
            self.call.stamps.replace_last(stamp)
        else:
            self.begin_report(stamp)

    def cpu(self, idle_pct: float, prefix: str = "") -> None:
        """Take how idle the processors were."""
        if not self.call.stamps or self._seen or self._has_cpu:
            self.begin_report(prefix)
        self.devices.share("cpu_pct", self._reports - 1, 100.0 - idle_pct)
        self._has_cpu = True

    def header(self, headers: Sequence[str], prefix: str = "") -> None:
        """Take the header of a table of devices."""
        if not self.call.stamps or not self._seen.isdisjoint(headers):
            self.begin_report(prefix)
        self._seen.update(headers)

    def row(self, device: str, values: list[tuple[str, float]]) -> None:
        """Take a device's values."""
        if not self.call.stamps:
            self.begin_report()
        self.devices.add(device, self._reports - 1, values)

    def length(self, total: float, rate: float) -> None:
        """Take a total and its rate, which tell how long the report's interval was."""
        if total >= _MIN_TOTAL and rate > 0:
            lengths = self.call.lengths_s
            if lengths and not lengths[-1] > total / rate * 1e3:
                lengths[-1] = total / rate

    def command(self, line: str) -> bool:
        """Take a command line: its interval, and whether it skips the first report."""
        found = _COMMAND.search(line) if "iostat" in line else None
        if found is None:
            return False
        words = found.group(1).split()
        if not words[0].startswith("-") and not words[0].isdigit():
            return True
        short = "".join(word[1:] for word in words if re.fullmatch(r"-[a-zA-Z]+", word))
        self._skips_boot = "y" in short
        if self.calls and not self.calls[-1].stamps:
            self.calls[-1].skipped_boot = self._skips_boot
        for before, word in pairwise(["", *words]):
            if re.fullmatch(r"[1-9]\d{0,5}", word, re.ASCII) and before not in ("-o", "-g", "-j"):
                self.interval_s = float(word)
                break
        if "-w" in words[:-1]:
            self.interval_s = _seconds(words[words.index("-w") + 1])
        return True


def _seconds(word: str) -> float | None:
    value = sysstat.scaled(word, 1.0)
    return value if 0 < value < 1e6 else None


# --- sysstat's JSON, and disks side by side ------------------------------------------------------


def _take_json(source: Source, reader: _Reader) -> None:
    before = ""
    for key, value in sysstat.json_parts(source, reader.devices.unread):
        if key == "date" and isinstance(value, str):
            reader.begin_call(sysstat.stamp(value))
        elif key == "timestamp" and isinstance(value, str):
            reader.stamp(sysstat.stamp(value))
        elif key == "avg-cpu":
            idle, waiting = (
                sysstat.json_number(sysstat.member(value, name)) for name in ("idle", "iowait")
            )
            if idle == idle:
                reader.cpu(idle + (0.0 if waiting != waiting else waiting))
        elif key == "disk":
            reader.header(("disk",))
        elif before == "statistics" and value == "":
            reader.call.skipped_boot = True  # with -y a blank line stands for the first report
        elif (name := sysstat.member(value, "disk_device")) and isinstance(name, str):
            _take_disk(reader, name, value)
        before = key


def _take_disk(reader: _Reader, name: str, given: dict[str, Any]) -> None:
    given = {"%util" if key == "util" else key: number for key, number in given.items()}
    reader.devices.headers.update(dict.fromkeys(key for key in given if key.endswith("/s")))
    reader.row(name, sysstat.json_values(given))
    for key in filter(_TOTALS.fullmatch, given):
        reader.length(sysstat.json_number(given[key]), sysstat.json_number(given.get(f"{key}/s")))


def _take_bsd(source: Source, reader: _Reader) -> None:
    """`iostat -d` of BSD and macOS: disks side by side, a line for each report."""
    disks: list[tuple[str, int]] = []
    before, idle_at, width = "", -1, 0
    reader.devices.headers["MB/s"] = None
    for number, line in source.lines():
        words = line.split()
        if not words:
            continue
        if "KB/t" in words:
            disks = _disks_of(before, line)
            idle_at = words.index("id") if "id" in words else -1
            width = len(words)
        elif disks and len(words) == width and all(map(sysstat.is_number, words)):
            reader.begin_report()
            for disk, at in disks:
                columns = sysstat.columns_of(("KB/t", "tps", "MB/s"))
                reader.row(disk, sysstat.values_of(columns, words[at : at + 3]) or [])
            if idle_at >= 0:
                reader.cpu(sysstat.scaled(words[idle_at], 1.0))
        elif not reader.command(line) and disks and sysstat.is_number(words[0]):
            reader.devices.unread(number)
        before = line


def _disks_of(names: str, header: str) -> list[tuple[str, int]]:
    """Return each disk's name and where its three values begin."""
    words = header.split()
    places = [at for at in range(len(words) - 2) if words[at : at + 3] == ["KB/t", "tps", "MB/s"]]
    disks = [name for name in names.split() if name not in _MACOS_OTHERS]
    return list(zip(disks, places, strict=True)) if len(disks) == len(places) else []


# --- sysstat's text ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Table:
    """A table of devices, by its header."""

    headers: tuple[str, ...]
    #: The index of the word that names the device: 0 or -1.
    device_at: int
    columns: list[sysstat.ReportColumn]
    #: Columns of totals with those of their rates.
    totals: list[tuple[int, int]]

    def split(self, words: list[str], pending: str) -> tuple[str, list[str]]:
        """Return a row's device and values; empty for what is not a row.

        `pending` is a device that stood alone in the line before.
        """
        width, at = len(self.headers), self.device_at
        if len(words) == width + 1 and words[1 + at][0] in _DIGITS:
            return words[at], words[1:] if at == 0 else words[:-1]
        if pending and len(words) == width and words[0][0] in _DIGITS:
            return pending, words
        if len(words) > width + 1 and all(map(sysstat.is_number, words[-width:])):
            return " ".join(words[:-width]), words[-width:]
        return "", []


def _without_prefix(words: list[str]) -> list[str]:
    """Return a header's words without those that another tool put before them."""
    for index, word in enumerate(words[:6]):
        if word in _DEVICE_WORDS:
            return words[index:]
    return words


def _table_of(words: list[str]) -> _Table | None:
    """Return the table whose header these words are."""
    if words[0] in _DEVICE_WORDS or (
        words[0] not in COLUMNS and not words[0][0].isdigit() and "/s" not in words[0]
    ):
        headers, device_at = words[1:], 0
    elif words[-1] in _DEVICE_WORDS:
        headers, device_at = words[:-1], -1
    else:
        return None
    if sum(header in COLUMNS for header in headers) < 2:
        return None
    if not {"rtps", "KB/t"}.isdisjoint(words):
        return None
    if not any(header.endswith("/s") or header == "tps" for header in headers):
        return None
    # another language's word for a device
    is_translated = words[0][0].isalpha() and words[1] in ("tps", "r/s", "rrqm/s")
    if words[0] not in _DEVICE_WORDS and device_at == 0 and not is_translated:
        return None
    totals = [
        (index, headers.index(f"{header}/s"))
        for index, header in enumerate(headers)
        if _TOTALS.fullmatch(header) and f"{header}/s" in headers
    ]
    return _Table(tuple(headers), device_at, sysstat.columns_of(headers), totals)


def _take_text(source: Source, reader: _Reader) -> None:
    table: _Table | None = None
    last_header, last_table = "", table
    is_indented = False  # whether the header begins with blanks, as all of a quoted text does
    pending = ""
    is_other = False
    idle_at: list[int] = []
    prefix_words = _prefix_words(source.head_lines)
    prefix = ""
    for number, line in source.lines():
        if prefix_words:
            parts = line.split(None, prefix_words)
            prefix = sysstat.stamp(" ".join(parts[:prefix_words]))
            line = parts[prefix_words] if len(parts) > prefix_words else ""
        words = line.split()
        reader.is_cut = bool(words)
        if not words:
            table, is_other, pending = None, False, ""
            call = reader.calls[-1] if reader.calls else None
            if call is not None and call.blanks is not None and not call.stamps:
                call.blanks += 1
            continue
        if table is not None:
            device, values = table.split(words, pending)
            if device:
                pending = "" if device == pending else pending
                if _take_row(reader, table, device, values):
                    if line[0] == " " and device is words[0] and not is_indented:
                        reader.devices.groups.add(device)  # of -g: indented by a blank
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
            found = last_table if line == last_header else _table_of(words)
            if found is not None:
                table, pending, is_other = found, "", False
                last_header, last_table = line, found
                is_indented = line[0].isspace()
                reader.header(found.headers, prefix)
                reader.devices.headers.update(dict.fromkeys(found.headers))
                continue
            if sum(word.endswith("/s") for word in words) > 1:
                table, is_other = None, True  # a table of file systems
                continue
        if len(line) <= 80:
            stamp = sysstat.stamp(line)
            if _STAMP.search(stamp):
                reader.stamp(stamp)
                table, idle_at = None, []
                continue
        is_numbers = sum(map(sysstat.is_number, words)) >= min(3, len(words))
        if not reader.command(line) and not is_other and (table is not None or is_numbers):
            reader.devices.unread(number)
    for call in reader.calls:
        if call.skipped_boot is None and call.blanks is not None and call.blanks >= 2:
            call.skipped_boot = True  # with -y a blank line stands for the first report


def _take_row(reader: _Reader, table: _Table, device: str, words: Sequence[str]) -> bool:
    values = sysstat.values_of(table.columns, words)
    if values is None:
        return False
    reader.row(device, values)
    for total_at, rate_at in table.totals:
        if words[total_at][-1].isdigit():
            reader.length(sysstat.scaled(words[total_at], 1.0), sysstat.scaled(words[rate_at], 1.0))
    return True


def _prefix_words(lines: Sequence[str]) -> int:
    """How many words a tool put before each line: a time, as `ts` does; 0 without one."""
    for line in lines:
        match = _TABLE_START.search(line[: _MAX_PREFIX + 9])
        if match is not None:
            prefix = line[: match.start()]
            has_time = _STAMP.search(prefix) or re.search(r"\b\d{10}\b", prefix)
            return len(prefix.split()) if has_time else 0
    return 0


# --- when the reports were -----------------------------------------------------------------------


def _logs_of(source: Source, reader: _Reader, options: Options) -> list[Log]:
    calls = [call for call in reader.calls if call.stamps]
    is_loop = len(calls) > 2 and all(len(call.stamps) <= 2 for call in calls)
    runs: list[Reports] = []
    averages = 0
    for together in [calls] if is_loop else [[call] for call in calls]:
        found, left_out = _runs(source, reader, together, options)
        runs += found
        averages += left_out
    if not runs:
        raise source.error(
            "holds only averages since boot: 'iostat -xty 1' reports what happens in between"
        )
    if reader.is_cut:
        runs[-1] = replace(runs[-1], is_cut=True)
    remarks = []
    if any("_w+d" in header for header in reader.devices.headers):
        remarks.append(Remark("its writes include discards (iostat -s)", doubt=True))
    if averages:
        what = "first report" if averages == 1 else "first report of each call"
        remarks.append(Remark(f"the {what} is the average since boot (no -y): left out"))
    return reader.devices.logs("iostat", options, runs, *remarks)


def _runs(
    source: Source, reader: _Reader, calls: list[_Call], options: Options
) -> tuple[list[Reports], int]:
    """Return the runs of calls that belong together, and how many averages were left out."""
    stamps: Sequence[str] = calls[0].stamps
    if len(calls) > 1:
        stamps = [stamp for call in calls for stamp in call.stamps]
    numbers = np.concatenate([call.first_number + np.arange(len(call.stamps)) for call in calls])
    of_call = np.repeat(np.arange(len(calls)), [len(call.stamps) for call in calls])
    usual_s = _usual(np.concatenate([np.frombuffer(call.lengths_s) for call in calls]))
    is_boot = np.zeros(len(stamps), dtype=bool)
    firsts = np.cumsum([0, *(len(call.stamps) for call in calls[:-1])])
    is_boot[firsts] = [_is_since_boot(call, usual_s) for call in calls]
    if len(calls) > 2 and len(stamps) == len(calls):
        # a loop around single reports: with -y, or nobody would have made it
        is_boot[:] = _hardly_changes(reader, numbers)
    kept = np.flatnonzero(~is_boot)
    if not len(kept):
        return [], int(is_boot.sum())
    remarks: list[Remark] = []
    clock: Clock = "none"
    start_unix_s: float | None = None
    interval_s = _stated_interval(source, options)
    times = sysstat.read_stamps(stamps, calls[0].date) if any(stamps) else None
    if times is not None and np.isfinite(times.t_s).sum() > len(stamps) / 2:
        if times.doubt:
            remarks.append(Remark(times.doubt, True, ("time",)))
        all_s, clock, start_unix_s = times.t_s, times.clock, times.start_unix_s
        is_known = np.isfinite(all_s[kept])
        if unread := int((~is_known).sum()):
            source.remark(f"{unread} reports have no time that can be read: left out")
        kept = kept[is_known]
        if not len(kept):
            raise source.error(
                "has times only in reports without devices: nothing can be placed in time"
            )
    else:
        options.used.add("interval_s")
        if interval_s is None:
            interval_s, how = _interval(reader, usual_s)
            remarks.append(how)
        all_s = np.cumsum(~is_boot) * interval_s
    absent_is_idle = _has_gaps(reader, numbers[kept])
    runs = []
    for part in run_slices(all_s[kept], _SET_BACK_S):
        taken = kept[part]
        ends_s = sysstat.apart(np.maximum.accumulate(all_s[taken]))
        lasted_s = intervals(ends_s)
        # the interval of the first report began with the average since boot
        for place in np.flatnonzero(is_boot[taken - 1] & (of_call[taken - 1] == of_call[taken])):
            since_s = all_s[taken[place]] - all_s[taken[place] - 1]
            lasted_s[place] = since_s if taken[place] and since_s > 0 else lasted_s[place]
        if len(taken) == 1 and not lasted_s[0] > 0:
            lasted_s = np.full(1, interval_s or 1.0)
        runs.append(
            Reports(
                ends_s,
                lasted_s,
                numbers[taken],
                clock,
                start_unix_s,
                absent_is_idle,
                remarks=tuple(remarks),
            )
        )
    return runs, int(is_boot.sum())


def _stated_interval(source: Source, options: Options) -> float | None:
    stated = options.mapping.get("interval_s")
    interval_s = None if stated is None else _seconds(stated)
    if stated is not None and interval_s is None:
        raise source.error(f"interval_s={stated}: give the seconds between two reports")
    return interval_s


def _interval(reader: _Reader, usual_s: float | None) -> tuple[float, Remark]:
    """The seconds between reports that have no times, and how they are known."""
    if reader.interval_s is not None:
        text = f"interval of {reader.interval_s:g} s: from the command line in it"
        return reader.interval_s, Remark(text)
    if usual_s is not None:
        return usual_s, Remark(f"interval of {usual_s:g} s: from totals and their rates")
    text = (
        "has no times (iostat -t): assumed to have a report each second; --map interval_s=N if not"
    )
    return 1.0, Remark(text, True, ("time",))


def _is_since_boot(call: _Call, usual_s: float | None) -> bool:
    """Whether a call's first report is the average since boot."""
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
    return any(
        np.diff(np.searchsorted(rows.numbers, [numbers[0], numbers[-1] + 1])) < len(numbers)
        for rows in reader.devices.rows.values()
    )
