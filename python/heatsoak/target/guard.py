"""The write guard: decides whether a block device may be overwritten, and holds it if so.

This is the part of the program that may not have a bug, so it is built to err on one side only:
every question is asked of more than one witness, whatever cannot be found out counts against
writing, and the guard itself never writes a byte.

A device is given out when all of this holds:

- it is a block device and a whole disk, not made of other disks, and not read-only;
- nothing is known to use it: no partitions, holders (dm, md, bcache), mounts in any process's
  view, swap, loop devices upon it, or processes that have it open for writing;
- it could be opened exclusively, and stays so until the claim is closed: no file system, array
  or volume manager of the kernel can take it meanwhile;
- through that very descriptor its number, size and place in the kernel's count of disks are
  those that were examined, and its serial is read again;
- through that descriptor both ends can be read, and neither `blkid -p` nor `wipefs -n` sees a
  file system, RAID member, volume or partition table;
- the user has named it: ``--erase`` with its serial or by-id name, or ``PATH:SIZE_BYTES`` where
  it has neither.

What it cannot see: a machine elsewhere that uses the same disk through a network or a shared
cage, a writer without exclusive hold that hides from root, and data without any signature that
nobody holds at the time. Naming the drive is all that
protects these.
"""

import array
import errno
import fcntl
import os
import shlex
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from heatsoak.errors import RefusedError
from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Roots
from heatsoak.target.device import DeviceInfo, describe_number
from heatsoak.units import format_bytes

#: Where blkid and wipefs are looked for, before the user's own PATH (which rarely has /usr/sbin).
TOOL_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"

