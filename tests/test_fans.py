"""Fan speeds, on trees of our own."""

from pathlib import Path

import pytest
from heatsoak.recording.columns import dtype_of
from heatsoak.sensor import discover, host_sensors
from heatsoak.sensor.hwmon import FanSensor
from machine import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def board(machine: Machine, index: int, name: str, **files: object) -> Path:
    return machine.hwmon(index, machine.devices / "platform" / f"{name}.{index}", name, **files)


def fans(machine: Machine) -> FanSensor:
    sensor = FanSensor.find(machine.roots)
    assert sensor is not None
    return sensor


def test_fans_of_all_chips_are_read_by_chip_and_label(machine: Machine) -> None:
    board(machine, 0, "nct6798", fan1_input=1203, fan2_input=0, fan2_label="CPU Fan", temp1_input=1)
    board(machine, 1, "amdgpu", fan1_input=2950, fan1_min=0)
    sensor = fans(machine)
    assert sensor.read() == {
        "fan_rpm.nct6798_fan1": 1203,
        "fan_rpm.nct6798_cpu_fan": 0,
        "fan_rpm.amdgpu_fan1": 2950,
    }
    assert set(sensor.info.columns) == sensor.read().keys()
    assert all(dtype_of(column) for column in sensor.info.columns)
    assert "hwmon0 (nct6798) and hwmon1 (amdgpu)" in sensor.info.source
    assert sensor.info.details["wakes_drive"] is False


def test_fans_of_the_same_name_have_columns_of_their_own(machine: Machine) -> None:
    assert FanSensor.find(machine.roots) is None
    board(machine, 0, "amdgpu", fan1_input=1000)
    board(machine, 1, "amdgpu", fan1_input=2000)
    board(machine, 2, "odd", fan1_input=3, fan1_label="?", fan2_input=4, fan2_label="!")
    sensor = fans(machine)
    assert sensor.read() == {
        "fan_rpm.amdgpu_fan1": 1000,
        "fan_rpm.amdgpu_fan1_hwmon1_1": 2000,
        "fan_rpm.odd_fan": 3,
        "fan_rpm.odd_fan_hwmon2_2": 4,
    }


def test_a_fan_that_does_not_answer_costs_its_own_column(machine: Machine) -> None:
    node = board(machine, 0, "nct6798", fan1_input=900, fan2_input="?")
    sensor = fans(machine)
    assert sensor.read() == {"fan_rpm.nct6798_fan1": 900}
    assert sensor.last_error is None
    (node / "fan1_input").unlink()
    assert sensor.read() == {}
    assert sensor.last_error == "none of the fans can be read"


def test_fans_belong_to_the_host_and_are_found_beside_any_drive(machine: Machine) -> None:
    machine.nvme(0, "0000:01:00.0", "S1")
    board(machine, 0, "nct6798", fan1_input=900)
    for sensors in (host_sensors(machine.roots), discover("nvme0n1", machine.roots)):
        assert [one.info.name for one in sensors].count("fans") == 1
        for one in sensors:
            one.close()
