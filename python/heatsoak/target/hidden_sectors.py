"""Hides a part of a SATA drive for a run, as spare area, with a host protected area (HPA).

To the drive, space that was purged and never written is spare area anyway
(`heatsoak.target.base`); hiding it only changes which sectors the drive accepts. It is done within
the guard's claim and undone however a run ends. Namespaces of NVMe drives are not changed: see
docs/purging.md for why.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import PositiveInt, model_validator

from heatsoak import errors
from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Roots
from heatsoak.system import uninterrupted
from heatsoak.target import undo
from heatsoak.target.base import Note
from heatsoak.target.device import DeviceInfo, list_devices
from heatsoak.target.guard import Claim, run_on
from heatsoak.tools import find_tool, which

SECTOR = 512
_SECTORS = re.compile(r"max sectors\s*=\s*([0-9]+)/([0-9]+), HPA is (?:en|dis)abled")
_HAS_HPA = 1 << 10  # of word 82 of IDENTIFY DEVICE
#: Two commands must follow each other directly, but the kernel may send another in between.
_ATTEMPTS = 3


@dataclass(frozen=True)
class Sectors:
    """The number of sectors a drive shows, and the number it has."""

    shown: int
    native: int

    @property
    def hidden(self) -> int:
        """The number of hidden sectors."""
        return self.native - self.shown


def parse(text: str) -> Sectors:
    """Parse the output of ``hdparm -N``; raises ValueError if it makes no sense.

    Through bridges and some drivers, hdparm prints numbers and says that they seem invalid; for
    drives with ACCESSIBLE MAX ADDRESS its output is different.
    """
    found = _SECTORS.search(text)
    if found is None:
        output = " ".join(text.split()[1:]) or "no output"
        raise ValueError(f"hdparm shows no host protected area: {output}")
    sectors = Sectors(int(found[1]), int(found[2]))
    if not 0 < sectors.shown <= sectors.native:
        raise ValueError(
            f"it shows {sectors.shown} of {sectors.native} sectors, which is impossible"
        )
    return sectors


def read(hdparm: str, fd: int, name: object) -> Sectors:
    """Return the drive's sectors; raises ToolError if they cannot be read."""
    try:
        return parse(run_hdparm(hdparm, fd, name, "-N"))
    except ValueError as error:
        raise errors.ToolError(f"{name}: {error}") from error


def show(hdparm: str, fd: int, name: object, sectors: int) -> None:
    """Make the drive show `sectors` sectors until its next reset, and verify that.

    Raises ToolError if it does not.
    """
    for _ in range(_ATTEMPTS):
        run_hdparm(hdparm, fd, name, "--yes-i-know-what-i-am-doing", f"-N{sectors}")
        now = read(hdparm, fd, name)
        if now.shown == sectors:
            return
    raise errors.ToolError(f"{name}: was told to show {sectors} sectors, but shows {now.shown}")


def hides(hdparm: str, fd: int, name: object, words: list[int]) -> str | None:
    """Return why the drive has, or may have, data in hidden sectors; None if it has not.

    `words` are from IDENTIFY DEVICE.
    """
    try:
        sectors = read(hdparm, fd, name)
    except errors.ToolError as error:
        return str(error) if words[82] & _HAS_HPA else None
    if sectors.hidden:
        return f"it hides {sectors.hidden} sectors (a host protected area)"
    return None


class HiddenSectorsRecord(undo.UndoRecord):
    """The drive, its number of sectors, and how many it was told to show."""

    native: PositiveInt
    shown: PositiveInt

    @model_validator(mode="after")
    def _shows_less(self) -> Self:
        if self.shown >= self.native:
            raise ValueError("it does not show fewer sectors than it has")
        return self


_CHANGE = undo.TemporaryChange("capacity", "what the drive hides", HiddenSectorsRecord)


@dataclass
class Hidden:
    """The hidden part of a claimed drive, until :meth:`put_back`.

    The kernel still sees the whole drive, so the claim stays valid.
    """

    claim: Claim
    hdparm: str
    kept: HiddenSectorsRecord
    path: Path
    file: int

    @property
    def shown_bytes(self) -> int:
        """How much of the drive it still shows."""
        return self.kept.shown * SECTOR

    def is_held(self) -> bool:
        """Whether the drive still hides it: after an error or a reset, Linux unhides everything."""
        now = read(self.hdparm, self.claim.fd, self.claim.path)
        return now == Sectors(self.kept.shown, self.kept.native)

    def put_back(self) -> None:
        """Make the drive show all its sectors; may be called twice.

        Raises ToolError if that fails; the file stays then.
        """
        if self.file < 0:
            return
        with uninterrupted():
            try:
                now = read(self.hdparm, self.claim.fd, self.claim.path)
                if now.shown != self.kept.native:
                    show(self.hdparm, self.claim.fd, self.claim.path, self.kept.native)
                self.path.unlink(missing_ok=True)
            except errors.ToolError as error:
                raise errors.ToolError(
                    f"{error}; {_by_hand(self.kept, self.claim.path)}"
                ) from error
            finally:
                os.close(self.file)
                self.file = -1


