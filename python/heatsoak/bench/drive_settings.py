"""What is set on a real drive for the time of a run."""

from collections.abc import Iterator
from contextlib import contextmanager

from heatsoak.errors import UsageError
from heatsoak.sensor import Roots
from heatsoak.target import Note, Place, hctm
from heatsoak.target.device import DeviceInfo


def require_thresholds(place: Place, wanted: hctm.Thresholds, roots: Roots) -> None:
    """Raise UsageError where `place` has no drive that could have thresholds; none is asked."""
    if wanted.is_asked:
        hctm.controllers(_drive(place, roots), roots)


def check_thresholds(place: Place, wanted: hctm.Thresholds, roots: Roots) -> None:
    """Raise UsageError where the drive of `place` cannot be given the thresholds; it is asked."""
    if wanted.is_asked:
        hctm.check(_drive(place, roots), wanted, roots)


@contextmanager
def settings_for_run(place: Place, wanted: hctm.Thresholds, roots: Roots) -> Iterator[list[Note]]:
    """Set thresholds for as long as the context lasts; gives what belongs in the recording.

    That is also what a run that was killed has left set on the drive, where it is still.
    """
    if place.is_simulated:
        yield []
        return
    info = place.device_info(roots)
    notes = [] if info is None else hctm.left_on(info)
    if not wanted.is_asked:
        yield notes
        return
    with hctm.held(_drive(place, roots), wanted, roots) as set_now:
        yield notes + set_now


def _drive(place: Place, roots: Roots) -> DeviceInfo:
    if place.is_simulated:
        raise UsageError("--tmt1 and --tmt2 are of real drives: a simulated one has its own")
    if (info := place.device_info(roots)) is None:
        raise UsageError(
            f"{place.text}: no drive is known to be underneath, so --tmt1 and --tmt2 say nothing"
        )
    return info
