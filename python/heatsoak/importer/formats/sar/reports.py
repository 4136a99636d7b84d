"""What all of `sar`'s outputs have in common: headers of tables, and rows by their time."""

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from heatsoak.importer import sysstat
from heatsoak.importer.block_devices import Devices
from heatsoak.importer.source import Source

Kind = Literal["disk", "io", "cpu", "temp", "other"]
#: A device that stands for all of them: rows of `sar -b`.
ALL = ""
RESTART = re.compile(r"LINUX.RESTART")
ITEM_HEADERS = {"DEV": "disk", "CPU": "cpu", "TEMP": "temp"}
_UNNAMED = re.compile(r"[^a-z0-9]+")


@dataclass
class Table:
    """A header: what kind it is of, where the item's name stands (-1 for last), and columns."""

    kind: Kind
    width: int
    item_at: int | None = None
    columns: list[tuple[int, str, float]] = field(default_factory=list)
    #: For processors where idle and waiting stand; for temperatures degrees and the device.
    places: tuple[int, ...] = ()


class Reader:
    """Takes rows, and keeps what they tell by their time."""

    def __init__(self, source: Source) -> None:
        self.devices = Devices(source)
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

    def row(self, table: Table, words: Sequence[str], time: Any, lasted_s: float) -> bool:
        """Take a row's words; False where they are not such a row."""
        if table.kind == "other":
            return True
        values: list[tuple[str, float]] = []
        for at, name, scale in table.columns:
            value = sysstat.scaled(words[at], scale)
            if value != value and not sysstat.is_number(words[at]):
                return False
            values.append((name, value))
        item = words[table.item_at] if table.item_at is not None else ALL
        if table.kind == "cpu":
            if item in ("all", "-1"):
                idle = sum(sysstat.scaled(words[at], 1.0) for at in table.places)
                self.share("cpu_pct", self.number(time, lasted_s), 100.0 - idle)
        elif table.kind == "temp":
            degrees_at, device_at = table.places
            name = f"temp_c.{sensor_name(item, words[device_at])}"
            self.share(name, self.number(time, lasted_s), sysstat.scaled(words[degrees_at], 1.0))
        else:
            self.devices.add(item, self.number(time, lasted_s), values)
        return True

    def share(self, column: str, number: int, value: float) -> None:
        """Take a value that all devices have in common."""
        self.shared.setdefault(column, {})[number] = value

    def unread(self, line: int) -> None:
        """Count a line that could not be read."""
        self.bad += 1
        self.first_bad = self.first_bad or line


def sensor_name(item: str, device: str) -> str:
    """A sensor's name: its device's and number, ``nvme_pci_0100_1``."""
    word = _UNNAMED.sub("_", device.lower()).strip("_")
    host = "cpu_" if word.startswith(("coretemp", "k10temp", "zenpower", "cpu")) else ""
    return f"{host}{word or 'sensor'}_{_UNNAMED.sub('_', item.lower())}"


def table_of(words: Sequence[str]) -> Table | None:
    """Return the table whose header these words are; None for what is no header."""
    if not words or not any(word[:1].isalpha() or word[:1] == "%" for word in words):
        return None
    places: tuple[int, ...] = ()
    item_at: int | None = None
    kind: Kind = "other"
    for at in (0, len(words) - 1):
        found = ITEM_HEADERS.get(words[at])
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
    return Table(kind, len(words), item_at, columns, places)
