"""Puts back what runs that were killed have left set."""

from pathlib import Path

from heatsoak.errors import ToolError
from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Roots
from heatsoak.sensor.nvme_admin import Ioctl
from heatsoak.target.base import Note
from heatsoak.target.hctm.feature import Controller, identity_of, shown
from heatsoak.target.hctm.state import STATE, Kept, files, lock


def put_back(roots: Roots, *, ioctl: Ioctl | None = None, state: Path = STATE) -> list[Note]:
    """Put back what runs that were killed have left set; returns what was done, as warnings.

    Whatever cannot be put back stays written down and is told again.
    """
    notes = []
    for path in files(state):
        try:
            with path.open("r+") as file:
                lock(file.fileno())
                text = _put_back(path, file.read(), roots, ioctl)
        except BlockingIOError:
            continue  # its run lives
        except OSError as error:
            text = (
                f"{path}: says which TMT1 and TMT2 a run has set, and cannot be read "
                f"({error.strerror}): if that run was killed, one as root puts them back"
            )
        notes.append(Note("warning", text))
    return notes


def _put_back(path: Path, text: str, roots: Roots, ioctl: Ioctl | None) -> str:
    try:
        kept = Kept.parse(text)
    except ValueError:
        path.unlink(missing_ok=True)  # killed while it was written: nothing had been set yet
        return f"{path}: was not whole; the run that wrote it had set nothing yet"
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
