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
from functools import partial
from itertools import pairwise
from typing import Any

from heatsoak.importer import numbers
from heatsoak.importer.formats import Format, results
from heatsoak.importer.log import Log, Remark
from heatsoak.importer.source import Source
from heatsoak.importer.timestamps import read_times
from heatsoak.words import amount_text

_MEANS = Remark("each result is one sample: they are not a series")
_QUOTED = r"[^A-Za-z0-9\[]{0,40}"

# --- AS SSD ---

_AS_SSD = results.lines_of(
    run=r"\W{0,40}AS SSD Benchmark\s{1,3}(?P<version>[0-9][0-9.]{0,29})",
    fact=r"\W{0,40}Name\s{0,9}:\s{0,9}(?P<model>.{0,300})",
    result=r"\W{0,40}(?P<way>Read|Write)\s{0,9}:\s{0,40}(?P<value>[0-9][0-9.,]{0,19})\s{0,9}"
    r"(?P<unit>MB/s|iops|ms)\b",
    heading=r"[\s:>]{0,40}(?P<heading>Sequential|Seq|16MB|4K-64Thr(?:ea)?ds?|4K|"
    r"Acc(?:ess |\.)times?|512B)[\s:]*$",
    other=r"\W{0,40}(?:Score|Copy|ISO|Program|Game)\b(?P<heading>)",
)
#: How a heading begins: its test's name, whether it is random, bytes of an I/O, threads.
_AS_SSD_TESTS: dict[str, tuple[str, bool, int | None, int]] = {
    "s": ("sequential", False, 16 * results.MIB, 1),
    "1": ("sequential", False, 16 * results.MIB, 1),
    "4k-": ("random 4K, 64 threads", True, 4096, 64), "4k": ("random 4K", True, 4096, 1),
    "a": ("access time", True, None, 1), "5": ("access time", True, 512, 1),
}  # fmt: skip


def _as_ssd_log(source: Source, run: results.Told) -> Log | None:
    tests = []
    for row in run.rows:
        heading = row.get("heading", "").lower()
        test = next((t for start, t in _AS_SSD_TESTS.items() if heading.startswith(start)), None)
        value = numbers.decimal(row["value"])
        if value is None:
            source.skip(int(row["line"]))
        if not heading or test is None or not value:
            continue
        way, (name, random, block, jobs) = row["way"].lower(), test
        units: dict[str, dict[str, float | None]] = {
            "mb/s": {"bw_mb_s": value * results.MIB / results.MB},
            "ms": {"lat_us": value * 1000},
            "iops": {"iops": value, "bw_mb_s": value * block / results.MB if block else None},
        }
        values = {f"{way}_{key}": each for key, each in units[row["unit"].lower()].items()}
        asked: dict[str, Any] = {"bs": block, "iodepth": 1, "numjobs": jobs}
        load = results.observed_load(
            f"{name}, {way}", 100.0 * (way == "read"), 100.0 * random, **asked
        )
        tests.append(results.Test(load, results.mean(None, values)))
    if not tests:
        return None
    remarks = (_MEANS, Remark("its MB are 2^20 bytes: converted to 10^6"))
    drive = {"model": model} if (model := results.short(run.facts.get("model", ""))) else {}
    tools = {"as-ssd": run.facts.get("version", "").rstrip(".")}
    return results.log_of(source, "as_ssd", tests, remarks, drive=drive, tools=tools)


_NEEDED = "no results: lines such as 'Read: 507.36 MB/s' below 'Sequential:'"
_read_as_ssd = results.reader_of(partial(results.told_runs, lines=_AS_SSD), _as_ssd_log, _NEEDED)
AS_SSD = Format(
    "as_ssd", "AS SSD Benchmark", results.has_line(_AS_SSD, "run"), _read_as_ssd, priority=90
)

# --- CrystalDiskMark and KDiskMark ---

