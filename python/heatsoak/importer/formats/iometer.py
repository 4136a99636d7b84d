"""Iometer's results (CSV), and its instantaneous results, which are a series.

A file holds tests one after the other, each with a header of its own. A test has a block of
results for each access specification, queue depth and number of workers, with a row for all of
them, each manager, worker and disk. The instantaneous file has rows of workers at each update,
which name no specification, before that.
"""

import csv
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from heatsoak.importer.format import Format
from heatsoak.importer.formats.results import (
    MB,
    MIB,
    Unreadable,
    directions_of,
    distinct,
    frame_of_steps,
    number,
    numbered,
    observed_load,
    short,
    size_of,
)
from heatsoak.importer.log import Log, Options, Remark
from heatsoak.importer.source import Source
from heatsoak.importer.timestamps import read_times
from heatsoak.protocol import Observed

_HEADER = re.compile(
    r"\W{0,4}(?:time\s?stamp\W{1,4})?target type\W{0,3}?([,;\t])\W{0,3}target name", re.IGNORECASE
)
_TEST = re.compile(r"\W{0,4}test type\W{0,3}?([,;\t])\W{0,3}test description", re.IGNORECASE)
_SPECIFICATION_NAME = re.compile(
    r"([0-9.]{1,12})\s*([KMG]?)i?B?;\s*([0-9]{1,3})% read;\s*([0-9]{1,3})% random", re.IGNORECASE
)
_HEAD_LINES = 500
#: Rows of results, from those that speak for all downwards; others are processors and networks.
_KINDS = ("ALL", "MANAGER", "WORKER", "DISK")
_OTHER_KINDS = ("PROCESSOR", "CPU", "TCP", "VI", "NETWORK")
#: Rows of one update are written within a moment, one worker after the other.
_SAME_UPDATE_S = 0.3
_MAX_RUN_S = 1e7
#: How far what bytes, I/Os and their rates say may be from 10^6 or 2^20.
_UNIT_TOLERANCE = 0.01

#: Lines that stand alone, and what the lines behind them hold.
_MARKERS = {
    "version": "version",
    "results": "results",
    "access specifications": "nothing",
    "end access specifications": "results",
    "end test": "nothing",
}
#: Headers of the columns that are taken, besides rates.
_COLUMNS = {
    "iops": "iops",
    "read iops": "read_iops",
    "write iops": "write_iops",
    "errors": "errors",
    "bytes read": "bytes_read",
    "bytes written": "bytes_written",
    "read i/os": "reads",
    "write i/os": "writes",
    "# disks": "disks",
    "average response time": "lat_ms",
    "average read response time": "read_lat_ms",
    "average write response time": "write_lat_ms",
    "maximum read response time": "read_lat_max_ms",
    "maximum write response time": "write_lat_max_ms",
    "queue depth": "queue_depth",
    "% cpu utilization": "cpu_pct",
    "total raw run time": "run_ticks",
    "processor speed": "ticks_hz",
}
#: Header of a rate -> bytes of its megabyte, the certain ones first; None: the rows tell.
_MEGABYTES: tuple[tuple[str, int | None], ...] = (
    ("mbps (decimal)", MB),
    ("mibps (binary)", MIB),
    ("mbps (binary)", MIB),
    ("mibps", MIB),
    ("mbps", None),
)


@dataclass(slots=True)
class _Result:
    """One row of results."""

    time: str
    target: str
    specification: str
    values: dict[str, float]


@dataclass
class _Block:
    """The results of one access specification."""

    totals: dict[str, list[_Result]] = field(default_factory=dict)
    series: list[_Result] = field(default_factory=list)
    end: str = ""


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


def _recognises(source: Source) -> bool:
    return any(_HEADER.match(line) or _TEST.match(line) for line in source.head_lines[:_HEAD_LINES])


def _read(source: Source, options: Options) -> list[Log]:
    unreadable = Unreadable()
    tests = [test for test in _Parser(source, unreadable).tests() if test.blocks]
    unreadable.remark_on(source)
    if not tests:
        raise source.error("holds no results: they are rows as ALL,All,... below 'Target Type,...")
    return numbered([_log(source, options, test) for test in tests])


