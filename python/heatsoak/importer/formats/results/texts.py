"""Results as text: AS SSD Benchmark, CrystalDiskMark 2 to 9, KDiskMark, and sysbench.

All but sysbench keep the best or the only result of each test: a step with a single sample. AS SSD
writes ``Read: 507.36 MB/s`` below the test's name; its MB are 2^20 bytes, as a drive's results in
both of its units show. CrystalDiskMark and KDiskMark write a line for each test, such as
``SEQ 1MiB (Q= 8, T= 1): 3482.614 MB/s [ 3321.3 IOPS] < 2407.57 us>`` below ``[Read]``, ``[Write]``
or ``[Mix]``, and before version 7 ``Random Read 4KiB (Q= 32,T= 1) : ...``.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from heatsoak.importer import numbers
from heatsoak.importer.formats import Format, results
from heatsoak.importer.log import Log, Remark
from heatsoak.importer.source import Source
from heatsoak.words import amount_text

_QUOTED = r"[^A-Za-z0-9\[]{0,40}"
_AS_SSD = results.lines_of(
    run=r"\W{0,40}AS SSD Benchmark\s{1,3}(?P<version>[0-9][0-9.]{0,29})",
    fact=r"\W{0,40}(?P<name>Name)\s{0,9}:\s{0,9}(?P<value>.{0,300})",
    test=r"\W{0,40}(?P<way>Read|Write)\s{0,9}:\s{0,40}(?P<value>[0-9][0-9.,]{0,19})\s{0,9}"
    r"(?P<unit>MB/s|iops|ms)\b",
    other=r"\W{0,40}(?:Score|Copy|ISO|Program|Game)\b",
)
#: Headings of a test, and its name, whether it is random, bytes of an I/O, threads.
_AS_SSD_TESTS: dict[str, tuple[str, bool, int | None, int]] = {
    heading: test
    for headings, test in (
        (("sequential", "seq", "16mb"), ("sequential", False, 16 * results.MIB, 1)),
        (("4k-64threads", "4k-64thrd"), ("random 4K, 64 threads", True, 4096, 64)),
        (("4k",), ("random 4K", True, 4096, 1)),
        (("access times", "acc.time", "access time"), ("access time", True, None, 1)),
        (("512b",), ("access time", True, 512, 1)),
    )
    for heading in headings
}
#: Lines whose spaces are single: with several ways to match them it would take for ever.
_CRYSTAL = results.lines_of(
    run=r".{0,400}?\b(?P<tool>CrystalDiskMark|KDiskMark) \(?(?P<version>[0-9][\w.]{0,19})",
    unit=r".{0,400}?MB/s = 1[,. ]?000[,. ]?000 byte",
    section=_QUOTED + r"\[(?P<way>Read|Write|Mix)\](?: ?Read ?(?P<reads>[0-9]{1,3}) ?%)?",
    test=r"[^A-Za-z0-9]{0,40}(?P<kind>SEQ|Sequential|RND|Random)\b ?(?P<way>Read|Write)? ?"
    r"(?:(?P<size>[0-9]{1,6}) ?(?P<prefix>[KM])i?B)? ?(?:\((?P<asked>[^()]{0,40})\))? ?: ?"
    r"(?P<bw_mb_s>[0-9][0-9.,]{0,19}) ?MB/s"
    r"(?: ?\[ ?(?P<iops>[0-9.,]{1,20}) ?IOPS\])?(?: ?< ?(?P<lat_us>[0-9.,]{1,20}) ?us>)?",
    damaged=r".{0,400}?MB/s",
    fact=r"[^A-Za-z0-9]{0,40}(?P<name>Test|Mode|Time|Date)(?: Size)? ?: ?(?P<value>.{0,300})",
)
_ASKED = {"iodepth": re.compile(r"QD?\s?=\s?([0-9]{1,6})", re.IGNORECASE),
          "numjobs": re.compile(r"T\s?=\s?([0-9]{1,6})", re.IGNORECASE)}  # fmt: skip
_DRIVE = re.compile(r"\[([A-Za-z]:)")
_TIMES = re.compile(r"\(x([0-9]{1,3})\)")
_MEASURED = re.compile(r"Measure ([0-9]{1,5}) ?sec", re.IGNORECASE)


@dataclass
class _Run:
    """One result: what stands around the tests, the tests, and how many were not run."""

    facts: dict[str, str] = field(default_factory=dict)
    tests: list[results.Test] = field(default_factory=list)
    skipped: int = 0


def _single_spaced(text: str) -> str:
    return " ".join(text[:400].split())


# --- AS SSD ---


def _as_ssd_log(source: Source, run: _Run) -> Log | None:
    if not run.tests:
        return None
    remarks = (
        Remark("each result is one sample: they are not a series"),
        Remark("its MB are 2^20 bytes: converted to 10^6"),
    )
    drive = {"model": run.facts["name"]} if run.facts.get("name") else {}
    tools = {"as-ssd": run.facts["version"]}
    return results.log_of(source, "as_ssd", run.tests, remarks, drive=drive, tools=tools)


def _as_ssd_runs(source: Source) -> Iterator[_Run]:
    run, test = None, None
    for line, text in source.kept_lines():
        kind, found = results.told(text, _AS_SSD)
        heading = text.strip(" \t:>").lower()
        if kind == "run":
            if run is not None:
                yield run
            run, test = _Run({"version": found["version"].rstrip(".")}), None
        elif kind == "other" or heading in _AS_SSD_TESTS:
            test = _AS_SSD_TESTS.get(heading)
        elif kind == "fact" and run is not None:
            run.facts.setdefault("name", results.short(found["value"]))
        elif kind == "test" and run is not None and test is not None:
            value = numbers.decimal(found["value"])
            if value is None:
                source.skip(line)
            elif value > 0:
                way, (name, random, block, jobs) = found["way"].lower(), test
                units: dict[str, dict[str, float | None]] = {
                    "mb/s": {"bw_mb_s": value * results.MIB / results.MB},
                    "ms": {"lat_us": value * 1000},
                    "iops": {
                        "iops": value,
                        "bw_mb_s": value * block / results.MB if block else None,
                    },
                }
                values = units[found["unit"].lower()]
                shares = 100.0 * (way == "read"), 100.0 * random
                load = results.observed_load(
                    f"{name}, {way}", *shares, bs=block, iodepth=1, numjobs=jobs
                )
                rows = results.mean(None, {f"{way}_{key}": each for key, each in values.items()})
                run.tests.append(results.Test(load, rows))
    if run is not None:
        yield run


# --- CrystalDiskMark and KDiskMark ---


def _is_crystal(source: Source) -> bool:
    lines = (line for line in source.head_lines[:2000] if "MB/s" in line)
    return any(_CRYSTAL["test"].match(_single_spaced(line)) for line in lines)


def _crystal_runs(source: Source) -> Iterator[_Run]:
    """Yield the results that are in the file one behind the other."""
    run, way, reads_pct = _Run(), "", None
    for line, text in source.kept_lines():
        kind, found = results.told(_single_spaced(text), _CRYSTAL)
        if run.tests and (
            kind == "run" or (kind in ("section", "test", "damaged") and "date" in run.facts)
        ):
            yield run  # the next one may come without its header
            run = _Run({"unit": run.facts.get("unit", "")} if kind != "run" else {})
        if kind == "run":
            run.facts |= {"tool": found["tool"].lower(), "version": found["version"].rstrip(".")}
            way = ""
        elif kind == "unit":
            run.facts["unit"] = "stated"
        elif kind == "section":
            way, reads_pct = found["way"].lower(), numbers.number(found["reads"])
        elif kind == "fact" and run.tests:
            run.facts.setdefault(found["name"].lower(), results.short(found["value"]))
        elif kind == "damaged" or (kind == "test" and numbers.decimal(found["bw_mb_s"]) is None):
            source.skip(line)
        elif kind == "test" and not numbers.decimal(found["bw_mb_s"]):
            run.skipped += 1
        elif kind == "test":
            run.tests.append(_crystal_test(found, (found["way"] or way).lower(), reads_pct))
    yield run


def _crystal_test(found: dict[str, str], way: str, reads_pct: float | None) -> results.Test:
    random = found["kind"].lower().startswith("r")
    size, prefix = found["size"], found["prefix"].upper()
    asked: dict[str, Any] = {
        key: float(match[1])
        for key, mark in _ASKED.items()
        if (match := mark.search(found["asked"])) is not None
    }
    words = ["random" if random else "sequential", way or "unknown direction"]
    words += [f"{size}{prefix}iB"] if size else []
    words += [f"Q{asked['iodepth']:.0f}"] if "iodepth" in asked else []
    name = " ".join(words) + (f"T{asked['numjobs']:.0f}" if len(asked) == 2 else "")
    column = f"{way}_" if way in ("read", "write") else ""
    values = {key: numbers.decimal(found[key]) or None for key in ("bw_mb_s", "iops", "lat_us")}
    mixed_pct = results.MIXED if reads_pct is None else reads_pct
    load = results.observed_load(
        name,
        {"read": 100.0, "write": 0.0, "mix": mixed_pct}.get(way),
        100.0 * random,
        bs=numbers.size_of(size, prefix) if size else None,
        **asked,
    )
    rows = results.mean(None, {f"{column}{key}": value for key, value in values.items()})
    return results.Test(load, rows)


def _crystal_log(source: Source, run: _Run) -> Log | None:
    facts = run.facts
    if not run.tests:
        return None
    measured, times = _MEASURED.search(facts.get("time", "")), _TIMES.search(facts.get("test", ""))
    seconds = (numbers.number(measured[1]) or None) if measured else None
    tests = [results.Test(t.load, [t.rows[0] | results.mean(seconds, {})[0]]) for t in run.tests]
    of = f" of {times[1]} measurements" if times else ""
    long = f" of {amount_text(seconds, 's')}" if seconds and of else ""
    remarks = [Remark(f"each result is one sample, the best{of}{long}: they are not a series")]
    if facts.get("unit") or any(map(_iops_show_unit, run.tests)):
        remarks.append(Remark("its MB/s are 10^6 bytes/s"))
    else:
        remarks.append(Remark("its MB/s are read as 10^6 bytes/s", True, ("unit",)))
    if run.skipped:
        remarks.append(Remark(f"tests without a result, left out: {run.skipped}"))
    if "0fill" in f"{facts.get('mode')} {facts.get('test')}".lower():
        remarks.append(Remark("it wrote zeros (0Fill), which some drives do not store"))
    drive = _DRIVE.search(facts.get("test", ""))
    more: dict[str, Any] = {
        "drive": {"path": drive[1]} if drive else {},
        "tools": {facts["tool"]: facts["version"]} if facts.get("version") else {},
        "label": facts.get("date", ""),
    }
    return results.log_of(source, "crystaldiskmark", tests, remarks, **more)


def _iops_show_unit(test: results.Test) -> bool:
    """Whether blocks and I/Os a second come to 10^6 bytes."""
    values = {
        name.removeprefix("read_").removeprefix("write_"): v for name, v in test.rows[0].items()
    }
    block, iops = test.load.bs, values.get("iops")
    if not block or not iops:
        return False
    return abs(iops * block / values["bw_mb_s"] / results.MB - 1) < 0.01


AS_SSD = Format(
    "as_ssd",
    "AS SSD Benchmark",
    results.has_line(_AS_SSD, "run"),
    results.reader_of(
        _as_ssd_runs,
        _as_ssd_log,
        "no results: lines such as 'Read: 507.36 MB/s' below 'Sequential:'",
    ),
    priority=90,
)
CRYSTALDISKMARK = Format(
    "crystaldiskmark",
    "CrystalDiskMark",
    _is_crystal,
    results.reader_of(
        _crystal_runs,
        _crystal_log,
        "no results: lines such as 'SEQ 1MiB (Q= 8, T= 1): 3482.614 MB/s'",
    ),
    priority=100,
)


# --- sysbench fileio -----------------------------------------------------------------------------

_NUMBER = "[0-9.]{1,15}"
_VALUE = f" +(?P<value>{_NUMBER})"
_SYSBENCH = results.lines_of(
    run=_QUOTED + r"(?:sysbench v?(?P<version>[0-9][\w.]{0,19})|Running the test with foll)",
    interval=_QUOTED + rf"\[ *(?P<at>{_NUMBER})s *\] reads: +(?P<read>{_NUMBER}) Mi?B/s +"
    rf"writes: +(?P<write>{_NUMBER}) Mi?B/s\b",
    jobs=_QUOTED + "Number of threads:" + _VALUE,
    block=_QUOTED + "Block size" + _VALUE + r" ?(?P<prefix>[KMG]?)i?B?\b",
    reads_by_writes=_QUOTED + "Read/Write ratio .{0,60}:" + _VALUE,
    mode=_QUOTED + r"Doing (?P<random>random|sequential) (?P<way>r/w|read|write|rewrite)\b",
    seconds=_QUOTED + "total time:" + _VALUE + "s",
    read_iops=_QUOTED + "reads/s:" + _VALUE,
    write_iops=_QUOTED + "writes/s:" + _VALUE,
    read_mib_s=_QUOTED + "read, MiB/s:" + _VALUE,
    write_mib_s=_QUOTED + "written, MiB/s:" + _VALUE,
    rates=_QUOTED + rf"(?P<way>read|write): +IOPS=(?P<iops>{_NUMBER}) +(?P<mib_s>{_NUMBER}) MiB/s",
    done=_QUOTED + rf"Operations performed: +(?P<read>{_NUMBER}) reads?, +"
    rf"(?P<write>{_NUMBER}) writes?",
    moved=_QUOTED + rf"Read (?P<read>{_NUMBER})(?P<read_prefix>[KMGT]?)b +"
    rf"Written (?P<write>{_NUMBER})(?P<write_prefix>[KMGT]?)b",
)


@dataclass
class _SysbenchRun:
    """One run: what stands in its lines, by their kinds, and a sample for each interval."""

    version: str = ""
    way: str = ""
    random_pct: float | None = None
    values: results.Row = field(default_factory=dict)
    series: list[results.Row] = field(default_factory=list)


def _sysbench_runs(source: Source) -> list[_SysbenchRun]:
    runs = [_SysbenchRun()]
    for line, text in source.kept_lines():
        kind, found = results.told(text, _SYSBENCH)
        run = runs[-1]
        value = numbers.number(found.get("value", ""))
        if kind == "run":
            if run.values or run.series:
                runs.append(_SysbenchRun())
            runs[-1].version = found["version"].rstrip(".") or runs[-1].version
        elif kind == "interval":
            at_s, *rates = (numbers.number(found[name]) for name in ("at", *results.DIRECTIONS))
            last_s = run.series[-1]["t_s"] if run.series else 0.0
            if at_s is None or None in rates or at_s == last_s:
                source.skip(line)
                continue
            if at_s < last_s:  # posted without its heading
                runs.append(run := _SysbenchRun())
                last_s = 0.0
            row = {"t_s": at_s, "interval_s": at_s - last_s}
            for way, mib_s in zip(results.DIRECTIONS, rates, strict=True):
                row[f"{way}_bw_mb_s"] = (mib_s or 0.0) * results.MIB / results.MB
            run.series.append(row)
        elif kind == "mode":
            run.random_pct = 100.0 * (found["random"].lower() == "random")
            run.way = found["way"].lower().replace("r/w", "rw").replace("rewrite", "write")
        elif kind == "block":
            run.values[kind] = numbers.size_of(found["value"], found["prefix"]) or 0.0
        elif kind == "rates":
            for name in ("iops", "mib_s"):
                run.values[f"{found['way'].lower()}_{name}"] = numbers.number(found[name]) or 0.0
        elif kind in ("done", "moved"):
            name = "ios" if kind == "done" else "mib"
            for way in results.DIRECTIONS:
                scale = (
                    numbers.multiple(found[f"{way}_prefix"]) / results.MIB
                    if kind == "moved"
                    else 1.0
                )
                run.values[f"{way}_{name}"] = (numbers.number(found[way]) or 0.0) * scale
        elif kind and value is not None:
            run.values[kind] = value
        elif kind:
            source.skip(line)
    return runs


def _sysbench_log(source: Source, run: _SysbenchRun) -> Log | None:
    """Return a run's series, or else its mean; None where it has neither."""
    values, seconds = run.values, run.values.get("seconds", math.nan)
    remarks = [Remark("its MB/s are 2^20 bytes/s: converted to 10^6")]
    rows = run.series
    if not rows:
        row: dict[str, float | None] = {}
        for way in results.DIRECTIONS:
            moved, done = (values.get(f"{way}_{what}", math.nan) for what in ("mib", "ios"))
            row[f"{way}_bw_mb_s"] = (
                values.get(f"{way}_mib_s", moved / (seconds or math.nan)) * results.MIB / results.MB
            )
            row[f"{way}_iops"] = values.get(f"{way}_iops", done / (seconds or math.nan))
        rows = results.mean(seconds if seconds > 0 else None, row)
        remarks.append(Remark("has one mean, and no series: --report-interval=1 writes one"))
    ways = [way for way in results.DIRECTIONS if run.way in (way, "rw")] or [
        way for way in results.DIRECTIONS if any(row.get(f"{way}_bw_mb_s", 0.0) > 0 for row in rows)
    ]
    rows = [
        {
            name: value
            for name, value in row.items()
            if name.startswith(("t_s", "interval_s", *ways))
        }
        for row in rows
    ]
    if not rows or not ways:
        return None
    remarks.append(Remark("its latencies, of reads, writes and fsyncs together, are left out"))
    ratio = values.get("reads_by_writes", math.nan)
    access = {100.0: "random", 0.0: "sequential", None: "fileio"}[run.random_pct]
    load = results.observed_load(
        f"{access} {ways[0] if len(ways) == 1 else 'rw'}",
        100.0 * ("read" in ways) if len(ways) == 1 else 100 * ratio / (1 + ratio),
        run.random_pct,
        bs=values.get("block"),
        numjobs=values.get("jobs"),
    )
    tools = {"sysbench": run.version} if run.version else {}
    return results.log_of(source, "sysbench", [results.Test(load, rows)], remarks, tools=tools)


SYSBENCH = Format(
    "sysbench",
    "sysbench fileio",
    results.has_line(_SYSBENCH, "interval", "read_mib_s", "write_mib_s", "rates", "moved"),
    results.reader_of(
        _sysbench_runs, _sysbench_log, "neither intervals nor results of 'sysbench fileio run'"
    ),
    priority=125,
)
