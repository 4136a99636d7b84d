"""Reports and lines of progress that repeat: which drive, which rates, and when."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from heatsoak.errors import UsageError
from heatsoak.importer import Log, Source, read

DSTAT = Path(__file__).parent / "data" / "dstat"

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


def _rows(row: str) -> str:
    """Rows of a drive that wrote 1, 1000, 2000 and 3000 KiB/s, one a second."""
    return "".join(row.format(at=at, kib=kib) for at, kib in enumerate((1, 1000, 2000, 3000)))


BARE = _rows(
    "sdb 0.00 0.00 0.00 0.00 0.00 0.00 10.00 {kib}0.00 0.00 0.00 9.00 {kib}.00"
    " 0.00 0.00 0.00 0.00 0.00 0.00 1.00 99.00\n"
)
BRIEF = """#         <--------CPU--------><----------Disks----------->
#Time     cpu sys inter  ctxsw KBRead  Reads KBWrit Writes
""" + _rows("10:00:0{at}  100  12  1733    15K      0      0 {kib} 10\n")
DETAIL = (
    "\n# DISK STATISTICS (/sec)\n#Name KBytes Merged IOs Size Wait KBytes Merged IOs Size Wait \
RWSize QLen Wait SvcTim Util\n"
    + _rows("sda 0 0 0 0 0 {kib} 0 10 9 2 9 1 2 1 99\n")
)
VERBOSE = _rows("""
### RECORD    {at} >>> vm <<< (179563010{at}.003) (Wed Nov 25 18:08:2{at}.003 2026) ###

# CPU SUMMARY (INTR, CTXSW & PROC /sec)
# User  Nice   Sys  Wait   IRQ  Soft Steal Guest NiceG  Idle  CPUs  Intr  Ctxsw  Proc
    90     0     9     5     0     0     0     0     0     5     2  2056    16K    15

# DISK SUMMARY (/sec)
#KBRead RMerged  Reads SizeKB  KBWrite WMerged Writes SizeKB
      0       0      0      0      {kib}       3     42     11
