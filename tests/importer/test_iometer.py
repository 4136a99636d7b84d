"""Iometer's results and instantaneous results."""

from pathlib import Path

import pytest
from heatsoak.errors import UsageError
from heatsoak.importer import Log, Options, Source, read

DATA = Path(__file__).parent / "data" / "iometer"
MIB = 1.048576


def _read(name: str, options: Options | None = None) -> list[Log]:
    return read(Source.of_path(DATA / name), options)


def _read_text(text: str) -> list[Log]:
    return read(Source.of_bytes("results.csv", text.encode()))


def _text(name: str) -> str:
    return (DATA / name).read_text()


def _says(log: Log, words: str, *, doubt: bool) -> bool:
    return any(words in remark.text and remark.doubt == doubt for remark in log.remarks)


def test_each_specification_and_queue_depth_is_a_step_with_its_mean() -> None:
    (log,) = _read("results-1.1.0.csv")
    assert [step.name for step in log.steps] == [
        "4 KiB; 100% Read; 0% random QD1",
        "4 KiB; 100% Read; 0% random QD8",
        "8K OLTP",
    ]
    first, second, third = log.steps
    assert (first.rw, first.bs, first.iodepth, first.reads, first.writes) == (
        ("read", 4096, 1, True, False)
    )
    assert second.iodepth == 8
    assert (third.rw, third.bs, third.rwmixread, third.writes) == ("randrw", 8192, 67, True)
    samples = log.samples
    assert samples["interval_s"].to_list() == pytest.approx([60.0] * 3)
    assert samples["read_bw_mb_s"].to_list() == pytest.approx([81.92, 368.64, 329.3184])
    assert samples["write_iops"].to_list() == pytest.approx([0, 0, 19800])
    assert samples["read_lat_us"][0] == pytest.approx(50)
    assert samples["write_lat_us"].null_count() == 2
    assert samples["cpu_pct"][0] == pytest.approx(3.21)


def test_time_starts_where_the_first_run_was_recorded_without_its_ramp_up() -> None:
    (log,) = _read("results-1.1.0.csv")
    assert log.samples["t_s"].to_list() == pytest.approx([60, 125.098, 190.209], abs=1e-3)
    assert log.clock == "local"
    assert log.start_unix_s == pytest.approx(1457186596.402 - 60)


def test_versions_drives_and_failed_ios_are_kept() -> None:
    (log,) = _read("results-1.1.0.csv")
    assert log.tools == {"iometer": "1.1.0"}
    assert log.drive == {"path": "PHYSICALDRIVE:1"}
    assert _says(log, "3 I/Os failed", doubt=True)
    assert _says(log, "mean over a test", doubt=False)


def test_megabytes_of_old_versions_are_2_to_the_20_as_their_rows_tell() -> None:
    first, second = _read("results-2004.csv")
    assert first.samples["write_bw_mb_s"][0] == pytest.approx(110.5 * 524288 / 1e6)
    assert _says(first, "2^20", doubt=False)
    assert second.samples["read_bw_mb_s"][0] == pytest.approx(300 * 3809.28 / 1e6, rel=1e-4)


def test_megabytes_that_rows_show_to_be_decimal_stay_so() -> None:
    rows = "'Target Type,Target Name,Access Specification Name,IOps,MBps,Bytes Read,Read I/Os\n"
    (log,) = _read_text(f"{rows}ALL,All,x,1000,4.096,245760000,60000\n")
    assert log.samples["bw_mb_s"].to_list() == [4.096]
    assert log.samples["interval_s"].to_list() == [60.0]
    assert not _says(log, "2^20", doubt=False)


def test_megabytes_that_no_row_explains_are_in_doubt() -> None:
    rows = "'Target Type,Target Name,Access Specification Name,IOps,Read MBps,Write MBps\n"
    (log,) = _read_text(f"{rows}ALL,All,x,1000,10,0\n")
    assert log.samples["read_bw_mb_s"].to_list() == pytest.approx([10 * MIB])
    assert _says(log, "2^20", doubt=True)


def test_each_test_in_a_file_is_a_run() -> None:
    first, second = _read("results-2004.csv")
    assert (first.label, second.label) == ("run 1", "run 2")
    assert first.start_unix_s != second.start_unix_s


def test_several_drives_are_taken_together_unless_one_is_asked_for() -> None:
    together = _read("results-2004.csv")[0]
    alone = _read("results-2004.csv", Options(device="d:"))[0]
    assert _says(together, "2 drives together", doubt=False)
    assert together.drive == {}
    assert alone.drive == {"path": 'D: ""'}
    assert alone.samples["write_iops"][0] == pytest.approx(together.samples["write_iops"][0] / 2)
    with pytest.raises(UsageError, match="no drive 'Q:': it has C:"):
        _read("results-2004.csv", Options(device="Q:"))


def test_without_a_time_at_its_end_a_test_takes_as_long_as_its_ios() -> None:
    (log,) = _read("results-2003.csv")
    assert log.samples["t_s"].to_list() == pytest.approx([300.0])
    assert log.start_unix_s == 1052906400.0


def test_a_mix_of_sizes_has_none_of_its_own() -> None:
    step = _read("results-2004.csv")[1].steps[0]
    assert (step.name, step.bs, step.rw, step.rwmixread) == ("All in one", None, "randrw", 54)


def test_what_a_spreadsheet_of_another_locale_saved_reads_the_same() -> None:
    (log,) = _read("results-1.1.0.csv")
    (again,) = _read("results-spreadsheet-de.csv")
    assert again.samples.equals(log.samples)
    assert again.steps == log.steps


def test_apostrophes_may_be_missing_and_encodings_differ() -> None:
    (log,) = _read("results-1.1.0.csv")
    plain = _text("results-1.1.0.csv").replace("\n'", "\n").lstrip("'")
    for data in (plain.encode(), plain.encode("utf-16"), plain.encode("utf-8-sig")):
        (again,) = read(Source.of_bytes("x", data))
        assert again.samples.equals(log.samples)


def test_updates_are_a_series_over_all_workers() -> None:
    (log,) = _read("inst-1.1.0-rc1.csv")
    (step,) = log.steps
    assert (step.name, step.rw, step.bs, step.iodepth, step.numjobs) == (
        ("256K write", "write", 262144, 8, 2)
    )
    assert log.samples.height == 40
    assert log.samples["t_s"][0] == pytest.approx(1.0)
    assert log.samples["t_s"][-1] == pytest.approx(40.0, abs=0.1)
    assert log.samples["write_bw_mb_s"][0] == pytest.approx(8000 * 262144 / 1e6)
    assert log.samples["write_bw_mb_s"][-1] == pytest.approx(2500 * 262144 / 1e6)
    assert not _says(log, "mean over a test", doubt=False)


def test_a_series_continues_after_midnight() -> None:
    (log,) = _read("inst-1.1.0-rc1.csv")
    assert log.samples["t_s"].diff().drop_nulls().min() > 0.9  # type: ignore[operator]


def test_a_truncated_file_keeps_what_came_before() -> None:
    text = _text("inst-1.1.0-rc1.csv")
    (log,) = _read_text(text[: len(text) // 2])
    assert 10 < log.samples.height < 40
