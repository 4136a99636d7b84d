"""Reports and lines of progress that repeat: which drive, which rates, and when."""

import pytest
from heatsoak.importer import Log, Source, read

GREP = "Device r/s rkB/s w/s wkB/s dkB/s aqu-sz %util\n" + "".join(
    f"{name} 0.00 0.00 90.00 {kib}.00 {kib / 2:.2f} 1.00 99.00\n"
    for kib in (1, 1000, 2000, 3000)
    for name in ("sdb", "sdc")
)
VMSTAT = """procs -----------memory--------- --swap-- -----io---- -system-- --cpu-- --timestamp--
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa UTC
""" + "".join(
    f" 1  0 0 794716 29568 312724 0 0 0 {kib} 29 57 1 1 90 8 2026-03-04 10:00:0{2 * at}\n"
    for at, kib in enumerate((1, 1000, 2000, 3000))
)


def _zpool(values: tuple[str, ...], stamp: str = "17726184{:02}\n") -> str:
    return "".join(
        stamp.format(at)
        + "              capacity     operations     bandwidth    total_wait     disk_wait\n"
        "pool        alloc   free   read  write   read  write   read  write   read  write\n"
        "----------  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----\n"
        f"tank         120G   800G      0  1.9K      0  {value}      -    9ms      -    9ms\n"
        f"  mirror-0   120G   800G      0  1.9K      0  {value}      -    9ms      -    9ms\n"
        f"    sda         -      -      0  1.9K      0  {value}      -    9ms      -    2ms\n"
        "----------  -----  -----  -----  -----  -----  -----  -----  -----  -----  -----\n"
        for at, value in enumerate(values)
    )


def _diskstats(before: str) -> str:
    return "".join(
        f"{before.format(at)}   8       0 sda 10 0 80 5 {100 * at} 0 {2000 * sectors} {at} 0 "
        f"{900 * at} {at}\n"
        for at, sectors in enumerate((0, 1000, 3000, 6000))
    )


MB = 1.024
CASES = {
    "iostat": (GREP, "/dev/sdb", [1, 2, 3], [MB, 2 * MB, 3 * MB]),
    "vmstat": (VMSTAT, None, [2, 4, 6], [MB, 2 * MB, 3 * MB]),
    "zpool": (_zpool(("5", "1000K", "2000K")), "/dev/sda", [1, 2], [MB, 2 * MB]),
    "zpool -p": (_zpool(("5", "1000000", "2000000")), "/dev/sda", [1, 2], [1, 2]),
    "diskstats": (_diskstats(""), "/dev/sda", [1, 2, 3], [1024, 2048, 3072]),
    "diskstats, dated": (_diskstats("10:00:0{}\n"), "/dev/sda", [1, 2, 3], [1024, 2048, 3072]),
}  # fmt: skip


def _logs(text: str) -> list[Log]:
    return read(Source.of_bytes("x", text.encode()))


@pytest.mark.parametrize("case", CASES)
def test_each_report_is_a_row_and_the_one_since_boot_is_left_out(case: str) -> None:
    text, path, t_s, write_mb_s = CASES[case]
    log = _logs(text)[0]
    assert log.drive.get("path") == path
    assert log.samples["t_s"].to_list() == t_s
    assert log.samples["write_bw_mb_s"].to_list() == pytest.approx(write_mb_s)


def test_what_a_report_leaves_open_is_a_doubt() -> None:
    for case, said in (("iostat", "discards"), ("vmstat", "all drives of the machine together"),
                       ("diskstats", "interval_s=N")):  # fmt: skip
        doubts = [remark.text for remark in _logs(CASES[case][0])[0].remarks if remark.doubt]
        assert any(said in text for text in doubts), case


FIO = {
    "3": "[{state}(1)][5.0%][w=2MiB/s][w=2 IOPS][eta 00m:{eta:02}s]",
    "3, mixed": "[{state}(2)][5.0%][r=0KiB/s,w=2048KiB/s][r=0,w=2 IOPS][eta 01h:00m:{eta:02}s]",
    "2.1": "[{state}(1)] [5.0% done] [0KB/2048KB/0KB /s] [0/2/0 iops] [eta 00m:{eta:02}s]",
    "1": "[{state}] [5.0% done] [0K/2048K /s] [0 /2  iops] [eta 00m:{eta:02}s]",
}


@pytest.mark.parametrize("version", FIO)
def test_fio_s_progress_is_read_in_each_version_s_form(version: str) -> None:
    lines = [
        f"Jobs: 1 (f=1): {FIO[version].format(state=state, eta=50 - 2 * at)}"
        for at, state in enumerate("WWWWmmmm")
    ]
    for separator in ("\r", "\n"):
        (log,) = _logs("fio-3.28\nStarting 1 process\n" + separator.join(lines) + "\n")
        assert log.samples["t_s"].to_list() == [2, 4, 6, 8, 10, 12, 14, 16]
        assert log.samples["write_bw_mb_s"].to_list() == pytest.approx([2.097152] * 8)
        assert log.samples["write_iops"].to_list() == [2] * 8
        assert [(step.reads, step.writes) for step in log.steps] == [(False, True), (True, True)]


@pytest.mark.parametrize(
    "line",
    [
        "{bytes} bytes ({s}.0 MB, {s}.0 MiB) copied, {s} s, 1.0 MB/s",
        "{bytes} Bytes ({s},0 MB) kopiert, {s},0 s, 1,0 MB/s",
        "  {bytes} bytes ({s} MB, {s} MiB) transferred {s}.000s, 1 MB/s",
        "{s}MiB 0:00:0{s} [1.00MB/s] [=>    ]  1% ETA 0:00:30",
    ],
)
def test_a_copy_s_progress_is_a_series(line: str) -> None:
    lines = [line.format(bytes=s * 1_000_000, s=s) for s in range(1, 7)]
    (log,) = _logs("\r".join(lines) + "\n")
    assert log.samples["t_s"].to_list() == [1, 2, 3, 4, 5, 6]
    assert log.samples["bw_mb_s"].to_list() == pytest.approx([1] * 6)
