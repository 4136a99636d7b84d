"""What is set on a real drive for one run, and what earlier runs left: waited for, put back."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from heatsoak.errors import UsageError
from heatsoak.sensor import Roots
from heatsoak.sensor.nvme_admin import Ioctl
from heatsoak.target import Note, Place, hctm
from heatsoak.target.device import DeviceInfo
from heatsoak.target.simulated import thresholds_note, with_thresholds
from heatsoak.words import percent_text

_LOOK_S = 2.0
_TELL_S = 60.0


def require_thresholds(place: Place, wanted: hctm.Thresholds, roots: Roots) -> None:
    """Raise UsageError where `place` has no drive that could have thresholds; none is asked."""
    if not wanted.is_asked:
        return
    if place.rated is not None:
        with_thresholds(place.rated, wanted)
    else:
        hctm.controllers(_drive(place, roots), roots)


def check_thresholds(place: Place, wanted: hctm.Thresholds, roots: Roots) -> None:
    """Raise UsageError where the drive of `place` cannot be given the thresholds; it is asked."""
    if wanted.is_asked and not place.is_simulated:
        hctm.check(_drive(place, roots), wanted, roots)


@contextmanager
def settings_for_run(place: Place, wanted: hctm.Thresholds, roots: Roots) -> Iterator[list[Note]]:
    """Set thresholds for as long as the context lasts; yield what belongs in the recording.

    That includes what a killed run has left set on the drive, where it still is.
    """
    if place.rated is not None:
        yield [thresholds_note(with_thresholds(place.rated, wanted))] if wanted.is_asked else []
        return
    info = place.device_info(roots)
    notes = [] if info is None else hctm.left_on(info)
    if not wanted.is_asked:
        yield notes
        return
    with hctm.held(_drive(place, roots), wanted, roots) as set_now:
        yield notes + set_now


def _drive(place: Place, roots: Roots) -> DeviceInfo:
    if (info := place.device_info(roots)) is None:
        raise UsageError(
            f"{place.text}: no drive is known to be underneath, so --tmt1 and --tmt2 have nothing "
            "to act on"
        )
    return info


def leftovers() -> list[Note]:
    """Return what killed runs have left changed on drives; no drive is asked."""
    from heatsoak.target import hidden_sectors  # block devices are Linux's

    return _each_once([*hctm.left(), *hidden_sectors.left()])


def put_all_back(roots: Roots) -> list[Note]:
    """Put back what killed runs have left, on any drive; return what was done.

    What is still left then is a note with ``data["is_left"]``.
    """
    from heatsoak.target import hidden_sectors  # as above

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
            tell(f"{place.text}: is being sanitized, {percent_text(done_pct)} done: waiting for it")
        time.sleep(look_s)
