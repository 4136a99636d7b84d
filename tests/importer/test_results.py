"""Results of benchmarks: what their dialects have in common, AS SSD's and CrystalDiskMark's."""

from pathlib import Path

import pytest
from heatsoak.errors import UsageError
from heatsoak.importer import Log, Source, read

DATA = Path(__file__).parent / "data"


def results_of(name: str) -> list[Log]:
    return read(Source.of_path(DATA / name))


def read_text(text: str) -> list[Log]:
    return read(Source.of_bytes("result.txt", text.encode()))


def remarks_of(log: Log) -> dict[str, bool]:
    return {remark.text: remark.doubt for remark in log.remarks}


# --- all of them ---

SPAN = (DATA / "diskspd/mix.txt").read_text().partition("actual test time")[0]
LIVE = (DATA / "elbencho/v2.csv").read_text().partition("\n")[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("AS SSD Benchmark 2.0.7316.34247\nSequential:\nRead: 0.00 MB/s", "holds no results"),
        ("  SEQ 1MiB (Q= 8, T= 1): 0.000 MB/s [ 0.0 IOPS] < 0.00 us>\n", "holds no results"),
        (f"Sequential{' ' * 100_000}x MB/s\n" * 5, "not in a format"),
        (SPAN, "holds no results"),
        (f"{LIVE}\n,SYNC,1000,Total,,0,0,0,0,0,0,4,1,,\n", "no phase that read or wrote"),
        ("'Test Type,Test Description\n0,nothing yet\n'Version\n1.1.0\n", "holds no results"),
        ("Throughput:\n  read: IOPS=0.00 0.00 MiB/s\n", "neither intervals nor results"),
        ("sysbench 1.0\nCPU speed:\n", r"not of its test of files \(fileio\): .*iostat"),
    ],
)
def test_a_test_that_did_nothing_is_an_error(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_text(text)


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("elbencho/live.csv", ",4000,Total", ",x,Total",
         "2 lines could not be read, the first is line 5"),
        ("iometer/results-1.1.0.csv", "WORKER,", "W0RKER,",
         "3 lines could not be read, the first is line 18"),
        ("sysbench/1.0-intervals.txt", "[ 9s ]", "[ 8s ]", "line 31 could not be read"),
        ("crystaldiskmark/3.0.1.txt", "Random Read 512KB", "Random Read 512XB",
         "line 9 could not be read"),
    ],
)  # fmt: skip
def test_lines_that_cannot_be_read_are_counted(name: str, old: str, new: str, said: str) -> None:
    text = (DATA / name).read_text()
    assert old in text
    (log,) = read_text(text.replace(old, new))
    assert remarks_of(log)[f"result.txt: {said}"]


# --- AS SSD ---


def test_sections_are_steps_of_known_loads() -> None:
    (log,) = results_of("as_ssd/mbs-de.txt")
    assert [(step.name, step.rw, step.bs, step.numjobs) for step in log.steps] == [
        ("sequential, read", "read", 16 << 20, 1),
        ("sequential, write", "write", 16 << 20, 1),
        ("random 4K, read", "randread", 4096, 1),
        ("random 4K, write", "randwrite", 4096, 1),
        ("random 4K, 64 threads, read", "randread", 4096, 64),
        ("random 4K, 64 threads, write", "randwrite", 4096, 64),
        ("access time, read", "randread", None, 1),
        ("access time, write", "randwrite", None, 1),
    ]
    assert log.drive == {"model": "Samsung SSD 970 EVO Plus 500GB"}
    assert log.tools == {"as-ssd": "2.0.7316.34247"}


def test_megabytes_are_2_to_the_20_with_points_or_commas_and_iops_give_the_same() -> None:
    ios, megabytes = (results_of(f"as_ssd/{n}.txt")[0].samples for n in ("iops", "mbs-de"))
    assert megabytes["read_bw_mb_s"][0] == pytest.approx(2468.65 * 1.048576)
    assert megabytes["read_lat_us"][6] == pytest.approx(98)
    for column in ("read_bw_mb_s", "write_bw_mb_s"):
        rates = ios[column][:6].drop_nulls().to_list()
        assert rates == pytest.approx(megabytes[column][:6].drop_nulls().to_list(), rel=1e-3)
    assert ios["read_iops"][2] == 15521


def test_several_results_are_runs() -> None:
    texts = [path.read_bytes() for path in sorted((DATA / "as_ssd").iterdir())]
    logs = read(Source.of_bytes("x", b"\n".join(texts)))
    assert [log.label for log in logs] == ["run 1", "run 2"]


# --- CrystalDiskMark and KDiskMark ---


def test_each_line_is_a_step_with_one_sample_and_a_mix_is_of_both_directions() -> None:
    (log,) = results_of("crystaldiskmark/8.0.4-mix.txt")
    assert len(log.steps) == log.samples.height == 12
    first, mix = log.steps[0], log.steps[8]
    assert first.name == "sequential read 1MiB Q8T1"
    assert (first.rw, first.bs, first.iodepth, first.numjobs) == ("read", 1 << 20, 8, 1)
    assert (first.reads, first.writes) == (True, False)
    row = log.samples.row(0, named=True)
    assert (row["read_bw_mb_s"], row["read_iops"], row["read_lat_us"]) == (
        pytest.approx((3482.614, 3321.3, 2408.71), rel=1e-4)
    )
    assert row["write_bw_mb_s"] is None
    assert (mix.name, mix.rw, mix.rwmixread) == ("sequential mix 1MiB Q8T1", "rw", 70)
    assert log.samples["bw_mb_s"][8] == 2100.5
    assert log.samples["read_bw_mb_s"][8] is None


