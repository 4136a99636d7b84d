"""Loop devices as drives."""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from janitor import undone_by

LOCK = Path(tempfile.gettempdir()) / "heatsoak-tests-loop.lock"
LOSETUP = shutil.which("losetup", path="/usr/sbin:/sbin:/usr/bin:/bin")


def losetup(*words: str | Path) -> "subprocess.CompletedProcess[str]":
    """Run losetup."""
    assert LOSETUP is not None
    return subprocess.run([LOSETUP, *words], capture_output=True, text=True, check=False)


@contextmanager
def attached(image: Path, size_bytes: int) -> Iterator[Path]:
    """Give the node of a drive that lies in `image`, zeros but for what the image holds already.

    Skips where there can be none.
    """
    if os.geteuid() != 0 or LOSETUP is None or losetup("-f").returncode != 0:
        pytest.skip("needs root and loop devices")
    with image.open("ab") as file:
        file.truncate(size_bytes)
    # by its image: once a test has detached it, its number may be another's
    detach = f'{LOSETUP} -j "$0" -n -O NAME | xargs -r {LOSETUP} -d'
    with undone_by("sh", "-c", detach, image):
        with LOCK.open("a") as lock:  # two tests must not be given the same free device
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = losetup("-f", "--show", image)
        assert done.returncode == 0, done.stderr
        yield Path(done.stdout.strip())
