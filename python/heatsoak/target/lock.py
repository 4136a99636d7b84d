"""One run a drive at a time: two would measure each other.

A lock is an empty promise in a file: whoever holds it has locked the file (flock), and the kernel
lets go when the process ends, however it does. It stands under the drive's serial, so that it is
the same by whatever path the drive is named; for this machine alone, and for containers that share
its lock directory.

Each user, root among them, has a lock directory of its own that nobody else can write to or open
files in: a lock that anybody may take is one that anybody can keep root's runs away with. So the
runs of one user exclude each other, and those of two users do not. What that would cost is taken
care of elsewhere: two who write to one bare drive are kept apart by the write guard, whose claim
is for all users, and the other's load on a shared file system is traffic that the recording shows
and the judge takes for interference. Users who want locks in common, or containers that load one
drive, name a directory for them; whoever can write there can hold up the others.
"""

import hashlib
import os
import re
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from heatsoak.errors import RefusedError, ToolError
from heatsoak.output import printable
from heatsoak.sensor import Roots
from heatsoak.target.place import Place

#: Names another directory for locks, such as one that containers share.
DIRECTORY_VARIABLE = "HEATSOAK_LOCKS"
#: Where root's locks are.
ROOTS = Path("/run/heatsoak")
_SHOWN = 200


@contextmanager
def drives_held(places: Iterable[Place], roots: Roots, purpose: str) -> Iterator[None]:
    """Hold the drives under `places` until the end; `purpose` is told to whoever else wants one.

    Raises RefusedError where another run has one of them, ToolError where no lock can be made.
    Simulated drives are nobody else's.
    """
    keys = {key: place for place in places if (key := _key_of(place, roots)) is not None}
    with ExitStack() as stack:
        for key, place in sorted(keys.items()):
            stack.callback(os.close, _hold(key, place, purpose))
        yield


def _key_of(place: Place, roots: Roots) -> str | None:
    """What is the same for all ways to name a drive; None where there is none."""
    if place.is_simulated:
        return None
    if place.kind == "nbd":
        from heatsoak.target.fio.nbd_client import parse_uri  # Linux's, as below

        return parse_uri(place.text).key
    info = place.device_info(roots)
    if info is None:
        # a file system without a drive of its own: the network's, or one in memory
        return f"fs-{Path(place.text).stat().st_dev}"
    return info.serial or info.wwid or f"{info.name}-{info.size_bytes}"


def _hold(key: str, place: Place, purpose: str) -> int:
    directory = _directory()
    # a serial may hold anything; what is left of it tells a person which drive it is
    plain = re.sub(r"[^A-Za-z0-9]+", "-", key)[:40].strip("-")
    digest = hashlib.sha256(key.encode()).hexdigest()[:12]
    path = directory / f"heatsoak-{plain}-{digest}.lock"
    import fcntl  # Linux's, and so are all drives that are held

    fd = _open(path)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(fd, _SHOWN, 0).decode("utf-8", "replace").strip()
        os.close(fd)
        by = f" ({printable(holder)})" if holder else ""
        raise RefusedError(
            f"{place.text}: another run has this drive{by}, and two would measure each other: "
            "wait for it, or end it"
        ) from None
    try:
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"process {os.getpid()}, {purpose}\n".encode()[:_SHOWN], 0)
    except OSError:
        pass  # another user's file, or a full disk: held all the same
    return fd


def _directory() -> Path:
    """Return the directory for locks, which is ours alone where nobody has named another.

    Raises ToolError where there can be none.
    """
    chosen = os.environ.get(DIRECTORY_VARIABLE)
    if chosen:
        return Path(chosen)
    user = os.geteuid()
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if user == 0:
        path = ROOTS
    elif runtime and Path(runtime).is_absolute():
        path = Path(runtime) / "heatsoak"
    else:
        path = Path(tempfile.gettempdir()) / f"heatsoak-{user}"
    try:
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
        status = path.lstat()
    except OSError as error:
        raise _unusable(path, error.strerror) from error
    if not stat.S_ISDIR(status.st_mode):
        raise _unusable(path, "it is no directory")
    if status.st_uid != user or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _unusable(path, "other users can write to it, and could keep it locked")
    return path


def _open(path: Path) -> int:
    """Open a lock file: our own, or, in a directory that was named, another user's."""
    flags = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    # somebody may make it between the looks for it and the making
    again = (os.O_RDWR, os.O_RDONLY)
    for more in (*again, os.O_RDWR | os.O_CREAT | os.O_EXCL, *again):
        try:
            fd = os.open(path, flags | more, 0o644 if DIRECTORY_VARIABLE in os.environ else 0o600)
        except OSError as error:
            last = error
            continue
        if stat.S_ISREG(os.fstat(fd).st_mode):
            return fd
        os.close(fd)
        raise _unusable(path, "it is no file")
    raise _unusable(path, last.strerror)


def _unusable(path: Path, why: str | None) -> ToolError:
    return ToolError(
        f"{path}: cannot be locked: {why} (set {DIRECTORY_VARIABLE} to a directory that "
        "can be written)"
    )
