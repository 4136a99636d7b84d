"""What readers return: one :class:`Log` for each run in a file."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import polars as pl

from heatsoak import recording
from heatsoak.errors import UsageError
from heatsoak.importer.frames import RATES, ways_of
from heatsoak.protocol import Conditions, Observed

#: What the time stamps of a log count from: the epoch (UTC), a wall clock in an unknown zone (taken
#: as if it were UTC), or only the start of the log.
Clock = Literal["utc", "local", "none"]


#: Formats of tools that load the drive themselves; others log on whether or not there is a load.
_LOADERS = {
    *("fio-json", "fio-log", "fio-progress", "copy-progress", "elbencho", "iometer", "tkperf"),
    *("crystaldiskmark", "diskspd", "as_ssd", "sysbench"),
}
_BETWEEN_PAIRS = re.compile(r",(?=\s*[A-Za-z][A-Za-z0-9_.]*\s*=)")


@dataclass(frozen=True)
class Remark:
    """Something a reader of the result must know.

    Attributes:
        doubt: True for what the file leaves uncertain (a unit, a date's order), or what was
            damaged; False for what was merely converted or left out.
        touches: what a doubt leaves open; all of it unless the reader knows better.
        settles: what a user can say against a doubt, if it is more than that.
    """

    text: str
    doubt: bool = False
    touches: tuple[recording.Touched, ...] = recording.UNREAD
    settles: str | None = None


@dataclass(frozen=True)
class Log:
    """One run, or a part of one, as one file tells it.

    Attributes:
        format: the reader's name: ``hwinfo``.
        source: the file's name, for whoever reads a message.
        samples: columns of a recording with their types; `t_s` rises from about 0, null nowhere.
            Rates carry an `interval_s`. `step` is absent where the whole file is one step.
            Time stamps of a sample mark the end of its interval.
        start_unix_s: the clock's time at `t_s` = 0; None with the clock ``none``.
        steps: what is known of the load, a step for each name in `samples`' column `step`; a
            single one, or none, where that column is absent.
        label: which of a file's runs this is; empty where there is only one.
        family: what siblings of one run share (fio's log prefix); None where there are none.
        drive: the drive's identity: ``model``, ``serial``, ``size_bytes``, ``path``.
        conditions: labels that the file itself gives.
        tools: versions of what wrote it.
        sensors: thresholds that the file states, and the intervals of sensors.
        details: what a sibling of the same run needs to know, by the reader's own agreement.
        duration_s: how long it took, where samples do not tell.
        is_in_order_only: whether nothing tells how far apart its samples are: `t_s` counts them.
    """

    format: str
    source: str
    samples: pl.DataFrame
    clock: Clock = "none"
    start_unix_s: float | None = None
    steps: tuple[Observed, ...] = ()
    label: str = ""
    family: str | None = None
    drive: dict[str, Any] = field(default_factory=dict)
    conditions: Conditions = field(default_factory=dict)
    tools: dict[str, str] = field(default_factory=dict)
    sensors: tuple[recording.SensorMeta, ...] = ()
    remarks: tuple[Remark, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)
    duration_s: float | None = None
    is_in_order_only: bool = False

    @property
    def name(self) -> str:
        """What messages call it: its file, and which of that file's runs it is."""
        return Path(self.source).name + (f" (run {self.label})" if self.label else "")

    @property
    def logs_on(self) -> bool:
        """Whether what wrote it keeps logging while there is no load."""
        return self.format not in _LOADERS

    @property
    def has_rates(self) -> bool:
        """Whether it has throughput: bytes or I/Os a second, in any direction."""
        return self.has_any(*RATES)

    @property
    def has_temperatures(self) -> bool:
        """Whether it has any temperature."""
        return self.has_values(*(n for n in self.samples.columns if n.startswith("temp_c.")))

    def has_any(self, *quantities: str) -> bool:
        """Whether it has values of one of `quantities`, for reads, for writes, or together."""
        return self.has_values(*(name for quantity in quantities for name in ways_of(quantity)))

    def has_values(self, *columns: str) -> bool:
        """Whether it has values in one of these columns."""
        there = set(columns).intersection(self.samples.columns)
        return any(self.samples[name].count() > 0 for name in there)

    @property
    def end_s(self) -> float:
        """The time of its last sample."""
        return float(self.samples["t_s"][-1]) if not self.samples.is_empty() else 0.0

    def with_remarks(self, *remarks: Remark) -> "Log":
        """Return the log with more remarks."""
        return replace(self, remarks=(*self.remarks, *remarks))


@dataclass(frozen=True)
class Alignment:
    """Seconds to add to another log's times, and how that is known."""

    shift_s: float
    how: str


@dataclass(frozen=True)
class Options:
    """What the user says about how to read files.

    Attributes:
        mapping: column of a recording -> header in a delimited file, from ``--map``.
        device: the drive whose rates are wanted, where a file has several, from ``--device``.
        shift_s: what is added to the times of a log that is laid beside another, from ``--shift``.
        joins: whether files of the same time become one recording, not with ``--separate``.
        used: the columns of `mapping`, and ``device``, that a reader could follow.
    """

    mapping: dict[str, str] = field(default_factory=dict)
    device: str | None = None
    shift_s: float | None = None
    joins: bool = True
    used: set[str] = field(default_factory=set, compare=False)

    @classmethod
    def of(cls, words: Iterable[str], device: str | None = None, **more: Any) -> "Options":
        """Read ``COLUMN=HEADER`` words, each perhaps several with commas between.

        A comma belongs to a header unless ``COLUMN=`` follows it. Raises UsageError for
        words without an equals sign.
        """
        mapping: dict[str, str] = {}
        for word in words:
            for part in _BETWEEN_PAIRS.split(word):
                column, equals, header = part.partition("=")
                if not equals or not column.strip() or not header.strip():
                    raise UsageError(
                        f"--map {part}: write COLUMN=HEADER, such as time=Zeit,write_mb_s=Schreiben"
                    )
                mapping[column.strip()] = header.strip()
        return cls(mapping, device, **more)

    def require_used(self, names: str) -> None:
        """Raise UsageError for what no reader followed in the files of these names."""
        if self.device is not None and "device" not in self.used:
            raise UsageError(
                f"--device {self.device}: chooses a drive in logs that name their drives, which "
                f"{names} does not: leave it out"
            )
        for column, header in self.mapping.items():
            if column not in self.used:
                raise UsageError(
                    f"--map {column}={header}: names a column of a table, and {names} is none that "
                    "takes it: leave it out"
                )


def nothing_to_shift(shift_s: float, why: str) -> UsageError:
    """Return the error for a shift of logs where there is none to shift."""
    return UsageError(
        f"--shift {shift_s:g}: shifts one log against another, and {why}: leave it out"
    )
