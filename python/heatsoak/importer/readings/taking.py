"""Readings of a drive as a file tells them, one behind the other, with the times between them."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from heatsoak.errors import UsageError
from heatsoak.importer.log import Options, Remark
from heatsoak.importer.readings.words import POSSIBLE_C, plain, stamp_in
from heatsoak.importer.source import Source

#: What a reading takes in memory, and each value of it.
READING_BYTES, VALUE_BYTES = 320, 48
#: Bytes of one "data unit" of an NVMe health log: 1000 blocks of 512 bytes.
DATA_UNIT_BYTES = 512_000.0
_EVERY = re.compile(r"Every (\d{1,6}[.,]?\d{0,3}) ?s(?:ec)?[^:]{0,4}:")
_TIME_KEY = re.compile(
    r"t|t_?s|ts|when|epoch|seconds|elapsed(_s|_sec|_seconds)?|.{0,12}time_?stamp.{0,8}|"
    r"(unix|local|wall|log|sample|capture|start|read|query|utc|poll|system|host|rel)?_?time"
    r"(_?(s|sec|ms|us|ns|t|iso|utc|local|unix|epoch))?|"
    r"(local|sample|log|utc)?_?date(_?time)?|(collected|sampled|taken|logged|read)_at"
)


@dataclass(slots=True)
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


class Taking:
    """Takes what a file says, line by line or document by document."""

    def __init__(self, source: Source, options: Options, name: str) -> None:
        """Begin a file of the format `name`."""
        self.source, self.options, self.name = source, options, name
        self.all: list[Reading] = []
        self.tools: dict[str, str] = {}
        self.drives: dict[str, Drive] = {}
        self._current: Reading | None = None
        self._info = Drive()
        self.stamp = ""
        self.watch_s: float | None = None
        #: Bytes that a counter moves by at least, where it is coarser than a data unit.
        self.unit_bytes = DATA_UNIT_BYTES
        #: How counters were read, which matters only where rates are made of them.
        self.about_counters = ""
        self.remarks: dict[str, Remark] = {}

    def remark(self, text: str, doubt: bool = False) -> None:
        """Say something of the file, once."""
        self.remarks.setdefault(text, Remark(f"{self.source.name}: {text}", doubt))

    def documents(self) -> Iterator[Any]:
        """Yield the file's JSON documents; text before one of them may tell its time.

        Raises UsageError for damage before the first reading; damage later ends the series.
        """
        try:
            for document in self.source.documents():
                for line in document.before.split("\n"):
                    self.line(plain(line))
                yield document.value
        except UsageError as error:
            if not self.count:
                raise
            text = str(error).removeprefix(f"{self.source.name}: ")
            self.remark(f"{text}; from there on it was left out", doubt=True)

    def begin(self, device: str = "") -> None:
        """Begin another reading."""
        self.end()
        self._current = Reading(self.stamp, device=device)
        self.stamp = ""

    def end(self) -> None:
        """End the present reading, which counts if it says anything."""
        if self._current is None:
            return
        current, self._current = self._current, None
        if current.values or current.counters:
            self.source.keep(READING_BYTES + VALUE_BYTES * len(current.values | current.counters))
            self.all.append(current)
            self.give(current.device)
        elif current.stamp and not self.stamp:
            self.stamp = current.stamp

    def give(self, device: str) -> None:
        """Ascribe what was told of a drive to `device`."""
        info, self._info = self._info, Drive()
        drive = self.drives.setdefault(device, Drive())
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
            self.watch_s = float(every.group(1).replace(",", ".")) or None
            text = text[every.end() :].rpartition(": ")[2]
        stamp = stamp_in(text)
        if stamp is not None:
            self.end()
            self.stamp = stamp

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
        self.end()
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
        if column.startswith("temp_c.") and not POSSIBLE_C[0] < value < POSSIBLE_C[1]:
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
        if celsius is not None and POSSIBLE_C[0] < celsius < POSSIBLE_C[1]:
            self._info.thresholds[name] = celsius

    def identity(self, name: str, value: Any) -> None:
        """Take something that tells which drive it is."""
        if value not in ("", None):
            self._info.identity[name] = value

    def of_drive(self, device: str, **identity: Any) -> None:
        """Take what a list of drives says of one."""
        self.drives.setdefault(device, Drive()).identity |= {
            name: value for name, value in identity.items() if value not in ("", None)
        }

    @property
    def count(self) -> int:
        """How many readings there are so far."""
        self.end()
        return len(self.all)
