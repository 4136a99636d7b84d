"""What a run changes on a drive, written down before it does, so that it can be undone."""

import os
import re
import signal
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from heatsoak.errors import UsageError
from heatsoak.target.base import Note

STATE = Path("/run/heatsoak")
#: What puts back what is left.
COMMAND = "heatsoak drives --restore"

#: Far more than is ever written.
_LONGEST = 1 << 16
#: How long a command that looks at a file for a moment is waited for.
_LOCK_WAITS_S = (0.0, 0.05, 0.2)


class UndoRecord(BaseModel):
    """What a file says; `serial` is the drive's."""

    model_config = ConfigDict(frozen=True, strict=True)

    serial: str


_Kept = TypeVar("_Kept", bound=UndoRecord)


class _DamagedError(Exception):
    """A file cannot be believed, or not be read; its text says why."""


def file_of(kind: str, *identity: str, state: Path | None) -> Path:
    """Return the file for changes of `kind` on what `identity` tells from others."""
    plain = [re.sub(r"[^A-Za-z0-9._-]+", "_", text) or "none" for text in identity]
    return (state or STATE) / f"{'-'.join((kind, *plain))}.json"


def take(path: Path, what: str, held: str) -> int:
    """Open and lock a file, which must be empty, and return its descriptor.

    `what` says in words what it is to hold, `held` that another run has it. Raises UsageError where
    it cannot be written, another run has it, or one that was killed has left something in it.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_directory(path.parent)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be written ({error.strerror}), and {what} has to be written down "
            "before it is changed: run as root"
        ) from error
    except _DamagedError as error:
        raise UsageError(f"{path}: cannot be used: {error}") from None
    try:
        _check_file(file)
        lock(file)
        if os.fstat(file).st_size:
            raise UsageError(
                f"{path}: says {what} before a run that was killed: put it back with `{COMMAND}`"
            )
    except BlockingIOError:
        os.close(file)
        raise UsageError(held) from None
    except _DamagedError as error:
        os.close(file)
        raise UsageError(f"{path}: cannot be used: {error}") from None
    except BaseException:
        os.close(file)
        raise
    return file


@contextmanager
def taken(path: Path, what: str, held: str) -> Iterator[int]:
    """Hold what :func:`take` takes; a file that stands for no change is removed in the end."""
    file = take(path, what, held)
    try:
        yield file
    finally:
        if not os.fstat(file).st_size:
            path.unlink(missing_ok=True)
        os.close(file)


def write(file: int, text: str) -> None:
    """Write to an empty file, to the disk; raises OSError."""
    os.pwrite(file, text.encode(), 0)
    os.fsync(file)


def lock(file: int) -> None:
    """Take the lock of a run; raises BlockingIOError where one has it."""
    import fcntl  # not there on Windows, where recordings are read all the same

    for wait_s in _LOCK_WAITS_S:
        time.sleep(wait_s)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            held = error
        else:
            return
    raise held


def left_behind(
    kind: str,
    what: str,
    model: type[_Kept],
    put_back: Callable[[Path, _Kept], Note],
    state: Path | None,
    serial: str | None = None,
) -> list[Note]:
    """Have `put_back` put back what runs that were killed have left; return what it says.

    It is given each file and what that says, and removes the file where all is well again. Where
    `serial` is given, only files of that drive are gone by. What is still left is a note with
    ``data["is_left"]``.
    """
    notes = []
    for path, text in _texts(kind, what, state):
        if isinstance(text, Note):
            if serial is None:
                notes.append(text)
            continue
        try:
            kept = model.model_validate_json(text)
        except ValidationError as error:
            if serial is None:
                notes.append(_told_damaged(path, what, error, remove=True))
            continue
        if serial in (None, kept.serial):
            notes.append(put_back(path, kept))
    return notes


def told(
    kind: str, what: str, model: type[_Kept], state: Path | None, serial: str | None = None
) -> list[Note]:
    """Say what runs that were killed have left, on any drive or that with `serial`.

    Nothing is changed.
    """
    notes = []
    for path, text in _texts(kind, what, state):
        note = text if isinstance(text, Note) else None
        if isinstance(text, bytes):
            try:
                found = model.model_validate_json(text).serial
            except ValidationError as error:
                note = _told_damaged(path, what, error, remove=False)
            else:
                if serial not in (None, found):
                    continue
                note = still_left(
                    f"a run that was killed has changed {what} (drive {found!r}): `{COMMAND}` "
                    "puts it back"
                )
                notes.append(note)
                continue
        if note is not None and serial is None:
            notes.append(note)
    return notes


def still_left(text: str) -> Note:
    """Return the note that something could not be put back, or has not been yet."""
    return Note("warning", text, {"is_left": True})


def _texts(kind: str, what: str, state: Path | None) -> Iterator[tuple[Path, bytes | Note]]:
    """Yield each file without a living run, with what is in it or why that cannot be known.

    The file is locked meanwhile. One with nothing in it stands for no change.
    """
    directory = state or STATE
    try:
        _check_directory(directory)
        paths = sorted(directory.glob(f"{kind}-*.json"))
    except FileNotFoundError:
        return
    except (OSError, _DamagedError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        yield directory, still_left(f"{directory}: what killed runs left is not believed: {why}")
        return
    for path in paths:
        try:
            file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        except OSError as error:
            yield path, _unread(path, what, f"cannot be read ({error.strerror})")
            continue
        try:
            _check_file(file)
            lock(file)
            if text := os.pread(file, _LONGEST, 0):
                yield path, text
        except BlockingIOError:
            continue  # its run lives
        except (OSError, _DamagedError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            yield path, _unread(path, what, f"is not believed: {why}")
        finally:
            os.close(file)


def _unread(path: Path, what: str, why: str) -> Note:
    return still_left(
        f"{path}: says {what}, and {why}: if a run was killed, `{COMMAND}` as root puts it back, "
        "or switching the drive off and on"
    )


def _told_damaged(path: Path, what: str, error: ValidationError, *, remove: bool) -> Note:
    if any(one["type"] == "json_invalid" for one in error.errors(include_url=False)):
        # it is written to the disk before anything is set
        if remove:
            path.unlink(missing_ok=True)
        text = f"{path}: is not whole; the run that wrote it had set nothing yet"
        return Note("warning", f"{text}; it was removed" if remove else f"{text} (`{COMMAND}`)")
    return still_left(
        f"{path}: is damaged, so {what} cannot be put back: switch the drive off and on, which "
        "does so, and remove that file"
    )


def _check_directory(path: Path) -> None:
    """Raise _DamagedError where others could write to it, OSError."""
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise _DamagedError(f"{path} is no directory")
    _check_owner(status, f"{path} ")


def _check_file(file: int) -> None:
    status = os.fstat(file)
    if not stat.S_ISREG(status.st_mode):
        raise _DamagedError("it is no file")
    if status.st_size >= _LONGEST:
        raise _DamagedError(f"it holds {status.st_size} bytes")
    _check_owner(status, "it ")


def _check_owner(status: os.stat_result, what: str) -> None:
    if status.st_uid not in (0, os.geteuid()):
        raise _DamagedError(f"{what}belongs to another user")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _DamagedError(f"{what}can be written by other users")


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Keep signals until the end of the context.

    They are caught, not blocked: another thread would take a blocked one, and Python would raise
    it here all the same.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are raised elsewhere
        return
    came: list[int] = []
    before = {
        number: signal.signal(number, lambda got, _frame: came.append(got))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
        for got in came:
            signal.raise_signal(got)
