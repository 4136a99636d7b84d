"""Writing a recording's files: completely or not at all."""

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import polars as pl

from heatsoak import system
from heatsoak.errors import ToolError, UsageError
from heatsoak.recording.meta import PARTIAL

#: Hundreds of steps on a machine with hundreds of sensors take half a megabyte.
MAX_META_BYTES = 16 << 20
#: Ten events of 150 bytes per minute for a month.
MAX_EVENTS_BYTES = 64 << 20


#: Enough for the last events and another `recording.json` when the disk is full.
RESERVE_BYTES = 64 << 10
_OS_ERROR = re.compile(r"\(os error (\d+)\)")


def require_creatable(path: Path) -> None:
    """Raise UsageError if `path` cannot be created: it is below a file, or its name is too long."""
    try:
        places = (path, *path.parents)
        nearest = next((place for place in places if os.path.lexists(place)), path)
        if nearest != path and not nearest.is_dir():
            raise UsageError(f"{path}: {nearest} is a file, not a directory: name another with -o")
        path.lstat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"{path}: cannot be created: {error.strerror}") from error


def require_writable(directory: Path, named: Path | None = None) -> None:
    """Raise UsageError if nothing can be written in `directory`, or where it would be created.

    `named` is what the user named, where that is a file in it.

    Only trying tells: permissions say nothing of a file system that is read-only, or of a user who
    may write anywhere. A full disk is not complained of here.
    """
    nearest = next((place for place in (directory, *directory.parents) if place.exists()), Path())
    try:
        Path(tempfile.mkdtemp(prefix=".heatsoak-", dir=nearest)).rmdir()
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            reason = os.strerror(error.errno) if error.errno else str(error)
            named = named or directory
            place = "" if nearest == named else f"in {nearest.absolute()}: "
            raise UsageError(
                f"{named}: cannot be written: {place}{reason}: name another place with -o"
            ) from None


def require_new(directory: Path, otherwise: str = "") -> None:
    """Raise UsageError where `directory` cannot be made or written, or holds something already.

    `otherwise` adds a way out.
    """
    require_creatable(directory)
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise UsageError(f"{directory}: already exists: name a new directory with -o{otherwise}")
    require_writable(directory)


@contextmanager
def replace_atomically(path: Path) -> Iterator[Path]:
    """Yield a path to write to, then sync that file and move it to `path`."""
    partial = path.with_name(path.name + PARTIAL)
    try:
        yield partial
        with partial.open("rb+") as file:
            os.fsync(file.fileno())
    except OSError:
        with suppress(OSError):
            partial.unlink(missing_ok=True)  # it only takes up space
        raise
    system.replace(partial, path)
    system.sync_directory(path.parent)


def reserve(path: Path) -> None:
    """Reserve disk space with a file at `path`; removing it releases the space."""
    with path.open("wb") as file:
        if not system.allocate(file.fileno(), RESERVE_BYTES):
            file.write(bytes(RESERVE_BYTES))


@contextmanager
def as_system_error(directory: Path) -> Iterator[None]:
    """Turn polars' errors about writing a file into an OSError as the system would raise it.

    Polars' errors have no errno, and for a full disk may only say that the file is broken.
    """
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        reported = _OS_ERROR.search(str(error))
        is_full = reported and system.error_number(int(reported[1])) == errno.ENOSPC
        if is_full or shutil.disk_usage(directory).free < RESERVE_BYTES:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
        raise OSError(str(error)) from error


@contextmanager
def reporting_write_errors(directory: Path) -> Iterator[None]:
    """Turn an OSError into a ToolError that names the directory."""
    try:
        yield
    except OSError as error:
        raise write_error(directory, error) from error


def write_error(directory: Path, error: OSError) -> ToolError:
    """Return the error for a failed write in `directory`."""
    message = f"{directory}: cannot be written: {error.strerror or error}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        message += ": free some space there"
    return ToolError(message)
