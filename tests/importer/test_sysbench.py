"""sysbench's test of files: a line each interval, or the mean of a run."""

from pathlib import Path

import pytest
from heatsoak.errors import UsageError
from heatsoak.importer import Log, Source, read

DATA = Path(__file__).parent / "data" / "sysbench"


def read_text(text: str) -> list[Log]:
    return read(Source.of_bytes("out.txt", text.encode()))


def test_intervals_are_a_series_and_take_the_place_of_the_mean() -> None:
    (log,) = read(Source.of_path(DATA / "1.0-intervals.txt"))
    (step,) = log.steps
    assert (step.rw, step.bs, step.numjobs, step.rwmixread) == ("randrw", 16384, 4, 60)
    assert log.samples["t_s"].to_list() == list(range(1, 61))
    assert set(log.samples["interval_s"]) == {1.0}
    assert log.samples["read_bw_mb_s"][0] == pytest.approx(178.10 * 1.048576)
    assert log.samples["write_bw_mb_s"][-1] == pytest.approx(48 * 1.048576, rel=0.03)
    assert log.tools == {"sysbench": "1.0.20"}


@pytest.mark.parametrize(
    ("name", "rw", "bs", "rates", "seconds"),
    [
        ("0.4-write.txt", "randwrite", 16384, {"write_bw_mb_s": 16.384, "write_iops": 1000}, 10),
        ("1.1-read.txt", "read", 4096, {"read_bw_mb_s": 262.144, "read_iops": 64000.5}, None),
    ],
)
def test_a_run_without_intervals_is_one_mean_of_what_was_asked_for(
    name: str, rw: str, bs: int, rates: dict[str, float], seconds: float | None
) -> None:
    (log,) = read(Source.of_path(DATA / name))
    (row,) = log.samples.rows(named=True)
    assert (log.steps[0].rw, log.steps[0].bs, row["interval_s"]) == (rw, bs, seconds)
    assert {key: row[key] for key in row if key.endswith(("iops", "mb_s"))} == pytest.approx(rates)


def test_among_other_tests_and_quoted_it_is_read_alone() -> None:
    text = (DATA / "0.4-write.txt").read_text()
    cpu = "sysbench 1.0.20\nPrime numbers limit: 20000\n    total time:      99.5s\n"
    (log,) = read_text("".join(f"> {line}\n" for line in (cpu + text + cpu).splitlines()))
    assert log.samples["interval_s"].to_list() == [10]


def test_a_time_that_falls_is_another_run() -> None:
    line = "[ {}s ] reads: 0.00 MiB/s writes: {}.00 MiB/s fsyncs: 0.00/s latency (ms,95%): 1.0\n"
    rows = [line.format(10 * i, rate) for rate in (100, 50) for i in range(1, 5)]
    logs = read_text("".join(rows))
    assert [log.label for log in logs] == ["run 1", "run 2"]
    assert [log.steps[0].reads for log in logs] == [False, False]
    assert logs[1].samples["write_bw_mb_s"].to_list() == pytest.approx([52.4288] * 4)


def test_other_tests_of_sysbench_are_refused_with_what_would_do() -> None:
    with pytest.raises(UsageError, match=r"not of its test of files \(fileio\): .*iostat"):
        read_text("sysbench 1.0.20\n\nCPU speed:\n    events per second:   353.91\n")
