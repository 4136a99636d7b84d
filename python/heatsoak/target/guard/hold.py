"""Claims a drive that was named: examines it, opens it exclusively, locks it, and looks again."""

import array
import errno
import fcntl
import os
import shlex
import stat
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from heatsoak.errors import NotEmptyError, RefusedError
from heatsoak.output import printable
from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Roots
from heatsoak.target.base import Closing, once_free
from heatsoak.target.device import DeviceInfo, describe_number
from heatsoak.target.guard import look, users
from heatsoak.target.guard.content import content
from heatsoak.target.guard.users import Doubt
from heatsoak.words import size_text

#: What follows the name in ``--erase`` where data may be lost.
NOT_EMPTY = ":NOT-EMPTY"


def refusal(target: object, reasons: Sequence[str]) -> RefusedError:
    """Return the error for a target that is not written for these reasons."""
    return RefusedError(_line(target, reasons))


def _line(target: object, reasons: Sequence[str]) -> str:
    return printable(f"{target}: refusing to write to it: {'; '.join(reasons)}")


def word_for(name: str, data: look.Data | None) -> str:
    """Return what ``--erase`` needs for the target `name`; `data` is what would be lost."""
    return name if data is None else name + NOT_EMPTY


@dataclass(frozen=True)
class Naming:
    """How a target is named.

    Attributes:
        place: as given by the user.
        names: what ``--erase`` accepts, best first.
        kind: what it is, as in "this drive".
        unnamed: what is said, before what to add, where it is not named at all.
        model: of a drive; None if unknown.
    """

    place: object
    names: Sequence[str]
    kind: str
    unnamed: str
    model: str | None = None

    def refused(self, erase_id: str | None, data: look.Data | None) -> RefusedError | None:
        """Return the error unless `erase_id` names the target, and says so if it holds `data`."""
        right = self.names[0]
        word = word_for(right, data)
        if erase_id is None:
            held = [] if data is None else [str(data)]
            confirmed = f"{self.unnamed}, add --erase {shlex.quote(word)}"
            return refusal(self.place, [*held, confirmed])
        name = erase_id.removesuffix(NOT_EMPTY)
        if name not in self.names:
            wrong = f"--erase names '{name}', but this {self.kind} is '{right}'"
            return refusal(self.place, [wrong])
        if data is None or name != erase_id:
            return None
        message = f"{data}; if all of it may be lost, give --erase {shlex.quote(word)}"
        return NotEmptyError(
            _line(self.place, [message]), held=str(data), erase=word, answer=self.model or right
        )


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
        raise Doubt("it does not exist (`heatsoak list drives` lists drives)") from None
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
    what = f"{info.model or info.transport}, {size_text(info.size_bytes)}"
    unnamed = f"all data on it ({what}) would be lost; to confirm"
    return Naming(device, info.erase_ids, f"drive ({what})", unnamed, info.model)


#: How long to wait for udev, which locks a drive while it examines it, and for a program that
#: briefly opens one exclusively.
_WAITS_S = (0.0, 0.1, 0.3, 1.0, 3.0)


