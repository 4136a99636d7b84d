"""All traffic of a device, and what its link carries: on counters and trees of our own."""

import os
from pathlib import Path

import pytest
from heatsoak.recording.columns import dtype_of
from heatsoak.sensor import Roots, Sensor, device_behind, drive_sensors
from heatsoak.sensor.traffic import TrafficSensor
from heatsoak.target.place import parse_place
from hypothesis import given
from hypothesis import strategies as st

SECTORS = st.integers(0, 2**40)


def counters(disk: Path, read: int, written: int) -> None:
    """Write `stat` as the kernel does, with something in every other field."""
    fields = [11, 12, read, 14, 15, 16, written, *range(18, 28)]
    (disk / "stat").write_text(" ".join(f"{field:8d}" for field in fields) + "\n")


class Machine:
    """As much of sysfs as one disk takes."""

    def __init__(self, base: Path, devices: str = "pci0000:00/0000:01:00.0/nvme/nvme0") -> None:
        self.base = base
        self.roots = Roots(sys=base / "sys", dev=base / "dev", proc=base / "proc")
        self.parent = self.roots.sys / "devices" / devices
        self.function = self.parent.parent.parent

    def disk(self, name: str, number: str, **queue: object) -> Path:
        disk = self.parent / name
        (disk / "queue").mkdir(parents=True)
        (disk / "dev").write_text(f"{number}\n")
        (disk / "size").write_text("1000000\n")
        for file, value in queue.items():
            (disk / "queue" / file).write_text(f"{value}\n")
        for link in (Path("block") / name, Path("dev/block") / number):
            place = self.roots.sys / link
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(os.path.relpath(disk, place.parent))
        return disk

    def trained(self, gigatransfers: float, width: int) -> None:
        if not (self.parent / "device").exists():
            (self.parent / "device").symlink_to(self.function)
            (self.parent / "nvme0n1" / "device").symlink_to(self.parent)
        (self.function / "current_link_speed").write_text(f"{gigatransfers} GT/s PCIe\n")
        (self.function / "current_link_width").write_text(f"{width}\n")

    def sensor(self, name: str, of: str) -> Sensor:
        (found,) = (s for s in drive_sensors(of, self.roots) if s.info.name == name)
        return found


class Clock:
    def __init__(self) -> None:
        self.time_s = 5.0

    def __call__(self) -> float:
        return self.time_s


@given(SECTORS, SECTORS, SECTORS, SECTORS, st.floats(0.01, 1e4))
def test_traffic_is_the_mean_since_the_last_reading_or_nothing_where_counters_went_back(
    tmp_path_factory: pytest.TempPathFactory,
    read: int,
    written: int,
    read_later: int,
    written_later: int,
    elapsed_s: float,
) -> None:
    disk = tmp_path_factory.mktemp("disk")
    clock = Clock()
    counters(disk, read, written)
    sensor = TrafficSensor(disk, clock)
    clock.time_s += elapsed_s
    counters(disk, read_later, written_later)
    values = sensor.read()
    if read_later < read or written_later < written:
        assert values == {}
        assert sensor.last_error is not None
        return
    assert values["device_read_mb_s"] * elapsed_s * 1e6 == pytest.approx((read_later - read) * 512)
    assert values["device_write_mb_s"] * elapsed_s * 1e6 == pytest.approx(
        (written_later - written) * 512
    )
    assert set(values) == set(sensor.info.columns)
    assert all(dtype_of(column) for column in values)


def test_after_counters_went_back_the_next_reading_counts_from_there(tmp_path: Path) -> None:
    clock = Clock()
    counters(tmp_path, 10**9, 10**9)
    sensor = TrafficSensor(tmp_path, clock)
    clock.time_s += 1
    counters(tmp_path, 100, 2_000_000_000)
    assert sensor.read() == {}
    clock.time_s += 2
    counters(tmp_path, 100 + 15625, 2_000_000_000)  # 8 MB
    assert sensor.read() == {"device_read_mb_s": pytest.approx(4.0), "device_write_mb_s": 0.0}


def test_a_device_that_is_gone_gives_nothing_and_starts_over_when_it_is_back(
    tmp_path: Path,
) -> None:
    clock = Clock()
    counters(tmp_path, 0, 0)
    sensor = TrafficSensor(tmp_path, clock)
    (tmp_path / "stat").unlink()
    clock.time_s += 1
    assert sensor.read() == {}
    counters(tmp_path, 10**9, 10**9)  # whatever it did while it was away has no time
    clock.time_s += 1
    assert sensor.read() == {}
    clock.time_s += 1
    assert sensor.read() == {"device_read_mb_s": 0.0, "device_write_mb_s": 0.0}
    assert sensor.last_error is None


@pytest.mark.parametrize("text", ["", "1 2 3", "a b c d e f g h", "1 2 -3 4 5 6 7 8"])
def test_counters_that_cannot_be_read_are_no_sensor(tmp_path: Path, text: str) -> None:
    (tmp_path / "stat").write_text(text)
    assert TrafficSensor.find(tmp_path) is None


@pytest.mark.parametrize(
    ("devices", "name", "iostats", "sectors", "counted"),
    [
        ("pci0000:00/ata1", "sda", 1, 0, True),
        ("pci0000:00/ata1", "sda", 0, 10**6, False),  # switched off: the counters stand still
        ("virtual/block", "dm-0", 0, 10**6, True),  # counts all the same
        ("virtual/nvme-subsystem/nvme-subsys0", "nvme0n1", 0, 0, False),
        ("virtual/block", "loop0", 1, 0, True),
    ],
)
def test_a_device_whose_traffic_the_kernel_does_not_count_has_no_such_sensor(
    tmp_path: Path, devices: str, name: str, iostats: int, sectors: int, counted: bool
) -> None:
    machine = Machine(tmp_path, devices)
    counters(machine.disk(name, "8:0", iostats=iostats), sectors, sectors)
    names = [sensor.info.name for sensor in drive_sensors(name, machine.roots)]
    assert names == (["traffic"] if counted else [])


