"""A part of a drive that it hides for a run, within the guard's claim, and shows again after it."""

import os
from dataclasses import dataclass
from pathlib import Path

from heatsoak.errors import HeatsoakError, ToolError, UsageError
from heatsoak.target.capacity import hpa
from heatsoak.target.capacity.state import Kept
from heatsoak.target.guard import Claim
from heatsoak.target.uninterrupted import uninterrupted
from heatsoak.target.written_down import COMMAND, write
from heatsoak.tools import which


@dataclass
class Hidden:
    """What a claimed drive hides; it lasts until :meth:`put_back`.

    The kernel goes on to see the whole drive, so that the claim holds as it was.
    """

    claim: Claim
    hdparm: str
    kept: Kept
    path: Path
    file: int

    def is_held(self) -> bool:
        """Whether the drive still hides it: an error or a reset makes Linux show all again."""
        now = hpa.read(self.hdparm, self.claim.fd, self.claim.path)
        return now == hpa.Sectors(self.kept.shown, self.kept.native)

    def put_back(self) -> None:
        """Have the drive show all that it has; may be called twice.

        Raises ToolError where it does not; it stays written down then.
        """
        if self.file < 0:
            return
        with uninterrupted():
            try:
                now = hpa.read(self.hdparm, self.claim.fd, self.claim.path)
                if now.shown != self.kept.native:
                    hpa.show(self.hdparm, self.claim.fd, self.claim.path, self.kept.native)
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
    kept = Kept(serial=claim.info.serial, native=native, shown=used // hpa.SECTOR)
    hidden = Hidden(claim, hdparm, kept, *kept.take(state))
    try:
        with uninterrupted():
            write(hidden.file, kept.model_dump_json())
            claim.recheck()
            hpa.show(hdparm, claim.fd, claim.path, kept.shown)
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
    elif info.serial is None or info.logical_block_bytes != hpa.SECTOR:
        why = "it has no serial, or other blocks than of 512 bytes"
    elif hdparm is None:
        why = "hdparm is missing (apt-get install hdparm)"
    else:
        try:
            sectors = hpa.read(hdparm, claim.fd, claim.path)
        except ToolError as error:
            why = str(error)
        else:
            if sectors.hidden or sectors.native * hpa.SECTOR != claim.size_bytes:
                why = f"it shows {sectors.shown} of {sectors.native} sectors already"
            else:
                return hdparm, sectors.native
    raise UsageError(f"{claim.path}: spare = 'hpa' cannot be had: {why}; 'unwritten' can")


def _by_hand(kept: Kept, path: Path) -> str:
    return (
        f"it hides all but {kept.shown} of {kept.native} sectors until it is reset; `{COMMAND}` "
        f"tries again (hdparm --yes-i-know-what-i-am-doing -N{kept.native} {path} does it by hand)"
    )
