"""DiskSpd's results, as text and as XML."""

from pathlib import Path

import pytest
from heatsoak.errors import UsageError
from heatsoak.importer import Log, Source, read

DATA = Path(__file__).parent / "data" / "diskspd"


def _read(name: str) -> list[Log]:
    return read(Source.of_path(DATA / name))


def _read_text(text: str) -> list[Log]:
    return read(Source.of_bytes("result", text.encode()))


def _says(log: Log, words: str) -> bool:
    return any(words in remark.text and remark.doubt for remark in log.remarks)


def test_text_has_one_mean_for_each_time_span() -> None:
    (log,) = _read("mix.txt")
    (step,) = log.steps
    assert (step.rw, step.bs, step.iodepth, step.numjobs, step.rwmixread) == (
        ("randrw", 65536, 2, 8, 60)
    )
    row = log.samples.row(0, named=True)
    assert row["t_s"] == row["interval_s"] == 120.01
    assert row["read_bw_mb_s"] == pytest.approx(703125 * 65536 / 120.01 / 1e6)
    assert row["write_iops"] == pytest.approx(468750 / 120.01)
    assert row["write_lat_us"] == pytest.approx(1638)
    assert (row["read_lat_p99_us"], row["write_lat_p999_us"], row["read_lat_max_us"]) == (
        (5250.0, 11000.0, 44250.0)
    )
    assert row["cpu_pct"] == 3.67


def test_results_posted_without_their_settings_are_read() -> None:
    text = (DATA / "mix.txt").read_text()
    (whole,), (posted,) = (
        _read_text(part) for part in (text, text[text.index("Results for timespan") :])
    )
    rates = ["read_bw_mb_s", "write_bw_mb_s", "read_lat_us", "write_lat_us"]
    assert posted.samples.select(rates).equals(whole.samples.select(rates))


def test_time_starts_after_the_warm_up() -> None:
    (log,) = _read("mix.txt")
    assert log.clock == "utc"
    assert log.start_unix_s == 1691152267 + 15
    assert _says(log, "start time")


def test_several_spans_and_several_starts_in_one_file() -> None:
    first, second = _read("two-spans-appended.txt")
    assert (first.label, second.label) == ("run 1", "run 2")
    assert [step.bs for step in first.steps] == [65536, 65536]
    assert first.samples["t_s"].to_list() == pytest.approx([120.01, 255.02])
    assert len(second.steps) == 1


def test_linux_writes_a_text_of_its_own() -> None:
    (log,) = _read("linux.txt")
    (step,) = log.steps
    assert (step.rw, step.bs, step.iodepth, step.numjobs, step.reads) == (
        ("randwrite", 8192, 128, 4, False)
    )
    assert log.samples["write_bw_mb_s"][0] == pytest.approx(1474.56 / 30)
    assert log.drive == {"path": "/mnt/test.dat"}


def test_intervals_of_xml_are_a_series_without_the_truncated_one() -> None:
    (log,) = _read("intervals.xml")
    assert log.samples["t_s"].to_list() == [float(second) for second in range(1, 31)]
    assert set(log.samples["interval_s"]) == {1.0}
    assert log.samples["write_bw_mb_s"][0] == pytest.approx(16000 * 131072 / 1e6)
    assert log.samples["write_bw_mb_s"][-1] == pytest.approx(6000 * 131072 / 1e6)
    assert log.samples["write_lat_us"][0] == pytest.approx(2000)
    assert log.tools == {"diskspd": "2.1"}
    assert (log.steps[0].rw, log.steps[0].iodepth, log.steps[0].numjobs) == ("write", 16, 2)


def test_xml_without_intervals_has_means_and_percentiles() -> None:
    (log,) = _read("means-utf16.xml")
    assert log.samples.height == len(log.steps) == 2
    row = log.samples.row(0, named=True)
    assert row["write_bw_mb_s"] == pytest.approx(380_000 * 131072 / 30.02 / 1e6)
    assert (row["write_lat_p50_us"], row["write_lat_p999_us"], row["write_lat_max_us"]) == (
        (2250.0, 9750.0, 22125.0)
    )
    assert row["cpu_pct"] == 4.5


def test_xml_may_be_a_single_line_with_a_declaration() -> None:
    text = (DATA / "intervals.xml").read_text()
    (log,) = _read_text('<?xml version="1.0" encoding="utf-16"?>' + text.replace("\n", ""))
    assert log.samples.equals(_read("intervals.xml")[0].samples)


def test_truncated_xml_keeps_the_intervals_before() -> None:
    text = (DATA / "intervals.xml").read_text()
    (log,) = _read_text(text[: text.index('<Bucket SampleMillisecond="20000"')])
    assert log.samples.height == 19
    assert _says(log, "ends within")


def test_xml_that_bids_for_other_files_is_not_obeyed() -> None:
    text = (DATA / "intervals.xml").read_text()
    bomb = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>\n'
    inside = text.replace("<Results>", f"<Results>\n{bomb}", 1)
    with pytest.raises(UsageError, match="holds no results"):
        _read_text(inside)


def test_elements_within_elements_without_end_take_no_time() -> None:
    with pytest.raises(UsageError):
        _read_text("<Results>\n<System>\n" + "<a>" * 100_000)
