"""A drive's own counters, read again and again: what nvme-cli and smartctl print, made into logs.

A reading is one output of such a tool. Several stand behind each other in a file, with the times
that the user's script wrote between them, or with none.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from heatsoak.errors import UsageError
from heatsoak.importer.frames import Array, build, intervals, run_slices
from heatsoak.importer.log import Clock, Log, Options, Remark
from heatsoak.importer.moment import read_times
from heatsoak.importer.source import Source
from heatsoak.protocol import Observed
from heatsoak.recording import SensorMeta

#: Bytes of one "data unit" of an NVMe health log: 1000 blocks of 512 bytes.
DATA_UNIT_BYTES = 512_000.0
#: What no drive can be; such values stand for sensors that are not there.
_POSSIBLE_C = (-60.0, 200.0)
#: A counter that moves by fewer of its units an interval tells no rate worth the name.
_LEAST_UNITS = 10.0
#: Means over longer than this hide what a drive does when it throttles.
_LONG_INTERVAL_S = 60.0
#: More drives, or more runs, than this are none but damage.
_MOST_LOGS = 1000
#: Readings apart by this many whole seconds or more need no evening out.
_COARSE_S = 5.0

_CLOCK = re.compile(r"(?<![\d:.])\d{1,2}:\d{2}(?![\d:]*:\d*:)")
_EPOCH = re.compile(r"(?<![\w.,])(1\d{9}(?:[.,]\d{1,9})?|1\d{12}|1\d{15}|1\d{18})(?![\w.,])")
_ANSI = re.compile(r"\x1b\[[0-9;?]{0,16}[A-Za-z]|\x1b[()][A-Z0-9]")
_EVERY = re.compile(r"Every (\d{1,6}[.,]?\d{0,3}) ?s(?:ec)?[^:]{0,4}:")
_DEGREES = re.compile(
    r"(?<![\w.])(-?\d{1,10}(?:[.,]\d{1,6})?)\s{0,3}[^\w\s(-]{0,3}\s?(?:deg(?:rees)?\.?\s)?"
    r"(C|F|K|Celsius|Fahrenheit|Kelvin)?\b"
)
_INTEGER = re.compile(r"\s*(\d[\d.,'’٬_  \u202f]*)")
_NO_DIGIT = re.compile(r"\D")
_TIME_KEY = re.compile(
    r"t|t_?s|ts|when|epoch|seconds|elapsed(_s|_sec|_seconds)?|.{0,12}time_?stamp.{0,8}|"
    r"(unix|local|wall|log|sample|capture|start|read|query|utc|poll|system|host|rel)?_?time"
    r"(_?(s|sec|ms|us|ns|t|iso|utc|local|unix|epoch))?|"
    r"(local|sample|log|utc)?_?date(_?time)?|(collected|sampled|taken|logged|read)_at"
)
_WORDS_OF_A_STAMP, _LONGEST_STAMP = 10, 120


def degrees_c(text: str, *, needs_unit: bool = False) -> float | None:
    """Return the temperature in Celsius that a tool printed, in whichever unit it says.

    The kelvins beside Fahrenheit are taken less 273, as the tools do. Without a unit, what is too
    hot for Celsius is kelvin; with `needs_unit` it is a number that was cut, and None.
    """
    found: dict[str, float] = {}
    for match in _DEGREES.finditer(text[:100]):
        found.setdefault((match.group(2) or "")[:1], float(match.group(1).replace(",", ".")))
    if "C" in found:
        return found["C"]
    if "K" in found:
        return found["K"] - 273.0 if found["K"] else None
    if "F" in found:
        return round((found["F"] - 32.0) / 1.8, 2)
    return of_kelvin_or_celsius(found[""]) if "" in found and not needs_unit else None


def of_kelvin_or_celsius(value: float) -> float | None:
    """Return Celsius of what should be kelvin; a value too low for it is Celsius already."""
    if value == 0:
        return None
    return value - 273.0 if value > _POSSIBLE_C[1] else value


def whole(text: str) -> float | None:
    """Return a count that is written with a locale's separators of thousands, or None."""
    match = _INTEGER.match(text[:100])
    if match is None:
        return None
    digits = _NO_DIGIT.sub("", match.group(1))
    return float(digits) if len(digits) < 40 else None