def test_a_measurement_lasts_as_long_as_the_file_says() -> None:
    (told,) = results_of("crystaldiskmark/8.0.4-mix.txt")
    (untold,) = results_of("crystaldiskmark/5.2.1.txt")
    assert told.samples["interval_s"].to_list() == [5.0] * 12
    assert told.samples["t_s"][:2].to_list() == [5.0, 10.0]
    assert untold.samples["interval_s"].null_count() == untold.samples.height
    assert (
        "each result is one sample, the best of 5 measurements of 5 s: they are not a series"
        in (remarks_of(told))
    )


def test_lines_before_version_7_name_their_direction_and_tests_not_run_are_left_out() -> None:
    (log,) = results_of("crystaldiskmark/5.2.1.txt")
    assert [step.name for step in log.steps[:4]] == [
        "sequential read Q32T1",
        "sequential write Q32T1",
        "random read 4KiB Q32T1",
        "random write 4KiB Q32T1",
    ]
    assert (len(log.steps), log.steps[0].bs) == (7, None)
    assert log.samples["write_bw_mb_s"][1] == 521.004
    assert "tests without a result, left out: 1" in remarks_of(log)


def test_version_3_means_kib_by_kb_and_zero_fill_is_noted() -> None:
    (log,) = results_of("crystaldiskmark/3.0.1.txt")
    for filled in (log, *results_of("crystaldiskmark/8.0.4-utf16.txt")):
        assert any("0Fill" in text for text in remarks_of(filled))
    blocks = [(step.bs, step.iodepth) for step in log.steps]
    assert blocks[2:6] == [(524288, None), (524288, None), (4096, 1), (4096, 1)]
    assert log.steps[6].iodepth == 32
    assert log.drive == {"path": "C:"}
    assert log.tools == {"crystaldiskmark": "3.0.1"}


def test_results_pasted_one_behind_the_other_are_runs() -> None:
    logs = results_of("crystaldiskmark/pasted-together.txt")
    assert [len(log.steps) for log in logs] == [8, 7, 8, 8]
    assert [log.label for log in logs] == [
        "run 1, 2012/02/15 20:39:27",
        "run 2, 2017/11/02 21:03:09",
        "run 3, 2020/12/13 1:02:03",
        "run 4, 2021/05/01 10:00:00",
    ]
    assert logs[2].tools == {}


def test_kdiskmark_writes_the_same() -> None:
    (log,) = results_of("crystaldiskmark/kdiskmark-2.3.0.txt")
    assert log.tools == {"kdiskmark": "2.3.0"}
    assert log.samples["write_lat_us"][3] == 387.88


@pytest.mark.parametrize("before", ["> ", "// ", "\t", "    * "])
def test_results_may_be_quoted(before: str) -> None:
    text = (DATA / "crystaldiskmark/5.2.1.txt").read_text()
    (log,) = read_text("".join(f"{before}{line}\n" for line in text.splitlines()))
    assert log.samples.equals(results_of("crystaldiskmark/5.2.1.txt")[0].samples)


def test_a_megabyte_is_10_to_the_6_where_the_file_or_its_iops_say_so() -> None:
    line = "Random Read 4KiB (Q= 1,T= 1) : 40.960 MB/s"
    (told,) = read_text(f"{line} [ 10000.0 IOPS]\n")
    (untold,) = read_text(f"{line}\n")
    assert remarks_of(told)["its MB/s are 10^6 bytes/s"] is False
    assert remarks_of(untold)["its MB/s are read as 10^6 bytes/s"] is True


def test_the_same_test_again_is_told_apart_by_what_differs_or_by_a_number() -> None:
    line = "Random Read 4KiB (Q= {},T= 1) : 40.960 MB/s\n"
    (log,) = read_text("".join(line.format(depth) for depth in (1, 32, 1)))
    names = [f"random read 4KiB Q{depth}T1" for depth in (1, 32, 1)]
    assert [step.name for step in log.steps] == [*names[:2], f"{names[0]} 2"]


# --- sysbench ---


def test_intervals_are_a_series_and_take_the_place_of_the_mean() -> None:
    (log,) = results_of("sysbench/1.0-intervals.txt")
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
    (log,) = results_of(f"sysbench/{name}")
    (row,) = log.samples.rows(named=True)
    assert (log.steps[0].rw, log.steps[0].bs, row["interval_s"]) == (rw, bs, seconds)
    assert {key: row[key] for key in row if key.endswith(("iops", "mb_s"))} == pytest.approx(rates)


def test_among_other_tests_and_quoted_it_is_read_alone() -> None:
    text = (DATA / "sysbench/0.4-write.txt").read_text()
    cpu = "sysbench 1.0.20\nPrime numbers limit: 20000\n    total time:      99.5s\n"
    (log,) = read_text("".join(f"> {line}\n" for line in (cpu + text + cpu).splitlines()))
    assert log.samples["interval_s"].to_list() == [10]


def test_a_time_that_falls_is_another_run() -> None:
    line = "[ {}s ] reads: 0.00 MiB/s writes: {}.00 MiB/s fsyncs: 0.00/s latency (ms,95%): 1.0\n"
    logs = read_text("".join(line.format(10 * i, rate) for rate in (9, 5) for i in range(1, 5)))
    assert [(log.label, log.steps[0].reads) for log in logs] == [("run 1", False), ("run 2", False)]
    assert logs[1].samples["write_bw_mb_s"].to_list() == pytest.approx([5.24288] * 4)
