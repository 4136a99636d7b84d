"""What a user's mapping (``--map``) means: which quantity stands in which column."""

import re
from collections.abc import Sequence
from dataclasses import replace

from heatsoak.errors import suggestion
from heatsoak.importer.source import Source
from heatsoak.importer.tables.cells import is_value
from heatsoak.importer.tables.layout import Layout
from heatsoak.importer.tables.quantity import Meaning, meaning
from heatsoak.importer.tables.words import ROLES

#: Short names that a mapping may use for a recording's columns, without their units.
_SHORT = {
    "read_mb_s": "read_bw_mb_s", "write_mb_s": "write_bw_mb_s", "mb_s": "bw_mb_s",
    "temp_c": "temp_c.composite", "temp": "temp_c.composite", "power": "power_w",
    "interval": "interval_s",
}  # fmt: skip
#: What other names in a mapping are made of: a quantity and its unit.
_KEY_WORDS = frozenset({
    "read", "write", "bw", "iops", "lat", "p50", "p99", "p999", "max", "temp", "time", "timestamp",
    "elapsed", "t", "interval", "power", "queue", "busy", "pct", "cpu", "speed", "rate",
    "throughput", "ambient", "case", "sensor1", "sensor2", "throttled", "throttling", "mb", "mib",
    "gb", "gib", "kb", "kib", "b", "bytes", "gbit", "mbit", "s", "ms", "us", "ns", "min", "h", "c",
    "f", "k", "w", "mw",
})  # fmt: skip
#: A mapping that holds for many tables.
EXAMPLE = "--map time=1 --map write_mb_s=2 --map temp_c=3"
EXAMPLE_OF_TWO = "--map time=1 --map temp_c=2"


def meaning_of_key(source: Source, key: str) -> Meaning:
    """Return what a mapping's key means."""
    column = _SHORT.get(key, key)
    if column in ROLES:
        return Meaning(column, has_unit=False)
    words = set(re.split(r"[_.]", key.lower()))
    found = meaning(column)
    if found is None or not (words <= _KEY_WORDS or found.column == column):
        known = [*ROLES, *_SHORT, "read_iops", "write_iops", "iops", "read_lat_us",
                 "write_lat_us", "power_w", "queue", "busy_pct", "interval_s"]  # fmt: skip
        raise source.error(
            f"'{key}' in --map is no quantity{suggestion(key, known)}; such are time, "
            "write_mb_s, read_iops, temp_c"
        )
    return replace(found, doubt="")


def place_of(source: Source, layout: Layout, key: str, wanted: str, header: tuple[str, ...]) -> int:
    """Return the place of the column that a mapping names, or gives the number of."""
    plain = wanted.strip()
    for match in (plain, plain.lower()):
        for index, name in enumerate(header):
            if match in (name, name.lower()):
                return index
    width = layout.width
    if plain.isascii() and plain.isdigit() and len(plain) < 6:
        if 1 <= int(plain) <= width:
            return int(plain) - 1
        raise source.error(
            f"has no column {plain} for '{key}' in --map: it has {width}", layout.line
        )
    shown = ", ".join(name for name in header[:12] if name)
    raise source.error(
        f"has no column '{plain}' for '{key}' in --map{suggestion(plain, header)}: "
        f"it has {shown or f'{width} columns without names'}"
        + (", ..." if len(header) > 12 else ""),
        layout.line,
    )


def example(layout: Layout, found: set[str], taken: set[int], header: Sequence[str]) -> str:
    """A mapping of what is not known of this table.

    Of its own columns, in their order, where there are about as many: of more it would be a guess.
    """
    row = layout.rows[0] if layout.rows else header
    free = [
        name
        for index, name in enumerate(header)
        if index not in taken and 0 < len(name) <= 60 and index < len(row) and is_value(row[index])
    ]
    wanted = ["time"] if not found & {"time", "date", "uptime"} else []
    if not any(name.endswith("bw_mb_s") for name in found):
        wanted.append("write_mb_s")
    if not any(name.startswith("temp_c.") for name in found):
        wanted.append("temp_c")
    if not 0 < len(free) <= len(wanted) + 1:
        return f"--map {wanted[0]}=COLUMN"
    pairs = ",".join(f"{key}={name}" for key, name in zip(wanted, free, strict=False))
    return f"--map '{pairs}'"


def is_number(text: str) -> bool:
    """Whether what a mapping gives is a number of seconds, rather than a column's name."""
    try:
        return 0 < float(text) < 1e6
    except ValueError:
        return False