def number(value: Any) -> float | None:
    """Return a number of a JSON document, be it one or a string of one; None for all else."""
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int) and abs(value) >= 1 << 128:
        return None
    return float(value) if math.isfinite(value) else None


def plain(line: str) -> str:
    """Return a line without the colours and cursor movements of a terminal."""
    return _ANSI.sub("", line) if "\x1b" in line else line


def stamp_in(text: str) -> str | None:
    """Return the time that a line between two readings tells, as it is written, or None."""
    if len(text) > _LONGEST_STAMP:
        return None
    words = len(text.split())
    epoch = _EPOCH.search(text)
    if epoch is not None and words <= 4:
        return epoch.group(1)
    if _CLOCK.search(text) is None or words > _WORDS_OF_A_STAMP:
        return None
    return text.strip(" \t#*=-<>[]|\"',;")


@dataclass
class Reading:
    """What one output of the tool says.

    Attributes:
        stamp: when, as it is written; empty where nothing tells.
        unix_s: when, where the tool itself tells.
        device: whose; empty where nothing tells.
        values: columns of a recording.
        counters: `read_bytes`, `write_bytes`, `read_ios`, `write_ios` since the drive was made.
    """

    stamp: str = ""
    unix_s: float | None = None
    device: str = ""
    values: dict[str, float] = field(default_factory=dict)
    counters: dict[str, float] = field(default_factory=dict)


@dataclass
class Drive:
    """What a file tells of a drive besides its readings."""

    identity: dict[str, Any] = field(default_factory=dict)
    thresholds: dict[str, float] = field(default_factory=dict)


