"""Which drive is served, how fast, and what the plugin is told of it."""

import json
from dataclasses import dataclass
from pathlib import Path

from heatsoak.catalog import Drive, Enclosure
from heatsoak.errors import UsageError
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
