"""TKperf's results: SNIA's tests of solid state and hard disks, an XML file with JSON in it.

A test runs rounds; each round runs fio once for every workload, for the same time. What stands in
the file is a mean for each of those, in the order in which they ran.
"""

import math
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any
from xml.etree.ElementTree import Element

from pydantic_core import from_json

from heatsoak.importer.format import Format
from heatsoak.importer.formats.results import frame, observed_load
from heatsoak.importer.log import Log, Options, Remark
from heatsoak.importer.source import Source
from heatsoak.importer.xml_reader import XmlError, XmlReader
from heatsoak.protocol import Conditions, Observed
from heatsoak.units import parse_size

_NAME = "tkperf"
#: No result is a tenth of this, in bytes and in runs of fio.
_MAX_BYTES, _MAX_RUNS = 8 << 20, 100_000
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

#: The workload of one run of fio, and what came of it.
_Cell = tuple[Observed, dict[str, float]]


def _recognises(source: Source) -> bool:
    lines = source.head_lines
    if not any(line.lstrip().startswith("<") for line in lines[:5]):
        return False
    head = "\n".join(lines)
    return any(mark in head for mark in _MARKS)


def _read(source: Source, _: Options) -> list[Log]:
    root, tests = _elements(source)
    about = {element.tag: _value(element.text) for element in root if element not in tests}
    logs = [log for test in tests if (log := _log(source, test, about)) is not None]
    if not logs:
        raise source.error("holds no rounds of a test")
    return logs


def _elements(source: Source) -> tuple[Element, list[Element]]:
    """Return the outermost element, and the tests that stand in it whole."""
    reader = XmlReader(source)
    problem = None
    size = 0
    for piece in source.chunks():
        size += len(piece)
        if size > _MAX_BYTES:
            raise source.error("is larger than 8 MiB: no result of TKperf is")
        try:
            if problem is None:
                reader.feed(piece)
        except XmlError as error:
            problem = error
    try:
        if problem is None:
            reader.feed(b"", ends=True)
    except XmlError as error:
        problem = error
    inner = [] if reader.root is None else [e for e in reader.root if e not in reader.open]
    tests = [element for element in inner if element.find("roundmat") is not None]
    if problem is not None and (not problem.is_cut or not tests):
        raise source.error(str(problem), problem.line) from problem
    if problem is not None:
        text = (
            f"its XML is damaged or truncated in line {problem.line}: only the tests before were "
            "read"
        )
        source.remark(text)
    assert reader.root is not None
    return reader.root, tests


def _value(text: str | None) -> Any:
    try:
        return from_json(text or "")
    except ValueError:
        return None


def _json(element: Element, tag: str) -> Any:
    return _value(element.findtext(tag))


def _log(source: Source, test: Element, about: dict[str, Any]) -> Log | None:
    """Return the log of a test; `about` is what the file says of the whole run."""
    matrix = _json(test, "roundmat")
    jobs, depth = _number(_json(test, "numjobs")), _number(_json(test, "iodepth"))
    told_s = _number(_json(test, "runtime"))
    runtime_s = told_s if 0 < told_s < 1e6 else _DEFAULT_RUNTIME_S
    runs = _cells(test.tag, matrix, jobs, depth) if isinstance(matrix, list) else iter(())
    cells = list(islice(runs, _MAX_RUNS + 1))
    if len(cells) > _MAX_RUNS:
        raise source.error(f"holds more than {_MAX_RUNS} runs of fio: no result of TKperf does")
    rows: list[dict[str, float | str]] = [
        {"t_s": index * runtime_s, "interval_s": runtime_s, "step": step.name, **values}
        for index, (step, values) in enumerate(cells, 1)
        if values
    ]
    if not rows:
        source.remark(f"its test {test.tag} has no rounds that can be read: left out")
        return None
    label = _TITLES.get(test.tag, test.tag[:40])
    conditions: Conditions = {}
    for tag, condition in (("testdate", "date"), ("kernel", "kernel"), ("lsb", "os")):
        if isinstance(about.get(tag), str):
            conditions[condition] = about[tag].removeprefix("Description:").strip()[:80]
    remarks = [
        Remark(
            f"a sample is the mean of one run of {runtime_s:g} s; the time between runs is not in "
            "the file"
        )
    ]
    if runtime_s != told_s:
        text = f"does not say how long a run took: taken as {runtime_s:g} s"
        remarks.append(Remark(text, True, ("time",)))
    if any(name.endswith("bw_mb_s") for row in rows for name in row):
        remarks.append(Remark("throughput was read as KiB/s"))
    steady = _json(test, "reachstdystate")
    if isinstance(steady, bool):
        conditions["steady_state"] = steady
        remarks += (
            _of_steady_state(_list(_json(test, "stdyrounds")))
            if steady
            else [Remark("no steady state was reached", True, ())]
        )
    versions = {"tkperf": about.get("ioperfversion"), "fio": _json(test, "fioversion")}
    return Log(
        format=_NAME,
        source=source.name,
        samples=frame(rows),
        steps=tuple({step.name: step for step, values in cells if values}.values()),
        label=label,
        drive=_drive(about.get("devinfo")),
        conditions=conditions,
        tools={name: t.strip()[:40] for name, t in versions.items() if isinstance(t, str)},
        remarks=tuple(
            Remark(f"{source.name}: {label}: {r.text}", r.doubt, r.touches) for r in remarks
        ),
    )


