"""The kernel's hwmon nodes: temperatures, the drive's power, and fans."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from heatsoak.errors import UsageError
from heatsoak.sensor import sysfs
from heatsoak.sensor.base import PlaceholderWatch, Roots, Sensor, SensorInfo
from heatsoak.sensor.nvme import ABSOLUTE_ZERO_C
from heatsoak.units import is_possible_temp
from heatsoak.words import listed

_UNWANTED = re.compile(r"[^a-z0-9]+")
_LIMITS = {"warning_c": "max", "critical_c": "crit"}


@dataclass(frozen=True)
class HwmonNode:
    """One hwmon directory.

    Attributes:
        entry: the directory's name, ``hwmon4``.
        name: what it calls itself, mostly the driver; its directory's name if it does not.
        parent: the device it belongs to, if it names one.
    """

    entry: str
    directory: Path
    name: str
    parent: Path | None

    def numbers(self, file: str) -> list[tuple[int, str]]:
        """Return the channels that have a `file`, such as ``fan#_input``, with its name."""
        pattern = re.compile(file.replace("#", "([0-9]+)"))
        matches = (pattern.fullmatch(name) for name in sysfs.names(self.directory))
        return sorted((int(match[1]), match[0]) for match in matches if match)

    def label(self, channel: str) -> str:
        """Return the label of a channel such as ``fan1``, or an empty string."""
        return sysfs.read_text(self.directory / f"{channel}_label") or ""


def _all_nodes(roots: Roots) -> Iterator[HwmonNode]:
    base = roots.sys / "class" / "hwmon"
    for entry in sorted(sysfs.names(base), key=lambda name: (len(name), name)):
        directory = (base / entry).resolve()
        device = directory / "device"
        name = sysfs.read_text(directory / "name") or entry
        yield HwmonNode(entry, directory, name, device.resolve() if device.exists() else None)


def nodes(roots: Roots) -> list[HwmonNode]:
    """Return all hwmon nodes that name the device they belong to."""
    return [node for node in _all_nodes(roots) if node.parent is not None]


def _word(text: str) -> str:
    """Return a label as a part of a column's name."""
    return _UNWANTED.sub("_", text.lower()).strip("_")


class HwmonSensor(Sensor):
    """All temperatures of one hwmon node."""

    def __init__(self, node: HwmonNode, roots: Roots) -> None:
        """Read labels and limits once, but no temperature yet."""
        self._node = node
        self._roots = roots
        self._watch = PlaceholderWatch()
        self._is_nvme = node.name == "nvme"
        self._inputs: dict[str, Path] = {}
        labels: dict[str, str] = {}
        for number, file in node.numbers("temp#_input"):
            label = node.label(f"temp{number}")
            column = f"temp_c.{self._word(number, label)}"
            if column in self._inputs:
                column = f"{column}_{number}"
            self._inputs[column] = node.directory / file
            labels[column] = label
        parent = "" if node.parent is None else node.parent.name
        self.info = SensorInfo(
            name=node.name,
            source=f"hwmon node of {parent}, driver {node.name}",
            columns=tuple(self._inputs),
            thresholds=self._limits(node),
            details={"labels": labels, "parent": parent, "wakes_drive": True},
        )

    def _word(self, number: int, label: str) -> str:
        if self._is_nvme:
            return "composite" if number == 1 else f"sensor{number - 1}"
        return _word(label) or ("drive" if number == 1 else f"drive{number}")

    def _limits(self, node: HwmonNode) -> dict[str, float]:
        limits = {}
        for name, suffix in _LIMITS.items():
            milli = sysfs.read_int(node.directory / f"temp1_{suffix}")
            if milli is not None and is_possible_temp(milli / 1000):
                limits[name] = milli / 1000
        return limits

    def values(self) -> dict[str, float]:
        """Return the temperatures that can be read now."""
        values = self._read()
        if not values and self._has_moved():
            values = self._read()
        if not values:
            raise OSError("none of its temperatures can be read")
        return values

    def _has_moved(self) -> bool:
        """Find the node again if its number has changed, for example by a reset of the drive."""
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
                self._notes += self._watch.saw(column, round(milli / 1000 - ABSOLUTE_ZERO_C))
        return values


def of_drive(disk: Path, roots: Roots) -> list[HwmonSensor]:
    """Return the sensors of the drive whose sysfs directory is `disk`."""
    parents = sysfs.hwmon_parents(disk)
    sensors = [HwmonSensor(node, roots) for node in nodes(roots) if node.parent in parents]
    return [sensor for sensor in sensors if sensor.info.columns]


