"""What all layouts of `iostat` have in common: reports of calls, row by row."""

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from heatsoak.importer import sysstat
from heatsoak.importer.block_devices import Devices
from heatsoak.importer.source import Source
from heatsoak.importer.tables.texts import Words

COMMAND = re.compile(r"(?:^|[\s\"'/`$#>+|&;])iostat((?:\s+[\w./,=:-]+)+)")
#: A total in the report's own unit is good for finding the interval from so much on.
_LEAST_TOTAL = 50.0


@dataclass
class Call:
    """The reports of one call of iostat, with what stood before them."""

    date: str = ""
    stamps: Words = field(default_factory=Words)
    cpu_pct: "array[float]" = field(default_factory=lambda: array("d"))
    lengths_s: "array[float]" = field(default_factory=lambda: array("d"))
    first_number: int = 0
    #: Whether its first report is of an interval (``-y``), if that is known.
    skipped_boot: bool | None = None
    blanks: int | None = None


class Reader:
    """Takes lines, or parts of JSON, and keeps what they tell."""

    def __init__(self, source: Source) -> None:
        self.devices = Devices(source)
        self.calls: list[Call] = []
        self.headers: dict[str, None] = {}
        self.interval_s: float | None = None
        self.skips_boot: bool | None = None
        #: Whether the last report may lack rows that iostat wrote.
        self.is_cut = False
        self._reports = 0
        self._seen: set[str] = set()
        self._has_cpu = False

    @property
    def call(self) -> Call:
        """Return the call whose reports are being taken."""
        if not self.calls:
            self.begin_call("")
        return self.calls[-1]

    def begin_call(self, date: str) -> None:
        """Take what follows as another call's."""
        self.calls.append(Call(date, first_number=self._reports, skipped_boot=self.skips_boot))
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
        """Take the processors' share of a report."""
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
        """Take a device's values in the present report."""
        self.devices.add(device, self._reports - 1, values)

    def length(self, total: float, rate: float) -> None:
        """A total and its rate tell how long the report's interval was."""
        if total >= _LEAST_TOTAL and rate > 0:
            lengths = self.call.lengths_s
            if lengths and not lengths[-1] > total / rate * 1e3:
                lengths[-1] = total / rate


def take_command(reader: Reader, words: Sequence[str]) -> None:
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
        reader.interval_s = positive(words[words.index("-w") + 1])


def positive(word: str) -> float | None:
    """Return a number of seconds; None for what is none."""
    value = sysstat.scaled(word, 1.0)
    return value if 0 < value < 1e6 else None
