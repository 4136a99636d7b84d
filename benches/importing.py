"""Reading fio's logs: against fio-plot's own reader, number by number, and a whole gigabyte.

The logs are written here in fio's format, as fio 3.33 writes them for every I/O of four jobs. Then
large files of other formats, and what is none: how long it takes, and how much memory.
"""

import itertools
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from fio_plot.fiolib import dataimport
from heatsoak._core import FioLog
from heatsoak.errors import UsageError
from heatsoak.importer import Source, read
from heatsoak.importer.formats.fio.run import join_fio

Result = TypeVar("Result")
JOBS = 4
ROWS_A_MS = 100
#: Rows of the comparison, all jobs together.
COMPARED_ROWS = 400_000
GIGABYTES = (0.25, 1.0)
REPEATS = 3
#: Of each of the other formats.
LARGE_MB = 50


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


def table_rows() -> Iterator[str]:
    """Yield a plain table of five columns, a row a second."""
    yield "time_s,write MiB/s,read MiB/s,write IOPS,temperature [C]\n"
    cells = [
        f",{400 + i % 97}.{i % 89},0.{i % 83},{i % 71}000,{40 + i % 30}.5\n" for i in range(997)
    ]
    for second in itertools.count():
        yield f"{second}.0{cells[second % len(cells)]}"


def hwinfo_rows() -> Iterator[str]:
    """Yield HWiNFO's log of 300 columns, a row every two seconds."""
    cores = ",".join(f'"Core {core} VID [V]"' for core in range(294))
    drive = '"Read Rate [MB/s]","Write Rate [MB/s]","Drive Temperature [°C]"'
    yield f'Date,Time,{cores},{drive},"Total CPU Usage [%]"\n'
    volts = ",".join(f"1.{core:03}" for core in range(294))
    at = datetime(2024, 1, 1, tzinfo=UTC)
    for row in itertools.count():
        at += timedelta(seconds=2)
        when = f"{at.day}.{at.month}.{at.year},{at.hour}:{at.minute}:{at.second}.000"
        yield f"{when},{volts},0.000,{900 + row % 50}.125,{40 + row % 30},{row % 100}.5\n"


def status_documents() -> Iterator[str]:
    """Yield fio's JSON of a status a second, with buckets of latencies."""
    for second in itertools.count(1):
        ios = second * 120_000
        bins = {str(100_000 + 1000 * index): second * index for index in range(100)}
        lat = {"min": 1, "max": 10**6, "mean": 250_000.5, "N": ios, "bins": bins}
        moved = {"io_bytes": ios * 4096, "total_ios": ios, "runtime": second * 1000, "lat_ns": lat}
        idle = {"io_bytes": 0, "total_ios": 0, "runtime": 0}
        job = {"jobname": "fill", "groupid": 0, "error": 0, "read": idle, "write": moved}
        at_s = 1_700_000_000 + second
        status = {"fio version": "fio-3.33", "timestamp_ms": 1000 * at_s, "jobs": [job]}
        yield json.dumps(status, indent=2) + "\n"


def iostat_reports() -> Iterator[str]:
    """Yield the reports of `iostat -xt 1`."""
    yield "Linux 6.1.0-18-amd64 (host) \t2024-01-01 \t_x86_64_\t(8 CPU)\n\n"
    head = "r/s rkB/s rrqm/s %rrqm r_await rareq-sz w/s wkB/s wrqm/s %wrqm w_await wareq-sz aqu-sz"
    at = datetime(2024, 1, 1, tzinfo=UTC)
    for row in itertools.count():
        at += timedelta(seconds=1)
        yield f"{at:%Y-%m-%d %H:%M:%S}\n"
        yield "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n"
        yield f"           1.00    0.00    2.00    3.00    0.00   94.00\n\nDevice {head} %util\n"
        for name, kib in (("nvme0n1", 500_000 + row % 5000), ("sda", 1)):
            yield f"{name} {'0.00 ' * 6}{kib / 128:.2f} {kib:.2f} 0.00 0.00 9.50 128.00 3.00 99.0\n"
        yield "\n"


def nothing() -> Iterator[str]:
    """Yield zeros."""
    return itertools.repeat("\0" * (1 << 20))


def one_line() -> Iterator[str]:
    """Yield words without a line's end."""
    return itertools.repeat("1234,5678;abc " * 1000)


LARGE: dict[str, Callable[[], Iterator[str]]] = {
    "a table": table_rows,
    "HWiNFO": hwinfo_rows,
    "fio's JSON": status_documents,
    "iostat": iostat_reports,
    "zeros": nothing,
    "one line": one_line,
}


def write_large(path: Path, pieces: Iterator[str]) -> None:
    """Write pieces until the file is large enough."""
    written = 0
    with path.open("w") as file:
        while written < LARGE_MB * 1e6:
            written += file.write("".join(itertools.islice(pieces, 100)))


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
            print(in_another_process(directory), end="")
    print(f"\n{LARGE_MB} MB of   samples   of MB   read in, s   MB/s   peak memory above, MB")
    for name, pieces in LARGE.items():
        with tempfile.TemporaryDirectory() as directory:
            write_large(Path(directory, "large.txt"), pieces())
            print(f"{name:11}{in_another_process(directory)}", end="")


def in_another_process(directory: str) -> str:
    """Return what :func:`measured` prints of a directory, without this process's memory."""
    return subprocess.run(
        [sys.executable, __file__, directory], check=True, capture_output=True, text=True
    ).stdout


def measured(directory: Path) -> None:
    """Import the logs of a directory in this process, and print what it took."""
    if (large := directory / "large.txt").exists():
        measured_large(large)
        return
    paths = sorted(directory.glob("*.log"))
    size_mb = sum(path.stat().st_size for path in paths) / 1e6
    peak_mb()
    before_mb = peak_mb()
    begin = time.perf_counter()
    imported(paths)
    took_s = time.perf_counter() - begin
    above_mb = peak_mb() - before_mb
    print(f"{size_mb / 1000:8.2f}   {took_s:14.2f}   {size_mb / took_s:4.0f}   {above_mb:8.0f}")


def measured_large(path: Path) -> None:
    """Read a file in this process, and print what came of it and what it took."""
    size_mb = path.stat().st_size / 1e6
    before_mb = peak_mb()
    begin = time.perf_counter()
    try:
        samples = [log.samples for log in read(Source.of_path(path))]
    except UsageError:
        samples = []
    took_s = time.perf_counter() - begin
    above_mb = peak_mb() - before_mb
    rows = str(sum(map(len, samples))) if samples else "refused"
    frame_mb = sum(frame.estimated_size() for frame in samples) / 1e6
    print(
        f"{rows:>10}   {frame_mb:5.0f}   {took_s:10.2f}   {size_mb / took_s:4.0f}   {above_mb:8.0f}"
    )


def peak_mb() -> float:
    """Return the most memory that this process has had, and count again from here."""
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
