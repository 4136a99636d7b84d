"""What is on a target, seen twice: whether somebody else changed it since heatsoak's last step.

One construction for whole drives, test files and NBD exports. It looks at both ends and samples in
between. What changed elsewhere is only seen on a drive, by the kernel's count of what was written.
"""

import hashlib
import os
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from heatsoak.errors import ToolError
from heatsoak.target.guard.content import content

#: How much of each end is looked at; no signature that blkid knows is further inside.
END_BYTES = 4 << 20
_PIECE_BYTES = 1 << 20
#: Samples between the ends only help to recognize a target; emptiness is never sampled.
_SAMPLES = 256
SAMPLE_BYTES = 4096


def places(size_bytes: int, samples: int = _SAMPLES) -> Iterator[tuple[int, int]]:
    """Yield offset and length of the parts that identify a target: both ends, and samples."""
    tail = max(size_bytes - END_BYTES, END_BYTES)
    tail -= tail % SAMPLE_BYTES
    for start in range(0, min(END_BYTES, size_bytes), _PIECE_BYTES):
        yield start, min(_PIECE_BYTES, size_bytes - start)
    for start in spread(size_bytes, SAMPLE_BYTES, samples):
        if END_BYTES <= start < tail:
            yield start, SAMPLE_BYTES
    for start in range(tail, size_bytes, _PIECE_BYTES):
        yield start, min(_PIECE_BYTES, size_bytes - start)


def spread(size_bytes: int, piece_bytes: int, parts: int) -> list[int]:
    """Return the offsets of both ends' pieces and of one by chance in each of equal parts.

    They are the same each time for one size.
    """
    pieces = size_bytes // piece_bytes
    chance = random.Random(size_bytes)
    chosen = {0, pieces - 1} if pieces else set()
    for part in range(parts):
        first, end = part * pieces // parts, (part + 1) * pieces // parts
        if first < end:
            chosen.add(chance.randrange(first, end))
    return [piece * piece_bytes for piece in sorted(chosen)]


@dataclass(frozen=True)
class View:
    """A target as whoever has it open finds it.

    Attributes:
        size_bytes: how much of it there is to see.
        read: returns what is at an offset, of a length; raises OSError or ToolError.
        sectors_changed: how many were ever written or discarded, by anybody, if that is counted.
    """

    size_bytes: int
    read: Callable[[int, int], bytes]
    sectors_changed: int | None = None

    @classmethod
    def through(cls, fd: int, size_bytes: int, sectors_changed: int | None = None) -> "View":
        """Return what is seen through a descriptor."""
        # what is below a loop device may have changed behind what was read through it
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        return cls(size_bytes, lambda offset, length: os.pread(fd, length, offset), sectors_changed)


@dataclass(frozen=True)
class Seen:
    """What was on a target: the view's size and count, and a digest of what was looked at."""

    size_bytes: int
    digest: bytes
    sectors_changed: int | None


def look(view: View) -> Seen:
    """Return what is on a target; a place that cannot be read counts as what it answers."""
    digest = hashlib.sha256()
    for start, length in places(view.size_bytes):
        try:
            digest.update(view.read(start, length))
        except (OSError, ToolError) as error:
            digest.update(str(error).encode())
    return Seen(view.size_bytes, digest.digest(), view.sectors_changed)


def changes(seen: Seen, view: View) -> list[str]:
    """Return the reasons not to write to a target in what changed since it was `seen`."""
    if view.size_bytes != seen.size_bytes:
        return [f"its size was {seen.size_bytes} and is {view.size_bytes} now"]
    if look(view) == seen:
        return []
    return contents(view) or ["its contents were changed by somebody else"]


def contents(view: View) -> list[str]:
    """Return the reasons not to write to a target in what is on it, by a sparse copy in memory."""
    with os.fdopen(os.memfd_create("heatsoak-look"), "r+b", buffering=0) as copy:
        copy.truncate(view.size_bytes)
        for start, length in places(view.size_bytes):
            try:
                piece = view.read(start, length)
            except (OSError, ToolError) as error:
                return [f"it cannot be read at byte {start} ({error})"]
            if is_filled(piece):
                os.pwrite(copy.fileno(), piece, start)
        return content(copy.fileno(), view.size_bytes)


def is_filled(piece: bytes) -> bool:
    """Whether there is anything but zeros."""
    return piece.count(0) < len(piece)
