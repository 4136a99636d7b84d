"""Which parts of a target tell whether it holds anything, and whether that has changed."""

import random
from collections.abc import Iterator

#: How much of each end is looked at; no signature that blkid knows is further inside.
END_BYTES = 4 << 20
_PIECE_BYTES = 1 << 20
#: Samples between the ends that help to recognize a target.
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
