"""A drive's own counters, read again and again: what nvme-cli, smartctl and sensors print.

A reading is one output of such a tool. A file has one after another, with the times that the user's
script wrote between them, or without any. Readers of a form give what they find to
:class:`Readings`, which knows by ``fields.toml`` what it is; `reading_logs` makes logs of it.
"""

import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import product
from typing import Any, NamedTuple

from heatsoak.errors import UsageError
from heatsoak.identity import NODE, DriveIdentity
from heatsoak.importer import numbers
from heatsoak.importer.log import Options
from heatsoak.importer.source import Source
from heatsoak.recording import HEALTH, UNREAD
from heatsoak.units import POSSIBLE_TEMP_C, is_possible_temp

# --- what tools call a drive's temperatures, counters and limits ---------------------------------

#: MB of one "data unit" of an NVMe health log: 1000 blocks of 512 bytes.
DATA_UNIT_MB = 0.512
#: What one of a section's unit is in seconds, MB or I/Os; sectors have a size of their own.
_SCALES = {"minutes": 60.0, "data_units": DATA_UNIT_MB, "gigabytes": 1e3}


class Field(NamedTuple):
    """What a field is: its section in the table, what it is called there, and its scale."""

    kind: str
    to: str
    scale: float

    @property
    def tells_heat_or_load(self) -> bool:
        """Whether it is a temperature or a count, which a reading consists of."""
        return self.kind in _MEASURED

    @property
    def is_own_count(self) -> bool:
        """Whether drives alone count it, of their heat: no log of a load has its like."""
        return self.kind in _OWN or self.is_makers_count

    @property
    def is_makers_count(self) -> bool:
        """Whether it is such a count in a maker's own page."""
        return self.to in ("throttled_level", "throttle_count.drive")


_MEASURED = ("temperature", "minutes", "seconds", "count", "data_units", "sectors", "gigabytes")
_OWN = ("minutes", "seconds", "highest", "exceeded")


def _fields() -> dict[str, Field]:
    table: dict[str, dict[str, list[str]]] = tomllib.loads(
        (files(__package__) / "fields.toml").read_text("utf-8")
    )
    return {
        name.replace("{n}", n): Field(kind, to.replace("{n}", n), _SCALES.get(kind, 1.0))
        for kind, section in table.items()
        for to, names in section.items()
        for choices in names
        for name in map("".join, product(*(one.split("|") for one in re.split("[<>]", choices))))
        for n in ("12345678" if "{n}" in name else "1")
    }


FIELDS = _fields()
#: Those that are places in a JSON document.
PLACES = [name for name in FIELDS if "/" in name and " " not in name]


def plain(name: Any) -> str:
    """Return a field's name as :data:`FIELDS` has it."""
    return " ".join(str(name)[:200].replace("_", " ").lower().split())


# --- readings ------------------------------------------------------------------------------------

#: What a reading takes in memory, and each value of it.
READING_BYTES, VALUE_BYTES = 320, 48
#: No drive is as large.
MAX_SIZE_BYTES = 1e18

# --- what the tools print, in all locales ---

_BITS = re.compile(r"0x([0-9a-f]{1,16})\b")
_CLOCK = re.compile(r"(?<![\d:.])\d{1,2}:\d{2}(?![\d:]*:\d*:)")
_EPOCH = re.compile(r"(?<![\w.,])(1\d{9}(?:[.,]\d{1,9})?|1\d{12}|1\d{15}|1\d{18})(?![\w.,])")
_ANSI = re.compile(r"\x1b\[[0-9;?]{0,16}[A-Za-z]|\x1b[()][A-Z0-9]")
_DEGREES = re.compile(
    r"(?<![\w.])(-?\d{1,10}(?:[.,]\d{1,6})?)\s{0,3}[^\w\s(-]{0,3}\s?(?:deg(?:rees)?\.?\s)?"
    r"(C|F|K|Celsius|Fahrenheit|Kelvin)?\b"
)
_MAX_STAMP_WORDS, _MAX_STAMP, _MAX_HEADING = 10, 120, 300
_EVERY = re.compile(r"Every (\d{1,6}[.,]?\d{0,3}) ?s(?:ec)?[^:]{0,4}:")
_TIME_KEY = re.compile(
    r"t|t_?s|ts|when|epoch|seconds|elapsed(_s|_sec|_seconds)?|.{0,12}time_?stamp.{0,8}|"
    r"(unix|local|wall|log|sample|capture|start|read|query|utc|poll|system|host|rel)?_?time"
    r"(_?(s|sec|ms|us|ns|t|iso|utc|local|unix|epoch))?|"
    r"(local|sample|log|utc)?_?date(_?time)?|(collected|sampled|taken|logged|read)_at"
)


