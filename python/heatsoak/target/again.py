"""The drive of a run after hands have been at the machine: the same one, wherever it is now."""

import time
from dataclasses import replace
from pathlib import Path

from heatsoak.errors import RefusedError, UsageError
from heatsoak.sensor import Roots
from heatsoak.target.device import DeviceInfo, list_devices
from heatsoak.target.place import Place

#: How long a drive that was plugged in may take to be there.
APPEARS_S = 10.0
_LOOK_S = 0.5


def drive_at(place: Place, roots: Roots) -> DeviceInfo | None:
    """Return the drive at `place` where there is one to be known, None where it is gone, too."""
    try:
        return place.device_info(roots)
    except (UsageError, OSError):
        return None


def found_again(
    place: Place, before: DeviceInfo | None, roots: Roots, *, appears_s: float = APPEARS_S
) -> Place:
    """Return where the drive `before`, which was at `place` when it began, is now.

    Raises RefusedError where it is not there, or where another one has taken its place.
    """
    if before is None:
        return place
    # a name that stood for a partition says nothing of where that is now
    was_whole = Path(place.text).resolve().name == before.name
    end_s = time.monotonic() + appears_s
    while True:
        here = drive_at(place, roots)
        if here is not None and _is_same(here, before):
            return place
        if place.kind == "block" and was_whole and _name_of(before) is not None:
            found = [one for one in list_devices(roots) if _is_same(one, before)]
            if len(found) == 1:
                return replace(place, text=str(found[0].path))
        if time.monotonic() >= end_s:
            break
        time.sleep(_LOOK_S)
    what = f"the drive {before.erase_id or before.name} that this began with"
    seen = "" if here is None else f", but {here.erase_id or here.name}"
    raise RefusedError(f"{place.text}: {what} is not there{seen}: nothing was written to it")


def _name_of(info: DeviceInfo) -> str | None:
    """The serial, or what else tells a drive from all others; None where nothing does."""
    return info.wwid if info.serial_shared_with else info.serial or info.wwid


def _is_same(here: DeviceInfo, before: DeviceInfo) -> bool:
    name = _name_of(before)
    if name is None:
        return _name_of(here) is None and (here.path, here.size_bytes) == (
            before.path,
            before.size_bytes,
        )
    # what shares its serial now need not have done so before, and the other way round
    return name in (here.serial, here.wwid) and here.size_bytes == before.size_bytes
