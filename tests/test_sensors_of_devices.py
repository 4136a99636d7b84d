"""All traffic of a device, and what its link carries: on counters and trees of our own."""

import os
from pathlib import Path

import pytest
from heatsoak.recording.columns import dtype_of
from heatsoak.sensor import Sensor, device_behind, drive_sensors
from heatsoak.sensor.traffic import TrafficSensor
from heatsoak.target.place import parse_place
from hypothesis import given
from hypothesis import strategies as st
from machine import Machine

SECTORS = st.integers(0, 2**40)


def counters(disk: Path, read: int, written: int) -> None:
    """Write `stat` as the kernel does, with something in every other field."""
    fields = [11, 12, read, 14, 15, 16, written, *range(18, 28)]
    (disk / "stat").write_text(" ".join(f"{field:8d}" for field in fields) + "\n")


class Bench:
    """A machine with a disk, whose path in sysfs says what it is on."""

    def __init__(self, base: Path, devices: str = "pci0000:00/0000:01:00.0/nvme/nvme0") -> None:
        self.machine = Machine(base)
        self.roots = self.machine.roots
        self.parent = self.machine.devices / devices
        self.function = self.parent.parent.parent

    def disk(self, name: str, number: str, **queue: object) -> Path:
        disk = self.machine.disk(self.parent, name, number, 1)
        self.machine.write(disk / "queue", **queue)
        return disk

    def trained(self, gigatransfers: float | str, width: int) -> None:
        if not (self.parent / "device").exists():
            self.machine.link(self.parent / "device", self.function)
            self.machine.link(self.parent / "nvme0n1" / "device", self.parent)
        speed = f"{gigatransfers} GT/s PCIe" if width else gigatransfers
        self.machine.write(self.function, current_link_speed=speed, current_link_width=width)

    def sensor(self, name: str, of: str) -> Sensor:
        (found,) = (s for s in drive_sensors(of, self.roots) if s.info.name == name)
        return found


def number_behind(path: Path) -> str:
    """The number of the disk that a path lies on."""
    device = path.stat().st_dev
    return f"{os.major(device)}:{os.minor(device)}"


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


def test_counters_that_went_back_or_were_away_are_counted_from_where_they_are(
    tmp_path: Path,
) -> None:
    clock = Clock()
    counters(tmp_path, 10**9, 10**9)
    sensor = TrafficSensor(tmp_path, clock)
    clock.time_s += 1
    counters(tmp_path, 100, 2_000_000_000)
    assert sensor.read() == {}
    clock.time_s += 2
    counters(tmp_path, 100 + 15625, 2_000_000_000)  # 8 MB
    assert sensor.read() == {"device_read_mb_s": pytest.approx(4.0), "device_write_mb_s": 0.0}
    (tmp_path / "stat").unlink()
    clock.time_s += 1
    assert sensor.read() == {}
    counters(tmp_path, 10**9, 10**10)  # whatever it did while it was away has no time
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
    bench = Bench(tmp_path, devices)
    counters(bench.disk(name, "8:0", iostats=iostats), sectors, sectors)
    names = [sensor.info.name for sensor in drive_sensors(name, bench.roots)]
    assert names == (["traffic"] if counted else [])


