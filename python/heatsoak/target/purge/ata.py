"""ATA secure erase through hdparm: the drive erases itself.

It needs a password on the drive, which the erase removes. A power cut in between leaves the drive
locked, so this is only used if the protocol names it. Words and bits are those of IDENTIFY DEVICE
(ACS-4: words 82, 89, 128).
"""

import re
from collections.abc import Generator

from heatsoak.errors import ToolError, saying
from heatsoak.target import base
from heatsoak.target.guard import HeldDrive, run_on
from heatsoak.target.purge.way import NotTakenError, Way
from heatsoak.tools import which

#: The drive's password while it erases itself.
PASSWORD = "heatsoak"

_WORDS = re.compile(r"(?:[0-9a-fA-F]{4}\s+){7}[0-9a-fA-F]{4}\s*")
_SECTORS = re.compile(r"max sectors\s*=\s*([0-9]+)/([0-9]+), HPA is (?:en|dis)abled")
_HAS_HPA = 1 << 10  # of word 82 of IDENTIFY DEVICE
_SUPPORTED, _ENABLED, _LOCKED, _FROZEN, _EXPIRED = (1 << bit for bit in range(5))


def way(claim: HeldDrive) -> Way:
    """Return the purge by secure erase with hdparm."""
    return Way("secure-erase", _why_not(claim), _run)


def _why_not(claim: HeldDrive) -> str | None:
    if claim.info.transport != "sata":
        return f"ATA secure erase only works on SATA drives, but this is on {claim.info.transport}"
    try:
        words = identify_words(_hdparm(claim, "--Istdout"))
        if (why_not := _why_not_now(words[128])) is not None:
            return why_not
        hidden = _hides(claim, words)
    except ToolError as error:
        return str(error)
    return None if hidden is None else f"{hidden}, which would be erased as well"


def _why_not_now(security: int) -> str | None:
    """Why a drive of this security status, word 128, cannot be erased now; None if it can."""
    if not security & _SUPPORTED:
        return "it does not support ATA secure erase"
    if security & _FROZEN:
        return (
            "its security is frozen, as most firmware does at boot: suspend and resume the "
            "machine, or unplug and replug the drive"
        )
    if security & (_LOCKED | _ENABLED):
        return "it already has a password: remove it first (hdparm --security-disable)"
    if security & _EXPIRED:
        return "it accepts no more passwords until it is power-cycled"
    return None


def _run(claim: HeldDrive) -> Generator[base.Batch, None, str]:
    claim.recheck()
    if (why_not := _why_not(claim)) is not None:
        raise NotTakenError(why_not)
    estimate = identify_words(_hdparm(claim, "--Istdout"))[89]
    minutes = 2 * (estimate & 0x7FFF if estimate & 0x8000 else estimate & 0xFF)
    about = f", by its estimate {minutes} min" if minutes else ""
    yield base.Note(
        "info",
        f"{claim.path}: is erasing itself{about}, which cannot be stopped: Ctrl-C waits until it "
        "has finished; after a power cut it stays locked until: hdparm --user-master u "
        f"--security-erase {PASSWORD} {claim.path}",
    )
    yield from base.waiting_for(lambda: _erase(claim))
    if identify_words(_hdparm(claim, "--Istdout"))[128] & _ENABLED:
        raise ToolError(f"{claim.path}: did not erase itself: {_kept(claim)}")
    return "it erased itself (ATA secure erase)"


def _erase(claim: HeldDrive) -> None:
    claim.recheck()
    _tell(claim, "--security-set-pass")
    try:
        claim.recheck()
        _tell(claim, "--security-erase")
    except BaseException as error:
        try:
            _tell(claim, "--security-disable")
        except ToolError:
            raise ToolError(f"{error}; {_kept(claim)}") from error
        raise


def _kept(claim: HeldDrive) -> str:
    return (
        "it still has its password; to remove it: hdparm --user-master u --security-disable "
        f"{PASSWORD} {claim.path}"
    )


def identify_words(text: str) -> list[int]:
    """Return the 256 words from the output of ``hdparm --Istdout``; raises ToolError otherwise."""
    lines = [line for line in text.splitlines() if _WORDS.fullmatch(line)]
    words = [int(word, 16) for line in lines for word in line.split()]
    if len(words) != 256:
        raise ToolError(
            "hdparm cannot read the drive's features: IDENTIFY DEVICE has 256 words, but it "
            f"printed {len(words)}"
        )
    return words


def _hides(claim: HeldDrive, words: list[int]) -> str | None:
    """Why the drive has, or may have, data in hidden sectors; None if it has not.

    Through bridges and some drivers, hdparm prints numbers and says that they seem invalid; for
    drives with ACCESSIBLE MAX ADDRESS its output is different.
    """
    try:
        text = _hdparm(claim, "-N")
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


def _tell(claim: HeldDrive, option: str) -> None:
    _hdparm(claim, "--user-master", "u", option, PASSWORD)


def _hdparm(claim: HeldDrive, *options: str) -> str:
    """Return hdparm's output for the drive; raises ToolError if it fails.

    Success does not mean much: hdparm also succeeds if the drive rejects the command.
    """
    tool = which("hdparm")
    if tool is None:
        raise ToolError("hdparm is missing (apt-get install hdparm)")
    with saying("hdparm cannot be run"):
        done = run_on(claim.fd, tool, *options)
    if done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).split())
        raise ToolError(f"{claim.path}: hdparm failed (exit code {done.returncode}): {said}")
    return done.stdout