#: Lines whose spaces are single: with several ways to match them it would take for ever.
_CRYSTAL = results.lines_of(
    run=r".{0,400}?\b(?P<tool>CrystalDiskMark|KDiskMark) \(?(?P<version>[0-9][\w.]{0,19})",
    unit=r".{0,400}?(?P<unit>MB/s) = 1[,. ]?000[,. ]?000 byte",
    section=_QUOTED + r"\[(?P<way>Read|Write|Mix)\](?: ?Read ?(?P<reads>[0-9]{1,3}) ?%)?",
    result=r"[^A-Za-z0-9]{0,40}(?P<kind>SEQ|Sequential|RND|Random)\b ?(?P<own_way>Read|Write)? ?"
    r"(?:(?P<size>[0-9]{1,6}) ?(?P<prefix>[KM])i?B)? ?(?:\((?P<asked>[^()]{0,40})\))? ?: ?"
    r"(?P<bw_mb_s>[0-9][0-9.,]{0,19}) ?MB/s"
    r"(?: ?\[ ?(?P<iops>[0-9.,]{1,20}) ?IOPS\])?(?: ?< ?(?P<lat_us>[0-9.,]{1,20}) ?us>)?",
    damaged=r".{0,400}?(?P<bw_mb_s>MB/s)",
    fact=r"[^A-Za-z0-9]{0,40}(?:Test(?: Size)? ?: ?(?P<test>.{0,300})|Mode ?: ?(?P<mode>.{0,300})"
    r"|Time ?: ?(?P<time>.{0,300})|Date ?: ?(?P<date>.{0,300}))",
)
_ASKED = {"iodepth": re.compile(r"QD?\s?=\s?([0-9]{1,6})", re.IGNORECASE),
          "numjobs": re.compile(r"T\s?=\s?([0-9]{1,6})", re.IGNORECASE)}  # fmt: skip
_DRIVE = re.compile(r"\[([A-Za-z]:)")
_TIMES = re.compile(r"\(x([0-9]{1,3})\)")
_MEASURED = re.compile(r"Measure ([0-9]{1,5}) ?sec", re.IGNORECASE)


def _single_spaced(text: str) -> str:
    return " ".join(text[:400].split())


def _is_crystal(source: Source) -> bool:
    lines = (line for line in source.head_lines[:2000] if "MB/s" in line)
    return any(_CRYSTAL["result"].match(_single_spaced(line)) for line in lines)


def _crystal_test(row: dict[str, str], seconds: float | None) -> results.Test:
    way, size = (row["own_way"] or row.get("way", "")).lower(), row["size"]
    random = row["kind"].lower().startswith("r")
    asked: dict[str, Any] = {
        key: float(match[1])
        for key, mark in _ASKED.items()
        if (match := mark.search(row["asked"])) is not None
    }
    words = ["random" if random else "sequential", way or "unknown direction"]
    words += [f"{size}{row['prefix'].upper()}iB"] if size else []
    words += [f"Q{asked['iodepth']:.0f}"] if "iodepth" in asked else []
    name = " ".join(words) + (f"T{asked['numjobs']:.0f}" if len(asked) == 2 else "")
    column = f"{way}_" if way in ("read", "write") else ""
    reads_pct = numbers.number(row.get("reads", ""))
    mixed_pct = results.MIXED if reads_pct is None else reads_pct
    load = results.observed_load(
        name,
        {"read": 100.0, "write": 0.0, "mix": mixed_pct}.get(way),
        100.0 * random,
        bs=numbers.size_of(size, row["prefix"].upper()) if size else None,
        **asked,
    )
    values = {
        f"{column}{key}": numbers.decimal(row[key]) or None for key in ("bw_mb_s", "iops", "lat_us")
    }
    return results.Test(load, results.mean(seconds, values))


