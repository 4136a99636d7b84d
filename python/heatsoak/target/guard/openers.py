"""Which processes have a drive open, or mapped, for writing."""

import os
import re
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from heatsoak.output import printable
from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Roots
from heatsoak.target.device import DeviceInfo
from heatsoak.target.guard.doubt import processes
from heatsoak.target.guard.mounts import has_ended
from heatsoak.target.guard.structure import backing

_LOOKS_S = (0.0, 0.1, 0.3)
#: A line of /proc/PID/maps: addresses, permissions, offset, device, inode, path.
_SHARED_AND_WRITABLE = re.compile(rb"^([0-9a-f]+-[0-9a-f]+) .w.s ", re.MULTILINE)
_PSEUDO = ("socket:", "pipe:", "anon_inode:", "mnt:", "net:")


@dataclass(frozen=True)
class _Ways:
    """All nodes and files that lead to one drive.

    Attributes:
        block: its number.
        chars: the numbers of character devices that pass commands on to it (``ng0n1``, ``sg0``).
        file: the file behind a loop device.
    """

    block: str
    chars: frozenset[str]
    file: tuple[int, int] | None

    @classmethod
    def to(cls, info: DeviceInfo, roots: Roots) -> "_Ways":
        behind = backing(info, roots)
        return cls(
            info.number,
            frozenset(_generic_nodes(info, roots)),
            None if behind is None else behind.file,
        )

    def lead_to(self, status: os.stat_result) -> bool:
        """Whether what `status` is of is one of them."""
        if stat.S_ISBLK(status.st_mode):
            return sysfs.number_of(status.st_rdev) == self.block
        if stat.S_ISCHR(status.st_mode):
            return sysfs.number_of(status.st_rdev) in self.chars
        return (status.st_dev, status.st_ino) == self.file


def writers(info: DeviceInfo, roots: Roots, own_fd: int | None) -> list[str]:
    """Look for processes that have the drive open for writing without holding it exclusively.

    Virtual machines and databases on bare disks do; readers come and go and are harmless, and so
    are tools that open every disk for a moment, which a second look no longer finds.
    Processes that hide their descriptors even from root (hardened, or of another container) are
    passed over: root can learn no more, and the exclusive open stands on its own.
    Raises Doubt where it cannot be known which file is behind a loop device.
    """
    ways = _Ways.to(info, roots)
    for wait_s in _LOOKS_S:
        time.sleep(wait_s)
        found, unseen = _openers(ways, roots, own_fd)
        if not found:
            break
    reasons = []
    if found:
        command = printable(sysfs.read_text(roots.proc / found[0] / "comm") or "unknown")
        reasons.append(f"process {found[0]} ({command}) has it open for writing (end that first)")
    if unseen and os.geteuid() != 0:
        reasons.append(
            f"what {len(unseen)} processes, such as {unseen[0]}, have open cannot be read "
            "(run as root)"
        )
    return reasons


def _generic_nodes(info: DeviceInfo, roots: Roots) -> Iterator[str]:
    """Return the numbers of the character devices of a disk."""
    places = [roots.sys / "class" / "nvme-generic" / info.name.replace("nvme", "ng", 1)]
    directory = sysfs.directory_of_number(info.number, roots)
    if directory is not None:
        places += directory.glob("device/scsi_generic/*")
        places += directory.glob("device/bsg/*")
    for place in places:
        if (number := sysfs.read_text(place / "dev")) is not None:
            yield number


def _openers(ways: _Ways, roots: Roots, own_fd: int | None) -> tuple[list[str], list[str]]:
    """Return the processes that have the drive open for writing, and those not seen into."""
    found: list[str] = []
    unseen: list[str] = []
    own = (_own_pid(roots), str(own_fd))
    for process in processes(roots):
        try:
            descriptors = [entry.name for entry in (process / "fd").iterdir()]
        except OSError as error:
            if not has_ended(error):
                unseen.append(process.name)
            continue
        try:
            is_mapped = _maps(process, ways)
        except OSError as error:
            is_mapped = False
            if not has_ended(error):
                unseen.append(process.name)
        if is_mapped:
            found.append(process.name)
            continue
        for name in descriptors:
            try:
                if (process.name, name) != own and _writes_to(process, name, ways, roots):
                    found.append(process.name)
                    break
            except OSError as error:
                if not has_ended(error) and process.name not in unseen:
                    unseen.append(process.name)
    return found, unseen


def _own_pid(roots: Roots) -> str:
    try:
        return (roots.proc / "self").readlink().name
    except OSError:
        return str(os.getpid())


def _writes_to(process: Path, descriptor: str, ways: _Ways, roots: Roots) -> bool:
    link = process / "fd" / descriptor
    text = str(link.readlink())
    if text.startswith(_PSEUDO):
        return False
    try:
        status = link.stat()
    except OSError:
        if text.startswith(("/dev/", f"{roots.dev}/")):
            raise
        return False  # a file of a user's own FUSE mount is closed to root, and is no device
    if not ways.lead_to(status):
        return False
    for line in (process / "fdinfo" / descriptor).read_text().splitlines():
        if line.startswith("flags:"):
            return int(line.split()[1], 8) & os.O_ACCMODE != os.O_RDONLY
    return True


def _maps(process: Path, ways: _Ways) -> bool:
    """Whether a process has the drive in its memory, to be written: that needs no descriptor."""
    for found in _SHARED_AND_WRITABLE.finditer((process / "maps").read_bytes()):
        try:
            status = (process / "map_files" / found[1].decode()).stat()
        except FileNotFoundError:
            continue  # gone meanwhile, or of no file that still has a name
        if ways.lead_to(status):
            return True
    return False
