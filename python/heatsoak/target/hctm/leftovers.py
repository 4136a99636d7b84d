"""Puts back what runs that were killed have left set."""

from pathlib import Path

from heatsoak.errors import ToolError
from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Roots
from heatsoak.sensor.nvme_admin import Ioctl
from heatsoak.target.base import Note
from heatsoak.target.hctm.feature import Controller, identity_of, shown
from heatsoak.target.hctm.state import KIND, WHAT, Kept
from heatsoak.target.written_down import STATE, left_behind


def put_back(roots: Roots, *, ioctl: Ioctl | None = None, state: Path = STATE) -> list[Note]:
    """Put back what runs that were killed have left set; returns what was done, as warnings.

    Whatever cannot be put back stays written down and is told again.
    """

    def back(path: Path, kept: Kept) -> str:
        return _put_back(path, kept, roots, ioctl)

    return left_behind(KIND, WHAT, Kept.parse, back, state)


def _put_back(path: Path, kept: Kept, roots: Roots, ioctl: Ioctl | None) -> str:
    before = kept.before
    what = f"TMT1 and TMT2 of the drive {kept.serial}, which a run that was killed had set"
    by_hand = f"nvme set-feature -f 0x10 -v {before[0] << 16 | before[1]:#x}"
    try:
        controller = _find(kept, roots, ioctl)
        if controller is None:
            return f"{what}, could not be put back: it is not there ({by_hand} does it by hand)"
        try:
            if controller.thresholds() == kept.after:
                controller.set(before)
                done = f"were put back ({shown(before[0])}, {shown(before[1])})"
            else:
                done = "have changed since and were left alone"
        finally:
            controller.close()
    except (OSError, ToolError) as error:
        return f"{what}, could not be put back: {error} ({by_hand} does it by hand)"
    path.unlink(missing_ok=True)
    return f"{what}, {done}"


def _find(kept: Kept, roots: Roots, ioctl: Ioctl | None) -> Controller | None:
    directory = roots.sys / "class" / "nvme"
    for name in sysfs.names(directory):
        place = (directory / name).resolve()
        if identity_of(place) == (kept.serial, kept.number):
            return Controller(place, roots, ioctl)
    return None
