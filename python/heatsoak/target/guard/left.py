"""Remembers what heatsoak itself left on a target, so that its next run need not ask for it.

A file for each target holds the digest of all that was read of it when a run ended. It counts for
exactly that: what was formatted or filled since, and what a killed run left, reads otherwise.
"""

import hashlib
import os
import stat
from contextlib import suppress
from pathlib import Path

from heatsoak.target.guard.data import Data
from heatsoak.target.state import state_directory


def unknown(name: str, data: Data) -> Data | None:
    """Return `data` if somebody else may have put it on the target `name`; None if nobody has."""
    if data.first is None:
        return None
    with suppress(OSError):
        if _file(name).read_text("ascii", "replace") == data.digest:
            return None
    return data


def remember(name: str, data: Data) -> None:
    """Remember what a run has left on the target `name`."""
    with suppress(OSError):  # then the next run asks
        _directory().mkdir(mode=0o700, parents=True, exist_ok=True)
        _file(name).write_text(data.digest, "ascii")


def _directory() -> Path:
    return state_directory() / "left"


def _file(name: str) -> Path:
    """Return the file for a target; raises OSError where others could write it."""
    directory = _directory()
    status = directory.lstat()
    others = stat.S_IWGRP | stat.S_IWOTH
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & others:
        raise PermissionError(f"{directory} is not ours alone")
    return directory / hashlib.sha256(name.encode()).hexdigest()[:32]
