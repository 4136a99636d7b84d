"""fio's terse output: totals, which make a series where fio printed them again and again."""

import pytest
from heatsoak.errors import UsageError
from heatsoak.importer import Log, Source, read

#: How many values of a direction stand in a line, by the version of the format.
WIDTHS = {"2": 41, "3": 41, "5": 47}


def line(
    ran_s: int,
    *,
    version: str = "3",
    job: str = "job",
    read_mib_s: float = 0,
    write_mib_s: float = 0,
    lat_us: float = 250,
) -> str:
    """What fio prints of a job that has run for so long, in blocks of 64 KiB."""
    cells = ["2", job] if version == "2" else [version, "fio-3.33", job]
    cells += ["0", "0"]
    for mib_s in (read_mib_s, write_mib_s):
        kib = round(mib_s * 1024)
        values = [str(kib * ran_s), str(kib), str(kib // 64), str(1000 * ran_s if mib_s else 0)]
        values += ["0"] * 30 + [f"{lat_us if mib_s else 0:f}"]
        cells += values + ["0"] * (WIDTHS[version] - len(values))
    return ";".join([*cells, "5.0%", "9.0%", "100"]) + "\n"


def log_of(text: str) -> Log:
    (log,) = read(Source.of_bytes("terse.txt", text.encode()))
    return log


@pytest.mark.parametrize("version", WIDTHS)
def test_lines_of_a_status_interval_are_a_series(version: str) -> None:
    log = log_of("".join(line(i, version=version, write_mib_s=100) for i in range(1, 9)))
    assert log.samples["t_s"].to_list() == pytest.approx(range(1, 9))
    assert log.samples["write_bw_mb_s"].to_list() == pytest.approx([104.8576] * 8)
    assert log.samples["write_iops"].to_list() == pytest.approx([1600] * 8)
    assert log.samples["write_lat_us"].to_list() == pytest.approx([250] * 8)
    assert "read_bw_mb_s" not in log.samples.columns


def test_what_was_done_between_two_lines_is_their_difference() -> None:
    # 100 MiB/s on average for 4 s, and 80 for 8 s: 60 in between
    rates = [100, 100, 100, 100, 92, 260 / 3, 580 / 7, 80]
    log = log_of("".join(line(i, read_mib_s=rate) for i, rate in enumerate(rates, 1)))
    mib_s = [rate / 1.048576 for rate in log.samples["read_bw_mb_s"].to_list()]
    assert mib_s == pytest.approx([100] * 4 + [60] * 4, rel=0.001)


def test_jobs_side_by_side_are_added_up() -> None:
    text = "".join(2 * line(i, write_mib_s=50) for i in range(1, 6))
    assert log_of(text).samples["write_bw_mb_s"].to_list() == pytest.approx([104.8576] * 5)


def test_a_truncated_line_is_left_out() -> None:
    text = "".join(line(i, write_mib_s=100) for i in range(1, 9))
    assert log_of(text[:-200]).samples.height == 7


@pytest.mark.parametrize("version", WIDTHS)
def test_totals_alone_are_refused_with_the_log_to_take_instead(version: str) -> None:
    with pytest.raises(UsageError, match=r"totals only.*--status-interval=1.*--write_bw_log"):
        log_of("fio: warning\n" + line(60, version=version, write_mib_s=100))
