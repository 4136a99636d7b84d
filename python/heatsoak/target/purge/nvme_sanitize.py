"""Sanitize of a whole NVMe drive with all namespaces; once started, it continues on its own."""

import struct
import time
from collections.abc import Generator
from dataclasses import dataclass

from heatsoak.errors import ToolError
from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Roots
from heatsoak.sensor.nvme_admin import (
    Ioctl,
    NvmeAdmin,
    NvmeStatusError,
    first_that_answers,
    log_page,
    submit,
)
from heatsoak.target.base import BEAT_S, HEARTBEAT, Batch, Note
from heatsoak.target.device import DeviceInfo
from heatsoak.target.guard import Claim
from heatsoak.target.purge.namespaces import Namespace, look
from heatsoak.target.purge.nvme_format import others
from heatsoak.target.purge.way import NotTakenError, Way

_SANITIZE, _LOG, _LOG_SIZE = 0x84, 0x81, 512
_MAY_LEAVE_FAILURE = (
    1 << 3
)  # AUSE: the drive may leave the failure mode of a failed sanitize without another one
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


def sanitizing(info: DeviceInfo, roots: Roots, ioctl: Ioctl | None = None) -> float | None:
    """Return the progress of a sanitize running on a drive in percent, None if none is running.

    Only reads, and only from drives that support sanitize.
    """

    def ask(admin: NvmeAdmin, _name: str) -> State | None:
        try:
            (capabilities,) = struct.unpack_from("<I", admin.identify_controller(), 328)
            return parse(admin.log_page(_LOG, _LOG_SIZE)) if capabilities & 0b111 else None
        finally:
            admin.close()

    disk = sysfs.directory_of_name(info.name, roots)
    state = None if disk is None else first_that_answers(disk, roots, ioctl, ask)
    return state.done_pct if state is not None and state.is_running else None


def way(namespace: Namespace, ioctl: Ioctl | None = None) -> Way:
    """Return the purge by sanitize."""

    def run(claim: Claim) -> Generator[Batch, None, str]:
        return _run(claim, ioctl)

    return Way("sanitize", why_not(namespace), run)


def why_not(namespace: Namespace) -> str | None:
    """Return why it must not be sanitized; None if it may be."""
    if namespace.sanitize_action is None:
        return "it does not support sanitize by block erase or crypto erase"
    if not namespace.is_alone:
        return f"a sanitize erases all namespaces, and there {others(namespace)}"
    return None


def _run(claim: Claim, ioctl: Ioctl | None) -> Generator[Batch, None, str]:
    claim.recheck()
    now = look(claim.fd, ioctl)
    if (reason := why_not(now)) is not None:
        raise NotTakenError(reason)
    assert now.sanitize_action is not None
    action = _ACTIONS[now.sanitize_action]
    estimate_s = _state(claim, ioctl).block_erase_s if now.sanitize_action == 2 else None
    about = "" if estimate_s is None else f", by its own estimate {estimate_s} s"
    yield Note(
        "info",
        f"{claim.path}: is being sanitized ({action}{about}); this continues even after Ctrl-C "
        "or a power cut, and the next run waits for it",
    )
    claim.recheck()
    try:
        submit(claim.fd, _SANITIZE, cdw10=now.sanitize_action | _MAY_LEAVE_FAILURE, ioctl=ioctl)
    except NvmeStatusError as error:
        raise NotTakenError(f"the drive rejected the sanitize ({error})") from error
    except OSError as error:
        raise ToolError(f"{claim.path}: sanitizing failed: {error.strerror}") from error
    state = yield from _wait(claim, ioctl)
    if state.status == _FAILED:
        raise ToolError(
            f"{claim.path}: the drive reports that its sanitize failed; until one succeeds it may "
            "refuse all I/O: nvme sanitize --sanact=exit-failure on its controller ends that"
        )
    if state.status not in _ENDED_WELL:
        raise ToolError(
            f"{claim.path}: accepted the sanitize, but reports that it never did one "
            f"(status {state.status})"
        )
    return f"it was sanitized ({action})"


def _wait(claim: Claim, ioctl: Ioctl | None) -> Generator[Batch, None, State]:
    reported_s = time.monotonic()
    while (state := _state(claim, ioctl)).is_running:
        until_s = time.monotonic() + _POLL_S
        while time.monotonic() < until_s:
            yield HEARTBEAT
            time.sleep(BEAT_S)
        if time.monotonic() - reported_s >= _REPORT_S:
            reported_s = time.monotonic()
            yield Note("info", f"{claim.path}: {state.done_pct:.0f} % sanitized")
    return state


def _state(claim: Claim, ioctl: Ioctl | None) -> State:
    try:
        return parse(log_page(claim.fd, _LOG, _LOG_SIZE, ioctl))
    except OSError as error:
        raise ToolError(
            f"{claim.path}: the progress of its sanitize cannot be read: {error}"
        ) from error