@dataclass(frozen=True)
class PowerChannel:
    """One power reading of a node; its name is like ``power1``."""

    node: HwmonNode
    name: str
    label: str
    file: Path

    @property
    def shown(self) -> str:
        """The name to show, and to give as ``--power-sensor``."""
        return f"{self.node.entry}/{self.name}"

    def matches(self, text: str) -> bool:
        """Whether `text` is its node or driver, with or without the channel."""
        node, _, channel = text.partition("/")
        return node in (self.node.entry, self.node.name) and channel in ("", self.name, self.label)


class HwmonPower(Sensor):
    """The power read from one channel."""

    def __init__(self, channel: PowerChannel, why: str) -> None:
        """Read nothing yet; `why` says why it is taken for the drive's."""
        self._file = channel.file
        label = f" ({channel.label})" if channel.label else ""
        self.info = SensorInfo(
            name="hwmon-power",
            source=f"hwmon {channel.shown}{label}, driver {channel.node.name}, {why}",
            columns=("power_w",),
            details={"power": "measured", "channel": channel.shown, "wakes_drive": False},
        )

    def values(self) -> dict[str, float]:
        """Return the power that can be read now."""
        microwatts = sysfs.read_int(self._file)
        if microwatts is None or microwatts < 0:
            raise OSError(f"{self._file} has no power reading")
        return {"power_w": microwatts / 1e6}


def power_of_drive(disk: Path, roots: Roots) -> HwmonPower | None:
    """Return the power sensor whose node belongs to the drive with the sysfs directory `disk`."""
    parents = sysfs.hwmon_parents(disk)
    for channel in _channels(roots):
        if channel.node.parent in parents:
            return HwmonPower(channel, "the drive's own")
    return None


def named_power(name: str, roots: Roots) -> HwmonPower:
    """Return the sensor that the user names: ``hwmon4``, ``ina226`` or ``ina226/power2``.

    Raises UsageError if none or several match.
    """
    channels = _channels(roots)
    found = [channel for channel in channels if channel.matches(name)]
    if len(found) == 1:
        return HwmonPower(found[0], "named by the user")
    choices = listed([f"{one.shown} ({one.node.name})" for one in found or channels])
    if found:
        raise UsageError(f"--power-sensor {name}: is ambiguous: {choices}: name one")
    raise UsageError(
        f"--power-sensor {name}: no such power sensor: "
        + (f"name one of {choices}" if choices else "this machine has none in hwmon")
    )


def _channels(roots: Roots) -> list[PowerChannel]:
    found: list[PowerChannel] = []
    for node in _all_nodes(roots):
        files: dict[int, str] = {}
        for number, file in node.numbers("power#_(?:average|input)"):
            files.setdefault(number, file)  # an average comes before its input
        for number, file in files.items():
            name = f"power{number}"
            found.append(PowerChannel(node, name, node.label(name), node.directory / file))
    return found


class FanSensor(Sensor):
    """All fans of all nodes."""

    def __init__(self, inputs: dict[str, Path], labels: dict[str, str]) -> None:
        """Read nothing yet; `inputs` by column."""
        self._inputs = inputs
        self.info = SensorInfo(
            name="fans",
            source=f"hwmon fan speeds of {listed(list(dict.fromkeys(labels.values())))}",
            columns=tuple(inputs),
            details={"nodes": labels, "wakes_drive": False},
        )

    @classmethod
    def find(cls, roots: Roots) -> "FanSensor | None":
        """Return the sensor, or None if no node has fans."""
        inputs: dict[str, Path] = {}
        labels: dict[str, str] = {}
        for node in _all_nodes(roots):
            for number, file in node.numbers("fan#_input"):
                label = node.label(f"fan{number}") or f"fan{number}"
                column = f"fan_rpm.{_word(node.name) or 'fan'}_{_word(label) or 'fan'}"
                if column in inputs:  # another chip or fan has the same name
                    column = f"{column}_{node.entry}_{number}"
                inputs[column] = node.directory / file
                labels[column] = f"{node.entry} ({node.name})"
        return cls(inputs, labels) if inputs else None

    def values(self) -> dict[str, float]:
        """Return the speeds that can be read now, in revolutions a minute."""
        read = {column: sysfs.read_int(path) for column, path in self._inputs.items()}
        values = {column: float(rpm) for column, rpm in read.items() if rpm is not None}
        if not values:
            raise OSError("none of the fans can be read")
        return values
