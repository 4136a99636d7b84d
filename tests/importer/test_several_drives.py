"""Drives and hosts that share a file are recordings of their own."""

import json
from pathlib import Path

import pytest
from heatsoak.errors import UsageError
from heatsoak.importer import import_files
from heatsoak.recording import Recording

SECONDS = range(40)
#: What each writes, in bytes a second.
BYTES_S = {"nvme0n1": 1_503_000_000, "sda": 90_100_000}


def read(tmp_path: Path, text: str) -> list[Recording]:
    file = tmp_path / "log.txt"
    file.write_text(text)
    return list(import_files([file]))


def mb_s(recordings: list[Recording]) -> dict[str, int]:
    return {
        str(one.meta.drive.get("path")): round(one.samples()["write_bw_mb_s"].drop_nulls()[5])
        for one in recordings
    }


@pytest.mark.parametrize("column", ["name", "instance", "disk", "tags.name", "hostname"])
def test_counters_of_two_drives_are_never_subtracted_from_each_other(
    tmp_path: Path, column: str
) -> None:
    rows = [f"timestamp,{column},write_bytes"]
    rows += [
        f"2026-03-01T10:00:{t:02d},{name},{5 * 10**11 + t * each}"
        for t in SECONDS
        for name, each in BYTES_S.items()
    ]
    assert mb_s(read(tmp_path, "\n".join(rows))) == {"nvme0n1": 1503, "sda": 90}


def test_rows_of_json_with_tags_are_of_each_host_and_drive(tmp_path: Path) -> None:
    rows = [
        {
            "name": "diskio",
            "tags": {"host": host, "name": name},
            "fields": {"write_bytes": t * each, "temperature": 40},
            "timestamp": 1772359200 + t,
        }
        for t in SECONDS
        for host in ("h1", "h2")
        for name, each in BYTES_S.items()
    ]
    found = mb_s(read(tmp_path, "\n".join(map(json.dumps, rows))))
    assert found == {"h1 nvme0n1": 1503, "h1 sda": 90, "h2 nvme0n1": 1503, "h2 sda": 90}


def test_series_one_below_the_other_are_drives_and_runs_from_zero_are_not(tmp_path: Path) -> None:
    rows = [f"2026-03-01 10:00:{t:02d},{name},500,40" for name in ("db1", "db2") for t in SECONDS]
    found = read(tmp_path, "time,instance,write_mb_s,temp_c\n" + "\n".join(rows))
    assert mb_s(found) == {"db1": 500, "db2": 500}
    rows = [f"{t},{name},500" for name in ("cold", "warm") for t in SECONDS]
    found = read(tmp_path, "t_s,name,write_mb_s\n" + "\n".join(rows))
    assert [one.meta.drive for one in found] == [{}, {}]


def test_a_hot_drive_without_load_stays_beside_a_loaded_one(tmp_path: Path) -> None:
    rows = [
        f"2026-03-01T10:00:{t:02d},{name},{rate},{temp_c}"
        for t in SECONDS
        for name, rate, temp_c in (("a", 1500, 45), ("b", 0, 83), ("c", 0, 40))
    ]
    found = read(tmp_path, "time,disk,write_mb_s,temp_c\n" + "\n".join(rows))
    assert [one.meta.drive["path"] for one in found] == ["a", "b"]


def smart(hours: int | None, written: int, minute: int) -> str:
    return (
        "smartctl 7.4 2023-08-01 r5530 [x86_64-linux-6.12.45] (local build)\n"
        "Model Number:                       EXAMPLE SSD 2TB\n"
        "Serial Number:                      XXXXXXXX\n"
        f"Local Time is:                      Sun Mar 01 10:{minute:02d}:00 2026 UTC\n"
        "Temperature:                        41 Celsius\n"
        f"Data Units Written:                 {written:,} [x]\n"
        + ("" if hours is None else f"Power On Hours:                     {hours:,}\n")
    )


def test_drives_of_one_hidden_serial_are_told_apart_by_their_hours(tmp_path: Path) -> None:
    text = "".join(
        smart(120, 10**6 + n, n) + smart(9120, 5 * 10**7 + n * 180_000, n) for n in range(20)
    )
    found = read(tmp_path, text)
    assert sorted(one.meta.drive["serial"] for one in found) == [
        "XXXXXXXX, 120 h",
        "XXXXXXXX, 9,120 h",
    ]
    assert all("2 drives under one name" in str(one.events) for one in found)


def test_counters_that_go_back_and_forth_without_hours_are_refused(tmp_path: Path) -> None:
    text = "".join(smart(None, 10**6 + n, n) + smart(None, 5 * 10**7 + n, n) for n in range(5))
    with pytest.raises(UsageError, match="several drives in one file: its counters go back"):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("name", "head", "path", "run"),
    [
        ("node{}", "{} | CHANGED | rc=0 >>", "node{} /dev/nvme0n1", None),
        ("node{}.rack", "{} | SUCCESS >>", "node{}.rack /dev/nvme0n1", None),
        ("node{}", "==> {} <==", "/dev/nvme0n1", "node{}"),
        ("smart-{}.txt", "==> {} <==", "/dev/nvme0n1", "smart-{}.txt"),
    ],
)
def test_a_head_names_the_host_or_the_file_of_what_follows(
    tmp_path: Path, name: str, head: str, path: str, run: str | None
) -> None:
    reading = "Smart Log for NVME device:nvme0n1\ntemperature : 41 C\ndata_units_written : 7\n"
    text = "".join(f"{head.format(name.format(at))}\n{reading}" for at in (1, 2))
    for at, one in enumerate(read(tmp_path, text), 1):
        assert one.meta.drive["path"] == path.format(at)
        assert one.meta.conditions.get("run") == (run and run.format(at))


@pytest.mark.parametrize(("between", "path"), [(": ", "a.log /dev/sda"), (":", "/dev/sda")])
def test_a_blank_behind_names_tells_hosts_from_files(
    tmp_path: Path, between: str, path: str
) -> None:
    rows = ["Device r/s w/s wkB/s %util", *(f"sda 0 9 {n} 9" for n in range(9))]
    text = "".join(f"{name}{between}{row}\n" for name in ("a.log", "b.log") for row in rows)
    assert read(tmp_path, text)[0].meta.drive["path"] == path


def test_the_same_file_twice_counts_once(tmp_path: Path) -> None:
    rows = "\n".join(f"{t},500" for t in SECONDS)
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(f"t_s,write_mb_s\n{rows}\n")
    (only,) = import_files([tmp_path])
    assert any("the same as" in event.text for event in only.events)
    (only,) = import_files([tmp_path / "a.csv", tmp_path / "a.csv"])


@pytest.mark.parametrize("heads", [("{} write MB/s", "{} temp C"), ("write_mb_s.{}", "temp_c {}")])
def test_columns_that_name_a_drive_are_of_that_drive(
    tmp_path: Path, heads: tuple[str, str]
) -> None:
    names = [head.format(name) for head in heads for name in ("nvme0n1", "nvme1n1")]
    # their temperatures come in the other order
    names[2:] = reversed(names[2:])
    rows = [f"2026-03-01 10:00:{t:02d},1503,90,35,{60 + t}" for t in SECONDS]
    found = read(tmp_path, "\n".join([",".join(["time", *names]), *rows]))
    assert mb_s(found) == {"nvme0n1": 1503, "nvme1n1": 90}
    assert [one.samples()["temp_c.composite"].drop_nulls()[5] > 50 for one in found] == [
        True,
        False,
    ]
