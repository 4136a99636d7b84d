"""Sensors on real pages and trees of our own, and the poller with sensors that misbehave."""

import ctypes
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from heatsoak.recording.columns import dtype_of
from heatsoak.sensor import Poller, Roots, Sensor, SensorInfo, discover
from heatsoak.sensor.base import SUSPECT_READINGS
from heatsoak.sensor.cpu import CpuSensor
from heatsoak.sensor.gpu import GpuSensor
from heatsoak.sensor.nvme import NvmeSensor, parse_health_log, parse_identify
from heatsoak.sensor.nvme_admin import NvmeAdmin
from hypothesis import given
from hypothesis import strategies as st
from machine import Machine

WAIT_S = 30.0


def health_log(
    composite: int = 350,
    sensors: tuple[int, ...] = (),
    minutes: tuple[int, int] = (0, 0),
    counts: tuple[int, int] = (0, 0),
    seconds: tuple[int, int] = (0, 0),
    warning: int = 0,
) -> bytes:
    """Return log page 02h, with something in every field that is not asked for."""
    page = bytearray(b"\xa5" * 512)
    struct.pack_into("<BHBBB", page, 0, warning, composite, 100, 10, 3)
    struct.pack_into("<II", page, 192, *minutes)
    struct.pack_into("<8H", page, 200, *(*sensors, *[0] * (8 - len(sensors))))
    struct.pack_into("<4I", page, 216, *counts, *seconds)
    return bytes(page)


def identify(wctemp: int = 0, cctemp: int = 0, hctma: int = 0, lowest: int = 0) -> bytes:
    page = bytearray(4096)
    page[4:24] = b"S2R9NX0H".ljust(20)
    page[24:64] = b"Samsung SSD 950 PRO 512GB".ljust(40)
    page[64:72] = b"1B0QBXX7"
    struct.pack_into("<HH", page, 266, wctemp, cctemp)
    struct.pack_into("<HHH", page, 322, hctma, lowest, 0)
    return bytes(page)


class FakeDrive:
    """Answers admin commands as a drive does: into the caller's memory."""

    def __init__(self, log: bytes, controller: bytes = identify(), features: int = 0) -> None:
        self.log = log
        self.controller = controller
        self.features = features
        self.opcodes: list[int] = []
        self.error: OSError | None = None

    def ioctl(self, _fd: int, request: int, command: bytearray) -> int:
        assert request == 0xC0484E41
        assert len(command) == 72
        opcode = command[0]
        (address,) = struct.unpack_from("<Q", command, 24)
        (length,) = struct.unpack_from("<I", command, 36)
        (cdw10,) = struct.unpack_from("<I", command, 40)
        self.opcodes.append(opcode)
        if self.error is not None:
            raise self.error
        match opcode:
            case 0x02:
                assert (length, cdw10) == (512, 127 << 16 | 2)
                ctypes.memmove(address, self.log, 512)
            case 0x06:
                assert (length, cdw10) == (4096, 1)
                ctypes.memmove(address, self.controller, 4096)
            case 0x0A:
                struct.pack_into("<I", command, 68, self.features)
            case _:
                return 0x4001  # invalid opcode, do not retry
        return 0


@pytest.fixture
def node(tmp_path: Path) -> Path:
    path = tmp_path / "nvme0"
    path.touch()
    return path


def sensor_of(drive: FakeDrive, node: Path) -> NvmeSensor:
    return NvmeSensor(NvmeAdmin(node, drive.ioctl), "nvme0")


def test_a_health_log_gives_temperatures_counts_and_times() -> None:
    page = health_log(
        355, sensors=(350, 0, 361), minutes=(7, 2), counts=(11, 3), seconds=(640, 25), warning=4
    )
    counters = {
        "critical_warning": 4,
        "throttle_time_s.warning": 420,
        "throttle_time_s.critical": 120,
        "throttle_count.tmt1": 11,
        "throttle_count.tmt2": 3,
        "throttle_time_s.tmt1": 640,
        "throttle_time_s.tmt2": 25,
    }
    temps = {"temp_c.composite": 81.85, "temp_c.sensor1": 76.85, "temp_c.sensor3": 87.85}
    assert parse_health_log(page) == temps | counters
    # a drive without any temperature still gives its counters
    assert parse_health_log(health_log(composite=0)).keys() == counters.keys()