class Readings:
    """Takes what a file says, line by line or document by document, and makes logs of it."""

    def __init__(self, source: Source, options: Options, name: str) -> None:
        """Begin a file of the format `name`."""
        self._source, self._options, self._name = source, options, name
        self.all: list[Reading] = []
        self.tools: dict[str, str] = {}
        self._drives: dict[str, Drive] = {}
        self._current: Reading | None = None
        self._info = Drive()
        self._stamp = ""
        self._watch_s: float | None = None
        #: Bytes that a counter moves by at least, where it is coarser than a data unit.
        self.unit_bytes = DATA_UNIT_BYTES
        #: How counters were read, which matters only where rates are made of them.
        self.about_counters = ""
        self._remarks: dict[str, Remark] = {}

    def remark(self, text: str, doubt: bool = False) -> None:
        """Say something of the file, once."""
        self._remarks.setdefault(text, Remark(f"{self._source.name}: {text}", doubt))

    def documents(self) -> Iterator[Any]:
        """Yield the file's JSON documents; text before one of them may tell its time.

        Raises UsageError for damage before the first reading; damage later ends the series.
        """
        try:
            for document in self._source.documents():
                for line in document.before.split("\n"):
                    self.line(plain(line))
                yield document.value
        except UsageError as error:
            if not self.count:
                raise
            text = str(error).removeprefix(f"{self._source.name}: ")
            self.remark(f"{text}; from there on it was left out", doubt=True)

    def begin(self, device: str = "") -> None:
        """Begin another reading."""
        self._end()
        self._current = Reading(self._stamp, device=device)
        self._stamp = ""

    def _end(self) -> None:
        if self._current is None:
            return
        current, self._current = self._current, None
        if current.values or current.counters:
            self.all.append(current)
            self._give(current.device)
        elif current.stamp and not self._stamp:
            self._stamp = current.stamp

    def _give(self, device: str) -> None:
        """Ascribe what was told of a drive to `device`."""
        info, self._info = self._info, Drive()
        drive = self._drives.setdefault(device, Drive())
        drive.identity |= info.identity
        drive.thresholds |= info.thresholds

    @property
    def current(self) -> Reading:
        """The reading that is being taken; a new one where none is."""
        if self._current is None:
            self.begin(self.all[-1].device if self.all else "")
        assert self._current is not None
        return self._current

    def named(self, device: str) -> None:
        """Say whose the present reading is."""
        if not self.current.device:
            self.current.device = device

    def line(self, text: str) -> None:
        """Take a line that is none of the tool's: it may tell the time, or watch's interval."""
        every = _EVERY.match(text)
        if every is not None:
            self._watch_s = float(every.group(1).replace(",", ".")) or None
            text = text[every.end() :].rpartition(": ")[2]
        stamp = stamp_in(text)
        if stamp is not None:
            self._end()
            self._stamp = stamp

    def stamped(self, text: str, begins: bool = False) -> None:
        """Take the words before a value in the same line: they may tell the time.

        `begins`: whether the value is the first of its reading, so that the time is a new one's.
        """
        stamp = stamp_in(text) if text.strip() else None
        if stamp is None:
            return
        if begins and "temp_c.composite" in self.current.values:
            self.begin(self.current.device)
        if not self.current.stamp:
            self.current.stamp = stamp

    def stamp_among(self, fields: dict[Any, Any]) -> str:
        """Return the time that one of a JSON object's own fields tells, or an empty string."""
        for key, value in fields.items():
            name = str(key).lower().lstrip("@_")
            if not _TIME_KEY.fullmatch(name) or isinstance(value, bool):
                continue
            if isinstance(value, str):
                stamp = stamp_in(value)
                if stamp is not None:
                    return stamp
            elif isinstance(value, int | float) and 0 <= value < 1e19:
                return f"{value:.9f}" if isinstance(value, float) else str(value)
        return ""

    @property
    def lacks_first_stamp(self) -> bool:
        """Whether times were told, but none before the first reading."""
        self._end()
        return len(self.all) > 1 and not self.all[0].stamp and bool(self.all[1].stamp)

    def unread(self, lines: list[int]) -> None:
        """Say which lines could not be read."""
        if lines:
            what = f"{len(lines)} lines" if len(lines) > 1 else "a line"
            first = f", the first is line {lines[0]}" if len(lines) > 1 else f": line {lines[0]}"
            self.remark(f"{what} could not be read{first}", doubt=True)

    def value(self, column: str, value: float | None, *, begins: bool = True) -> None:
        """Take a value of the present reading.

        One that it has already begins the next reading, or without `begins` is left out.
        """
        if column in self.current.values:
            if not begins:
                return
            self.begin(self.current.device)
        if value is None or not math.isfinite(value):
            return
        if column.startswith("temp_c.") and not _POSSIBLE_C[0] < value < _POSSIBLE_C[1]:
            return
        self.current.values[column] = value

    def counter(self, name: str, value: float | None, *, begins: bool = True) -> None:
        """Take a counter of the present reading, likewise."""
        if name in self.current.counters:
            if not begins:
                return
            self.begin(self.current.device)
        if value is not None and value >= 0:
            self.current.counters[name] = value

    def threshold(self, name: str, celsius: float | None) -> None:
        """Take a limit that the drive states."""
        if celsius is not None and _POSSIBLE_C[0] < celsius < _POSSIBLE_C[1]:
            self._info.thresholds[name] = celsius

    def identity(self, name: str, value: Any) -> None:
        """Take something that tells which drive it is."""
        if value not in ("", None):
            self._info.identity[name] = value

    def of_drive(self, device: str, **identity: Any) -> None:
        """Take what a list of drives says of one."""
        self._drives.setdefault(device, Drive()).identity |= {
            name: value for name, value in identity.items() if value not in ("", None)
        }

    @property
    def count(self) -> int:
        """How many readings there are so far."""
        self._end()
        return len(self.all)

    def history(
        self,
        column: str,
        values: list[float],
        interval_s: float,
        *,
        begin: str,
        end_unix_s: float | None,
    ) -> list[Log]:
        """Return the log of what a drive itself has written down at regular intervals.

        `begin` is the time of the first, as it is written, and `end_unix_s` that of the last,
        where one of them is known.
        """
        self._end()
        times = read_times([begin]) if begin else None
        clock: Clock = "none"
        zero = None
        if end_unix_s is not None:
            clock, zero = "utc", end_unix_s - interval_s * (len(values) - 1)
        elif times is not None and times.begin_unix_s is not None:
            clock, zero = times.clock, times.begin_unix_s
        self.remark("the series is the drive's own history of its temperature", doubt=False)
        device = self.all[-1].device if self.all else ""
        self._give(device)
        self.all = [Reading(device=device, values={column: value}) for value in values]
        kept = [index for index, value in enumerate(values) if math.isfinite(value)]
        return [
            self._log(
                [self.all[index] for index in kept],
                np.array(kept, dtype=float) * interval_s,
                label="",
                clock=clock,
                begin=zero,
                known=True,
                remarks=list(self._remarks.values()),
            )
        ]

    def finish(self, after: str = "") -> list[Log]:
        """Return the logs; `after` is the time that stands behind the last reading."""
        self._end()
        readings = self.all
        if not readings:
            raise self._source.error("holds no reading of a drive's temperature or counters")
        self._give(readings[-1].device)
        trailing = self._stamp or after
        if len(readings) > 1 and not readings[0].stamp and (trailing or readings[1].stamp):
            # the script told the time behind each reading, not before it
            for here, following in pairwise(readings):
                here.stamp = following.stamp
            readings[-1].stamp = trailing
        named = {reading.device for reading in readings} - {""}
        if len(named) == 1:
            (name,) = named
            for reading in readings:
                reading.device = name
        if len(named) > 1:
            _share_stamps(readings)
        by_device: dict[str, list[Reading]] = {}
        for reading in readings:
            by_device.setdefault(reading.device, []).append(reading)
        if len(by_device) > _MOST_LOGS:
            raise self._source.error(f"names {len(by_device)} drives: no machine has so many")
        logs: list[Log] = []
        for device in self._wanted(list(by_device)):
            logs += self._runs(device, by_device[device], several=len(by_device) > 1)
        return logs

    def _wanted(self, devices: list[str]) -> list[str]:
        name = self._options.device
        if name is None or devices == [""]:
            return devices
        short = name.removeprefix("/dev/")
        for device in devices:
            if short and short in (device, device.removeprefix("/dev/")):
                return [device]
        near = [device for device in devices if device.removeprefix("/dev/").startswith(short)]
        if short and len(near) == 1:
            return near
        raise self._source.error(f"tells nothing of {name}, but of {', '.join(devices)}")

    def _runs(self, device: str, readings: list[Reading], several: bool) -> list[Log]:
        remarks = list(self._remarks.values())
        times, clock, begin, known = self._times(readings, remarks)
        kept = np.flatnonzero(np.isfinite(times))
        if len(kept) < len(readings):
            lost = len(readings) - len(kept)
            text = f"{lost} of {len(readings)} readings have no time that can be read: left out"
            remarks.append(Remark(f"{self._source.name}: {text}", doubt=True))
        readings, times = [readings[index] for index in kept], times[kept]
        runs = run_slices(times, least_jump_s=1.0)
        if len(runs) > _MOST_LOGS:
            raise self._source.error(f"has a clock that goes back {len(runs) - 1} times")
        logs = []
        for index, run in enumerate(runs, 1):
            words = [device if several else "", f"run {index}" if len(runs) > 1 else ""]
            logs.append(
                self._log(
                    readings[run],
                    times[run],
                    label=" ".join(word for word in words if word),
                    clock=clock,
                    begin=begin,
                    known=known,
                    remarks=list(remarks),
                )
            )
        return logs

    def _times(
        self, readings: list[Reading], remarks: list[Remark]
    ) -> tuple[Array, Clock, float | None, bool]:
        """Times, their clock, its time at 0, and whether they were told at all."""
        told = np.array([math.nan if r.unix_s is None else r.unix_s for r in readings], dtype=float)
        words = [reading.stamp for reading in readings]
        if np.isfinite(told).any():
            return told, "utc", 0.0, True
        if any(words):
            times = read_times(words)
            if times.doubt:
                remarks.append(Remark(f"{self._source.name}: {times.doubt}", doubt=True))
            if np.isfinite(times.t_s).any():
                return times.t_s, times.clock, times.begin_unix_s, True
        given = self._interval_s()
        if given is None and len(readings) > 1:
            text = (
                "its readings have no times: taken as 1 s apart, and no rates made of its counters "
                "(--map interval_s=SECONDS says how far)"
            )
            remarks.append(Remark(f"{self._source.name}: {text}", doubt=True))
        times_s = np.arange(len(readings), dtype=float) * (given or 1.0)
        return times_s, "none", None, given is not None

    def _interval_s(self) -> float | None:
        text = self._options.mapping.get("interval_s")
        if text is None:
            return self._watch_s
        try:
            seconds = float(text)
        except ValueError:
            seconds = math.nan
        if not 0 < seconds < 1e6:
            raise self._source.error(f"interval_s: {text!r} is no number of seconds")
        return seconds

    def _log(
        self,
        readings: list[Reading],
        times: Array,
        *,
        label: str,
        clock: Clock,
        begin: float | None,
        known: bool,
        remarks: list[Remark],
    ) -> Log:
        def say(text: str, doubt: bool = False) -> None:
            remarks.append(Remark(f"{self._source.name}: {text}", doubt))

        order = np.argsort(times, kind="stable")  # a clock that was set may go back a little
        readings, times = [readings[index] for index in order], times[order]
        first = float(times[0])
        t_s = times - first
        t_s, evened = evenly(t_s)
        if evened:
            say("its times are whole seconds: readings are spread evenly between them")
        columns: dict[str, Array] = {"t_s": t_s, "interval_s": intervals(t_s)}
        for name in dict.fromkeys(name for reading in readings for name in reading.values):
            columns[name] = _column([reading.values for reading in readings], name)
            if name.startswith("temp_c.sensor") and not np.nan_to_num(columns[name]).any():
                del columns[name]  # old versions print 0 C for what is not there
        if np.array_equal(
            columns.get("temp_c.airflow", ()), columns.get("temp_c.drive", ()), equal_nan=True
        ):
            columns.pop("temp_c.airflow", None)  # the same sensor under a second number
        steps: tuple[Observed, ...] = ()
        counters = {
            name: _column([reading.counters for reading in readings], name)
            for name in ("read_bytes", "write_bytes", "read_ios", "write_ios")
        }
        if known and len(t_s) > 1 and any(np.isfinite(c).any() for c in counters.values()):
            rates, said = counter_rates(t_s, counters, self.unit_bytes)
            for text, doubt in said:
                say(text, doubt)
            columns |= rates
            if len(rates) > 1:
                if self.about_counters:
                    say(self.about_counters, doubt=True)
                steps = (_observed(counters),)
        device = readings[0].device
        drive = self._drive(device)
        temperatures = [name for name in columns if name.startswith("temp_c.")]
        own = [*temperatures, *(name for name in columns if name.startswith("throttle_"))]
        spacing = float(columns["interval_s"][0]) if len(t_s) else 0.0
        sensors = (
            (
                SensorMeta(
                    name=self._name,
                    source=self._source.name,
                    columns=own,
                    interval_s=spacing,
                    thresholds=drive.thresholds,
                ),
            )
            if own
            else ()
        )
        return Log(
            format=self._name,
            source=self._source.name,
            samples=build(columns),
            clock=clock,
            begin_unix_s=None if begin is None else begin + first,
            steps=steps,
            label=label,
            drive=drive.identity,
            tools=dict(self.tools),
            sensors=sensors,
            remarks=tuple(remarks),
        )

    def _drive(self, device: str) -> Drive:
        """What is known of a drive, whichever of its names it was told under."""
        merged = Drive({"path": device} if device.startswith("/dev/") else {})
        short = device.removeprefix("/dev/")
        alone = len({reading.device for reading in self.all}) == 1
        for name, drive in self._drives.items():
            other = name.removeprefix("/dev/")
            same = other == short or bool(
                other and short and (_is_part(short, other) or _is_part(other, short))
            )
            if same or (alone and not other):
                merged.identity = {**drive.identity, **merged.identity}
                merged.thresholds |= drive.thresholds
        return merged