_BLKGETSIZE64 = 0x80081272
_BLKROGET = 0x125E
_BLKGETDISKSEQ = 0x80081280
_END_BYTES = 1 << 20
_TOOL_TIMEOUT_S = 30.0
_LOOKS_S = (0.0, 0.1, 0.3)
_PSEUDO = ("socket:", "pipe:", "anon_inode:", "mnt:", "net:")
_TABLES = {  # so that blkid and wipefs name them alike
    "gpt": "a gpt partition table",
    "dos": "a dos partition table",
    "PMBR": "a gpt partition table",
}
_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISREG, "a regular file"),
    (stat.S_ISCHR, "a character device"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


class _Doubt(Exception):  # noqa: N818 -- not an error: a reason to refuse
    """Something could not be found out; its text is a reason."""


@dataclass
class Claim:
    """A device that may be overwritten, held exclusively until :meth:`close`.

    Give `fd` to the tool that writes (it is not inherited by itself) and let it open
    :attr:`fd_path`: a path could mean another drive by then, the descriptor cannot.
    """

    fd: int
    path: Path
    id: str
    size_bytes: int
    rdev: int
    info: DeviceInfo
    roots: Roots

    @property
    def fd_path(self) -> str:
        """The name of the held device for a process that inherits `fd`."""
        return f"/proc/self/fd/{self.fd}"

    def recheck(self) -> None:
        """Raise RefusedError unless the descriptor still leads to the drive that was claimed.

        For use between steps; that others hold it open is not looked at, since fio does.
        """
        try:
            _same_drive(self.fd, self.info, self.roots)
        except _Doubt as doubt:
            raise _refusal(self.path, [str(doubt)]) from None

    def close(self) -> None:
        """Let the device go; may be called twice."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __enter__(self) -> "Claim":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def claim(device: Path, erase_id: str | None, roots: Roots | None = None) -> Claim:
    """Return `device`, held and safe to overwrite.

    Raises RefusedError, one line with every reason, in all other cases. A missing or wrong
    `erase_id` is told only where nothing else speaks against writing.
    """
    roots = roots or Roots()
    try:
        info = _identify(device, roots)
    except _Doubt as doubt:
        raise _refusal(device, [str(doubt)]) from None
    if reasons := _uses(info, roots):
        raise _refusal(device, reasons)
    try:
        fd = os.open(device, os.O_RDWR | os.O_EXCL | os.O_CLOEXEC)
    except OSError as error:
        raise _refusal(device, [_cannot_open(error)]) from None
    try:
        return _examine(fd, device, info, erase_id, roots)
    except BaseException:
        os.close(fd)
        raise


def why_not(device: Path, roots: Roots | None = None) -> list[str]:
    """Return every reason why `device` would be refused, whatever it is called; none is good.

    Opens it for reading only. Answers for this moment: :func:`claim` asks everything again.
    """
    roots = roots or Roots()
    try:
        info = _identify(device, roots)
    except _Doubt as doubt:
        return [str(doubt)]
    reasons = _uses(info, roots)
    # Holding a drive exclusively, be it for a moment, is left out where it is in use anyway.
    exclusive = 0 if reasons else os.O_EXCL
    try:
        fd = os.open(device, os.O_RDONLY | os.O_CLOEXEC | exclusive)
    except OSError as error:
        return [*reasons, _cannot_open(error)]
    try:
        _same_drive(fd, info, roots)
        reasons += _content(fd, info)
    except _Doubt as doubt:
        reasons.append(str(doubt))
    finally:
        os.close(fd)
    return reasons


def _examine(fd: int, device: Path, info: DeviceInfo, erase_id: str | None, roots: Roots) -> Claim:
    """Ask everything again of the descriptor that will be written through."""
    try:
        _same_drive(fd, info, roots)
        reasons = _uses(info, roots, own_fd=fd) + _content(fd, info)
        _same_drive(fd, info, roots)
    except _Doubt as doubt:
        reasons = [str(doubt)]
    if not reasons:
        reasons = _misnamed(info, erase_id)
    if reasons:
        raise _refusal(device, reasons)
    assert erase_id is not None
    return Claim(fd, device, erase_id, info.size_bytes, os.fstat(fd).st_rdev, info, roots)


def _refusal(device: Path, reasons: list[str]) -> RefusedError:
    return RefusedError(_printable(f"{device}: will not be written: {'; '.join(reasons)}"))


def _cannot_open(error: OSError) -> str:
    if error.errno == errno.EBUSY:
        return "another program or driver holds it exclusively (end that first)"
    if error.errno in (errno.EACCES, errno.EPERM):
        remedy = "it is locked even to root" if os.geteuid() == 0 else "run as root"
        return f"no permission to open it ({remedy})"
    return f"it cannot be opened ({error.strerror})"


# -- which drive it is


def _identify(device: Path, roots: Roots) -> DeviceInfo:
    """Return the whole disk that `device` leads to; raises _Doubt with the reason otherwise."""
    try:
        status = device.stat()
    except FileNotFoundError:
        raise _Doubt("it does not exist (`heatsoak drives` shows what does)") from None
    except (OSError, ValueError) as error:
        raise _Doubt(f"it cannot be looked at ({error})") from None
    if not stat.S_ISBLK(status.st_mode):
        kind = next((word for test, word in _KINDS if test(status.st_mode)), "something else")
        raise _Doubt(f"it is {kind}, not a block device such as /dev/nvme0n1")
    number = sysfs.number_of(status.st_rdev)
    directory = sysfs.directory_of_number(number, roots)
    if directory is None:
        raise _Doubt(f"the kernel knows no disk with its number {number}")
    if (directory / "partition").exists():
        disk = directory.parent.name
        raise _Doubt(
            f"it is a partition of {disk} (only a whole disk without partitions can be written)"
        )
    info = describe_number(number, roots)
    if info is None or info.number != number:
        raise _Doubt("the kernel does not say which disk it is")
    return info


def _same_drive(fd: int, info: DeviceInfo, roots: Roots) -> None:
    """Raise _Doubt unless the descriptor leads to the drive that `info` describes."""
    status = os.fstat(fd)
    if not stat.S_ISBLK(status.st_mode) or sysfs.number_of(status.st_rdev) != info.number:
        raise _Doubt("it became another device while it was examined")
    try:
        size_bytes = _ask(fd, _BLKGETSIZE64, 8)
        read_only = _ask(fd, _BLKROGET, 4) != 0
        sequence = None
        if info.sequence is not None:
            sequence = _ask(fd, _BLKGETDISKSEQ, 8)
    except OSError as error:
        raise _Doubt(f"it does not answer ({error.strerror})") from None
    if read_only:
        raise _Doubt("it is read-only")
    if size_bytes != info.size_bytes:
        raise _Doubt(
            f"it has {size_bytes} bytes, but {info.size_bytes} when it was examined: changed"
        )
    now = describe_number(info.number, roots)
    if now is None or sequence != info.sequence:
        raise _Doubt(f"{info.name} was removed or replaced while it was examined")
    for what in ("name", "size_bytes", "serial", "wwid", "sequence", "erase_ids"):
        before, after = getattr(info, what), getattr(now, what)
        if before != after:
            raise _Doubt(f"its {what} was {before} and is {after} now: another drive")


def _ask(fd: int, request: int, length: int) -> int:
    answer = array.array("B", bytes(length))
    fcntl.ioctl(fd, request, answer, True)
    return int.from_bytes(answer.tobytes(), sys.byteorder)


def _misnamed(info: DeviceInfo, erase_id: str | None) -> list[str]:
    right = info.erase_id
    assert right is not None
    what = f"{info.model or info.transport}, {format_bytes(info.size_bytes)}"
    if erase_id is None:
        return [
            f"all data on it ({what}) would be lost; if so meant, add --erase {shlex.quote(right)}"
        ]
    if erase_id not in info.erase_ids:
        return [f"--erase names '{erase_id}', but this drive ({what}) is '{right}'"]
    return []


# -- who uses it


def _uses(info: DeviceInfo, roots: Roots, own_fd: int | None = None) -> list[str]:
    """Return all reasons that can be known without reading the drive."""
    reasons: list[str] = []
    for question in (_structure, _mounts, _swaps, _loops):
        try:
            reasons += question(info, roots)
        except _Doubt as doubt:
            reasons.append(str(doubt))
    try:
        reasons += _writers(info, roots, own_fd)
    except _Doubt as doubt:
        reasons.append(str(doubt))
    return reasons


def _listing(directory: Path) -> list[str]:
    """Return the names in a directory that has to be there; raises _Doubt otherwise."""
    try:
        return sorted(entry.name for entry in directory.iterdir())
    except OSError as error:
        raise _Doubt(f"{directory} cannot be read ({error.strerror})") from None


def _structure(info: DeviceInfo, roots: Roots) -> list[str]:
    directory = sysfs.directory_of_number(info.number, roots)
    if directory is None:
        raise _Doubt(f"{info.name} is gone")
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
    parts = [name for name in _listing(directory) if (directory / name / "partition").exists()]
    if parts:
        reasons.append(f"it has partitions ({', '.join(parts)})")
    holders = {name for place in ("", *parts) for name in _listing(directory / place / "holders")}
    if holders:
        reasons.append(f"it is part of {', '.join(sorted(holders))}")
    if beneath := _listing(directory / "slaves"):
        reasons.append(f"it is made of {', '.join(beneath)} (only a drive itself can be written)")
    return reasons


def _processes(roots: Roots) -> Iterator[Path]:
    found = [name for name in _listing(roots.proc) if name.isdigit()]
    if not found:
        raise _Doubt(f"{roots.proc} shows no processes, so who uses it cannot be known")
    return (roots.proc / name for name in found)


def _gone(error: OSError) -> bool:
    """Whether a look into a process failed because it has ended (a zombie gives EINVAL)."""
    return error.errno in (errno.ENOENT, errno.ESRCH, errno.EINVAL)


def _mounts(info: DeviceInfo, roots: Roots) -> list[str]:
    """Look at the mounts as each process sees them: namespaces and chroots all differ."""
    unseen: list[str] = []
    texts: dict[str, None] = {}
    for process in _processes(roots):
        try:
            texts[(process / "mountinfo").read_text("utf-8", "surrogateescape")] = None
        except OSError as error:
            if not _gone(error):
                unseen.append(process.name)
    if not texts:
        raise _Doubt("no process's mounts can be read (run as root)")
    places: dict[str, None] = {}
    direct = False
    verdicts: dict[tuple[str, str], bool] = {}
    for text in texts:
        for mount in sysfs.parse_mounts(text):
            key = (mount.number, mount.source)
            if key not in verdicts:
                numbers = {mount.number, sysfs.block_number(mount.source)}
                verdicts[key] = any(_rests_on(number, info, roots) for number in numbers if number)
            if verdicts[key]:
                places[mount.place] = None
                direct = direct or mount.number == info.number
    reasons = []
    if places:
        first = _printable(next(iter(places)))
        more = f" and {len(places) - 1} more places" if len(places) > 1 else ""
        how = "it is mounted on" if direct else "what lies on it is mounted on"
        reasons.append(f"{how} {first}{more}")
    if unseen:
        reasons.append(
            f"the mounts of {len(unseen)} processes, such as {unseen[0]}, cannot be read "
            "(look as root, outside containers)"
        )
    return reasons


def _rests_on(number: str, info: DeviceInfo, roots: Roots) -> bool:
    if number == info.number:
        return True
    directory = sysfs.directory_of_number(number, roots)
    return directory is not None and info.name in sysfs.disks_beneath(directory)


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)


def _swaps(info: DeviceInfo, roots: Roots) -> list[str]:
    try:
        lines = (roots.proc / "swaps").read_text("utf-8", "surrogateescape").splitlines()[1:]
    except FileNotFoundError:
        return []  # a kernel without swap
    except OSError as error:
        raise _Doubt(f"{roots.proc}/swaps cannot be read ({error.strerror})") from None
    for line in lines:
        path = sysfs.unescape(line.split()[0]) if line.split() else ""
        number = _number_beneath(path.removesuffix(" (deleted)"), roots)
        if number is None:
            raise _Doubt(f"where the swap area {_printable(path)} lies cannot be found out")
        if _rests_on(number, info, roots):
            return [f"it holds the swap area {_printable(path)}"]
    return []


def _number_beneath(path: str, roots: Roots) -> str | None:
    """Return the number of the device that `path` is, or that the file at `path` lies on."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        directory = sysfs.directory_of_name(Path(path).name, roots)
        return None if directory is None else sysfs.read_text(directory / "dev")
    is_device = stat.S_ISBLK(status.st_mode)
    return sysfs.number_of(status.st_rdev if is_device else status.st_dev)


def _loops(info: DeviceInfo, roots: Roots) -> list[str]:
    """Look for loop devices upon the drive, and for other ways to what is behind a loop device."""
    backing = {}
    for name in _listing(roots.sys / "block"):
        text = sysfs.read_text(roots.sys / "block" / name / "loop" / "backing_file")
        if text:
            backing[name] = text.removesuffix(" (deleted)")
    own = backing.pop(info.name, None)
    reasons = []
    if own is not None and sysfs.block_number(own) is not None:
        reasons.append(f"it is a window onto {own} (only a drive itself can be written)")
    for name, path in backing.items():
        number = sysfs.block_number(path)
        if number is not None and _rests_on(number, info, roots):
            reasons.append(f"{name} lies on it")
        elif own is not None and path == own:
            reasons.append(f"{name} is a second way to its file {own}")
    return reasons


def _writers(info: DeviceInfo, roots: Roots, own_fd: int | None) -> list[str]:
    """Look for processes that have the drive open for writing without holding it exclusively.

    Virtual machines and databases on bare disks do; readers come and go and are harmless, and so
    are tools that open every disk for a moment, which a second look no longer finds.
    Processes that hide their descriptors even from root (hardened, or of another container) are
    passed over: root can learn no more, and the exclusive open stands on its own.
    """
    for wait_s in _LOOKS_S:
        time.sleep(wait_s)
        writers, unseen = _openers(info, roots, own_fd)
        if not writers:
            break
    reasons = []
    if writers:
        command = _printable(sysfs.read_text(roots.proc / writers[0] / "comm") or "unknown")
        reasons.append(f"process {writers[0]} ({command}) has it open for writing (end that first)")
    if unseen and os.geteuid() != 0:
        reasons.append(
            f"what {len(unseen)} processes, such as {unseen[0]}, have open cannot be read "
            "(run as root)"
        )
    return reasons


def _openers(info: DeviceInfo, roots: Roots, own_fd: int | None) -> tuple[list[str], list[str]]:
    """Return the processes that have the drive open for writing, and those not seen into."""
    writers: list[str] = []
    unseen: list[str] = []
    own = (_own_pid(roots), str(own_fd))
    for process in _processes(roots):
        try:
            descriptors = [entry.name for entry in (process / "fd").iterdir()]
        except OSError as error:
            if not _gone(error):
                unseen.append(process.name)
            continue
        for name in descriptors:
            try:
                if (process.name, name) != own and _writes_to(process, name, info.number, roots):
                    writers.append(process.name)
                    break
            except OSError as error:
                if not _gone(error) and process.name not in unseen:
                    unseen.append(process.name)
    return writers, unseen


def _own_pid(roots: Roots) -> str:
    try:
        return (roots.proc / "self").readlink().name
    except OSError:
        return str(os.getpid())


def _writes_to(process: Path, descriptor: str, number: str, roots: Roots) -> bool:
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
    if not stat.S_ISBLK(status.st_mode) or sysfs.number_of(status.st_rdev) != number:
        return False
    for line in (process / "fdinfo" / descriptor).read_text().splitlines():
        if line.startswith("flags:"):
            return int(line.split()[1], 8) & os.O_ACCMODE != os.O_RDONLY
    return True


# -- what is on it


def _content(fd: int, info: DeviceInfo) -> list[str]:
    """Return what speaks against writing on the drive itself, read through `fd`."""
    length = min(_END_BYTES, info.size_bytes)
    for offset in (0, info.size_bytes - length):
        try:
            got = len(os.pread(fd, length, offset))
        except OSError as error:
            return [f"it cannot be read at byte {offset} ({error.strerror})"]
        if got != length:
            return [f"it cannot be read at byte {offset} ({got} of {length} bytes came)"]
    kinds: dict[str, None] = {}
    doubts = []
    for look in (_blkid, _wipefs):
        try:
            kinds |= dict.fromkeys(look(fd))
        except _Doubt as doubt:
            doubts.append(str(doubt))
    if kinds:
        return [f"it holds {', '.join(kinds)} (only an empty drive can be written)", *doubts]
    return doubts


def _blkid(fd: int) -> list[str]:
    """Return what libblkid's low-level probe finds (blkid(8): 0 found, 2 nothing, 8 several).

    Exit code 2 also stands for a device that it could not open: it is believed only because
    both ends of this one have just been read, and wipefs is asked too.
    """
    code, out, err = _run_tool(fd, "blkid", "-p", "-o", "export")
    if code == 2 and not out and not err:
        return []
    if code == 0:
        found = dict(line.split("=", 1) for line in out.splitlines() if "=" in line)
        table = [f"a {found['PTTYPE']} partition table"] if "PTTYPE" in found else []
        return [*table, *([found["TYPE"]] if "TYPE" in found else [])] or ["something blkid knows"]
    if code == 8:
        return ["signatures that contradict each other"]
    raise _Doubt(f"blkid cannot tell what is on it (exit {code}: {err or 'no message'})")


def _wipefs(fd: int) -> list[str]:
    """Return the types that wipefs lists; it changes nothing with -n."""
    code, out, err = _run_tool(fd, "wipefs", "-n")
    if code != 0 or err:
        raise _Doubt(f"wipefs cannot tell what is on it (exit {code}: {err or 'no message'})")
    rows = [line.split() for line in out.splitlines()]
    kinds = {row[2] for row in rows[1:] if len(row) > 2}
    if rows and not kinds:
        return ["something wipefs knows"]
    return [_TABLES.get(kind, kind) for kind in sorted(kinds)]


def _run_tool(fd: int, name: str, *options: str) -> tuple[int, str, str]:
    """Run a tool that reads the device behind `fd`; raises _Doubt where it does not come to end."""
    tool = shutil.which(name, path=TOOL_PATH) or shutil.which(name)
    if tool is None:
        raise _Doubt(f"{name} is missing, so what is on it cannot be known (install util-linux)")
    try:
        done = subprocess.run(
            [tool, *options, f"/proc/self/fd/{fd}"],
            pass_fds=[fd],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TOOL_TIMEOUT_S,
            env={"PATH": TOOL_PATH, "LC_ALL": "C"},
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _Doubt(f"{name} did not end within {_TOOL_TIMEOUT_S:.0f} s") from None
    except OSError as error:
        raise _Doubt(f"{name} cannot be run ({error.strerror})") from None
    out, err = (raw.decode("utf-8", "replace").strip() for raw in (done.stdout, done.stderr))
    return done.returncode, out, err
