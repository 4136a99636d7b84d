"""Purges of NVMe drives: Format NVM of one namespace, and Sanitize of a whole drive.

A format erases user data and keeps the namespace's layout. A sanitize, once started, continues on
its own.
"""

import struct
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any

from heatsoak import errors, words
from heatsoak.protocol import PurgeMethod
from heatsoak.sensor import nvme_admin, sysfs
from heatsoak.sensor.base import Roots
from heatsoak.target import base
from heatsoak.target.device import DeviceInfo
from heatsoak.target.guard import HeldDrive
from heatsoak.target.purge.way import NotTakenError, Way

_GET_NSID = 0x4E40  # _IO('N', 0x40), linux/nvme_ioctl.h
_NAMESPACE, _CONTROLLER, _ACTIVE_LIST, _ALLOCATED_LIST = 0x00, 0x01, 0x02, 0x10
_LISTED = 1024


@dataclass(frozen=True)
class Namespace:
    """A namespace and its controller, by Identify.

    Attributes:
        nsid: its number.
        others: the numbers of all other namespaces of the drive.
        has_hidden: whether there may be namespaces that this controller does not list.
        formats: whether Format NVM is supported.
        formats_all: whether a format, or its erase, affects all namespaces.
        sanitize_action: the Sanitize action: 2 block erase, 4 crypto erase; None if neither.
        layout: the low 12 bits of Format NVM's parameters that keep block size, metadata and
            protection, with bits 12 and 13 for formats beyond the 16th.
        blocks: its size in blocks.
    """

    nsid: int
    others: tuple[int, ...]
    has_hidden: bool
    formats: bool
    formats_all: bool
    sanitize_action: int | None
    layout: int
    blocks: int

    @property
    def is_alone(self) -> bool:
        """Whether it is known to be the drive's only namespace."""
        return not self.others and not self.has_hidden


def look(fd: int) -> Namespace:
    """Return the namespace behind a descriptor; raises OSError, ToolError."""
    nsid = nvme_admin.kernel_ioctl()(fd, _GET_NSID, bytearray(4))
    if nsid <= 0:
        raise errors.ToolError("the kernel does not say which namespace it is")

    def identify(structure: int, of: int = 0) -> bytes:
        length = nvme_admin.IDENTIFY_SIZE
        return nvme_admin.submit(fd, nvme_admin.IDENTIFY, nsid=of, length=length, cdw10=structure)[
            0
        ]

    controller, page = identify(_CONTROLLER), identify(_NAMESPACE, nsid)
    (admin_commands,) = struct.unpack_from("<H", controller, 256)  # OACS
    format_attributes = controller[524]  # FNA
    (sanitize,) = struct.unpack_from("<I", controller, 328)  # SANICAP
    manages = bool(admin_commands & 1 << 3)
    listing = identify(_ALLOCATED_LIST if manages else _ACTIVE_LIST)
    listed = [number for number in struct.unpack(f"<{_LISTED}I", listing) if number]
    shared = controller[76] & 0b11  # CMIC: several ports, several controllers
    return Namespace(
        nsid=nsid,
        others=tuple(number for number in listed if number != nsid),
        has_hidden=nsid not in listed or (bool(shared) and not manages),
        formats=bool(admin_commands & 1 << 1),
        formats_all=bool(format_attributes & 0b11),
        sanitize_action=2 if sanitize & 0b010 else 4 if sanitize & 0b001 else None,
        layout=_layout(page),
        blocks=struct.unpack_from("<Q", page, 0)[0],
    )


def _layout(page: bytes) -> int:
    """Return Format NVM's dword 10 for the current format, without an erase."""
    in_use, protection = page[26], page[29]  # FLBAS, DPS
    has_extended_blocks = in_use >> 4 & 1
    return (
        in_use & 0xF
        | has_extended_blocks << 4
        | (protection & 0b111) << 5
        | (protection >> 3 & 1) << 8
        | (in_use >> 5 & 0b11) << 12
    )


