"""The CSV of dstat and of dool."""

from pathlib import Path

import pytest
from heatsoak.errors import UsageError
from heatsoak.importer import Log, Source, read

DATA = Path(__file__).parent / "data" / "dstat"


def log_of(name: str) -> Log:
    (log,) = read(Source.of_path(DATA / name))
    return log


def test_dool_s_bytes_become_megabytes_and_its_first_row_is_left_out() -> None:
    log = log_of("dool.csv")
    assert log.drive == {"path": "/dev/vda"}
    assert log.clock == "local"
    assert log.start_unix_s == 1795258098  # 2026-11-21 10:48:18
    assert log.samples["t_s"].to_list() == [1, 2, 3, 4, 5]
    assert log.samples["write_bw_mb_s"][1] == pytest.approx(654.311424)
    assert log.samples["write_iops"][1] == 78
    assert any("since boot" in remark.text for remark in log.remarks)


def test_without_times_the_command_line_has_the_interval() -> None:
    log = log_of("v07.csv")
    assert log.drive == {"path": "/dev/sda"}
    assert log.samples["t_s"].to_list() == [5.0, 10.0]
    assert log.samples["busy_pct"].to_list() == [99, 100]
    assert log.samples["cpu_pct"][0] == pytest.approx(100 - 77.010 - 13.065)
    doubts = "; ".join(remark.text for remark in log.remarks if remark.doubt)
    assert "every 5 s" in doubts
    assert "1 lines could not be read, the first is line 11" in doubts
    assert not log.steps[0].reads


def test_a_file_without_disks_is_refused() -> None:
    text = '"Dstat 0.7.3 CSV output"\n"net/total",\n"recv","send"\n1,2\n'
    with pytest.raises(UsageError, match="no disks"):
        read(Source.of_bytes("log", text.encode()))
    header = '"Dstat 0.8.0 CSV output"\n"epoch","dsk/vda",\n"epoch","read","writ"\n'
    with pytest.raises(UsageError, match="no rows"):
        read(Source.of_bytes("log", header.encode()))
