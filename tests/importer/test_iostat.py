"""iostat's reports, as files of many versions and locales have them."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from heatsoak.errors import UsageError
from heatsoak.importer import Log, Options, Source, read

DATA = Path(__file__).parent / "data" / "iostat"
KIB = 1024 / 1e6


def logs_of(name: str, device: str | None = None, interval: str | None = None) -> list[Log]:
    mapping = {} if interval is None else {"interval_s": interval}
    return read(Source.of_path(DATA / name), Options(mapping=mapping, device=device))


def read_text(text: str, options: Options | None = None) -> list[Log]:
    return read(Source.of_bytes("log", text.encode()), options)


def said(log: Log, doubt: bool | None = None) -> str:
    return "; ".join(r.text for r in log.remarks if doubt is None or r.doubt == doubt)


def by_device(logs: list[Log]) -> dict[str, Log]:
    return {log.drive["path"].removeprefix("/dev/"): log for log in logs}


@pytest.mark.parametrize("name", ["xt_en.txt", "xtmy_de.txt", "dxt_ko.txt", "xh.txt", "x.json"])
def test_the_same_load_reads_alike_in_every_layout_and_language(name: str) -> None:
    loop0 = by_device(logs_of(name))["loop0"]
    assert loop0.clock == "local"
    assert loop0.start_unix_s == pytest.approx(1795256513, abs=1.5)  # 2026-11-21 10:21:53
    samples = loop0.samples.filter(loop0.samples["t_s"].is_between(4, 6.5))
    assert samples["write_bw_mb_s"].to_list() == pytest.approx([83.9] * samples.height, rel=0.02)
    assert samples["write_iops"].to_list() == pytest.approx([640] * samples.height, rel=0.02)
    assert samples["read_bw_mb_s"].max() == 0
    assert samples["write_lat_us"].is_between(390, 700).all()
    assert loop0.samples["interval_s"].to_list() == [1.0] * loop0.samples.height
    assert (loop0.samples["busy_pct"] > 20).any()
    if name != "dxt_ko.txt":  # made with -d
        assert (loop0.samples["cpu_pct"] > 50).any()


def test_the_average_since_boot_is_left_out_and_said_so() -> None:
    without_y, with_y = logs_of("xt_en.txt")[0], logs_of("xtmy_de.txt")[0]
    assert without_y.samples.height == 13
    assert with_y.samples.height == 14
    assert "average since boot" in said(without_y, doubt=False)
    assert "since boot" not in said(with_y)
    assert without_y.samples["t_s"][0] == 1.0


def test_kilobytes_are_1024_bytes_and_that_is_certain() -> None:
    log = by_device(logs_of("v9_seconds.txt"))["sda"]
    assert log.samples["write_bw_mb_s"].to_list() == [
        pytest.approx(409600 * 512 / 1e6),
        pytest.approx(204800 * 512 / 1e6),
    ]
    log = logs_of("freebsd_x.txt")[0]
    assert log.samples["write_bw_mb_s"][0] == pytest.approx(1024000 * KIB)
    assert "1024" in said(log, doubt=False)


def test_the_interval_comes_from_a_command_line_in_the_file() -> None:
    log = logs_of("v9_seconds.txt")[0]
    assert log.samples["t_s"].to_list() == [5.0, 10.0]
    assert "5 s: from the command line" in said(log, doubt=False)


def test_the_interval_comes_from_totals_where_there_is_nothing_else() -> None:
    log = logs_of("g.txt")[0]
    assert log.samples["interval_s"].to_list() == [2.0] * 6
    assert "from totals" in said(log)


def test_an_unknown_interval_is_a_second_with_a_doubt_or_what_the_user_says() -> None:
    assert "a report each second" in said(logs_of("x.txt")[0], doubt=True)
    log = logs_of("x.txt", interval="10")[0]
    assert log.samples["t_s"].to_list()[:2] == [10.0, 20.0]
    assert said(log, doubt=True) == ""
    with pytest.raises(UsageError, match="interval_s=often"):
        logs_of("x.txt", interval="often")


def test_a_name_on_a_line_of_its_own_and_a_partition_of_another_device() -> None:
    logs = by_device(logs_of("v9_seconds.txt"))
    assert set(logs) == {"sda", "cciss/c0d0p1"}
    assert logs["cciss/c0d0p1"].samples["write_iops"].to_list() == [600, 300]
    assert "sda1" in said(logs["sda"])
    assert logs["sda"].samples["lat_us"].to_list() == [15000, 30000]
    assert not logs["sda"].steps[0].reads


def test_a_device_can_be_asked_for_by_name_or_path() -> None:
    (log,) = logs_of("v9_seconds.txt", device="/dev/sda1")
    assert log.drive == {"path": "/dev/sda1"}
    with pytest.raises(UsageError, match=r"no drive 'sdz' \(did you mean 'sda'\?\): it has cciss"):
        logs_of("v9_seconds.txt", device="sdz")


def test_part_of_a_devices_name_takes_all_that_have_it_but_no_longer_name_of_a_kernels() -> None:
    (log,) = logs_of("v9_seconds.txt", device="cciss")
    assert log.drive["path"].endswith("c0d0p1")
    assert set(by_device(logs_of("v9_seconds.txt", device="S"))) == {"sda", "cciss/c0d0p1"}
    many = (DATA / "v9_seconds.txt").read_text().replace("sda", "sdaa")
    with pytest.raises(UsageError, match="no drive 'sda'"):
        read_text(many, Options(device="sda"))


def test_a_translated_time_with_the_headings_date_continues_after_midnight() -> None:
    (log,) = logs_of("v8_time.txt")
    assert log.clock == "local"
    assert log.start_unix_s == 1260316798  # 2009-12-08 23:59:58
    assert log.samples["t_s"].to_list() == [2.0, 4.0]
    assert log.samples["write_bw_mb_s"].to_list() == pytest.approx([131.072, 104.8576])


def test_groups_are_not_taken_for_devices() -> None:
    assert set(by_device(logs_of("g.txt"))) == {"loop0", "vda"}
    (log,) = logs_of("g.txt", device="all")
    assert log.samples.height == 6


def test_a_device_that_minus_z_left_out_was_idle() -> None:
    loop0 = by_device(logs_of("xtyz_iso.txt"))["loop0"]
    assert loop0.clock == "utc"
    assert loop0.samples.height == 14
    assert loop0.samples["write_bw_mb_s"][0] == 0
    assert loop0.samples["write_lat_us"][0] is None
    assert "taken as idle" in said(loop0)


def test_a_layer_over_a_disk_is_left_out() -> None:
    text = "Linux 6.1.0 (h) \t2026-11-21 \t_x86_64_\t(2 CPU)\n\n\n" + "".join(
        f"2026-11-21T10:00:0{i}+0100\nDevice tps kB_read/s kB_wrtn/s kB_read kB_wrtn\n"
        "nvme0n1 10.00 0.00 1000.00 0 1000\nnvme0c0n1 10.00 0.00 1000.00 0 1000\n"
        "nvme0n1p2 10.00 0.00 990.00 0 990\ndm-0 10.00 0.00 990.00 0 990\n"
        "vg-home 10.00 0.00 990.00 0 990\n\n"
        for i in range(4)
    )
    (log,) = read_text(text)
    assert log.drive == {"path": "/dev/nvme0n1"}
    assert log.start_unix_s == 1795251599  # 10:00:00+01:00, less the first interval
    (mapped,) = read_text(text, Options(device="/dev/mapper/vg-home"))
    assert mapped.drive == {"path": "/dev/mapper/vg-home"}


def test_the_short_report_counts_reads_and_writes_together() -> None:
    log = by_device(logs_of("xs0.txt"))["loop0"]
    assert log.samples["bw_mb_s"].max() == pytest.approx(84, rel=0.02)
    assert {"iops", "lat_us", "queue"} <= set(log.samples.columns)


def test_a_time_that_another_tool_put_before_each_line_is_read() -> None:
    plain = (DATA / "x.txt").read_text().splitlines()
    stamped = [f"2026-11-21 10:00:{min(i // 8, 59):02d} {line}" for i, line in enumerate(plain)]
    log = by_device(read_text("\n".join(stamped)))["loop0"]
    assert log.clock == "local"
    assert log.samples.height == 13
    assert log.samples["write_bw_mb_s"].max() == pytest.approx(84, rel=0.02)


def test_macos_reports_disks_side_by_side() -> None:
    (log,) = logs_of("macos.txt")
    assert log.drive == {"path": "/dev/disk4"}
    assert log.samples["t_s"].to_list() == [2.0, 4.0]
    assert log.samples["bw_mb_s"].to_list() == pytest.approx([2097.152, 943.7184])
    assert log.samples["cpu_pct"].to_list() == [20, 13]


def test_reports_of_a_loop_around_iostat_are_one_run() -> None:
    one = "Linux 6.1.0 (h) \t11/21/26 \t_x86_64_\t(2 CPU)\n\n"
    table = "Device r/s rkB/s r_await w/s wkB/s w_await aqu-sz %util\n"
    text = "".join(
        f"{one}11/21/26 10:0{i}:00\n{table}sda 1 4 1 1 4 1 0.1 1\n\n"
        f"11/21/26 10:0{i}:05\n{table}sda 0 0 0 {100 + i} 102400 2 4 90\n\n"
        for i in range(5)
    )
    (log,) = read_text(text)
    assert log.samples["write_iops"].to_list() == [100, 101, 102, 103, 104]
    assert log.samples["interval_s"].to_list() == [5.0] * 5
    assert np.diff(log.samples["t_s"].to_numpy()).tolist() == [60.0] * 4


def test_a_second_call_in_the_same_file_is_a_run_of_its_own() -> None:
    text = (DATA / "xt_en.txt").read_text()
    logs = read_text(text + text)
    assert [log.label for log in logs] == [
        "loop0, run 1",
        "vda, run 1",
        "loop0, run 2",
        "vda, run 2",
    ]
    assert all(log.samples["t_s"][0] == 1.0 for log in logs)


def test_only_averages_since_boot_are_refused_with_what_to_do() -> None:
    text = (DATA / "xt_en.txt").read_text()
    with pytest.raises(UsageError, match="iostat -xty 1"):
        read_text(text[: text.index("11/21/2026 10:21:54")])


def test_lines_that_cannot_be_read_are_counted() -> None:
    lines = (DATA / "xt_en.txt").read_text().splitlines()
    damaged = [line.replace(".", "?", 1) if line.startswith("vda") else line for line in lines[:40]]
    text = "\n".join([*damaged, *lines[40:]])
    assert "4 lines could not be read, the first is line" in said(read_text(text)[0], doubt=True)


def test_a_heading_whose_order_is_open_is_said_to_be_read_month_first() -> None:
    """Times alone follow it, as old versions write them."""
    report = "Device: tps kB_read/s kB_wrtn/s kB_read kB_wrtn\nsda 5.00 0.00 900.00 0 900\n"
    reports = "".join(f"Time: 14:03:{17 + at}\n{report}\n" for at in range(9))
    (log,) = read_text(f"Linux 3.10.0 (host) \t11/08/26 \t_x86_64_\t(4 CPU)\n\n{reports}")
    assert log.start_unix_s == pytest.approx(1794146597, abs=1.5)  # 2026-11-08
    assert "month before day" in said(log, doubt=True)


def test_truncated_json_is_read_up_to_the_cut() -> None:
    whole = (DATA / "x.json").read_bytes()
    full, cut = (read(Source.of_bytes("log", data))[0] for data in (whole, whole[:5000]))
    assert full.samples.height == 14
    assert 3 < cut.samples.height < 10
    (compact, _) = read(Source.of_bytes("log", b" ".join(whole.split())))
    values = [log.samples["write_bw_mb_s"].to_list() for log in (full, compact)]
    assert values[0][1:] == values[1]  # the blank line that tells of -y is lost


def test_what_jc_makes_of_the_text_reads_like_the_text() -> None:
    """Each word of a header becomes a key: ``rkB/s`` is ``rkb_s``, ``%util`` ``percent_util``."""
    rows: list[dict[str, object]] = []
    header: list[str] = []
    for line in (DATA / "x.txt").read_text().splitlines():
        words = line.split()
        if words[:1] == ["avg-cpu:"]:
            rows.append({"type": "cpu", "percent_idle": 90.0, "percent_iowait": 0.0})
        elif words[:1] == ["Device"]:
            header = [re.sub(r"\W", "_", w.lower().replace("%", "percent_")) for w in words[1:]]
        elif header and len(words) == len(header) + 1:
            values = map(float, words[1:])
            row = dict(zip(header, values, strict=True))
            rows.append({"type": "device", "device": words[0], **row})
    text = by_device(logs_of("x.txt"))["loop0"].samples
    for document in (json.dumps(rows), "\n".join(map(json.dumps, rows))):
        found = by_device(read_text(document))["loop0"].samples
        for name in ("write_bw_mb_s", "read_iops", "write_lat_us", "busy_pct"):
            assert found[name].to_list() == text[name].to_list()


def test_values_of_a_counter_that_wrapped_are_left_out() -> None:
    text = (DATA / "xt_en.txt").read_text()
    assert "81920.00" in text
    log = by_device(read_text(text.replace(" 81920.00", " 18446744073709551616.00", 1)))["loop0"]
    assert log.samples["write_bw_mb_s"].null_count() == 1
    assert "no drive can do, in 1 of 13 samples" in said(log, doubt=True)


def test_a_device_that_minus_z_left_out_was_idle_in_each_of_several_calls() -> None:
    text = (DATA / "xtyz_iso.txt").read_text()
    logs = read_text(text + "\n" + text)
    assert [log.samples.height for log in logs] == [14] * 4


def test_times_in_reports_without_devices_alone_place_nothing() -> None:
    text = (
        "Linux 6.12.0 (vm) \t11/21/26 \t_x86_64_\t(2 CPU)\n"
        "\n"
        "11/21/26 10:21:53\n"
        "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n"
        "             1098706195751       0       25246491513       1       0      59\n"
        "\n"
        "vda                357     44509      157       1      125       0      3\n"
        "\n"
        "Linux 6.12.0 (vm) \t11/21/26 \t_x86_64_\t(2 CPU)\n"
        "\n"
        "11/21/26 10:21:53\n"
        "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n"
        "             39636539456       0       6       1       0      59\n"
        "\n"
        "Device             tps      kB/s    rqm/s   await  areq-sz  aqu-sz  %util\n"
        "loop0                3      1105        1       2      435       0      0\n"
        "vda                357     44509      157       1      125       0      3\n"
        "Linux 6.12.0 (vm) \t11/21/26 \t_x86_64_\t(2 CPU)\n"
        "\n"
        "11/21/26 10:21:53\n"
        "avg-cpu:  %user   %nice   %idle\n"
        "             1098706195752       0       6       1       0      59\n"
        " all           3207.50     25362.00     25674.00        78.00      50724      51348  156\n"
        "\n"
        "\n"
        "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n"
        "          81.14    0.5\n"
    )
    with pytest.raises(UsageError, match="nothing can be placed"):
        read(Source.of_bytes("x", text.encode()))


def test_hosts_that_stand_before_each_line_are_read_one_by_one() -> None:
    header = "Device:  r/s  w/s  rkB/s  wkB/s"
    reports = [f"\n{header}\nsda  0.00  {i}.00  0.00  {i}000.00\n" for i in range(1, 9)]
    lines = {host: "".join(reports).splitlines() for host in ("n1", "n2")}
    dump = "".join(f"{host}: {line}\n" for host, own in lines.items() for line in own)
    logs = read_text(dump)
    assert [log.source.rpartition(" ")[2] for log in logs] == ["(n1)", "(n2)"]
    assert logs[0].samples["write_bw_mb_s"].to_list() == logs[1].samples["write_bw_mb_s"].to_list()
    assert logs[0].samples.height == 7


def test_a_device_that_keeps_no_account_of_how_busy_it_is_was_not_idle() -> None:
    header = "Device   r/s  w/s  rkB/s  wkB/s  aqu-sz  %util"
    text = "".join(f"\n{header}\nmd0  0.00  180.00  0.00  36000.00  0.00  0.00\n" for _ in range(9))
    (log,) = read_text(text)
    assert "busy_pct" not in log.samples.columns
