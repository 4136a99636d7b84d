"""Iometer's results (CSV), and its instantaneous results, which are a series.

A file holds tests one after the other, each with a header of its own. A test has a block of
results for each access specification, queue depth and number of workers, with a row for all of
them, each manager, worker and disk. The instantaneous file has rows of workers at each update,
which name no specification, before that.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from heatsoak.importer import log
from heatsoak.importer.formats import Format, results
from heatsoak.importer.numbers import number, size_of
from heatsoak.importer.source import Source
from heatsoak.importer.tables.layout import split
from heatsoak.importer.tables.rows import wanted_drives
from heatsoak.importer.timestamps import read_times
from heatsoak.recording import UNREAD
from heatsoak.words import number_text

#: Lines that say what the lines after them hold.
_LINES = results.lines_of(
    results=r"\W{0,4}(?:time\s?stamp\W{1,4})?target type\W{0,3}?(?P<separator>[,;\t])"
    r"\W{0,3}target name",
    test=r"\W{0,4}test type\W{0,3}?(?P<separator>[,;\t])\W{0,3}test description",
    other=r"[ \t'\"]*(?:target type|timestamp|test type)",
    stamp=r"[ \t'\"]*time stamp",
    specification=r"[ \t'\"]*access specification name",
    size=r"[ \t'\"]*size.{0,50}% of size",
    version=r"[ \t'\"]*version[ ,;\t'\"]*$",
    rows=r"[ \t'\"]*(?:results|end access specifications)[ ,;\t'\"]*$",
    nothing=r"[ \t'\"]*(?:access specifications|end test)[ ,;\t'\"]*$",
)
_SPECIFICATION_NAME = re.compile(
    r"([0-9.]{1,12})\s*([KMG]?)i?B?;\s*([0-9]{1,3})% read;\s*([0-9]{1,3})% random", re.IGNORECASE
)
#: Rows of results, from those that speak for all downwards; others are processors and networks.
_KINDS = ("ALL", "MANAGER", "WORKER", "DISK")
_OTHER_KINDS = ("PROCESSOR", "CPU", "TCP", "VI", "NETWORK")
_RATES = {"iops", "read_iops", "bw", "read_bw"}
#: Rows of one update are written within a moment, one worker after the other.
_SAME_UPDATE_S = 0.3
_MAX_RUN_S = 1e7
#: How far what bytes, I/Os and their rates say may be from 10^6 or 2^20.
_UNIT_TOLERANCE = 0.01

#: Headers of the columns that are taken, besides rates; the first of those of texts counts.
_COLUMNS = {
    "iops": "iops", "read iops": "read_iops", "write iops": "write_iops", "errors": "errors",
    "bytes read": "bytes_read", "bytes written": "bytes_written", "read i/os": "reads",
    "write i/os": "writes", "# disks": "disks", "average response time": "lat_ms",
    "average read response time": "read_lat_ms", "average write response time": "write_lat_ms",
    "maximum read response time": "read_lat_max_ms",
    "maximum write response time": "write_lat_max_ms", "queue depth": "queue_depth",
    "% cpu utilization": "cpu_pct", "total raw run time": "run_ticks",
    "processor speed": "ticks_hz", "target type": "kind", "target name": "target",
    "access specification name": "specification", "time stamp": "time", "timestamp": "time",
}  # fmt: skip
_TEXTS = ("kind", "target", "specification", "time")
#: Header of a rate -> bytes of its megabyte, the certain ones first; None: the rows tell.
_MEGABYTES: tuple[tuple[str, int | None], ...] = (
    ("mbps (decimal)", results.MB), ("mibps (binary)", results.MIB),
    ("mbps (binary)", results.MIB), ("mibps", results.MIB), ("mbps", None),
)  # fmt: skip

#: What a row holds: `_TEXTS`, and numbers by the names of `_COLUMNS`; of updates its `t_s`, too.
_Result = dict[str, Any]


def _places(cells: Sequence[str]) -> tuple[dict[str, int], int | None]:
    """Return where the columns of a header are, and the bytes of its megabyte, where it says so."""
    names = {name.strip(" '\"").lower(): at for at, name in reversed(list(enumerate(cells)))}
    rates = ((r, size) for r, size in _MEGABYTES if {r, f"read {r}"} & names.keys())
    rate, size = next(rates, ("", None))
    of_rate = {rate: "bw", f"read {rate}": "read_bw", f"write {rate}": "write_bw"}
    wanted = _COLUMNS | of_rate
    return {key: names[name] for name, key in wanted.items() if name in names}, size


def _result(places: dict[str, int], cells: Sequence[str]) -> _Result:
    there = {key: results.short(cells[at]) for key, at in places.items() if at < len(cells)}
    told = {key: text if key in _TEXTS else number(text) for key, text in there.items()}
    told["kind"] = there.get("kind", "").strip(" '").upper()
    return {key: value for key, value in told.items() if value is not None}


@dataclass
class _Block:
    """The results of one access specification: rows by kind, those of updates, when it ended."""

    totals: dict[str, list[_Result]] = field(default_factory=dict)
    series: list[_Result] = field(default_factory=list)
    end: _Result = field(default_factory=dict)

    def of(self, device: str | None) -> list[_Result]:
        """Return the rows that sum it up, or those of one disk."""
        if device is not None:
            return [row for row in self.totals.get("DISK", ()) if row.get("target") == device]
        return next((self.totals[kind] for kind in _KINDS if kind in self.totals), [])


@dataclass
class _Test:
    """What stands between one header and the next.

    Attributes:
        begin: when it started, as it is written.
        megabyte: bytes of its megabytes, where a header says so.
        specifications: by name, lines of size in bytes, % of I/Os of that size, % reads, and
            % random.
    """

    version: str = ""
    begin: str = ""
    megabyte: int | None = None
    specifications: dict[str, list[tuple[float, ...]]] = field(default_factory=dict)
    blocks: list[_Block] = field(default_factory=list)

    def totals(self, *kinds: str) -> list[_Result]:
        """Return the rows of these kinds that sum up blocks."""
        return [row for b in self.blocks for kind in kinds for row in b.totals.get(kind, ())]


def _read(source: Source, options: log.Options) -> list[log.Log]:
    tests = [test for test in _tests(source) if test.blocks]
    if not tests:
        raise source.error("holds no results: they are rows as ALL,All,... below 'Target Type,...")
    return results.numbered([_log(source, options, test) for test in tests])


def _tests(source: Source) -> Iterator[_Test]:
    """Yield each test, also what stands before the first header."""
    test, block, separator = _Test(), None, ","
    places, megabyte = _places(())
    awaited = specification = ""
    for line, text in source.kept_lines():
        if not text.strip(" \t,;\"'"):
            continue
        kind, found = results.told(text, _LINES)
        separator = found.get("separator") or separator
        cells = split(text, separator)
        word = results.short(cells[0]) if cells else ""
        if kind == "test":
            yield test
            test, block, awaited = _Test(), None, ""
        elif kind == "results":
            places, megabyte = _places(cells)
            block, awaited = None, "rows"
        elif kind and kind != "other":
            awaited = kind
        elif awaited == "size":
            known = tuple(v for cell in cells[:4] if (v := number(cell)) is not None)
            if len(known) == 4 and max(known[1:]) <= 100:
                test.specifications.setdefault(specification, []).append(known)
            else:
                source.skip(line)
        elif awaited == "rows" and places and not text.startswith("'"):
            result = _result(places, cells)
            target = result["kind"]
            if target not in _KINDS or _RATES.isdisjoint(result):
                if target not in _OTHER_KINDS:
                    source.skip(line)
                continue
            if block is None or (target == "ALL" and target in block.totals):
                block = _Block()
                test.blocks.append(block)
                test.megabyte = test.megabyte or megabyte
            is_update = result.get("time") and not result.get("specification")
            rows = block.series if is_update else block.totals.setdefault(target, [])
            rows.append(result)
        else:
            if awaited == "version":
                test.version = word
            elif awaited == "specification":
                specification = word
                test.specifications[word] = []
            elif awaited == "stamp" and block is not None:
                block.end, block = {"time": word}, None
            elif awaited == "stamp" and not test.begin and not test.blocks:
                test.begin = word
            awaited = "rows" if awaited == "stamp" else ""
    yield test


def _log(source: Source, options: log.Options, test: _Test) -> log.Log:
    disks = sorted({row.get("target", "") for row in test.totals("DISK")})
    device = None  # which --device means
    if options.device and disks:
        device = wanted_drives(source, options, disks)[0]
    megabyte, doubt = _megabyte(test)
    stamped = [row for block in test.blocks for row in (*block.series, block.end)]
    times = read_times([test.begin, *(row.get("time", "") for row in stamped)])
    begin_s, *stamps_s = times.t_s.tolist()
    for row, at_s in zip(stamped, stamps_s, strict=True):
        row["t_s"] = at_s
    tests: list[results.Test] = []
    means = guessed = back = 0
    for block in test.blocks:
        if rows := [row for row in block.series if math.isfinite(row["t_s"])]:
            samples, late = _updates(rows, begin_s, megabyte)
            back += late
        elif rows := block.of(device):
            samples = [_row(rows, megabyte) | _span(block, rows, begin_s)]
            means, guessed = means + 1, guessed + (_duration_s(rows, block) is None)
        else:
            continue
        if samples:
            begin_s = samples[-1]["t_s"]
            tests.append(_of_block(test, block, samples, device))
    if not tests:
        raise source.error("holds no results with a rate")
    first = tests[0].rows[0]
    origin_s = first["t_s"] - first.get("interval_s", 0.0)
    errors = _sum(test.totals("ALL"), "errors") or 0.0
    together = f"rates are of {len(disks)} drives together: --device picks one"
    stated = "how long a test took is not stated: taken from time stamps"
    units = f"megabytes of 2^20 bytes converted to 10^6{doubt}"
    said = (
        (means, log.Remark("each result is one sample: the mean over a test")),
        (guessed, log.Remark(stated, True, ("time",))),
        (back, log.Remark(f"{back} updates whose time goes back were left out", True, UNREAD)),
        (megabyte == results.MIB, log.Remark(units, bool(doubt), ("unit",))),
        (times.doubt, log.Remark(times.doubt, True, times.touches)),
        (device is None and len(disks) > 1, log.Remark(together)),
        (errors, log.Remark(f"{number_text(errors)} I/Os failed", True, ())),
    )
    drive = device or (disks[0] if len(disks) == 1 else "")
    start_unix_s = times.start_unix_s
    return results.log_of(
        source,
        "iometer",
        tests,
        [remark for is_so, remark in said if is_so],
        starts_s=[-origin_s] * len(tests),
        clock=times.clock,
        start_unix_s=None if start_unix_s is None else start_unix_s + origin_s,
        drive={"path": drive} if drive else {},
        tools={"iometer": test.version} if test.version else {},
    )


def _megabyte(test: _Test) -> tuple[int, str]:
    """Return the bytes of its megabytes, and what to say where that is not certain."""
    if test.megabyte is not None:
        return test.megabyte, ""
    best = max(test.totals(*_KINDS), key=lambda row: row.get("bw", 0.0), default=_Result())
    ios = best.get("reads", 0.0) + best.get("writes", 0.0)
    if ios > 0 and best.get("bw", 0.0) > 0:
        moved = best.get("bytes_read", 0.0) + best.get("bytes_written", 0.0)
        seen = moved / ios * best.get("iops", 0.0) / best["bw"]
        for size in (results.MIB, results.MB):
            if abs(seen / size - 1) < _UNIT_TOLERANCE:
                return size, ""
    return results.MIB, ": its version writes these; its rows do not say"


# --- samples ---


def _span(block: _Block, rows: Sequence[_Result], begin_s: float) -> results.Row:
    """Return when the mean of a block ended, and how long it took."""
    end_s, seconds = block.end["t_s"], _duration_s(rows, block)
    since_s = begin_s if math.isfinite(begin_s) else 0.0
    if not end_s > since_s:
        end_s = since_s + (seconds or 1.0)
    seconds = end_s - begin_s if seconds is None else seconds
    return {"t_s": end_s, **({"interval_s": seconds} if math.isfinite(seconds) else {})}


def _updates(
    series: Sequence[_Result], begin_s: float, megabyte: int
) -> tuple[list[results.Row], int]:
    """Return a sample for each update, and how many went back in time."""
    updates: list[list[_Result]] = []
    for row in series:
        if updates and 0 <= row["t_s"] - updates[-1][0]["t_s"] < _SAME_UPDATE_S:
            updates[-1].append(row)
        else:
            updates.append([row])
    samples: list[results.Row] = []
    for rows in updates:
        t_s, last_s = rows[0]["t_s"], samples[-1]["t_s"] if samples else begin_s
        if not t_s <= last_s:
            seconds = _duration_s(rows) or (t_s - last_s if samples else None)
            span = {"t_s": t_s, **({"interval_s": seconds} if seconds else {})}
            samples.append(_row(rows, megabyte) | span)
    return samples, len(updates) - len(samples)


def _row(rows: Sequence[_Result], megabyte: int) -> results.Row:
    """Return what these results, of targets at the same time, come to."""
    row: dict[str, float | None] = {}
    in_two = any(r.keys() & {"read_iops", "read_bw", "write_iops"} for r in rows)
    for prefix in ("read_", "write_") if in_two else ("",):
        bw = _sum(rows, f"{prefix}bw")
        lat_ms = _mean_by(rows, f"{prefix}lat_ms", f"{prefix}iops")
        lat_max_ms = max(r.get(f"{prefix}lat_max_ms", 0.0) for r in rows)
        row |= {
            f"{prefix}iops": _sum(rows, f"{prefix}iops"),
            f"{prefix}bw_mb_s": None if bw is None else bw * megabyte / results.MB,
            f"{prefix}lat_us": 1000 * lat_ms if lat_ms else None,
            f"{prefix}lat_max_us": 1000 * lat_max_ms if prefix and lat_max_ms else None,
        }
    row["cpu_pct"] = _mean_by(rows, "cpu_pct")
    return {name: value for name, value in row.items() if value is not None}


def _sum(rows: Iterable[_Result], key: str) -> float | None:
    values = [row[key] for row in rows if key in row]
    return sum(values) if values else None


def _mean_by(rows: Iterable[_Result], key: str, weight: str = "") -> float | None:
    pairs = [(row[key], row.get(weight, 1.0)) for row in rows if key in row]
    weights = sum(share for _, share in pairs)
    return sum(value * share for value, share in pairs) / weights if weights > 0 else None


def _duration_s(results: Sequence[_Result], block: _Block | None = None) -> float | None:
    """Return how long they took: I/Os by their rate, or the clock's ticks that were counted."""
    for rows in (results, block.totals.get("MANAGER", ()) if block else ()):
        ios = (_sum(rows, "reads") or 0.0) + (_sum(rows, "writes") or 0.0)
        counted = ((ios, _sum(rows, "iops")),
                   (_mean_by(rows, "run_ticks"), _mean_by(rows, "ticks_hz")))  # fmt: skip
        seconds = next((count / per_s for count, per_s in counted if count and per_s), 0.0)
        if 0 < seconds <= _MAX_RUN_S:
            return seconds
    return None


