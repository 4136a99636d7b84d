"""The interface of everything that is read beside the load: temperatures, counters, CPU, GPU."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol


@dataclass(frozen=True)
class Roots:
    """Where the kernel's trees are; tests and virtual drives put their own here."""

    sys: Path = Path("/sys")
    dev: Path = Path("/dev")
    proc: Path = Path("/proc")


@dataclass(frozen=True)
class SensorInfo:
    """What the recording says of a sensor.

    Attributes:
        name: unique in the recording, such as ``nvme`` or ``hwmon``.
        source: what is read and how, in words a stranger understands.
        columns: the sample columns it fills.
        interval_s: how often it is polled.
        thresholds: limits read once, in the unit that ends their names (``warning_c``).
    """

    name: str
    source: str
    columns: tuple[str, ...]
    interval_s: float = 1.0
    thresholds: dict[str, float] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)


class Sensor(Protocol):
    """One source of readings. Absent hardware has no Sensor; a failed read gives fewer values."""

    info: SensorInfo

    def read(self) -> dict[str, float]:
        """Return what can be read now, by column; nothing for what cannot."""

    def close(self) -> None:
        """Release descriptors."""
