"""CrystalDiskMark's result text, versions 2 to 9, and that of KDiskMark, which writes the same.

A line is a test: ``SEQ 1MiB (Q= 8, T= 1): 3482.614 MB/s [ 3321.3 IOPS] < 2407.57 us>`` below
``[Read]``, ``[Write]`` or ``[Mix]``; before version 7 ``Random Read 4KiB (Q= 32,T= 1) : ...``.
"""

import re
from dataclasses import dataclass, field, replace

from heatsoak.importer.formats.base import Format
from heatsoak.importer.formats.results import (
    Unreadable,
    decimal,
    distinct,
    number,
    one_sample_each,
    short,
    whole,
)
from heatsoak.importer.log import Log, Options, Remark
from heatsoak.importer.source import Source
from heatsoak.protocol import Observed

_HEADER = re.compile(r"\b(CrystalDiskMark|KDiskMark)\s{1,3}\(?([0-9][\w.]{0,19})")
#: Of lines whose spaces are single: several ways to take them would take for ever.
_RESULT = re.compile(
    r"[^A-Za-z0-9]{0,40}(SEQ|Sequential|RND|Random)\b ?(Read|Write)? ?"
    r"(?:([0-9]{1,6}) ?([KM])i?B)? ?(?:\(([^()]{0,40})\))? ?: ?"
    r"([0-9][0-9.,]{0,19}) ?MB/s"
    r"(?: ?\[ ?([0-9.,]{1,20}) ?IOPS\])?(?: ?< ?([0-9.,]{1,20}) ?us>)?",
    re.IGNORECASE,
)
_SECTION = re.compile(
    r"[^A-Za-z0-9\[]{0,40}\[(Read|Write|Mix)\](?:\s{0,9}Read\s{0,9}([0-9]{1,3})\s?%)?",
    re.IGNORECASE,
)
_FACT = re.compile(
    r"[^A-Za-z0-9]{0,40}(Profile|Test|Test Size|Mode|Time|Date|OS|Comment)[ \t]{0,9}:"
    r"[ \t]*(.{0,300})"
)
_QUEUES = re.compile(r"Q(?:D)?\s{0,3}=\s{0,6}([0-9]{1,6})", re.IGNORECASE)
_THREADS = re.compile(r"T\s{0,3}=\s{0,6}([0-9]{1,6})", re.IGNORECASE)
_DRIVE = re.compile(r"\[([A-Za-z]:)")
_TIMES = re.compile(r"\(x([0-9]{1,3})\)")
_MEASURED = re.compile(r"Measure\s{1,3}([0-9]{1,5})\s?sec", re.IGNORECASE)
_UNIT = re.compile(r"MB/s\s{0,3}=\s{0,3}1[,. ]?000[,. ]?000\s{1,3}byte", re.IGNORECASE)
_HEAD_LINES = 2000
_LONGEST_LINE = 400


@dataclass
class _Run:
    """One result; `facts` are its last lines: ``Test``, ``Date``, and so on."""

    tool: str = ""
    version: str = ""
    states_unit: bool = False
    steps: list[Observed] = field(default_factory=list)
    values: list[dict[str, float]] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    left_out: int = 0


def _recognises(source: Source) -> bool:
    return any(
        _RESULT.match(_single_spaced(line))
        for line in source.head_lines[:_HEAD_LINES]
        if "MB/s" in line
    )


def _read(source: Source, _: Options) -> list[Log]:
    unreadable = Unreadable()
    runs = [run for run in _runs(source, unreadable) if run.steps]
    unreadable.tell(source)
    if not runs:
        raise source.error("holds no results: lines as 'SEQ 1MiB (Q= 8, T= 1): 3482.614 MB/s'")
    logs = [_log(source, run) for run in runs]
    if len(logs) == 1:
        return logs
    return [
        replace(log, label=f"run {index}{', ' * bool(date)}{date}")
        for index, (log, run) in enumerate(zip(logs, runs, strict=True), 1)
        for date in [run.facts.get("Date", "")]
    ]


