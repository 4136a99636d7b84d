"""Result texts of AS SSD Benchmark, CrystalDiskMark 2 to 9, and KDiskMark.

These programs keep the best or the only result of each test: a step with a single sample. AS SSD
writes ``Read: 507.36 MB/s`` below the test's name; its MB are 2^20 bytes, as a drive's results in
both of its units show. CrystalDiskMark and KDiskMark write a line for each test, such as
``SEQ 1MiB (Q= 8, T= 1): 3482.614 MB/s [ 3321.3 IOPS] < 2407.57 us>`` below ``[Read]``, ``[Write]``
or ``[Mix]``, and before version 7 ``Random Read 4KiB (Q= 32,T= 1) : ...``.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from heatsoak.importer.format import Format
from heatsoak.importer.formats.results import (
    MB,
    MIB,
    Unreadable,
    decimal,
    distinct,
    number,
    numbered,
    observed_load,
    one_sample_each,
    short,
    size_of,
)
from heatsoak.importer.log import Log, Options, Remark
from heatsoak.importer.source import Source
from heatsoak.protocol import Observed


@dataclass
class _Run:
    """One result.

    Attributes:
        facts: what stands around the tests: ``date``, ``name``, ``test``.
        states_unit: whether the text says what its MB/s are.
        skipped: tests that were not run.
    """

    tool: str = ""
    version: str = ""
    facts: dict[str, str] = field(default_factory=dict)
    steps: list[Observed] = field(default_factory=list)
    values: list[dict[str, float]] = field(default_factory=list)
    states_unit: bool = False
    skipped: int = 0

    def log(
        self,
        source: Source,
        format_name: str,
        *,
        seconds: float | None,
        drive: dict[str, Any],
        remarks: Iterable[Remark],
    ) -> Log:
        """Return its log; `seconds` is how long each test took, where that is known."""
        steps = distinct(self.steps)
        return Log(
            format=format_name,
            source=source.name,
            samples=one_sample_each(steps, self.values, seconds),
            steps=tuple(steps),
            drive=drive,
            tools={self.tool: self.version} if self.version else {},
            remarks=tuple(remarks),
        )


def _runs(
    source: Source, parse: Callable[[Source, Unreadable], list[_Run]], example: str
) -> list[_Run]:
    unreadable = Unreadable()
    runs = [run for run in parse(source, unreadable) if run.steps]
    unreadable.remark_on(source)
    if not runs:
        raise source.error(f"holds no results: lines such as {example}")
    return runs


# --- AS SSD ---

_AS_SSD = re.compile(r"\W{0,40}AS SSD Benchmark\s{1,3}([0-9][0-9.]{0,29})")
_AS_SSD_FACT = re.compile(r"\W{0,40}(Name|Firmware|Date)\s{0,9}:\s{0,9}(.{0,300})", re.IGNORECASE)
_AS_SSD_RESULT = re.compile(
    r"\W{0,40}(Read|Write)\s{0,9}:\s{0,40}([0-9][0-9.,]{0,19})\s{0,9}(MB/s|iops|ms)\b",
    re.IGNORECASE,
)
#: Headings of a test, and its name, whether it is random, bytes of an I/O, threads.
_AS_SSD_TESTS: dict[str, tuple[str, bool, int | None, int]] = {
    heading: test
    for headings, test in (
        (("sequential", "seq", "16mb"), ("sequential", False, 16 * MIB, 1)),
        (("4k-64threads", "4k-64thrd"), ("random 4K, 64 threads", True, 4096, 64)),
        (("4k",), ("random 4K", True, 4096, 1)),
        (("access times", "acc.time", "access time"), ("access time", True, None, 1)),
        (("512b",), ("access time", True, 512, 1)),
    )
    for heading in headings
}
_AS_SSD_OTHER = re.compile(r"\W{0,40}(Score|Copy|ISO|Program|Game)\b", re.IGNORECASE)


def _is_as_ssd(source: Source) -> bool:
    return any(_AS_SSD.match(line) for line in source.head_lines[:500])


def _read_as_ssd(source: Source, _: Options) -> list[Log]:
    remarks = (
        Remark("each result is one sample: they are not a series"),
        Remark("its MB are 2^20 bytes: converted to 10^6"),
    )
    return numbered(
        [
            run.log(
                source,
                "as_ssd",
                seconds=None,
                drive={"model": run.facts["name"]} if run.facts.get("name") else {},
                remarks=remarks,
            )
            for run in _runs(source, _as_ssd_runs, "'Read: 507.36 MB/s' below 'Sequential:'")
        ]
    )


def _as_ssd_runs(source: Source, unreadable: Unreadable) -> list[_Run]:
    runs: list[_Run] = []
    test: tuple[str, bool, int | None, int] | None = None
    for line, text in source.kept_lines():
        header = _AS_SSD.match(text)
        if header is not None:
            runs.append(_Run("as-ssd", header.group(1).rstrip(".")))
            test = None
        if header is not None or not runs:
            continue
        heading = text.strip(" \t:>").lower()
        if heading in _AS_SSD_TESTS or _AS_SSD_OTHER.match(text):
            test = _AS_SSD_TESTS.get(heading)
        elif (fact := _AS_SSD_FACT.match(text)) is not None:
            runs[-1].facts.setdefault(fact.group(1).lower(), short(fact.group(2)))
        elif (result := _AS_SSD_RESULT.match(text)) is not None and test is not None:
            value = decimal(result.group(2))
            if value is None:
                unreadable.add(line)
            elif value > 0:
                _take_as_ssd(runs[-1], test, result.group(1).lower(), value, result.group(3))
    return runs


def _take_as_ssd(
    run: _Run, test: tuple[str, bool, int | None, int], direction: str, value: float, unit: str
) -> None:
    name, random, block, threads = test
    if unit.lower() == "mb/s":
        values = {"bw_mb_s": value * MIB / MB}
    elif unit.lower() == "ms":
        values = {"lat_us": value * 1000}
    else:
        values = {"iops": value, **({"bw_mb_s": value * block / MB} if block else {})}
    run.values.append({f"{direction}_{key}": value for key, value in values.items()})
    run.steps.append(
        observed_load(
            f"{name}, {direction}", direction, random=random, block=block, depth=1, jobs=threads
        )
    )


# --- CrystalDiskMark and KDiskMark ---

_CRYSTAL = re.compile(r"\b(CrystalDiskMark|KDiskMark)\s{1,3}\(?([0-9][\w.]{0,19})")
#: For lines whose spaces are single: with several ways to match them it would take for ever.
_CRYSTAL_RESULT = re.compile(
    r"[^A-Za-z0-9]{0,40}(SEQ|Sequential|RND|Random)\b ?(Read|Write)? ?"
    r"(?:([0-9]{1,6}) ?([KM])i?B)? ?(?:\(([^()]{0,40})\))? ?: ?"
    r"([0-9][0-9.,]{0,19}) ?MB/s"
    r"(?: ?\[ ?([0-9.,]{1,20}) ?IOPS\])?(?: ?< ?([0-9.,]{1,20}) ?us>)?",
    re.IGNORECASE,
)
_CRYSTAL_SECTION = re.compile(
    r"[^A-Za-z0-9\[]{0,40}\[(Read|Write|Mix)\](?:\s{0,9}Read\s{0,9}([0-9]{1,3})\s?%)?",
    re.IGNORECASE,
)
_CRYSTAL_FACT = re.compile(
    r"[^A-Za-z0-9]{0,40}(Profile|Test|Test Size|Mode|Time|Date|OS|Comment)[ \t]{0,9}:"
    r"[ \t]*(.{0,300})"
)
_QUEUES = re.compile(r"Q(?:D)?\s{0,3}=\s{0,6}([0-9]{1,6})", re.IGNORECASE)
_THREADS = re.compile(r"T\s{0,3}=\s{0,6}([0-9]{1,6})", re.IGNORECASE)
_DRIVE = re.compile(r"\[([A-Za-z]:)")
_TIMES = re.compile(r"\(x([0-9]{1,3})\)")
_MEASURED = re.compile(r"Measure\s{1,3}([0-9]{1,5})\s?sec", re.IGNORECASE)
_UNIT = re.compile(r"MB/s\s{0,3}=\s{0,3}1[,. ]?000[,. ]?000\s{1,3}byte", re.IGNORECASE)
_MAX_LINE = 400


def _is_crystal(source: Source) -> bool:
    lines = (line for line in source.head_lines[:2000] if "MB/s" in line)
    return any(_CRYSTAL_RESULT.match(_single_spaced(line)) for line in lines)


def _read_crystal(source: Source, _: Options) -> list[Log]:
    runs = _runs(source, _crystal_runs, "'SEQ 1MiB (Q= 8, T= 1): 3482.614 MB/s'")
    logs = [_crystal_log(source, run) for run in runs]
    return numbered(logs, [run.facts.get("date", "") for run in runs])


def _crystal_runs(source: Source, unreadable: Unreadable) -> list[_Run]:
    """Return the results that are in the file one behind the other."""
    runs = [_Run()]
    section, reads_pct = "", None
    for line, text in source.kept_lines():
        run = runs[-1]
        header = _CRYSTAL.search(text) if "DiskMark" in text else None
        if header is not None:
            if run.steps:
                runs.append(run := _Run())
            run.tool, run.version = header.group(1).lower(), header.group(2).rstrip(".")
            section = ""
            continue
        if _UNIT.search(text):
            run.states_unit = True
            continue
        found = _CRYSTAL_SECTION.match(text)
        if found is not None:
            section, reads_pct = found.group(1).lower(), number(found.group(2) or "")
        elif "MB/s" not in text:
            fact = _CRYSTAL_FACT.match(text)
            if fact is not None and run.steps:
                name = fact.group(1).removesuffix(" Size").lower()
                run.facts.setdefault(name, short(fact.group(2)))
            continue
        if "date" in run.facts and run.steps:  # the next one, without its header
            runs.append(run := _Run(states_unit=run.states_unit))
        if found is None and not _take_crystal(run, text, section, reads_pct):
            unreadable.add(line)
    return runs


def _single_spaced(text: str) -> str:
    return " ".join(text[:_MAX_LINE].split())


def _take_crystal(run: _Run, text: str, section: str, reads_pct: float | None) -> bool:
    """Take a test's line; False where it cannot be read."""
    match = _CRYSTAL_RESULT.match(_single_spaced(text))
    if match is None:
        return False
    kind, stated, size, prefix, parameters, *numbers = match.groups()
    direction = (stated or section).lower()
    values = dict(
        zip(("bw_mb_s", "iops", "lat_us"), [decimal(word or "") for word in numbers], strict=True)
    )
    if values["bw_mb_s"] is None:
        return False
    if values["bw_mb_s"] == 0:
        run.skipped += 1
        return True
    random = kind.lower().startswith("r")
    queues, threads = _QUEUES.search(parameters or ""), _THREADS.search(parameters or "")
    words = ["random" if random else "sequential", direction or "unknown direction"]
    words += [f"{size}{prefix.upper()}iB"] if size else []
    words += [f"Q{queues.group(1)}"] if queues else []
    run.steps.append(
        observed_load(
            " ".join(words) + (f"T{threads.group(1)}" if queues and threads else ""),
            {"read": "read", "write": "write", "mix": "rw"}.get(direction),
            random=random,
            block=size_of(size, prefix) if size else None,
            depth=float(queues.group(1)) if queues else None,
            jobs=float(threads.group(1)) if threads else None,
            reads_pct=reads_pct,
        )
    )
    column = f"{direction}_" if direction in ("read", "write") else ""
    run.values.append({f"{column}{key}": value for key, value in values.items() if value})
    return True


