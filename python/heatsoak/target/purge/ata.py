"""ATA secure erase through hdparm: the drive erases itself, for as long as it says.

For it a drive has to be given a password, which it forgets when it is done. A power cut in between
leaves the drive locked, so it is never chosen unless asked for by name. Words and bits are those of
IDENTIFY DEVICE (ACS-4: words 82, 89, 128).
"""

import re
import shutil
import subprocess
from collections.abc import Generator
from dataclasses import dataclass

from heatsoak.errors import ToolError
from heatsoak.target.base import Batch, Note
from heatsoak.target.guard import TOOL_PATH, Claim
from heatsoak.target.purge.way import NotTakenError, Way, waiting_for

#: What the drive is locked with while it erases itself.
PASSWORD = "heatsoak"

_WORDS = re.compile(r"(?:[0-9a-fA-F]{4}\s+){7}[0-9a-fA-F]{4}\s*")
_SUPPORTED, _ENABLED, _LOCKED, _FROZEN, _EXPIRED = (1 << bit for bit in range(5))


@dataclass(frozen=True)
class Security:
    """The security features of an ATA drive.

    Attributes:
        status: word 128.
        erase_min: how long it says that an erase takes, None if it does not tell.
    """

    status: int
    erase_min: int | None

    @property
    def why_not(self) -> str | None:
        """Why it cannot be erased now; None where it can."""
        if not self.status & _SUPPORTED:
            return "it offers no ATA secure erase"
        if self.status & _FROZEN:
            return (
                "its security is frozen, as most firmware leaves it at boot: suspend the machine "
                "and wake it, or plug the drive in again"
            )
        if self.status & (_LOCKED | _ENABLED):
            return "it has a password already: take that off first (hdparm --security-disable)"
        if self.status & _EXPIRED:
            return "it takes no more passwords until it is switched off and on"
        return None


def parse(text: str) -> Security:
    """Return what ``hdparm --Istdout`` tells; raises ValueError where that are not 256 words."""
    lines = [line for line in text.splitlines() if _WORDS.fullmatch(line)]
    words = [int(word, 16) for line in lines for word in line.split()]
    if len(words) != 256:
        raise ValueError(f"IDENTIFY DEVICE has 256 words, hdparm shows {len(words)}")
    time_word = words[89]
    minutes = time_word & 0x7FFF if time_word & 0x8000 else time_word & 0xFF
    return Security(words[128], 2 * minutes or None)


def way(claim: Claim, tool_path: str = TOOL_PATH) -> Way:
    """Return how the drive erases itself, with the hdparm of `tool_path`."""
    hdparm = shutil.which("hdparm", path=tool_path)

    def run(claim: Claim) -> Generator[Batch, None, str]:
        assert hdparm is not None
        return _run(claim, hdparm)

    return Way("secure-erase", _why_not(claim, hdparm), run)


def _why_not(claim: Claim, hdparm: str | None) -> str | None:
    if claim.info.transport != "sata":
        return f"ATA secure erase is of SATA drives, and this is on {claim.info.transport}"
    if hdparm is None:
        return "hdparm is missing (apt-get install hdparm)"
    try:
        return _security(claim, hdparm).why_not
    except ToolError as error:
        return str(error)


def _run(claim: Claim, hdparm: str) -> Generator[Batch, None, str]:
    claim.recheck()
    security = _security(claim, hdparm)
    if security.why_not is not None:
        raise NotTakenError(security.why_not)
    about = "" if security.erase_min is None else f", about {security.erase_min} min by its word"
    yield Note(
        "info",
        f"{claim.path}: erases itself{about}, which cannot be stopped: Ctrl-C waits for its end; "
        "after a power cut it is locked until: hdparm --user-master u --security-erase "
        f"{PASSWORD} {claim.path}",
    )
    yield from waiting_for(lambda: _erase(claim, hdparm))
    if _security(claim, hdparm).status & _ENABLED:
        raise ToolError(f"{claim.path}: did not erase itself: {_kept(claim)}")
    return "it erased itself (ATA secure erase)"


def _erase(claim: Claim, hdparm: str) -> None:
    claim.recheck()
    _tell(claim, hdparm, "--security-set-pass", PASSWORD)
    try:
        claim.recheck()
        _tell(claim, hdparm, "--security-erase", PASSWORD)
    except BaseException as error:
        try:
            _tell(claim, hdparm, "--security-disable", PASSWORD)
        except ToolError:
            raise ToolError(f"{error}; {_kept(claim)}") from error
        raise


def _kept(claim: Claim) -> str:
    return (
        "it keeps its password, which this takes off: hdparm --user-master u --security-disable "
        f"{PASSWORD} {claim.path}"
    )


def _security(claim: Claim, hdparm: str) -> Security:
    try:
        return parse(_run_tool(claim, [hdparm, "--Istdout", claim.fd_path]))
    except ValueError as error:
        raise ToolError(f"{claim.path}: hdparm cannot tell what it offers: {error}") from error


def _tell(claim: Claim, hdparm: str, option: str, password: str) -> None:
    _run_tool(claim, [hdparm, "--user-master", "u", option, password, claim.fd_path])


def _run_tool(claim: Claim, command: list[str]) -> str:
    """Run hdparm on the held descriptor; a terminal's Ctrl-C does not reach it."""
    try:
        done = subprocess.run(
            command,
            pass_fds=[claim.fd],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            start_new_session=True,
            env={"PATH": TOOL_PATH, "LC_ALL": "C"},
            check=False,
        )
    except OSError as error:
        raise ToolError(f"hdparm cannot be run: {error.strerror}") from error
    if done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).split())
        raise ToolError(f"{claim.path}: hdparm fails (exit {done.returncode}): {said}")
    return done.stdout
