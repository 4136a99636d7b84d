"""sysbench's test of files (``sysbench fileio``), versions 0.4 to 1.1.

With ``--report-interval`` it writes a line each interval, which is a series; what it sums up at the
end is a mean. Its MB are 2^20 bytes in both.
"""

import math
from dataclasses import dataclass, field

from heatsoak.importer.format import Format
from heatsoak.importer.formats.results.core import (
    DIRECTIONS,
    MB,
    MIB,
    Row,
    Test,
    lines_of,
    log_of,
    mean,
    number,
    numbered,
    size_of,
    told,
)
from heatsoak.importer.log import Log, Options, Remark
from heatsoak.importer.source import Source

_QUOTED, _NUMBER = r"[^A-Za-z0-9\[]{0,40}", "[0-9.]{1,15}"
_VALUE = f" +(?P<value>{_NUMBER})"
_LINES = lines_of(
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
#: Lines that only this test writes.
_MARKS = ("interval", "read_mib_s", "write_mib_s", "rates", "moved")


@dataclass
class _Run:
    """One run: what stands in its lines, by their kinds, and a sample for each interval."""

    version: str = ""
    way: str = ""
    random: bool | None = None
    values: Row = field(default_factory=dict)
    series: list[Row] = field(default_factory=list)


def _recognises(source: Source) -> bool:
    return any(told(line, _LINES)[0] in _MARKS for line in source.head_lines[:500])


def _read(source: Source, _: Options) -> list[Log]:
    logs = [log for run in _runs(source) if (log := _log(source, run)) is not None]
    if not logs:
        raise source.error("holds neither intervals nor results of 'sysbench fileio run'")
    return numbered(logs)


def _runs(source: Source) -> list[_Run]:
    runs = [_Run()]
    for line, text in source.kept_lines():
        kind, found = told(text, _LINES)
        run = runs[-1]
        value = number(found.get("value", ""))
        if kind == "run":
            if run.values or run.series:
                runs.append(_Run())
            runs[-1].version = found["version"].rstrip(".") or runs[-1].version
        elif kind == "interval":
            at_s, *rates = (number(found[name]) for name in ("at", *DIRECTIONS))
            last_s = run.series[-1]["t_s"] if run.series else 0.0
            if at_s is None or None in rates or at_s == last_s:
                source.skip(line)
                continue
            if at_s < last_s:  # posted without its heading
                runs.append(run := _Run())
                last_s = 0.0
            row = {"t_s": at_s, "interval_s": at_s - last_s}
            for way, mib_s in zip(DIRECTIONS, rates, strict=True):
                row[f"{way}_bw_mb_s"] = (mib_s or 0.0) * MIB / MB
            run.series.append(row)
        elif kind == "mode":
            run.random = found["random"].lower() == "random"
            run.way = found["way"].lower().replace("r/w", "rw").replace("rewrite", "write")
        elif kind == "block":
            run.values[kind] = size_of(found["value"], found["prefix"]) or 0.0
        elif kind == "rates":
            for name in ("iops", "mib_s"):
                run.values[f"{found['way'].lower()}_{name}"] = number(found[name]) or 0.0
        elif kind in ("done", "moved"):
            name = "ios" if kind == "done" else "mib"
            for way in DIRECTIONS:
                prefix = found.get(f"{way}_prefix", "").upper() or " "
                power = " KMGT".index(prefix) - 2 if kind == "moved" else 0
                run.values[f"{way}_{name}"] = (number(found[way]) or 0.0) * 1024.0**power
        elif kind and value is not None:
            run.values[kind] = value
        elif kind:
            source.skip(line)
    return runs


def _log(source: Source, run: _Run) -> Log | None:
    """Return a run's series, or else its mean; None where it has neither."""
    values, seconds = run.values, run.values.get("seconds", math.nan)
    remarks = [Remark("its MB/s are 2^20 bytes/s: converted to 10^6")]
    rows = run.series
    if not rows:
        row: dict[str, float | None] = {}
        for way in DIRECTIONS:
            moved, done = (values.get(f"{way}_{what}", math.nan) for what in ("mib", "ios"))
            row[f"{way}_bw_mb_s"] = (
                values.get(f"{way}_mib_s", moved / (seconds or math.nan)) * MIB / MB
            )
            row[f"{way}_iops"] = values.get(f"{way}_iops", done / (seconds or math.nan))
        rows = mean(seconds if seconds > 0 else None, row)
        remarks.append(Remark("has one mean, and no series: --report-interval=1 writes one"))
    ways = [way for way in DIRECTIONS if run.way in (way, "rw")] or [
        way for way in DIRECTIONS if any(row.get(f"{way}_bw_mb_s", 0.0) > 0 for row in rows)
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
    access = {True: "random", False: "sequential", None: "fileio"}[run.random]
    load = {
        "direction": ways[0] if len(ways) == 1 else "rw",
        "random": run.random,
        "block": values.get("block"),
        "jobs": values.get("jobs"),
        "reads_pct": 100 * ratio / (1 + ratio),
    }
    name = f"{access} {load['direction']}"
    tools = {"sysbench": run.version} if run.version else {}
    return log_of(source, "sysbench", [Test(name, rows, load)], remarks, tools=tools)


FORMAT = Format("sysbench", "sysbench fileio", _recognises, _read, priority=125)
