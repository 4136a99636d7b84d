"""Repeated reports of a tool: which lines are one report, and when each of them was.

A reader of a layout hands the parts of reports to :class:`ReportReader`, in the file's order;
:func:`logs_of` finds their times and makes the logs.
"""

import re
from array import array
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from heatsoak.importer import frames, log
from heatsoak.importer.block_devices import Devices, Reports
from heatsoak.importer.numbers import number_of, scaled
from heatsoak.importer.runs import set_back
from heatsoak.importer.source import Source
from heatsoak.importer.tables import ReportColumn, values_of
from heatsoak.importer.tables.cells import Words
from heatsoak.importer.timestamps import Times, read_stamps
from heatsoak.recording import grid
from heatsoak.words import amount_text

_COMMAND = re.compile(r"(?:^|[\s\"'/`$#>+|&;])iostat((?:\s+[\w./,=:-]+)+)")
#: Totals of iostat, whose rates have the same name with `/s`.
TOTALS = re.compile(r"(?:kB|MB|Blk|GB)_(?:read|wrtn)")
#: A total in the report's own unit tells how long the interval was from here on.
_MIN_TOTAL = 50.0
#: A clock may be set back this far within a run.
_SET_BACK_S = 5.0
#: Reports that are found by their times are of two runs if they are this many intervals apart.
_MAX_GAP_INTERVALS = 3.0


@dataclass(frozen=True)
class ReportTable:
    """What the words of a row are.

    Attributes:
        headers: of its words, one each.
        columns: those of a device.
        device_at: where the device's name stands; None where rows are of all devices together.
        cpu: places of shares of the processors' time, and 1 for those of work, -1 for others.
        stolen_at: where the share stands that a hypervisor gave to others.
    """

    headers: Sequence[str]
    columns: Sequence[ReportColumn] = ()
    device_at: int | None = None
    cpu: tuple[tuple[int, float], ...] = ()
    stolen_at: int | None = None

    def cpu_pct(self, words: Sequence[str]) -> float:
        """Return how busy the processors were."""
        shares = sum(scaled(words[at], scale) for at, scale in self.cpu)
        return 100.0 + shares if self.cpu[0][1] < 0 else shares

    @cached_property
    def totals(self) -> list[tuple[int, int]]:
        """Places of totals with those of their rates."""
        heads = self.headers
        return [
            (at, heads.index(f"{head}/s"))
            for at, head in enumerate(heads)
            if TOTALS.fullmatch(head) and f"{head}/s" in heads
        ]


def table_of(
    headers: Sequence[str],
    known: Mapping[str, tuple[str, float]],
    idle: Container[str] = (),
    device: str | None = None,
) -> ReportTable:
    """Return what the words below `headers` are, by a dialect's names.

    `known` says which column of a recording a header is, and its scale; `idle` are headers of the
    processors' shares without work, `device` that of the device's name.
    """
    return ReportTable(
        headers,
        [(at, *known[h]) for at, h in enumerate(headers) if h in known and known[h][0] != CPU],
        headers.index(device) if device in headers else None,
        tuple((at, -1.0) for at, h in enumerate(headers) if h in idle or (idle and h in STOLEN))
        or tuple((at, 1.0) for at, h in enumerate(headers) if known.get(h, ("",))[0] == CPU),
        next((at for at, h in enumerate(headers) if h in STOLEN), None),
    )


#: A recording's columns of how busy the processors were, and how much others were given of them.
CPU, CPU_STOLEN = "cpu_pct", "cpu_steal_pct"
#: What tools call the latter.
STOLEN = ("%steal", "steal", "st", "stl")


@dataclass
class Call:
    """The reports of one call of a tool."""

    #: The day that its heading names.
    date: str = ""
    stamps: Words = field(default_factory=Words)
    lengths_s: "array[float]" = field(default_factory=lambda: array("d"))
    first_number: int = 0
    #: Whether its first report is of an interval (``-y``), if that is known.
    skipped_boot: bool | None = None
    blanks: int | None = None


