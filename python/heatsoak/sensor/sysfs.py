"""The kernel's view of block devices, read from sysfs and procfs below injectable roots.

Nothing here opens a device. Whatever is missing or unreadable is returned as None or empty, since
no machine has everything.
"""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from heatsoak.errors import UsageError
from heatsoak.sensor.base import Roots

_ESCAPE = re.compile(r"\\([0-7]{3})")
_UPPER_LAYER = re.compile(r"(?:^|,)upperdir=([^,]+)")
_CONTROLLER = re.compile(r"nvme[0-9]+")


def read_text(path: Path) -> str | None:
    """Return the stripped text of a small kernel file, or None."""
    raw = read_bytes(path)
    return None if raw is None else raw.decode("utf-8", "replace").strip("\0 \t\r\n")


def read_bytes(path: Path) -> bytes | None:
    """Return the bytes of a small kernel file, or None."""
    try:
        return path.read_bytes()
    except OSError:
        return None


def read_int(path: Path) -> int | None:
    """Return the decimal number in a small kernel file, or None."""
    text = read_text(path)
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def names(directory: Path) -> list[str]:
    """Return the sorted names in `directory`; empty if it cannot be listed."""
    try:
        return sorted(entry.name for entry in directory.iterdir())
    except OSError:
        return []


def number_of(rdev: int) -> str:
    """Return a device number as the kernel writes it: ``"259:0"``."""
    return f"{os.major(rdev)}:{os.minor(rdev)}"


def directory_of_number(number: str, roots: Roots) -> Path | None:
    """Return the sysfs directory of the block device ``"MAJ:MIN"``."""
    link = roots.sys / "dev" / "block" / number
    try:
        if link.exists():
            return link.resolve()
    except PermissionError:
        pass
    if names(link.parent):
        return None
    for name in names(roots.sys / "class" / "block"):  # podman hides the links by number
        directory = roots.sys / "class" / "block" / name
        if read_text(directory / "dev") == number:
            return directory.resolve()
    return None


def directory_of_name(name: str, roots: Roots) -> Path | None:
    """Return the sysfs directory of a block device by its kernel name."""
    for place in ("block", "class/block"):
        link = roots.sys / place / name
        if name and link.exists():
            return link.resolve()
    return None


def whole_disk(directory: Path) -> Path:
    """Return the directory of the disk that `directory` is a partition of, or itself."""
    return directory.parent if (directory / "partition").exists() else directory


def disks_beneath(directory: Path) -> set[str]:
    """Return the kernel names of all whole disks below `directory`, itself included.

    Partitions lead to their disk; dm, md and the like to all their components.
    """
    found: set[str] = set()
    waiting = [directory]
    seen: set[Path] = set()
    while waiting:
        here = waiting.pop()
        if here in seen:
            continue
        seen.add(here)
        disk = whole_disk(here)
        found.add(disk.name)
        for place in {here, disk}:
            waiting += [(place / "slaves" / name).resolve() for name in names(place / "slaves")]
    return found


def device_behind(path: Path, roots: Roots | None = None) -> str | None:
    """Return the kernel name of the whole disk under a file, directory or device node.

    For a path that does not exist yet, its nearest existing parent counts. dm and md devices are
    followed as long as they have exactly one component; an array of several drives is itself the
    answer. None without a disk (tmpfs, NFS, ZFS). Writes to an overlay go to its upper layer, if
    that is visible from here.
    """
    roots = roots or Roots()
    path = path.absolute()
    while not path.exists() and path != path.parent:
        path = path.parent
    directory = _directory_behind(path, roots)
    if directory is None:
        return None
    directory = whole_disk(directory)
    seen = {directory}
    while len(below := names(directory / "slaves")) == 1:
        directory = whole_disk((directory / "slaves" / below[0]).resolve())
        if directory in seen:
            break
        seen.add(directory)
    return directory.name


def disk_under_loop(directory: Path, roots: Roots) -> Path | None:
    """Return the directory of the disk that holds a loop device's file.

    None for other devices, and for a loop device that uses the page cache, since its I/O reaches
    the disk at other times.
    """
    file = read_text(directory / "loop" / "backing_file")
    if file is None or read_int(directory / "loop" / "dio") != 1:
        return None
    name = device_behind(Path(file), roots)
    return None if name is None else directory_of_name(name, roots)


