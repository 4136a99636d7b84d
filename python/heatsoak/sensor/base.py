"""The interface of all sensors."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Roots:
    """Where the kernel's file systems are; tests and virtual drives use their own."""

    sys: Path = Path("/sys")
    dev: Path = Path("/dev")
    proc: Path = Path("/proc")


@dataclass(frozen=True)
class SensorInfo:
    """What the recording says about a sensor.

    Attributes:
        name: unique in the recording, such as ``nvme`` or ``hwmon``.
        source: what is read and how, for people.
        columns: the sample columns it fills.
        interval_s: how often it is polled.
        thresholds: limits, read once, in the unit at the end of their names (``warning_c``).
    """

    name: str
    source: str
    columns: tuple[str, ...]
    interval_s: float = 1.0
    thresholds: dict[str, float] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)


class Sensor:
    """One source of readings. Absent hardware has no Sensor; a failed read returns fewer values."""

    info: SensorInfo
    #: Why the last reading has no values.
    last_error: str | None = None
    _notes: tuple[str, ...] = ()

    def read(self) -> dict[str, float]:
        """Return what can be read now, by column, leaving out the rest."""
        try:
            values, self.last_error = self.values(), None
        except (OSError, ValueError) as error:
            values, self.last_error = {}, str(error)
        return values

    def values(self) -> dict[str, float]:
        """Return what can be read now; raises OSError or ValueError if that is nothing."""
        raise NotImplementedError

    def notes(self) -> list[str]:
        """Return new warnings about the readings, each once."""
        notes, self._notes = self._notes, ()
        return list(notes)

    def close(self) -> None:
        """Release descriptors; without any there is nothing to do."""


PLACEHOLDER_K = 313

#: A sensor is suspect after this many readings of exactly 313 K and no other.
SUSPECT_READINGS = 60


class PlaceholderWatch:
    """Counts the readings of each column that has only ever read 313 K."""

    def __init__(self) -> None:
        self._same: dict[str, int] = {}

    def saw(self, column: str, kelvin: int) -> tuple[str, ...]:
        """Count one reading; return what is to be said of it."""
        count = self._same.get(column, 0)
        if count < 0:  # it has moved once, so it measures
            return ()
        self._same[column] = count + 1 if kelvin == PLACEHOLDER_K else -1
        if self._same[column] != SUSPECT_READINGS:
            return ()
        return (
            f"{column} has read exactly {PLACEHOLDER_K} K {SUSPECT_READINGS} times and nothing "
            "else: some drives report this without measuring, do not trust it",
        )

    @property
    def at_placeholder(self) -> list[str]:
        """The columns that have only read 313 K so far, however few the readings."""
        return [name for name, count in self._same.items() if count > 0]
