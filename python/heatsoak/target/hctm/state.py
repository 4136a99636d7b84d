"""What the thresholds of a controller were, written down while a run has set others.

It lies below ``/run``, which is as short-lived as the change itself: both end when the machine
starts anew. The file is locked as long as its run lives, so that one without a lock is of a run
that was killed.
"""

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from heatsoak.errors import UsageError
from heatsoak.target.hctm.feature import Controller, Kelvins

STATE = Path("/run/heatsoak")


@dataclass(frozen=True)
class Kept:
    """What a file says: whose thresholds, what they were, and what was set."""

    serial: str
    number: str
    before: Kelvins
    after: Kelvins

    @classmethod
    def parse(cls, text: str) -> "Kept":
        """Return what is in the text of a file; raises ValueError where it is not whole."""
        try:
            kept = json.loads(text)
            before, after = _pair(kept["before_k"]), _pair(kept["set_k"])
            return cls(str(kept["serial"]), str(kept["cntlid"]), before, after)
        except (KeyError, TypeError) as error:
            raise ValueError("not whole") from error

    def write(self, file: int) -> None:
        """Write it to an empty file, to the disk; raises OSError."""
        text = json.dumps(
            {
                "serial": self.serial,
                "cntlid": self.number,
                "before_k": self.before,
                "set_k": self.after,
            }
        )
        os.pwrite(file, text.encode(), 0)
        os.fsync(file)


def files(state: Path) -> list[Path]:
    """Return all files that there are."""
    return sorted(state.glob("hctm-*.json")) if state.is_dir() else []


def file_of(controller: Controller, state: Path) -> Path:
    """Return the file of a controller."""
    return state / f"hctm-{_plain(controller.serial)}-{_plain(controller.number)}.json"


@contextmanager
def locked(path: Path, controller: Controller) -> Iterator[int]:
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
            lock(file)
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


def lock(file: int) -> None:
    """Take the lock of a run; raises BlockingIOError where one has it."""
    import fcntl  # not there on Windows, where recordings are read all the same

    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _pair(values: list[int]) -> Kelvins:
    first, second = values
    return int(first), int(second)


def _plain(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text) or "none"
