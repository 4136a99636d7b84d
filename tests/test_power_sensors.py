"""Power from hwmon nodes and from drives that tell it, on trees and pages of our own."""

import ctypes
import struct
from pathlib import Path
from typing import Any

import pytest
from command import complaint, heatsoak_here
from heatsoak.errors import UsageError
from heatsoak.recording.columns import dtype_of
from heatsoak.sensor import Sensor, discover, drive_sensors
from heatsoak.sensor.nvme_admin import measures_power, parse_power, parse_power_states
from hypothesis import given
from hypothesis import strategies as st
from machine import Machine

MEASURES = 1 << 21


def identify(states: list[bytes], attributes: int = 0) -> bytes:
    page = bytearray(4096)
    struct.pack_into("<I", page, 96, attributes)
    page[263] = len(states) - 1
    for number, state in enumerate(states):
        page[2048 + 32 * number : 2048 + 32 * (number + 1)] = state
    return bytes(page)


def state(
    most: int, flags: int = 0, entry_us: int = 0, exit_us: int = 0, idle: tuple[int, int] = (0, 0)
) -> bytes:
    head = struct.pack("<HBBII4xHB", most, 0, flags, entry_us, exit_us, idle[0], idle[1] << 6)
    return head.ljust(32, b"\0")


def health_log(power: int = 0, energy_wh: int = 0) -> bytes:
    page = bytearray(512)
    struct.pack_into("<H", page, 1, 320)
    struct.pack_into("<QI", page, 232, energy_wh, power)
    return bytes(page)


class Drive:
    """An NVMe drive in a tree of its own, which answers admin commands."""

    def __init__(self, base: Path, controller: bytes, log: bytes = health_log()) -> None:
        self.controller, self.log = controller, log
        self.state = 0
        self.refused: set[int] = set()
        self.power_log = bytes(64)
        self.machine = Machine(base)
        self.roots = self.machine.roots
        self.parent, _ = self.machine.nvme(0, "0000:01:00.0", "S1")
        (self.roots.dev / "nvme0").touch()

    def ioctl(self, _fd: int, _request: int, command: bytearray) -> int:
        opcode = command[0]
        (address,) = struct.unpack_from("<Q", command, 24)
        length, word = struct.unpack_from("<II", command, 36)
        if opcode in self.refused:
            return 0x4002
        match opcode, word & 0xFF:
            case 0x02, 0x02:
                ctypes.memmove(address, self.log, length)
            case 0x02, 0x25:
                ctypes.memmove(address, self.power_log, length)
            case 0x06, _:
                ctypes.memmove(address, self.controller, length)
            case 0x0A, 0x02:
                struct.pack_into("<I", command, 68, self.state | 1 << 5)  # a workload hint beside
            case _:
                return 0x4001
        return 0

    def sensors(self, power: str | None = None) -> dict[str, Sensor]:
        found = discover("nvme0n1", self.roots, power=power, ioctl=self.ioctl)
        return {sensor.info.name: sensor for sensor in found}

    def node(self, index: int, driver: str, parent: Path | None, **files: int) -> Path:
        """Add an hwmon node; without a parent it is of a board of its own."""
        parent = parent or self.machine.devices / f"i2c-{index}"
        return self.machine.hwmon(index, parent, driver, **files)


@pytest.fixture
def drive(tmp_path: Path) -> Drive:
    return Drive(tmp_path, identify([state(760)]))


def test_power_of_the_drives_own_node_is_read_in_watts_as_an_average_where_it_has_one(
    drive: Drive,
) -> None:
    node = drive.node(2, "nvme", drive.parent, power1_input=5_250_000)
    sensor = drive.sensors()["hwmon-power"]
    assert sensor.read() == {"power_w": 5.25}
    assert sensor.info.details["power"] == "measured"
    (node / "power1_average").write_text("5000000\n")
    assert drive.sensors()["hwmon-power"].read() == {"power_w": 5.0}
    part = drive.machine.write(drive.parent / "nvme0n1" / "nvme0n1p1", partition=1)
    drive.machine.link(drive.roots.sys / "block" / "nvme0n1p1", part)
    found = drive_sensors("nvme0n1p1", drive.roots, ioctl=drive.ioctl)
    assert "hwmon-power" in [sensor.info.name for sensor in found]


def test_another_devices_node_is_read_only_where_the_user_names_it(drive: Drive) -> None:
    node = drive.node(4, "ina226", None, power1_input=4_125_000)
    assert "hwmon-power" not in drive.sensors()
    for name in ("ina226", "hwmon4", "ina226/power1", "hwmon4/power1"):
        sensor = drive.sensors(power=name)["hwmon-power"]
        assert sensor.read() == {"power_w": 4.125}
    (node / "power1_input").unlink()
    assert sensor.read() == {}
    assert "hwmon4" in str(sensor.last_error)


