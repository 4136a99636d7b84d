"""One run a drive at a time: two would measure each other.

A lock is an empty promise in a file: whoever holds it has locked the file (flock), and the kernel
lets go when the process ends, however it does. It stands under the drive's serial, so that it is
the same by whatever path the drive is named; for this machine alone, and for containers that share
its lock directory.
"""

import hashlib
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from heatsoak.errors import RefusedError, ToolError
from heatsoak.output import printable
from heatsoak.sensor import Roots
from heatsoak.target.place import Place

#: Names another directory for locks, such as one that containers share.
DIRECTORY_VARIABLE = "HEATSOAK_LOCKS"
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
        return place.text
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
    chosen = os.environ.get(DIRECTORY_VARIABLE)
    if chosen:
        return Path(chosen)
    shared = Path("/run/lock")
    return shared if os.access(shared, os.W_OK) else Path(tempfile.gettempdir())


def _open(path: Path) -> int:
    """Open a lock file: our own, or another user's, which can only be read."""
    flags = os.O_CLOEXEC | os.O_NOFOLLOW
    for more in (os.O_RDWR, os.O_RDONLY, os.O_RDWR | os.O_CREAT | os.O_EXCL):
        try:
            return os.open(path, flags | more, 0o644)
        except OSError as error:
            last = error
    # somebody made it in between
    for more in (os.O_RDWR, os.O_RDONLY):
        try:
            return os.open(path, flags | more)
        except OSError as error:
            last = error
    raise ToolError(
        f"{path}: cannot be locked: {last.strerror} (set {DIRECTORY_VARIABLE} to a directory that "
        "can be written)"
    )
