"""Purges whole drives by the methods that they support, and checks the result.

Everything here uses the descriptor of a claim: the write guard has accepted the drive, it is held
exclusively, and right before each command it is checked that the descriptor still leads to the
named drive.
"""

import hashlib
import mmap
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass

from heatsoak import errors
from heatsoak.protocol import PurgeMethod
from heatsoak.sensor.nvme_admin import Ioctl
from heatsoak.target.base import Batch, Note
from heatsoak.target.guard import Claim
from heatsoak.target.guard.look import spread
from heatsoak.target.purge import ata, nvme
from heatsoak.target.purge.nvme import sanitizing
from heatsoak.target.purge.way import NotTakenError, Way, discard

__all__ = ["purge", "require", "sanitizing"]

# --- whether a drive still returns its old data --------------------------------------------------

_PIECE_BYTES = 64 << 10
_PIECES = 64


@dataclass(frozen=True)
class BlockDigest:
    """What was read at one offset: a digest, and the byte that fills it, if it is only one."""

    digest: bytes
    filled_with: int | None


@dataclass(frozen=True)
class PurgeEvidence:
    """What the samples show after a purge.

    Attributes:
        pieces: how many were read.
        held_data: how many had data, other than one repeated byte, before.
        kept: how many of these are unchanged.
        zeros: how many read as zeros now.
        ones: how many read as FFh now.
    """

    pieces: int
    held_data: int
    kept: int
    zeros: int
    ones: int

    def describe(self) -> str:
        """Return it as text."""
        if self.kept:
            return f"{self.kept} of {self.held_data} samples still read what they held"
        if self.zeros == self.pieces:
            now = "zeros"
        elif self.ones == self.pieces:
            now = "FFh"
        else:
            now = "neither what they held nor all zeros"
        held = "" if self.held_data else ", as nothing else had been written there"
        return f"{self.pieces} samples read {now}{held}"


def take_samples(claim: Claim) -> dict[int, BlockDigest]:
    """Read samples from the whole drive with direct I/O; keys are offsets in bytes.

    Raises ToolError if it cannot be read.
    """
    try:
        fd = os.open(claim.fd_path, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC)
    except OSError as error:
        raise errors.ToolError(f"{claim.path}: cannot be read: {error.strerror}") from error
    try:
        with mmap.mmap(-1, _PIECE_BYTES) as memory:  # aligned, for direct I/O
            return {
                offset: _piece(fd, memory, offset, claim)
                for offset in spread(claim.size_bytes, _PIECE_BYTES, _PIECES)
            }
    finally:
        os.close(fd)


def compare_samples(before: dict[int, BlockDigest], after: dict[int, BlockDigest]) -> PurgeEvidence:
    """Compare the samples of one drive from before and after."""
    held = [offset for offset, piece in before.items() if piece.filled_with is None]
    return PurgeEvidence(
        pieces=len(after),
        held_data=len(held),
        kept=sum(before[offset].digest == after[offset].digest for offset in held),
        zeros=sum(piece.filled_with == 0x00 for piece in after.values()),
        ones=sum(piece.filled_with == 0xFF for piece in after.values()),
    )


def _piece(fd: int, memory: mmap.mmap, offset: int, claim: Claim) -> BlockDigest:
    try:
        got = os.preadv(fd, [memory], offset)
    except OSError as error:
        raise errors.ToolError(
            f"{claim.path}: cannot be read at byte {offset}: {error.strerror}"
        ) from error
    content = memory[:got]
    filled_with = content[0] if content and content.count(content[0]) == got else None
    return BlockDigest(hashlib.blake2b(content).digest(), filled_with)


# --- purging -------------------------------------------------------------------------------------

#: The order of ``auto``. A format takes seconds, forgets everything and only affects this
#: namespace; a sanitize is as thorough, but affects the whole drive and can take long; a discard is
#: only a hint to the drive. ATA secure erase can leave a drive locked: never chosen automatically.
_AUTO: tuple[PurgeMethod, ...] = ("format", "sanitize", "discard")


def purge(
    claim: Claim, method: PurgeMethod = "auto", ioctl: Ioctl | None = None
) -> Iterator[Batch]:
    """Purge the claimed drive, and read samples of it before and after.

    The last note says how it was done, with `method`, `duration_s` and the result of the samples in
    its data; it is a warning if the drive was not purged. With ``auto``, if the drive rejects a
    method, the next one is tried. Raises RefusedError if the claim is no longer valid, UsageError
    if the drive does not support `method`, ToolError if it fails.
    """
    _check(claim)
    before = take_samples(claim)
    declined: list[str] = []
    for way in _chosen(claim, method, ioctl):
        start_s = time.monotonic()
        try:
            _check(claim)
            said = yield from way.run(claim)
        except NotTakenError as error:
            if method != "auto":
                raise errors.ToolError(f"{claim.path}: was not purged: {error}") from error
            declined.append(f"{way.method}: {error}")
            continue
        duration_s = time.monotonic() - start_s
        _check(claim)
        yield _result(
            claim,
            way,
            said,
            duration_s,
            compare_samples(before, take_samples(claim)),
        )
        return
    yield Note(
        "warning",
        f"{claim.path}: was not purged: what it held still takes up its spare area "
        f"({'; '.join(declined)})",
    )


def require(claim: Claim, method: PurgeMethod, ioctl: Ioctl | None = None) -> None:
    """Raise UsageError if the claimed drive does not support `method`; changes nothing."""
    _check(claim)
    _chosen(claim, method, ioctl)


def _check(claim: Claim) -> None:
    if claim.fd < 0:
        raise errors.RefusedError(f"{claim.path}: is no longer claimed and cannot be purged")
    claim.recheck()


def _chosen(claim: Claim, method: PurgeMethod, ioctl: Ioctl | None) -> list[Way]:
    """Return the methods to try, in order."""
    ways = _ways(claim, ioctl)
    if method == "auto":
        return [ways[name] for name in _AUTO if ways[name].why_not is None] or [ways["discard"]]
    if (why_not := ways[method].why_not) is not None:
        offered = [name for name, way in ways.items() if way.why_not is None]
        instead = f" (it supports {', '.join(offered)})" if offered else ""
        raise errors.UsageError(
            f"{claim.path}: cannot be purged by method '{method}': {why_not}{instead}"
        )
    return [ways[method]]


def _ways(claim: Claim, ioctl: Ioctl | None) -> dict[PurgeMethod, Way]:
    every = (discard(claim), *nvme.ways(claim, ioctl), ata.way(claim))
    return {way.method: way for way in every}


def _result(claim: Claim, way: Way, said: str, duration_s: float, found: PurgeEvidence) -> Note:
    data = {
        "method": way.method,
        "duration_s": round(duration_s, 3),
        "samples": found.pieces,
        "samples_held_data": found.held_data,
        "samples_kept": found.kept,
        "samples_zeros": found.zeros,
    }
    if found.kept:
        text = f"{claim.path}: {said}, but {found.describe()}: it was not purged, or not completely"
        return Note("warning", text, data)
    return Note("info", f"{claim.path}: {said}; {found.describe()}", data)
