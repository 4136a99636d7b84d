"""How it is with many drives, by one reading of each: ``list drives --health``, ``analyze DIR``."""

import csv
import json
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest
from command import complaint, done_here, heatsoak_here, json_here
from heatsoak.analysis import analyze
from heatsoak.analysis.health import STATES, health_of
from heatsoak.bench.watch import read_once
from heatsoak.importer import recording_of_frame
from heatsoak.recording import Recording
from heatsoak.target.place import real_drives
from machine import Machine


def listing(
    serial: str, temp_c: int = 35, lines: Mapping[str, object] = {}, model: str = "EXAMPLE 1TB"
) -> str:
    """Return what smartctl says of a drive; `lines` are more of its log, by their first words."""
    told = {"Critical Warning": "0x00", "Temperature": f"{temp_c} Celsius", "Power On Hours": 1000}
    told |= lines
    return "\n".join(
        [
            "smartctl 7.4 2023-08-01 r5530 [x86_64-linux-6.8.0] (local build)",
            "=== START OF INFORMATION SECTION ===",
            f"Model Number:                       {model}",
            f"Serial Number:                      {serial}",
            "Warning  Comp. Temp. Threshold:     84 Celsius",
            "=== START OF SMART DATA SECTION ===",
            "SMART/Health Information (NVMe Log 0x02)",
            *(f"{name + ':':36}{value}" for name, value in told.items()),
        ]
    )


def counted(transitions: int, seconds: int) -> dict[str, object]:
    return {
        "Thermal Temp. 1 Transition Count": transitions,
        "Thermal Temp. 1 Total Time": seconds,
    }


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    known = {
        "fine": listing("F", lines=counted(0, 0)),
        "hot": listing("H", 83),
        "over": listing("O", 60, {"Warning  Comp. Temperature Time": 90}),
        "seldom": listing("T1", lines=counted(3, 36)),
        "often": listing("T2", lines=counted(900, 360_000)),
        "failing": listing("A", lines={"Critical Warning": "0x04"}),
    }
    for name, text in known.items():
        (tmp_path / "fleet").mkdir(exist_ok=True)
        (tmp_path / "fleet" / f"{name}.txt").write_text(text)
    return tmp_path


def test_drives_come_worst_first_with_what_each_says_of_itself(fleet: Path) -> None:
    rows = json_here("list", "drives", "fleet", "--health", cwd=fleet)
    assert [row["serial"] for row in rows] == ["A", "T2", "T1", "O", "H", "F"]
    states = ["alarm", "throttled", "throttled", "over-limits", "hot", "fine"]
    assert [row["state"] for row in rows] == states
    assert [row["throttled_pct"] for row in rows[1:3]] == [pytest.approx(10), pytest.approx(0.001)]
    assert rows[3]["over_limits_s"] == 90 * 60
    assert (rows[4]["temp_c"], rows[4]["warning_c"]) == (83, 84)
    first = "Of 6 drives, 1 warns of itself, 2 have throttled, 1 was above its limits, 1 is as hot "
    for words in (("list", "drives", "fleet", "--health"), ("analyze", "fleet")):
        shown = done_here(*words, cwd=fleet).stdout
        assert shown.startswith(first)
        assert "EXAMPLE 1TB A: the drive itself warns (critical warning 0x04" in shown
        assert "10 % of its time" in shown
    done_here("report", "fleet", "-o", "fleet.csv", cwd=fleet)
    table = list(csv.DictReader((fleet / "fleet.csv").read_text().splitlines()))
    assert [(row["serial"], row["state"]) for row in table] == [
        (row["serial"], row["state"]) for row in rows
    ]


@pytest.mark.parametrize("state", STATES[:4])
def test_the_state_that_fails_is_chosen(fleet: Path, state: str) -> None:
    alone = {"alarm": "failing", "throttled": "seldom", "over-limits": "over", "hot": "hot"}
    for name in ("fine", *alone.values()):
        words = ("list", "drives", f"fleet/{name}.txt", "--health", "--fail-on", state)
        done = heatsoak_here(*words, cwd=fleet)
        is_worse = name != "fine" and list(alone.values()).index(name) <= STATES.index(state)
        assert done.returncode == (1 if is_worse else 0)
        assert ("exit code 1: " in done.stderr) == is_worse
    done = heatsoak_here("list", "--fail-on", state, cwd=fleet)
    assert "says when --health fails" in complaint(done, 2)


def test_a_composite_that_its_own_sensors_belie_is_told_and_no_heat(tmp_path: Path) -> None:
    own = {"Temperature Sensor 1": "35 Celsius", "Temperature Sensor 2": "41 Celsius"}
    for serial, temp_c in (("stuck", 84), ("sane", 35)):
        text = listing(serial, temp_c, own, "Samsung SSD 980 1TB")
        (tmp_path / f"{serial}.txt").write_text(text)
    rows = {
        row["serial"]: row for row in json_here("list", "drives", ".", "--health", cwd=tmp_path)
    }
    assert rows["sane"]["doubt"] is None
    assert (
        "it reads 84 C, and by the drive's own sensors it would be 35 C" in rows["stuck"]["doubt"]
    )
    assert rows["stuck"]["state"] != "hot"
    (sensor, *_) = json_here("analyze", "stuck.txt", cwd=tmp_path)["recordings"][0]["sensors"]
    assert (sensor["name"], sensor["trust"]) == ("composite", "poor")


@pytest.mark.parametrize(("temp_c", "trust"), [(40.0, "poor"), (39.85, "poor"), (41.0, "unknown")])
def test_a_placeholder_while_the_drive_counts_throttling_is_no_temperature(
    temp_c: float, trust: str
) -> None:
    frame = pl.DataFrame(
        {
            "t_s": [0.0, 60.0, 120.0],
            "temp_c.composite": [temp_c] * 3,
            "throttle_count.tmt1": [5.0, 9.0, 14.0],
        }
    )
    (found,) = analyze([recording_of_frame(frame, "x", {}, {})]).recordings
    assert [one.trust for one in found.sensors] == [trust]


def test_the_drives_of_this_machine_are_read_once(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    for index, milli_c in enumerate((44_850, 81_850)):
        controller, _ = machine.nvme(index, f"0000:0{index}:00.0", f"N{index}")
        machine.hwmon(index, controller, "nvme", temp1_input=milli_c, temp1_label="Composite")
    read: list[Recording] = [read_once(info, machine.roots) for info in real_drives(machine.roots)]
    rows = health_of(analyze(read).recordings, read)
    assert [(row.serial, row.state, row.temp_c) for row in rows] == [
        ("N1", "hot", 81.85),
        ("N0", "fine", 44.85),
    ]


def test_a_machine_without_such_drives_says_what_it_has(tmp_path: Path) -> None:
    done = heatsoak_here("list", "--health", "--format", "json", cwd=tmp_path)
    if done.returncode == 0:
        assert {row["state"] for row in json.loads(done.stdout)} <= {*STATES}
    else:
        assert "no drive is here whose sensors can be read" in complaint(done, 3)
