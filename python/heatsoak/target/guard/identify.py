"""Identifies the drive, and checks that it is still the same."""

import array
import fcntl
import os
import stat
import sys
from pathlib import Path

from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Roots
from heatsoak.target.device import DeviceInfo, describe_number
from heatsoak.target.guard.doubt import Doubt
from heatsoak.target.guard.named import Naming
from heatsoak.units import format_bytes

_BLKGETSIZE64 = 0x80081272
_BLKROGET = 0x125E
_BLKGETDISKSEQ = 0x80081280
_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISREG, "a regular file"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


def identify(device: Path, roots: Roots) -> DeviceInfo:
    """Return the whole disk that `device` leads to; raises Doubt otherwise."""
    try:
        status = device.stat()
    except FileNotFoundError:
        raise Doubt("it does not exist (`heatsoak drives` lists drives)") from None
    except (OSError, ValueError) as error:
        raise Doubt(f"it cannot be examined ({error})") from None
    if not stat.S_ISBLK(status.st_mode):
        kind = next((word for test, word in _KINDS if test(status.st_mode)), "something else")
        raise Doubt(f"it is {kind}, not a block device such as /dev/nvme0n1")
    number = sysfs.number_of(status.st_rdev)
    directory = sysfs.directory_of_number(number, roots)
    if directory is None:
        raise Doubt(f"the kernel has no disk with its number {number}")
    if (directory / "partition").exists():
        disk = directory.parent.name
        raise Doubt(
            f"it is a partition of {disk} (only a whole disk without partitions can be written)"
        )
    info = describe_number(number, roots)
    if info is None or info.number != number:
        raise Doubt("the kernel does not say which disk it is")
    return info


def same_drive(fd: int, info: DeviceInfo, roots: Roots) -> None:
    """Raise Doubt unless the descriptor leads to the drive that `info` describes."""
    status = os.fstat(fd)
    if not stat.S_ISBLK(status.st_mode) or sysfs.number_of(status.st_rdev) != info.number:
        raise Doubt("it was replaced by another device while it was being examined")
    try:
        size_bytes = _ask(fd, _BLKGETSIZE64, 8)
        read_only = _ask(fd, _BLKROGET, 4) != 0
        sequence = None
        if info.sequence is not None:
            sequence = _ask(fd, _BLKGETDISKSEQ, 8)
    except OSError as error:
        raise Doubt(f"it does not answer ({error.strerror})") from None
    if read_only:
        raise Doubt("it is read-only")
    if size_bytes != info.size_bytes:
        raise Doubt(f"it has {size_bytes} bytes, but had {info.size_bytes} when it was examined")
    now = describe_number(info.number, roots)
    if now is None or sequence != info.sequence:
        raise Doubt(f"{info.name} was removed or replaced while it was being examined")
    same_as(info, now)


def same_as(info: DeviceInfo, now: DeviceInfo) -> None:
    """Raise Doubt unless both describe one drive."""
    for what in ("name", "number", "size_bytes", "serial", "wwid", "sequence", "erase_ids"):
        before, after = getattr(info, what), getattr(now, what)
        if before != after:
            raise Doubt(f"its {what} was {before} and is now {after}: it is another drive")


def _ask(fd: int, request: int, length: int) -> int:
    answer = array.array("B", bytes(length))
    fcntl.ioctl(fd, request, answer, True)
    return int.from_bytes(answer.tobytes(), sys.byteorder)


def naming(device: Path, info: DeviceInfo) -> Naming:
    """Return how a drive that can be told from all others is named."""
    what = f"{info.model or info.transport}, {format_bytes(info.size_bytes)}"
    unnamed = f"all data on it ({what}) would be lost; to confirm"
    return Naming(device, info.erase_ids, f"drive ({what})", unnamed, info.model)
