"""Temperatures from the kernel's hwmon nodes: of the drive, matched by parent, and of the CPU.

A node belongs to a drive when its `device` link leads to the drive or to its controller; its
name never decides, since two drives of a kind have nodes of the same name. Both drivers that
speak of drives are read alike: `nvme` (composite and sensors 1 to 8) and `drivetemp` (SATA).

What it costs: each `_input` makes the drive answer a command. `_label` and `_crit` are in the
kernel's memory and are read once. `_min` and `_max` make an NVMe drive answer one command each,
and have taken seconds on one host: there only `temp1_max`, the warning threshold, is read, once,
before the load begins. A drivetemp node has all its limits in memory.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Roots, SensorInfo
from heatsoak.sensor.nvme import ABSOLUTE_ZERO_C
from heatsoak.sensor.placeholder import PlaceholderWatch

_INPUT = re.compile(r"temp([0-9]+)_input")
_UNWANTED = re.compile(r"[^a-z0-9]+")
_LIMITS = {"warning_c": "max", "critical_c": "crit"}

#: What drivers report where a limit is not set: far outside anything a drive can be.
_POSSIBLE_C = (-60.0, 200.0)


@dataclass(frozen=True)
class Node:
    """One hwmon directory and the device it speaks of."""

    directory: Path
    name: str
    parent: Path


def nodes(roots: Roots) -> list[Node]:
    """Return all hwmon nodes that tell which device they belong to."""
    base = roots.sys / "class" / "hwmon"
    found = []
    for entry in sorted(sysfs.names(base), key=lambda name: (len(name), name)):
        directory = (base / entry).resolve()
        name = sysfs.read_text(directory / "name")
        if name and (directory / "device").exists():
            found.append(Node(directory, name, (directory / "device").resolve()))
    return found


class HwmonSensor:
    """All temperatures of one hwmon node."""

    def __init__(self, node: Node, roots: Roots) -> None:
        """Read labels and limits once; no temperature yet."""
        self._node = node
        self._roots = roots
        self._watch = PlaceholderWatch()
        self._is_nvme = node.name == "nvme"
        self._inputs: dict[str, Path] = {}
        self.last_error: str | None = None
        labels: dict[str, str] = {}
        matches = (_INPUT.fullmatch(name) for name in sysfs.names(node.directory))
        for number in sorted(int(match.group(1)) for match in matches if match):
            label = sysfs.read_text(node.directory / f"temp{number}_label") or ""
            column = f"temp_c.{self._word(number, label)}"
            if column in self._inputs:
                column = f"{column}_{number}"
            self._inputs[column] = node.directory / f"temp{number}_input"
            labels[column] = label
        self.info = SensorInfo(
            name=node.name,
            source=f"hwmon node of {node.parent.name}, driver {node.name}",
            columns=tuple(self._inputs),
            thresholds=self._limits(node),
            details={"labels": labels, "parent": node.parent.name, "wakes_drive": True},
        )

    def _word(self, number: int, label: str) -> str:
        if self._is_nvme:
            return "composite" if number == 1 else f"sensor{number - 1}"
        word = _UNWANTED.sub("_", label.lower()).strip("_")
        return word or ("drive" if number == 1 else f"drive{number}")

    def _limits(self, node: Node) -> dict[str, float]:
        limits = {}
        for name, suffix in _LIMITS.items():
            milli = sysfs.read_int(node.directory / f"temp1_{suffix}")
            if milli is not None and _POSSIBLE_C[0] < milli / 1000 < _POSSIBLE_C[1]:
                limits[name] = milli / 1000
        return limits

    def read(self) -> dict[str, float]:
        """Return the temperatures that can be read now."""
        values = self._read()
        if not values and self._has_moved():
            values = self._read()
        self.last_error = None if values else "none of its temperatures can be read"
        return values

    def _has_moved(self) -> bool:
        """Find a node that came back under another number, as after a reset of the drive."""
        for node in nodes(self._roots):
            if (node.parent, node.name) != (self._node.parent, self._node.name):
                continue
            if node.directory != self._node.directory:
                self._node = node
                self._inputs = {
                    column: node.directory / path.name for column, path in self._inputs.items()
                }
                return True
        return False

    def _read(self) -> dict[str, float]:
        values = {}
        for column, path in self._inputs.items():
            milli = sysfs.read_int(path)
            if milli is None:
                continue
            values[column] = milli / 1000
            if self._is_nvme:
                self._watch.saw(column, round(milli / 1000 - ABSOLUTE_ZERO_C))
        return values

    def notes(self) -> list[str]:
        """Return new warnings about the readings, once."""
        return self._watch.drain()

    def close(self) -> None:
        """Nothing is held."""


def of_drive(disk: Path, roots: Roots) -> list[HwmonSensor]:
    """Return the sensors of the drive whose sysfs directory is `disk`."""
    parents = sysfs.hwmon_parents(disk)
    sensors = [HwmonSensor(node, roots) for node in nodes(roots) if node.parent in parents]
    return [sensor for sensor in sensors if sensor.info.columns]
