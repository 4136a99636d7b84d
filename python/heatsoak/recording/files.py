"""Opening what lies in a recording's directory, which may be anything."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

#: A protocol of hundreds of steps on a machine with hundreds of sensors makes half a megabyte.
MOST_META_BYTES = 16 << 20
#: Ten events a minute for a month, of 150 bytes each.
MOST_EVENTS_BYTES = 64 << 20


def open_regular(path: Path, *, follow: bool = True, most_bytes: int | None = None) -> BinaryIO:
    """Open a regular file to read, without waiting for whoever might write to a FIFO.

    Raises OSError where it cannot be opened, is no regular file, is a link and `follow` is false,
    or is larger than `most_bytes`.
    """
    flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    flags |= getattr(os, "O_NONBLOCK", 0) | (0 if follow else getattr(os, "O_NOFOLLOW", 0))
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket
            raise OSError(error.errno, "is no regular file", str(path)) from None
        if error.errno == errno.ELOOP and not follow:
            raise OSError(error.errno, "is a link, and links are not followed", str(path)) from None
        raise
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "is no regular file", str(path))
        if most_bytes is not None and status.st_size > most_bytes:
            told = f"is larger than any such file, {most_bytes >> 20} MiB"
            raise OSError(errno.EFBIG, told, str(path))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_regular(path: Path, most_bytes: int) -> bytes:
    """Return what is in a regular file of at most so many bytes; raises OSError as above."""
    with open_regular(path, most_bytes=most_bytes) as file:
        found = file.read(most_bytes + 1)
    if len(found) > most_bytes:  # it grows
        raise OSError(errno.EFBIG, f"is larger than {most_bytes >> 20} MiB", str(path))
    return found