def _runs(source: Source, unreadable: Unreadable) -> list[_Run]:
    """Return the results that are in the file one behind the other."""
    runs = [_Run()]
    section, reads_pct = "", None
    for line, text in source.kept_lines():
        run = runs[-1]
        header = _HEADER.search(text) if "DiskMark" in text else None
        if header is not None:
            if run.steps:
                runs.append(run := _Run())
            run.tool, run.version = header.group(1).lower(), header.group(2).rstrip(".")
            section = ""
            continue
        if _UNIT.search(text):
            run.states_unit = True
            continue
        found = _SECTION.match(text)
        if found is not None:
            section = found.group(1).lower()
            reads_pct = number(found.group(2) or "")
        elif "MB/s" not in text:
            fact = _FACT.match(text)
            if fact is not None and run.steps:
                run.facts.setdefault(fact.group(1).removesuffix(" Size"), short(fact.group(2)))
            continue
        if "Date" in run.facts and run.steps:  # the next one, without its header
            runs.append(run := _Run(states_unit=run.states_unit))
        if found is None and not _take(run, text, section, reads_pct):
            unreadable.add(line)
    return runs


def _single_spaced(text: str) -> str:
    return " ".join(text[:_LONGEST_LINE].split())


def _take(run: _Run, text: str, section: str, reads_pct: float | None) -> bool:
    """Take a line of results; False where it is none."""
    match = _RESULT.match(_single_spaced(text))
    if match is None:
        return False
    kind, direction, size, prefix, depths, *numbers = match.groups()
    bw_mb_s, iops, lat_us = (decimal(word) if word else None for word in numbers)
    direction = (direction or section).lower()
    if bw_mb_s is None:
        return False
    if bw_mb_s == 0:  # a test that was not run
        run.left_out += 1
        return True
    random = kind.lower().startswith("r")
    queues, threads = _QUEUES.search(depths or ""), _THREADS.search(depths or "")
    block = whole(float(size) * (1024 if prefix.upper() == "K" else 1 << 20)) if size else None
    words = ["random" if random else "sequential", direction or "unknown direction"]
    words += [f"{size}{prefix.upper()}iB"] if size else []
    words += [f"Q{queues.group(1)}"] if queues else []
    name = " ".join(words) + (f"T{threads.group(1)}" if queues and threads else "")
    rw = {"read": "read", "write": "write", "mix": "rw"}.get(direction)
    run.steps.append(
        Observed.model_validate(
            {
                "name": name,
                "reads": direction != "write",
                "writes": direction != "read",
                "rw": f"{'rand' * random}{rw}" if rw else None,
                "bs": block,
                "iodepth": whole(float(queues.group(1))) if queues else None,
                "numjobs": whole(float(threads.group(1))) if threads else None,
                "rwmixread": round(reads_pct)
                if direction == "mix" and reads_pct is not None and reads_pct <= 100
                else None,
            }
        )
    )
    column = f"{direction}_" if direction in ("read", "write") else ""
    values = {"bw_mb_s": bw_mb_s, "iops": iops, "lat_us": lat_us}
    run.values.append({f"{column}{key}": value for key, value in values.items() if value})
    return True


def _log(source: Source, run: _Run) -> Log:
    measured = _MEASURED.search(run.facts.get("Time", ""))
    seconds = (number(measured.group(1)) or None) if measured else None
    times = _TIMES.search(run.facts.get("Test", ""))
    of = f" of {times.group(1)} measurements" if times else ""
    long = f" of {seconds:.0f} s" if seconds and of else ""
    remarks = [Remark(f"each result is one sample, the best{of}{long}: they are no series")]
    if run.states_unit or _iops_tell_unit(run):
        remarks.append(Remark("its MB/s are 10^6 bytes/s"))
    else:
        remarks.append(Remark("its MB/s are read as 10^6 bytes/s", doubt=True))
    if run.left_out:
        remarks.append(Remark(f"tests without a result, left out: {run.left_out}"))
    if "0fill" in f"{run.facts.get('Mode')} {run.facts.get('Test')}".lower():
        remarks.append(Remark("it wrote zeros (0Fill), which some drives do not store"))
    steps = distinct(run.steps)
    drive = _DRIVE.search(run.facts.get("Test", ""))
    return Log(
        format="crystaldiskmark",
        source=source.name,
        samples=one_sample_each(steps, run.values, seconds),
        steps=tuple(steps),
        drive={"path": drive.group(1)} if drive else {},
        tools={run.tool: run.version} if run.version else {},
        remarks=tuple(remarks),
    )


def _iops_tell_unit(run: _Run) -> bool:
    """Whether blocks and I/Os a second come to 10^6 bytes."""
    for step, values in zip(run.steps, run.values, strict=True):
        column = "read_" if not step.writes else "write_" if not step.reads else ""
        iops, bw_mb_s = values.get(f"{column}iops"), values[f"{column}bw_mb_s"]
        if step.bs and iops and abs(iops * step.bs / bw_mb_s / 1e6 - 1) < 0.01:
            return True
    return False


FORMAT = Format("crystaldiskmark", "CrystalDiskMark", _recognises, _read)
