"""What is on a target: whether it holds anything, and whether others changed it since last step.

One construction for whole drives, test files and NBD exports. It looks at both ends and samples in
between. What changed elsewhere is only seen on a drive, by the kernel's count of what was written.

What heatsoak itself left on a target is remembered, so that its next run need not ask for it. A
file for each target holds the digest of all that was read of it when a run ended. It counts for
exactly that: what was formatted or filled since, and what a killed run left, reads otherwise.
"""

import hashlib
import os
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import starmap
from pathlib import Path

import numpy as np

from heatsoak import writing
from heatsoak.errors import ToolError
from heatsoak.target.guard.content import content
from heatsoak.target.undo import state_directory
from heatsoak.words import percent_text, size_text

#: How much of each end is looked at; no signature that blkid knows is further inside.
END_BYTES = 4 << 20
_PIECE_BYTES = 1 << 20
#: Samples between the ends only help to recognize a target; emptiness is never sampled.
_SAMPLES = 256
SAMPLE_BYTES = 4096
#: So many places are asked for before the first of them is read.
_AHEAD = 128
#: Offset and length.
_Place = tuple[int, int]


def places(size_bytes: int, samples: int = _SAMPLES) -> Iterator[_Place]:
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
class TargetView:
    """A target as whoever has it open finds it.

    Attributes:
        size_bytes: how much of it there is to see.
        read: returns what is at an offset, of a length; raises OSError or ToolError.
        sectors_changed: how many were ever written or discarded, by anybody, if that is counted.
        read_many: does so at many places, with several reads under way; None if it cannot.
    """

    size_bytes: int
    read: Callable[[int, int], bytes]
    sectors_changed: int | None = None
    read_many: Callable[[Sequence[_Place]], Iterable[bytes]] | None = None

    @classmethod
    def through(cls, fd: int, size_bytes: int, sectors_changed: int | None = None) -> "TargetView":
        """Return what is seen through a descriptor."""
        # what is below a loop device may have changed behind what was read through it
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)

        def read(offset: int, length: int) -> bytes:
            return os.pread(fd, length, offset)

        def read_many(places: Sequence[_Place]) -> Iterator[bytes]:
            # asked for ahead, a drive reads several at a time; threads would cost more than it does
            for at in range(0, len(places), _AHEAD):
                for place in places[at : at + _AHEAD]:
                    os.posix_fadvise(fd, *place, os.POSIX_FADV_WILLNEED)
                yield from starmap(read, places[at : at + _AHEAD])

        return cls(size_bytes, read, sectors_changed, read_many)

    def pieces(self, places: Sequence[_Place]) -> Iterable[bytes]:
        """Return what is at each of `places`, in their order."""
        return starmap(self.read, places) if self.read_many is None else self.read_many(places)

    def answering(self) -> "TargetView":
        """Return the same, where a place that cannot be read counts as what it answers."""

        def read(offset: int, length: int) -> bytes:
            try:
                return self.read(offset, length)
            except (OSError, ToolError) as error:
                return str(error).encode()

        return TargetView(self.size_bytes, read, self.sectors_changed)


@dataclass(frozen=True)
class ContentsDigest:
    """What was on a target: the view's size and count, and a digest of what was looked at."""

    size_bytes: int
    digest: bytes
    sectors_changed: int | None


def look(view: TargetView) -> ContentsDigest:
    """Return what is on a target; a place that cannot be read counts as what it answers."""
    digest = hashlib.sha256()
    for piece in starmap(view.answering().read, places(view.size_bytes)):
        digest.update(piece)
    return ContentsDigest(view.size_bytes, digest.digest(), view.sectors_changed)


def changes(seen: ContentsDigest, view: TargetView, *, searches: bool = True) -> list[str]:
    """Return the reasons not to write to a target in what changed since it was `seen`.

    What others wrote before that, while heatsoak wrote too, is told by its signature alone. It
    `searches` for them unless told not to.
    """
    if view.size_bytes != seen.size_bytes:
        return [f"its size was {seen.size_bytes} and is {view.size_bytes} now"]
    if look(view) != seen:
        return contents(view) or ["its contents were changed by somebody else"]
    # both ends of random data look like a signature of two bytes once in 10,000 times
    now = view.answering()
    return (searches and contents(now) and contents(_without_random(now))) or []


_SECTOR_BYTES = 512
#: How often a byte at least occurs in a sector with a signature, which has fields and padding: in
#: a random one, once in 3,000 times.
_REPEATED = 12
#: Of a block of random bytes all 256 values occur, or nearly; in some of fio's, one byte in eight
#: is zero. Text has fewer values, and what has fields and padding more zeros.
_VALUES, _FREQUENT = 250, 1 / 6


def _without_random(view: TargetView) -> TargetView:
    """Return the view, with zeros in sectors that fio's random data can have made."""

    def read(offset: int, length: int) -> bytes:
        piece = view.read(offset, length)
        sectors = (piece[at : at + _SECTOR_BYTES] for at in range(0, len(piece), _SECTOR_BYTES))
        return b"".join(
            each if max(Counter(each).values()) >= _REPEATED else bytes(len(each))
            for each in sectors
        )

    return TargetView(view.size_bytes, read)


def contents(view: TargetView) -> list[str]:
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
    return piece != bytes(len(piece))


#: Where a listing looks: some seconds on a slow drive, well below one on an SSD.
_FEW = 2048
#: Before a drive is written, there is a sample in each part of so many bytes. All reads together
#: are at most 65,000, which is enough for 4 TB: seconds on an SSD.
_PART_BYTES, _MOST = 64 << 20, 62_500
#: On a larger target the parts are larger.
DENSE_UP_TO_BYTES = _PART_BYTES * _MOST


