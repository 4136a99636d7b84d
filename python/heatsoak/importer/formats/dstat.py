"""CSV of dstat, dool and pcp-dstat (``--output``): disks, transfers, how busy, processors.

Two header lines name the group and the column of each value; `dsk` is in bytes a second. The first
row is the average since boot.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from pydantic_core import from_json

from heatsoak.importer import sysstat
from heatsoak.importer.block_devices import Devices, Reports
from heatsoak.importer.format import Format
from heatsoak.importer.frames import Array, intervals, run_slices
from heatsoak.importer.log import Clock, Log, Options, Remark
from heatsoak.importer.source import Source
from heatsoak.importer.timestamps import read_times

_BEGIN = re.compile(r'"(Dstat|dool|pcp-dstat) (\S{1,20}) CSV output"', re.IGNORECASE)
_DATE = re.compile(r'"Date:",\s*"(\d{1,2} [A-Z][a-z]{2} (\d{4}))')
_DELAY = re.compile(r"(?:^|\s)([1-9]\d{0,5})(?:\s+\d{1,9})?\"")
_DAY_MONTH = re.compile(r"(\d{1,2})-(\d{1,2}) (\d{1,2}:\d{2}:\d{2})")
_MONTH_DAY = re.compile(r"([A-Z][a-z]{2})-(\d{1,2}) (\d{1,2}:\d{2}:\d{2})")
_RATES = {"dsk": ("bw_mb_s", 1e-6), "disk": ("bw_mb_s", 1e-6), "io": ("iops", 1.0)}
_DIRECTIONS = {"read": "read", "writ": "write"}
#: What stands for all disks together.
_TOTAL = "total"


@dataclass
class _Columns:
    """Where the values stand: of each device, of the processors, and the time."""

    width: int = 0
    values: list[tuple[int, str, str, float]] = field(default_factory=list)
    idle: list[int] = field(default_factory=list)
    time: int | None = None


@dataclass
class _Run:
    """The rows under one header."""

    tool: str = ""
    year: str = ""
    delay_s: float = 1.0
    first_number: int = 0
    times: list[str] = field(default_factory=list)


def _recognises(source: Source) -> bool:
    lines = source.head_lines
    return any(_BEGIN.match(line.strip()) for line in lines[:50]) or any(
        line.startswith('"Cmdline:","') and ("dstat" in line or "dool" in line)
        for line in lines[:50]
    )


def _read(source: Source, options: Options) -> list[Log]:
    devices = Devices(source)
    runs: list[_Run] = []
    columns = _Columns()
    groups: list[str] = []
    reports = 0
    for number, line in source.lines():
        body = line.strip()
        if not body:
            continue
        if body[0] == '"':
            groups, columns = _take_heading(body, runs, groups, columns, reports)
            continue
        if not columns.values or not runs:
            continue
        words = body.split(",")
        if len(words) != columns.width:
            devices.unread(number)
            continue
        for at, device, name, scale in columns.values:
            devices.add(device, reports, [(name, sysstat.scaled(words[at], scale))])
        if columns.idle:
            idle = sum(sysstat.scaled(words[at], 1.0) for at in columns.idle)
            devices.share("cpu_pct", reports, 100.0 - idle)
        runs[-1].times.append(words[columns.time].strip('"') if columns.time is not None else "")
        reports += 1
    if not devices.rows and columns.values:
        raise source.error("holds a header, and no rows below it")
    if not devices.rows:
        raise source.error("holds no disks: 'dstat --time --disk --io --output FILE' records them")
    parts = [part for run in runs for part in _reports(run)]
    if not parts:
        raise source.error("holds only the average since boot")
    devices.groups.add(_TOTAL)
    remarks = [Remark("the first row is the average since boot: left out")]
    if set(devices.rows) == {_TOTAL}:
        devices.rows = {"": devices.rows[_TOTAL]}
    if any(run.tool.lower().startswith("pcp") for run in runs):
        remarks.append(Remark("pcp-dstat's dsk columns are taken as bytes/s", True, ("unit",)))
    return devices.logs("dstat", options, parts, *remarks)


def _take_heading(
    line: str, runs: list[_Run], groups: list[str], columns: _Columns, reports: int
) -> tuple[list[str], _Columns]:
    """Take a line of text: of the preamble, or one of the two header lines."""
    begun = _BEGIN.match(line)
    if begun is not None:
        runs.append(_Run(begun.group(1), first_number=reports))
        return [], _Columns()
    if line.startswith('"Cmdline:"'):
        if not runs or runs[-1].times:
            runs.append(_Run(first_number=reports))
        date = _DATE.search(line)
        runs[-1].year = date.group(2) if date is not None else ""
        delay = _DELAY.search(line.split(",,,,")[0])
        runs[-1].delay_s = float(delay.group(1)) if delay is not None else 1.0
        return [], _Columns()
    if line.startswith(('"Author:"', '"Host:"', '"URL:"')):
        return [], columns
    words = _texts(line)
    if not groups:
        for word in words:
            groups.append(word or (groups[-1] if groups else ""))
        return groups, columns
    return [], _columns(groups, words)


def _texts(line: str) -> list[str]:
    try:
        words = from_json(f"[{re.sub(r'(?<=,)(?=,|$)', 'null', line)}]")
    except ValueError:
        words = [word.strip('"') for word in line.split(",")]
    return [word if isinstance(word, str) else "" for word in words]


def _columns(groups: Sequence[str], names: Sequence[str]) -> _Columns:
    columns = _Columns(width=len(names))
    for at, (group, name) in enumerate(zip(groups, names, strict=False)):
        word = name.rpartition(":")[2]
        kind, _, device = group.partition("/")
        if kind in _RATES and word in _DIRECTIONS:
            quantity, scale = _RATES[kind]
            columns.values.append((at, device or _TOTAL, f"{_DIRECTIONS[word]}_{quantity}", scale))
        elif word == "util" and group:
            columns.values.append((at, group, "busy_pct", 1.0))
        elif word in ("idl", "wai") and group in ("total cpu usage", "total usage"):
            columns.idle.append(at)
        elif word in ("time", "date/time", "epoch") and (columns.time is None or word == "epoch"):
            columns.time = at
    return columns


def _reports(run: _Run) -> list[Reports]:
    """Return a run's rows but the first, cut where the clock went back."""
    if len(run.times) < 2:
        return []
    clock: Clock = "none"
    start_unix_s: float | None = None
    t_s: Array = np.arange(len(run.times), dtype=float) * run.delay_s
    remarks: list[Remark] = []
    if run.times[0]:
        times = read_times([_dated(word, run.year) for word in run.times])
        if np.isfinite(times.t_s).all():
            t_s, clock, start_unix_s = times.t_s, times.clock, times.start_unix_s
    else:
        text = f"has no times (--time): assumed to have a row every {run.delay_s:g} s"
        remarks.append(Remark(text, True, ("time",)))
    parts = []
    for index, part in enumerate(run_slices(t_s, 5.0)):
        at = sysstat.apart(np.maximum.accumulate(t_s[part]))
        lasted = intervals(at)
        skipped = 1 if index == 0 else 0
        kept = slice(part.start + skipped, part.stop)
        at, lasted = at[skipped:], lasted[skipped:]
        if not len(at):
            continue
        numbers = range(run.first_number + kept.start, run.first_number + kept.stop)
        parts.append(Reports(at, lasted, numbers, clock, start_unix_s, remarks=tuple(remarks)))
    return parts


def _dated(word: str, year: str) -> str:
    """A time with the year of the preamble: ``21-11 10:21:53``, ``Nov-21 10:21:53``."""
    if not year:
        return word
    match = _DAY_MONTH.fullmatch(word)
    if match is not None:
        return f"{year}-{match.group(2)}-{match.group(1)} {match.group(3)}"
    match = _MONTH_DAY.fullmatch(word)
    if match is not None:
        return f"{match.group(2)} {match.group(1)} {year} {match.group(3)}"
    return word


FORMAT = Format("dstat", "dstat", _recognises, _read, priority=150)
