"""What a drive is made of, and what the kernel has built on it."""

import errno
import fcntl
import os
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from heatsoak.output import printable
from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Roots
from heatsoak.target.device import DeviceInfo
from heatsoak.target.guard.doubt import Doubt, names_in, path_on_machine

#: Exports of kernel servers below configfs: files with the device's path, and the kind of server.
#: These open a device non-exclusively, and no process shows that they have it open.
_EXPORTS = (
    ("nvmet/subsystems/*/namespaces/*/device_path", "an NVMe target"),
    ("target/core/*/*/udev_path", "a SCSI target"),
    ("usb_gadget/*/functions/mass_storage.*/lun.*/file", "a USB gadget"),
)
#: Raw flash of the machine, which has firmware on it, often without a known mark.
_RAW_FLASH = ("mtdblock", "ubiblock")
#: linux/loop.h: the request, and struct loop_info64, which starts with lo_device, lo_inode and
#: lo_rdevice. Both device numbers are those of stat(2) (drivers/block/loop.c, huge_encode_dev).
_LOOP_GET_STATUS64 = 0x4C05
_LOOP_INFO_BYTES = 232


def structure(info: DeviceInfo, roots: Roots) -> list[str]:
    """Return the reasons not to write in the structure of the disk, according to the kernel."""
    directory = sysfs.directory_of_number(info.number, roots)
    if directory is None:
        raise Doubt(f"{info.name} is gone")
    reasons = []
    if info.size_bytes <= 0:
        reasons.append("it has no medium or no size")
    if info.read_only:
        reasons.append("it is read-only")
    if not info.erase_ids:
        twins = ", ".join(info.serial_shared_with)
        reasons.append(
            f"its serial {info.serial} is also that of {twins}: they cannot be told apart "
            "(leave only one of them attached)"
        )
    if (directory.parent / "dev").exists() and (directory.parent / "queue").exists():
        whole = directory.parent.name
        reasons.append(f"it is a hardware partition of {whole}, which may hold boot code")
    if info.name.startswith(_RAW_FLASH):
        reasons.append("it is this machine's raw flash, which may hold firmware")
    zones = sysfs.read_text(directory / "queue" / "zoned")
    if zones not in (None, "none", "host-aware"):
        reasons.append(
            f"it is a {zones} zoned drive, which only accepts writes in order within each zone"
        )
    parts = [name for name in names_in(directory) if (directory / name / "partition").exists()]
    if parts:
        reasons.append(f"it has partitions ({', '.join(parts)})")
    holders = {name for place in ("", *parts) for name in names_in(directory / place / "holders")}
    if holders:
        reasons.append(f"it is part of {', '.join(sorted(holders))}")
    if beneath := names_in(directory / "slaves"):
        reasons.append(f"it is built on {', '.join(beneath)} (only a drive itself can be written)")
    return reasons


def rests_on(number: str, info: DeviceInfo, roots: Roots) -> bool:
    """Whether the block device ``MAJ:MIN`` is the drive, or is built on it."""
    if number == info.number:
        return True
    directory = sysfs.directory_of_number(number, roots)
    return directory is not None and info.name in sysfs.disks_beneath(directory)


@dataclass(frozen=True)
class Backing:
    """The file or device behind a loop device.

    Attributes:
        path: its path for whoever attached it; for us it may not exist, or be another file.
        file: device and inode of the file, which do not depend on names or mount namespaces.
        block: ``MAJ:MIN`` if it is a block device itself.
    """

    path: str
    file: tuple[int, int]
    block: str | None


def loops(info: DeviceInfo, roots: Roots) -> list[str]:
    """Look for loop devices on the drive, and if it is one, for others on the same file.

    Raises Doubt if it is unknown what one of them leads to.
    """
    found = {name: _behind(name, path, roots) for name, path in _attached(roots)}
    own = found.pop(info.name, None)
    reasons = []
    if own is not None and own.block is not None:
        reasons.append(f"it maps {printable(own.path)} (only a drive itself can be written)")
    for name, other in found.items():
        if other is None:
            continue
        if other.block is not None and rests_on(other.block, info, roots):
            reasons.append(f"{name} is attached to it")
        elif own is not None and other.file == own.file:
            reasons.append(f"{name} is attached to the same file, {printable(own.path)}")
    return reasons


def backing(info: DeviceInfo, roots: Roots) -> Backing | None:
    """Return what is behind a loop device, None for any other drive.

    Raises Doubt if that is unknown.
    """
    path = dict(_attached(roots)).get(info.name)
    return None if path is None else _behind(info.name, path, roots)


def _attached(roots: Roots) -> Iterator[tuple[str, str]]:
    """Yield each loop device that has a file, with the file's path from sysfs."""
    for name in names_in(roots.sys / "block"):
        text = sysfs.read_text(roots.sys / "block" / name / "loop" / "backing_file")
        if text:
            yield name, text.removesuffix(" (deleted)")


def _behind(name: str, path: str, roots: Roots) -> Backing | None:
    """Return what a loop device leads to; None if it was just detached.

    Asks the driver. The path is only used without a device node or permission, as in a container.
    """
    try:
        fd = os.open(roots.dev / name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            number = sysfs.read_text(roots.sys / "block" / name / "dev")
            if sysfs.number_of(os.fstat(fd).st_rdev) != number:
                raise Doubt(f"{roots.dev / name} is not the loop device of that name")
            answer = bytearray(_LOOP_INFO_BYTES)
            fcntl.ioctl(fd, _LOOP_GET_STATUS64, answer, True)
        finally:
            os.close(fd)
    except FileNotFoundError:
        return _by_path(name, path, roots)
    except OSError as error:
        if error.errno == errno.ENXIO:
            return None
        if error.errno in (errno.EACCES, errno.EPERM):
            return _by_path(name, path, roots)
        raise Doubt(f"cannot find out what {name} leads to ({error.strerror})") from None
    device, inode, block = struct.unpack_from("=QQQ", answer)
    return Backing(path, (device, inode), sysfs.number_of(block) if block else None)


def _by_path(name: str, path: str, roots: Roots) -> Backing:
    try:
        status = path_on_machine(path, roots).stat()
    except (OSError, ValueError, Doubt):
        raise Doubt(
            f"cannot find out what {name} leads to: {printable(path)} is out of sight "
            "(run as root, outside containers)"
        ) from None
    block = sysfs.number_of(status.st_rdev) if stat.S_ISBLK(status.st_mode) else None
    return Backing(path, (status.st_dev, status.st_ino), block)


def exports(info: DeviceInfo, roots: Roots) -> list[str]:
    """Look for exports of the drive by the kernel's own servers."""
    base = roots.sys / "kernel" / "config"
    mounts_of_init = sysfs.read_text(roots.proc / "1" / "mountinfo") or ""
    if not sysfs.names(base) and " - configfs " in mounts_of_init:  # we are in a container
        base = path_on_machine(str(base), roots)
    reasons = []
    for pattern, what in _EXPORTS:
        for place in sorted(base.glob(pattern)):
            path = sysfs.read_text(place) or ""
            number = sysfs.block_number(str(path_on_machine(path, roots)))
            if number is not None and rests_on(number, info, roots):
                reasons.append(f"{what} serves it ({printable(str(place.parent))})")
    return reasons