def _crystal_log(source: Source, run: _Run) -> Log:
    test = run.facts.get("test", "")
    measured, times = _MEASURED.search(run.facts.get("time", "")), _TIMES.search(test)
    seconds = (number(measured.group(1)) or None) if measured else None
    of = f" of {times.group(1)} measurements" if times else ""
    long = f" of {seconds:.0f} s" if seconds and of else ""
    remarks = [Remark(f"each result is one sample, the best{of}{long}: they are not a series")]
    if run.states_unit or _iops_show_unit(run):
        remarks.append(Remark("its MB/s are 10^6 bytes/s"))
    else:
        remarks.append(Remark("its MB/s are read as 10^6 bytes/s", True, ("unit",)))
    if run.skipped:
        remarks.append(Remark(f"tests without a result, left out: {run.skipped}"))
    if "0fill" in f"{run.facts.get('mode')} {test}".lower():
        remarks.append(Remark("it wrote zeros (0Fill), which some drives do not store"))
    drive = _DRIVE.search(test)
    return run.log(
        source,
        "crystaldiskmark",
        seconds=seconds,
        drive={"path": drive.group(1)} if drive else {},
        remarks=remarks,
    )


def _iops_show_unit(run: _Run) -> bool:
    """Whether blocks and I/Os a second come to 10^6 bytes."""
    for step, values in zip(run.steps, run.values, strict=True):
        column = "read_" if not step.writes else "write_" if not step.reads else ""
        iops, bw_mb_s = values.get(f"{column}iops"), values[f"{column}bw_mb_s"]
        if step.bs and iops and abs(iops * step.bs / bw_mb_s / MB - 1) < 0.01:
            return True
    return False


AS_SSD = Format("as_ssd", "AS SSD Benchmark", _is_as_ssd, _read_as_ssd, priority=90)
CRYSTALDISKMARK = Format(
    "crystaldiskmark", "CrystalDiskMark", _is_crystal, _read_crystal, priority=100
)