def hide(claim: Claim, used: int, *, state: Path | None = None) -> Hidden:
    """Make the claimed drive hide everything beyond the first `used` bytes.

    Raises UsageError if it does not support that, ToolError if it fails, RefusedError if the claim
    is no longer valid.
    """
    hdparm, native = require(claim)
    assert claim.info.serial is not None
    kept = HiddenSectorsRecord(serial=claim.info.serial, native=native, shown=used // SECTOR)
    path = _CHANGE.file_of(kept.serial, state=state)
    file = undo.take(path, _CHANGE.what, f"{path}: another run has set {_CHANGE.what}")
    hidden = Hidden(claim, hdparm, kept, path, file)
    try:
        with uninterrupted():
            undo.write(hidden.file, kept.model_dump_json())
            claim.recheck()
            show(hdparm, claim.fd, claim.path, kept.shown)
    except BaseException as error:
        try:
            hidden.put_back()
        except errors.ToolError as worse:
            if isinstance(error, errors.HeatsoakError):
                raise type(error)(f"{error}; {worse}") from error
        raise
    return hidden


def require(claim: Claim) -> tuple[str, int]:
    """Return the path of hdparm and the drive's number of sectors.

    Raises UsageError if the claimed drive cannot hide sectors; changes nothing.
    """
    claim.recheck()
    info = claim.info
    hdparm = which("hdparm")
    why = None
    if info.transport != "sata":
        why = f"only SATA drives have a host protected area, but this is on {info.transport}"
    elif info.serial is None or info.logical_block_bytes != SECTOR:
        why = "it has no serial, or its blocks are not 512 bytes"
    elif hdparm is None:
        why = "hdparm is missing (apt-get install hdparm)"
    else:
        try:
            sectors = read(hdparm, claim.fd, claim.path)
        except errors.ToolError as error:
            why = str(error)
        else:
            if sectors.hidden or sectors.native * SECTOR != claim.size_bytes:
                why = f"it already shows only {sectors.shown} of {sectors.native} sectors"
            else:
                return hdparm, sectors.native
    raise errors.UsageError(f"{claim.path}: spare = 'hpa' is not possible: {why}; use 'unwritten'")


def _by_hand(kept: HiddenSectorsRecord, path: Path) -> str:
    return (
        f"it shows only {kept.shown} of {kept.native} sectors until it is reset; `{undo.COMMAND}` "
        f"tries again (by hand: hdparm --yes-i-know-what-i-am-doing -N{kept.native} {path})"
    )


def left(*, state: Path | None = None) -> list[Note]:
    """Return notes on what killed runs left hidden; does not access any drive."""
    return _CHANGE.left(state)


def put_back(roots: Roots, *, claim: Claim | None = None, state: Path | None = None) -> list[Note]:
    """Unhide what killed runs left hidden; returns what was done, as warnings.

    On any drive, or only on the claimed one. Unhiding sectors does no harm to anybody who uses the
    drive now. What cannot be restored stays saved.
    """

    def back(path: Path, kept: HiddenSectorsRecord) -> Note:
        return _put_back(path, kept, roots, claim)

    if claim is None:
        return _CHANGE.put_back(back, state)
    serial = claim.info.serial
    return [] if serial is None else _CHANGE.put_back(back, state, serial)


def _put_back(path: Path, kept: HiddenSectorsRecord, roots: Roots, claim: Claim | None) -> Note:
    what = f"what a killed run made the drive {kept.serial!r} hide"
    by_hand = f"by hand: hdparm --yes-i-know-what-i-am-doing -N{kept.native}"
    try:
        hdparm = find_tool("hdparm", "hdparm")
        with _claimed(claim) if claim is not None else _found(kept, roots) as (fd, name):
            done = _show_all(fd, name, hdparm, kept)
    except (OSError, errors.ToolError) as error:
        return undo.still_left(f"{what} could not be restored: {error} ({by_hand})")
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
        raise errors.ToolError(f"there are {len(found)} such drives")
    [info] = found
    fd = os.open(info.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        _check_number(fd, info)
        yield fd, info.path
    finally:
        os.close(fd)


def _check_number(fd: int, info: DeviceInfo) -> None:
    if sysfs.number_of(os.fstat(fd).st_rdev) != info.number:
        raise errors.ToolError(f"{info.path} is another drive now")


def _show_all(fd: int, name: Path, hdparm: str, kept: HiddenSectorsRecord) -> str:
    now = read(hdparm, fd, name)
    if now != Sectors(kept.shown, kept.native):
        return "has been changed since and was left alone"
    show(hdparm, fd, name, kept.native)
    return f"was restored: the drive shows all {kept.native} sectors"


_WORDS = re.compile(r"(?:[0-9a-fA-F]{4}\s+){7}[0-9a-fA-F]{4}\s*")


def run_hdparm(hdparm: str, fd: int, name: object, *options: str) -> str:
    """Return hdparm's output for the drive behind `fd`.

    Raises ToolError with the drive's `name` if hdparm fails. Success does not mean much: hdparm
    also succeeds if the drive rejects the command.
    """
    try:
        done = run_on(fd, hdparm, *options)
    except OSError as error:
        raise errors.ToolError(f"hdparm cannot be run: {error.strerror}") from error
    if done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).split())
        raise errors.ToolError(f"{name}: hdparm failed (exit code {done.returncode}): {said}")
    return done.stdout


def identify_words(text: str) -> list[int]:
    """Return the 256 words from the output of ``hdparm --Istdout``; raises ValueError otherwise."""
    lines = [line for line in text.splitlines() if _WORDS.fullmatch(line)]
    words = [int(word, 16) for line in lines for word in line.split()]
    if len(words) != 256:
        raise ValueError(f"IDENTIFY DEVICE has 256 words, but hdparm printed {len(words)}")
    return words
