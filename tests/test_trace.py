"""Traces: what fio records is read as fio counted it, and fio replays what is written."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import ran
from heatsoak._core import Trace
from needs import needs

READ, WRITE, TRIM = 0, 1, 2
UNKNOWN = 2**64 - 1
ALL = 10**6


def fio(where: Path, *words: str) -> dict[str, Any]:
    """Run the real fio in a directory; what it says of its only job."""
    command = ["fio", "--name=t", "--output-format=json", "--randseed=1", *words]
    run = ran(*command, cwd=where, timeout=200, check=True)
    job: dict[str, Any] = json.loads(run.stdout)["jobs"][0]
    return job


def recorded(where: Path, *words: str) -> tuple[Path, dict[str, Any]]:
    log = where / "log"
    return log, fio(where, f"--write_iolog={log}", *words)


def whole(path: Path) -> int:
    """How many records a trace has; its error where it has one."""
    trace, count = Trace.open(path), 0
    while some := len(trace.take(ALL)["op"]):
        count += some
    return count


def counts(trace: Trace) -> dict[str, tuple[int, int]]:
    records = trace.take(ALL)
    directions = (("read", READ), ("write", WRITE), ("trim", TRIM))
    of = {name: records["bytes"][records["op"] == op] for name, op in directions}
    return {name: (len(sizes), int(sizes.sum())) for name, sizes in of.items()}


def counted(job: dict[str, Any]) -> dict[str, tuple[int, int]]:
    directions = ("read", "write", "trim")
    return {name: (job[name]["total_ios"], job[name]["io_bytes"]) for name in directions}


@pytest.mark.slow
@needs("fio")
def test_what_fio_recorded_is_what_fio_counted(tmp_path: Path) -> None:
    sizes = ("--bsrange=512-64k", "--rw=randrw", "--rwmixread=60", "--fsync=32")
    log, job = recorded(tmp_path, "--filename=one", "--size=8m", *sizes)
    trace = Trace.open(log)
    assert (trace.format, trace.compression) == ("iolog-v3", None)
    assert counts(trace) == counted(job)
    assert trace.skipped == (0, 0, "")


@pytest.mark.slow
@needs("fio")
def test_times_of_a_recorded_log_are_within_its_runtime(tmp_path: Path) -> None:
    log, job = recorded(tmp_path, "--filename=one", "--size=800k", "--rw=write", "--rate_iops=400")
    records = Trace.open(log).take(ALL)
    assert records["done_ns"].tolist() == [UNKNOWN] * 200
    assert records["depth"].tolist() == [0] * 200
    spent_ns = job["write"]["runtime"] * 1_000_000
    # another unit of time would be a thousand times off
    assert spent_ns / 100 < records["at_ns"][-1] <= spent_ns + 1_000_000


@pytest.mark.slow
@needs("fio")
def test_files_of_a_recorded_log_share_no_address(tmp_path: Path) -> None:
    files = ("--nrfiles=3", "--directory=.", "--size=3m", "--bs=4k", "--rw=randwrite")
    log, job = recorded(tmp_path, *files)
    records = Trace.open(log).take(ALL)
    # every block of every file is written once
    assert len(np.unique(records["offset"])) == job["write"]["total_ios"] == 768
    assert int(records["offset"].max()) < 3 << 20


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A log that fio has recorded, and what it says of it."""
    words = ("--filename=one", "--size=1m", "--bs=4k,8k", "--rw=randrw", "--rate_iops=2000")
    return recorded(tmp_path_factory.mktemp("log"), *words)


@pytest.mark.slow
@needs("fio")
@pytest.mark.parametrize("version", ["iolog-v2", "iolog-v3"])
def test_fio_replays_what_is_written(
    tmp_path: Path, version: str, log: tuple[Path, dict[str, Any]]
) -> None:
    path, job = log
    written = tmp_path / "written"
    Trace.open(path).write(written, version, name="two")
    (tmp_path / "two").write_bytes(bytes(1 << 20))
    assert counted(fio(tmp_path, f"--read_iolog={written}")) == counted(job)


@needs("fio")
@pytest.mark.parametrize("form", ["iolog-v2", "iolog-v3", "blkparse", "msr"])
def test_a_recorded_log_says_the_same_in_every_format(
    tmp_path: Path, form: str, log: tuple[Path, dict[str, Any]]
) -> None:
    before = Trace.open(log[0]).take(ALL)
    if form == "iolog-v2":
        # it has whole milliseconds
        before["at_ns"] = before["at_ns"] // 1_000_000 * 1_000_000
    for ending in ("", ".gz", ".zst", ".xz"):
        path = tmp_path / f"other{ending}"
        assert Trace.open(log[0]).write(path, form) == len(before["op"])
        other = Trace.open(path)
        assert other.format == form
        after = other.take(ALL)
        for name, column in before.items():
            np.testing.assert_array_equal(after[name], column, err_msg=name + ending)