#: A drive's node in a command or a heading; and a heading that has its name alone, and the time.
_NODE = re.compile(r"/dev/(?!null|std|tty|zero|fd)[\w./:+-]*\w")
_NAMED = re.compile(
    rf"({NODE}|(?i:drive|disk|ssd|hdd|bay|slot|device)[ _-]?(?:#?\d{{1,2}}|[A-Za-z]))"
    r"(?:[\s:,(]\s*(.*))?",
    re.ASCII,
)


def heading_of(line: str) -> str:
    """Return the drive that a line above its readings names; empty if that is none, or several."""
    nodes = set(_NODE.findall(line[:_MAX_HEADING]))
    if nodes or len(line) > _MAX_STAMP:
        return nodes.pop() if len(nodes) == 1 else ""
    match = _NAMED.fullmatch(line.strip(" \t#=*-<>[]|\"',;:"))
    rest = match[match.lastindex or 1] if match is not None else ""
    if match is None or (rest != match[1] and not rest.endswith(")") and stamp_in(rest) is None):
        return ""
    return f"/dev/{match[1]}" if re.fullmatch(NODE, match[1], re.ASCII) else match[1]


def degrees_c(value: Any, bare_unit: str = "") -> float | None:
    """Return the temperature in Celsius that a tool printed, in whichever unit it says.

    The kelvins beside Fahrenheit are taken less 273, as the tools do. A number alone is in
    `bare_unit`, where what is too low for K is Celsius already; without that, it was cut off.
    """
    found: dict[str, float] = {}
    if isinstance(value, str):
        for match in _DEGREES.finditer(value[:100]):
            found.setdefault((match[2] or "")[:1], numbers.number_of(match[1]))
    elif (number := numbers.count_of(value)) is not None:
        found[""] = number
    if bare_unit and "" in found:
        is_kelvin = bare_unit == "K" and not 0 < found[""] <= POSSIBLE_TEMP_C[1]
        found.setdefault("K" if is_kelvin else "C", found[""])
    if "C" in found:
        return found["C"]
    if "K" in found:
        return found["K"] - 273.0 if found["K"] else None
    return round((found["F"] - 32.0) / 1.8, 2) if "F" in found else None


def _health(value: Any, *, is_word: bool) -> float | None:
    """Hours or bits of a warning; of what passes or fails in a word, whether it fails."""
    if isinstance(value, dict):  # bits one by one, with all of them together
        value = value.get("value")
    if isinstance(value, str):
        word = value.strip().lower()
        bits = _BITS.match(word)
        fails = word.startswith(("fail", "bad"))
        value = int(bits[1], 16) if bits else fails if is_word else numbers.count_of(word)
    return float(value) if isinstance(value, int | float) and 0 <= value < 1e9 else None


def _count(value: Any) -> float | None:
    bits = _BITS.match(value.strip().lower()) if isinstance(value, str) else None
    return float(int(bits[1], 16)) if bits else numbers.count_of(value)


def without_escapes(line: str) -> str:
    """Return a line without the colours and cursor movements of a terminal."""
    return _ANSI.sub("", line) if "\x1b" in line else line


def stamp_in(text: str) -> str | None:
    """Return the time that a line between two readings tells, as it is written, or None."""
    if len(text) > _MAX_STAMP:
        return None
    words = len(text.split())
    epoch = _EPOCH.search(text)
    if epoch is not None and words <= 4:
        return epoch.group(1)
    if _CLOCK.search(text) is None or words > _MAX_STAMP_WORDS:
        return None
    return text.strip(" \t#*=-<>[]|\"',;")