class _Parser:
    """Walks through the lines and collects tests."""

    def __init__(self, source: Source, unreadable: Unreadable) -> None:
        self._source = source
        self._unreadable = unreadable
        self._separator = ","
        self._names: dict[str, int] = {}
        self._numbers: list[tuple[int, str]] = []
        self._megabyte: int | None = None
        self._test = _Test()
        self._block: _Block | None = None
        self._specification = ""

    def tests(self) -> Iterator[_Test]:
        """Yield each test, also what stands before the first header."""
        awaited = ""
        for line, text in self._source.kept_lines():
            if not text.strip(" \t,;\"'"):
                continue
            marker = self._marker(text)
            if marker is None:
                awaited = self._take(awaited, line, text)
                continue
            awaited = marker
            if marker == "test":
                yield self._test
                self._test, self._block = _Test(), None
        yield self._test

    def _marker(self, text: str) -> str | None:
        """Return what the lines after this one hold; None where it is not a marker."""
        start = text[:60].lstrip(" \t'\"").lower()
        if start.startswith(("target type", "timestamp", "time stamp")):
            header = _HEADER.match(text)
            if header is None:
                return "stamp" if start.startswith("time stamp") else None
            self._separator = header.group(1)
            self._take_header(text)
            return "results"
        if start.startswith("test type"):
            test = _TEST.match(text)
            if test is not None:
                self._separator = test.group(1)
            return "test"
        if start.startswith("access specification name"):
            return "specification"
        if start.startswith("size") and "% of size" in start:
            return "size"
        return _MARKERS.get(start.rstrip(" ,;\t'\""))

    def _take_header(self, text: str) -> None:
        names = [name.strip(" '\"").lower() for name in self._cells(text)]
        self._names = {}
        for index, name in enumerate(names):
            self._names.setdefault(name, index)
        wanted = dict(_COLUMNS)
        for rate, self._megabyte in _MEGABYTES:
            if {rate, f"read {rate}"} & self._names.keys():
                wanted |= {rate: "bw", f"read {rate}": "read_bw", f"write {rate}": "write_bw"}
                break
        self._numbers = [(self._names[name], key) for name, key in wanted.items() if name in names]
        self._block = None

    def _take(self, awaited: str, line: int, text: str) -> str:
        """Take a line that is not a marker; return what the lines after it hold."""
        cells = self._cells(text)
        word = short(cells[0]) if cells else ""
        if awaited == "version":
            self._test.version = word
        elif awaited == "stamp":
            self._take_stamp(word)
        elif awaited == "specification":
            self._specification = word
            self._test.specifications[word] = []
        elif awaited == "size":
            self._take_size(line, cells)
            return awaited
        elif awaited == "results" and self._names and not text.startswith("'"):
            self._take_result(line, cells)
            return awaited
        return "results" if awaited == "stamp" else ""

    def _cells(self, text: str) -> list[str]:
        if '"' not in text:
            return text.split(self._separator)
        try:
            return next(csv.reader([text], delimiter=self._separator), [])
        except csv.Error:
            return []

    def _take_stamp(self, word: str) -> None:
        if self._block is not None:
            self._block.end = word
            self._block = None
        elif not self._test.begin and not self._test.blocks:
            self._test.begin = word

    def _take_size(self, line: int, cells: Sequence[str]) -> None:
        values = [self._number(cell) for cell in cells[:4]]
        known = tuple(value for value in values if value is not None)
        if len(known) == 4 and max(known[1:]) <= 100:
            self._test.specifications.setdefault(self._specification, []).append(known)
        else:
            self._unreadable.add(line)

    def _take_result(self, line: int, cells: Sequence[str]) -> None:
        kind = self._text(cells, "target type").strip(" '").upper()
        if kind in _OTHER_KINDS:
            return
        values = {
            key: value
            for index, key in self._numbers
            if index < len(cells) and (value := self._number(cells[index])) is not None
        }
        if kind not in _KINDS or not values.keys() & {"iops", "read_iops", "bw", "read_bw"}:
            self._unreadable.add(line)
            return
        result = _Result(
            self._text(cells, "timestamp") or self._text(cells, "time stamp"),
            self._text(cells, "target name"),
            self._text(cells, "access specification name"),
            values,
        )
        of_an_update = bool(result.time) and not result.specification
        of_next = kind == "ALL" and self._block is not None and kind in self._block.totals
        if self._block is None or of_next:
            self._block = _Block()
            self._test.blocks.append(self._block)
            self._test.megabyte = self._test.megabyte or self._megabyte
        if of_an_update:
            self._block.series.append(result)
        else:
            self._block.totals.setdefault(kind, []).append(result)

    def _text(self, cells: Sequence[str], name: str) -> str:
        index = self._names.get(name, len(cells))
        return short(cells[index]) if index < len(cells) else ""

    def _number(self, text: str) -> float | None:
        return number(text, decimal_comma=self._separator != ",")


