"""Drives as sysfs shows them, and which temperatures belong to which: on trees of our own."""

import os
from pathlib import Path

import pytest
from heatsoak.errors import UsageError
from heatsoak.sensor import Roots, device_behind, drive_sensors
from heatsoak.target.device import describe_device, list_devices
from heatsoak.target.place import inventory, parse_place
from machine import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_an_nvme_drive_is_described_with_its_link(machine: Machine) -> None:
    machine.nvme(
        *(0, "0000:01:00.0", "S2R9NX0H"),
        current_link_speed="8.0 GT/s PCIe",
        current_link_width=2,
        max_link_speed="8.0 GT/s PCIe",
        max_link_width=4,
    )
    (drive,) = list_devices(machine.roots)
    assert drive.name == "nvme0n1"
    assert drive.model == "Samsung SSD 950 PRO 512GB"
    assert (drive.serial, drive.firmware, drive.transport) == ("S2R9NX0H", "1B0QBXX7", "nvme")
    assert drive.size_bytes == 512 * 10**9
    assert drive.erase_id == "S2R9NX0H"
    assert drive.link == {
        "kind": "pcie",
        "generation": 3,
        "width": 2,
        "ceiling_mb_s": 1969,
        "max_generation": 3,
        "max_width": 4,
        "max_ceiling_mb_s": 3938,
    }


def test_a_drive_is_found_by_its_serial(machine: Machine) -> None:
    machine.nvme(0, "0000:01:00.0", "S2R9NX0H")
    machine.nvme(1, "0000:02:00.0", "S2R9NX0J")
    place = parse_place("S2R9NX0J", machine.roots)
    assert (place.kind, place.text) == ("block", f"{machine.roots.dev}/nvme1n1")
    with pytest.raises(UsageError, match="S2R9: there is no such target"):
        parse_place("S2R9", machine.roots)


def test_a_sata_drive_is_described_by_its_own_words_and_drives_without_a_size_are_left_out(
    machine: Machine,
) -> None:
    machine.sata("a", 3, "S250NXAG")
    machine.disk(machine.devices / "virtual" / "block", "loop0", "7:0", 0)
    machine.disk(machine.devices / "virtual" / "block", "loop1", "7:1", 1)
    loop, drive = sorted(list_devices(machine.roots), key=lambda one: one.name)
    assert (loop.name, loop.transport) == ("loop1", "loop")
    assert drive.model == "Samsung SSD 850 PRO 512GB"
    assert (drive.serial, drive.transport) == ("S250NXAG", "sata")
    assert drive.link == {"kind": "sata", "gbps": 6.0, "ceiling_mb_s": 600}


@pytest.mark.parametrize("serial", ["", "0000000000", "   ", "none", "0123456789ABCDEF"])
def test_a_placeholder_serial_is_not_taken_for_a_serial(machine: Machine, serial: str) -> None:
    machine.nvme(0, "0000:01:00.0", serial)
    (drive,) = list_devices(machine.roots)
    assert drive.serial is None
    assert drive.erase_id == f"{machine.roots.dev}/nvme0n1:{512 * 10**9}"


def test_namespaces_that_share_a_serial_are_told_apart_by_world_wide_name(machine: Machine) -> None:
    controller, first = machine.nvme(0, "0000:01:00.0", "S2R9NX0H")
    second = machine.disk(controller, "nvme0n2", "259:1", 256)
    machine.link(second / "device", controller)
    machine.write(first, wwid="eui.0025385b61000001")
    machine.write(second, wwid="eui.0025385b61000002")
    one, two = list_devices(machine.roots)
    assert one.serial_shared_with == ("nvme0n2",)
    assert one.erase_ids == ("eui.0025385b61000001",)
    assert two.erase_ids == ("eui.0025385b61000002",)


def test_drives_that_nothing_tells_apart_have_no_name_to_erase_by(machine: Machine) -> None:
    for index in (0, 1):
        _, disk = machine.nvme(index, f"0000:0{index + 1}:00.0", "S2R9NX0H")
        machine.write(disk, wwid="eui.0000000000000001")
    assert [drive.erase_id for drive in list_devices(machine.roots)] == [None, None]


def test_a_partition_is_described_by_its_disk_and_what_is_no_drive_not_at_all(
    machine: Machine,
) -> None:
    _, disk = machine.nvme(0, "0000:01:00.0", "S2R9NX0H")
    part = machine.write(disk / "nvme0n1p1", partition=1, dev="259:7", size=2048)
    machine.link(machine.roots.sys / "class" / "block" / "nvme0n1p1", part)
    assert describe_device("nvme0n1p1", machine.roots).name == "nvme0n1"
    for path in ("/dev/null", "/", "nvme9n9", "/dev/absent", ""):
        with pytest.raises(UsageError, match="not a block device"):
            describe_device(path, machine.roots)


