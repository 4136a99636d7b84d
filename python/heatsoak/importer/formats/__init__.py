"""The readers: one module or package a format, found by what they define.

Known files that are not logs of a drive are here: each is refused with what to give instead. They
are of tools that people take for loggers. What these write tells of the whole machine, of
processes, or of a single moment, or is a mean with no course in time.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pkgutil import walk_packages
from typing import NamedTuple

from heatsoak.importer.log import Log, Options
from heatsoak.importer.source import Source, UnknownFormatError
from heatsoak.importer.tables.headers import meaning
from heatsoak.importer.tables.layout import layout_of


@dataclass(frozen=True)
class Format:
    """A reader.

    Attributes:
        name: one word, as messages and recordings have it.
        title: what people call it.
        recognises: looks at the head of a file (`head`, `head_lines`) and returns something
            true if it is of this format, by its content alone; raises nothing for any text.
        read: returns a log for each run in the file. Raises UsageError, through
            `source.error`, with the line's number; what a damaged file still tells is read, and
            what was skipped is counted in a remark.
        priority: the lower, the earlier it is asked: the more particular a format's marks, the
            lower. Plain tables take what nobody else recognises.
        is_read: False for what is known only to be refused, with what would be right.
    """

    name: str
    title: str
    recognises: Callable[[Source], object]
    read: Callable[[Source, Options], list[Log]]
    priority: int = 100
    is_read: bool = True


# --- what is known not to be a log ---

_WATCH = "'iostat -xty 1', running beside it, logs what the drive does"
_HWINFO = "HWiNFO's 'Logging Start', running beside it, logs what the drive does"
_EXPORT = "export the series themselves as CSV (in Grafana: Inspect, Data, Download CSV)"
#: A field of InfluxDB's.
_FIELD = r'[^ ,=]+=(?:"(?:\\.|[^"\\])*"|[^ ,"]+)'
#: Lines that decide what a file is.
_LINES = 200


class _Kind(NamedTuple):
    """What a line of it looks like, what it is, and what to do."""

    line: str
    what: str
    instead: str


_KINDS = (
    _Kind(r"disk- -+reads", "vmstat's counters of disks (-d)", _WATCH),
    _Kind(r"top - \d\d:\d\d:\d\d up |(?:\S+ )?(?:Total|Actual) DISK READ ?:|.*\bPID\s+kB_rd/s\s"
          r"|.*\s(?:UID|USER)\s+(?:TGID\s+TID|PID)\s",
          "about processes (top, iotop or pidstat), not drives", _WATCH),
    _Kind(r"ATOP - \S", "atop output, which is not supported", _WATCH),
    _Kind(r"sysbench \d", "sysbench output that is not of its test of files (fileio)", _WATCH),
    _Kind(r"(?:1\.\d\d\w?,){2}[^,]*,\d|Version\s+[12]\.\d+\w*\s+-+Sequential Output",
          "bonnie++ output, which has means only", _WATCH),
    _Kind(r"--- .* ioping statistics ---", "ioping output, which has means only", _WATCH),
    _Kind(r"\s*[\d,.]+\s+\d{1,3}%\s+[\d.,]+[kMG]B/s\s+\d+:\d\d",
          "rsync's progress, rates without times", _WATCH),
    _Kind(r"Vdbench summary report|.*Vdbench distribution: |\* 'flatfile\.html' contains Vdbench"
          r"|\* Run\s+: Name of run from RD=|Host response time histogram\."
          r"|Link to Run Definitions:",
          "a Vdbench page", "'vdbench parseflat -i flatfile.html -o FILE.csv -c tod Run rate "
          "MB/sec' makes a table of its flatfile"),
    _Kind(r"(?:CPUID )?HWMonitor Report", "HWMonitor's report, from a single moment", _HWINFO),
    _Kind(r"Windows System Assessment Tool", "winsat output, which has means only", _HWINFO),
    _Kind(r"\s*ROBOCOPY\s+::", "Robocopy's summaries, which have the mean of each copy", _HWINFO),
    _Kind(r"\s*Timing (?:buffered|cached|O_DIRECT)\b.* reads:", "hdparm's timings, means only",
          _WATCH),
    _Kind(r"ATA device, with non-removable media|\s*Model=.*, FwRev=",
          "hdparm's description of a drive, which has no readings",
          "'smartctl -x' has its temperature and counters"),
    _Kind(r"\[ *\d+\.\d{6}\] \S", "the kernel's messages (dmesg), which tell no rate", _WATCH),
    _Kind(r"\[global\]$|(?:rw|readwrite|ioengine)=\w+$", "a job for fio, not what came of it",
          "'heatsoak run' takes it"),
    _Kind(r"# (?:HELP|TYPE) [A-Za-z_:][\w:]* ", "a scrape of metrics, from a single moment",
          _EXPORT),
    _Kind(rf"[\w.-]+(?:,[^ ,=]+=(?:\\.|[^ ,\\])+)+ {_FIELD}(?:,{_FIELD})* \d{{10,19}}$",
          "InfluxDB's line protocol", _EXPORT),
    _Kind(r"\s*\"(?:DevicePath|HostNQN)\"\s*:|Node\s+(?:Generic\s+)?SN\s+Model\s|NVME Identify Con",
          "'nvme list' or 'nvme id-ctrl', which has no readings",
          "'nvme smart-log' in a loop with 'date' has them"),
    _Kind(r"version https://git-lfs\.github\.com/spec/",
          "a pointer of Git LFS, not the file itself", "'git lfs pull' fetches it"),
    _Kind(r"Linux \d\S* \([^)]*\)\s+\S|\S+\t-?\d+\t\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?: UTC)?\t",
          "sysstat output (sar, mpstat or pidstat) without any drive",
          "'sar -d 1' or 'iostat -xty 1' logs what drives do"),
    _Kind(r"(?i).{0,500}<title>.{0,99}AIDA64", "AIDA64's log as HTML", "let it log to a CSV file"),
    _Kind(r"<sysstat\b", "sadf's XML", "'sadf -d FILE -- -d -u' makes a CSV of sar's file"),
    _Kind(r"fio version [23] iolog"
          r"|\s*\d+,\d+\s+\d+\s+\d+\s+\d+\.\d{9}\s+\d+\s+[A-Z]\s+[A-Z]+ \d+ \+ "
          r"|\d{17,19},[^,]*,\d+,(?i:read|write),\d+,\d+,\d+$",
          "a trace of I/Os, which shows what was asked of a drive",
          "'heatsoak lab trace' reads it"),
)  # fmt: skip


def _known(source: Source) -> _Kind | None:
    lines = source.head_lines[:_LINES]
    layout = None if source.first_character == "<" else layout_of(source)
    if layout is not None and any(_is_time(name) for name in layout.header):
        # what a script wrote above its table does not matter, but for a header of two lines
        lines = lines[max(0, layout.line - 2) : layout.line]
    return next((kind for kind in _KINDS if any(re.match(kind.line, line) for line in lines)), None)


def _is_time(header: str) -> bool:
    return (found := meaning(header)) is not None and found.is_time


def _read(source: Source, _: Options) -> list[Log]:
    kind = _known(source)
    if kind is None:
        raise source.error("is not a log of a drive")
    raise UnknownFormatError(str(source.error(f"is {kind.what}: {kind.instead}")))


KNOWN = Format("known", "what is known not to be a log", _known, _read, is_read=False, priority=180)


# --- all of them ---


def _found() -> tuple[Format, ...]:
    """All formats of this module and those below, in the order in which they are asked."""
    modules = [import_module(one.name) for one in walk_packages(__path__, f"{__name__}.")]
    found = {
        value.name: value
        for namespace in (globals(), *map(vars, modules))
        for value in namespace.values()
        if isinstance(value, Format)
    }
    return tuple(sorted(found.values(), key=lambda one: (one.priority, one.name)))


FORMATS = _found()
