"""What an earlier run has begun, or left, on a drive: waited for, told of, put back."""

import time
from collections.abc import Callable

from heatsoak.sensor import Roots
from heatsoak.sensor.nvme_admin import Ioctl
from heatsoak.target import Note, Place

_LOOK_S = 2.0
_TELL_S = 60.0


def leftovers() -> list[Note]:
    """Say what runs that were killed have left changed on drives; no drive is asked."""
    from heatsoak.target import hctm, hidden_sectors  # block devices are Linux's

    return _each_once([*hctm.left(), *hidden_sectors.left()])


def put_back(roots: Roots) -> list[Note]:
    """Put back what runs that were killed have left, on any drive; return what was done.

    What is still left then is a note with ``data["is_left"]``.
    """
    from heatsoak.target import hctm, hidden_sectors

    return _each_once([*hctm.put_back(roots), *hidden_sectors.put_back(roots)])


def _each_once(notes: list[Note]) -> list[Note]:
    return list({note.text: note for note in notes}.values())


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
