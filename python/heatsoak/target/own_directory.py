"""Where locks are, and what is remembered of drives: a directory that is one user's alone."""

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from heatsoak.errors import ToolError

#: Environment variable for another lock directory, such as one shared by containers.
DIRECTORY_VARIABLE = "HEATSOAK_LOCKS"
#: Where root's locks are.
ROOTS = Path("/run/heatsoak")


def lock_directory() -> Path:
    """Return where locks are: the directory set by the user, or else a private one."""
    chosen = os.environ.get(DIRECTORY_VARIABLE)
    if chosen:
        return Path(chosen)
    user = os.geteuid()
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if user == 0:
        return ROOTS
    if runtime and Path(runtime).is_absolute():
        return Path(runtime) / "heatsoak"
    return Path(tempfile.gettempdir()) / f"heatsoak-{user}"


def directory_for_locks() -> Path:
    """Return the lock directory: the one set by the user, or else a private one, made if missing.

    Raises ToolError if there is no usable one.
    """
    return lock_directory() if os.environ.get(DIRECTORY_VARIABLE) else private_directory()


def private_directory() -> Path:
    """Return the same directory; raises ToolError if anybody else can write there."""
    path = lock_directory()
    user = os.geteuid()
    try:
        with suppress(FileExistsError):
            path.mkdir(mode=0o700)
        status = path.lstat()
    except OSError as error:
        raise unusable(path, error.strerror) from error
    if not stat.S_ISDIR(status.st_mode):
        raise unusable(path, "it is not a directory")
    if status.st_uid != user or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise unusable(path, "other users can write to it and could block it")
    return path


def unusable(path: Path, why: str | None) -> ToolError:
    """Return the error for a lock or a directory of locks."""
    return ToolError(
        f"{path}: cannot be locked: {why} (set {DIRECTORY_VARIABLE} to a writable directory)"
    )