def _drive(info: Any) -> dict[str, Any]:
    text = "\n".join(map(str, info)) if isinstance(info, list) else str(info or "")
    drive: dict[str, Any] = {}
    for name, value in _DEVICE.findall(text[:20000]):
        drive.setdefault(_IDENTITY[name.lower()], value.strip())
    return drive


def _of_steady_state(rounds: list[Any]) -> list[Remark]:
    numbers = [int(_number(each)) + 1 for each in rounds if 0 <= _number(each) < 1e6]
    text = f"steady state in rounds {min(numbers)} to {max(numbers)}" if numbers else ""
    return [Remark(text)] if text else []


def _cells(tag: str, matrix: list[Any], jobs: float, depth: float) -> Iterator[_Cell]:
    """Yield the runs of fio in the order in which they were."""

    def step(name: str, rw: str | None, bs: str | None, reads_pct: int | None = None) -> Observed:
        return observed_load(
            name,
            rw and rw.removeprefix("rand"),
            random=rw.startswith("rand") if rw else None,
            block=None if bs is None else parse_size(bs),
            jobs=jobs,
            depth=depth,
            reads_pct=reads_pct,
        )

    if tag == "writesat":
        saturation = step("write saturation", "randwrite", "4k")
        latencies = _list(_at(matrix, 1))
        for index, value in enumerate(_list(_at(matrix, 0))):
            found = _finite(write_iops=value) | _latency("write_", _at(latencies, index))
            yield saturation, found
        return
    if tag == "tp":
        rounds = [len(_list(_at(block, 0))) for block in matrix]
        is_disk = len(matrix) <= len(_DISK_THROUGHPUT_BLOCKS) and _DISK_ROUNDS in rounds
        sizes = _DISK_THROUGHPUT_BLOCKS if is_disk else _THROUGHPUT_BLOCKS
        for index, block in enumerate(matrix):
            bs = _at(sizes, index)
            own = [
                (step(f"{rw} {bs or f'block {index + 1}'}", rw, bs), rw, _list(_at(block, at)))
                for at, rw in enumerate(("read", "write"))
            ]
            for turn in range(max(len(values) for _, _, values in own)):
                for one, rw, values in own:
                    yield one, _finite(_KIB_S, **{f"{rw}_bw_mb_s": _at(values, turn)})
        return
    # IOPS or latencies: for each round a row for each share of reads, a column for each block
    blocks: tuple[str, ...] = _IOPS_BLOCKS
    shares: tuple[int, ...] = _IOPS_READS
    if tag == "lat":
        blocks, shares = _LATENCY_BLOCKS, _LATENCY_READS
    elif max((len(_list(turn)) for turn in matrix), default=0) == len(_DISK_READS):
        blocks, shares = _DISK_BLOCKS, _DISK_READS
    steps: dict[tuple[int, int], tuple[Observed, str]] = {}
    for turn in matrix:
        for row, columns in enumerate(_list(turn)):
            for column, value in enumerate(_list(columns)):
                if (row, column) not in steps:
                    share, bs = _at(shares, row), _at(blocks, column)
                    block = bs or f"block {column + 1}"
                    if share is None:
                        steps[row, column] = (
                            step(f"mix {row + 1}, block {column + 1}", None, bs),
                            "",
                        )
                    elif 0 < share < 100:
                        name = f"randrw {share}/{100 - share} {block}"
                        steps[row, column] = step(name, "randrw", bs, share), ""
                    else:
                        rw = "read" if share else "write"
                        steps[row, column] = step(f"rand{rw} {block}", f"rand{rw}", bs), f"{rw}_"
                one, prefix = steps[row, column]
                is_latency = tag == "lat"
                yield (
                    one,
                    _latency(prefix, value) if is_latency else _finite(**{f"{prefix}iops": value}),
                )


def _latency(prefix: str, values: Any) -> dict[str, float]:
    """Return mean and maximum of minimum, maximum and mean in us.

    Those of a mix are weighted: its maximum means nothing.
    """
    if len(_list(values)) < 3:
        return {}
    found = _finite(**{f"{prefix}lat_us": values[2]})
    return found | (_finite(**{f"{prefix}lat_max_us": values[1]}) if prefix else {})


def _finite(scale: float = 1.0, **values: Any) -> dict[str, float]:
    numbers = {name: _number(value) * scale for name, value in values.items()}
    return {name: value for name, value in numbers.items() if 0 <= value < 1e12}


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) >= 1e15:
        return math.nan
    return float(value)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _at(values: Any, index: int) -> Any:
    return values[index] if isinstance(values, list | tuple) and index < len(values) else None


FORMAT = Format(_NAME, "TKperf", _recognises, _read, priority=30)