def _log(source: Source, options: Options, test: _Test) -> Log:
    disks = sorted({row.target for row in _totals(test, ("DISK",))})
    device = _device(source, options, disks)
    megabyte, doubt = _megabyte(test)
    words = [test.begin]
    for block in test.blocks:
        words += [result.time for result in block.series]
        words.append(block.end)
    times = read_times(words)
    timeline = _Timeline(times.t_s.tolist(), megabyte, device)
    steps, rows = [], []
    for block in test.blocks:
        samples = timeline.samples(block)
        if samples:
            steps.append(_step(test, block, samples, device))
            rows.append(samples)
    if not steps:
        raise source.error("holds no results with a rate")
    steps = distinct(steps)
    rows = [[{**row, "t_s": row["t_s"] - timeline.origin} for row in own] for own in rows]
    remarks = timeline.remarks()
    if megabyte == MIB:
        remarks.append(
            Remark(f"megabytes of 2^20 bytes converted to 10^6{doubt}", bool(doubt), ("unit",))
        )
    if times.doubt:
        remarks.append(Remark(times.doubt, True, ("time",)))
    if device is None and len(disks) > 1:
        remarks.append(Remark(f"rates are of {len(disks)} drives together: --device picks one"))
    errors = sum(row.values.get("errors", 0.0) for row in _totals(test, ("ALL",)))
    if errors:
        remarks.append(Remark(f"{errors:.0f} I/Os failed", True, ()))
    drive = device or (disks[0] if len(disks) == 1 else "")
    start_unix_s = times.start_unix_s
    return Log(
        format="iometer",
        source=source.name,
        samples=frame_of_steps(steps, rows),
        clock=times.clock,
        start_unix_s=None if start_unix_s is None else start_unix_s + timeline.origin,
        steps=tuple(steps),
        drive={"path": drive} if drive else {},
        tools={"iometer": test.version} if test.version else {},
        remarks=tuple(remarks),
    )


def _totals(test: _Test, kinds: Iterable[str] = _KINDS) -> Iterator[_Result]:
    for block in test.blocks:
        for kind in kinds:
            yield from block.totals.get(kind, ())


def _device(source: Source, options: Options, disks: Sequence[str]) -> str | None:
    """Return the disk that --device means; None where none was asked for, or none is named."""
    wanted = (options.device or "").lower()
    if not wanted or not disks:
        return None
    for disk in disks:
        if wanted in disk.lower():
            options.used.add("device")
            return disk
    raise source.error(f"has no results of {options.device}: it has {', '.join(disks)[:500]}")


def _megabyte(test: _Test) -> tuple[int, str]:
    """Return the bytes of its megabytes, and what to say where that is not certain."""
    if test.megabyte is not None:
        return test.megabyte, ""
    best = max(_totals(test), key=lambda row: row.values.get("bw", 0.0), default=None)
    value = best.values if best is not None else {}
    ios = value.get("reads", 0.0) + value.get("writes", 0.0)
    if ios > 0 and value.get("bw", 0.0) > 0:
        moved = value.get("bytes_read", 0.0) + value.get("bytes_written", 0.0)
        seen = moved / ios * value.get("iops", 0.0) / value["bw"]
        for size in (MIB, MB):
            if abs(seen / size - 1) < _UNIT_TOLERANCE:
                return size, ""
    return MIB, ": its version writes these; its rows do not say"