#: Purges the namespace of a claimed drive.
_Run = Callable[[HeldDrive, Namespace], Generator[base.Batch, None, str]]


def ways(claim: HeldDrive) -> list[Way]:
    """Return the purges by format and by sanitize."""
    unknown = None
    if claim.info.transport != "nvme":
        unknown = f"it only works on NVMe drives, but this is on {claim.info.transport}"
    else:
        try:
            before = look(claim.fd)
        except (OSError, errors.HeatsoakError) as error:
            unknown = f"the drive's features cannot be read ({error})"

    def way(method: PurgeMethod, why_not: Callable[[Namespace], str | None], run: _Run) -> Way:
        def checked(claim: HeldDrive) -> Generator[base.Batch, None, str]:
            claim.recheck()
            now = look(claim.fd)
            if (reason := why_not(now)) is not None:
                raise NotTakenError(reason)
            return (yield from run(claim, now))

        return Way(method, why_not(before) if unknown is None else unknown, checked)

    return [
        way("format", _why_not_formatted, _format),
        way("sanitize", _why_not_sanitized, _sanitize),
    ]


def _others(namespace: Namespace) -> str:
    """Return which others would be affected: ``"is namespace 2 as well"``."""
    if not namespace.others:
        return "may be others"
    numbers = words.listed([str(number) for number in namespace.others])
    return f"{'is namespace' if len(namespace.others) == 1 else 'are namespaces'} {numbers} as well"


def _send(claim: HeldDrive, what: str, opcode: int, **fields: Any) -> None:
    """Send a command that erases; raises NotTakenError if the drive rejects it, else ToolError."""
    claim.recheck()
    with errors.saying(f"{claim.path}: the {what} failed"):
        try:
            nvme_admin.submit(claim.fd, opcode, **fields)
        except nvme_admin.NvmeStatusError as error:
            raise NotTakenError(f"the drive rejected the {what} ({error})") from error


# --- format --------------------------------------------------------------------------------------

_FORMAT = 0x80
_ERASE_USER_DATA = 1 << 9
#: The kernel resets a drive that takes longer, in the middle of the format, so this is very long.
_TIMEOUT_MS = 12 * 3600 * 1000


def _why_not_formatted(namespace: Namespace) -> str | None:
    """Return why it must not be formatted; None if it may be."""
    if not namespace.formats:
        return "it does not support Format NVM"
    if namespace.formats_all and not namespace.is_alone:
        return f"its format erases all namespaces, and there {_others(namespace)}"
    return None


def _format(claim: HeldDrive, now: Namespace) -> Generator[base.Batch, None, str]:
    yield base.Note(
        "info",
        f"{claim.path}: is being formatted, which cannot be stopped: Ctrl-C waits until it "
        "has finished; after a power cut, its contents are undefined until it is purged again",
    )

    layout = now.layout | _ERASE_USER_DATA
    send = partial(_send, claim, "format", _FORMAT)
    yield from base.waiting_for(lambda: send(nsid=now.nsid, cdw10=layout, timeout_ms=_TIMEOUT_MS))
    after = look(claim.fd)
    if (after.layout, after.blocks) != (now.layout, now.blocks):
        raise errors.ToolError(
            f"{claim.path}: has {after.blocks} blocks of format {after.layout:#x} after it was "
            f"formatted, but had {now.blocks} of {now.layout:#x} before"
        )
    return "it was formatted, with an erase of user data (Format NVM, SES 1)"


# --- sanitize ------------------------------------------------------------------------------------

_SANITIZE, _LOG, _LOG_SIZE = 0x84, 0x81, 512
#: AUSE: the drive may leave the failure mode of a failed sanitize without another one.
_MAY_LEAVE_FAILURE = 1 << 3
_ACTIONS = {2: "block erase", 4: "crypto erase"}
_RUNNING, _FAILED = 2, 3
_ENDED_WELL = (1, 4)
_POLL_S = 1.0
_REPORT_S = 60.0


