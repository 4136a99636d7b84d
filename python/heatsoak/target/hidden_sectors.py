"""Hides a part of a SATA drive for a run, as spare area, by its host protected area.

To the drive, what was purged and never written again is spare area already
(`heatsoak.target.spare`); hiding it changes nothing but what the drive answers to. It is done
within the guard's claim and undone however a run ends. Namespaces of NVMe drives are left as they
are: see docs/purging.md for why.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import PositiveInt, model_validator

from heatsoak.errors import HeatsoakError, ToolError, UsageError
from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Roots
from heatsoak.target import hdparm as tool
from heatsoak.target import undo
from heatsoak.target.base import Note
from heatsoak.target.device import DeviceInfo, list_devices
from heatsoak.target.guard import Claim
from heatsoak.target.undo import COMMAND, left_behind, still_left, told, uninterrupted, write
from heatsoak.tools import find_tool, which

SECTOR = 512
_SECTORS = re.compile(r"max sectors\s*=\s*([0-9]+)/([0-9]+), HPA is (?:en|dis)abled")
_HAS_HPA = 1 << 10  # of word 82 of IDENTIFY DEVICE
#: Two commands have to follow each other at once, and the kernel may put another between them.
_ATTEMPTS = 3


@dataclass(frozen=True)
class Sectors:
    """How many sectors a drive shows, and how many it has."""

    shown: int
    native: int

    @property
    def hidden(self) -> int:
        """How many it hides."""
        return self.native - self.shown


def parse(text: str) -> Sectors:
    """Return what ``hdparm -N`` tells; raises ValueError where that makes no sense.

    Through bridges and some drivers it prints numbers all the same, and says that they seem
    invalid; of ACCESSIBLE MAX ADDRESS it speaks in other words.
    """
    found = _SECTORS.search(text)
    if found is None:
        said = " ".join(text.split()[1:]) or "nothing"
        raise ValueError(f"hdparm tells no host protected area: {said}")
    sectors = Sectors(int(found[1]), int(found[2]))
    if not 0 < sectors.shown <= sectors.native:
        raise ValueError(f"it shows {sectors.shown} of {sectors.native} sectors, which cannot be")
    return sectors


def read(hdparm: str, fd: int, name: object) -> Sectors:
    """Return what the drive says; raises ToolError where it does not."""
    try:
        return parse(tool.run(hdparm, fd, name, "-N"))
    except ValueError as error:
        raise ToolError(f"{name}: {error}") from error


def show(hdparm: str, fd: int, name: object, sectors: int) -> None:
    """Have the drive show so many sectors until its next reset, and look whether it does.

    Raises ToolError where it does not.
    """
    for _ in range(_ATTEMPTS):
        tool.run(hdparm, fd, name, "--yes-i-know-what-i-am-doing", f"-N{sectors}")
        now = read(hdparm, fd, name)
        if now.shown == sectors:
            return
    raise ToolError(f"{name}: was told to show {sectors} sectors, and shows {now.shown}")


def hides(hdparm: str, fd: int, name: object, words: list[int]) -> str | None:
    """Return why the drive has, or may have, data in sectors that it hides; None where not.

    `words` are those of IDENTIFY DEVICE.
    """
    try:
        sectors = read(hdparm, fd, name)
    except ToolError as error:
        return str(error) if words[82] & _HAS_HPA else None
    if sectors.hidden:
        return f"it hides {sectors.hidden} sectors (a host protected area)"
    return None


KIND = "capacity"
#: What is written down, in words.
WHAT = "what the drive hides"


class HiddenSectorsRecord(undo.UndoRecord):
    """Whose capacity, how many sectors it has, and how many it was told to show."""

    native: PositiveInt
    shown: PositiveInt

    @model_validator(mode="after")
    def _shows_less(self) -> Self:
        if self.shown >= self.native:
            raise ValueError("it shows no less than it has")
        return self

    def take(self, state: Path | None) -> tuple[Path, int]:
        """Open and lock the drive's file; raises UsageError where it cannot be."""
        path = undo.file_of(KIND, self.serial, state=state)
        return path, undo.take(path, WHAT, f"{path}: another run has set {WHAT}")


