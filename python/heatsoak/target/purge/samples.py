"""Checks whether a drive still returns its old data, with samples read before and after a purge."""

import hashlib
import mmap
import os
from dataclasses import dataclass

from heatsoak.errors import ToolError
from heatsoak.target.guard import Claim
from heatsoak.target.guard.look import spread

_PIECE_BYTES = 64 << 10
_PIECES = 64


@dataclass(frozen=True)
class Piece:
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


def take_samples(claim: Claim) -> dict[int, Piece]:
    """Read samples from the whole drive with direct I/O; keys are offsets in bytes.

    Raises ToolError if it cannot be read.
    """
    try:
        fd = os.open(claim.fd_path, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC)
    except OSError as error:
        raise ToolError(f"{claim.path}: cannot be read: {error.strerror}") from error
    try:
        with mmap.mmap(-1, _PIECE_BYTES) as memory:  # aligned, for direct I/O
            return {
                offset: _piece(fd, memory, offset, claim)
                for offset in spread(claim.size_bytes, _PIECE_BYTES, _PIECES)
            }
    finally:
        os.close(fd)


def compare_samples(before: dict[int, Piece], after: dict[int, Piece]) -> PurgeEvidence:
    """Compare the samples of one drive from before and after."""
    held = [offset for offset, piece in before.items() if piece.filled_with is None]
    return PurgeEvidence(
        pieces=len(after),
        held_data=len(held),
        kept=sum(before[offset].digest == after[offset].digest for offset in held),
        zeros=sum(piece.filled_with == 0x00 for piece in after.values()),
        ones=sum(piece.filled_with == 0xFF for piece in after.values()),
    )


def _piece(fd: int, memory: mmap.mmap, offset: int, claim: Claim) -> Piece:
    try:
        got = os.preadv(fd, [memory], offset)
    except OSError as error:
        raise ToolError(
            f"{claim.path}: cannot be read at byte {offset}: {error.strerror}"
        ) from error
    content = memory[:got]
    filled_with = content[0] if content and content.count(content[0]) == got else None
    return Piece(hashlib.blake2b(content).digest(), filled_with)
