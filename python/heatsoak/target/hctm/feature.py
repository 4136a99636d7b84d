"""TMT1 and TMT2 of a controller: what it permits, what they are, and how they are set.

Fields are those of the NVM Express base specification: Identify Controller (HCTMA, MNTMT, MXTMT),
and the feature "Host Controlled Thermal Management" (10h).
"""

import os
import struct
from dataclasses import dataclass
from pathlib import Path

from heatsoak.errors import ToolError, UsageError
from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Roots
from heatsoak.sensor.nvme import ABSOLUTE_ZERO_C
from heatsoak.sensor.nvme_admin import (
    HOST_THERMAL_MANAGEMENT,
    Ioctl,
    NvmeAdmin,
    submit,
)
from heatsoak.target.device import DeviceInfo

_SET_FEATURES = 0x09


@dataclass(frozen=True)
class Thresholds:
    """What a user asks for, in C; None leaves it as it is, 0 turns it off.

    Attributes:
        tmt1_c: from here on the drive slows lightly.
        tmt2_c: from here on it slows heavily.
    """

    tmt1_c: float | None = None
    tmt2_c: float | None = None

    @property
    def is_asked(self) -> bool:
        """Whether anything is asked for."""
        return self.tmt1_c is not None or self.tmt2_c is not None


#: TMT1 and TMT2 in kelvin, 0 where off.
Kelvins = tuple[int, int]


def shown(kelvin: int) -> str:
    """Return a threshold in words: ``"70 C"``, or ``"off"``."""
    return f"{kelvin + ABSOLUTE_ZERO_C:.0f} C" if kelvin else "off"


def identity_of(directory: Path) -> tuple[str, str]:
    """Return the serial and the number within its drive of the controller with a sysfs directory.

    Its name is no identity: controllers are numbered anew when they come back.
    """
    return sysfs.read_text(directory / "serial") or "", sysfs.read_text(directory / "cntlid") or ""


class Controller:
    """One controller, held open."""

    def __init__(self, directory: Path, roots: Roots, ioctl: Ioctl | None = None) -> None:
        """Open the controller with the sysfs `directory`; raises OSError."""
        self.name = directory.name
        self.serial, self.number = identity_of(directory)
        path = roots.dev / self.name
        self._ioctl = ioctl
        self._admin = NvmeAdmin(path, ioctl)
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def limits(self) -> tuple[int, int] | None:
        """Return the lowest and highest threshold in kelvin, 0 where untold; None without HCTM."""
        attributes, lowest, highest = struct.unpack_from(
            "<HHH", self._admin.identify_controller(), 322
        )
        return (lowest, highest) if attributes & 1 else None

    def thresholds(self) -> Kelvins:
        """Return what is set; raises OSError."""
        return self._admin.thermal_management()

    def set(self, wanted: Kelvins) -> None:
        """Set both, until the controller is reset, and look; raises ToolError, OSError."""
        submit(
            self._fd,
            _SET_FEATURES,
            cdw10=HOST_THERMAL_MANAGEMENT,
            cdw11=wanted[0] << 16 | wanted[1],
            ioctl=self._ioctl,
        )
        if (now := self.thresholds()) != wanted:
            raise ToolError(
                f"{self.name}: took TMT1 and TMT2 of {wanted[0]} and {wanted[1]} K, and answers "
                f"{now[0]} and {now[1]} K"
            )

    def close(self) -> None:
        """Let it go; may be called twice."""
        self._admin.close()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def controllers(info: DeviceInfo, roots: Roots) -> list[Path]:
    """Return the sysfs directories of a drive's controllers; raises UsageError where it has none.

    One as a rule; each has thresholds of its own.
    """
    disk = sysfs.directory_of_name(info.name, roots)
    found = [] if disk is None else sysfs.nvme_controllers(disk)
    if not found:
        raise UsageError(
            f"--tmt1 and --tmt2 are of NVMe drives, and {info.name} is on {info.transport}"
        )
    return found


def check(info: DeviceInfo, wanted: Thresholds, roots: Roots, ioctl: Ioctl | None = None) -> None:
    """Raise UsageError where the drive cannot be given the thresholds; changes nothing."""
    for directory in controllers(info, roots):
        try:
            controller = Controller(directory, roots, ioctl)
        except OSError as error:
            raise UsageError(
                f"{directory.name}: TMT1 and TMT2 cannot be set: {error.strerror} (run as root)"
            ) from error
        try:
            target_of(controller, wanted)
        except OSError as error:
            raise ToolError(f"{controller.name}: does not tell its thresholds: {error}") from error
        finally:
            controller.close()


def target_of(controller: Controller, wanted: Thresholds) -> Kelvins:
    """Return what to set; raises UsageError where the drive does not permit it, OSError."""
    limits = controller.limits()
    if limits is None:
        raise UsageError(
            f"{controller.name}: has no host controlled thermal management (HCTM), so --tmt1 and "
            "--tmt2 cannot be set on it"
        )
    now = controller.thresholds()
    tmt1 = _kelvin("--tmt1", wanted.tmt1_c, now[0], limits)
    tmt2 = _kelvin("--tmt2", wanted.tmt2_c, now[1], limits)
    if tmt1 and tmt2 and tmt1 >= tmt2:
        raise UsageError(
            f"{controller.name}: TMT1 would be {shown(tmt1)} and TMT2 {shown(tmt2)}: TMT1 has to "
            "be the lower one (--tmt2 0 turns that off)"
        )
    return tmt1, tmt2


def _kelvin(option: str, wanted_c: float | None, now: int, limits: tuple[int, int]) -> int:
    if wanted_c is None:
        return now
    if wanted_c == 0:
        return 0
    kelvin = round(wanted_c - ABSOLUTE_ZERO_C)
    lowest, highest = limits[0] or 1, limits[1] or 0xFFFF
    if not lowest <= kelvin <= highest:
        raise UsageError(
            f"{option} {wanted_c:g}: the drive permits {shown(lowest)} to {shown(highest)}"
            if limits[0] and limits[1]
            else f"{option} {wanted_c:g}: is no temperature of a drive"
        )
    return kelvin
