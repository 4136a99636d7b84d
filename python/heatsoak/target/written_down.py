"""What is changed on a drive for one run, written down before it is, so that it can be put back.

It lies below ``/run``, which is as short-lived as such changes are: both end when the machine
starts anew. A file is locked as long as its run lives, so that one without a lock is of a run that
was killed; one with nothing in it stands for no change.
"""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from heatsoak.errors import UsageError
from heatsoak.target.base import Note

STATE = Path("/run/heatsoak")

_Kept = TypeVar("_Kept")


def file_of(kind: str, *identity: str, state: Path) -> Path:
    """Return the file for changes of `kind` on what `identity` tells from others."""
    plain = [re.sub(r"[^A-Za-z0-9._-]+", "_", text) or "none" for text in identity]
    return state / f"{'-'.join((kind, *plain))}.json"


def take(path: Path, what: str, held: str) -> int:
    """Open and lock a file, which must be empty, and return its descriptor.

    `what` says in words what it is to hold, `held` that another run has it. Raises UsageError where
    it cannot be written, another run has it, or one that was killed has left something in it.
    """
    try:
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be written ({error.strerror}), and {what} has to be written down "
            "before it is changed: run as root"
        ) from error
    try:
        lock(file)
        if os.fstat(file).st_size:
            raise UsageError(
                f"{path}: says {what} before a run that was killed, which could not be put back "
                "yet: put it back, and remove that file"
            )
    except BlockingIOError:
        os.close(file)
        raise UsageError(held) from None
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

    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def left_behind(
    kind: str,
    what: str,
    parse: Callable[[str], _Kept],
    put_back: Callable[[Path, _Kept], str],
    state: Path,
) -> list[Note]:
    """Have `put_back` put back what runs that were killed have left; return what it says.

    It is given each file and what `parse`, which raises ValueError for a text that is not whole,
    makes of it, and removes the file where all is well again. Whatever it leaves is told again by
    the next run.
    """
    notes = []
    for path in sorted(state.glob(f"{kind}-*.json")) if state.is_dir() else []:
        try:
            with path.open("r+") as file:
                lock(file.fileno())
                text = _left(path, file.read(), parse, put_back)
        except BlockingIOError:
            continue  # its run lives
        except OSError as error:
            text = (
                f"{path}: says {what}, and cannot be read ({error.strerror}): "
                "if that run was killed, one as root puts it back"
            )
        notes.append(Note("warning", text))
    return notes


def _left(
    path: Path, text: str, parse: Callable[[str], _Kept], put_back: Callable[[Path, _Kept], str]
) -> str:
    try:
        kept = parse(text)
    except ValueError:
        path.unlink(missing_ok=True)  # killed while it was written: nothing had been set yet
        return f"{path}: was not whole; the run that wrote it had set nothing yet"
    return put_back(path, kept)
