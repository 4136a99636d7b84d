"""Who uses a drive: what it is made of and what the kernel built on it, mounts, swap, processes.

And whether all of that can be seen from here at all.
"""

import errno
import fcntl
import os
import re
import stat
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from heatsoak.output import printable
from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Roots
from heatsoak.target.device import DeviceInfo
from heatsoak.words import counted

#: What a container must be given so that the guard can see who uses a drive.
CONTAINER_NEEDS = "start it with --pid=host --cap-add=SYS_PTRACE --cap-add=SYS_ADMIN"
#: The namespace of all processes of a machine; every Linux gives it this number (PROC_PID_INIT_INO
#: in include/linux/proc_ns.h).
_ALL_PROCESSES = "pid:[4026531836]"
#: The kernel's own kthreadd, which is in no container.
_KERNEL_THREAD = "2"


class Doubt(Exception):  # noqa: N818 -- not an error: a reason to refuse
    """Something could not be determined; the message is a reason to refuse."""


def names_in(directory: Path) -> list[str]:
    """Return the names in a directory that must exist; raises Doubt otherwise."""
    try:
        return sorted(entry.name for entry in directory.iterdir())
    except OSError as error:
        raise Doubt(f"{directory} cannot be read ({error.strerror})") from None


def processes(roots: Roots) -> Iterator[Path]:
    """Return the directories of all processes; raises Doubt if none are visible."""
    found = [name for name in names_in(roots.proc) if name.isdigit()]
    if not found:
        raise Doubt(f"{roots.proc} shows no processes, so there is no way to tell who is using it")
    return (roots.proc / name for name in found)


def blind_spot(roots: Roots) -> str | None:
    """Return why others may use a drive whom we cannot see; None if we see all processes.

    A container has a ``/proc`` of its own processes: mounts, and programs that have a drive open
    for writing, are not in it if they are the machine's or another container's. Without the
    capability to look at processes with more rights, or forbidden to by AppArmor and the like, we
    see them but not what they have open.
    """
    hint = f"(run heatsoak outside of containers, or {CONTAINER_NEEDS})"
    for process in (_KERNEL_THREAD, "self"):
        try:
            seen = str((roots.proc / process / "ns" / "pid").readlink())
        except PermissionError:
            if os.geteuid() == 0:
                return f"what other processes do cannot be seen, not even by root {hint}"
        except OSError as error:
            if not has_ended(error) or not (roots.proc / process / "ns").is_dir():
                break
            return None  # a kernel without such namespaces
        else:
            if seen == _ALL_PROCESSES:
                return None
            break
    return f"this is a container, which cannot see who else uses it {hint}"


def path_on_machine(path: str, roots: Roots) -> Path:
    """Return where a path that the kernel names is found from here; raises Doubt if unknown.

    In a container, the machine's own paths are below the root of process 1, and the same path of
    the container may be another file.
    """
    there = roots.proc / "1" / "root" / path.lstrip("/")
    try:
        there.stat()
    except PermissionError:
        if _has_own_mounts(roots):
            raise Doubt(
                f"cannot find out what {printable(path)} is outside of this container"
            ) from None
    except (OSError, ValueError):
        pass
    else:
        return there
    return Path(path)


def _has_own_mounts(roots: Roots) -> bool:
    """Whether none of our mounts, which have numbers of their own, is one of process 1's."""
    ours, theirs = (
        {line.split()[0] for line in (sysfs.read_text(place) or "").splitlines()}
        for place in (roots.proc / name / "mountinfo" for name in ("self", "1"))
    )
    return ours.isdisjoint(theirs)


def has_ended(error: OSError) -> bool:
    """Whether examining a process failed because it has ended (a zombie gives EINVAL)."""
    return error.errno in (errno.ENOENT, errno.ESRCH, errno.EINVAL)


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


