"""Whether a target holds anything, whatever it is: read at its ends and a few thousand places.

What heatsoak itself left on a target is remembered, so that its next run need not ask for it. A
file for each target holds the digest of all that was read of it when a run ended. It counts for
exactly that: what was formatted or filled since, and what a killed run left, reads otherwise.
"""

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from heatsoak.target.guard.look import SAMPLE_BYTES, View, places, spread
from heatsoak.target.undo import state_directory

#: Some seconds on a slow drive, well below one on an SSD.
_SAMPLES = 2048


@dataclass(frozen=True)
class Data:
    """What was read of a target.

    Attributes:
        digest: of all that was read.
        first: the offset in bytes of the first block that holds data; None if none does.
        share: of the samples over the whole target, how many hold data, 0 to 1.
    """

    digest: str
    first: int | None
    share: float

    def __str__(self) -> str:
        percent = f"{self.share:.0%}" if self.share >= 0.01 else "less than 1%"
        return f"it is not empty: {percent} of it holds data, first at byte {self.first}"


def look_for_data(view: View) -> Data:
    """Read a target, and say whether it is empty.

    It is empty if every block that is read consists of zeros, or of one byte that is the same for
    all of them. Raises OSError and ToolError as the view does.
    """
    size_bytes = view.size_bytes
    sampled = set(spread(size_bytes, SAMPLE_BYTES, _SAMPLES))
    digest, held, fill = hashlib.sha256(), set[int](), 0
    for start, length in (*places(size_bytes, _SAMPLES), *_backups(size_bytes)):
        piece = view.read(start, length)
        digest.update(piece)
        if piece.count(0) == len(piece):
            continue
        for at in range(0, len(piece), SAMPLE_BYTES):
            block = piece[at : at + SAMPLE_BYTES]
            byte = block[0]
            is_plain = block.count(byte) == len(block)
            if is_plain:
                fill = fill or byte
            if not is_plain or byte not in (0, fill):
                held.add(start + at)
    share = len(held & sampled) / max(len(sampled), 1)
    return Data(digest.hexdigest(), min(held, default=None), share)


def _backups(size_bytes: int) -> Iterator[tuple[int, int]]:
    """Yield where file systems keep a second superblock far from the ends."""
    # ext2 to ext4: at the start of block groups 1, 3, 5, 7 and 9, which have 8 blocks' bits each
    offsets = [group * 8 * block**2 for block in (1024, 2048, 4096) for group in (1, 3, 5, 7, 9)]
    offsets += [64 << 20, 256 << 30]  # btrfs
    for offset in offsets:
        if offset + SAMPLE_BYTES <= size_bytes:
            yield offset, SAMPLE_BYTES


def of_others(name: str, data: Data) -> Data | None:
    """Return `data` if somebody else may have put it on the target `name`; None if nobody has."""
    if data.first is None:
        return None
    with suppress(OSError):
        if _file(name).read_text("ascii", "replace") == data.digest:
            return None
    return data


def remember(name: str, data: Data) -> None:
    """Remember what a run has left on the target `name`."""
    with suppress(OSError):  # then the next run asks
        _directory().mkdir(mode=0o700, parents=True, exist_ok=True)
        _file(name).write_text(data.digest, "ascii")


def _directory() -> Path:
    return state_directory() / "left"


def _file(name: str) -> Path:
    """Return the file for a target; raises OSError where others could write it."""
    directory = _directory()
    status = directory.lstat()
    others = stat.S_IWGRP | stat.S_IWOTH
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & others:
        raise PermissionError(f"{directory} is not ours alone")
    return directory / hashlib.sha256(name.encode()).hexdigest()[:32]