""")
NMON = """AAA,progname,nmon
CPU_ALL,CPU Total h,User%,Sys%,Wait%,Idle%,Steal%,Busy,CPUs
DISKBUSY,Disk %Busy h,loop0,sda,sda1
DISKWRITE,Disk Write KB/s h,loop0,sda,sda1
""" + _rows("""ZZZZ,T000{at},10:00:0{at},25-NOV-2026
CPU_ALL,T000{at},85.6,4.4,3.0,7.0,0.0,,2
DISKBUSY,T000{at},0.0,99.0,0.0
DISKWRITE,T000{at},0.0,{kib}.0,0.0
""")

MB = 1.024
CASES = {
    "iostat": (GREP, "/dev/sdb", [1, 2, 3], [MB, 2 * MB, 3 * MB]),
    "vmstat": (VMSTAT, None, [2, 4, 6], [MB, 2 * MB, 3 * MB]),
    "zpool": (_zpool(("5", "1000K", "2000K")), "/dev/sda", [1, 2], [MB, 2 * MB]),
    "zpool -p": (_zpool(("5", "1000000", "2000000")), "/dev/sda", [1, 2], [1, 2]),
    "diskstats": (_diskstats(""), "/dev/sda", [1, 2, 3], [1024, 2048, 3072]),
    "diskstats, dated": (_diskstats("10:00:0{}\n"), "/dev/sda", [1, 2, 3], [1024, 2048, 3072]),
    "iostat, no header": (BARE, "/dev/sdb", [1, 2, 3], [10 * MB, 20 * MB, 30 * MB]),
    "collectl, raw": (_diskstats(">>> 17726184{:02}.001 <<<\ndisk "), "/dev/sda", [1, 2, 3],
                      [1024, 2048, 3072]),
    "collectl": (BRIEF, None, [1, 2, 3, 4], [MB / 1e3, MB, 2 * MB, 3 * MB]),
    "collectl -sD": (DETAIL, "/dev/sda", [1, 2, 3, 4], [MB / 1e3, MB, 2 * MB, 3 * MB]),
    "collectl --verbose": (VERBOSE, None, [1, 2, 3, 4], [MB / 1e3, MB, 2 * MB, 3 * MB]),
    "nmon": (NMON, "/dev/sda", [1, 2, 3, 4], [MB / 1e3, MB, 2 * MB, 3 * MB]),
    "nmon, sorted": ("\n".join(sorted(NMON.split("\n"))), "/dev/sda", [1, 2, 3, 4],
                     [MB / 1e3, MB, 2 * MB, 3 * MB]),
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


@pytest.mark.parametrize("case", ["collectl --verbose", "nmon", "nmon, sorted"])
def test_how_busy_the_processors_were_joins_the_drives_rates(case: str) -> None:
    assert _logs(CASES[case][0])[0].samples["cpu_pct"].to_list() == [90] * 4


@pytest.mark.parametrize(
    ("leaf", "path"),
    [
        ("ata-WDC_WD20_WD-1", "/dev/disk/by-id/ata-WDC_WD20_WD-1"),
        ("wwn-0x5000c500a1b2c3d4-part1", "/dev/disk/by-id/wwn-0x5000c500a1b2c3d4-part1"),
        ("tank-disk", "tank-disk"),
        ("/dev/sdx", "/dev/sdx"),
    ],
)
def test_a_path_is_only_said_where_it_is_known(leaf: str, path: str) -> None:
    (log, *_) = _logs(_zpool(("5", "1000K", "2000K")).replace("sda", leaf))
    assert log.drive == {"path": path}


@pytest.mark.parametrize("numbers", ["3.00 " * 13, "7.00 " * 9])
def test_rows_without_a_header_that_may_be_anything_are_refused(numbers: str) -> None:
    with pytest.raises(UsageError, match=r"without the header.*grep -E 'Device"):
        _logs(f"sda {numbers}\n" * 9)


def test_dstat_and_dool_are_read_from_their_csv() -> None:
    (dool,) = read(Source.of_path(DSTAT / "dool.csv"))
    assert (dool.drive, dool.clock) == ({"path": "/dev/vda"}, "local")
    assert dool.start_unix_s == 1795258098  # 2026-11-21 10:48:18
    assert dool.samples["t_s"].to_list() == [1, 2, 3, 4, 5]
    assert dool.samples["write_bw_mb_s"][1] == pytest.approx(654.311424)
    assert dool.samples["write_iops"][1] == 78
    (untimed,) = read(Source.of_path(DSTAT / "v07.csv"))
    assert untimed.drive == {"path": "/dev/sda"}
    assert untimed.samples["t_s"].to_list() == [5.0, 10.0]
    assert untimed.samples["busy_pct"].to_list() == [99, 100]
    assert untimed.samples["cpu_pct"][0] == pytest.approx(100 - 77.010 - 13.065)
    assert not untimed.steps[0].reads
    said = "; ".join(remark.text for remark in untimed.remarks)
    for text in ("since boot", "5 s: from the command line", "line 11 could not be read"):
        assert text in said


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ('"Dstat 0.7.3 CSV output"\n"net/total",\n"recv","send"\n1,2\n', "no disks"),
        ('"Dstat 0.8.0 CSV output"\n"epoch","dsk/vda",\n"epoch","read","writ"\n', "no rows"),
        ("AAA,progname,nmon\nAAA,version,16g\nZZZZ,T0001,10:00:01\n", "no rows"),
    ],
)
def test_a_file_without_disks_is_refused(table: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        _logs(table)


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


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("sar") is None, reason="needs sysstat")
@pytest.mark.parametrize(
    "command",
    ["iostat -x 1 3", "iostat -dmt 1 3", "iostat -xth 1 3", "iostat -o JSON -xt 1 3",
     "iostat -s 1 3", "sar -d -u 1 2"],
)  # fmt: skip
def test_the_installed_tool_is_read(command: str) -> None:
    written = subprocess.run(
        command.split(),
        capture_output=True,
        check=True,
        env={**os.environ, "LC_ALL": "C"},
        timeout=200,
    ).stdout
    if b"tps" not in written and b"r/s" not in written:
        pytest.skip("this machine has no block devices")
    for log in read(Source.of_bytes("x", written)):
        assert log.format == command.split()[0]
        # where others load the machine, a report comes late and has the next one's second
        times_s = log.samples["t_s"].to_list()
        assert len(times_s) in (1, 2)
        assert times_s == sorted(set(times_s))
        assert 0 <= times_s[0] <= times_s[-1] < 60


def test_several_reports_in_one_second_are_spread_over_it() -> None:
    text = "".join(
        f"10:00:{at // 4:02d}\n   8       0 sda 0 0 0 0 {10 * at} 0 {50_000 * at} 0 0 0 0\n"
        for at in range(41)
    )
    (log,) = read(Source.of_bytes("loop", text.encode()))
    assert log.samples.height == 40
    moved_mb = (log.samples["write_bw_mb_s"] * log.samples["interval_s"]).sum()
    assert moved_mb == pytest.approx(40 * 50_000 * 512 / 1e6)
