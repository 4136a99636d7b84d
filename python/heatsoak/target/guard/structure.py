"""What a drive is made of, and what the kernel has built upon it."""

from collections.abc import Iterator
from pathlib import Path

from heatsoak.output import printable
from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Roots
from heatsoak.target.device import DeviceInfo
from heatsoak.target.guard.doubt import Doubt, listing

#: What kernel servers export, below configfs: files that hold a path, and whose they are. They
#: open a device without holding it exclusively, and no process shows that they have it open.
_EXPORTS = (
    ("nvmet/subsystems/*/namespaces/*/device_path", "an NVMe target"),
    ("target/core/*/*/udev_path", "a SCSI target"),
    ("usb_gadget/*/functions/mass_storage.*/lun.*/file", "a USB gadget"),
)
#: Raw flash of the machine itself: firmware lies there, often without a mark that anybody knows.
_RAW_FLASH = ("mtdblock", "ubiblock")


def structure(info: DeviceInfo, roots: Roots) -> list[str]:
    """Return what speaks against writing in how the kernel has put the disk together."""
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
        reasons.append(f"it is a hardware partition of {whole}, where boot code may lie")
    if info.name.startswith(_RAW_FLASH):
        reasons.append("it is raw flash of this machine, where firmware may lie")
    zones = sysfs.read_text(directory / "queue" / "zoned")
    if zones not in (None, "none", "host-aware"):
        reasons.append(
            f"it is a {zones} zoned drive, which takes writes only in order of its zones"
        )
    parts = [name for name in listing(directory) if (directory / name / "partition").exists()]
    if parts:
        reasons.append(f"it has partitions ({', '.join(parts)})")
    holders = {name for place in ("", *parts) for name in listing(directory / place / "holders")}
    if holders:
        reasons.append(f"it is part of {', '.join(sorted(holders))}")
    if beneath := listing(directory / "slaves"):
        reasons.append(f"it is made of {', '.join(beneath)} (only a drive itself can be written)")
    return reasons


def rests_on(number: str, info: DeviceInfo, roots: Roots) -> bool:
    """Whether the block device ``MAJ:MIN`` is the drive, or made of it."""
    if number == info.number:
        return True
    directory = sysfs.directory_of_number(number, roots)
    return directory is not None and info.name in sysfs.disks_beneath(directory)


def loops(info: DeviceInfo, roots: Roots) -> list[str]:
    """Look for loop devices upon the drive, and for other ways to what is behind a loop device."""
    backing = dict(_backing_files(roots))
    own = backing.pop(info.name, None)
    reasons = []
    if own is not None and sysfs.block_number(own) is not None:
        reasons.append(f"it is a window onto {own} (only a drive itself can be written)")
    for name, path in backing.items():
        number = sysfs.block_number(path)
        if number is not None and rests_on(number, info, roots):
            reasons.append(f"{name} lies on it")
        elif own is not None and (path == own or file_of(path) == file_of(own) is not None):
            reasons.append(f"{name} is a second way to its file {printable(own)}")
    return reasons


def backing_file(info: DeviceInfo, roots: Roots) -> str | None:
    """Return the file behind a loop device; None for any other drive."""
    return dict(_backing_files(roots)).get(info.name)


def file_of(path: str) -> tuple[int, int] | None:
    """Return what tells a file from all others, whatever it is called: a hard link has it too."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def _backing_files(roots: Roots) -> Iterator[tuple[str, str]]:
    for name in listing(roots.sys / "block"):
        text = sysfs.read_text(roots.sys / "block" / name / "loop" / "backing_file")
        if text:
            yield name, text.removesuffix(" (deleted)")


def exports(info: DeviceInfo, roots: Roots) -> list[str]:
    """Look at what the kernel itself serves to other machines."""
    base = roots.sys / "kernel" / "config"
    reasons = []
    for pattern, what in _EXPORTS:
        for place in sorted(base.glob(pattern)):
            number = sysfs.block_number(sysfs.read_text(place) or "")
            if number is not None and rests_on(number, info, roots):
                reasons.append(f"{what} serves it ({printable(str(place.parent))})")
    return reasons