def test_a_named_node_that_is_not_there_or_means_several_is_refused_with_what_is(
    drive: Drive,
) -> None:
    with pytest.raises(UsageError, match="has none in hwmon"):
        drive.sensors(power="ina226")
    drive.node(4, "ina226", None, power1_input=1)
    drive.node(5, "ina226", None, power1_input=2)
    with pytest.raises(UsageError, match=r"ambiguous.*hwmon4/power1.*hwmon5/power1"):
        drive.sensors(power="ina226")
    with pytest.raises(UsageError, match=r"no such.*hwmon4/power1 \(ina226\)"):
        drive.sensors(power="max34417")


def test_a_simulated_drive_takes_no_power_sensor(tmp_path: Path) -> None:
    words = ("run", "quick", "--on", "sim:samsung-950-pro-512", "--power-sensor", "ina226")
    assert "modelled" in complaint(heatsoak_here(*words, "-o", "out", cwd=tmp_path), 2)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("power", "watts"),
    [
        (550 | 2 << 16, 5.5),  # hundredths of a watt
        (55_000 | 1 << 16, 5.5),  # ten-thousandths
        (0, None),
        (550, None),  # no scale is no report
        (550 | 3 << 16, None),
        (550 | 2 << 16 | 0xC << 20, None),  # of something the vendor knows
    ],
)
def test_power_in_the_health_log_is_taken_as_far_as_it_is_of_the_whole_drive(
    tmp_path: Path, power: int, watts: float | None
) -> None:
    drive = Drive(tmp_path, identify([state(760)], MEASURES), health_log(power, energy_wh=812))
    sensor = drive.sensors()["nvme"]
    assert sensor.read().get("power_w") == watts
    assert sensor.read()["energy_wh"] == 812
    assert ("power_w" in sensor.info.columns) == (watts is not None)


def test_a_drive_that_estimates_its_power_is_recorded_as_such_and_one_that_does_not_measure_not(
    tmp_path: Path,
) -> None:
    drive = Drive(tmp_path / "a", identify([state(760)], MEASURES), health_log(550 | 2 << 16))
    page = bytearray(64)
    struct.pack_into("<H", page, 2, 1 << 2)
    page[56] = 10
    drive.power_log = bytes(page)
    details = drive.sensors()["nvme"].info.details
    assert (details["power"], details["estimated"], details["error_pct"]) == ("reported", True, 10)
    drive = Drive(tmp_path / "b", identify([state(760)]), health_log(550 | 2 << 16, energy_wh=812))
    assert drive.sensors()["nvme"].info.columns.count("power_w") == 0
    assert not {"power_w", "energy_wh"} & drive.sensors()["nvme"].read().keys()


def test_power_is_taken_from_one_source_and_what_measures_goes_first(tmp_path: Path) -> None:
    drive = Drive(tmp_path, identify([state(760)], MEASURES), health_log(550 | 2 << 16, 3))
    drive.node(2, "nvme", drive.parent, power1_input=5_000_000)
    drive.node(4, "ina226", None, power1_input=6_000_000)

    def told(power: str | None) -> list[float]:
        readings = [sensor.read() for sensor in drive.sensors(power).values()]
        return [values["power_w"] for values in readings if "power_w" in values]

    assert told(None) == [5.0]
    assert told("ina226") == [6.0]
    assert drive.sensors()["nvme"].read()["energy_wh"] == 3


def test_the_state_a_drive_is_in_is_asked_seldom_and_is_no_power(drive: Drive) -> None:
    sensor = drive.sensors()["nvme-power-state"]
    drive.state = 3
    assert sensor.read() == {"power_state": 3}
    assert sensor.info.columns == ("power_state",)
    assert sensor.info.interval_s >= 5
    assert sensor.info.details["wakes_drive"] is True
    drive.refused = {0x0A}
    assert sensor.read() == {}
    assert "nvme-power-state" not in drive.sensors()


def test_states_are_listed_with_what_each_is_rated_for() -> None:
    page = identify(
        [
            state(760),
            state(430),
            state(500, flags=1 | 2, entry_us=2000, exit_us=22000, idle=(50, 1)),
            state(0, flags=2),
        ]
    )
    assert parse_power_states(page) == [
        {"state": 0, "operational": True, "max_w": 7.6},
        {"state": 1, "operational": True, "max_w": 4.3},
        {
            **{"state": 2, "operational": False, "max_w": 0.05, "idle_w": 0.005},
            **{"entry_us": 2000, "exit_us": 22000},
        },
        {"state": 3, "operational": False},
    ]


@pytest.mark.slow
@given(st.binary(min_size=1, max_size=400))
def test_any_identify_page_gives_states_that_a_drive_can_have(part: bytes) -> None:
    page = (part * 4096)[:4096]
    states: list[dict[str, Any]] = parse_power_states(page)
    assert [one["state"] for one in states] == list(range(len(states)))
    assert len(states) <= 32
    assert all(one.get("max_w", 1) > 0 for one in states)
    assert isinstance(measures_power(page), bool)


@given(st.binary(min_size=512, max_size=512))
def test_any_health_log_gives_power_in_known_columns(page: bytes) -> None:
    for column, value in parse_power(page).items():
        assert dtype_of(column)
        assert value > 0
