"""Using only a part of a target, and leaving the rest as purged.

Space that was purged and never written takes up no flash, so the drive's translation layer uses it
like its built-in spare area.
"""

from heatsoak.errors import UsageError
from heatsoak.target.base import Note
from heatsoak.units import Size, format_bytes, format_number

_ALIGNMENT = 1 << 20


def used_bytes(capacity: Size, whole_bytes: int) -> int:
    """Return how many of a target's `whole_bytes` are used, in whole MiB.

    Raises UsageError if that is nothing, or more than the target has.
    """
    wanted = capacity.of(whole_bytes)
    if wanted > whole_bytes:
        raise UsageError(
            f"capacity is {format_bytes(wanted)}, but the target has {format_bytes(whole_bytes)}"
        )
    if wanted == whole_bytes:
        return whole_bytes
    used = wanted - wanted % _ALIGNMENT
    if used <= 0:
        raise UsageError(f"capacity is {capacity} of {format_bytes(whole_bytes)}: less than 1 MiB")
    return used


def spare_note(used: int, whole_bytes: int, how: str = "is left unwritten") -> Note:
    """Return the note for the recording."""
    spare = whole_bytes - used
    share = 100 * spare / whole_bytes
    return Note(
        "info",
        f"only {format_bytes(used)} are used from here on; the rest, {format_bytes(spare)} "
        f"({format_number(share)} %), {how}, as more spare area",
        {"capacity_bytes": used, "spare_bytes": spare},
    )
