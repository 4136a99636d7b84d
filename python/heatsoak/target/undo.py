"""Saves settings of a drive to a file before a run changes them, so that they can be restored.

And where heatsoak keeps what it has to know when it is started again, after a restart too.
"""

import errno
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from heatsoak import system, writing
from heatsoak.errors import UsageError
from heatsoak.target.base import Note

STATE = Path("/run/heatsoak")
#: The command that restores what killed runs left changed.
COMMAND = "heatsoak drives --restore"

#: Maximum file size, far more than is ever written.
_LONGEST = 1 << 16
#: How long to wait for another command that reads the file briefly.
_LOCK_WAITS_S = (0.0, 0.05, 0.2)


class UndoRecord(BaseModel):
    """The contents of a file; `serial` is the drive's."""

    model_config = ConfigDict(frozen=True, strict=True)

    serial: str


_Kept = TypeVar("_Kept", bound=UndoRecord)


def take(path: Path, what: str, held: str) -> int:
    """Open and lock a file, which must be empty, and return its descriptor.

    `what` describes its contents in messages, `held` is the message if another run has it. Raises
    UsageError if it cannot be written, another run has it, or it has contents from a killed run.
    """
    try:
        writing.own_directory(path.parent)
        file = writing.lock_file(path)
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be written ({_why(error)}), but {what} must be saved before a change: "
            "run as root"
        ) from error
    try:
        _check_file(file)
        lock(file)
        if os.fstat(file).st_size:
            raise UsageError(
                f"{path}: has {what} before a run that was killed: restore it with `{COMMAND}`"
            )
    except BlockingIOError:
        os.close(file)
        raise UsageError(held) from None
    except PermissionError as error:
        os.close(file)
        raise UsageError(f"{path}: cannot be used: it {error.strerror}") from None
    except BaseException:
        os.close(file)
        raise
    return file


@contextmanager
def taken(path: Path, what: str, held: str) -> Iterator[int]:
    """Hold the file of :func:`take`, and remove it at the end if it is empty (no change)."""
    file = take(path, what, held)
    try:
        yield file
    finally:
        if not os.fstat(file).st_size:
            path.unlink(missing_ok=True)
        os.close(file)


def write(file: int, text: str) -> None:
    """Write to an empty file and sync it; raises OSError."""
    os.pwrite(file, text.encode(), 0)
    os.fsync(file)


def lock(file: int) -> None:
    """Take a run's lock on a file; raises BlockingIOError if another run has it."""
    for wait_s in _LOCK_WAITS_S:
        time.sleep(wait_s)
        try:
            system.lock(file)
        except BlockingIOError as error:
            held = error
        else:
            return
    raise held


@dataclass(frozen=True)
class TemporaryChange(Generic[_Kept]):
    """A kind of change that runs make for a while.

    Attributes:
        kind: what its files' names begin with.
        what: what is saved, for messages.
        model: the contents of a file.
    """

    kind: str
    what: str
    model: type[_Kept]

    def file_of(self, *identity: str, state: Path | None) -> Path:
        """Return the file for the drive or controller with this `identity`."""
        plain = [re.sub(r"[^A-Za-z0-9._-]+", "_", text) or "none" for text in identity]
        return (state or STATE) / f"{'-'.join((self.kind, *plain))}.json"

    def put_back(
        self, back: Callable[[Path, _Kept], Note], state: Path | None, serial: str | None = None
    ) -> list[Note]:
        """Call `back` for what killed runs left changed, and return its notes.

        It gets each file and its contents, and removes the file once everything is restored. With
        `serial`, only files of that drive count. A note on what could not be restored has
        ``data["is_left"]``.
        """
        return [
            kept if isinstance(kept, Note) else back(path, kept)
            for path, kept in self._kept(state, serial, removes=serial is None)
        ]

    def left(self, state: Path | None, serial: str | None = None) -> list[Note]:
        """Return notes on what killed runs left changed, on any drive or the one with `serial`.

        Changes nothing.
        """
        restores = f"`{COMMAND}` restores it"
        return [
            kept
            if isinstance(kept, Note)
            else still_left(
                f"a killed run has changed {self.what} (drive {kept.serial!r}): {restores}"
            )
            for _, kept in self._kept(state, serial, removes=False)
        ]

    def _kept(
        self, state: Path | None, serial: str | None, *, removes: bool
    ) -> Iterator[tuple[Path, _Kept | Note]]:
        """Yield each file with its contents, or without `serial` a note why they are not known.

        `removes`: whether a file is removed that was not whole before anything was changed.
        """
        for path, text in _texts(self.kind, self.what, state):
            kept: _Kept | Note
            if isinstance(text, Note):
                kept = text
            else:
                try:
                    kept = self.model.model_validate_json(text)
                except ValidationError as error:
                    kept = _damaged_note(path, self.what, error, remove=removes)
            if serial is None or (not isinstance(kept, Note) and kept.serial == serial):
                yield path, kept


def still_left(text: str) -> Note:
    """Return the note that something could not be restored, or has not been yet."""
    return Note("warning", text, {"is_left": True})


def _texts(kind: str, what: str, state: Path | None) -> Iterator[tuple[Path, bytes | Note]]:
    """Yield each file without a running run, with its contents or a note why they are unknown.

    The file is locked meanwhile. An empty one means no change.
    """
    directory = state or STATE
    try:
        writing.require_ours(directory)
        paths = sorted(directory.glob(f"{kind}-*.json"))
    except FileNotFoundError:
        return
    except OSError as error:
        why = f"{directory}: what killed runs left cannot be trusted: {_why(error)}"
        yield directory, still_left(why)
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
            continue  # its run is running
        except OSError as error:
            yield path, _unread(path, what, f"cannot be trusted: {_why(error)}")
        finally:
            os.close(file)


def _unread(path: Path, what: str, why: str) -> Note:
    return still_left(
        f"{path}: has {what}, but {why}: if a run was killed, `{COMMAND}` as root restores it, "
        "and so does switching the drive off and on"
    )


def _damaged_note(path: Path, what: str, error: ValidationError, *, remove: bool) -> Note:
    if any(one["type"] == "json_invalid" for one in error.errors(include_url=False)):
        # it is synced before anything is changed
        if remove:
            path.unlink(missing_ok=True)
        text = f"{path}: is incomplete; the run that wrote it had not changed anything yet"
        return Note("warning", f"{text}; it was removed" if remove else f"{text} (`{COMMAND}`)")
    return still_left(
        f"{path}: is damaged, so {what} cannot be restored from it: switch the drive off and on, "
        "which restores it, and remove the file"
    )


def _check_file(file: int) -> None:
    status = writing.require_ours(file)
    if not stat.S_ISREG(status.st_mode):
        raise PermissionError(errno.EPERM, "is not a regular file")
    if status.st_size >= _LONGEST:
        raise PermissionError(errno.EPERM, f"is {status.st_size} bytes long")


def _why(error: OSError) -> str:
    """What is wrong, of a file or of the directory that it is in."""
    of_directory = isinstance(error.filename, str) and Path(error.filename).is_dir()
    return f"{error.filename} {error.strerror}" if of_directory else str(error.strerror)


#: Environment variable for another directory.
STATE_VARIABLE = "HEATSOAK_STATE"
#: Where root's is.
ROOTS = Path("/var/lib/heatsoak")


def state_directory() -> Path:
    """Return the directory, which may not be there yet: the one set by the user, or their own."""
    chosen = os.environ.get(STATE_VARIABLE)
    if chosen:
        return Path(chosen)
    if os.geteuid() == 0:
        return ROOTS
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "heatsoak"
