"""AS SSD Benchmark's result text, in MB/s or in I/Os a second.

Its MB are 2^20 bytes: a drive's result in both forms says so.
"""

import re
from dataclasses import dataclass, field, replace

from heatsoak.importer.formats.base import Format
from heatsoak.importer.formats.results import (
    MB,
    MIB,
    Unreadable,
    decimal,
    distinct,
    one_sample_each,
    short,
)
from heatsoak.importer.log import Log, Options, Remark
from heatsoak.importer.source import Source
from heatsoak.protocol import Observed

_HEADER = re.compile(r"\W{0,40}AS SSD Benchmark\s{1,3}([0-9][0-9.]{0,29})")
_FACT = re.compile(r"\W{0,40}(Name|Firmware|Date)\s{0,9}:\s{0,9}(.{0,300})", re.IGNORECASE)
_RESULT = re.compile(
    r"\W{0,40}(Read|Write)\s{0,9}:\s{0,40}([0-9][0-9.,]{0,19})\s{0,9}(MB/s|iops|ms)\b",
    re.IGNORECASE,
)
#: Section -> name, random, bytes of an I/O, threads.
_SECTIONS = (
    (("sequential", "seq", "16mb"), ("sequential", False, 16 * MIB, 1)),
    (("4k-64threads", "4k-64thrd"), ("random 4K, 64 threads", True, 4096, 64)),
    (("4k",), ("random 4K", True, 4096, 1)),
    (("access times", "acc.time", "access time"), ("access time", True, None, 1)),
    (("512b",), ("access time", True, 512, 1)),
)
_OTHER_SECTION = re.compile(r"\W{0,40}(Score|Copy|ISO|Program|Game)\b", re.IGNORECASE)
_HEAD_LINES = 500


@dataclass
class _Run:
    """One result."""

    version: str
    facts: dict[str, str] = field(default_factory=dict)
    steps: list[Observed] = field(default_factory=list)
    values: list[dict[str, float]] = field(default_factory=list)


def _recognises(source: Source) -> bool:
    return any(_HEADER.match(line) for line in source.head_lines[:_HEAD_LINES])


def _read(source: Source, _: Options) -> list[Log]:
    unreadable = Unreadable()
    runs = [run for run in _runs(source, unreadable) if run.steps]
    unreadable.tell(source)
    if not runs:
        raise source.error("holds no results: lines as 'Read: 507.36 MB/s' below 'Sequential:'")
    logs = [_log(source, run) for run in runs]
    if len(logs) == 1:
        return logs
    return [replace(log, label=f"run {index}") for index, log in enumerate(logs, 1)]


def _runs(source: Source, unreadable: Unreadable) -> list[_Run]:
    runs: list[_Run] = []
    section: tuple[str, bool, int | None, int] | None = None
    for line, text in source.kept_lines():
        header = _HEADER.match(text)
        if header is not None:
            runs.append(_Run(header.group(1).rstrip(".")))
            section = None
        if header is not None or not runs:
            continue
        word = text.strip(" \t:>").lower()
        found = next((what for words, what in _SECTIONS if word in words), None)
        if found is not None or _OTHER_SECTION.match(text):
            section = found
            continue
        fact = _FACT.match(text)
        result = _RESULT.match(text)
        if fact is not None:
            runs[-1].facts.setdefault(fact.group(1).lower(), short(fact.group(2)))
        elif result is not None and section is not None:
            value = decimal(result.group(2))
            if value is None:
                unreadable.add(line)
            elif value > 0:
                _take(runs[-1], section, result.group(1).lower(), value, result.group(3).lower())
    return runs


def _take(
    run: _Run, section: tuple[str, bool, int | None, int], way: str, value: float, unit: str
) -> None:
    name, random, block, threads = section
    if unit == "mb/s":
        values = {f"{way}_bw_mb_s": value * MIB / MB}
    elif unit == "ms":
        values = {f"{way}_lat_us": value * 1000}
    else:
        values = {f"{way}_iops": value}
        if block:
            values[f"{way}_bw_mb_s"] = value * block / MB
    step = {
        "name": f"{name}, {way}",
        "reads": way == "read",
        "writes": way == "write",
        "rw": f"{'rand' * random}{way}",
        "bs": block,
        "iodepth": 1,
        "numjobs": threads,
    }
    run.steps.append(Observed.model_validate(step))
    run.values.append(values)


def _log(source: Source, run: _Run) -> Log:
    steps = distinct(run.steps)
    return Log(
        format="as_ssd",
        source=source.name,
        samples=one_sample_each(steps, run.values, None),
        steps=tuple(steps),
        drive={"model": run.facts["name"]} if run.facts.get("name") else {},
        tools={"as-ssd": run.version},
        remarks=(
            Remark("each result is one sample: they are no series"),
            Remark("its MB are 2^20 bytes: made into 10^6"),
        ),
    )


FORMAT = Format("as_ssd", "AS SSD Benchmark", _recognises, _read)
