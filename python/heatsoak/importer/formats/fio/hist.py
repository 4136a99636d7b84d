"""fio's histogram logs (``P_clat_hist.N.log``): I/Os by latency bucket, one row a window."""

import math

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
    runs: list[dict[int, list[tuple[float, ...]]]] = []
    latencies: Array | None = None
    first_ms = last_ms = math.inf
    for number, line in source.lines():
        words = line.split(",")
        if latencies is None and len(words) - _FIRST in _SCALES:
            latencies = _latencies_ns(len(words) - _FIRST)
        row = _row(words)
        if latencies is None or row is None or len(row) - _FIRST != len(latencies):
            if line.strip():
                source.skip(number)
            continue
        end_ms, direction = float(row[0]), int(row[1])
        back_ms = last_ms - end_ms
        again = back_ms > _DISORDER_MS / 10 and end_ms - first_ms < back_ms / 4
        if (back_ms > _DISORDER_MS or again) and len(runs) < _MAX_RUNS:
            runs.append({0: [], 1: []})
            first_ms = end_ms
        last_ms = end_ms
        if direction > 1:
            continue
        rows = runs[-1][direction]
        if rows and end_ms <= rows[-1][0]:
            source.skip(number)
        else:
            rows.append((end_ms, *_window(row, latencies)))
    tables = [{way: _table(rows) for way, rows in run.items() if rows} for run in runs]
    if not any(tables):
        raise source.error("holds no row of a histogram that can be read")
    return [table for table in tables if table]


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


def _window(row: Array, latencies: Array) -> tuple[float, ...]:
    """Return the I/Os of a row, their bytes, and mean, percentiles and maximum of latencies."""
    counts = row[_FIRST:]
    total = float(counts.sum())
    if total == 0:
        return (0.0, 0.0, *[math.nan] * 5)
    shares = latencies[np.searchsorted(np.cumsum(counts), np.multiply(_SHARES, total))]
    mean = float((counts * latencies).sum()) / total
    return total, total * float(row[2]), mean, *shares, float(latencies[np.flatnonzero(counts)[-1]])


def _table(rows: list[tuple[float, ...]]) -> DirectionRows:
    names = ("end_ms", "count", "bytes", "mean", "p50", "p99", "p999", "max")
    columns = dict(zip(names, np.array(rows).T.copy(), strict=True))
    return {**columns, "first_ms": columns["end_ms"], "last_ms": columns["end_ms"]}
