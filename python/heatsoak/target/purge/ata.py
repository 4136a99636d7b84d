"""ATA secure erase through hdparm: the drive erases itself.

It needs a password on the drive, which the erase removes. A power cut in between leaves the drive
locked, so this is only used if the protocol names it. Words and bits are those of IDENTIFY DEVICE
(ACS-4: words 82, 89, 128).
"""

import re
from collections.abc import Generator
from dataclasses import dataclass

from heatsoak.errors import ToolError
from heatsoak.target import base
from heatsoak.target.guard import Claim, run_on
from heatsoak.target.purge.way import NotTakenError, Way
from heatsoak.tools import which

#: The drive's password while it erases itself.
PASSWORD = "heatsoak"

_WORDS = re.compile(r"(?:[0-9a-fA-F]{4}\s+){7}[0-9a-fA-F]{4}\s*")
_SECTORS = re.compile(r"max sectors\s*=\s*([0-9]+)/([0-9]+), HPA is (?:en|dis)abled")
_HAS_HPA = 1 << 10  # of word 82 of IDENTIFY DEVICE
_SUPPORTED, _ENABLED, _LOCKED, _FROZEN, _EXPIRED = (1 << bit for bit in range(5))


@dataclass(frozen=True)
class Security:
    """The security features of an ATA drive.

    Attributes:
        status: word 128.
        erase_min: its own estimate of an erase's duration, None if unknown.
    """

    status: int
    erase_min: int | None

    @property
    def why_not(self) -> str | None:
        """Why it cannot be erased now; None if it can."""
        if not self.status & _SUPPORTED:
            return "it does not support ATA secure erase"
        if self.status & _FROZEN:
            return (
                "its security is frozen, as most firmware does at boot: suspend and resume the "
                "machine, or unplug and replug the drive"
            )
        if self.status & (_LOCKED | _ENABLED):
            return "it already has a password: remove it first (hdparm --security-disable)"
        if self.status & _EXPIRED:
            return "it accepts no more passwords until it is power-cycled"
        return None


def of_words(words: list[int]) -> Security:
    """Return the security features in the words of IDENTIFY DEVICE."""
    time_word = words[89]
    minutes = time_word & 0x7FFF if time_word & 0x8000 else time_word & 0xFF
    return Security(words[128], 2 * minutes or None)


def way(claim: Claim) -> Way:
    """Return the purge by secure erase with hdparm."""
    tool = which("hdparm")

    def run(claim: Claim) -> Generator[base.Batch, None, str]:
        assert tool is not None
        return _run(claim, tool)

    return Way("secure-erase", _why_not(claim, tool), run)


def _why_not(claim: Claim, tool: str | None) -> str | None:
    if claim.info.transport != "sata":
        return f"ATA secure erase only works on SATA drives, but this is on {claim.info.transport}"
    if tool is None:
        return "hdparm is missing (apt-get install hdparm)"
    try:
        words = _identify(claim, tool)
        if (why_not := of_words(words).why_not) is not None:
            return why_not
        hidden = _hides(claim, tool, words)
    except ToolError as error:
        return str(error)
    return None if hidden is None else f"{hidden}, which would be erased as well"


def _run(claim: Claim, tool: str) -> Generator[base.Batch, None, str]:
    claim.recheck()
    if (why_not := _why_not(claim, tool)) is not None:
        raise NotTakenError(why_not)
    security = _security(claim, tool)
    about = "" if security.erase_min is None else f", by its estimate {security.erase_min} min"
    yield base.Note(
        "info",
        f"{claim.path}: is erasing itself{about}, which cannot be stopped: Ctrl-C waits until it "
        "has finished; after a power cut it stays locked until: hdparm --user-master u "
        f"--security-erase {PASSWORD} {claim.path}",
    )
    yield from base.waiting_for(lambda: _erase(claim, tool))
    if _security(claim, tool).status & _ENABLED:
        raise ToolError(f"{claim.path}: did not erase itself: {_kept(claim)}")
    return "it erased itself (ATA secure erase)"


def _erase(claim: Claim, tool: str) -> None:
    claim.recheck()
    _tell(claim, tool, "--security-set-pass", PASSWORD)
    try:
        claim.recheck()
        _tell(claim, tool, "--security-erase", PASSWORD)
    except BaseException as error:
        try:
            _tell(claim, tool, "--security-disable", PASSWORD)
        except ToolError:
            raise ToolError(f"{error}; {_kept(claim)}") from error
        raise


def _kept(claim: Claim) -> str:
    return (
        "it still has its password; to remove it: hdparm --user-master u --security-disable "
        f"{PASSWORD} {claim.path}"
    )


def _security(claim: Claim, tool: str) -> Security:
    return of_words(_identify(claim, tool))


def _identify(claim: Claim, tool: str) -> list[int]:
    try:
        return identify_words(_hdparm(claim, tool, "--Istdout"))
    except ValueError as error:
        raise ToolError(f"{claim.path}: hdparm cannot read its features: {error}") from error


def identify_words(text: str) -> list[int]:
    """Return the 256 words from the output of ``hdparm --Istdout``; raises ValueError otherwise."""
    lines = [line for line in text.splitlines() if _WORDS.fullmatch(line)]
    words = [int(word, 16) for line in lines for word in line.split()]
    if len(words) != 256:
        raise ValueError(f"IDENTIFY DEVICE has 256 words, but hdparm printed {len(words)}")
    return words


def _hides(claim: Claim, tool: str, words: list[int]) -> str | None:
    """Why the drive has, or may have, data in hidden sectors; None if it has not.

    Through bridges and some drivers, hdparm prints numbers and says that they seem invalid; for
    drives with ACCESSIBLE MAX ADDRESS its output is different.
    """
    try:
        text = _hdparm(claim, tool, "-N")
    except ToolError as error:
        return str(error) if words[82] & _HAS_HPA else None
    if (found := _SECTORS.search(text)) is not None:
        shown, native = int(found[1]), int(found[2])
        if 0 < shown < native:
            return f"it hides {native - shown} sectors (a host protected area)"
        if 0 < shown == native:
            return None
    if not words[82] & _HAS_HPA:
        return None
    output = " ".join(text.split()[1:]) or "no output"
    return f"{claim.path}: hdparm shows no host protected area: {output}"


def _tell(claim: Claim, tool: str, option: str, password: str) -> None:
    _hdparm(claim, tool, "--user-master", "u", option, password)


def _hdparm(claim: Claim, tool: str, *options: str) -> str:
    """Return hdparm's output for the drive; raises ToolError if it fails.

    Success does not mean much: hdparm also succeeds if the drive rejects the command.
    """
    try:
        done = run_on(claim.fd, tool, *options)
    except OSError as error:
        raise ToolError(f"hdparm cannot be run: {error.strerror}") from error
    if done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).split())
        raise ToolError(f"{claim.path}: hdparm failed (exit code {done.returncode}): {said}")
    return done.stdout