def test_traffic_is_of_the_whole_disk_and_says_so(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    disk = machine.disk("nvme0n1", "259:0")
    counters(disk, 5, 5)
    part = disk / "nvme0n1p1"
    part.mkdir()
    (part / "partition").write_text("1\n")
    (part / "dev").write_text("259:1\n")
    counters(part, 1, 1)
    link = machine.roots.sys / "class" / "block" / "nvme0n1p1"
    link.parent.mkdir(parents=True)
    link.symlink_to(part)
    sensor = machine.sensor("traffic", of="nvme0n1p1")
    assert sensor.info.details["device"] == "nvme0n1"
    assert "all traffic of nvme0n1" in sensor.info.source


@pytest.mark.parametrize(("dio", "counted"), [(1, "sda"), (0, "loop0")])
def test_traffic_of_a_loop_device_is_that_of_its_disk_unless_a_cache_is_in_between(
    tmp_path: Path, dio: int, counted: str
) -> None:
    machine = Machine(tmp_path, "virtual/block")
    device = tmp_path.stat().st_dev
    counters(machine.disk("sda", f"{os.major(device)}:{os.minor(device)}"), 5, 5)
    loop = machine.disk("loop0", "7:0")
    counters(loop, 5, 5)
    (loop / "loop").mkdir()
    (loop / "loop" / "backing_file").write_text(f"{tmp_path / 'image'}\n")
    (loop / "loop" / "dio").write_text(f"{dio}\n")
    assert machine.sensor("traffic", of="loop0").info.details["device"] == counted


def test_a_link_that_retrains_is_seen(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.disk("nvme0n1", "259:0")
    machine.trained(8.0, 4)
    sensor = machine.sensor("link", of="nvme0n1")
    assert sensor.read() == {"link_mb_s": 3938.0}
    assert sensor.info.details["link_at_start"]["generation"] == 3
    machine.trained(8.0, 1)
    assert sensor.read() == {"link_mb_s": 985.0}
    machine.trained(2.5, 4)
    assert sensor.read() == {"link_mb_s": 1000.0}
    assert set(sensor.read()) == set(sensor.info.columns)


def test_a_link_that_is_down_gives_nothing_and_says_why(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.disk("nvme0n1", "259:0")
    machine.trained(16.0, 4)
    sensor = machine.sensor("link", of="nvme0n1")
    (machine.function / "current_link_speed").write_text("Unknown\n")
    (machine.function / "current_link_width").write_text("0\n")
    assert sensor.read() == {}
    assert "nvme0n1" in str(sensor.last_error)


def test_a_sata_link_that_falls_back_is_seen(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "pci0000:00/ata3/host3/target3:0:0/3:0:0:0/block")
    machine.disk("sda", "8:0")
    speed = machine.roots.sys / "devices/pci0000:00/ata3/link3/ata_link/link3/sata_spd"
    speed.parent.mkdir(parents=True)
    speed.write_text("6.0 Gbps\n")
    sensor = machine.sensor("link", of="sda")
    assert sensor.read() == {"link_mb_s": 600.0}
    speed.write_text("1.5 Gbps\n")
    assert sensor.read() == {"link_mb_s": 150.0}


def test_a_directory_has_the_sensors_of_its_drive_though_the_drive_has_no_node(
    tmp_path: Path,
) -> None:
    """As in a container, whose /dev holds no drives."""
    device = tmp_path.stat().st_dev
    machine = Machine(tmp_path)
    counters(machine.disk("nvme0n1", f"{os.major(device)}:{os.minor(device)}"), 5, 5)
    info = parse_place(str(tmp_path)).device_info(machine.roots)
    assert info is not None
    assert info.name == "nvme0n1"
    assert [sensor.info.name for sensor in drive_sensors(info.name, machine.roots)] == ["traffic"]


def test_the_drive_behind_an_overlay_is_that_of_its_upper_layer(tmp_path: Path) -> None:
    blocks = [path for path in Path("/dev").iterdir() if path.is_block_device()]
    if not blocks:
        pytest.skip("no block device here")
    rdev = blocks[0].stat().st_rdev
    machine = Machine(tmp_path, "x")
    machine.disk("sdq", f"{os.major(rdev)}:{os.minor(rdev)}")
    upper, merged = tmp_path / "layers" / "upper dir", tmp_path / "merged"
    for directory in (upper, merged, machine.roots.proc / "self"):
        directory.mkdir(parents=True)

    def mounted(upperdir: Path) -> None:
        layers, place, named = (
            str(path).replace(" ", "\\040") for path in (upper.parent, merged, upperdir)
        )
        (machine.roots.proc / "self" / "mountinfo").write_text(
            f"1 0 0:30 / / rw - tmpfs none rw\n"
            f"2 1 0:40 / {layers} rw - btrfs {blocks[0]} rw,subvol=/a\n"
            f"3 1 0:41 / {place} rw - overlay overlay rw,lowerdir=/l,upperdir={named},workdir=/w\n"
        )

    mounted(upper)
    assert device_behind(merged / "file", machine.roots) == "sdq"
    mounted(Path("/not/seen/from/this/container"))
    assert device_behind(merged / "file", machine.roots) is None
    mounted(merged)  # leads to itself
    assert device_behind(merged / "file", machine.roots) is None