def _share_stamps(readings: list[Reading]) -> None:
    """Give drives that were read one behind the other the time that stands before the first."""
    stamp, seen = "", set[str]()
    for reading in readings:
        if reading.stamp:
            stamp, seen = reading.stamp, set()
        elif reading.device not in seen:
            reading.stamp = stamp
        seen.add(reading.device)


def _is_part(part: str, whole_name: str) -> bool:
    """Whether `nvme0n1` is a namespace of `nvme0`."""
    return re.fullmatch(re.escape(whole_name) + r"n\d+", part) is not None


def _column(rows: list[dict[str, float]], name: str) -> Array:
    return np.array([row.get(name, math.nan) for row in rows], dtype=float)


def evenly(t_s: Array) -> tuple[Array, bool]:
    """Return times whose fractions were cut off, spread as a steady loop would have had them.

    They stay as they are where they have fractions, are far apart, or follow no steady beat; but
    several within one second are spread over it.
    """
    if len(t_s) < 3 or np.any(t_s != np.floor(t_s)):
        return t_s, False
    steps = np.diff(t_s)
    if float(np.median(steps)) >= _COARSE_S or (steps[0] > 0 and np.all(steps == steps[0])):
        return t_s, False
    index = np.arange(len(t_s), dtype=float)
    beat = (t_s[-1] - t_s[0]) / (len(t_s) - 1)
    if beat <= 0:
        return t_s, False
    off = t_s - beat * index
    if float(off.max() - off.min()) <= 1.5:
        return beat * index, True
    if np.all(steps > 0):
        return t_s, False
    seconds, inverse, counts = np.unique(t_s, return_inverse=True, return_counts=True)
    firsts = np.searchsorted(t_s, seconds)
    return t_s + (index - firsts[inverse]) / counts[inverse], True


