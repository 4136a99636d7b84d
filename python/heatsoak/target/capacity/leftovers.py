"""Has drives show again what runs that were killed have left hidden."""

import os
from pathlib import Path

from heatsoak.errors import ToolError
from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Roots
from heatsoak.target import hdparm as tool
from heatsoak.target.base import Note
from heatsoak.target.capacity import hpa
from heatsoak.target.capacity.state import KIND, WHAT, Kept
from heatsoak.target.device import DeviceInfo, list_devices
from heatsoak.target.guard import TOOL_PATH
from heatsoak.target.written_down import STATE, left_behind


def put_back(roots: Roots, *, tool_path: str = TOOL_PATH, state: Path = STATE) -> list[Note]:
    """Put back what runs that were killed have left; returns what was done, as warnings.

    A drive that shows all of itself again loses nothing by it, whoever uses it by now. Whatever
    cannot be put back stays written down and is told again.
    """

    def back(path: Path, kept: Kept) -> str:
        return _put_back(path, kept, roots, tool_path)

    return left_behind(KIND, WHAT, Kept.parse, back, state)


def _put_back(path: Path, kept: Kept, roots: Roots, tool_path: str) -> str:
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
