"""Power from the kernel's hwmon nodes: of the drive, matched by parent, or named by the user.

A channel reads `power*_average` or `power*_input`, in microwatts
(Documentation/hwmon/sysfs-interface.rst). Of a drive's own node the first channel is taken. Any
other node may measure anything (a CPU, a whole board, a rail of the slot), so it is read only
where somebody says that it measures the drive.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from heatsoak.errors import UsageError
from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Roots, SensorInfo

_CHANNEL = re.compile(r"power([0-9]+)_(average|input)")


@dataclass(frozen=True)
class Channel:
    """One power reading of a node.

    Attributes:
        node: the directory's name, ``hwmon4``.
        driver: what the node calls itself, ``ina226``.
        name: ``power1``.
    """

    node: str
    driver: str
    name: str
    label: str
    file: Path
    parent: Path | None

    @property
    def shown(self) -> str:
        """What a user names it by."""
        return f"{self.node}/{self.name}"

    def is_named(self, words: str) -> bool:
        """Whether `words` is its node or driver, with the channel or without."""
        node, _, channel = words.partition("/")
        return node in (self.node, self.driver) and channel in ("", self.name, self.label)


class HwmonPower:
    """The power that one channel reads."""

    def __init__(self, channel: Channel, why: str) -> None:
        """Read nothing yet; `why` says how it is known to be the drive's."""
        self._file = channel.file
        self.last_error: str | None = None
        label = f" ({channel.label})" if channel.label else ""
        self.info = SensorInfo(
            name="hwmon-power",
            source=f"hwmon {channel.shown}{label}, driver {channel.driver}, {why}",
            columns=("power_w",),
            details={"power": "measured", "channel": channel.shown, "wakes_drive": False},
        )

    def read(self) -> dict[str, float]:
        """Return the power that can be read now."""
        microwatts = sysfs.read_int(self._file)
        if microwatts is None or microwatts < 0:
            self.last_error = f"{self._file} gives no power"
            return {}
        self.last_error = None
        return {"power_w": microwatts / 1e6}

    def close(self) -> None:
        """Nothing is held."""


def of_drive(disk: Path, roots: Roots) -> HwmonPower | None:
    """Return the power sensor whose node belongs to the drive with the sysfs directory `disk`."""
    parents = sysfs.hwmon_parents(disk)
    for channel in _channels(roots):
        if channel.parent in parents:
            return HwmonPower(channel, "the drive's own")
    return None


def named(words: str, roots: Roots) -> HwmonPower:
    """Return the sensor that a user names: ``hwmon4``, ``ina226`` or ``ina226/power2``.

    Raises UsageError where it names none, or several.
    """
    channels = _channels(roots)
    found = [channel for channel in channels if channel.is_named(words)]
    if len(found) == 1:
        return HwmonPower(found[0], "named by the user")
    there = ", ".join(f"{one.shown} ({one.driver})" for one in found or channels)
    if found:
        raise UsageError(f"--power-sensor {words}: several are meant: {there}: name one")
    raise UsageError(
        f"--power-sensor {words}: no such power sensor: "
        + (f"name one of {there}" if there else "this machine shows none in hwmon")
    )


def _channels(roots: Roots) -> list[Channel]:
    base = roots.sys / "class" / "hwmon"
    found: list[Channel] = []
    for entry in sorted(sysfs.names(base), key=lambda name: (len(name), name)):
        directory = (base / entry).resolve()
        files: dict[int, str] = {}
        for name in sysfs.names(directory):  # an average sorts before its input
            if match := _CHANNEL.fullmatch(name):
                files.setdefault(int(match[1]), name)
        device = directory / "device"
        found += [
            Channel(
                node=entry,
                driver=sysfs.read_text(directory / "name") or entry,
                name=f"power{number}",
                label=sysfs.read_text(directory / f"power{number}_label") or "",
                file=directory / files[number],
                parent=device.resolve() if device.exists() else None,
            )
            for number in sorted(files)
        ]
    return found