def test_a_trace_comes_in_pieces_and_ends_with_nothing(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text("fio version 2 iolog\n/t read 0 512\n/t wait 7 0\n/t trim 512 4096\n")
    trace = Trace.open(path)
    first, second, end = trace.take(1), trace.take(5), trace.take(5)
    assert (first["op"].tolist(), second["op"].tolist(), end["op"].tolist()) == ([READ], [TRIM], [])
    assert second["at_ns"].tolist() == [7_000_000]


GOOD = "".join(f"{1000 * io} /t write {4096 * io} 4096\n" for io in range(100_000))
TEXT = f"fio version 3 iolog\n{GOOD}"


def test_a_damaged_line_is_an_error_behind_everything_before_it(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text("fio version 3 iolog\n5 /t read 0 512\nrubbish\n9 /t read 512 512\n")
    trace = Trace.open(path)
    assert trace.take(ALL)["bytes"].tolist() == [512]
    for _ in range(2):
        with pytest.raises(ValueError, match=r"^line 3: `rubbish` is no line .*, expected .*"):
            trace.take(ALL)
    trace = Trace.open(path, damaged="skip")
    assert trace.take(ALL)["at_ns"].tolist() == [0, 4000]
    count, line, why = trace.skipped
    assert (count, line) == (1, 3)
    assert "expected" in why


def test_a_truncated_gzip_gives_what_it_holds_where_asked(tmp_path: Path) -> None:
    packed = gzip.compress(TEXT.encode())
    path = tmp_path / "t.gz"
    path.write_bytes(packed[: len(packed) // 2])
    trace = Trace.open(path, damaged="skip")
    kept = len(trace.take(ALL)["op"])
    assert trace.compression == "gzip"
    assert 1000 < kept < 100_000
    assert trace.skipped[:2] == (1, kept + 2)
    trace = Trace.open(path)
    assert len(trace.take(ALL)["op"]) == kept
    with pytest.raises(ValueError, match=f"^line {kept + 2}: the file breaks off here"):
        trace.take(1)


def test_io_past_the_drive_is_damage_or_wrapped(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text(TEXT)
    span = 10_000_000
    trace = Trace.open(path, span_bytes=span)
    inside = len(trace.take(ALL)["op"])
    assert inside == span // 4096
    with pytest.raises(ValueError, match=f"^line {inside + 2}: .* end past the drive's {span} b"):
        trace.take(1)
    wrapped = Trace.open(path, span_bytes=span, wrap=True).take(ALL)
    assert len(wrapped["op"]) == 100_000
    assert int(wrapped["offset"].max()) + 4096 <= span
    assert not (wrapped["offset"] % 4096).any()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty, expected"),
        ("fio version 3 iolog\n", "line 1: no I/O in the whole trace, expected"),
        ("fio version 7 iolog\n", "line 1: an iolog of version `7 iolog`, expected"),
        ("hello\n", "line 1: `hello` is no line of a trace, expected"),
        ("fio version 3 iolog\n9 /t read 0 1\n5 /t read 0 1\n", "line 3: time runs backwards by 0"),
    ],
)
def test_what_is_not_a_trace_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "t"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"^{said}[^\n]*$"):
        whole(path)


def test_wrong_words_are_named_and_a_trace_is_used_up_by_writing_it(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text(TEXT)
    with pytest.raises(ValueError, match='damaged is "maybe", expected "error" or "skip"'):
        Trace.open(path, damaged="maybe")
    with pytest.raises(ValueError, match="wrap needs the drive's size"):
        Trace.open(path, wrap=True)
    with pytest.raises(ValueError, match='format is "csv", expected one of iolog-v2, iolog-v3'):
        Trace.open(path).write(tmp_path / "u", "csv")
    with pytest.raises(ValueError, match="expected one without blanks"):
        Trace.open(path).write(tmp_path / "u", "msr", name="a b")
    with pytest.raises(FileNotFoundError):
        Trace.open(tmp_path / "none")
    trace = Trace.open(path)
    trace.take(99_000)
    assert trace.write(tmp_path / "rest", "iolog-v3") == 1000
    with pytest.raises(ValueError, match="the trace was used up"):
        trace.take(1)