@dataclass
class HeldDrive(Closing):
    """A device that may be overwritten, held exclusively until :meth:`close`.

    Pass `fd` to the tool that writes (it is not inherited automatically) and let it open
    :attr:`fd_path`: a path could lead to another drive by then, the descriptor cannot.
    `data` is what somebody else may have put on it before; None if nobody has.
    """

    fd: int
    path: Path
    id: str
    size_bytes: int
    info: DeviceInfo
    roots: Roots
    data: look.Data | None

    @property
    def fd_path(self) -> str:
        """The path of the claimed device for a process that inherits `fd`."""
        return f"/proc/self/fd/{self.fd}"

    def recheck(self) -> None:
        """Raise RefusedError unless the descriptor still leads to the claimed drive.

        For use between steps; does not check whether others have it open, since fio does.
        """
        try:
            same_drive(self.fd, self.info, self.roots)
        except Doubt as doubt:
            raise refusal(self.path, [str(doubt)]) from None

    def examine_again(self) -> None:
        """Raise RefusedError unless it is still the claimed drive, and in use by nobody else.

        For use before heatsoak changes what is on it.
        """
        self.recheck()
        if reasons := _uses(self.info, self.roots, own_fd=self.fd):
            raise refusal(self.path, reasons)

    def close(self) -> None:
        """Release the device; may be called twice."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def claim(
    device: Path,
    erase_id: str | None,
    roots: Roots | None = None,
    *,
    known: DeviceInfo | None = None,
    resumes: Path | None = None,
) -> HeldDrive:
    """Return `device`, claimed to be overwritten.

    `known` is the drive that `device` led to when the run was prepared: any other is refused.
    `resumes` is where the run is that is resumed, whose data may be lost.
    Raises RefusedError, one line with every reason, in all other cases. A missing or wrong
    `erase_id` is only reported if there is no other reason.
    """
    roots = roots or Roots()
    info = _unused(device, roots, known)
    try:
        fd = _open_alone(device)
    except OSError as error:
        raise refusal(device, [_cannot_open(error)]) from None
    try:
        return _examine(fd, device, info, erase_id, roots, resumes)
    except BaseException:
        os.close(fd)
        raise


def _unused(device: Path, roots: Roots, known: DeviceInfo | None = None) -> DeviceInfo:
    """Return the drive that `device` leads to.

    Raises RefusedError if anything uses it, as far as is known without reading it, or if it is
    another than the one that is `known`.
    """
    try:
        info = identify(device, roots)
        if known is not None:
            same_as(known, info)
    except Doubt as doubt:
        raise refusal(device, [str(doubt)]) from None
    if reasons := _uses(info, roots):
        raise refusal(device, reasons)
    return info


def _open_alone(device: Path, mode: int = os.O_RDWR) -> int:
    """Open a drive exclusively, waiting for programs that open it briefly, like :func:`_read`."""
    flags = mode | os.O_EXCL | os.O_CLOEXEC
    return once_free(lambda: os.open(device, flags), _WAITS_S, errno.EBUSY)


def examine(device: Path, roots: Roots | None = None) -> tuple[list[str], look.Data | None]:
    """Return every reason, except its name, to refuse `device`, and the data that would be lost.

    Without a reason, None means that nothing was found, or what heatsoak's last run left. Only
    opens it for reading, and looks at fewer places than :func:`claim`, which checks all again.
    """
    roots = roots or Roots()
    try:
        info = identify(device, roots)
    except Doubt as doubt:
        return [str(doubt)], None
    reasons = _uses(info, roots)
    # a drive in use is not opened exclusively, not even briefly
    more, data = _read(device, info, roots, exclusively=not reasons, is_whole=False)
    return list(dict.fromkeys([*reasons, *more])), data


def check(
    device: Path,
    erase_id: str | None,
    roots: Roots | None = None,
    *,
    before_reading: Callable[[], None] | None = None,
    resumes: Path | None = None,
) -> look.Data | None:
    """Raise RefusedError if :func:`claim` would; only opens the device for reading.

    `before_reading` is called once all checks without reading have passed and the drive is named
    correctly: for a drive that does not answer yet. Returns the data that would be lost.
    """
    roots = roots or Roots()
    info = _unused(device, roots)
    named = naming(device, info)
    if before_reading is not None and named.refused(erase_id, None) is None:
        before_reading()
    reasons, data = _read(device, info, roots, exclusively=True, is_whole=True, resumes=resumes)
    if not reasons and not os.access(device, os.W_OK):
        reasons = [_cannot_open(PermissionError(errno.EACCES, ""))]
    if reasons:
        raise refusal(device, reasons)
    if (refused := named.refused(erase_id, data)) is not None:
        raise refused
    return data


def _read(
    device: Path,
    info: DeviceInfo,
    roots: Roots,
    *,
    exclusively: bool,
    is_whole: bool,
    resumes: Path | None = None,
) -> tuple[list[str], look.Data | None]:
    """Return the reasons in the drive's contents not to write to it, and the data that it holds.

    Opens it for reading. A drive that is in use is not read for data. Whether others hold or lock
    it is found by doing so for a moment: ``heatsoak list drives`` keeps no run from starting.
    """
    with ExitStack() as open_:
        try:
            fd = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
            open_.callback(os.close, fd)
            if exclusively:  # one after the other: neither is held while the other is waited for
                _lock(fd, fcntl.LOCK_SH)
                fcntl.flock(fd, fcntl.LOCK_UN)
                os.close(_open_alone(device, os.O_RDONLY))
            same_drive(fd, info, roots)
            reasons = content(fd, info.size_bytes)
            is_unread = reasons or not exclusively
            return reasons, None if is_unread else _data(fd, info, resumes, is_whole=is_whole)
        except OSError as error:
            return [_cannot_open(error)], None
        except Doubt as doubt:
            return [str(doubt)], None


def _data(fd: int, info: DeviceInfo, resumes: Path | None, *, is_whole: bool) -> look.Data | None:
    """Return what somebody else may have put on a drive; None if nobody has. Raises Doubt."""
    assert info.erase_id is not None
    view = look.TargetView.through(fd, info.size_bytes)
    try:
        found = look.look_for_data(view, is_whole=is_whole)
        return look.of_others(info.erase_id, found, resumes)
    except OSError as error:
        raise Doubt(f"it cannot be read everywhere ({error.strerror})") from None


def _lock(fd: int, kind: int) -> None:
    """Lock the device node, like partitioning tools; raises Doubt if another program has.

    While we have it locked exclusively, udev does not look for new partitions or volumes.
    """
    try:
        once_free(lambda: fcntl.flock(fd, kind | fcntl.LOCK_NB), _WAITS_S, errno.EWOULDBLOCK)
    except BlockingIOError:
        others = "another program has locked it, as partitioning tools do (stop it first)"
        raise Doubt(others) from None
    except OSError as error:
        raise Doubt(f"it cannot be locked ({error.strerror})") from None


def _examine(
    fd: int,
    device: Path,
    info: DeviceInfo,
    erase_id: str | None,
    roots: Roots,
    resumes: Path | None,
) -> HeldDrive:
    """Check everything again through the descriptor that will be written to."""
    data = None
    try:
        _lock(fd, fcntl.LOCK_EX)
        same_drive(fd, info, roots)
        reasons = _uses(info, roots, own_fd=fd) + content(fd, info.size_bytes)
        if not reasons:
            data = _data(fd, info, resumes, is_whole=True)
        same_drive(fd, info, roots)
    except Doubt as doubt:
        reasons = [str(doubt)]
    if reasons:
        raise refusal(device, reasons)
    if (refused := naming(device, info).refused(erase_id, data)) is not None:
        raise refused
    assert info.erase_id is not None
    return HeldDrive(fd, device, info.erase_id, info.size_bytes, info, roots, data)


def _cannot_open(error: OSError) -> str:
    if error.errno == errno.EBUSY:
        return "another program or driver holds it exclusively (stop it first)"
    if error.errno in (errno.EACCES, errno.EPERM):
        remedy = "it is locked even to root" if os.geteuid() == 0 else "run as root"
        return f"no permission to open it ({remedy})"
    return f"it cannot be opened ({error.strerror})"


def _uses(info: DeviceInfo, roots: Roots, own_fd: int | None = None) -> list[str]:
    """Return all reasons that are known without reading the drive."""
    blind = users.blind_spot(roots)
    reasons = [] if blind is None else [blind]
    questions: list[Callable[[DeviceInfo, Roots], list[str]]] = [
        *(users.structure, users.exports, users.mounts, users.swaps, users.loops),
        partial(users.writers, own_fd=own_fd),
    ]
    for question in questions:
        try:
            reasons += question(info, roots)
        except Doubt as doubt:
            reasons.append(str(doubt))
    return reasons
