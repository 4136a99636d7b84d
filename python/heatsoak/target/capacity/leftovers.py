"""Has drives show again what runs that were killed have left hidden."""

import os
from pathlib import Path

from heatsoak.errors import ToolError
from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Roots
from heatsoak.target import hdparm as tool
from heatsoak.target.base import Note
from heatsoak.target.capacity import hpa
from heatsoak.target.capacity.state import STATE, Kept, files
from heatsoak.target.device import DeviceInfo, list_devices
from heatsoak.target.guard import TOOL_PATH
from heatsoak.target.hctm.state import lock


def put_back(roots: Roots, *, tool_path: str = TOOL_PATH, state: Path = STATE) -> list[Note]:
    """Put back what runs that were killed have left; returns what was done, as warnings.

    A drive that shows all of itself again loses nothing by it, whoever uses it by now. Whatever
    cannot be put back stays written down and is told again.
    """
    notes = []
    for path in files(state):
        try:
            with path.open("r+") as file:
                lock(file.fileno())
                text = _put_back(path, file.read(), roots, tool_path)
        except BlockingIOError:
            continue  # its run lives
        except OSError as error:
            text = (
                f"{path}: says what a run has a drive hide, and cannot be read ({error.strerror}): "
                "if that run was killed, one as root puts it back"
            )
        notes.append(Note("warning", text))
    return notes


def _put_back(path: Path, text: str, roots: Roots, tool_path: str) -> str:
    try:
        kept = Kept.parse(text)
    except ValueError:
        path.unlink(missing_ok=True)  # killed while it was written: nothing had been set yet
        return f"{path}: was not whole; the run that wrote it had set nothing yet"
    what = f"what the drive {kept.serial} was made to hide by a run that was killed"
    by_hand = f"hdparm --yes-i-know-what-i-am-doing -N{kept.native} does it by hand"
    hdparm = tool.find(tool_path)
    found = [info for info in list_devices(roots) if info.serial == kept.serial]
    if hdparm is None or len(found) != 1:
        why = "hdparm is missing" if hdparm is None else f"{len(found)} such drives are there"
        return f"{what} could not be put back: {why} ({by_hand})"
    try:
        done = _show_all(found[0], hdparm, kept)
    except (OSError, ToolError) as error:
        return f"{what} could not be put back: {error} ({by_hand})"
    path.unlink(missing_ok=True)
    return f"{what} {done}"


def _show_all(info: DeviceInfo, hdparm: str, kept: Kept) -> str:
    fd = os.open(info.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if sysfs.number_of(os.fstat(fd).st_rdev) != info.number:
            raise ToolError(f"{info.path} leads to another drive")
        now = hpa.read(hdparm, fd, info.path)
        if now != hpa.Sectors(kept.shown, kept.native):
            return "has changed since and was left alone"
        hpa.show(hdparm, fd, info.path, kept.native)
        return f"was put back: it shows all {kept.native} sectors"
    finally:
        os.close(fd)
