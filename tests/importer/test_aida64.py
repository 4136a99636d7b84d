"""AIDA64's logs."""

from pathlib import Path

import pytest
from heatsoak.errors import UsageError
from heatsoak.importer import Source, read

DATA = Path(__file__).parent / "data" / "aida64"


def test_names_and_units_stand_in_two_rows() -> None:
    (log,) = read(Source.of_path(DATA / "log.csv"))
    assert log.format == "aida64"
    assert log.drive == {"path": "Disk 1"}
    assert log.samples["write_bw_mb_s"][0] == 1500
    assert log.samples["busy_pct"][0] == 99
    assert log.samples["temp_c.fast_ssd_2_tb"][0] == 45
    assert log.clock == "local"
    assert any("Disk 2" in remark.text for remark in log.remarks)


def test_temperatures_of_the_board_are_not_the_drives() -> None:
    (log,) = read(Source.of_path(DATA / "log.csv"))
    temps = {name for name in log.samples.columns if name.startswith("temp_c.")}
    assert temps == {"temp_c.fast_ssd_2_tb", "temp_c.cpu", "temp_c.cpu_2"}


def test_restarting_a_logger_starts_a_new_run() -> None:
    first, second = read(Source.of_path(DATA / "restarted.csv"))
    assert (first.samples.height, second.samples.height) == (30, 30)
    assert not any("could not be read" in remark.text for remark in second.remarks)


def test_the_log_as_html_is_refused_with_what_to_do() -> None:
    with pytest.raises(UsageError, match="CSV"):
        read(Source.of_bytes("log.htm", b"<html><head><title>AIDA64 log</title>"))