class ReportReader:
    """Takes parts of reports, in the file's order, whatever the layout.

    With `counts` values are what counters moved by: the first report has none. With `by_time` the
    parts of a report may stand anywhere in the file, each with its time (:meth:`at`).
    """

    def __init__(
        self, source: Source, tool: str, *, counts: bool = False, by_time: bool = False
    ) -> None:
        self.devices = Devices(source)
        self.devices.are_totals = self.counts = counts
        self.by_time = by_time
        #: The reader's name of the format.
        self.tool = tool
        self.calls: list[Call] = []
        self.interval_s: float | None = None
        #: Whether the last report may lack devices that the tool wrote.
        self.is_cut = False
        #: Whether a command line says that idle devices are not shown (``-z``), if it is there.
        self.omits_idle: bool | None = None
        #: When the machine was started again, as it is written.
        self.restarts: dict[str, None] = {}
        self.read_stamps: Callable[[Sequence[str], str], Times] = read_stamps
        self._skips_boot: bool | None = True if by_time else None
        self._reports = 0
        self._report = -1
        self._numbers: dict[str, int] = {}
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
        self._has_cpu, self._seen, self._taken = False, set(), set()

    def begin_report(self, stamp: str = "", length_s: float = np.nan) -> None:
        """Take what follows as a new report's."""
        self.call.stamps.append(stamp)
        self.call.lengths_s.append(length_s)
        self._report = self._reports
        self._reports += 1
        self._seen, self._taken, self._has_cpu = set(), set(), False

    def at(self, stamp: str, length_s: float = np.nan) -> None:
        """Take what follows as a part of the report of this time."""
        known = self._numbers.get(stamp)
        if known is None:
            self.begin_report(stamp, length_s)
            self._numbers[stamp] = self._report
        else:
            self._report = known

    def stamp(self, stamp: str) -> None:
        """Take the time that stands before a report."""
        if self.call.stamps and not (self._seen or self._taken or self._has_cpu):
            self.call.stamps.replace_last(stamp)
        else:
            self.begin_report(stamp)

    def cpu(self, busy_pct: float, prefix: str = "", stolen_pct: float = np.nan) -> None:
        """Take how busy the processors were, and how much of them others were given."""
        if not self.by_time and (not self.call.stamps or self._seen or self._has_cpu):
            self.begin_report(prefix)
        self.share(CPU, busy_pct)
        if np.isfinite(stolen_pct):
            self.share(CPU_STOLEN, stolen_pct)
        self._has_cpu = True

    def share(self, column: str, value: float) -> None:
        """Take a value of the host."""
        self.devices.share(column, self._report, value)

    def header(self, table: ReportTable, prefix: str = "") -> None:
        """Take the header of a table of devices, in reports that are not found by their times."""
        headers = [h for at, h in enumerate(table.headers) if at != table.device_at]
        if not self.call.stamps or not self._seen.isdisjoint(headers):
            self.begin_report(prefix)
        self._seen.update(headers)
        self.devices.headers.update(dict.fromkeys(headers))

    def row(self, device: str, values: list[tuple[str, float]], prefix: str = "") -> None:
        """Take a device's values; a device that comes again begins a report.

        But not in one whose time is known: there it is listed twice.
        """
        if not self.by_time:
            key = (device, values[0][0] if values else "")
            is_again = key in self._taken and (not self.call.stamps[-1] or bool(prefix))
            if not self.call.stamps or is_again:
                self.begin_report(prefix)
            self._taken.add(key)
        self.devices.add(device, self._report, values)

    def take(self, table: ReportTable, words: Sequence[str], prefix: str = "") -> bool:
        """Take a row's words; False where they are not such a row."""
        if len(words) != len(table.headers):
            return False
        values = values_of(table.columns, words)
        if values is None:
            return False
        if table.columns:
            self.row("" if table.device_at is None else words[table.device_at], values, prefix)
            for total_at, rate_at in table.totals:
                if words[total_at][-1].isdigit():
                    self.length(scaled(words[total_at]), scaled(words[rate_at]))
        if table.cpu:
            at = table.stolen_at
            self.cpu(table.cpu_pct(words), prefix, np.nan if at is None else scaled(words[at]))
        return True

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
        self._skips_boot, self.omits_idle = "y" in short, "z" in short
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
    return value if 0 < (value := number_of(word)) < 1e6 else None


def logs_of(source: Source, reader: ReportReader, options: log.Options) -> list[log.Log]:
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
        remarks.append(log.Remark("its writes include discards (iostat -s)", doubt=True))
    if averages and not reader.counts:
        what = "first report" if averages == 1 else "first report of each call"
        remarks.append(log.Remark(f"the {what} is the average since boot: left out"))
    return reader.devices.logs(reader.tool, options, runs, *remarks)


