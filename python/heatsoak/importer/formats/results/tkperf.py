"""TKperf's results: SNIA's tests of solid state and hard disks, an XML file with JSON in it.

A test runs rounds; each round runs fio once for every workload, for the same time. What stands in
the file is a mean for each of those, in the order in which they ran.
"""

import re
from collections.abc import Iterator
from itertools import islice, product
from typing import Any
from xml.etree.ElementTree import Element

from pydantic_core import from_json

from heatsoak.importer.formats import Format, results
from heatsoak.importer.log import Log, Options, Remark
from heatsoak.importer.numbers import number_of
from heatsoak.importer.source import Source
from heatsoak.protocol import Conditions
from heatsoak.units import parse_size
from heatsoak.words import amount_text

_NAME = "tkperf"
#: No result is a tenth of this, in bytes and in runs of fio.
_MAX_BYTES, _MAX_RUNS = 8 << 20, 100_000
#: fio's terse output, from which TKperf takes it, has KiB/s.
_KIB_S = 1024e-6
_DEFAULT_RUNTIME_S = 60.0
_MARKS = ("<roundmat>", "<ioperfversion>")
_TITLES = {"iops": "IOPS", "lat": "latency", "tp": "throughput", "writesat": "write saturation"}

#: Blocks and shares of reads of a round of IOPS or latencies, in their order; then those of disks.
_ROUNDS = {
    "iops": (
        ("1024k", "128k", "64k", "32k", "16k", "8k", "4k", "512"),
        (100, 95, 65, 50, 35, 5, 0),
    ),
    "lat": (("8k", "4k", "512"), (100, 65, 0)),
    "disk": (("64k", "16k", "4k"), (100, 50, 0)),
}
_THROUGHPUT_BLOCKS = ("1024k", "64k", "8k", "4k", "512")
_DISK_THROUGHPUT_BLOCKS = ("1024k", "4k")
_DISK_ROUNDS = 128

#: Lines of hdparm and smartctl, which TKperf keeps as they are.
_DEVICE = re.compile(
    r"^\s{0,8}(?:Device )?(Model|Product|Serial|Firmware)(?: Number| Version| Revision)?"
    r"\s{0,20}[:=]\s{0,40}(\S.{0,80})$",
    re.IGNORECASE | re.MULTILINE,
)

#: What was asked of one run of fio (name, block, % reads, % random), and what came of it.
_Cell = tuple[tuple[str, str | None, int | None, int | None], dict[str, float]]


def _recognises(source: Source) -> bool:
    lines = source.head_lines
    is_xml = any(line.lstrip().startswith("<") for line in lines[:5])
    return is_xml and any(mark in "\n".join(lines) for mark in _MARKS)


def _read(source: Source, _: Options) -> list[Log]:
    reader = results.XmlReader(source)
    size = 0
    for piece in (*source.chunks(), b""):
        size += len(piece)
        if size > _MAX_BYTES:
            raise source.error("is larger than 8 MiB: no result of TKperf is")
        reader.feed(piece, ends=not piece)
    inner = [element for root in reader.roots for element in root if element not in reader.open]
    tests = [element for element in inner if element.find("roundmat") is not None]
    if reader.problem and (not reader.line or not tests):
        raise source.error(reader.problem, reader.line)
    if reader.problem:
        text = f"its XML is damaged or truncated in line {reader.line}"
        source.remark(f"{text}: only the tests before were read")
    about = {one.tag: _value(one.text) for one in reader.roots[0] if one not in tests}
    logs = [log for test in tests if (log := _log(source, test, about)) is not None]
    if not logs:
        raise source.error("holds no rounds of a test")
    return logs


def _value(text: str | None) -> Any:
    try:
        return from_json(text or "")
    except ValueError:
        return None