@given(st.binary(max_size=1024) | st.binary(min_size=512, max_size=512))
def test_any_512_bytes_are_read_into_known_columns_and_others_are_an_error(page: bytes) -> None:
    if len(page) != 512:
        with pytest.raises(ValueError, match="512"):
            parse_health_log(page)
        return
    for column, value in parse_health_log(page).items():
        assert dtype_of(column)
        assert value >= -273.15


@given(st.binary(min_size=1, max_size=400))
def test_any_identify_page_is_read(part: bytes) -> None:
    thresholds, details = parse_identify((part * 4096)[:4096])
    assert set(thresholds) <= {"warning_c", "critical_c", "tmt_min_c", "tmt_max_c"}
    assert set(details) == {"serial", "model", "firmware", "host_thermal_management"}


def test_limits_are_read_once_and_the_log_each_time(node: Path) -> None:
    drive = FakeDrive(
        health_log(), identify(wctemp=350, cctemp=358, hctma=1, lowest=273), 343 << 16 | 348
    )
    sensor = sensor_of(drive, node)
    assert sensor.info.thresholds == {
        "warning_c": 76.85,
        "critical_c": 84.85,
        "tmt_min_c": -0.15,
        "tmt1_c": 69.85,
        "tmt2_c": 74.85,
    }
    assert sensor.info.details["serial"] == "S2R9NX0H"
    drive.opcodes.clear()
    sensor.read()
    sensor.read()
    assert drive.opcodes == [0x02, 0x02]


def test_a_drive_that_stops_answering_gives_nothing_and_one_that_refuses_is_no_sensor(
    tmp_path: Path, node: Path
) -> None:
    drive = FakeDrive(health_log())
    sensor = sensor_of(drive, node)
    drive.error = OSError(19, "No such device")
    assert sensor.read() == {}
    assert "No such device" in str(sensor.last_error)
    drive.error = None
    assert sensor.read()["temp_c.composite"] == 76.85
    assert sensor.last_error is None
    sensor.close()
    sensor.close()
    disk = tmp_path / "sys" / "nvme0" / "nvme0n1"
    disk.mkdir(parents=True)
    (disk / "device").symlink_to(disk.parent)
    drive.error = PermissionError(13, "Permission denied")
    assert NvmeSensor.find(disk, Roots(dev=node.parent), drive.ioctl) is None
    drive.error = None
    assert NvmeSensor.find(disk, Roots(dev=node.parent), drive.ioctl) is not None