def mounts(info: DeviceInfo, roots: Roots) -> list[str]:
    """Look at the mounts of every process, since namespaces and chroots differ."""
    unseen: list[str] = []
    texts: dict[str, None] = {}
    for process in processes(roots):
        try:
            texts[(process / "mountinfo").read_text("utf-8", "surrogateescape")] = None
        except OSError as error:
            if not has_ended(error):
                unseen.append(process.name)
    if not texts:
        raise Doubt("no process's mounts can be read (run as root)")
    places: dict[str, None] = {}
    direct = False
    verdicts: dict[tuple[str, str], bool] = {}
    for text in texts:
        for mount in sysfs.parse_mounts(text):
            key = (mount.number, mount.source)
            if key not in verdicts:
                there = f"{roots.proc}/1/root{mount.source}"  # if this is a container
                sources = (sysfs.block_number(mount.source), sysfs.block_number(there))
                numbers = {mount.number, *sources}
                verdicts[key] = any(rests_on(number, info, roots) for number in numbers if number)
            if verdicts[key]:
                places[mount.place] = None
                direct = direct or mount.number == info.number
    reasons = []
    if places:
        first = printable(next(iter(places)))
        more = f" and {counted(len(places) - 1, 'more place')}" if len(places) > 1 else ""
        how = "it is mounted on" if direct else "something on it is mounted on"
        reasons.append(f"{how} {first}{more}")
    if unseen:
        reasons.append(
            f"the mounts of {len(unseen)} processes, such as {unseen[0]}, cannot be read "
            "(run as root, outside containers)"
        )
    return reasons


def swaps(info: DeviceInfo, roots: Roots) -> list[str]:
    """Look for swap areas on the drive."""
    try:
        lines = (roots.proc / "swaps").read_text("utf-8", "surrogateescape").splitlines()[1:]
    except FileNotFoundError:
        return []  # a kernel without swap
    except OSError as error:
        raise Doubt(f"{roots.proc}/swaps cannot be read ({error.strerror})") from None
    for line in lines:
        path = sysfs.unescape(line.split()[0]) if line.split() else ""
        number = _number_beneath(path.removesuffix(" (deleted)"), roots)
        if number is None:
            raise Doubt(f"cannot find out where the swap area {printable(path)} is")
        if rests_on(number, info, roots):
            return [f"it holds the swap area {printable(path)}"]
    return []


def _number_beneath(path: str, roots: Roots) -> str | None:
    """Return the number of the device `path`, or of the device that the file `path` is on."""
    try:
        status = path_on_machine(path, roots).stat()
    except (OSError, ValueError):
        directory = sysfs.directory_of_name(Path(path).name, roots)
        return None if directory is None else sysfs.read_text(directory / "dev")
    is_device = stat.S_ISBLK(status.st_mode)
    return sysfs.number_of(status.st_rdev if is_device else status.st_dev)


_LOOKS_S = (0.0, 0.1, 0.3)
#: A line of /proc/PID/maps: addresses, permissions, offset, device, inode, path.
_SHARED_AND_WRITABLE = re.compile(rb"^([0-9a-f]+-[0-9a-f]+) .w.s ", re.MULTILINE)
_PSEUDO = ("socket:", "pipe:", "anon_inode:", "mnt:", "net:")


@dataclass(frozen=True)
class _Ways:
    """All device nodes and files that lead to one drive.

    Attributes:
        block: its number.
        chars: numbers of character devices that send it commands (``ng0n1``, ``sg0``).
        file: the file behind a loop device.
    """

    block: str
    chars: frozenset[str]
    file: tuple[int, int] | None

    def lead_to(self, status: os.stat_result) -> bool:
        """Whether `status` is of one of them."""
        if stat.S_ISBLK(status.st_mode):
            return sysfs.number_of(status.st_rdev) == self.block
        if stat.S_ISCHR(status.st_mode):
            return sysfs.number_of(status.st_rdev) in self.chars
        return (status.st_dev, status.st_ino) == self.file


