"""Which drive is served and how fast, what the plugin is told of it, and its sensors as files."""

import json
from dataclasses import dataclass
from pathlib import Path

from heatsoak.catalog import Drive, Enclosure
from heatsoak.errors import ToolError, UsageError
from heatsoak.units import MB, format_bytes

#: Slower ones would have a few blocks of flash left, or none.
SLOWEST_MB_S = 1.0
FASTEST_TIME = 1000.0


@dataclass(frozen=True)
class Export:
    """A simulated drive in a place, to be served.

    Attributes:
        speed_mb_s: what a host gets from it at most, in MB/s of its own clock; None for what the
            drive is made for.
        time_factor: seconds of the drive that pass in one of the host's, from 1 on.
    """

    drive: Drive
    enclosure: Enclosure
    speed_mb_s: float | None = None
    time_factor: float = 1.0

    def __post_init__(self) -> None:
        """Raise UsageError for a speed or a factor that cannot be served."""
        if not 1 <= self.time_factor <= FASTEST_TIME:
            raise UsageError(
                f"--time-factor {self.time_factor:g}: from 1, real time, to {FASTEST_TIME:g}"
            )
        if self.speed_mb_s is None:
            return
        top_mb_s = self.top_mb_s * self.time_factor
        if not SLOWEST_MB_S <= self.speed_mb_s <= top_mb_s:
            raise UsageError(
                f"--speed of {format_bytes(self.speed_mb_s * MB)}/s: {self.drive.id} in "
                f"{self.enclosure.id} can be served at {format_bytes(SLOWEST_MB_S * MB)} to "
                f"{format_bytes(top_mb_s * MB)} a second"
            )

    @property
    def top_mb_s(self) -> float:
        """What the drive reads or writes at most, in MB/s of its own clock."""
        controller, link = self.drive.controller, self.enclosure.link_mb_s
        path_mb_s = max(controller.read_mb_s.value, controller.write_mb_s.value)
        return path_mb_s if link is None else min(path_mb_s, link.value)

    @property
    def speed_share(self) -> float:
        """The share of its own speed that it is slowed to, by its own clock."""
        if self.speed_mb_s is None:
            return 1.0
        return self.speed_mb_s / (self.top_mb_s * self.time_factor)

    @property
    def sensors(self) -> list[str]:
        """Its sensors in the order in which a kernel numbers them; the first is the composite."""
        return sorted(self.drive.sensors)

    def told(self, inputs: dict[str, Path], truth: Path | None) -> str:
        """Return what the plugin reads, as JSON (`crates/nbd/src/config.rs`).

        `inputs` is where the temperature of each sensor goes, `truth` what the drive itself knows.
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
    """Write the tree of a drive, and return the file of each of its sensors' temperatures.

    Those are not there yet. Raises UsageError for a directory that holds something, ToolError for
    one that cannot be written.
    """
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise UsageError(f"{directory}: is there already: name a new directory with --sensors")
    try:
        return _write(directory / "sys", export)
    except OSError as error:
        raise ToolError(f"{directory}: cannot be written: {error.strerror or error}") from error


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
    """Limits of the composite temperature: critical is where the drive shuts down, if it does."""
    limits = {"temp1_min": _ZERO_MILLI_C, "temp1_max": _UNSET_MILLI_C, "temp1_alarm": 0}
    shutdown_c = export.drive.governor.shutdown_c
    if shutdown_c is not None:
        limits["temp1_crit"] = round(shutdown_c.value + 273.15) * 1000 + _ZERO_MILLI_C
    for number in range(2, len(export.sensors) + 1):
        limits |= {f"temp{number}_min": _ZERO_MILLI_C, f"temp{number}_max": _UNSET_MILLI_C}
    return {name: str(milli) for name, milli in limits.items()}


def _fill(directory: Path, values: dict[str, str]) -> None:
    for name, value in values.items():
        (directory / name).write_text(f"{value}\n", "ascii")
