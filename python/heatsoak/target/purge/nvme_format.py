"""Format NVM of one namespace with an erase of user data, keeping its layout."""

from collections.abc import Generator

from heatsoak.errors import ToolError
from heatsoak.sensor.nvme_admin import Ioctl, NvmeStatusError, submit
from heatsoak.target.base import Batch, Note, waiting_for
from heatsoak.target.guard import Claim
from heatsoak.target.purge.namespaces import Namespace, look
from heatsoak.target.purge.way import NotTakenError, Way

_FORMAT = 0x80
_ERASE_USER_DATA = 1 << 9
#: The kernel resets a drive that takes longer, in the middle of the format, so this is very long.
_TIMEOUT_MS = 12 * 3600 * 1000


def way(namespace: Namespace, ioctl: Ioctl | None = None) -> Way:
    """Return the purge by format."""

    def run(claim: Claim) -> Generator[Batch, None, str]:
        return _run(claim, ioctl)

    return Way("format", why_not(namespace), run)


def why_not(namespace: Namespace) -> str | None:
    """Return why it must not be formatted; None if it may be."""
    if not namespace.formats:
        return "it does not support Format NVM"
    if namespace.formats_all and not namespace.is_alone:
        return f"its format erases all namespaces, and there {others(namespace)}"
    return None


def others(namespace: Namespace) -> str:
    """Return which others would be affected: ``"is namespace 2 as well"``."""
    if not namespace.others:
        return "may be others"
    numbers = ", ".join(str(number) for number in namespace.others)
    return f"{'is namespace' if len(namespace.others) == 1 else 'are namespaces'} {numbers} as well"


def _run(claim: Claim, ioctl: Ioctl | None) -> Generator[Batch, None, str]:
    claim.recheck()
    now = look(claim.fd, ioctl)
    if (reason := why_not(now)) is not None:
        raise NotTakenError(reason)
    yield Note(
        "info",
        f"{claim.path}: is being formatted, which cannot be stopped: Ctrl-C waits until it "
        "has finished; after a power cut, its contents are undefined until it is purged again",
    )

    def command() -> None:
        claim.recheck()
        submit(
            claim.fd,
            _FORMAT,
            nsid=now.nsid,
            cdw10=now.layout | _ERASE_USER_DATA,
            timeout_ms=_TIMEOUT_MS,
            ioctl=ioctl,
        )

    try:
        yield from waiting_for(command)
    except NvmeStatusError as error:
        raise NotTakenError(f"the drive rejected the format ({error})") from error
    except OSError as error:
        raise ToolError(f"{claim.path}: formatting failed: {error.strerror}") from error
    after = look(claim.fd, ioctl)
    if (after.layout, after.blocks) != (now.layout, now.blocks):
        raise ToolError(
            f"{claim.path}: has {after.blocks} blocks of format {after.layout:#x} after it was "
            f"formatted, but had {now.blocks} of {now.layout:#x} before"
        )
    return "it was formatted, with an erase of user data (Format NVM, SES 1)"