def _runs(
    source: Source, reader: ReportReader, calls: list[Call], options: log.Options
) -> tuple[list[Reports], int]:
    """Return the runs of calls that belong together, and how many averages were left out."""
    numbers = np.concatenate([call.first_number + np.arange(len(call.stamps)) for call in calls])
    of_call = np.repeat(np.arange(len(calls)), [len(call.stamps) for call in calls])
    lengths_s = np.concatenate([np.frombuffer(call.lengths_s) for call in calls])
    usual_s = _usual(lengths_s)
    is_boot = _since_boot(reader, calls, numbers, usual_s)
    if is_boot.all():
        return [], len(is_boot)
    times = _timeline(source, reader, calls, options, is_boot, usual_s)
    parts = times.parts(reader.by_time)
    starts_s = [times.ends_s[times.kept[part.start]] for part in parts]
    is_set_back = any(map(starts_s[0].__lt__, starts_s[1:])) and times.clock != "none"
    if is_set_back and len(calls) == 1 and not reader.by_time:
        times.remarks.append(set_back(source.name))
    clock, said = (times.clock, times.start_unix_s), tuple(times.remarks)
    omits = bool(reader.omits_idle)
    absent_is_idle = _omits_idle(reader, numbers[times.kept])
    follows_boot = np.roll(is_boot, 1) & (np.roll(of_call, 1) == of_call)
    runs = []
    for part in parts:
        taken = times.kept[part]
        ends_s = frames.spread(np.maximum.accumulate(times.ends_s[taken]))
        lasted_s = grid.covered_s(ends_s)
        if reader.by_time:
            stated_s = lengths_s[taken]
            lasted_s = np.where((stated_s > 0) & (stated_s < 1e6), stated_s, lasted_s)
        # the interval of the first report began with the average since boot
        for place in np.flatnonzero(follows_boot[taken]):
            since_s = times.ends_s[taken[place]] - times.ends_s[taken[place] - 1]
            lasted_s[place] = since_s if taken[place] and since_s > 0 else lasted_s[place]
        if len(taken) == 1 and not lasted_s[0] > 0:
            lasted_s = np.full(1, times.interval_s or 1.0)
            if reader.by_time:
                lasted_s = grid.covered_s(times.ends_s[times.kept])[part]
        runs.append(
            Reports(ends_s, lasted_s, numbers[taken], *clock, absent_is_idle, omits, remarks=said)
        )
    return runs, int(is_boot.sum())


def _since_boot(
    reader: ReportReader, calls: list[Call], numbers: NDArray[np.int64], usual_s: float | None
) -> NDArray[np.bool_]:
    """Which reports are averages since boot."""
    if len(calls) > 2 and len(numbers) == len(calls):
        # a loop around single reports: with -y, or nobody would have made it
        return np.full(len(numbers), _hardly_changes(reader, numbers))
    is_boot = np.zeros(len(numbers), dtype=bool)
    firsts = np.cumsum([0, *(len(call.stamps) for call in calls[:-1])])
    is_boot[firsts] = [_is_since_boot(call, usual_s) for call in calls]
    return is_boot


@dataclass
class _Timeline:
    """When reports ended, those that are left out too.

    Attributes:
        ends_s: NaN where unknown.
        kept: which of them are taken, in the order of the file, or of time.
        interval_s: between reports, as far as it is stated or assumed.
        restarts_s: when the machine was started again, as far as that is known.
    """

    ends_s: frames.Array
    kept: NDArray[np.int64]
    interval_s: float | None
    clock: log.Clock = "none"
    start_unix_s: float | None = None
    restarts_s: frames.Array = field(default_factory=lambda: np.empty(0))
    remarks: list[log.Remark] = field(default_factory=list)

    def parts(self, by_time: bool) -> list[slice]:
        """Return which of those kept are one run each."""
        kept_s = self.ends_s[self.kept]
        if not by_time:
            return frames.run_slices(kept_s, _SET_BACK_S)
        after = np.searchsorted(kept_s, self.restarts_s, side="right")
        gap_s = _MAX_GAP_INTERVALS * grid.usual_of(np.diff(kept_s))
        return frames.run_slices(kept_s, ahead_s=gap_s, marks=after)


