"""What an earlier run has begun on a drive that goes on by itself: waited for before the next."""

import time
from collections.abc import Callable

from heatsoak.sensor import Roots
from heatsoak.sensor.nvme_admin import Ioctl
from heatsoak.target import Place

_LOOK_S = 2.0
_TELL_S = 60.0


def show_hidden(place: Place, tell: Callable[[str], None], roots: Roots | None = None) -> None:
    """Have drives show again what runs that were killed have left hidden; `tell` what was done."""
    if place.is_simulated:
        return
    from heatsoak.target.capacity import put_back

    for note in put_back(roots or Roots()):
        tell(note.text)


def wait_for_sanitize(
    place: Place,
    tell: Callable[[str], None],
    roots: Roots | None = None,
    *,
    ioctl: Ioctl | None = None,
    look_s: float = _LOOK_S,
) -> None:
    """Wait while the drive that `place` names sanitizes itself: it answers no other command.

    Only looks, every `look_s`; `tell` is given a line at first and once a minute.
    """
    if place.kind != "block":
        return
    from heatsoak.target.purge import sanitizing  # block devices are Linux's

    roots = roots or Roots()
    info = place.device_info(roots)
    told_s: float | None = None
    while info is not None and (done_pct := sanitizing(info, roots, ioctl)) is not None:
        if told_s is None or time.monotonic() - told_s >= _TELL_S:
            told_s = time.monotonic()
            tell(f"{place.text}: is being sanitized, {done_pct:.0f} % are done: waiting for it")
        time.sleep(look_s)
