"""Reading fio's logs: against fio-plot's own reader, number by number, and a whole gigabyte.

The logs are written here in fio's format, as fio 3.33 writes them for every I/O of four jobs.
"""

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from fio_plot.fiolib import dataimport
from heatsoak._core import FioLog
from heatsoak.importer import Source, read
from heatsoak.importer.fio_run import join_fio

Result = TypeVar("Result")
JOBS = 4
ROWS_A_MS = 100
#: Rows of the comparison, all jobs together.
COMPARED_ROWS = 400_000
GIGABYTES = (0.25, 1.0)
REPEATS = 3


def write_logs(directory: Path, size_bytes: int | None, rows: int | None = None) -> list[Path]:
    """Write latency logs of as many jobs, together of a size or of a number of rows."""
    chance = random.Random(1)
    paths = [directory / f"drive_lat.{job}.log" for job in range(1, JOBS + 1)]
    for path in paths:
        suffixes = [
            f", {chance.randrange(20_000, 900_000)}, {chance.randrange(2)}, 4096, 0\n"
            for _ in range(50 * ROWS_A_MS)
        ]
        with path.open("w") as file:
            written = ms = 0
            while written < ((size_bytes or 0) or (rows or 0)) // JOBS:
                begin = ms % 50 * ROWS_A_MS
                some = suffixes[begin : begin + ROWS_A_MS]
                text = str(ms) + str(ms).join(some)
                file.write(text)
                written += len(text) if size_bytes else len(some)
                ms += 1
    return paths


def ours(paths: list[Path]) -> list[dict[str, Any]]:
    """Return every row of some logs, by column."""
    tables = []
    for path in paths:
        log = FioLog(keep_rows=True)
        for piece in Source.of_path(path).chunks():
            log.feed(piece)
        log.finish()
        tables.append(log.rows())
    return tables


def theirs(paths: list[Path]) -> list[list[dict[str, str]]]:
    """Return every row of some logs, each with its columns, by fio-plot."""
    return [dataimport.readLogData({}, {"filename": str(path)}) for path in paths]


def same(tables: list[dict[str, Any]], listed: list[list[dict[str, str]]]) -> bool:
    """Whether both have read the same numbers in the same rows."""
    columns = {"time_ms": "timestamp", "value": "value", "ddir": "rwt", "bs": "blocksize"}
    return all(
        np.array_equal(table[our], np.array([int(row[their]) for row in rows]))
        for table, rows in zip(tables, listed, strict=True)
        for our, their in columns.items()
    )


def imported(paths: list[Path]) -> int:
    """Return how many samples the importer makes of logs of one run."""
    (log,) = join_fio([log for path in paths for log in read(Source.of_path(path))])
    return log.samples.height


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        paths = write_logs(Path(directory), None, COMPARED_ROWS)
        ours_s, tables = timed(lambda: ours(paths))
        theirs_s, listed = timed(lambda: theirs(paths))
        samples_s, _ = timed(lambda: imported(paths))
        equal = "the same numbers" if same(tables, listed) else "OTHER NUMBERS"
        print(
            f"{COMPARED_ROWS} rows of {JOBS} jobs: rows by FioLog {ours_s:.3f} s, by fio-plot "
            f"{theirs_s:.3f} s: {theirs_s / ours_s:.0f} times, {equal}; imported and joined in "
            f"{samples_s:.3f} s: {theirs_s / samples_s:.0f} times"
        )
    print("\nlogs, GB   imported in, s   MB/s   peak memory above the start, MB")
    for gigabytes in GIGABYTES:
        with tempfile.TemporaryDirectory() as directory:
            write_logs(Path(directory), int(gigabytes * 1e9))
            print(
                subprocess.run(
                    [sys.executable, __file__, directory],
                    check=True,
                    capture_output=True,
                    text=True,
                ).stdout,
                end="",
            )


def measured(directory: Path) -> None:
    """Import the logs of a directory in this process, and print what it took."""
    paths = sorted(directory.glob("*.log"))
    size_mb = sum(path.stat().st_size for path in paths) / 1e6
    peak_mb()
    before_mb = peak_mb()
    begin = time.perf_counter()
    imported(paths)
    took_s = time.perf_counter() - begin
    above_mb = peak_mb() - before_mb
    print(f"{size_mb / 1000:8.2f}   {took_s:14.2f}   {size_mb / took_s:4.0f}   {above_mb:8.0f}")


def peak_mb() -> float:
    """Return the most memory that this process has had, and count anew from here."""
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    Path("/proc/self/clear_refs").write_text("5")
    return int(line.split()[1]) * 1024 / 1e6


def timed(work: Callable[[], Result]) -> tuple[float, Result]:
    """Return the best time of a few, and what the work gave."""
    best_s = float("inf")
    for _ in range(REPEATS):
        begin = time.perf_counter()
        result = work()
        best_s = min(best_s, time.perf_counter() - begin)
    return best_s, result


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measured(Path(sys.argv[1]))
    else:
        main()