# --- what was asked for ---


def _of_block(
    test: _Test, block: _Block, samples: list[results.Row], device: str | None
) -> results.Test:
    """Return a block as a test of its load."""
    rows = block.of(device)
    every = [row for kind in _KINDS for row in block.totals.get(kind, ())]
    named = [{row.get("specification", "") for row in one} - {""} for one in (rows, every)]
    names = named[0] if len(named[0]) == 1 else named[1] or set(test.specifications) - {""}
    name = names.pop() if len(names) == 1 else "mixed specifications" if names else "test"
    depths = [row.get("queue_depth") for row in (*rows[:1], *block.series[:1])]
    lines = test.specifications.get(name) or _from_name(name)
    sizes = {size for size, share, _, _ in lines if share}
    load = results.observed_load(
        name,
        *_shares(lines),
        bs=sizes.pop() if len(sizes) == 1 else None,
        iodepth=next((depth for depth in depths if depth is not None), None),
        numjobs=_sum(rows, "disks") if device is None else float(len(rows)),
    )
    return results.Test(load, samples)


def _from_name(name: str) -> list[tuple[float, ...]]:
    """Return the lines of a specification that is named as Iometer names its own."""
    match = _SPECIFICATION_NAME.match(name)
    if match is None:
        return []
    size = size_of(match[1], match[2])
    reads, random = float(match[3]), float(match[4])
    return [] if size is None or max(reads, random) > 100 else [(size, 100, reads, random)]


def _shares(lines: Sequence[tuple[float, ...]]) -> tuple[float | None, float | None]:
    """Return how much the lines of an access specification read, and at random offsets, in %."""
    total = sum(share for _, share, _, _ in lines)
    if not total:
        return None, None
    reads = sum(share * of for _, share, of, _ in lines) / total
    return reads, sum(share * of for _, share, _, of in lines) / total


FORMAT = Format(
    "iometer", "Iometer results", results.has_line(_LINES, "results", "test"), _read, priority=80
)