# --- what is taken ---

#: Counters, by the columns of their rates.
COUNTED = ("read_bw_mb_s", "write_bw_mb_s", "read_iops", "write_iops")
#: Both in one: ``15/210`` and ``15%, cnt: 210``.
_THROTTLED = re.compile(r"\b(\d{1,3})(?:/|%, cnt: {0,4})(\d{1,9})\s*$")
#: What is printed where there is no value.
_NOTHING = re.compile(r"\s*[0<-]")


@dataclass(slots=True)
class Reading:
    """What one output of the tool says.

    Attributes:
        stamp: when, as it is written; empty where nothing tells.
        device: whose; empty where nothing tells.
        values: by the columns of a recording; those in :data:`COUNTED` are MB and I/Os since the
            drive was made; and :data:`HEALTH`.
    """

    stamp: str = ""
    device: str = ""
    values: dict[str, float] = field(default_factory=dict)


@dataclass
class ToldDrive:
    """What a file tells of a drive besides its readings: `counts` is whether it counts at all."""

    identity: dict[str, Any] = field(default_factory=dict)
    thresholds: dict[str, float] = field(default_factory=dict)
    counts: bool | None = None

    def add(self, other: "ToldDrive") -> None:
        """Take what another one has besides, which is newer."""
        self.identity |= other.identity
        self.thresholds |= other.thresholds
        self.counts = self.counts if other.counts is None else other.counts


#: No drive's table is longer.
_MAX_HISTORY = 4096


@dataclass
class TemperatureHistory:
    """Temperatures that a drive itself has written down at regular intervals; NaN where unknown.

    Attributes:
        begin: the time of the first, as it is written; empty where nothing tells.
        end_unix_s: the time of the last, where it is known.
    """

    celsius: list[float] = field(default_factory=list)
    interval_s: float = 60.0
    begin: str = ""
    end_unix_s: float | None = None

    @classmethod
    def every(cls, minutes: float | None) -> "TemperatureHistory":
        """Return an empty one, with an interval of some minutes."""
        return cls(interval_s=60.0 * min(max(minutes or 1.0, 1.0), 1e5))

    def add(self, *celsius: float) -> None:
        """Add temperatures."""
        if len(self.celsius) + len(celsius) <= _MAX_HISTORY:
            self.celsius += celsius


