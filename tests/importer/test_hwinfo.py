"""HWiNFO's logs."""

from pathlib import Path

import pytest
from heatsoak.errors import UsageError
from heatsoak.importer import Log, Options, Source, read

DATA = Path(__file__).parent / "data" / "hwinfo"


def _read(name: str, device: str | None = None) -> list[Log]:
    return read(Source.of_path(DATA / name), Options(device=device))


def _doubts(log: Log) -> str:
    return " ".join(remark.text for remark in log.remarks if remark.doubt)


def test_the_footer_says_whose_columns_are_whose() -> None:
    (log,) = _read("two-drives.csv")
    assert log.format == "hwinfo"
    assert log.drive == {"model": "Fast SSD 2TB", "serial": "S1A"}
    samples = log.samples
    assert samples["write_bw_mb_s"][:59].to_list() == [1500.0] * 59
    assert samples["temp_c.composite"][0] == 45
    assert samples["temp_c.sensor2"][0] == 57
    assert {"cpu_pct", "temp_c.cpu", "temp_c.gpu", "gpu_load_pct.0", "busy_pct"} <= set(
        samples.columns
    )
    assert samples.height == 90


def test_the_cores_throttling_is_not_the_drives() -> None:
    (log,) = _read("two-drives.csv")
    assert not any(name.startswith("throttle") for name in log.samples.columns)


def test_hours_and_minutes_without_leading_zeros_are_read() -> None:
    (log,) = _read("two-drives.csv")
    assert log.clock == "local"
    assert log.start_unix_s == pytest.approx(1795255190.0 - 2, abs=0.01)
    assert log.samples["t_s"][-1] == pytest.approx(180, abs=1)
    assert log.samples["interval_s"].max() == pytest.approx(2, abs=0.1)


def test_a_drive_without_load_is_named_and_can_be_asked_for() -> None:
    (log,) = _read("two-drives.csv")
    assert any("Old Disk (S2B)" in remark.text for remark in log.remarks)
    (other,) = _read("two-drives.csv", device="s2b")
    assert other.drive["model"] == "Old Disk"
    assert other.samples["temp_c.composite"][0] == 35
    with pytest.raises(UsageError, match="has no drive 'nvme7': it has Fast SSD 2TB"):
        _read("two-drives.csv", device="nvme7")


def test_it_only_reads_where_the_rates_say_so() -> None:
    (log,) = _read("two-drives.csv")
    assert (log.steps[0].reads, log.steps[0].writes) == (False, True)


def test_without_the_footer_columns_are_grouped_by_their_order() -> None:
    (log,) = _read("cut.csv")
    assert log.samples["temp_c.composite"][0] == 45
    assert log.samples["temp_c.sensor2"][0] == 57
    assert log.samples["write_bw_mb_s"][0] == 1500
    assert log.samples.height == 89
    assert "grouped by their order" in _doubts(log)
    assert "line 91, the last, is truncated" in _doubts(log)


def test_restarting_a_logger_starts_a_new_run() -> None:
    first, second = _read("restarted.csv")
    assert (first.label, second.label) == ("1", "2")
    assert (first.samples.height, second.samples.height) == (40, 40)
    assert first.start_unix_s is not None
    assert second.start_unix_s is not None
    assert second.start_unix_s - first.start_unix_s == pytest.approx(3960)


def test_renumbered_sensors_do_not_end_a_run() -> None:
    (log,) = _read("enumerated-anew.csv")
    assert log.samples.height == 80
    assert log.samples["write_bw_mb_s"].null_count() == 0


@pytest.mark.parametrize("name", ["german.csv", "chinese.csv"])
def test_other_languages_are_read(name: str) -> None:
    (log,) = _read(name)
    samples = log.samples
    assert samples["write_bw_mb_s"][0] == 900.5
    assert samples["read_bw_mb_s"][0] == 0
    assert samples["temp_c.composite"][0] == 45
    assert samples["busy_pct"][0] == 99
    assert samples["cpu_pct"][0] == 12
    assert not any(column.startswith("throttle") for column in samples.columns)


def test_an_unknown_language_is_read_by_its_units() -> None:
    header = ('Date,Time,"aa [Yes/No]","bb [°C]","cc [%]","dd [Yes/No]","ee [Yes/No]",'
              '"ff [%]","gg [%]","hh [%]","ii [MB/s]","jj [MB/s]","kk [MB]","ll [MB]"')  # fmt: skip
    rows = "".join(
        f"1.2.2026,3:4:{i}.000,No,4{i},99,No,No,0,9,9,0.0,5{i}.0,1,2\n" for i in range(9)
    )
    (log,) = read(Source.of_bytes("log.csv", f"{header}\n{rows}".encode()))
    assert log.format == "hwinfo"
    assert log.samples["write_bw_mb_s"][1] == 51
    assert log.samples["temp_c.composite"][1] == 41


def test_missing_times_are_said() -> None:
    lines = (DATA / "two-drives.csv").read_bytes().split(b"\r\n")
    (log,) = read(Source.of_bytes("log.csv", b"\r\n".join(lines[:20] + lines[40:])))
    assert "no rows from 38 to 80 s" in _doubts(log)


def test_a_log_without_any_drive_is_an_error_or_describes_the_host() -> None:
    rows = "".join(f"1.2.2026,3:4:{i}.000,1\n" for i in range(9))
    with pytest.raises(UsageError, match="has no column of a drive"):
        read(Source.of_bytes("x", f'Date,Time,"VIN1 [V]"\n{rows}'.encode()))
    (log,) = read(Source.of_bytes("x", f'Date,Time,"GPU Temperature [°C]"\n{rows}'.encode()))
    assert log.samples.columns == ["t_s", "temp_c.gpu"]


def test_throttling_that_names_no_drive_is_a_processors() -> None:
    rows = "".join(f"5.3.2026,10:00:{i:02}.000,{'Yes' if i > 30 else 'No'},90\n" for i in range(60))
    header = 'Date,Time,"Thermal Throttling [Yes/No]","Drive Temperature [°C]"\n'
    (log,) = read(Source.of_bytes("HWiNFO.CSV", (header + rows).encode()))
    assert "temp_c.composite" in log.samples.columns
    assert not any(name.startswith("throttle") for name in log.samples.columns)


@pytest.mark.parametrize("damaged", [2, 5])
def test_a_row_that_is_cut_near_the_top_costs_that_row_alone(damaged: int, tmp_path: Path) -> None:
    lines = (DATA / "two-drives.csv").read_bytes().split(b"\n")
    lines[damaged - 1] = lines[damaged - 1][: len(lines[damaged - 1]) // 2]
    log = tmp_path / "log.csv"
    log.write_bytes(b"\n".join(lines))
    (found,) = read(Source.of_path(log), Options())
    assert found.format == "hwinfo"
    assert found.samples.height in (89, 90)
    assert any(f"line {damaged} is truncated" in remark.text for remark in found.remarks)


def test_a_header_that_stands_again_after_a_few_rows_begins_another_run(tmp_path: Path) -> None:
    lines = (DATA / "german.csv").read_bytes().split(b"\n")
    log = tmp_path / "log.csv"
    log.write_bytes(b"\n".join([*lines[:4], lines[0], *lines[4:]]))
    found = read(Source.of_path(log), Options())
    assert [(one.format, one.samples.height) for one in found] == [("hwinfo", 3), ("hwinfo", 27)]
