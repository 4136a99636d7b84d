"""What is on a drive, as three witnesses see it through one descriptor.

Of a block device it is the one that will be written through; of an NBD export, which the tools
cannot open, it is a sparse copy of the ends in memory.
"""

import os

from heatsoak.target.guard.doubt import Doubt
from heatsoak.target.guard.marks import marks
from heatsoak.target.guard.tools import run_tool

_END_BYTES = 1 << 20
_TABLES = {  # so that blkid and wipefs name them alike
    "gpt": "a gpt partition table",
    "dos": "a dos partition table",
    "PMBR": "a gpt partition table",
}


def content(fd: int, size_bytes: int) -> list[str]:
    """Return what speaks against writing on the drive itself, read through `fd`."""
    length = min(_END_BYTES, size_bytes)
    ends = []
    for offset in (0, size_bytes - length):
        try:
            ends.append(os.pread(fd, length, offset))
        except OSError as error:
            return [f"it cannot be read at byte {offset} ({error.strerror})"]
        if len(ends[-1]) != length:
            return [f"it cannot be read at byte {offset} ({len(ends[-1])} of {length} bytes came)"]
    kinds: dict[str, None] = {}
    doubts = []
    for look in (_blkid, _wipefs):
        try:
            kinds |= dict.fromkeys(look(fd))
        except Doubt as doubt:
            doubts.append(str(doubt))
    if not kinds:
        # libblkid is behind both: what it does not know, or misses, is looked for once more
        kinds |= dict.fromkeys(marks(ends[0], ends[1], size_bytes))
    if kinds:
        return [f"it holds {', '.join(kinds)} (only an empty drive can be written)", *doubts]
    return doubts


def _blkid(fd: int) -> list[str]:
    """Return what libblkid's low-level probe finds (blkid(8): 0 found, 2 nothing, 8 several).

    Exit code 2 also stands for a device that it could not open: it is believed only because
    both ends of this one have just been read, and wipefs is asked too.
    """
    code, out, err = run_tool(fd, "blkid", "-p", "-o", "export")
    if code == 2 and not out and not err:
        return []
    if code == 0:
        found = dict(line.split("=", 1) for line in out.splitlines() if "=" in line)
        table = [f"a {found['PTTYPE']} partition table"] if "PTTYPE" in found else []
        return [*table, *([found["TYPE"]] if "TYPE" in found else [])] or ["something blkid knows"]
    if code == 8:
        return ["signatures that contradict each other"]
    raise Doubt(f"blkid cannot tell what is on it (exit {code}: {err or 'no message'})")


def _wipefs(fd: int) -> list[str]:
    """Return the types that wipefs lists; it changes nothing with -n."""
    code, out, err = run_tool(fd, "wipefs", "-n")
    if code != 0 or err:
        raise Doubt(f"wipefs cannot tell what is on it (exit {code}: {err or 'no message'})")
    rows = [line.split() for line in out.splitlines()]
    kinds = {row[2] for row in rows[1:] if len(row) > 2}
    if rows and not kinds:
        return ["something wipefs knows"]
    return [_TABLES.get(kind, kind) for kind in sorted(kinds)]
