"""Fan speeds from the kernel's hwmon nodes: of boards, graphics cards and whatever else has fans.

They belong to no drive, but say how much air moves about it: cards that are loaded speed theirs up,
and boards the case's. `fan*_input` is in revolutions a minute
(Documentation/hwmon/sysfs-interface.rst); a header without a fan reads 0. NVIDIA's driver has no
such node.
"""

import re
from pathlib import Path

from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Roots, SensorInfo

_INPUT = re.compile(r"fan([0-9]+)_input")
_UNWANTED = re.compile(r"[^a-z0-9]+")


class FanSensor:
    """All fans of all nodes."""

    def __init__(self, inputs: dict[str, Path], labels: dict[str, str]) -> None:
        """Read nothing yet; `inputs` by column."""
        self._inputs = inputs
        self.last_error: str | None = None
        self.info = SensorInfo(
            name="fans",
            source="hwmon fan speeds of " + ", ".join(dict.fromkeys(labels.values())),
            columns=tuple(inputs),
            details={"nodes": labels, "wakes_drive": False},
        )

    @classmethod
    def find(cls, roots: Roots) -> "FanSensor | None":
        """Return the sensor, None where no node tells of fans."""
        base = roots.sys / "class" / "hwmon"
        inputs: dict[str, Path] = {}
        labels: dict[str, str] = {}
        for entry in sorted(sysfs.names(base), key=lambda name: (len(name), name)):
            directory = (base / entry).resolve()
            chip = sysfs.read_text(directory / "name") or entry
            matches = (_INPUT.fullmatch(name) for name in sysfs.names(directory))
            for number in sorted(int(match[1]) for match in matches if match):
                label = sysfs.read_text(directory / f"fan{number}_label") or f"fan{number}"
                column = f"fan_rpm.{_word(chip)}_{_word(label)}"
                if column in inputs:  # a second chip, or a second fan, of the same name
                    column = f"{column}_{entry}_{number}"
                inputs[column] = directory / f"fan{number}_input"
                labels[column] = f"{entry} ({chip})"
        return cls(inputs, labels) if inputs else None

    def read(self) -> dict[str, float]:
        """Return the speeds that can be read now, in revolutions a minute."""
        read = {column: sysfs.read_int(path) for column, path in self._inputs.items()}
        values = {column: float(rpm) for column, rpm in read.items() if rpm is not None}
        self.last_error = None if values else "none of the fans can be read"
        return values

    def close(self) -> None:
        """Nothing is held."""


def _word(text: str) -> str:
    return _UNWANTED.sub("_", text.lower()).strip("_") or "fan"
