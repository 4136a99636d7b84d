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

from heatsoak import errors
from heatsoak.protocol import PurgeMethod
from heatsoak.target.base import Batch, Note
from heatsoak.target.guard import HeldDrive
from heatsoak.target.guard.look import spread
from heatsoak.target.purge import ata, nvme
from heatsoak.target.purge.nvme import sanitizing
from heatsoak.target.purge.way import NotTakenError, Way, discard

__all__ = ["purge", "require", "sanitizing"]

# --- whether a drive still returns its old data --------------------------------------------------

_PIECE_BYTES = 64 << 10
_PIECES = 64


#: What was read by offset in bytes: a digest, and the byte that fills it, if it is only one.
Samples = dict[int, tuple[bytes, int | None]]


def _take_samples(claim: HeldDrive) -> Samples:
    """Read samples from the whole drive with direct I/O; raises ToolError if it cannot be read."""
    with errors.saying(f"{claim.path}: cannot be read"):
        fd = os.open(claim.fd_path, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC)
    found: Samples = {}
    try:
        with mmap.mmap(-1, _PIECE_BYTES) as memory:  # aligned, for direct I/O
            for offset in spread(claim.size_bytes, _PIECE_BYTES, _PIECES):
                with errors.saying(f"{claim.path}: cannot be read at byte {offset}"):
                    content = memory[: os.preadv(fd, [memory], offset)]
                is_plain = content and content.count(content[0]) == len(content)
                digest = hashlib.blake2b(content).digest()
                found[offset] = digest, content[0] if is_plain else None
    finally:
        os.close(fd)
    return found


# --- purging -------------------------------------------------------------------------------------

#: The order of ``auto``. A format takes seconds, forgets everything and only affects this
#: namespace; a sanitize is as thorough, but affects the whole drive and can take long; a discard is
#: only a hint to the drive. ATA secure erase can leave a drive locked: never chosen automatically.
_AUTO: tuple[PurgeMethod, ...] = ("format", "sanitize", "discard")


def purge(claim: HeldDrive, method: PurgeMethod = "auto") -> Iterator[Batch]:
    """Purge the claimed drive, and read samples of it before and after.

    The last note says how it was done, with `method`, `duration_s` and the result of the samples in
    its data; it is a warning if the drive was not purged. With ``auto``, if the drive rejects a
    method, the next one is tried. Raises RefusedError if the claim is no longer valid, UsageError
    if the drive does not support `method`, ToolError if it fails.
    """
    _check(claim)
    before = _take_samples(claim)
    declined: list[str] = []
    for way in _chosen(claim, method):
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
        yield _result(claim, way, said, duration_s, before, _take_samples(claim))
        return
    yield Note(
        "warning",
        f"{claim.path}: was not purged: what it held still takes up its spare area "
        f"({'; '.join(declined)})",
    )


def require(claim: HeldDrive, method: PurgeMethod) -> None:
    """Raise UsageError if the claimed drive does not support `method`; changes nothing."""
    _check(claim)
    _chosen(claim, method)


def _check(claim: HeldDrive) -> None:
    if claim.fd < 0:
        raise errors.RefusedError(f"{claim.path}: is no longer claimed and cannot be purged")
    claim.recheck()


def _chosen(claim: HeldDrive, method: PurgeMethod) -> list[Way]:
    """Return the methods to try, in order."""
    every = (discard(claim), *nvme.ways(claim), ata.way(claim))
    ways = {way.method: way for way in every}
    if method == "auto":
        return [ways[name] for name in _AUTO if ways[name].why_not is None] or [ways["discard"]]
    if (why_not := ways[method].why_not) is not None:
        offered = [name for name, way in ways.items() if way.why_not is None]
        instead = f" (it supports {', '.join(offered)})" if offered else ""
        raise errors.UsageError(
            f"{claim.path}: cannot be purged by method '{method}': {why_not}{instead}"
        )
    return [ways[method]]


def _result(
    claim: HeldDrive, way: Way, said: str, duration_s: float, before: Samples, after: Samples
) -> Note:
    """Return the note on a purge: what the samples held before, and what they read now."""
    held = [offset for offset, (_, filled_with) in before.items() if filled_with is None]
    kept = sum(before[offset] == after[offset] for offset in held)
    filled_with = [each for _, each in after.values()]
    data = {
        "method": way.method,
        "duration_s": round(duration_s, 3),
        "samples": len(after),
        "samples_held_data": len(held),
        "samples_kept": kept,
        "samples_zeros": filled_with.count(0x00),
    }
    if kept:
        unchanged = f"{kept} of {len(held)} samples still read what they held"
        text = f"{claim.path}: {said}, but {unchanged}: it was not purged, or not completely"
        return Note("warning", text, data)
    now = "neither what they held nor all zeros"
    for filler, name in ((0x00, "zeros"), (0xFF, "FFh")):
        now = name if filled_with.count(filler) == len(after) else now
    unsure = "" if held else ", as nothing else had been written there"
    return Note("info", f"{claim.path}: {said}; {len(after)} samples read {now}{unsure}", data)