def _log(source: Source, test: Element, about: dict[str, Any]) -> Log | None:
    """Return the log of a test; `about` is what the file says of the whole run."""
    told = {element.tag: _value(element.text) for element in reversed(test)}
    told_s = number_of(told.get("runtime"))
    runtime_s = told_s if 0 < told_s < 1e6 else _DEFAULT_RUNTIME_S
    asked: dict[str, Any] = {n: number_of(told.get(n)) for n in ("numjobs", "iodepth")}
    cells = list(islice(_cells(test.tag, _list(told.get("roundmat"))), _MAX_RUNS + 1))
    if len(cells) > _MAX_RUNS:
        raise source.error(f"holds more than {_MAX_RUNS} runs of fio: no result of TKperf does")
    rows: list[dict[str, float | str]] = [
        {"t_s": index * runtime_s, "interval_s": runtime_s, "step": load[0], **values}
        for index, (load, values) in enumerate(cells, 1)
        if values
    ]
    loads = dict.fromkeys(load for load, values in cells if values)
    if not rows:
        source.remark(f"its test {test.tag} has no rounds that can be read: left out")
        return None
    label = _TITLES.get(test.tag, test.tag[:40])
    conditions: Conditions = {}
    for tag, condition in (("testdate", "date"), ("kernel", "kernel"), ("lsb", "os")):
        if isinstance(about.get(tag), str):
            conditions[condition] = about[tag].removeprefix("Description:").strip()[:80]
    lasted = amount_text(runtime_s, "s")
    text = f"a sample is the mean of one run of {lasted}; the time between runs is not in the file"
    remarks = [Remark(text)]
    if runtime_s != told_s:
        text = f"does not say how long a run took: taken as {lasted}"
        remarks.append(Remark(text, True, ("time",)))
    if any(name.endswith("bw_mb_s") for row in rows for name in row):
        remarks.append(Remark("throughput was read as KiB/s"))
    if isinstance(steady := told.get("reachstdystate"), bool):
        conditions["steady_state"] = steady
        turns = [
            int(turn) + 1 for turn in map(number_of, _list(told.get("stdyrounds"))) if turn < 1e6
        ]
        if not steady:
            remarks.append(Remark("no steady state was reached", True, ()))
        elif turns:
            remarks.append(Remark(f"steady state in rounds {min(turns)} to {max(turns)}"))
    versions = {"tkperf": about.get("ioperfversion"), "fio": told.get("fioversion")}
    return Log(
        format=_NAME,
        source=source.name,
        samples=results.frame(rows),
        steps=tuple(
            results.observed_load(name, *shares, bs=parse_size(size) if size else None, **asked)
            for name, size, *shares in loads
        ),
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
        drive.setdefault(name.lower().replace("product", "model"), value.strip())
    return drive


def _cells(tag: str, matrix: list[Any]) -> Iterator[_Cell]:
    """Yield the runs of fio in the order in which they were."""
    if tag == "writesat":
        latencies = _at(matrix, 1)
        for index, value in enumerate(_list(_at(matrix, 0))):
            found = _finite(write_iops=value) | _latency("write_", _at(latencies, index))
            yield ("write saturation", "4k", 0, 100), found
    elif tag == "tp":
        rounds = [len(_list(_at(block, 0))) for block in matrix]
        is_disk = len(matrix) <= len(_DISK_THROUGHPUT_BLOCKS) and _DISK_ROUNDS in rounds
        sizes = _DISK_THROUGHPUT_BLOCKS if is_disk else _THROUGHPUT_BLOCKS
        for index, block in enumerate(matrix):
            size, own = _at(sizes, index), [_list(_at(block, at)) for at in range(2)]
            for turn, (way, values) in product(
                range(max(map(len, own))), zip(results.DIRECTIONS, own, strict=True)
            ):
                asked = f"{way} {size or f'block {index + 1}'}", size, 100 * (way == "read"), 0
                yield asked, _finite(_KIB_S, **{f"{way}_bw_mb_s": _at(values, turn)})
    else:
        # for each round a row for each share of reads, a column for each block
        rows = max((len(_list(turn)) for turn in matrix), default=0)
        kind = "lat" if tag == "lat" else "disk" if rows == len(_ROUNDS["disk"][1]) else "iops"
        blocks, shares = _ROUNDS[kind]
        for row, columns in (at for turn in matrix for at in enumerate(_list(turn))):
            for column, value in enumerate(_list(columns)):
                share, size = _at(shares, row), _at(blocks, column)
                name, prefix = _cell_name(row, share, column, size)
                is_lat = kind == "lat"
                found = _latency(prefix, value) if is_lat else _finite(**{f"{prefix}iops": value})
                yield (name, size, share, None if share is None else 100), found


def _cell_name(row: int, share: int | None, column: int, size: str | None) -> tuple[str, str]:
    """Return a workload's name by its place in a round, and what its columns begin with."""
    block = size or f"block {column + 1}"
    if share is None:
        return f"mix {row + 1}, block {column + 1}", ""
    if 0 < share < 100:
        return f"randrw {share}/{100 - share} {block}", ""
    way = "read" if share else "write"
    return f"rand{way} {block}", f"{way}_"


def _latency(prefix: str, values: Any) -> dict[str, float]:
    """Return mean and maximum of minimum, maximum and mean in us.

    Those of a mix are weighted: its maximum means nothing.
    """
    if len(_list(values)) < 3:
        return {}
    found = _finite(**{f"{prefix}lat_us": values[2]})
    return found | (_finite(**{f"{prefix}lat_max_us": values[1]}) if prefix else {})


def _finite(scale: float = 1.0, **values: Any) -> dict[str, float]:
    numbers = {name: number_of(value) * scale for name, value in values.items()}
    return {name: value for name, value in numbers.items() if 0 <= value < 1e12}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _at(values: Any, index: int) -> Any:
    return values[index] if isinstance(values, list | tuple) and index < len(values) else None


FORMAT = Format(_NAME, "TKperf", _recognises, _read, priority=30)
