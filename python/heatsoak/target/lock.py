"""Allows one run per drive at a time: two would measure each other.

A lock is a locked file (flock), which the kernel unlocks when the process ends for any reason. It
is named after the drive's serial, so it is the same for every path to the drive. It only works on
this machine, and for containers that share its lock directory.

Each user, including root, has a private lock directory: if anybody could take a lock, anybody could
block root's runs. So runs of the same user exclude each other, but not those of different users.
That case is handled elsewhere: two users writing to the same bare drive are kept apart by the write
guard, whose claim is global, and another user's load on a shared file system is recorded as traffic
and judged as interference. Users who want shared locks, or containers that load the same drive, can
set a common directory; whoever can write there can block the others.
"""

import errno
import hashlib
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from heatsoak import writing
from heatsoak.errors import RefusedError, saying
from heatsoak.output import printable
from heatsoak.sensor import Roots
from heatsoak.target.base import once_free
from heatsoak.target.place import Place

#: Environment variable for another lock directory, such as one shared by containers.
DIRECTORY_VARIABLE = "HEATSOAK_LOCKS"
#: Where root's locks are.
ROOTS = Path("/run/heatsoak")
_SHOWN = 200
#: Waits for another process that only looks whether a drive is locked; longer than it takes.
_WAITS_S = (0.0, 0.1)


@contextmanager
def drives_held(places: Iterable[Place], roots: Roots, purpose: str | None) -> Iterator[None]:
    """Lock the drives of `places`; `purpose` is shown to other runs that want one of them.

    None is for a moment's look whether another run has one: many may look at once.
    Raises RefusedError if another run has one of them, ToolError if a lock cannot be created.
    Simulated drives need no lock.
    """
    keys = {key: place for place in places if (key := _key_of(place, roots)) is not None}
    with ExitStack() as stack:
        for key, place in sorted(keys.items()):
            stack.callback(os.close, _hold(key, place, purpose))
        yield


def _key_of(place: Place, roots: Roots) -> str | None:
    """A key that is the same for all names of a drive; None without a real drive."""
    if place.is_simulated:
        return None
    if place.kind == "nbd":
        from heatsoak.target.fio.nbd_client import parse_uri  # Linux only

        return parse_uri(place.text).key
    info = place.device_info(roots)
    if info is None:
        # a file system without a drive, such as NFS or tmpfs
        return f"fs-{Path(place.text).stat().st_dev}"
    return info.serial or info.wwid or f"{info.name}-{info.size_bytes}"


def _hold(key: str, place: Place, purpose: str | None) -> int:
    directory = lock_directory()
    is_shared = DIRECTORY_VARIABLE in os.environ
    why = f"cannot be locked (set {DIRECTORY_VARIABLE} to a directory of yours)"
    if not is_shared:
        with saying(f"{directory}: {why}"):
            writing.own_directory(directory)
    # a serial may have any characters; the plain ones help people to recognize the drive
    plain = re.sub(r"[^A-Za-z0-9]+", "-", key)[:40].strip("-")
    digest = hashlib.sha256(key.encode()).hexdigest()[:12]
    path = directory / f"heatsoak-{plain}-{digest}.lock"
    import fcntl  # not on Windows, where no drive is locked

    with saying(f"{path}: {why}"):
        # in a shared directory it may be another user's
        fd = writing.lock_file(path, 0o644 if is_shared else 0o600)
    kind = fcntl.LOCK_SH if purpose is None else fcntl.LOCK_EX
    try:
        once_free(lambda: fcntl.flock(fd, kind | fcntl.LOCK_NB), _WAITS_S, errno.EWOULDBLOCK)
    except BlockingIOError:
        holder = os.pread(fd, _SHOWN, 0).decode("utf-8", "replace").strip()
        os.close(fd)
        by = f" ({printable(holder)})" if holder else ""
        raise RefusedError(
            f"{place.text}: another run is using this drive{by}: wait for it or stop it, since two "
            "runs would measure each other"
        ) from None
    if purpose is None:
        return fd
    try:
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"process {os.getpid()}, {purpose}\n".encode()[:_SHOWN], 0)
    except OSError:
        pass  # another user's file, or a full disk: the lock holds anyway
    return fd


def lock_directory() -> Path:
    """Return where locks are: the directory set by the user, or else a private one."""
    if chosen := os.environ.get(DIRECTORY_VARIABLE):
        return Path(chosen)
    user = os.geteuid()
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if user == 0:
        return ROOTS
    if runtime and Path(runtime).is_absolute():
        return Path(runtime) / "heatsoak"
    return Path(tempfile.gettempdir()) / f"heatsoak-{user}"
