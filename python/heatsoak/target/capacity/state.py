"""What a drive hides for a run, written down before it does.

It lies below ``/run``, which is as short-lived as the change itself: both end when the machine
starts anew. The file is locked as long as its run lives, so that one without a lock is of a run
that was killed.
"""

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from heatsoak.errors import UsageError
from heatsoak.target.hctm.state import STATE, lock

__all__ = ["STATE", "Kept", "file_of", "files", "take"]


@dataclass(frozen=True)
class Kept:
    """Whose capacity, how many sectors it has, and how many it was told to show."""

    serial: str
    native: int
    shown: int

    @classmethod
    def parse(cls, text: str) -> "Kept":
        """Return what is in the text of a file; raises ValueError where it is not whole."""
        try:
            kept = json.loads(text)
            return cls(str(kept["serial"]), int(kept["native"]), int(kept["shown"]))
        except (KeyError, TypeError) as error:
            raise ValueError("not whole") from error

    def write(self, file: int) -> None:
        """Write it to an empty file, to the disk; raises OSError."""
        os.pwrite(file, json.dumps(vars(self)).encode(), 0)
        os.fsync(file)


def files(state: Path) -> list[Path]:
    """Return all files that there are."""
    return sorted(state.glob("capacity-*.json")) if state.is_dir() else []


def file_of(serial: str, state: Path) -> Path:
    """Return the file of a drive."""
    return state / f"capacity-{re.sub(r'[^A-Za-z0-9._-]+', '_', serial)}.json"


def take(path: Path) -> int:
    """Open and lock a drive's file, which must be empty; raises UsageError where it cannot be."""
    try:
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be written ({error.strerror}), and what a drive hides has to be "
            "written down before it does"
        ) from error
    try:
        lock(file)
        if os.fstat(file).st_size:
            raise UsageError(
                f"{path}: says what a run that was killed has hidden, and it could not be put back "
                "yet: put it back, and remove that file"
            )
    except BlockingIOError:
        os.close(file)
        raise UsageError(f"{path}: another run has set what this drive shows") from None
    except BaseException:
        os.close(file)
        raise
    return file
