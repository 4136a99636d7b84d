"""Thresholds that are set for a run and put back after it, even one that was killed.

What they were is written down before they are changed, below ``/run``, which is as short-lived as
the change itself: both end when the machine starts anew. The file is locked as long as its run
lives, so that a file without a lock is one whose run was killed.
"""

import json
import os
import re
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from heatsoak.errors import ToolError, UsageError
from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Roots
from heatsoak.sensor.nvme_admin import Ioctl
from heatsoak.target.base import Note
from heatsoak.target.device import DeviceInfo
from heatsoak.target.hctm.feature import (
    Controller,
    Kelvins,
    Thresholds,
    controllers,
    identity_of,
    shown,
    target_of,
)

STATE = Path("/run/heatsoak")


@contextmanager
def held(
    info: DeviceInfo,
    wanted: Thresholds,
    roots: Roots,
    *,
    ioctl: Ioctl | None = None,
    state: Path = STATE,
) -> Iterator[list[Note]]:
    """Set the thresholds of a drive for as long as the context lasts; gives what to record.

    Raises UsageError where the drive does not permit them or another run holds them, ToolError
    where it does not do as told, or they cannot be put back.
    """
    with ExitStack() as stack:
        notes = []
        for directory in controllers(info, roots):
            try:
                controller = Controller(directory, roots, ioctl)
            except OSError as error:
                raise ToolError(f"{directory.name}: cannot be opened: {error}") from error
            stack.callback(controller.close)
            notes.append(stack.enter_context(_held(controller, wanted, state)))
        yield notes


@contextmanager
def _held(controller: Controller, wanted: Thresholds, state: Path) -> Iterator[Note]:
    path = state / f"hctm-{_plain(controller.serial)}-{_plain(controller.number)}.json"
    with _locked(path, controller) as file:
        with _told(controller):
            before, after = controller.thresholds(), target_of(controller, wanted)
        _write(file, controller, before, after)
        try:
            with _uninterrupted(), _told(controller):
                controller.set(after)
            yield _note(controller, before, after)
        finally:
            with _uninterrupted(), _told(controller):
                # not where somebody else has changed it since, or the drive was reset
                if controller.thresholds() == after:
                    controller.set(before)
        path.unlink(missing_ok=True)


@contextmanager
def _told(controller: Controller) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ToolError(
            f"{controller.name}: TMT1 and TMT2 cannot be read or set: {error}; what they were is "
            "kept, and the next run puts it back"
        ) from error


def put_back(roots: Roots, *, ioctl: Ioctl | None = None, state: Path = STATE) -> list[Note]:
    """Put back what runs that were killed have left set; returns what was done, as warnings.

    Whatever cannot be put back stays written down and is told again.
    """
    notes = []
    for path in sorted(state.glob("hctm-*.json")) if state.is_dir() else []:
        with suppress(BlockingIOError), path.open("r+") as file:
            _lock(file.fileno())
            notes.append(Note("warning", _put_back(path, file.read(), roots, ioctl)))
    return notes


def _put_back(path: Path, text: str, roots: Roots, ioctl: Ioctl | None) -> str:
    try:
        left = json.loads(text)
        before, after = _pair(left["before_k"]), _pair(left["set_k"])
        serial, number = str(left["serial"]), str(left["cntlid"])
    except (ValueError, KeyError, TypeError):
        path.unlink(missing_ok=True)  # killed while it was written: nothing had been set yet
        return f"{path}: was not whole; the run that wrote it had set nothing yet"
    what = f"TMT1 and TMT2 of the drive {serial}, which a run that was killed had set"
    by_hand = f"nvme set-feature -f 0x10 -v {before[0] << 16 | before[1]:#x}"
    try:
        controller = _find(serial, number, roots, ioctl)
        if controller is None:
            return f"{what}, could not be put back: it is not there ({by_hand} does it by hand)"
        try:
            if controller.thresholds() == after:
                controller.set(before)
                done = f"were put back ({shown(before[0])}, {shown(before[1])})"
            else:
                done = "have changed since and were left alone"
        finally:
            controller.close()
    except (OSError, ToolError) as error:
        return f"{what}, could not be put back: {error} ({by_hand} does it by hand)"
    path.unlink(missing_ok=True)
    return f"{what}, {done}"


def _find(serial: str, number: str, roots: Roots, ioctl: Ioctl | None) -> Controller | None:
    directory = roots.sys / "class" / "nvme"
    for name in sysfs.names(directory):
        place = (directory / name).resolve()
        if (identity_of(place)) == (serial, number):
            return Controller(place, roots, ioctl)
    return None


@contextmanager
def _locked(path: Path, controller: Controller) -> Iterator[int]:
    """Hold the file of a controller; raises UsageError where another run does."""
    try:
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be written ({error.strerror}), and what TMT1 and TMT2 were has to be "
            "written down before they are set: run as root"
        ) from error
    try:
        try:
            _lock(file)
        except BlockingIOError:
            raise UsageError(
                f"{controller.name}: another run has set its TMT1 and TMT2: wait for that one"
            ) from None
        if os.fstat(file).st_size:
            raise UsageError(
                f"{path}: says what TMT1 and TMT2 were before a run that was killed, and they "
                "could not be put back yet: put them back, and remove that file"
            )
        try:
            yield file
        finally:
            if not os.fstat(file).st_size:
                path.unlink(missing_ok=True)
    finally:
        os.close(file)


def _lock(file: int) -> None:
    import fcntl  # not there on Windows, where recordings are read all the same

    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _write(file: int, controller: Controller, before: Kelvins, after: Kelvins) -> None:
    text = json.dumps(
        {
            "serial": controller.serial,
            "cntlid": controller.number,
            "before_k": before,
            "set_k": after,
        }
    )
    os.ftruncate(file, 0)
    os.pwrite(file, text.encode(), 0)
    os.fsync(file)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Keep signals for later: a few milliseconds that have to be whole."""
    signals = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _note(controller: Controller, before: Kelvins, after: Kelvins) -> Note:
    words = [
        f"{name} {shown(now)} (it was {shown(then)})"
        for name, then, now in zip(("TMT1", "TMT2"), before, after, strict=True)
    ]
    return Note(
        "info",
        f"{controller.name}: set for this run and put back after it: {', '.join(words)}",
        {"tmt_k": list(after), "tmt_before_k": list(before)},
    )


def _pair(values: list[int]) -> Kelvins:
    first, second = values
    return int(first), int(second)


def _plain(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text) or "none"