@dataclass(frozen=True)
class State:
    """The state in log page 81h.

    Attributes:
        status: 0 never, 1 done, 2 running, 3 failed, 4 done without deallocating.
        done_pct: progress of a running sanitize.
        block_erase_s: the drive's estimate of a block erase's duration, None if unknown.
    """

    status: int
    done_pct: float
    block_erase_s: int | None

    @property
    def is_running(self) -> bool:
        """Whether a sanitize is running."""
        return self.status == _RUNNING


def parse(page: bytes) -> State:
    """Return the state in a log page of at least 32 bytes; raises ValueError for a shorter one."""
    if len(page) < 32:
        raise ValueError(f"a sanitize log has at least 32 bytes, this has {len(page)}")
    progress, status, _, _, block_erase_s = struct.unpack_from("<HHIII", page)
    running = status & 0b111 == _RUNNING
    return State(
        status=status & 0b111,
        done_pct=100 * progress / 65536 if running else 0.0,
        block_erase_s=None if block_erase_s in (0, 0xFFFFFFFF) else block_erase_s,
    )


def sanitizing(info: DeviceInfo, roots: Roots) -> float | None:
    """Return the progress of a sanitize running on a drive in percent, None if none is running.

    Only reads, and only from drives that support sanitize.
    """

    def ask(admin: nvme_admin.NvmeAdmin, _name: str) -> State | None:
        try:
            (capabilities,) = struct.unpack_from("<I", admin.identify_controller(), 328)
            return parse(admin.log_page(_LOG, _LOG_SIZE)) if capabilities & 0b111 else None
        finally:
            admin.close()

    disk = sysfs.directory_of_name(info.name, roots)
    state = None if disk is None else nvme_admin.first_that_answers(disk, roots, None, ask)
    return state.done_pct if state is not None and state.is_running else None


def _why_not_sanitized(namespace: Namespace) -> str | None:
    """Return why it must not be sanitized; None if it may be."""
    if namespace.sanitize_action is None:
        return "it does not support sanitize by block erase or crypto erase"
    if not namespace.is_alone:
        return f"a sanitize erases all namespaces, and there {_others(namespace)}"
    return None


def _sanitize(claim: HeldDrive, now: Namespace) -> Generator[base.Batch, None, str]:
    assert now.sanitize_action is not None
    action = _ACTIONS[now.sanitize_action]
    estimate_s = _state(claim).block_erase_s if now.sanitize_action == 2 else None
    about = "" if estimate_s is None else f", by its own estimate {words.duration_text(estimate_s)}"
    yield base.Note(
        "info",
        f"{claim.path}: is being sanitized ({action}{about}); this continues even after Ctrl-C "
        "or a power cut, and the next run waits for it",
    )
    _send(claim, "sanitize", _SANITIZE, cdw10=now.sanitize_action | _MAY_LEAVE_FAILURE)
    reported_s = time.monotonic()
    while (state := _state(claim)).is_running:
        yield from base.resting(_POLL_S)
        if time.monotonic() - reported_s >= _REPORT_S:
            reported_s = time.monotonic()
            yield base.Note("info", f"{claim.path}: {words.percent_text(state.done_pct)} sanitized")
    if state.status == _FAILED:
        raise errors.ToolError(
            f"{claim.path}: the drive reports that its sanitize failed; until one succeeds it may "
            "refuse all I/O: nvme sanitize --sanact=exit-failure on its controller ends that"
        )
    if state.status not in _ENDED_WELL:
        raise errors.ToolError(
            f"{claim.path}: accepted the sanitize, but reports that it never did one "
            f"(status {state.status})"
        )
    return f"it was sanitized ({action})"


def _state(claim: HeldDrive) -> State:
    with errors.saying(f"{claim.path}: the progress of its sanitize cannot be read"):
        return parse(nvme_admin.log_page(claim.fd, _LOG, _LOG_SIZE))
