"""Discards (trims) every block: quick, but the drive does not guarantee to forget them."""

import errno
import fcntl
import struct
from collections.abc import Generator

from heatsoak.errors import ToolError
from heatsoak.target.base import HEARTBEAT, Batch
from heatsoak.target.guard import Claim
from heatsoak.target.purge.way import NotTakenError, Way

_BLKDISCARD = 0x1277  # linux/fs.h
_AT_ONCE = 1 << 30


def way(claim: Claim) -> Way:
    """Return the purge by discard."""
    why_not = None if claim.info.trims else "it does not support discard"
    return Way("discard", why_not, _run)


def _run(claim: Claim) -> Generator[Batch, None, str]:
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