def _timeline(
    source: Source,
    reader: ReportReader,
    calls: list[Call],
    options: log.Options,
    is_boot: NDArray[np.bool_],
    usual_s: float | None,
) -> _Timeline:
    """When reports ended by their times, or where they have none, by their interval."""
    stamps: Sequence[str] = calls[0].stamps
    if len(calls) > 1:
        stamps = [stamp for call in calls for stamp in call.stamps]
    kept = np.flatnonzero(~is_boot)
    interval_s = stated_interval(source, options)
    times: Times | None = None
    if any(stamps):
        moments = [*stamps, *reader.restarts] if reader.restarts else stamps
        times = reader.read_stamps(moments, calls[0].date)
        ends_s, restarts_s = times.t_s[: len(stamps)], times.t_s[len(stamps) :]
        is_timed = reader.by_time or np.isfinite(ends_s).sum() > len(stamps) / 2
        times = times if is_timed else None
    if times is None:
        options.used.add("interval_s")
        remarks = []
        if interval_s is None:
            interval_s, how = _interval(reader, usual_s)
            remarks.append(how)
        ends_s = np.cumsum(~is_boot, dtype=np.float64) * interval_s
        return _Timeline(ends_s, kept, interval_s, remarks=remarks)
    remarks = [log.Remark(times.doubt, True, times.touches)] if times.doubt else []
    is_known = np.isfinite(ends_s[kept])
    if unread := int((~is_known).sum()):
        source.remark(f"{unread} reports have no time that can be read: left out")
    kept = kept[is_known]
    if not len(kept):
        raise source.error(
            "has no report whose time can be read"
            if reader.by_time
            else "has times only in reports without devices: nothing can be placed in time"
        )
    if reader.by_time:
        kept = kept[np.argsort(ends_s[kept], kind="stable")]
    restarts_s = restarts_s[np.isfinite(restarts_s)]
    return _Timeline(ends_s, kept, interval_s, times.clock, times.start_unix_s, restarts_s, remarks)


def stated_interval(source: Source, options: log.Options) -> float | None:
    """Return the seconds between reports as the user says; raises UsageError for no seconds."""
    stated = options.mapping.get("interval_s")
    interval_s = None if stated is None else _seconds(stated)
    if stated is not None and interval_s is None:
        raise source.error(f"interval_s={stated}: give the seconds between two reports or readings")
    return interval_s


def _interval(reader: ReportReader, usual_s: float | None) -> tuple[float, log.Remark]:
    """The seconds between reports that have no times, and how they are known."""
    if reader.interval_s is not None:
        text = f"interval of {amount_text(reader.interval_s, 's')}: from the command line in it"
        return reader.interval_s, log.Remark(text)
    if usual_s is not None:
        return usual_s, log.Remark(
            f"interval of {amount_text(usual_s, 's')}: from totals and their rates"
        )
    text = "has no times: assumed to have a report each second; --map interval_s=N if not"
    return 1.0, log.Remark(text, True, ("time",))


def _is_since_boot(call: Call, usual_s: float | None) -> bool:
    """Whether a call's first report is the average since boot."""
    if call.skipped_boot is not None:
        return not call.skipped_boot
    first_s = call.lengths_s[0]
    if usual_s is not None and first_s == first_s:
        return bool(first_s > 3 * usual_s) or len(call.stamps) == 1
    return True


def _usual(lengths_s: frames.Array) -> float | None:
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
            values = rows.values.get(name)
            if values is None or len(values) < len(numbers) or not values.max() > 0:
                continue
            with np.errstate(invalid="ignore", divide="ignore"):
                change = np.abs(np.diff(values)) / values[:-1]
            if not bool(np.all(change < 0.02)):
                return False
    return True


def _omits_idle(reader: ReportReader, numbers: NDArray[np.int64]) -> bool:
    """Whether a device that is missing from some of these reports was idle, as with iostat -z.

    That shows no device that did nothing; elsewhere the row was lost.
    """
    if reader.tool != "iostat" or reader.omits_idle is not None:
        return bool(reader.omits_idle)
    all_rows = reader.devices.rows.values()
    spans = [np.searchsorted(rows.numbers, [numbers[0], numbers[-1] + 1]) for rows in all_rows]
    is_missing = any(np.diff(span) < len(numbers) for span in spans)
    return is_missing and not any(
        rows.is_idle[begin:end].any() for rows, (begin, end) in zip(all_rows, spans, strict=True)
    )
