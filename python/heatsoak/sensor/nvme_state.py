"""The power state that an NVMe drive is in: a bound of what it draws, not a measurement.

What it costs: one admin command (Get Features, FID 02h) each time, which a drive in a state without
I/O may have to wake for; so it is asked seldom, and states between two readings are not seen.
"""

from pathlib import Path

from heatsoak.sensor.base import Roots, SensorInfo
from heatsoak.sensor.nvme_admin import Ioctl, NvmeAdmin, first_that_answers

INTERVAL_S = 5.0


class PowerStateSensor:
    """The current power state of one controller."""

    def __init__(self, admin: NvmeAdmin, controller: str) -> None:
        """Ask once; raises OSError where the drive does not answer."""
        self._admin = admin
        self.last_error: str | None = None
        admin.power_state()
        self.info = SensorInfo(
            name="nvme-power-state",
            source=f"power state of {controller} (Get Features 02h), by admin command",
            columns=("power_state",),
            interval_s=INTERVAL_S,
            details={
                "controller": controller,
                "wakes_drive": True,
                "cost": "one admin command a reading",
            },
        )

    @classmethod
    def find(
        cls, disk: Path, roots: Roots, ioctl: Ioctl | None = None
    ) -> "PowerStateSensor | None":
        """Return the sensor of the drive with the sysfs directory `disk`, or None."""
        return first_that_answers(disk, roots, ioctl, cls)

    def read(self) -> dict[str, float]:
        """Return the state's number; nothing where the drive does not answer."""
        try:
            state = self._admin.power_state()
        except OSError as error:
            self.last_error = str(error)
            return {}
        self.last_error = None
        return {"power_state": state}

    def close(self) -> None:
        """Release the descriptor."""
        self._admin.close()
