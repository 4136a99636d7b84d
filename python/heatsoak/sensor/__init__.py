"""Sensors that are read during a run: one module per source, skipped where it is absent."""

from pathlib import Path

from heatsoak.sensor import hwmon, nvme, sysfs
from heatsoak.sensor.base import Roots, Sensor, SensorInfo
from heatsoak.sensor.cpu import CpuSensor
from heatsoak.sensor.gpu import GpuSensor
from heatsoak.sensor.hwmon import FanSensor
from heatsoak.sensor.link import LinkSensor
from heatsoak.sensor.nvme_admin import Ioctl
from heatsoak.sensor.poller import Poller
from heatsoak.sensor.sysfs import device_behind
from heatsoak.sensor.traffic import BusyTime, CountersSensor, TrafficSensor

__all__ = [
    "BusyTime",
    "CountersSensor",
    "Poller",
    "Roots",
    "Sensor",
    "SensorInfo",
    "busy_time",
    "device_behind",
    "discover",
    "drive_sensors",
    "host_sensors",
]


def discover(
    device: str | None,
    roots: Roots | None = None,
    *,
    power: str | None = None,
    ioctl: Ioctl | None = None,
) -> list[Sensor]:
    """Return the sensors of a drive and of the host.

    `device` is a kernel block device name (``nvme0n1``, ``sda``), or None for the host alone;
    `power` names an hwmon node that measures the drive's power, which takes precedence over other
    sources of power. Raises UsageError if there is no such node.
    """
    roots = roots or Roots()
    own = [] if device is None else drive_sensors(device, roots, ioctl=ioctl)
    meter = [] if power is None else [hwmon.named_power(power, roots)]
    return [*_powered_once([*meter, *own]), *host_sensors(roots)]


def drive_sensors(device: str, roots: Roots, *, ioctl: Ioctl | None = None) -> list[Sensor]:
    """Return the sensors of one drive by its kernel name; it is normal to have none.

    A partition stands for its disk. `ioctl` replaces fcntl.ioctl.
    """
    directory = sysfs.directory_of_name(device, roots)
    if directory is None:
        return []
    disk = sysfs.whole_disk(directory)
    carrier = sysfs.disk_under_loop(disk, roots) or disk
    around: list[Sensor | None] = [
        hwmon.power_of_drive(disk, roots),
        *_thermometers(disk, roots, ioctl),
        nvme.PowerStateSensor.find(disk, roots, ioctl),
        nvme.VendorLogSensor.find(disk, roots),
        TrafficSensor.find(carrier),
        LinkSensor.find(disk),
    ]
    return _powered_once([sensor for sensor in around if sensor is not None])


def busy_time(device: str, roots: Roots) -> BusyTime | None:
    """Return what measures how busy a drive is, by its kernel name; None if it does not exist."""
    directory = sysfs.directory_of_name(device, roots)
    if directory is None:
        return None
    disk = sysfs.whole_disk(directory)
    return BusyTime(sysfs.disk_under_loop(disk, roots) or disk)


def host_sensors(roots: Roots) -> list[Sensor]:
    """Return the sensors of CPU, graphics cards and fans."""
    found: list[Sensor | None] = [CpuSensor.find(roots), GpuSensor.find(), FanSensor.find(roots)]
    return [sensor for sensor in found if sensor is not None]


def _powered_once(sensors: list[Sensor]) -> list[Sensor]:
    """Take power from the first sensor that has it: a measuring node before the health log."""
    kept: list[Sensor] = []
    for sensor in sensors:
        if any("power_w" in other.info.columns for other in kept):
            if isinstance(sensor, hwmon.HwmonPower):
                continue
            if isinstance(sensor, nvme.NvmeSensor):
                sensor.leave_out("power_w")
        kept.append(sensor)
    return kept


def _thermometers(disk: Path, roots: Roots, ioctl: Ioctl | None) -> list[Sensor]:
    """Return the temperature sensors; a drive with a health log is not also read through hwmon."""
    log = nvme.NvmeSensor.find(disk, roots, ioctl)
    nodes = hwmon.of_drive(disk, roots)
    if log is None:
        return _distinct(nodes)
    return [log, *_distinct([node for node in nodes if node.info.name != "nvme"])]


def _distinct(nodes: list[hwmon.HwmonSensor]) -> list[Sensor]:
    """Drop nodes whose columns an earlier node fills (one drive with several controllers)."""
    kept: list[Sensor] = []
    columns: set[str] = set()
    for node in nodes:
        if columns.isdisjoint(node.info.columns):
            kept.append(node)
            columns.update(node.info.columns)
    return kept