def test_a_temperature_that_never_leaves_313_kelvin_is_flagged_once(node: Path) -> None:
    drive = FakeDrive(health_log(composite=313, sensors=(313, 330)))
    sensor = sensor_of(drive, node)
    assert sensor.info.details["reads_313_k_at_start"] == ["temp_c.composite", "temp_c.sensor1"]
    for _ in range(SUSPECT_READINGS // 2):
        sensor.read()
    assert sensor.notes() == []
    drive.log = health_log(composite=313, sensors=(314, 330))
    sensor.read()
    drive.log = health_log(composite=313, sensors=(313, 330))
    for _ in range(SUSPECT_READINGS * 2):
        sensor.read()
    (note,) = sensor.notes()
    assert "temp_c.composite" in note
    assert "313 K" in note
    assert sensor.notes() == []


def proc(base: Path, stat: str, load: str = "1.50 1.20 1.00 2/300 1234") -> Roots:
    base.mkdir(exist_ok=True)
    (base / "stat").write_text(stat)
    (base / "loadavg").write_text(load)
    return Roots(proc=base, sys=base / "sys")


def cpu_sensor(base: Path, stat: str) -> CpuSensor:
    sensor = CpuSensor.find(proc(base, stat))
    assert sensor is not None
    return sensor


def test_cpu_use_is_the_share_of_all_cores_since_the_last_reading(tmp_path: Path) -> None:
    sensor = cpu_sensor(tmp_path, "cpu  100 0 100 800 0 0 0 0 0 0\n")
    assert sensor.info.columns == ("cpu_pct", "cpu_steal_pct", "host_load")
    proc(tmp_path, "cpu  150 0 120 810 20 0 0 0 50 0\n")
    assert sensor.read() == {"cpu_pct": 70.0, "cpu_steal_pct": 0.0, "host_load": 1.5}
    assert sensor.read() == {"host_load": 1.5}  # no time has passed
    cores = "cpu0 0 0 0 100 0 0 0 0\ncpu1 5 5 5 85 0 0 0 0\ncpu2 0 0 0 100 0 0 0 0\n"
    sensor = cpu_sensor(tmp_path, f"cpu  5 5 5 285 0 0 0 0\n{cores}intr 7 7 7 7 7 7\n")
    assert "cpu_core_pct" in sensor.info.columns
    # one thread has had core 1 to itself, while a hypervisor took half of core 2
    cores = "cpu0 0 0 0 200 0 0 0 0\ncpu1 55 5 55 85 0 0 0 0\ncpu2 0 0 0 150 0 0 0 50\n"
    proc(tmp_path, f"cpu  55 5 55 435 0 0 0 50\n{cores}intr 7 7 7 7 7 7\n")
    values = sensor.read()
    assert values["cpu_pct"] == 50.0
    assert values["cpu_core_pct"] == 100.0
    assert values["cpu_steal_pct"] == pytest.approx(100 * 50 / 300)


def test_a_few_ticks_or_a_core_that_is_new_are_not_taken_for_a_saturated_core(
    tmp_path: Path,
) -> None:
    sensor = cpu_sensor(tmp_path, "cpu  0 0 0 0 0\ncpu0 0 0 0 0 0\n")
    assert "cpu_steal_pct" not in sensor.info.columns  # a kernel that does not tell
    proc(tmp_path, "cpu  2 0 0 0 0\ncpu0 2 0 0 0 0\n")
    assert sensor.read() == {"host_load": 1.5}
    proc(tmp_path, "cpu  2 0 0 98 0\ncpu0 2 0 0 98 0\n")
    values = sensor.read()  # since the first reading: the one between was too soon
    assert (values["cpu_pct"], values["cpu_core_pct"]) == (2.0, 2.0)
    sensor = cpu_sensor(tmp_path, "cpu  0 0 0 100 0\ncpu0 0 0 0 100 0\n")
    proc(tmp_path, "cpu  999 0 0 200 0\ncpu0 0 0 0 200 0\ncpu1 999 0 0 0 0\n")
    assert sensor.read()["cpu_core_pct"] == 0.0


_TICKS = st.integers(0, 10**6)
_LINES = st.lists(st.tuples(*[_TICKS] * 8), min_size=1, max_size=4)


@pytest.mark.slow
@given(_LINES, _LINES)
def test_shares_of_cpu_time_stay_shares_whatever_the_counters_do(
    tmp_path_factory: pytest.TempPathFactory,
    before: list[tuple[int, ...]],
    after: list[tuple[int, ...]],
) -> None:
    base = tmp_path_factory.mktemp("proc")

    def text(cores: list[tuple[int, ...]]) -> str:
        lines = [[sum(column) for column in zip(*cores, strict=True)], *cores]
        names = ["cpu", *(f"cpu{index}" for index in range(len(cores)))]
        return "".join(
            f"{name} {' '.join(map(str, line))}\n" for name, line in zip(names, lines, strict=True)
        )

    sensor = cpu_sensor(base, text(before))
    proc(base, text(after))
    values = sensor.read()
    shares = {name: value for name, value in values.items() if name.endswith("_pct")}
    assert all(0 <= share <= 100 for share in shares.values())
    # among cores that ran alike, the busiest is no idler than all together
    if len(before) == len(after) == 1 and shares:
        assert shares["cpu_core_pct"] == shares["cpu_pct"]


def test_the_warmest_cpu_package_is_read(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    proc(machine.roots.proc, "cpu  1 0 1 8 0 0 0 0 0 0\n")
    for index, milli in enumerate((61000, 67000)):
        machine.hwmon(
            *(index, machine.devices / f"coretemp.{index}", "coretemp"),
            temp1_label=f"Package id {index}",
            temp1_input=milli,
            temp2_label="Core 0",
            temp2_input=99000,
        )
    sensor = CpuSensor.find(machine.roots)
    assert sensor is not None
    assert sensor.read()["temp_c.cpu"] == 67.0


@pytest.mark.parametrize("text", ["", "cpu", "cpu a b c d e f", "intr 1 2 3 4 5 6"])
def test_a_proc_that_says_nothing_is_not_a_sensor(tmp_path: Path, text: str) -> None:
    assert CpuSensor.find(proc(tmp_path, text, load="")) is None
    assert discover(None, Roots(proc=tmp_path / "no", sys=tmp_path / "no")) == []


def fake_nvml(cards: int, starts: bool = True) -> Any:
    """What is used of NVML, with cards of which the first alone knows its power."""

    class NVMLError(Exception):
        pass

    def init() -> None:
        if not starts:
            raise NVMLError("Driver Not Loaded")

    def power_mw(index: int) -> int:
        if index:
            raise NVMLError("Not Supported")
        return 215_500

    shut: list[None] = []
    return SimpleNamespace(
        NVML_TEMPERATURE_GPU=0,
        NVMLError=NVMLError,
        shut=shut,
        nvmlInit=init,
        nvmlShutdown=lambda: shut.append(None),
        nvmlDeviceGetCount=lambda: cards,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetName=lambda index: f"Card {index}".encode(),
        nvmlDeviceGetTemperature=lambda index, _kind: 60 + index,
        nvmlDeviceGetUtilizationRates=lambda _index: SimpleNamespace(gpu=97),
        nvmlDeviceGetPowerUsage=power_mw,
    )


def test_cards_give_what_they_have() -> None:
    nvml = fake_nvml(cards=2)
    sensor = GpuSensor.find(nvml)
    assert sensor is not None
    assert sensor.read() == {
        "temp_c.gpu0": 60,
        "gpu_load_pct.gpu0": 97,
        "gpu_power_w.gpu0": 215.5,
        "temp_c.gpu1": 61,
        "gpu_load_pct.gpu1": 97,
    }
    assert set(sensor.info.columns) == set(sensor.read())
    sensor.close()
    sensor.close()
    assert len(nvml.shut) == 1
    assert GpuSensor.find(fake_nvml(cards=1, starts=False)) is None
    assert GpuSensor.find(fake_nvml(cards=0)) is None


class Clock:
    """Counts the times it is asked, so that rows can be told apart without any waiting."""

    def __init__(self) -> None:
        self.ticks = 0

    def now_s(self) -> float:
        self.ticks += 1
        return float(self.ticks)


class FakeSensor(Sensor):
    """A sensor that does as it is told."""

    def __init__(
        self,
        name: str,
        read: Callable[[], dict[str, float]] | None = None,
        interval_s: float = 0.001,
        **details: object,
    ) -> None:
        self.info = SensorInfo(
            name, "a test", (f"temp_c.{name}",), interval_s=interval_s, details=dict(details)
        )
        self._read = read or (lambda: {f"temp_c.{name}": 40.0})

    def read(self) -> dict[str, float]:
        return self._read()

    def close(self) -> None:
        pass


class Log:
    """Collects what a poller says, and waits for it."""

    def __init__(self) -> None:
        self.rows: list[dict[str, float]] = []
        self.notes: list[tuple[str, str]] = []
        self._news = threading.Condition()

    def sink(self, row: dict[str, float]) -> None:
        with self._news:
            self.rows.append(row)
            self._news.notify_all()

    def note(self, level: str, text: str) -> None:
        with self._news:
            self.notes.append((level, text))
            self._news.notify_all()

    def wait(self, until: Callable[[], bool]) -> None:
        with self._news:
            assert self._news.wait_for(until, WAIT_S), "it did not come to that"

    def count(self, column: str) -> int:
        return sum(column in row for row in self.rows)

    def wait_for_more(self, column: str, rows: int) -> None:
        seen = self.count(column)
        self.wait(lambda: self.count(column) > seen + rows)


@contextmanager
def polling(sensors: Sequence[Sensor], log: Log) -> Iterator[Poller]:
    poller = Poller(sensors, Clock(), log.sink, log.note).start()
    try:
        yield poller
    finally:
        poller.stop()


def test_each_row_has_the_time_of_its_reading_and_one_sensors_values() -> None:
    log = Log()
    sensors = [FakeSensor("a"), FakeSensor("b")]
    pending = ["do not trust it"]
    sensors[0].notes = lambda: [pending.pop()] if pending else []  # type: ignore[method-assign]
    with polling(sensors, log) as poller:
        log.wait(lambda: log.count("temp_c.a") > 3 and log.count("temp_c.b") > 3)
    assert all(len(row) == 2 and "t_s" in row for row in log.rows)
    times = [row["t_s"] for row in log.rows]
    assert len(set(times)) == len(times)
    count = len(log.rows)
    assert poller.stop()
    assert len(log.rows) == count
    assert log.notes == [("warning", "a: do not trust it")]
    assert Poller([], Clock(), log.sink).start().stop()
    assert Poller([FakeSensor("a")], Clock(), log.sink).stop()


@pytest.mark.slow
def test_a_sensor_that_hangs_does_not_stop_the_others_and_is_reported() -> None:
    log, release = Log(), threading.Event()

    def hang() -> dict[str, float]:
        release.wait(WAIT_S)
        return {"temp_c.stuck": 1.0}

    poller = Poller(
        [FakeSensor("stuck", hang), FakeSensor("a")], Clock(), log.sink, on_note=log.note
    )
    poller.start()
    try:
        log.wait(lambda: any("stuck" in text and "hung" in text for _, text in log.notes))
        log.wait_for_more("temp_c.a", 3)
        assert not poller.stop(timeout_s=0.05)
    finally:
        release.set()
    assert poller.stop(timeout_s=WAIT_S)
    assert log.count("temp_c.stuck") == 0
    assert len(log.notes) == 1


@pytest.mark.parametrize("raises", [True, False])
def test_a_sensor_that_fails_is_reported_once_and_tried_again(raises: bool) -> None:
    log = Log()
    attempts = []

    def fail_at_first() -> dict[str, float]:
        attempts.append(1)
        if len(attempts) > 3:
            return {"temp_c.a": 40.0}
        if raises:
            raise RuntimeError("it is gone")
        return {}

    with polling([FakeSensor("a", fail_at_first)], log):
        log.wait(lambda: log.count("temp_c.a") > 2)
    assert [level for level, _ in log.notes] == ["warning", "info"]
    assert ("it is gone" in log.notes[0][1]) == raises
    assert "again" in log.notes[1][1]


def test_in_a_pause_the_drive_is_left_alone_and_the_host_is_not() -> None:
    log = Log()
    sensors = [FakeSensor("drive"), FakeSensor("cpu", wakes_drive=False)]
    with polling(sensors, log) as poller:
        log.wait(lambda: log.count("temp_c.drive") > 3)
        poller.slow(3600)
        log.wait_for_more("temp_c.cpu", 5)
        drive = log.count("temp_c.drive")
        log.wait_for_more("temp_c.cpu", 20)
        assert log.count("temp_c.drive") <= drive + 1  # one reading may have been under way
        poller.normal()
        log.wait_for_more("temp_c.drive", 3)