def writers(info: DeviceInfo, roots: Roots, own_fd: int | None) -> list[str]:
    """Look for processes that have the drive open for writing, but not exclusively.

    Virtual machines and databases on raw disks do. Readers are harmless, and so are tools that
    briefly open every disk, which another look does not find again. Processes that hide their
    descriptors even from root (hardened, or of another container) are ignored: root cannot learn
    more, and the exclusive open still protects the drive. If no mapping can be read, it is we who
    are confined, and that counts against writing.
    Raises Doubt if it is unknown which file is behind a loop device.
    """
    path = dict(_attached(roots)).get(info.name)
    behind = None if path is None else _behind(info.name, path, roots)
    chars = frozenset(_generic_nodes(info, roots))
    ways = _Ways(info.number, chars, None if behind is None else behind.file)
    reasons, unseen, is_confined = _openers(ways, roots, own_fd)
    if unseen and (os.geteuid() != 0 or is_confined):
        remedy = f"in a container, {CONTAINER_NEEDS}" if is_confined else "run as root"
        reasons.append(
            f"what {len(unseen)} processes, such as {unseen[0]}, have open cannot be read "
            f"({remedy})"
        )
    return reasons


def writers_of_own(fd: int) -> list[str]:
    """Look for processes that have heatsoak's own file `fd` open for writing, as far as we see."""
    found = os.fstat(fd)
    with suppress(Doubt):  # nobody else's data is in it
        return _openers(_Ways("", frozenset(), (found.st_dev, found.st_ino)), Roots(), fd)[0]
    return []


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


def _openers(ways: _Ways, roots: Roots, own_fd: int | None) -> tuple[list[str], list[str], bool]:
    """Return the reason in who has it open for writing, and the processes that are unreadable.

    With them, whether root itself may not read what processes have mapped.
    """
    for wait_s in _LOOKS_S:
        time.sleep(wait_s)
        found, unseen, is_confined = _openers_now(ways, roots, own_fd)
        if not found:
            return [], unseen, is_confined
    command = printable(sysfs.read_text(roots.proc / found[0] / "comm") or "unknown")
    reason = f"process {found[0]} ({command}) has it open for writing (stop it first)"
    return [reason], unseen, is_confined


def _openers_now(
    ways: _Ways, roots: Roots, own_fd: int | None
) -> tuple[list[str], list[str], bool]:
    is_confined = False
    found: list[str] = []
    unseen: list[str] = []
    own = (str(os.getpid()), str(own_fd))
    with suppress(OSError):
        own = ((roots.proc / "self").readlink().name, str(own_fd))
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
                # without CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE: proc_pid_map_files(5)
                is_confined = is_confined or (error.errno == errno.EPERM and os.geteuid() == 0)
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
    return found, unseen, is_confined


def _writes_to(process: Path, descriptor: str, ways: _Ways, roots: Roots) -> bool:
    # of thousands in all: a Path each would take most of the time
    link = f"{process}/fd/{descriptor}"
    text = os.readlink(link)  # noqa: PTH115
    if text.startswith(_PSEUDO):
        return False
    try:
        status = os.stat(link)  # noqa: PTH116
    except OSError:
        if text.startswith(("/dev/", f"{roots.dev}/")):
            raise
        return False  # a file on a user's FUSE mount, closed to root, and not a device
    if not ways.lead_to(status):
        return False
    for line in (process / "fdinfo" / descriptor).read_text().splitlines():
        if line.startswith("flags:"):
            return int(line.split()[1], 8) & os.O_ACCMODE != os.O_RDONLY
    return True


def _maps(process: Path, ways: _Ways) -> bool:
    """Whether a process has the drive mapped for writing, which needs no descriptor."""
    maps = (process / "maps").read_bytes()
    # most have none, which takes a tenth of the time to see
    for found in _SHARED_AND_WRITABLE.finditer(maps if b"w-s " in maps or b"wxs " in maps else b""):
        try:
            status = (process / "map_files" / found[1].decode()).stat()
        except FileNotFoundError:
            continue  # unmapped meanwhile, or a deleted file
        if ways.lead_to(status):
            return True
    return False