def counter_rates(
    t_s: Array, counters: dict[str, Array], unit_bytes: float
) -> tuple[dict[str, Array], list[tuple[str, bool]]]:
    """Return columns of rates with their `interval_s`, and what is to be said of them.

    Rates are means since the reading before. Where a drive brings its byte counters up to date
    only every few readings, they are means between those, and null in between.
    """
    said: list[tuple[str, bool]] = []
    rows = np.arange(len(t_s))
    moving = np.zeros(len(t_s), dtype=bool)
    for values in counters.values():
        with np.errstate(invalid="ignore"):
            moving |= np.diff(values, prepend=np.nan) > 0
    changes = np.flatnonzero(moving)
    gaps = np.diff(changes)
    usual = float(np.median(gaps)) if len(gaps) >= 3 else 1.0
    if usual >= 2 and float((np.abs(gaps - usual) <= 1).mean()) >= 0.8:
        rows = changes
        beat = float(np.median(np.diff(t_s[rows])))
        said.append((f"its counters move only every {beat:.3g} s: rates are means over that", True))
    spans = np.diff(t_s[rows], prepend=np.nan)
    interval_s = intervals(t_s)
    interval_s[rows[1:]] = spans[1:]
    moved = {name: np.diff(values[rows], prepend=np.nan) for name, values in counters.items()}
    most = [
        float(np.nanmax(moved[name]))
        for name in ("read_bytes", "write_bytes")
        if np.isfinite(moved[name]).any()
    ]
    too_coarse = bool(most) and 0 < max(most) < _LEAST_UNITS * unit_bytes
    if too_coarse:
        text = (
            f"its counters of bytes move by fewer than {_LEAST_UNITS:.0f} units of "
            f"{unit_bytes / 1e6:.3g} MB an interval: too coarse for a throughput, left out"
        )
        said.append((text, True))
    rates: dict[str, Array] = {}
    for name, column, scale in (
        ("read_bytes", "read_bw_mb_s", 1e-6),
        ("write_bytes", "write_bw_mb_s", 1e-6),
        ("read_ios", "read_iops", 1.0),
        ("write_ios", "write_iops", 1.0),
    ):
        with np.errstate(divide="ignore", invalid="ignore"):
            valid = (spans > 0) & (moved[name] >= 0)
            rate = np.where(valid, moved[name] * scale / spans, np.nan)
        if not np.isfinite(rate).any() or (too_coarse and column.endswith("bw_mb_s")):
            continue
        rates[column] = np.full(len(t_s), np.nan)
        rates[column][rows] = rate
    if not rates:
        return {}, said
    spacing = float(np.median(spans[1:])) if len(rows) > 1 else 0.0
    if any(name.endswith("bw_mb_s") for name in rates) and spacing > 0:
        exact = unit_bytes / 1e6 / spacing
        said.append((f"throughput is made of the drive's counters, to {exact:.2g} MB/s", False))
    if spacing > _LONG_INTERVAL_S:
        text = f"its rates are means over {spacing:.0f} s: shorter throttling is not in them"
        said.append((text, True))
    return {"interval_s": interval_s, **rates}, said


def _observed(counters: dict[str, Array]) -> Observed:
    def moved(*names: str) -> bool:
        known = [counters[name] for name in names if np.isfinite(counters[name]).sum() > 1]
        return not known or any(np.nanmax(values) > np.nanmin(values) for values in known)

    reads, writes = moved("read_bytes", "read_ios"), moved("write_bytes", "write_ios")
    if not reads and not writes:
        reads = writes = True
    return Observed(name="load", reads=reads, writes=writes)
