"""Has drives show again what runs that were killed have left hidden."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from heatsoak.errors import ToolError
from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Roots
from heatsoak.target.base import Note
from heatsoak.target.capacity import hpa
from heatsoak.target.capacity.state import KIND, WHAT, Kept
from heatsoak.target.device import DeviceInfo, list_devices
from heatsoak.target.guard import Claim
from heatsoak.target.written_down import left_behind, still_left, told
from heatsoak.tools import find_tool


def left(*, state: Path | None = None) -> list[Note]:
    """Say what runs that were killed have left hidden; no drive is asked."""
    return told(KIND, WHAT, Kept, state)


def put_back(roots: Roots, *, claim: Claim | None = None, state: Path | None = None) -> list[Note]:
    """Put back what runs that were killed have left; returns what was done, as warnings.

    On any drive, or only on the one that is claimed. A drive that shows all of itself again loses
    nothing by it, whoever uses it by now. Whatever cannot be put back stays written down.
    """

    def back(path: Path, kept: Kept) -> Note:
        return _put_back(path, kept, roots, claim)

    if claim is None:
        return left_behind(KIND, WHAT, Kept, back, state)
    serial = claim.info.serial
    return [] if serial is None else left_behind(KIND, WHAT, Kept, back, state, serial)


def _put_back(path: Path, kept: Kept, roots: Roots, claim: Claim | None) -> Note:
    what = f"what the drive {kept.serial!r} was made to hide by a run that was killed"
    by_hand = f"hdparm --yes-i-know-what-i-am-doing -N{kept.native} does it by hand"
    try:
        hdparm = find_tool("hdparm", "hdparm")
        with _claimed(claim) if claim is not None else _found(kept, roots) as (fd, name):
            done = _show_all(fd, name, hdparm, kept)
    except (OSError, ToolError) as error:
        return still_left(f"{what} could not be put back: {error} ({by_hand})")
    path.unlink(missing_ok=True)
    return Note("warning", f"{what} {done}")


@contextmanager
def _claimed(claim: Claim) -> Iterator[tuple[int, Path]]:
    claim.recheck()
    yield claim.fd, claim.path


@contextmanager
def _found(kept: Kept, roots: Roots) -> Iterator[tuple[int, Path]]:
    found = [info for info in list_devices(roots) if info.serial == kept.serial]
    if len(found) != 1:
        raise ToolError(f"{len(found)} such drives are there")
    [info] = found
    fd = os.open(info.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        _check_number(fd, info)
        yield fd, info.path
    finally:
        os.close(fd)


def _check_number(fd: int, info: DeviceInfo) -> None:
    if sysfs.number_of(os.fstat(fd).st_rdev) != info.number:
        raise ToolError(f"{info.path} leads to another drive")


def _show_all(fd: int, name: Path, hdparm: str, kept: Kept) -> str:
    now = hpa.read(hdparm, fd, name)
    if now != hpa.Sectors(kept.shown, kept.native):
        return "has changed since and was left alone"
    hpa.show(hdparm, fd, name, kept.native)
    return f"was put back: it shows all {kept.native} sectors"
