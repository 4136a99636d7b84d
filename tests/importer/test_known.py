"""What other tools write that is no log of a drive, and what is said of it."""

from pathlib import Path

import pytest
from heatsoak.errors import UsageError
from heatsoak.importer import Options, Source, import_files, read

DD = "2147483648 bytes (2.1 GB, 2.0 GiB) copied, 4 s, 537 MB/s"


@pytest.mark.parametrize(
    ("text", "what", "instead"),
    [
        (f"\r{DD}".replace("4 s", "3 s") + f"\r{DD}\n", "the mean of a copy", "iostat -xty 1"),
        (f"8+0 records in\n8+0 records out\n{DD}\n", "the mean of a copy", "iostat -xty 1"),
        ("\r 550MiB 0:00:01 [ 549MiB/s] [=> ]  5%", "the mean of a copy", "iostat -xty 1"),
        ("  1,073,741,824   7%  512.00MB/s    0:00:25\n", "rsync's progress", "iostat"),
        ("top - 10:00:01 up 3 days,  1 user\nTasks: 1 total\n", "about processes", "iostat -xty 1"),
        (
            "Linux 6.1.0 (host) \t06/01/20 \t_x86_64_\t(9 CPU)\n\n"
            "12:53:20      USER      TGID       TID    %usr    %CPU   CPU  Command\n"
            "12:53:22      root      8407         -    0.35    0.38     0  bash\n",
            "about processes",
            "iostat -xty 1",
        ),
        (
            "#      Time   UID       PID    %usr    %CPU   CPU  Command\n"
            " 1646859134     0         1    0.00    0.03     0  /usr/lib/systemd/systemd\n",
            "about processes",
            "iostat -xty 1",
        ),
        (
            "disk- ------------reads------------ ------------writes----------- -----IO------\n"
            "       total merged sectors      ms  total merged sectors      ms    cur    sec\n"
            "sda    15257    100  841035    8395  50851   5502 1648657  146540      0     44\n",
            "vmstat's counters of disks",
            "iostat -xty 1",
        ),
        ("<pre>\nVdbench summary report, created 10:00:00\n", "Vdbench", "parseflat"),
        ("Linux 6.1.0 (nas)  03/04/2026  _x86_64_  (4 CPU)\n\n"
         "10:00:01 IFACE rxpck/s txpck/s\n10:00:02 eth0 1.00 2.00\n",
         "without any drive", "sar -d"),
        ("Linux 6.1.0 (nas)  03/04/2026  _x86_64_  (4 CPU)\n\n"
         "Tape:    r/s     w/s   kB_read/s   kB_wrtn/s %Rd %Wr %Oa    Rs/s    Ot/s\n"
         "st0        0     400           0      102400   0  99  99       0       0\n",
         "without any drive", "sar -d"),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:0a1b\nsize 90123\n",
         "a pointer of Git LFS", "git lfs pull"),
        ("-----\nCrystalDiskInfo 9.6.3 (C) 2026\n", "CrystalDiskInfo", "Temperature.csv"),
        ("# HELP node_hwmon_temp_celsius x\n# TYPE node_hwmon_temp_celsius gauge\n"
         'node_hwmon_temp_celsius{chip="nvme"} 45\n', "a scrape", "CSV"),
        ("smart_device,device=nvme0,model=A\\ B temp_c=45i,ok=true 1772618400000000000\n",
         "line protocol", "CSV"),
        ('{\n  "Devices": [\n    {\n      "DevicePath": "/dev/nvme0n1"\n    }\n  ]\n}\n',
         "nvme list", "nvme smart-log"),
        ("NVME Identify Controller:\nvid     : 0x8086\nsn      : S1\nwctemp  : 0\n",
         "nvme id-ctrl", "nvme smart-log"),
        ("128166372003061629,hm,1,Read,383496192,32768,8331\n", "a trace", "heatsoak trace"),
    ],
)  # fmt: skip
def test_what_is_not_a_log_is_named_with_what_would_be_one(
    text: str, what: str, instead: str
) -> None:
    with pytest.raises(UsageError, match=what) as refusal:
        read(Source.of_bytes("x", text.encode()))
    assert instead in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_what_a_script_wrote_above_its_table_takes_nothing_from_it() -> None:
    table = "time,temp_c\n" + "".join(f"{i},{40 + i % 9}\n" for i in range(1, 60))
    (log,) = read(Source.of_bytes("x", f"{DD}\n{table}".encode()))
    assert log.samples.height == 59


def test_the_history_of_crystaldiskinfo_is_read_as_its_refusal_says() -> None:
    rows = "".join(f"2026/03/04 1{i // 6}:{i % 6}0:00,{35 + i}\n" for i in range(30))
    options = Options({"time": "1", "temp_c": "2"})
    (log,) = read(Source.of_bytes("Temperature.csv", rows.encode()), options)
    assert log.samples["temp_c.composite"].to_list() == [35 + i for i in range(30)]
    assert log.samples["t_s"][29] - log.samples["t_s"][0] == 29 * 600


def test_in_a_directory_what_is_not_a_log_is_left_out_by_name(tmp_path: Path) -> None:
    (tmp_path / "a-nmon.txt").write_text("AAA,progname,nmon\n")
    (tmp_path / "b-temps.csv").write_text("time,temp_c\n1,40\n2,41\n3,43\n")
    (recording,) = import_files([tmp_path])
    assert any("left out: a-nmon.txt: " in event.text for event in recording.events)
