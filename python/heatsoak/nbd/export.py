"""Which drive is served and how fast, the plugin's configuration, and the sensors as files."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from heatsoak.catalog import Drive, Enclosure
from heatsoak.errors import UsageError
from heatsoak.recording.files import made, reporting_write_errors
from heatsoak.target.simulated import stated_limits_c
from heatsoak.units import MB
from heatsoak.words import size_text

#: A slower drive would be scaled down to a few blocks of flash, or none.
MIN_SPEED_MB_S = 1.0
MAX_TIME_FACTOR = 1000.0


@dataclass(frozen=True)
class Export:
    """A simulated drive in an enclosure, to be served.

    Attributes:
        speed_mb_s: maximum throughput for the host, in MB/s by the host's clock; None for the
            drive's full speed.
        time_factor: seconds on the drive's clock per second of the host's, 1 or more.
    """

    drive: Drive
    enclosure: Enclosure
    speed_mb_s: float | None = None
    time_factor: float = 1.0

    def __post_init__(self) -> None:
        """Raise UsageError for a speed or a factor that cannot be served."""
        if not 1 <= self.time_factor <= MAX_TIME_FACTOR:
            raise UsageError(
                f"--time-factor {self.time_factor:g}: must be 1 (real time) to {MAX_TIME_FACTOR:g}"
            )
        if self.speed_mb_s is None:
            return
        top_mb_s = self.top_mb_s * self.time_factor
        if not MIN_SPEED_MB_S <= self.speed_mb_s <= top_mb_s:
            raise UsageError(
                f"--speed of {size_text(self.speed_mb_s * MB)}/s: {self.drive.id} in "
                f"{self.enclosure.id} can be served at {size_text(MIN_SPEED_MB_S * MB)} to "
                f"{size_text(top_mb_s * MB)} per second"
            )

    @property
    def top_mb_s(self) -> float:
        """The drive's maximum throughput, in MB/s by its own clock."""
        controller, link = self.drive.controller, self.enclosure.link_mb_s
        path_mb_s = max(controller.read_mb_s.value, controller.write_mb_s.value)
        return path_mb_s if link is None else min(path_mb_s, link.value)

    @property
    def speed_share(self) -> float:
        """The share of its full speed that it is slowed down to, by its own clock."""
        if self.speed_mb_s is None:
            return 1.0
        return self.speed_mb_s / (self.top_mb_s * self.time_factor)

    @property
    def sensors(self) -> list[str]:
        """Its sensors in the order of the kernel's numbers; the first is the composite."""
        return sorted(self.drive.sensors)

    def plugin_config(self, inputs: dict[str, Path], truth: Path | None) -> str:
        """Return the plugin's configuration as JSON (`crates/nbd/src/config.rs`).

        `inputs` are the files for the sensors' temperatures, `truth` the one for the true state.
        """
        return json.dumps(
            {
                "drive": json.loads(self.drive.core_json()),
                "enclosure": json.loads(self.enclosure.core_json()),
                "speed_share": self.speed_share,
                "time_factor": self.time_factor,
                "inputs": {name: str(path.absolute()) for name, path in inputs.items()},
                "truth": None if truth is None else str(truth.absolute()),
            }
        )


_ZERO_MILLI_C = -273150
_UNSET_MILLI_C = 65535 * 1000 + _ZERO_MILLI_C
_PCI = "devices/pci0000:00/0000:00:1d.0/0000:02:00.0"
_CONTROLLER, _NAMESPACE = "nvme0", "nvme0n1"


def write_tree(directory: Path, export: Export) -> dict[str, Path]:
    """Write a drive's sysfs tree, and return the path of each sensor's temperature file.

    Those files do not exist yet. Raises UsageError if the directory is not empty, ToolError if it
    cannot be written.
    """
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise UsageError(f"{directory}: already exists: name a new directory with --sensors")
    with reporting_write_errors(directory), made(directory):
        try:
            return _write(directory / "sys", export)
        except OSError:
            shutil.rmtree(directory / "sys", ignore_errors=True)
            raise


def _write(sys: Path, export: Export) -> dict[str, Path]:
    controller = sys / _PCI / "nvme" / _CONTROLLER
    namespace, node = controller / _NAMESPACE, controller / "hwmon0"
    for directory in (namespace, node, sys / "block", sys / "class" / "hwmon"):
        directory.mkdir(parents=True)
    (controller / "device").symlink_to(Path("..", ".."))
    for inside in (namespace, node):
        (inside / "device").symlink_to("..")
    (sys / "block" / _NAMESPACE).symlink_to(Path("..", namespace.relative_to(sys)))
    (sys / "class" / "hwmon" / "hwmon0").symlink_to(Path("..", "..", node.relative_to(sys)))

    _fill(controller, {"model": export.drive.model, "serial": "SIMULATED", "firmware_rev": "1"})
    _fill(node, {"name": "nvme", **_limits(export)})
    inputs = {}
    for number, sensor in enumerate(export.sensors, 1):
        label = "Composite" if number == 1 else f"Sensor {number - 1}"
        _fill(node, {f"temp{number}_label": label})
        inputs[sensor] = node / f"temp{number}_input"
    return inputs


def _limits(export: Export) -> dict[str, str]:
    """The limits that the drive states, as the kernel shows them."""
    limits = {"temp1_min": _ZERO_MILLI_C, "temp1_max": _UNSET_MILLI_C, "temp1_alarm": 0}
    stated_c = stated_limits_c(export.drive)
    for name, limit in (("temp1_max", "warning_c"), ("temp1_crit", "critical_c")):
        if limit in stated_c:
            limits[name] = round(stated_c[limit] + 273.15) * 1000 + _ZERO_MILLI_C
    for number in range(2, len(export.sensors) + 1):
        limits |= {f"temp{number}_min": _ZERO_MILLI_C, f"temp{number}_max": _UNSET_MILLI_C}
    return {name: str(milli) for name, milli in limits.items()}


def _fill(directory: Path, values: dict[str, str]) -> None:
    for name, value in values.items():
        (directory / name).write_text(f"{value}\n", "ascii")
