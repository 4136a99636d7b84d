"""Puts back what runs that were killed have left set."""

from pathlib import Path

from heatsoak.errors import ToolError
from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Roots
from heatsoak.sensor.nvme_admin import Ioctl
from heatsoak.target.base import Note
from heatsoak.target.device import DeviceInfo
from heatsoak.target.hctm.feature import Controller, identity_of, shown
from heatsoak.target.hctm.state import KIND, WHAT, Kept
from heatsoak.target.written_down import left_behind, still_left, told


def left(*, state: Path | None = None) -> list[Note]:
    """Say what runs that were killed have left set; no drive is asked."""
    return told(KIND, WHAT, Kept, state)


def left_on(info: DeviceInfo, *, state: Path | None = None) -> list[Note]:
    """Say the same of one drive."""
    return [] if info.serial is None else told(KIND, WHAT, Kept, state, info.serial)


def put_back(
    roots: Roots,
    *,
    serial: str | None = None,
    ioctl: Ioctl | None = None,
    state: Path | None = None,
) -> list[Note]:
    """Put back what runs that were killed have left set; returns what was done, as warnings.

    On any drive, or only on that with `serial`. Whatever cannot be put back stays written down.
    """

    def back(path: Path, kept: Kept) -> Note:
        return _put_back(path, kept, roots, ioctl)

    return left_behind(KIND, WHAT, Kept, back, state, serial)


def _put_back(path: Path, kept: Kept, roots: Roots, ioctl: Ioctl | None) -> Note:
    before = kept.before
    what = f"TMT1 and TMT2 of the drive {kept.serial!r}, which a run that was killed had set"
    by_hand = f"nvme set-feature -f 0x10 -v {before[0] << 16 | before[1]:#x}"
    try:
        controller = _find(kept, roots, ioctl)
        if controller is None:
            raise ToolError("it is not there")
        try:
            if controller.thresholds() == kept.after:
                controller.set(before)
                done = f"were put back ({shown(before[0])}, {shown(before[1])})"
            else:
                done = "have changed since and were left alone"
        finally:
            controller.close()
    except (OSError, ToolError) as error:
        return still_left(f"{what}, could not be put back: {error} ({by_hand} does it by hand)")
    path.unlink(missing_ok=True)
    return Note("warning", f"{what}, {done}")


def _find(kept: Kept, roots: Roots, ioctl: Ioctl | None) -> Controller | None:
    if not kept.serial:
        return None  # nothing tells it from others
    directory = roots.sys / "class" / "nvme"
    for name in sysfs.names(directory):
        place = (directory / name).resolve()
        if identity_of(place) == (kept.serial, kept.number):
            return Controller(place, roots, ioctl)
    return None