class _Timeline:
    """Gives the blocks of a test their times.

    `t_s` are the test's start, then for each block those of its series and its end; NaN where
    the file has none.
    """

    def __init__(self, t_s: Sequence[float], megabyte: int, device: str | None) -> None:
        self._t_s = iter(t_s)
        self._end = next(self._t_s, math.nan)
        self._scale = megabyte / MB
        self._device = device
        self._means = self._guessed = self._back = 0
        #: When the first sample's interval began, on the clock of `t_s`.
        self.origin = math.nan

    def samples(self, block: _Block) -> list[dict[str, float]]:
        """Return the block's samples, none where it has no rate."""
        series = [
            (t_s, result)
            for t_s, result in zip(islice(self._t_s, len(block.series)), block.series, strict=True)
            if math.isfinite(t_s)
        ]
        stamp = next(self._t_s, math.nan)
        samples = self._updates(series) if series else self._mean(block, stamp)
        if samples:
            if math.isnan(self.origin):
                self.origin = samples[0]["t_s"] - samples[0].get("interval_s", 0.0)
            self._end = samples[-1]["t_s"]
        return samples

    def remarks(self) -> list[Remark]:
        """Return what to say of the times."""
        found = []
        if self._means:
            found.append(Remark("each result is one sample: the mean over a test"))
        if self._guessed:
            found.append(
                Remark(
                    "how long a test took is not stated: taken from time stamps", True, ("time",)
                )
            )
        if self._back:
            text = f"{self._back} updates whose time goes back were left out"
            found.append(Remark(text, doubt=True))
        return found

    def _mean(self, block: _Block, stamp: float) -> list[dict[str, float]]:
        results = _those_of(block, self._device)
        if not results:
            return []
        row = self._row(results)
        seconds = _duration_s(results) or _duration_s(block.totals.get("MANAGER", ()))
        begin = self._end if math.isfinite(self._end) else 0.0
        if not math.isfinite(stamp) or stamp <= begin:
            stamp = begin + (seconds or 1.0)
        if seconds is None:
            self._guessed += 1
            seconds = stamp - begin if math.isfinite(self._end) else None
        if seconds is not None:
            row["interval_s"] = seconds
        row["t_s"] = stamp
        self._means += 1
        return [row]

    def _updates(self, series: Sequence[tuple[float, _Result]]) -> list[dict[str, float]]:
        samples: list[dict[str, float]] = []
        updates: list[tuple[float, list[_Result]]] = []
        for t_s, result in series:
            if updates and 0 <= t_s - updates[-1][0] < _SAME_UPDATE_S:
                updates[-1][1].append(result)
            else:
                updates.append((t_s, [result]))
        for t_s, results in updates:
            last = samples[-1]["t_s"] if samples else self._end
            if t_s <= last:
                self._back += 1
                continue
            row = self._row(results)
            seconds = _duration_s(results)
            if seconds is None and samples:
                seconds = t_s - last
            samples.append({**row, "t_s": t_s, **({"interval_s": seconds} if seconds else {})})
        return samples

    def _row(self, results: Sequence[_Result]) -> dict[str, float]:
        """Return what these results, of targets at the same time, come to."""
        row: dict[str, float] = {}
        for prefix in ("read_", "write_") if _states_directions(results) else ("",):
            iops = _sum(results, f"{prefix}iops")
            bw = _sum(results, f"{prefix}bw")
            lat_ms = _mean_by(results, f"{prefix}lat_ms", f"{prefix}iops")
            lat_max_ms = [r.values.get(f"{prefix}lat_max_ms", 0.0) for r in results]
            if iops is not None:
                row[f"{prefix}iops"] = iops
            if bw is not None:
                row[f"{prefix}bw_mb_s"] = bw * self._scale
            if lat_ms:
                row[f"{prefix}lat_us"] = 1000 * lat_ms
            if prefix and max(lat_max_ms) > 0:
                row[f"{prefix}lat_max_us"] = 1000 * max(lat_max_ms)
        cpu_pct = _mean_by(results, "cpu_pct", "")
        if cpu_pct is not None:
            row["cpu_pct"] = cpu_pct
        return row


