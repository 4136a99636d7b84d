"""Counters of bytes: the headers of columns that rise by what was moved."""

import re

from heatsoak.importer.tables.quantity import Meaning, directed
from heatsoak.importer.tables.words import (
    CPU,
    DRIVE,
    ELSEWHERE,
    GPU,
    direction_in,
    has_any,
    mended,
    tokens_of,
)

#: Sizes in MB of what tables count.
_SIZES = {
    **{f"{p}b": 1e3**i / 1e6 for i, p in enumerate(("", "k", "m", "g", "t"))},
    **{f"{p}ib": 1024.0**i / 1e6 for i, p in enumerate(("", "k", "m", "g", "t"))},
    "byte": 1e-6, "bytes": 1e-6, "sectors": 512e-6, "sector": 512e-6, "lba": 512e-6, "lbas": 512e-6,
}  # fmt: skip
_SIZE = re.compile(
    r"(?:(?<![A-Za-z])|(?<=[a-z])(?=[A-Z]))((?i:(?:[kmgt]i?)?b|bytes?|sectors?|lbas?))(?![A-Za-z])"
)
_MOVED = frozenset({"transferred", "moved", "transfered", "ubertragen"})
#: What sizes besides those moved are of.
_NOT_MOVED = frozenset({
    "size", "free", "used", "capacity", "cache", "available", "left", "remaining", "block", "bs",
    "buffer", "request", "req", "limit", "target", "rating", "endurance", "rated", "max", "min",
    "temp", "error", "errors", "lifetime", "wear", "amplification", "nand",
})  # fmt: skip


def total(header: str) -> Meaning | None:
    """Return of which rate a header's column counts the bytes: ``Host Writes [GB]``.

    None for what counts none. `scale` makes MB of its values.
    """
    text = mended(header).strip().strip("\"'#").strip()
    tokens = tokens_of(text) if len(text) < 100 else []
    words = set(tokens)
    if words & (_NOT_MOVED | CPU | GPU) or (
        not has_any(tokens, DRIVE) and has_any(tokens, ELSEWHERE)
    ):
        return None
    direction = direction_in(tokens)
    if direction is None and not words & _MOVED:
        return None
    column = directed("bw_mb_s", tokens)
    note = f"throughput is made of the counter '{text}'"
    if {"data", "units"} <= words:
        return Meaning(column, 0.512, note=note, general=len(tokens), is_total=True)
    sizes = _SIZE.findall(text)
    if not sizes:
        return None
    return Meaning(column, _SIZES[sizes[-1].lower()], note=note, general=len(tokens), is_total=True)