def _crystal_log(source: Source, run: results.Told) -> Log | None:
    facts = run.facts
    measured, times = _MEASURED.search(facts.get("time", "")), _TIMES.search(facts.get("test", ""))
    seconds = (numbers.number(measured[1]) or None) if measured else None
    for row in run.rows:
        if numbers.decimal(row["bw_mb_s"]) is None:
            source.skip(int(row["line"]))
    done = [row for row in run.rows if numbers.decimal(row["bw_mb_s"])]
    skipped = sum(numbers.decimal(row["bw_mb_s"]) == 0 for row in run.rows)
    tests = [_crystal_test(row, seconds) for row in done]
    if not tests:
        return None
    of = f" of {times[1]} measurements" if times else ""
    long = f" of {amount_text(seconds, 's')}" if seconds and of else ""
    remarks = [Remark(f"each result is one sample, the best{of}{long}: they are not a series")]
    if facts.get("unit") or any(map(_iops_show_unit, tests)):
        remarks.append(Remark("its MB/s are 10^6 bytes/s"))
    else:
        remarks.append(Remark("its MB/s are read as 10^6 bytes/s", True, ("unit",)))
    if skipped:
        remarks.append(Remark(f"tests without a result, left out: {skipped}"))
    if "0fill" in f"{facts.get('mode')} {facts.get('test')}".lower():
        remarks.append(Remark("it wrote zeros (0Fill), which some drives do not store"))
    drive, version = _DRIVE.search(facts.get("test", "")), facts.get("version", "").rstrip(".")
    dated_s = read_times([facts.get("date", "")]).start_unix_s
    more: dict[str, Any] = {
        "details": {} if dated_s is None else {results.DATED: dated_s},
        "drive": {"path": drive[1]} if drive else {},
        "tools": {facts["tool"].lower(): version} if version else {},
        "label": results.short(facts.get("date", "")),
    }
    return results.log_of(source, "crystaldiskmark", tests, remarks, **more)


def _iops_show_unit(test: results.Test) -> bool:
    """Whether blocks and I/Os a second come to 10^6 bytes."""
    values = {
        name.removeprefix("read_").removeprefix("write_"): v for name, v in test.rows[0].items()
    }
    moved = (test.load.bs or 0) * values.get("iops", 0.0)
    return bool(moved) and abs(moved / values["bw_mb_s"] / results.MB - 1) < 0.01


_read_crystal = results.reader_of(
    partial(
        results.told_runs, lines=_CRYSTAL, results=("result", "damaged"), plain=_single_spaced,
        end="date", kept=("unit", "way"),
    ),
    _crystal_log,
    "no results: lines such as 'SEQ 1MiB (Q= 8, T= 1): 3482.614 MB/s'",
)  # fmt: skip
CRYSTALDISKMARK = Format("crystaldiskmark", "CrystalDiskMark", _is_crystal, _read_crystal, 100)

# --- sysbench fileio ---

_NUMBER = "[0-9.]{1,15}"
_SYSBENCH = results.lines_of(
    run=_QUOTED + r"(?:sysbench v?(?P<version>[0-9][\w.]{0,19})|Running the test with foll)",
    result=_QUOTED + rf"\[ *(?P<at_s>{_NUMBER})s *\] reads: +(?P<read>{_NUMBER}) Mi?B/s +"
    rf"writes: +(?P<write>{_NUMBER}) Mi?B/s\b",
    jobs=_QUOTED + rf"Number of threads: +(?P<jobs>{_NUMBER})",
    block=_QUOTED + rf"Block size +(?P<block>{_NUMBER}) ?(?P<prefix>[KMG]?)i?B?\b",
    reads=_QUOTED + rf"Read/Write ratio .{{0,60}}: +(?P<reads_by_writes>{_NUMBER})",
    mode=_QUOTED + r"Doing (?P<random>random|sequential) (?P<way>r/w|read|write|rewrite)\b",
    seconds=_QUOTED + rf"total time: +(?P<seconds>{_NUMBER})s",
    rate=_QUOTED + rf"(?:reads/s: +(?P<read_iops>{_NUMBER})|writes/s: +(?P<write_iops>{_NUMBER})|"
    rf"read, MiB/s: +(?P<read_mib_s>{_NUMBER})|written, MiB/s: +(?P<write_mib_s>{_NUMBER}))",
    reads_at=_QUOTED + rf"read: +IOPS=(?P<read_iops>{_NUMBER}) +(?P<read_mib_s>{_NUMBER}) MiB/s",
    writes_at=_QUOTED
    + rf"write: +IOPS=(?P<write_iops>{_NUMBER}) +(?P<write_mib_s>{_NUMBER}) MiB/s",
    done=_QUOTED + rf"Operations performed: +(?P<read_ios>{_NUMBER}) reads?, +"
    rf"(?P<write_ios>{_NUMBER}) writes?",
    moved=_QUOTED + rf"Read (?P<read_size>{_NUMBER})(?P<read_prefix>[KMGT]?)b +"
    rf"Written (?P<write_size>{_NUMBER})(?P<write_prefix>[KMGT]?)b",
)