def _directory_behind(path: Path, roots: Roots) -> Path | None:
    layers: set[Path] = set()
    while path not in layers:
        layers.add(path)
        try:
            status = path.stat()
        except OSError:
            return None
        rdev = status.st_rdev if stat.S_ISBLK(status.st_mode) else status.st_dev
        if (directory := directory_of_number(number_of(rdev), roots)) is not None:
            return directory
        # btrfs and the like use device numbers of their own; the mount names the device
        if (mount := mount_of(path.resolve(), roots)) is None:
            return None
        if (number := block_number(mount.source)) is not None:
            return directory_of_number(number, roots)
        if (upper := upper_layer(mount)) is None:
            return None
        path = upper
    return None


def upper_layer(mount: "Mount") -> Path | None:
    """Return the directory that an overlay is written to; None for other file systems."""
    upper = _UPPER_LAYER.search(mount.options)
    return None if upper is None else Path(upper[1])


def mount_of(path: Path, roots: Roots) -> "Mount | None":
    """Return the mount that a path without links lies in."""
    best: Mount | None = None
    depth = -1
    for mount in parse_mounts(read_text(roots.proc / "self" / "mountinfo") or ""):
        place = Path(mount.place)
        if path.is_relative_to(place) and len(place.parts) >= depth:
            best, depth = mount, len(place.parts)
    return best


def block_number(path: str) -> str | None:
    """Return ``"MAJ:MIN"`` of a block device node, None for anything else."""
    if not path.startswith("/"):
        return None
    try:
        status = os.stat(path)  # noqa: PTH116 -- text from the kernel, not a path of ours
    except OSError:
        return None
    return number_of(status.st_rdev) if stat.S_ISBLK(status.st_mode) else None


class Mount(NamedTuple):
    """One line of mountinfo: device number, mount point, source, file system and its options."""

    number: str
    place: str
    source: str
    kind: str
    options: str


def parse_mounts(text: str) -> Iterator[Mount]:
    """Yield the mounts in the text of a mountinfo file (proc_pid_mountinfo(5))."""
    for line in text.splitlines():
        before, _, after = line.partition(" - ")
        fields, tail = before.split(" "), after.split(" ")
        if len(fields) >= 5 and len(tail) >= 2:
            options = unescape(tail[2]) if len(tail) > 2 else ""
            yield Mount(fields[2], unescape(fields[4]), unescape(tail[1]), tail[0], options)


def unescape(text: str) -> str:
    """Undo the octal escapes of mountinfo and swaps: ``\\040`` is a space."""
    return _ESCAPE.sub(lambda match: chr(int(match.group(1), 8)), text)


def nvme_controllers(disk: Path) -> list[Path]:
    """Return the sysfs directories of the NVMe controllers that serve a namespace.

    Usually one; with native multipath the namespace belongs to a subsystem, which can have several.
    """
    parent = (disk / "device").resolve()
    if _CONTROLLER.fullmatch(parent.name):
        return [parent]
    return [(parent / name).resolve() for name in names(parent) if _CONTROLLER.fullmatch(name)]


def hwmon_parents(disk: Path) -> set[Path]:
    """Return the devices whose hwmon nodes describe the drive `disk`.

    These are the drive's own device (SATA), its NVMe controllers, and the PCI functions behind
    them, where older kernels put the node.
    """
    if not (disk / "device").exists():
        return set()
    controllers = nvme_controllers(disk)
    parents = {(disk / "device").resolve(), *controllers}
    return parents | {
        (one / "device").resolve() for one in controllers if (one / "device").exists()
    }


# --- sensors of a drive that this kernel does not know -------------------------------------------

_WANTED = "name the directory given to `heatsoak lab nbd ... --sensors`"


def drive_in_tree(directory: Path) -> tuple[str, Roots]:
    """Return the kernel name of the only drive below `directory`, and the roots to read it with.

    Raises UsageError for a directory without such a tree, and for this machine's own.
    """
    sys = directory / "sys"
    if not sys.is_dir():
        raise UsageError(f"{directory}: has no sensors, there is no {sys}: {_WANTED}")
    if sys.resolve() == Roots().sys.resolve():
        raise UsageError(f"{directory}: these are this machine's own sensors: {_WANTED}")
    drives = names(sys / "block")
    if len(drives) != 1:
        raise UsageError(f"{sys / 'block'}: has {len(drives)} drives instead of one: {_WANTED}")
    return drives[0], Roots(sys=sys, dev=directory / "dev", proc=directory / "proc")
