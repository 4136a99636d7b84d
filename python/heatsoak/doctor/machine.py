"""This machine, asked as runs ask it, each question once."""

import os
from functools import cached_property
from pathlib import Path

from heatsoak.sensor import Roots, hwmon, sysfs
from heatsoak.system import IS_LINUX
from heatsoak.target import memory
from heatsoak.target.device import DeviceInfo, list_devices

#: Numbers of capabilities (linux/capability.h): admin commands to NVMe, ATA commands.
_SYS_ADMIN, _SYS_RAWIO = 21, 17
_NVIDIA = "0x10de"
#: PCI's class of displays.
_DISPLAY = "0x03"
#: Kinds of disks that are no drives.
_NO_DRIVES = ("loop", *memory.DISKS)


def can_open(path: Path) -> bool:
    """Whether `path` can be opened for reading, which tells a drive nothing."""
    try:
        os.close(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)))
    except OSError:
        return False
    return True


class Machine:
    """What several rows of the table ask.

    Attributes:
        is_linux: whether real drives can be tested at all.
    """

    def __init__(self, roots: Roots) -> None:
        """Asks nothing yet."""
        self.roots = roots
        self.is_linux = IS_LINUX

    @cached_property
    def drives(self) -> list[DeviceInfo]:
        """The whole drives that the kernel shows."""
        found = list_devices(self.roots)
        return [info for info in found if not info.name.startswith(_NO_DRIVES)]

    def drives_on(self, transport: str) -> list[DeviceInfo]:
        """The drives that are attached in one way: ``nvme``, ``sata``."""
        return [info for info in self.drives if info.transport == transport]

    @cached_property
    def openable(self) -> list[DeviceInfo]:
        """Those that we may open; a container may refuse even root."""
        return [info for info in self.drives if can_open(info.path)]

    @cached_property
    def spare(self) -> list[DeviceInfo]:
        """Those without partitions that nothing is seen to use: what a container may be given."""
        from heatsoak.target.guard import users
        from heatsoak.target.guard.users import Doubt

        def is_spare(info: DeviceInfo) -> bool:
            try:
                return not any(
                    look(info, self.roots) for look in (users.structure, users.mounts, users.swaps)
                )
            except Doubt:
                return False

        return [info for info in self.drives if is_spare(info)]

    @cached_property
    def sees_all_processes(self) -> bool:
        """Whether the write guard can see who else uses a drive; in most containers it cannot."""
        from heatsoak.target.guard.users import blind_spot

        return blind_spot(self.roots) is None

    @cached_property
    def has_admin_rights(self) -> bool:
        """Whether the kernel lets us send NVMe and ATA commands; a container's root may not."""
        for line in (sysfs.read_text(self.roots.proc / "self" / "status") or "").splitlines():
            if line.startswith("CapEff:"):
                held = int(line.split()[1], 16)
                return bool(held >> _SYS_ADMIN & 1 and held >> _SYS_RAWIO & 1)
        return False

    @cached_property
    def container(self) -> str | None:
        """What kind of container this is; None if it seems to be none."""
        if Path("/run/.containerenv").exists():
            return "podman"
        if Path("/.dockerenv").exists():
            return "docker"
        told = os.environ.get("container")  # noqa: SIM112 -- systemd's own spelling
        return told or sysfs.read_text(Path("/run/systemd/container"))

    @cached_property
    def hwmon_names(self) -> list[str]:
        """The drivers of the hwmon nodes; their readings would send commands to drives."""
        return [node.name for node in hwmon.nodes(self.roots)]

    @cached_property
    def has_nvidia_card(self) -> bool:
        """Whether a PCI device is an NVIDIA graphics card, with a driver or without."""
        devices = self.roots.sys / "bus" / "pci" / "devices"
        return any(
            sysfs.read_text(devices / name / "vendor") == _NVIDIA
            and (sysfs.read_text(devices / name / "class") or "").startswith(_DISPLAY)
            for name in sysfs.names(devices)
        )