def _sysbench_runs(source: Source) -> Iterator[results.Told]:
    """Yield runs; one may be posted behind another without its heading, where time falls."""
    for run in results.told_runs(source, _SYSBENCH):
        at_s = [numbers.number(row["at_s"]) or 0.0 for row in run.rows]
        cuts = [0, *(n for n, (a, b) in enumerate(pairwise(at_s), 1) if b < a), len(at_s)]
        for begin, end in pairwise(cuts) if at_s else [(0, 0)]:
            yield results.Told(run.facts, run.rows[begin:end])


def _sysbench_series(source: Source, run: results.Told) -> list[results.Row]:
    rows: list[results.Row] = []
    for row in run.rows:
        at_s, *rates = (numbers.number(row[name]) for name in ("at_s", *results.DIRECTIONS))
        last_s = rows[-1]["t_s"] if rows else 0.0
        if at_s is None or None in rates or at_s <= last_s:
            source.skip(int(row["line"]))
            continue
        rows.append({"t_s": at_s, "interval_s": at_s - last_s})
        for way, mib_s in zip(results.DIRECTIONS, rates, strict=True):
            rows[-1][f"{way}_bw_mb_s"] = (mib_s or 0.0) * results.MIB / results.MB
    return rows


def _sysbench_log(source: Source, run: results.Told) -> Log | None:
    """Return a run's series, or else its mean; None where it has neither."""
    facts = run.facts
    values = {name: v for name, text in facts.items() if (v := numbers.number(text)) is not None}
    seconds = values.get("seconds", math.nan)
    remarks = [Remark("its MB/s are 2^20 bytes/s: converted to 10^6")]
    rows = _sysbench_series(source, run)
    if not rows:
        row: dict[str, float | None] = {}
        for way in results.DIRECTIONS:
            moved = numbers.size_of(facts.get(f"{way}_size", ""), facts.get(f"{way}_prefix", ""))
            moved = math.nan if moved is None else moved / results.MIB
            mib_s = values.get(f"{way}_mib_s", moved / (seconds or math.nan))
            done = values.get(f"{way}_ios", math.nan) / (seconds or math.nan)
            row[f"{way}_bw_mb_s"] = mib_s * results.MIB / results.MB
            row[f"{way}_iops"] = values.get(f"{way}_iops", done)
        rows = results.mean(seconds if seconds > 0 else None, row)
        remarks.append(Remark("has one mean, and no series: --report-interval=1 writes one"))
    asked = facts.get("way", "").lower().replace("r/w", "read write").replace("rewrite", "write")
    ways = asked.split() or [
        way for way in results.DIRECTIONS if any(row.get(f"{way}_bw_mb_s", 0.0) > 0 for row in rows)
    ]
    kept = ("t_s", "interval_s", *ways)
    rows = [{name: v for name, v in row.items() if name.startswith(kept)} for row in rows]
    if not rows or not ways:
        return None
    remarks.append(Remark("its latencies, of reads, writes and fsyncs together, are left out"))
    ratio = values.get("reads_by_writes", math.nan)
    access = facts.get("random", "fileio").lower()
    load = results.observed_load(
        f"{access} {ways[0] if len(ways) == 1 else 'rw'}",
        100.0 * ("read" in ways) if len(ways) == 1 else 100 * ratio / (1 + ratio),
        {"random": 100.0, "sequential": 0.0}.get(access),
        bs=numbers.size_of(facts.get("block", ""), facts.get("prefix", "")),
        numjobs=values.get("jobs"),
    )
    version = facts.get("version", "").rstrip(".")
    tools = {"sysbench": version} if version else {}
    return results.log_of(source, "sysbench", [results.Test(load, rows)], remarks, tools=tools)


_is_sysbench = results.has_line(_SYSBENCH, "result", "rate", "reads_at", "writes_at", "moved")
_read_sysbench = results.reader_of(
    _sysbench_runs, _sysbench_log, "neither intervals nor results of 'sysbench fileio run'"
)
SYSBENCH = Format("sysbench", "sysbench fileio", _is_sysbench, _read_sysbench, priority=125)