def test_temperatures_belong_to_the_drive_that_is_their_parent(machine: Machine) -> None:
    first, _ = machine.nvme(0, "0000:01:00.0", "A1")
    second, _ = machine.nvme(1, "0000:02:00.0", "B2")
    sata = machine.sata("a", 3, "C3")
    other = machine.sata("b", 4, "D4")
    machine.hwmon(0, second, "nvme", temp1_input=51850, temp1_label="Composite")
    machine.hwmon(1, first, "nvme", temp1_input=41850, temp1_label="Composite")
    machine.hwmon(2, other, "drivetemp", temp1_input=33000)
    machine.hwmon(3, sata, "drivetemp", temp1_input=29000)
    assert machine.temperatures("nvme0n1") == {"temp_c.composite": 41.85}
    assert machine.temperatures("nvme1n1") == {"temp_c.composite": 51.85}
    assert machine.temperatures("sda") == {"temp_c.drive": 29.0}
    assert machine.temperatures("sdb") == {"temp_c.drive": 33.0}
    assert machine.temperatures("sdc") == {}
    # or to the controller at the PCI function that is their parent
    third, _ = machine.nvme(2, "0000:03:00.0", "E5")
    machine.hwmon(4, (third / "device").resolve(), "nvme", temp1_input=40850)
    assert machine.temperatures("nvme2n1") == {"temp_c.composite": 40.85}
    assert machine.temperatures("nvme0n1") == {"temp_c.composite": 41.85}


def test_a_namespace_of_a_subsystem_finds_its_controllers(machine: Machine) -> None:
    controller, _ = machine.nvme(0, "0000:01:00.0", "A1")
    machine.hwmon(0, controller, "nvme", temp1_input=44850)
    subsystem = machine.devices / "virtual" / "nvme-subsystem" / "nvme-subsys0"
    disk = machine.disk(subsystem, "nvme5n1", "259:50", 512)
    machine.link(disk / "device", subsystem)
    machine.link(subsystem / "nvme0", controller)
    assert machine.temperatures("nvme5n1") == {"temp_c.composite": 44.85}
    assert describe_device("nvme5n1", machine.roots).serial == "A1"


def test_all_sensors_of_a_node_are_read_and_its_possible_limits(machine: Machine) -> None:
    controller, _ = machine.nvme(0, "0000:01:00.0", "A1")
    node = machine.hwmon(
        *(0, controller, "nvme"),
        temp1_input=60850,
        temp1_label="Composite",
        temp1_crit=84850,
        temp1_max=65261850,
        temp1_min=-273150,
        temp2_input=63850,
        temp2_label="Sensor 1",
        temp9_input=70850,
        temp9_label="Sensor 8",
    )
    (sensor,) = drive_sensors("nvme0n1", machine.roots)
    assert sensor.info.thresholds == {"critical_c": 84.85}
    assert sensor.info.columns == ("temp_c.composite", "temp_c.sensor1", "temp_c.sensor8")
    assert sensor.read()["temp_c.sensor8"] == 70.85
    (node / "temp2_input").unlink()
    (node / "temp9_input").write_text("not a number")
    assert sensor.read() == {"temp_c.composite": 60.85}
    (node / "temp1_input").unlink()
    assert sensor.read() == {}


def test_the_disk_behind_a_file_is_found_through_partitions_and_volumes(
    machine: Machine, tmp_path: Path
) -> None:
    status = tmp_path.stat()
    number = f"{os.major(status.st_dev)}:{os.minor(status.st_dev)}"
    _, disk = machine.nvme(0, "0000:01:00.0", "A1")
    part = machine.write(disk / "nvme0n1p2", partition=2, dev="259:7")
    volume = machine.disk(machine.devices / "virtual" / "block", "dm-0", number, 100)
    machine.link(volume / "slaves" / "nvme0n1p2", part)
    assert device_behind(tmp_path, machine.roots) == "nvme0n1"
    assert device_behind(tmp_path / "yet" / "to be made", machine.roots) == "nvme0n1"
    machine.link(volume / "slaves" / "sdz", volume)
    assert device_behind(tmp_path, machine.roots) == "dm-0"
    nothing = Roots(sys=tmp_path / "no", dev=tmp_path / "no", proc=tmp_path / "no")
    assert list_devices(nothing) == []
    assert drive_sensors("nvme0n1", nothing) == []
    assert device_behind(tmp_path, nothing) is None


def test_the_disk_behind_a_file_system_with_numbers_of_its_own_is_named_by_its_mount(
    machine: Machine, tmp_path: Path
) -> None:
    block = next((path for path in Path("/dev").iterdir() if path.is_block_device()), None)
    if block is None:
        pytest.skip("no block device here")
    rdev = block.stat().st_rdev
    machine.disk(machine.devices / "x", "sdq", f"{os.major(rdev)}:{os.minor(rdev)}", 1)
    place = str(tmp_path.parent).replace(" ", "\\040")
    machine.write(
        machine.roots.proc / "self",
        mountinfo=f"1 0 0:40 / / rw - btrfs /dev/none rw\n2 1 0:41 / {place} rw - btrfs {block} rw",
    )
    assert device_behind(tmp_path, machine.roots) == "sdq"


def test_the_inventory_says_what_each_drive_is_and_why_it_would_not_be_written(
    machine: Machine,
) -> None:
    controller, _ = machine.nvme(0, "0000:01:00.0", "A1")
    machine.hwmon(0, controller, "nvme", temp1_input=44850)
    machine.disk(machine.devices / "virtual" / "block", "zram0", "253:0", 1)
    (row,) = (row for row in inventory(machine.roots) if not row.simulated)
    assert (row.id, row.model, row.serial) == ("A1", "Samsung SSD 950 PRO 512GB", "A1")
    assert row.path == f"{machine.roots.dev}/nvme0n1"
    assert row.sensors == ["temp_c.composite"]
    assert not row.simulated
    assert not row.writable
    assert "does not exist" in row.why  # this machine's /dev is empty
