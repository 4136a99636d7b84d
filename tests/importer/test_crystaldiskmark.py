"""CrystalDiskMark's result text."""

from pathlib import Path

import pytest
from heatsoak.errors import UsageError
from heatsoak.importer import Log, Source, detect, read

DATA = Path(__file__).parent / "data" / "crystaldiskmark"


def _read(name: str) -> list[Log]:
    return read(Source.of_path(DATA / name))


def _read_text(text: str) -> list[Log]:
    return read(Source.of_bytes("result.txt", text.encode()))


def _remarks(log: Log) -> dict[str, bool]:
    return {remark.text: remark.doubt for remark in log.remarks}


@pytest.mark.parametrize("path", sorted(DATA.iterdir()), ids=lambda path: path.name)
def test_results_are_recognized_by_their_content(path: Path) -> None:
    assert detect(Source.of_path(path)).name == "crystaldiskmark"


def test_each_line_is_a_step_with_one_sample() -> None:
    (log,) = _read("8.0.4-mix.txt")
    assert len(log.steps) == log.samples.height == 12
    first = log.steps[0]
    assert (first.name, first.rw, first.bs, first.iodepth, first.numjobs) == (
        ("sequential read 1MiB Q8T1", "read", 1 << 20, 8, 1)
    )
    assert (first.reads, first.writes) == (True, False)
    row = log.samples.row(0, named=True)
    assert (row["read_bw_mb_s"], row["read_iops"], row["read_lat_us"]) == (
        pytest.approx((3482.614, 3321.3, 2408.71), rel=1e-4)
    )
    assert row["write_bw_mb_s"] is None


def test_a_mix_is_of_both_directions_together() -> None:
    (log,) = _read("8.0.4-mix.txt")
    mix = log.steps[8]
    assert (mix.name, mix.rw, mix.rwmixread) == ("sequential mix 1MiB Q8T1", "rw", 70)
    assert log.samples["bw_mb_s"][8] == 2100.5
    assert log.samples["read_bw_mb_s"][8] is None


def test_a_measurement_lasts_as_long_as_the_file_says() -> None:
    (told,) = _read("8.0.4-mix.txt")
    (untold,) = _read("5.2.1.txt")
    assert told.samples["interval_s"].to_list() == [5.0] * 12
    assert told.samples["t_s"][:2].to_list() == [5.0, 10.0]
    assert untold.samples["interval_s"].null_count() == untold.samples.height
    assert (
        "each result is one sample, the best of 5 measurements of 5 s: they are not a series"
        in (_remarks(told))
    )


def test_lines_before_version_7_name_their_direction() -> None:
    (log,) = _read("5.2.1.txt")
    assert [step.name for step in log.steps[:4]] == [
        "sequential read Q32T1",
        "sequential write Q32T1",
        "random read 4KiB Q32T1",
        "random write 4KiB Q32T1",
    ]
    assert log.steps[0].bs is None
    assert log.samples["write_bw_mb_s"][1] == 521.004


def test_a_test_that_was_not_run_is_left_out() -> None:
    (log,) = _read("5.2.1.txt")
    assert len(log.steps) == 7
    assert "tests without a result, left out: 1" in _remarks(log)


def test_version_3_means_kib_by_kb() -> None:
    (log,) = _read("3.0.1.txt")
    blocks = [(step.bs, step.iodepth) for step in log.steps]
    assert blocks[2:6] == [(524288, None), (524288, None), (4096, 1), (4096, 1)]
    assert log.steps[6].iodepth == 32
    assert log.drive == {"path": "C:"}
    assert log.tools == {"crystaldiskmark": "3.0.1"}


def test_zero_fill_is_noted() -> None:
    assert any("0Fill" in text for text in _remarks(_read("8.0.4-utf16.txt")[0]))
    assert any("0Fill" in text for text in _remarks(_read("3.0.1.txt")[0]))


def test_results_pasted_one_behind_the_other_are_runs() -> None:
    logs = _read("pasted-together.txt")
    assert [len(log.steps) for log in logs] == [8, 7, 8, 8]
    assert [log.label for log in logs] == [
        "run 1, 2012/02/15 20:39:27",
        "run 2, 2017/11/02 21:03:09",
        "run 3, 2020/12/13 1:02:03",
        "run 4, 2021/05/01 10:00:00",
    ]
    assert logs[2].tools == {}


def test_kdiskmark_writes_the_same() -> None:
    (log,) = _read("kdiskmark-2.3.0.txt")
    assert log.tools == {"kdiskmark": "2.3.0"}
    assert log.samples["write_lat_us"][3] == 387.88


@pytest.mark.parametrize("before", ["> ", "// ", "\t", "    * "])
def test_results_may_be_quoted(before: str) -> None:
    text = (DATA / "5.2.1.txt").read_text()
    (log,) = _read_text("".join(f"{before}{line}\n" for line in text.splitlines()))
    assert log.samples.equals(_read("5.2.1.txt")[0].samples)


def test_a_megabyte_is_10_to_the_6_where_the_file_or_its_iops_say_so() -> None:
    line = "Random Read 4KiB (Q= 1,T= 1) : 40.960 MB/s"
    (told,) = _read_text(f"{line} [ 10000.0 IOPS]\n")
    (untold,) = _read_text(f"{line}\n")
    assert _remarks(told)["its MB/s are 10^6 bytes/s"] is False
    assert _remarks(untold)["its MB/s are read as 10^6 bytes/s"] is True


def test_spaces_without_end_take_no_time() -> None:
    with pytest.raises(UsageError):
        _read_text(f"Sequential{' ' * 100_000}x MB/s\n" * 5)


def test_a_file_with_nothing_but_zeros_is_an_error() -> None:
    with pytest.raises(UsageError, match="holds no results"):
        _read_text("  SEQ 1MiB (Q= 8, T= 1): 0.000 MB/s [ 0.0 IOPS] < 0.00 us>\n")
