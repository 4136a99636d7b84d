"""fio's histogram logs (``P_clat_hist.N.log``): I/Os by latency bucket, one row a window."""

import math
from array import array

import numpy as np

from heatsoak.importer.formats.fio.parts import DirectionRows
from heatsoak.importer.frames import Array
from heatsoak.importer.source import Source

#: Buckets that fio has: 29 groups of 64 since it counts ns, 19 before; coarseness halves them.
_GROUP = 64
_SCALES = {
    groups * _GROUP >> coarse: (groups, 1 << coarse, scale)
    for groups, scale in ((29, 1.0), (19, 1000.0))
    for coarse in range(7)
}
_FIRST = 3
_SHARES = (0.5, 0.99, 0.999)
#: Time that falls by more starts another run.
_DISORDER_MS = 1000.0
_MAX_RUNS = 256


def is_histogram(lines: list[str]) -> bool:
    """Whether most of `lines` are a time, a direction, a block size, and buckets."""
    rows = [line.split(",") for line in lines if line.count(",") >= _FIRST + 18]
    return len(rows) > 0.6 * len(lines) and all(
        len(row) - _FIRST in _SCALES
        and all(word.strip().isascii() and word.strip().isdigit() for word in row)
        and int(row[1]) <= 2
        for row in rows[:3]
    )


def histogram(source: Source) -> list[dict[int, DirectionRows]]:
    """Return for each run the windows of each direction: how many I/Os, and their latencies in ns.

    Raises UsageError where no line can be read.
    """
    runs: list[dict[int, _Rows]] = []
    skipped: list[int] = []
    latencies: Array | None = None
    first_ms = last_ms = math.inf
    for number, line in source.lines():
        words = line.split(",")
        if latencies is None and len(words) - _FIRST in _SCALES:
            latencies = _latencies_ns(len(words) - _FIRST)
        row = _row(words) if latencies is not None else None
        if latencies is None or row is None or len(row) - _FIRST != len(latencies):
            if line.strip():
                skipped.append(number)
            continue
        back_ms = last_ms - float(row[0])
        again = back_ms > _DISORDER_MS / 10 and row[0] - first_ms < back_ms / 4
        if (back_ms > _DISORDER_MS or again) and len(runs) < _MAX_RUNS:
            runs.append({0: _Rows(), 1: _Rows()})
            first_ms = float(row[0])
        last_ms = float(row[0])
        if row[1] < 2 and not runs[-1][int(row[1])].add(row, latencies):
            skipped.append(number)
    if skipped:
        many = f"{len(skipped)} lines, the first is " if len(skipped) > 1 else ""
        source.remark(f"could not read {many}line {skipped[0]}")
    tables = [
        {ddir: rows.table() for ddir, rows in run.items() if len(rows.end_ms)} for run in runs
    ]
    tables = [table for table in tables if table]
    if not tables:
        raise source.error("holds no row of a histogram that can be read")
    return tables


def _row(words: list[str]) -> Array | None:
    """Return a line's numbers, None where they make no sense."""
    try:
        row = np.array(words, dtype=np.float64)
    except ValueError:
        return None
    sound = np.isfinite(row).all() and (row >= 0).all() and (row < 1 << 52).all()
    return row if sound and len(row) > _FIRST and row[1] <= 2 else None


def _latencies_ns(buckets: int) -> Array:
    """Return the middle of each bucket that a row of so many has."""
    groups, stride, scale = _SCALES[buckets]
    index = np.arange(groups * _GROUP)
    error_bits = np.maximum(index // _GROUP - 1, 0)
    middle = (1 << error_bits) * (_GROUP + index % _GROUP + 0.5)
    middle = np.where(index < 2 * _GROUP, index, middle)
    return np.asarray(middle.reshape(-1, stride).mean(axis=1) * scale, dtype=np.float64)


class _Rows:
    """The windows of one direction."""

    def __init__(self) -> None:
        self.end_ms = array("d")
        self.values = array("d")

    def add(self, row: Array, latencies: Array) -> bool:
        """Take a row; False where its time does not rise."""
        if self.end_ms and row[0] <= self.end_ms[-1]:
            return False
        counts = row[_FIRST:]
        total = float(counts.sum())
        self.end_ms.append(float(row[0]))
        self.values.extend((total, total * float(row[2])))
        if total == 0:
            self.values.extend((np.nan,) * 5)
            return True
        seen = np.cumsum(counts)
        self.values.append(float((counts * latencies).sum()) / total)
        self.values.extend(latencies[np.searchsorted(seen, share * total)] for share in _SHARES)
        self.values.append(float(latencies[np.flatnonzero(counts)[-1]]))
        return True

    def table(self) -> DirectionRows:
        """Return them as arrays."""
        end_ms = np.array(self.end_ms)
        values = np.array(self.values).reshape(-1, 7)
        names = ("count", "bytes", "mean", "p50", "p99", "p999", "max")
        columns = {name: values[:, index] for index, name in enumerate(names)}
        return {"end_ms": end_ms, "first_ms": end_ms, "last_ms": end_ms, **columns}