class Readings:
    """Takes what a file says, line by line or document by document.

    Attributes:
        stamp: the time that was told last, of a reading that has not come yet.
        watch_s: the interval of `watch`, where its heading stands in the file.
        main: what its temperature is where the tool names no place: ``composite`` or ``drive``.
        bare_unit: of temperatures without a unit, C or K; empty where these were cut off.
        sector_bytes: of the drive.
        unit_mb: what a counter of MB grows by at least.
        about_counters: how counters were read, which matters only where rates are made of them.
    """

    def __init__(self, source: Source, options: Options, name: str) -> None:
        self.source, self.options, self.name = source, options, name
        self.all: list[Reading] = []
        self.tools: dict[str, str] = {}
        self.drives: dict[str, ToldDrive] = {}
        self.stamp = ""
        self.watch_s: float | None = None
        self.main, self.bare_unit = "composite", ""
        self.sector_bytes = 512.0
        self.unit_mb = DATA_UNIT_MB
        self.about_counters = ""
        #: The drive that stands above the readings, and whether a reading followed.
        self._heading, self._is_read = "", True
        #: Drives without a name, which their limits tell apart.
        self._nameless = [""]
        self._current: Reading | None = None
        self._info = ToldDrive()

    # --- readings ---

    def begin(self, device: str = "") -> None:
        """Start another reading."""
        self.end()
        self._current = Reading(self.stamp, device=device or self._heading)
        self.stamp = ""

    def end(self) -> None:
        """End the present reading, which counts if it says anything."""
        if self._current is None:
            return
        current, self._current = self._current, None
        values = current.values
        if values.keys() - HEALTH or any(values.get(name) for name in HEALTH[1:]):
            self.source.keep(READING_BYTES + VALUE_BYTES * len(values))
            self._is_read = True
            if current.device in self._nameless:
                current.device = self._by_limits()
            self.all.append(current)
            self.ascribe(current.device)
        elif current.stamp and not self.stamp:
            self.stamp = current.stamp

    def _by_limits(self) -> str:
        """The drive without a name that has the limits which were told last."""
        limits_c = self._info.thresholds
        if not limits_c:
            return self.all[-1].device if self.all else ""
        told = DriveIdentity(limits_c=limits_c)
        for name in self._nameless:
            known = self.drives.get(name, ToldDrive()).thresholds
            if told.contradicted_by(DriveIdentity(limits_c=known)) is None:
                return name
        self._nameless.append(f"drive {len(self._nameless) + 1}")
        return self._nameless[-1]

    def name_all(self) -> None:
        """Name the first of several drives without a name as the others are."""
        if len(self._nameless) > 1:
            self.drives["drive 1"] = self.drives.pop("", ToldDrive())
            for reading in self.all:
                reading.device = reading.device or "drive 1"

    def ascribe(self, device: str) -> None:
        """Ascribe what was told of a drive to `device`."""
        info, self._info = self._info, ToldDrive()
        self.drives.setdefault(device, ToldDrive()).add(info)

    @property
    def current(self) -> Reading:
        """The reading that is being taken; a new one where none is."""
        if self._current is None:
            self.begin(self._heading or (self.all[-1].device if self.all else ""))
        assert self._current is not None
        return self._current

    @property
    def count(self) -> int:
        """How many readings there are so far."""
        self.end()
        return len(self.all)

    # --- times ---

    def line(self, text: str) -> None:
        """Take a line of something else: it may tell a drive, the time, or `watch`'s interval."""
        if heading := heading_of(text):
            self.end()
            # a list of drives is above all of them
            is_listed = not self._is_read and heading != self._heading
            self._heading, self._is_read = "" if is_listed else heading, is_listed
        every = _EVERY.match(text)
        if every is not None:
            self.watch_s = numbers.number_of(every[1]) or None
            text = text[every.end() :].rpartition(": ")[2]
        stamp = stamp_in(text)
        if stamp is not None:
            self.end()
            self.stamp = stamp

    def stamped(self, text: str, starts: bool = False) -> None:
        """Take the words before a value in the same line: they may tell the time.

        `starts`: whether the value is the first of its reading, so that the time is a new one's.
        """
        stamp = stamp_in(text) if text.strip() else None
        if stamp is None:
            return
        if starts and "temp_c.composite" in self.current.values:
            self.begin(self.current.device)
        if not self.current.stamp:
            self.current.stamp = stamp

    def stamp_among(self, fields: Mapping[Any, Any]) -> str:
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

    # --- values ---

    def take(self, key: str, value: Any, line: int = 0, *, starts: bool = True) -> bool:
        """Take a field, by its name in :data:`FIELDS`; return whether there is such a field.

        `value` is what a tool printed in `line`, or JSON's. `starts`: whether a value that the
        present reading has already starts the next one.
        """
        field = FIELDS.get(key)
        if field is None:
            return False
        to, number = field.to, None
        if field.kind == "temperature":
            number = degrees_c(value, self.bare_unit)
            self.value(f"temp_c.{self.main}" if to == "temp_c" else to, number, starts=starts)
        elif field.kind.startswith("limit"):
            self.threshold(to, degrees_c(value, "K" if "kelvin" in field.kind else self.bare_unit))
        elif field.kind == "identity":
            self._identified(to, value)
        elif field.kind == "throttled":
            self.throttled(value)
        elif field.kind == "counting":
            self._info.counts = bool(_health(value, is_word=False) or 0)
        elif field.kind in ("highest", "exceeded"):
            last = str(value).rpartition("/")[2]
            self.value(
                to, degrees_c(last, "C") if field.kind == "highest" else numbers.count_of(last)
            )
        elif field.kind == "health":
            self.value(to, _health(value, is_word=to == "failed"), starts=starts)
        elif field.tells_heat_or_load:
            number = numbers.number_of(value) if field.kind == "gigabytes" else _count(value)
            scale = self.sector_bytes / 1e6 if field.kind == "sectors" else field.scale
            if to.endswith("bw_mb_s"):
                self.unit_mb = 1.0 if field.kind == "gigabytes" else scale
            self.value(to, None if number is None else number * scale, starts=starts)
        if field.tells_heat_or_load and line and number is None and not _NOTHING.match(value):
            self.source.skip(line, touches=UNREAD)
        return True

    def _identified(self, name: str, value: Any) -> None:
        if name == "size_bytes":
            size = numbers.count_of(value.partition("[")[0] if isinstance(value, str) else value)
            self.identity(name, int(size) if size and size < MAX_SIZE_BYTES else None)
        elif isinstance(value, str):
            self.identity(name, value.strip())

    def value(self, name: str, value: float | None, *, starts: bool = True) -> None:
        """Take a value of the present reading.

        One that it has already starts the next reading, or without `starts` is left out. Of the
        highest temperature so far the higher one counts.
        """
        if name == "highest_c" and value is not None:
            value = max(value, self.current.values.pop(name, value))
        if name in self.current.values and (value is not None or name not in HEALTH):
            if not starts:
                return
            self.begin(self.current.device)
        if value is None or not math.isfinite(value):
            return
        is_temp = name.startswith("temp_c.") or name == "highest_c"
        if is_possible_temp(value) if is_temp else value >= 0:
            self.current.values[name] = value

    def throttled(self, value: Any) -> bool:
        """Take how far a drive throttles and how often it did; return whether `value` says so.

        It is a text, an object of both, or a number with the share in its lowest byte.
        """
        if isinstance(value, dict):
            raw = value.get("raw", value)
            both = [numbers.count_of(numbers.at(raw, name)) for name in ("pct", "cnt")]
        elif (found := _THROTTLED.search(str(value)[-100:])) is not None:
            both = [float(found[1]), float(found[2])]
        elif (number := numbers.count_of(value)) is not None and not 0 < number < 1 << 8:
            both = [number % 256, number // 256]
        else:
            return False
        if both[0] is not None and both[0] <= 100:  # others may put something else there
            self.value("throttled_pct", both[0], starts=False)
        self.value("throttle_count.drive", both[1], starts=False)
        return True

    def threshold(self, name: str, celsius: float | None) -> None:
        """Take a limit that the drive states."""
        if celsius is None or not is_possible_temp(celsius):
            return
        told = DriveIdentity(limits_c={name: celsius})
        if self._current and told.contradicted_by(DriveIdentity(limits_c=self._info.thresholds)):
            self.end()  # it is another drive's output
        self._info.thresholds[name] = celsius

    def identity(self, name: str, value: Any) -> None:
        """Take something that tells which drive it is."""
        if value not in ("", None):
            self._info.identity[name] = value

    def numbered(self, serial: str) -> None:
        """Name the present reading's drive by its serial, which is others' too where it is hidden.

        The name of a heading stays, as long as one drive's readings are below it.
        """
        device = self.current.device
        if device and (
            device != self._heading
            or self.drives.get(device, ToldDrive()).identity.get("serial", serial) == serial
        ):
            return
        self._heading = ""
        known, model = self.drives.get(serial), self._info.identity.get("model")
        is_other = known is not None and model not in (None, known.identity.get("model", model))
        self.current.device = f"{model} {serial}" if is_other else serial

    def of_drive(self, device: str, fields: Mapping[str, Any]) -> None:
        """Take what a list of drives says of one."""
        info, self._info = self._info, ToldDrive()
        for key, each in fields.items():
            if key in FIELDS and FIELDS[key].kind == "identity":
                self.take(key, each)
        self.ascribe(device)
        self._info = info

    # --- documents ---

    def documents(self) -> Iterator[Any]:
        """Yield the file's JSON documents; text before one of them may tell its time.

        Raises UsageError for damage before the first reading; damage later ends the series.
        """
        try:
            for document in self.source.documents():
                for line in document.before.split("\n"):
                    self.line(without_escapes(line))
                yield document.value
            for line in self.source.behind_documents:
                self.line(without_escapes(line))
        except UsageError as error:
            if not self.count:
                raise
            text = str(error).removeprefix(f"{self.source.name}: ")
            self.source.remark(f"{text}; from there on it was left out", UNREAD)
