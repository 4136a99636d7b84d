"""What sar and sadf make of a day, or of a minute."""

from pathlib import Path

import pytest
from heatsoak.errors import UsageError
from heatsoak.importer import Log, Options, Source, read

DATA = Path(__file__).parent / "data" / "sar"


def logs_of(name: str, device: str | None = None) -> dict[str, Log]:
    logs = read(Source.of_path(DATA / name), Options(device=device))
    return {log.label or log.drive.get("path", ""): log for log in logs}


def said(log: Log, doubt: bool | None = None) -> str:
    return "; ".join(r.text for r in log.remarks if doubt is None or r.doubt == doubt)


@pytest.mark.parametrize(
    "name",
    ["dp_en.txt", "dub_de.txt", "zh.txt", "sadf_d.csv", "sadf_dh.csv", "sadf_dU.csv",
     "sadf_p.txt", "sadf.json"],
)  # fmt: skip
def test_the_same_load_reads_alike_in_every_form(name: str) -> None:
    log = logs_of(name)["loop0"]
    assert log.format == "sar"
    assert log.start_unix_s == 1795256513
    assert log.clock == ("utc" if name.startswith("sadf") else "local")
    assert log.samples["interval_s"].to_list() == [1.0] * log.samples.height
    middle = log.samples.filter(log.samples["t_s"].is_between(4, 6.5))
    assert middle["write_bw_mb_s"].to_list() == pytest.approx([83.9] * 3, rel=0.01)
    assert middle["iops"].to_list() == pytest.approx([640] * 3, rel=0.01)
    assert middle["lat_us"].to_list() == pytest.approx([400, 440, 570], rel=0.05)
    assert "1024" in said(log, doubt=False)


def test_processors_of_the_same_file_are_joined_by_time() -> None:
    for name in ("dub_de.txt", "sadf_d.csv", "sadf_dh.csv", "sadf_p.txt", "sadf.json"):
        log = logs_of(name)["loop0"]
        assert log.samples["cpu_pct"].null_count() == 0
        assert log.samples["cpu_pct"][2] == pytest.approx(53.85)


def test_a_day_s_file_goes_over_midnight_and_averages_are_left_out() -> None:
    (log,) = logs_of("day.txt").values()
    assert log.drive == {"path": "/dev/block/8:0"}
    assert log.start_unix_s == 1628293201  # 2021-08-06 23:40:01
    assert log.samples["t_s"].to_list() == [600.0, 1200.0]
    assert log.samples["write_bw_mb_s"].to_list() == pytest.approx([1048.576, 524.288])
    assert log.samples["cpu_pct"].to_list() == [3, 5]
    assert not log.steps[0].reads
    assert "dev253-0" in said(log)
    assert "month before day" in said(log, doubt=True)


def test_temperatures_join_the_drives_rates() -> None:
    (log,) = logs_of("day.txt").values()
    assert log.has_temperatures
    assert log.samples["temp_c.nvme_pci_0100_1"].to_list() == [45.85, 69.85]


def test_a_restart_starts_a_new_run() -> None:
    logs = logs_of("restart.txt")
    assert list(logs) == ["run 1", "run 2"]
    assert [log.samples.height for log in logs.values()] == [2, 2]
    assert logs["run 2"].samples["t_s"].to_list() == [600.0, 1200.0]
    begins = [log.start_unix_s for log in logs.values()]
    assert begins == [1795248001, 1795249801]


def test_a_restart_after_the_last_report_cuts_nothing_off() -> None:
    text = (DATA / "dub_de.txt").read_text()
    last = max(line[:8] for line in text.splitlines() if line[2:3] == line[5:6] == ":")
    restart = f"\n{last[:6]}59     LINUX RESTART\t(2 CPU)\n"
    whole, restarted = (read(Source.of_bytes("x", t.encode())) for t in (text, text + restart))
    assert [log.samples.height for log in restarted] == [log.samples.height for log in whole]


def test_days_one_behind_the_other_are_one_run() -> None:
    text = (DATA / "restart.txt").read_text().split("\n08:24:30")[0]
    days = "\n".join(
        text.replace("21.11.", f"{day}.11.").replace("08:", f"{hour}:")
        for day, hour in (("21", "23"), ("22", "00"))
    )
    (log,) = read(Source.of_bytes("log", days.replace("23:20", "23:50").encode()))
    assert log.samples["t_s"].is_sorted()
    assert log.samples["t_s"][-1] - log.samples["t_s"][0] == 70 * 60


def test_the_transfers_of_all_devices_are_taken_where_there_is_no_other() -> None:
    lines = (DATA / "dub_de.txt").read_text().splitlines(keepends=True)
    kept, wanted = [], False
    for line in lines:
        if not line.strip() or line.startswith("Linux"):
            wanted = line.startswith("Linux")
        elif "rtps" in line:
            wanted = True
        if wanted:
            kept.append(line)
    (log,) = read(Source.of_bytes("log", "".join(kept).encode()))
    assert log.drive == {}
    assert {"read_iops", "write_iops"} <= set(log.samples.columns)
    assert "together" in said(log, doubt=True)


def test_a_binary_file_is_refused_with_what_makes_text_of_it() -> None:
    with pytest.raises(UsageError, match="sadf -d FILE -- -d"):
        read(Source.of_path(DATA / "sa21"))


def test_a_file_without_devices_is_refused() -> None:
    text = "Linux 6.1.0 (h) \t11/21/2026 \t_x86_64_\t(2 CPU)\n\n10:00:01 AM CPU %user %idle\n"
    with pytest.raises(UsageError, match="sar -d"):
        read(Source.of_bytes("log", (text + "10:10:01 AM all 1.00 99.00\n").encode()))


def test_damaged_lines_are_counted() -> None:
    text = (DATA / "sadf_d.csv").read_text().replace(";loop0;445", ";loop0;4?5", 1)
    (log, *_) = read(Source.of_bytes("log", text.encode()))
    assert "line 34 could not be read" in said(log, doubt=True)
