"""Which parts of a target tell whether somebody else has changed it since it was looked at."""

from collections.abc import Iterator

#: How much of each end is looked at; no signature that blkid knows is further inside.
END_BYTES = 4 << 20
_PIECE_BYTES = 1 << 20
#: Samples between the ends only help to recognize a target; emptiness is never sampled.
_SAMPLES = 256
SAMPLE_BYTES = 4096


def places(size_bytes: int) -> Iterator[tuple[int, int]]:
    """Yield offset and length of the parts that identify a target: both ends, and samples."""
    tail = max(size_bytes - END_BYTES, END_BYTES)
    tail -= tail % SAMPLE_BYTES
    step = max((tail - END_BYTES) // _SAMPLES, SAMPLE_BYTES)
    for start in range(0, min(END_BYTES, size_bytes), _PIECE_BYTES):
        yield start, min(_PIECE_BYTES, size_bytes - start)
    for start in range(END_BYTES, tail, step):
        yield start - start % SAMPLE_BYTES, SAMPLE_BYTES
    for start in range(tail, size_bytes, _PIECE_BYTES):
        yield start, min(_PIECE_BYTES, size_bytes - start)
