"""A recording's files: opened whatever they are, and written whole or not at all."""

import errno
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import polars as pl

from heatsoak.errors import ToolError, UsageError
from heatsoak.recording.meta import PARTIAL

#: A protocol of hundreds of steps on a machine with hundreds of sensors makes half a megabyte.
MOST_META_BYTES = 16 << 20
#: Ten events a minute for a month, of 150 bytes each.
MOST_EVENTS_BYTES = 64 << 20


#: Room for the last events and `recording.json` once more, whatever else fills the disk.
RESERVE_BYTES = 64 << 10


def check_way(path: Path) -> None:
    """Raise UsageError where `path` could not be made: below a file, or with too long a name."""
    try:
        places = (path, *path.parents)
        nearest = next((place for place in places if os.path.lexists(place)), path)
        if nearest != path and not nearest.is_dir():
            raise UsageError(f"{path}: {nearest} is a file, not a directory: name another with -o")
        path.lstat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"{path}: cannot be made: {error.strerror}") from error


@contextmanager
def put_in_place(path: Path) -> Iterator[Path]:
    """Give a path to write to, and put what is there in the place of `path`, whole or not at all.

    It is safely on disk by the end.
    """
    partial = path.with_name(path.name + PARTIAL)
    try:
        yield partial
        with partial.open("rb+") as file:
            os.fsync(file.fileno())
    except OSError:
        with suppress(OSError):
            partial.unlink(missing_ok=True)  # it only takes room now
        raise
    partial.replace(path)
    _sync_directory(path.parent)


def reserve(path: Path) -> None:
    """Take room at `path`, to be given back by whoever removes it."""
    with path.open("wb") as file:
        try:
            # zeros alone take no room on a file system that compresses
            os.posix_fallocate(file.fileno(), 0, RESERVE_BYTES)
        except (AttributeError, OSError):  # not on Windows, nor on every file system
            file.write(bytes(RESERVE_BYTES))


@contextmanager
def as_system_error(directory: Path) -> Iterator[None]:
    """Raise what polars says of a file that cannot be written as the system would, an OSError.

    It has no number then, and of a full disk it may but say that the file is broken.
    """
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        is_full = f"(os error {errno.ENOSPC})" in str(error)
        if is_full or shutil.disk_usage(directory).free < RESERVE_BYTES:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
        raise OSError(str(error)) from error


@contextmanager
def saying_that_it_cannot_be_written(directory: Path) -> Iterator[None]:
    """Raise what the system refuses as a ToolError with the directory's name."""
    try:
        yield
    except OSError as error:
        raise cannot_write(directory, error) from error


def _sync_directory(directory: Path) -> None:
    if os.name != "posix":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def cannot_write(directory: Path, error: OSError) -> ToolError:
    """Return what is said where the system refuses to write in `directory`."""
    told = f"{directory}: cannot be written: {error.strerror or error}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        told += ": make room there"
    return ToolError(told)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
