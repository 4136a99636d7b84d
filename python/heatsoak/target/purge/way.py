"""The interface of all purge methods, and the plainest of them.

A discard (trim) of every block is quick, but the drive does not guarantee to forget them.
"""

import errno
import fcntl
import struct
from collections.abc import Callable, Generator
from dataclasses import dataclass

from heatsoak.errors import ToolError
from heatsoak.protocol import PurgeMethod
from heatsoak.target.base import HEARTBEAT, Batch
from heatsoak.target.guard import HeldDrive

#: Purges a claimed drive, yielding at least four times per second; returns what was done, as text.
PurgeRun = Callable[[HeldDrive], Generator[Batch, None, str]]


class NotTakenError(Exception):
    """The drive rejected the purge before changing anything; the message says why."""


@dataclass(frozen=True)
class Way:
    """One purge method for one drive.

    Attributes:
        why_not: why this drive cannot be purged this way; None if it can.
        run: purges it; raises NotTakenError if the drive rejects it, ToolError if it fails.
    """

    method: PurgeMethod
    why_not: str | None
    run: PurgeRun


_BLKDISCARD = 0x1277  # linux/fs.h
_AT_ONCE = 1 << 30


def discard(claim: HeldDrive) -> Way:
    """Return the purge by discard."""
    why_not = None if claim.info.trims else "it does not support discard"
    return Way("discard", why_not, _discard)


def _discard(claim: HeldDrive) -> Generator[Batch, None, str]:
    for start in range(0, claim.size_bytes, _AT_ONCE):
        length = min(_AT_ONCE, claim.size_bytes - start)
        try:
            fcntl.ioctl(claim.fd, _BLKDISCARD, struct.pack("QQ", start, length))
        except OSError as error:
            if start == 0 and error.errno in (errno.EOPNOTSUPP, errno.ENOTTY, errno.EINVAL):
                raise NotTakenError("it does not support discard") from None
            raise ToolError(
                f"{claim.path}: discarding at byte {start} failed: {error.strerror}"
            ) from error
        yield HEARTBEAT
    return "every block was discarded"