def test_traffic_is_of_the_whole_disk_and_says_so(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    disk = bench.disk("nvme0n1", "259:0")
    counters(disk, 5, 5)
    part = disk / "nvme0n1p1"
    part.mkdir()
    (part / "partition").write_text("1\n")
    (part / "dev").write_text("259:1\n")
    counters(part, 1, 1)
    link = bench.roots.sys / "class" / "block" / "nvme0n1p1"
    link.parent.mkdir(parents=True)
    link.symlink_to(part)
    sensor = bench.sensor("traffic", of="nvme0n1p1")
    assert sensor.info.details["device"] == "nvme0n1"
    assert "all traffic of nvme0n1" in sensor.info.source


@pytest.mark.parametrize(("dio", "counted"), [(1, "sda"), (0, "loop0")])
def test_traffic_of_a_loop_device_is_that_of_its_disk_unless_a_cache_is_in_between(
    tmp_path: Path, dio: int, counted: str
) -> None:
    bench = Bench(tmp_path, "virtual/block")
    counters(bench.disk("sda", number_behind(tmp_path)), 5, 5)
    loop = bench.disk("loop0", "7:0")
    counters(loop, 5, 5)
    bench.machine.write(loop / "loop", backing_file=tmp_path / "image", dio=dio)
    assert bench.sensor("traffic", of="loop0").info.details["device"] == counted


def test_a_link_that_retrains_falls_back_or_is_down_is_seen(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "nvme")
    bench.disk("nvme0n1", "259:0")
    bench.trained(8.0, 4)
    sensor = bench.sensor("link", of="nvme0n1")
    assert sensor.read() == {"link_mb_s": 3938.0}
    assert sensor.info.details["link_at_start"]["generation"] == 3
    bench.trained(8.0, 1)
    assert sensor.read() == {"link_mb_s": 985.0}
    bench.trained(2.5, 4)
    assert sensor.read() == {"link_mb_s": 1000.0}
    assert set(sensor.read()) == set(sensor.info.columns)
    bench.trained("Unknown", 0)
    assert sensor.read() == {}
    assert "nvme0n1" in str(sensor.last_error)

    bench = Bench(tmp_path / "sata", "pci0000:00/ata3/host3/target3:0:0/3:0:0:0/block")
    bench.disk("sda", "8:0")
    ata = bench.machine.devices / "pci0000:00/ata3/link3/ata_link/link3"
    bench.machine.write(ata, sata_spd="6.0 Gbps")
    sensor = bench.sensor("link", of="sda")
    assert sensor.read() == {"link_mb_s": 600.0}
    bench.machine.write(ata, sata_spd="1.5 Gbps")
    assert sensor.read() == {"link_mb_s": 150.0}


def test_a_directory_has_the_sensors_of_its_drive_though_the_drive_has_no_node(
    tmp_path: Path,
) -> None:
    """As in a container, whose /dev holds no drives."""
    bench = Bench(tmp_path)
    counters(bench.disk("nvme0n1", number_behind(tmp_path)), 5, 5)
    info = parse_place(str(tmp_path)).device_info(bench.roots)
    assert info is not None
    assert info.name == "nvme0n1"
    assert [sensor.info.name for sensor in drive_sensors(info.name, bench.roots)] == ["traffic"]


def test_the_drive_behind_an_overlay_is_that_of_its_upper_layer(tmp_path: Path) -> None:
    blocks = [path for path in Path("/dev").iterdir() if path.is_block_device()]
    if not blocks:
        pytest.skip("no block device here")
    rdev = blocks[0].stat().st_rdev
    bench = Bench(tmp_path, "x")
    bench.disk("sdq", f"{os.major(rdev)}:{os.minor(rdev)}")
    upper, merged = tmp_path / "layers" / "upper dir", tmp_path / "merged"
    for directory in (upper, merged, bench.roots.proc / "self"):
        directory.mkdir(parents=True, exist_ok=True)

    def mounted(upperdir: Path) -> None:
        layers, place, named = (
            str(path).replace(" ", "\\040") for path in (upper.parent, merged, upperdir)
        )
        (bench.roots.proc / "self" / "mountinfo").write_text(
            f"1 0 0:30 / / rw - tmpfs none rw\n"
            f"2 1 0:40 / {layers} rw - btrfs {blocks[0]} rw,subvol=/a\n"
            f"3 1 0:41 / {place} rw - overlay overlay rw,lowerdir=/l,upperdir={named},workdir=/w\n"
        )

    mounted(upper)
    assert device_behind(merged / "file", bench.roots) == "sdq"
    mounted(Path("/not/seen/from/this/container"))
    assert device_behind(merged / "file", bench.roots) is None
    mounted(merged)  # leads to itself
    assert device_behind(merged / "file", bench.roots) is None
