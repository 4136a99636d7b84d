"""Repeated reports of a tool: which lines are one report, and when each of them was.

A reader of a layout hands the parts of reports to :class:`ReportReader`, in the file's order;
:func:`logs_of` finds their times and makes the logs. iostat, vmstat, `zpool iostat` and loops
around `/proc/diskstats` share it.
"""

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from heatsoak.importer import sysstat
from heatsoak.importer.block_devices import Devices, Reports
from heatsoak.importer.frames import Array, intervals, run_slices
from heatsoak.importer.log import Clock, Log, Options, Remark
from heatsoak.importer.source import Source
from heatsoak.importer.tables.cells import Words

_COMMAND = re.compile(r"(?:^|[\s\"'/`$#>+|&;])iostat((?:\s+[\w./,=:-]+)+)")
#: A total in the report's own unit tells how long the interval was from here on.
_MIN_TOTAL = 50.0
#: A clock may be set back this far within a run.
_SET_BACK_S = 5.0


@dataclass
class Call:
    """The reports of one call of iostat."""

    #: The day that its heading names.
    date: str = ""
    stamps: Words = field(default_factory=Words)
    lengths_s: "array[float]" = field(default_factory=lambda: array("d"))
    first_number: int = 0
    #: Whether its first report is of an interval (``-y``), if that is known.
    skipped_boot: bool | None = None
    blanks: int | None = None


class ReportReader:
    """Takes parts of reports, in the file's order, whatever the layout."""

    def __init__(self, source: Source, tool: str, *, counts: bool = False) -> None:
        self.devices = Devices(source)
        #: Whether values are what counters moved by: the first report has none.
        self.devices.are_totals = self.counts = counts
        #: The reader's name of the format.
        self.tool = tool
        self.calls: list[Call] = []
        self.interval_s: float | None = None
        #: Whether the last report may lack devices that iostat wrote.
        self.is_cut = False
        self._skips_boot: bool | None = None
        self._reports = 0
        self._seen: set[str] = set()
        self._taken: set[tuple[str, str]] = set()
        self._has_cpu = False

    @property
    def call(self) -> Call:
        """The call whose reports are being taken."""
        if not self.calls:
            self.begin_call("")
        return self.calls[-1]

    def begin_call(self, date: str) -> None:
        """Take what follows as another call's."""
        self.calls.append(Call(date, first_number=self._reports, skipped_boot=self._skips_boot))
        self._has_cpu, self._seen = False, set()

    def begin_report(self, stamp: str = "") -> None:
        """Take what follows as a new report's."""
        self.call.stamps.append(stamp)
        self.call.lengths_s.append(np.nan)
        self._reports += 1
        self._seen, self._taken, self._has_cpu = set(), set(), False

    def stamp(self, stamp: str) -> None:
        """Take the time that stands before a report."""
        if self.call.stamps and not (self._seen or self._taken or self._has_cpu):
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

    def row(self, device: str, values: list[tuple[str, float]], prefix: str = "") -> None:
        """Take a device's values; a device that comes again begins a report.

        But not in one whose time is known: there it is listed twice.
        """
        key = (device, values[0][0] if values else "")
        is_again = key in self._taken and (not self.call.stamps[-1] or bool(prefix))
        if not self.call.stamps or is_again:
            self.begin_report(prefix)
        self._taken.add(key)
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


def logs_of(source: Source, reader: ReportReader, options: Options) -> list[Log]:
    """Return a log for each chosen device in each run of reports.

    Raises UsageError where no report is left that tells of an interval.
    """
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
            "holds one report alone, of which a course needs several: 'iostat -xty 1' reports what "
            "happens in between"
        )
    if reader.is_cut:
        runs[-1] = replace(runs[-1], is_cut=True)
    remarks = []
    if any("_w+d" in header for header in reader.devices.headers):
        remarks.append(Remark("its writes include discards (iostat -s)", doubt=True))
    if averages and not reader.counts:
        what = "first report" if averages == 1 else "first report of each call"
        remarks.append(Remark(f"the {what} is the average since boot (no -y): left out"))
    return reader.devices.logs(reader.tool, options, runs, *remarks)


def _runs(
    source: Source, reader: ReportReader, calls: list[Call], options: Options
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
    interval_s = stated_interval(source, options)
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


def stated_interval(source: Source, options: Options) -> float | None:
    """Return the seconds between reports as the user says; raises UsageError for no seconds."""
    stated = options.mapping.get("interval_s")
    interval_s = None if stated is None else _seconds(stated)
    if stated is not None and interval_s is None:
        raise source.error(f"interval_s={stated}: give the seconds between two reports or readings")
    return interval_s


def _interval(reader: ReportReader, usual_s: float | None) -> tuple[float, Remark]:
    """The seconds between reports that have no times, and how they are known."""
    if reader.interval_s is not None:
        text = f"interval of {reader.interval_s:g} s: from the command line in it"
        return reader.interval_s, Remark(text)
    if usual_s is not None:
        return usual_s, Remark(f"interval of {usual_s:g} s: from totals and their rates")
    text = "has no times: assumed to have a report each second; --map interval_s=N if not"
    return 1.0, Remark(text, True, ("time",))


def _is_since_boot(call: Call, usual_s: float | None) -> bool:
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


def _hardly_changes(reader: ReportReader, numbers: NDArray[np.int64]) -> bool:
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


def _has_gaps(reader: ReportReader, numbers: NDArray[np.int64]) -> bool:
    """Whether some device is missing from some of these reports, as with -z."""
    return any(
        np.diff(np.searchsorted(rows.numbers, [numbers[0], numbers[-1] + 1])) < len(numbers)
        for rows in reader.devices.rows.values()
    )
