"""TKperf's results: SNIA's tests of solid state and hard disks, an XML file with JSON in it.

A test runs rounds; each round runs fio once for every workload, for the same time. What stands in
the file is a mean for each of those, in the order in which they ran.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from typing import Any
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import iterparse
from pydantic_core import from_json

from heatsoak.importer.formats.base import Format
from heatsoak.importer.frames import build
from heatsoak.importer.log import Log, Options, Remark
from heatsoak.importer.source import Source
from heatsoak.protocol import Conditions, Observed
from heatsoak.units import parse_size

_NAME = "tkperf"
#: No result is a tenth of this, in bytes and in runs of fio.
_LARGEST, _MOST_RUNS = 8 << 20, 100_000
#: fio's terse output, from which TKperf takes it, has KiB/s.
_KIB_S = 1024e-6
_DEFAULT_RUNTIME_S = 60.0
_MARKS = ("<roundmat>", "<ioperfversion>")
_TITLES = {
    "iops": "IOPS",
    "lat": "latency",
    "tp": "throughput",
    "writesat": "write saturation",
}

#: Blocks and shares of reads, in their order, by how many there are in a round.
_IOPS_BLOCKS = ("1024k", "128k", "64k", "32k", "16k", "8k", "4k", "512")
_IOPS_READS = (100, 95, 65, 50, 35, 5, 0)
_DISK_BLOCKS, _DISK_READS = ("64k", "16k", "4k"), (100, 50, 0)
_LATENCY_BLOCKS, _LATENCY_READS = ("8k", "4k", "512"), (100, 65, 0)
_THROUGHPUT_BLOCKS = ("1024k", "64k", "8k", "4k", "512")
_DISK_THROUGHPUT_BLOCKS = ("1024k", "4k")
_DISK_ROUNDS = 128

#: Lines of hdparm and smartctl, which TKperf keeps as they are.
_DEVICE = re.compile(
    r"^\s{0,8}(?:Device )?(Model|Product|Serial|Firmware)(?: Number| Version| Revision)?"
    r"\s{0,20}[:=]\s{0,40}(\S.{0,80})$",
    re.IGNORECASE | re.MULTILINE,
)
_IDENTITY = {"model": "model", "product": "model", "serial": "serial", "firmware": "firmware"}


@dataclass(frozen=True)
class _Cell:
    """One run of fio: the workload it was, and what came of it."""

    step: Observed
    values: dict[str, float]


def _recognises(source: Source) -> bool:
    lines = source.head_lines
    if not any(line.lstrip().startswith("<") for line in lines[:5]):
        return False
    head = "\n".join(lines)
    return any(mark in head for mark in _MARKS)


def _read(source: Source, options: Options) -> list[Log]:
    del options
    about, tests = _elements(source)
    drive, conditions, tools = _about(about)
    logs = []
    for test in tests:
        log = _log(source, test)
        if log is not None:
            version = _json(test, "fioversion")
            fio = {"fio": version.strip()[:40]} if isinstance(version, str) else {}
            logs.append((log, fio))
    if not logs:
        raise source.error("holds no rounds of a test")
    return [
        Log(
            format=_NAME,
            source=source.name,
            samples=log.samples,
            steps=log.steps,
            label=log.label,
            drive=drive,
            conditions=conditions | log.conditions,
            tools=tools | fio,
            remarks=log.remarks,
        )
        for log, fio in logs
    ]


def _elements(source: Source) -> tuple[dict[str, Any], list[Element]]:
    """What the file says of the whole run, and the tests that stand in it whole."""
    data = bytearray()
    for piece in source.chunks():
        data += piece
        if len(data) > _LARGEST:
            raise source.error("is larger than 8 MiB: no result of TKperf is")
    about: dict[str, Any] = {}
    tests: list[Element] = []
    path: list[Element] = []
    try:
        for event, element in iterparse(BytesIO(data), ("start", "end")):
            if event == "start":
                path.append(element)
                if len(path) > 16:
                    raise source.error("is nested deeper than a result of TKperf")
                continue
            path.pop()
            if len(path) == 1 and element.find("roundmat") is not None:
                tests.append(element)
            elif len(path) == 1 and element.text:
                about[element.tag] = _value(element.text)
    except ParseError as error:
        line = error.position[0] if getattr(error, "position", None) else None
        if not tests:
            raise source.error(f"is not valid XML: {error.msg}", line) from error
        source.remark(f"its XML is damaged or cut in line {line}: only the tests before were read")
    except DefusedXmlException as error:
        raise source.error("declares entities, which no result of TKperf does") from error
    except (ValueError, LookupError) as error:
        raise source.error("is not valid XML: its encoding cannot be read") from error
    return about, tests


def _value(text: str) -> Any:
    try:
        return from_json(text)
    except ValueError:
        return None


def _json(element: Element, tag: str) -> Any:
    text = element.findtext(tag)
    return _value(text) if text else None


def _about(about: dict[str, Any]) -> tuple[dict[str, Any], Conditions, dict[str, str]]:
    info = about.get("devinfo")
    text = "\n".join(map(str, info)) if isinstance(info, list) else str(info or "")
    drive: dict[str, Any] = {}
    for name, value in _DEVICE.findall(text[:20000]):
        drive.setdefault(_IDENTITY[name.lower()], value.strip())
    tools: dict[str, str] = {}
    if isinstance(about.get("ioperfversion"), str):
        tools["tkperf"] = about["ioperfversion"].strip()[:40]
    conditions: Conditions = {}
    for tag, condition in (("testdate", "date"), ("kernel", "kernel"), ("lsb", "os")):
        if isinstance(about.get(tag), str):
            conditions[condition] = about[tag].removeprefix("Description:").strip()[:80]
    return drive, conditions, tools


@dataclass(frozen=True)
class _Test:
    """A test's samples, before the file's own words are added."""

    samples: Any
    steps: tuple[Observed, ...]
    label: str
    conditions: Conditions
    remarks: tuple[Remark, ...]


def _log(source: Source, test: Element) -> _Test | None:
    matrix = _json(test, "roundmat")
    if not isinstance(matrix, list) or not matrix:
        source.remark(f"its test {test.tag} has no rounds that can be read: left out")
        return None
    jobs, depth = _count(_json(test, "numjobs")), _count(_json(test, "iodepth"))
    runtime = _number(_json(test, "runtime"))
    told = 0 < runtime < 1e6
    runtime_s = runtime if told else _DEFAULT_RUNTIME_S
    cells = list(islice(_cells(test.tag, matrix, jobs, depth), _MOST_RUNS + 1))
    if len(cells) > _MOST_RUNS:
        raise source.error(f"holds more than {_MOST_RUNS} runs of fio: no result of TKperf does")
    if not any(cell.values for cell in cells):
        source.remark(f"its test {test.tag} has no rounds that can be read: left out")
        return None
    columns: dict[str, list[Any]] = {"t_s": [], "interval_s": [], "step": []}
    names = dict.fromkeys(name for cell in cells for name in cell.values)
    steps: dict[str, Observed] = {}
    for index, cell in enumerate(cells, 1):
        if not cell.values:
            continue
        columns["t_s"].append(index * runtime_s)
        columns["interval_s"].append(runtime_s)
        columns["step"].append(cell.step.name)
        for name in names:
            columns.setdefault(name, []).append(cell.values.get(name, math.nan))
        steps.setdefault(cell.step.name, cell.step)
    label = _TITLES.get(test.tag, str(test.tag)[:40])
    remarks = [
        Remark(
            f"{source.name}: {label}: a sample is the mean of one run of {runtime_s:g} s; the time "
            "between runs is not in the file"
        )
    ]
    if not told:
        text = f"{label}: does not tell how long a run took: taken as {runtime_s:g} s"
        remarks.append(Remark(f"{source.name}: {text}", doubt=True))
    if any(name.endswith("bw_mb_s") for name in names):
        remarks.append(Remark(f"{source.name}: {label}: throughput was read as KiB/s"))
    conditions: Conditions = {}
    steady = _json(test, "reachstdystate")
    if isinstance(steady, bool):
        conditions["steady_state"] = steady
        rounds = _json(test, "stdyrounds")
        if steady and isinstance(rounds, list) and rounds:
            whole = [int(_number(r)) + 1 for r in rounds if 0 <= _number(r) < 1e6]
            if whole:
                text = f"{label}: steady state in rounds {min(whole)} to {max(whole)}"
                remarks.append(Remark(f"{source.name}: {text}"))
        elif not steady:
            remarks.append(
                Remark(f"{source.name}: {label}: no steady state was reached", doubt=True)
            )
    return _Test(build(columns), tuple(steps.values()), label, conditions, tuple(remarks))


def _cells(tag: str, matrix: list[Any], jobs: int | None, depth: int | None) -> Iterator[_Cell]:
    """The runs of fio in the order in which they were, each with what is known of it."""
    if tag == "writesat":
        yield from _saturation(matrix, jobs, depth)
    elif tag == "tp":
        yield from _throughput(matrix, jobs, depth)
    else:
        yield from _rounds(tag, matrix, jobs, depth)


def _saturation(matrix: list[Any], jobs: int | None, depth: int | None) -> Iterator[_Cell]:
    iops, latencies = (_list(matrix[at]) if at < len(matrix) else [] for at in (0, 1))
    step = _step("write saturation", "randwrite", "4k", jobs, depth)
    for index, value in enumerate(iops):
        latency = _list(latencies[index]) if index < len(latencies) else []
        yield _Cell(step, _finite(write_iops=value) | _latency("write_", latency))


def _throughput(matrix: list[Any], jobs: int | None, depth: int | None) -> Iterator[_Cell]:
    rounds = [len(_list(_at(block, 0))) for block in matrix]
    is_disk = len(matrix) <= len(_DISK_THROUGHPUT_BLOCKS) and _DISK_ROUNDS in rounds
    blocks = _DISK_THROUGHPUT_BLOCKS if is_disk else _THROUGHPUT_BLOCKS
    for index, block in enumerate(matrix):
        bs = blocks[index] if index < len(blocks) else None
        read_step = _step(f"read {bs or f'block {index + 1}'}", "read", bs, jobs, depth)
        write_step = _step(f"write {bs or f'block {index + 1}'}", "write", bs, jobs, depth)
        reads, writes = _list(_at(block, 0)), _list(_at(block, 1))
        for turn in range(max(len(reads), len(writes))):
            yield _Cell(read_step, _finite(_KIB_S, read_bw_mb_s=_at(reads, turn)))
            yield _Cell(write_step, _finite(_KIB_S, write_bw_mb_s=_at(writes, turn)))


def _rounds(tag: str, matrix: list[Any], jobs: int | None, depth: int | None) -> Iterator[_Cell]:
    """IOPS or latencies: for each round a row for each share of reads, a column for each block."""
    rows = max(len(_list(turn)) for turn in matrix)
    shares: tuple[int, ...]
    blocks: tuple[str, ...]
    if tag == "lat":
        shares, blocks = _LATENCY_READS, _LATENCY_BLOCKS
    elif rows == len(_DISK_READS):
        shares, blocks = _DISK_READS, _DISK_BLOCKS
    else:
        shares, blocks = _IOPS_READS, _IOPS_BLOCKS
    steps: dict[tuple[int, int], tuple[Observed, str]] = {}
    for turn in matrix:
        for row, cells in enumerate(_list(turn)):
            for column, value in enumerate(_list(cells)):
                if (row, column) not in steps:
                    share = shares[row] if row < len(shares) else None
                    bs = blocks[column] if column < len(blocks) else None
                    steps[row, column] = _mixed(row, column, share, bs, jobs, depth)
                step, which = steps[row, column]
                if tag == "lat":
                    yield _Cell(step, _latency(which, _list(value)))
                else:
                    yield _Cell(step, _finite(**{f"{which}iops": value}))


def _mixed(
    row: int, column: int, share: int | None, bs: str | None, jobs: int | None, depth: int | None
) -> tuple[Observed, str]:
    """A step of the given share of reads, and which columns its values belong to."""
    if share is None:
        return _step(f"mix {row + 1}, block {column + 1}", None, bs, jobs, depth), ""
    block = bs or f"block {column + 1}"
    if share == 100:
        return _step(f"randread {block}", "randread", bs, jobs, depth), "read_"
    if share == 0:
        return _step(f"randwrite {block}", "randwrite", bs, jobs, depth), "write_"
    return _step(f"randrw {share}/{100 - share} {block}", "randrw", bs, jobs, depth, share), ""


def _step(
    name: str,
    rw: Any,
    bs: str | None,
    jobs: int | None,
    depth: int | None,
    share: int | None = None,
) -> Observed:
    return Observed(
        name=name,
        rw=rw,
        bs=None if bs is None else parse_size(bs),
        reads=rw not in ("write", "randwrite"),
        writes=rw not in ("read", "randread"),
        iodepth=depth,
        numjobs=jobs,
        rwmixread=share,
    )


def _latency(which: str, triple: list[Any]) -> dict[str, float]:
    """Minimum, maximum and mean in us; of a mix they are weighted, and a maximum means nothing."""
    if len(triple) < 3:
        return {}
    values = _finite(**{f"{which}lat_us": triple[2]})
    return values | (_finite(**{f"{which}lat_max_us": triple[1]}) if which else {})


def _finite(scale: float = 1.0, **values: Any) -> dict[str, float]:
    numbers = {name: _number(value) * scale for name, value in values.items()}
    return {name: value for name, value in numbers.items() if 0 <= value < 1e12}


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) >= 1e15:
        return math.nan
    return float(value)


def _count(value: Any) -> int | None:
    number = _number(value)
    return int(number) if 1 <= number <= 1_000_000 else None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _at(values: Any, index: int) -> Any:
    return values[index] if isinstance(values, list) and index < len(values) else None


FORMAT = Format(_NAME, "TKperf", _recognises, _read)