def _those_of(block: _Block, device: str | None) -> list[_Result]:
    """Return the rows that sum up the block, or those of one disk."""
    if device is not None:
        return [row for row in block.totals.get("DISK", ()) if row.target == device]
    return next((block.totals[kind] for kind in _KINDS if kind in block.totals), [])


def _states_directions(results: Iterable[_Result]) -> bool:
    return any(row.values.keys() & {"read_iops", "read_bw", "write_iops"} for row in results)


def _sum(results: Iterable[_Result], key: str) -> float | None:
    values = [row.values[key] for row in results if key in row.values]
    return sum(values) if values else None


def _mean_by(results: Iterable[_Result], key: str, weight: str) -> float | None:
    pairs = [(row.values[key], row.values.get(weight, 1.0)) for row in results if key in row.values]
    weights = sum(share for _, share in pairs)
    return sum(value * share for value, share in pairs) / weights if weights > 0 else None


def _duration_s(results: Sequence[_Result]) -> float | None:
    """Return how long they took: I/Os by their rate, or the clock's ticks that were counted."""
    ios = (_sum(results, "reads") or 0.0) + (_sum(results, "writes") or 0.0)
    iops = _sum(results, "iops") or 0.0
    ticks = _mean_by(results, "run_ticks", "") or 0.0
    ticks_hz = _mean_by(results, "ticks_hz", "") or 0.0
    if ios > 0 and iops > 0:
        seconds = ios / iops
    elif ticks > 0 and ticks_hz > 0:
        seconds = ticks / ticks_hz
    else:
        return None
    return seconds if 0 < seconds <= _MAX_RUN_S else None


def _step(
    test: _Test, block: _Block, samples: Sequence[dict[str, float]], device: str | None
) -> Observed:
    """Return what is known of a block's load."""
    results = _those_of(block, device)
    names = {row.specification for row in results} - {""}
    if len(names) != 1:
        rows = [row for kind in _KINDS for row in block.totals.get(kind, ())]
        names = {row.specification for row in rows} - {""} or set(test.specifications) - {""}
    name = names.pop() if len(names) == 1 else "mixed specifications" if names else "test"
    depth = results[0].values.get("queue_depth") if results else None
    if depth is None and block.series:
        depth = block.series[0].values.get("queue_depth")
    jobs = _sum(results, "disks") if device is None else float(len(results))
    direction, known = _load(test.specifications.get(name) or _from_name(name))
    return observed_load(
        name, direction, depth=depth, jobs=jobs, did=directions_of(samples), **known
    )


def _from_name(name: str) -> list[tuple[float, ...]]:
    """Return the lines of a specification that is named as Iometer names its own."""
    match = _SPECIFICATION_NAME.match(name)
    if match is None:
        return []
    size = size_of(match.group(1), match.group(2))
    reads, random = float(match.group(3)), float(match.group(4))
    return [] if size is None or max(reads, random) > 100 else [(size, 100, reads, random)]


def _load(lines: Sequence[tuple[float, ...]]) -> tuple[str | None, dict[str, Any]]:
    """Return the direction of lines of an access specification, and what else they say."""
    total = sum(share for _, share, _, _ in lines)
    if not total:
        return None, {"random": None}
    sizes = {size for size, share, _, _ in lines if share}
    reads = sum(share * of for _, share, of, _ in lines) / total
    random = sum(share * of for _, share, _, of in lines) / total
    is_random = {0.0: False, 100.0: True}.get(random)
    about = f"{random:.0f} % random, {reads:.0f} % reads" if is_random is None else ""
    block = sizes.pop() if len(sizes) == 1 else None
    known = {"block": block, "random": is_random, "reads_pct": reads, "about": about}
    return {100.0: "read", 0.0: "write"}.get(reads, "rw"), known


FORMAT = Format("iometer", "Iometer results", _recognises, _read, priority=80)
