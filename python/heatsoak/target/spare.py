"""How much of a target is used: the rest stays as a purge left it.

What was purged and never written again takes up no flash: a drive's translation layer uses it as it
uses the spare area that it was built with.
"""

from heatsoak.errors import UsageError
from heatsoak.target.base import Note
from heatsoak.units import Size, format_bytes

_ALIGNMENT = 1 << 20


def used_bytes(capacity: Size, whole_bytes: int) -> int:
    """Return the bytes of a target of `whole_bytes` that are used, in whole MiB.

    Raises UsageError where that is nothing, or more than there is.
    """
    wanted = capacity.of(whole_bytes)
    if wanted > whole_bytes:
        raise UsageError(
            f"capacity is {format_bytes(wanted)}, and the target holds {format_bytes(whole_bytes)}"
        )
    if wanted == whole_bytes:
        return whole_bytes
    used = wanted - wanted % _ALIGNMENT
    if used <= 0:
        raise UsageError(f"capacity is {capacity} of {format_bytes(whole_bytes)}: less than 1 MiB")
    return used


def spare_note(used: int, whole_bytes: int, how: str = "is left unwritten") -> Note:
    """Return what belongs in the recording."""
    spare = whole_bytes - used
    share = 100 * spare / whole_bytes
    return Note(
        "info",
        f"{format_bytes(used)} are used from here on; the rest, {format_bytes(spare)} or "
        f"{share:.3g} %, {how}: more spare area",
        {"capacity_bytes": used, "spare_bytes": spare},
    )
