"""Opening files that somebody named: regular files only, since a pipe or device may never end.

And finding a name that is free.
"""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from heatsoak.errors import UsageError


def require_file(path: Path) -> None:
    """Raise UsageError if `path` exists but is not a regular file, or is a broken link."""
    try:
        mode = path.stat().st_mode
    except OSError:
        if path.is_symlink():
            raise UsageError(f"{path}: is a broken link") from None
        return  # opening it says why
    if not stat.S_ISREG(mode):
        raise UsageError(f"{path}: {wrong_kind(mode)}")


def open_regular(path: Path, *, follow: bool = True, most_bytes: int | None = None) -> BinaryIO:
    """Open a regular file for reading, without blocking on a FIFO that nobody writes.

    Raises OSError if it cannot be opened, is not a regular file, is a link and `follow` is false,
    or is larger than `most_bytes`.
    """
    flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    flags |= getattr(os, "O_NONBLOCK", 0) | (0 if follow else getattr(os, "O_NOFOLLOW", 0))
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise OSError(error.errno, wrong_kind(stat.S_IFSOCK), str(path)) from None
        if error.errno == errno.ELOOP and not follow:
            raise OSError(error.errno, "is a link, and links are not followed", str(path)) from None
        raise
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, wrong_kind(status.st_mode), str(path))
        if most_bytes is not None and status.st_size > most_bytes:
            raise OSError(errno.EFBIG, _too_large(most_bytes), str(path))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(path: Path, most_bytes: int) -> bytes:
    """Return the contents of a regular file; raises OSError as :func:`open_regular` does."""
    with open_regular(path, most_bytes=most_bytes) as file:
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:  # it is growing
        raise OSError(errno.EFBIG, _too_large(most_bytes), str(path))
    return data


def _too_large(most_bytes: int) -> str:
    return f"is larger than the limit of {most_bytes >> 20} MiB"


def wrong_kind(mode: int) -> str:
    """Return what a file of this mode, which is not a regular one, is."""
    if stat.S_ISDIR(mode):
        kind = "directory"
    elif stat.S_ISFIFO(mode):
        kind = "pipe"
    elif stat.S_ISSOCK(mode):
        kind = "socket"
    else:
        kind = "device"
    return f"is a {kind}, not a regular file"


def free_path(path: Path) -> Path:
    """Return `path`, or if that exists, the first one with a number appended to its stem."""
    number = 2
    free = path
    while free.exists():
        free = path.with_name(f"{path.stem}-{number}{path.suffix}")
        number += 1
    return free