def parts_of(size_bytes: int, *, is_whole: bool = True) -> int:
    """Return how many equal parts a sample is taken from; fewer unless the look `is_whole`."""
    return max(_FEW, min(-(-size_bytes // _PART_BYTES), _MOST)) if is_whole else _FEW


def nothing_found(size_bytes: int, *, is_whole: bool = True) -> str:
    """Return what is said of a target on which nothing of anybody else's was found.

    A piece of two parts always has a whole one in it, and with it a sample; the share of those as
    large as one part that have none is a sixth: docs/write-guard.md.
    """
    parts = parts_of(size_bytes, is_whole=is_whole)
    part = size_bytes / parts
    return (
        f"nothing found in {parts:,} places, or only what heatsoak left: pieces under "
        f"{size_text(2 * part)} may be missed (of {size_text(part)}: one in six)"
    )


@dataclass(frozen=True)
class Data:
    """What was read of a target.

    Attributes:
        digest: of all that was read, first of what a listing reads.
        first: the offset in bytes of the first block that holds data; None if none does.
        share: of the samples over the whole target, how many hold data, 0 to 1.
        is_random: whether all data looks as fio's does.
    """

    digest: str
    first: int | None
    share: float
    is_random: bool = False

    def __str__(self) -> str:
        percent = percent_text(100 * self.share) if self.share >= 0.01 else "less than 1 %"
        return f"it is not empty: {percent} of it holds data, first at byte {self.first}"


def look_for_data(view: TargetView, *, is_whole: bool = True) -> Data:
    """Read a target, and say what of it holds data: at fewer places unless the look `is_whole`.

    Nothing does if every block that is read consists of zeros, or of one byte that is the same for
    all of them. Raises OSError and ToolError as the view does.
    """
    size_bytes = view.size_bytes
    parts = parts_of(size_bytes, is_whole=is_whole)
    sampled = spread(size_bytes, SAMPLE_BYTES, parts)
    looks = [[*places(size_bytes, _FEW), *_backups(size_bytes)]]
    if parts > _FEW:
        looks.append([(start, SAMPLE_BYTES) for start in sampled])
    digest, digests, held, fill = hashlib.sha256(), list[str](), set[int](), 0
    is_random = True
    for each in looks:
        for (start, _), piece in zip(each, view.pieces(each), strict=True):
            digest.update(piece)
            for at in range(0, len(piece), SAMPLE_BYTES) if is_filled(piece) else ():
                block = piece[at : at + SAMPLE_BYTES]
                is_plain = block.count(block[0]) == len(block)
                if is_plain:
                    fill = fill or block[0]
                if not is_plain or block[0] not in (0, fill):
                    held.add(start + at)
                    is_random = is_random and _looks_random(block)
        digests.append(digest.hexdigest())
    share = len(held.intersection(sampled)) / max(len(sampled), 1)
    return Data(" ".join(digests), min(held, default=None), share, is_random)


def _looks_random(block: bytes) -> bool:
    counts = np.bincount(np.frombuffer(block, np.uint8))
    has_all = np.count_nonzero(counts) >= _VALUES
    return bool(has_all and counts.max() < _FREQUENT * len(block))


def _backups(size_bytes: int) -> Iterator[_Place]:
    """Yield where file systems keep a second superblock far from the ends."""
    # ext2 to ext4: at the start of block groups 1, 3, 5, 7 and 9, which have 8 blocks' bits each
    offsets = [group * 8 * block**2 for block in (1024, 2048, 4096) for group in (1, 3, 5, 7, 9)]
    offsets += [64 << 20, 256 << 30]  # btrfs
    for offset in offsets:
        if offset + SAMPLE_BYTES <= size_bytes:
            yield offset, SAMPLE_BYTES


def of_others(name: str, data: Data, resumes: Path | None = None) -> Data | None:
    """Return `data` if somebody else may have put it on the target `name`; None if nobody has.

    `resumes` is where the run that wrote it last is resumed: what that left when it was killed, as
    far as it looks as fio's data does, is nobody else's.
    """
    if data.first is None:
        return None
    with suppress(OSError):
        # a listing's is the first of the two that are kept
        if _file(name).read_text("ascii", "replace").startswith(data.digest):
            return None
    with suppress(OSError):
        if resumes is not None and data.is_random and resumes.exists():
            wrote = Path(_mark(name).read_text("utf-8"))
            return None if wrote.is_relative_to(resumes.absolute()) else data
    return data


def remember(name: str, data: Data) -> None:
    """Remember what a run has left on the target `name`."""
    with suppress(OSError):  # then the next run asks
        writing.own_directory(_directory())
        writing.replace_file(_file(name), data.digest.encode())


def mark(name: str, directory: Path) -> None:
    """Remember, before its first byte, that the run recorded in `directory` writes `name`.

    It is known by that when it is resumed, after a kill or a stop: what a load had begun to write
    may arrive after :func:`remember` has looked. The next run that writes makes its own.
    """
    with suppress(OSError):  # then the run after a kill asks
        writing.own_directory(_directory())
        writing.replace_file(_mark(name), str(directory.absolute()).encode())


def _directory() -> Path:
    return state_directory() / "left"


def _file(name: str) -> Path:
    """Return the file for a target; raises OSError where others could write it."""
    writing.require_ours(_directory())
    return _directory() / hashlib.sha256(name.encode()).hexdigest()[:32]


def _mark(name: str) -> Path:
    return _file(name).with_suffix(".writing")
