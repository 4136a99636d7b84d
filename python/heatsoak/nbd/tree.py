"""A tree as the kernel has it for an NVMe drive, with its hwmon node, below a directory of ours.

``DIR/sys`` stands for ``/sys``: what reads the sensors of real drives reads these. Names and
numbers are those of Linux' nvme driver (drivers/nvme/host/hwmon.c): millidegrees of whole kelvins;
limits that are not set read as 0 and 65535 K.
"""

from pathlib import Path

from heatsoak.errors import ToolError, UsageError
from heatsoak.nbd.export import Export

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