@dataclass
class Hidden:
    """What a claimed drive hides; it lasts until :meth:`put_back`.

    The kernel goes on to see the whole drive, so that the claim holds as it was.
    """

    claim: Claim
    hdparm: str
    kept: HiddenSectorsRecord
    path: Path
    file: int

    def is_held(self) -> bool:
        """Whether the drive still hides it: an error or a reset makes Linux show all again."""
        now = read(self.hdparm, self.claim.fd, self.claim.path)
        return now == Sectors(self.kept.shown, self.kept.native)

    def put_back(self) -> None:
        """Have the drive show all that it has; may be called twice.

        Raises ToolError where it does not; it stays written down then.
        """
        if self.file < 0:
            return
        with uninterrupted():
            try:
                now = read(self.hdparm, self.claim.fd, self.claim.path)
                if now.shown != self.kept.native:
                    show(self.hdparm, self.claim.fd, self.claim.path, self.kept.native)
                self.path.unlink(missing_ok=True)
            except ToolError as error:
                raise ToolError(f"{error}; {_by_hand(self.kept, self.claim.path)}") from error
            finally:
                os.close(self.file)
                self.file = -1


def hide(claim: Claim, used: int, *, state: Path | None = None) -> Hidden:
    """Have the claimed drive hide what is beyond the first `used` bytes.

    Raises UsageError where it cannot, ToolError where it does not do as told, RefusedError where
    the claim does not hold any more.
    """
    hdparm, native = require(claim)
    assert claim.info.serial is not None
    kept = HiddenSectorsRecord(serial=claim.info.serial, native=native, shown=used // SECTOR)
    hidden = Hidden(claim, hdparm, kept, *kept.take(state))
    try:
        with uninterrupted():
            write(hidden.file, kept.model_dump_json())
            claim.recheck()
            show(hdparm, claim.fd, claim.path, kept.shown)
    except BaseException as error:
        try:
            hidden.put_back()
        except ToolError as worse:
            if isinstance(error, HeatsoakError):
                raise type(error)(f"{error}; {worse}") from error
        raise
    return hidden


def require(claim: Claim) -> tuple[str, int]:
    """Return hdparm and how many sectors the drive has.

    Raises UsageError where the claimed drive cannot hide a part of itself; changes nothing.
    """
    claim.recheck()
    info = claim.info
    hdparm = which("hdparm")
    why = None
    if info.transport != "sata":
        why = f"a host protected area is of SATA drives, and this is on {info.transport}"
    elif info.serial is None or info.logical_block_bytes != SECTOR:
        why = "it has no serial, or other blocks than of 512 bytes"
    elif hdparm is None:
        why = "hdparm is missing (apt-get install hdparm)"
    else:
        try:
            sectors = read(hdparm, claim.fd, claim.path)
        except ToolError as error:
            why = str(error)
        else:
            if sectors.hidden or sectors.native * SECTOR != claim.size_bytes:
                why = f"it shows {sectors.shown} of {sectors.native} sectors already"
            else:
                return hdparm, sectors.native
    raise UsageError(f"{claim.path}: spare = 'hpa' cannot be had: {why}; 'unwritten' can")


def _by_hand(kept: HiddenSectorsRecord, path: Path) -> str:
    return (
        f"it hides all but {kept.shown} of {kept.native} sectors until it is reset; `{COMMAND}` "
        f"tries again (hdparm --yes-i-know-what-i-am-doing -N{kept.native} {path} does it by hand)"
    )


def left(*, state: Path | None = None) -> list[Note]:
    """Say what runs that were killed have left hidden; no drive is asked."""
    return told(KIND, WHAT, HiddenSectorsRecord, state)


def put_back(roots: Roots, *, claim: Claim | None = None, state: Path | None = None) -> list[Note]:
    """Put back what runs that were killed have left; returns what was done, as warnings.

    On any drive, or only on the one that is claimed. A drive that shows all of itself again loses
    nothing by it, whoever uses it by now. Whatever cannot be put back stays written down.
    """

    def back(path: Path, kept: HiddenSectorsRecord) -> Note:
        return _put_back(path, kept, roots, claim)

    if claim is None:
        return left_behind(KIND, WHAT, HiddenSectorsRecord, back, state)
    serial = claim.info.serial
    return (
        [] if serial is None else left_behind(KIND, WHAT, HiddenSectorsRecord, back, state, serial)
    )


def _put_back(path: Path, kept: HiddenSectorsRecord, roots: Roots, claim: Claim | None) -> Note:
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
def _found(kept: HiddenSectorsRecord, roots: Roots) -> Iterator[tuple[int, Path]]:
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


def _show_all(fd: int, name: Path, hdparm: str, kept: HiddenSectorsRecord) -> str:
    now = read(hdparm, fd, name)
    if now != Sectors(kept.shown, kept.native):
        return "has changed since and was left alone"
    show(hdparm, fd, name, kept.native)
    return f"was put back: it shows all {kept.native} sectors"
