"""Loop devices as drives."""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from command import ran
from janitor import undone_by
from waiting import until

LOCK = Path(tempfile.gettempdir()) / "heatsoak-tests-loop.lock"
LOSETUP = shutil.which("losetup", path="/usr/sbin:/sbin:/usr/bin:/bin")
#: Detaches what lies in an image, by its inode: a test may have detached a device itself, so that
#: its number is another's now, or deleted the image, or attached it where it has another path.
DETACH = """
"$0" --list --noheadings --output NAME,BACK-INO,BACK-MAJ:MIN | while read -r node inode disk; do
    [ "$inode $disk" != "$1" ] || "$0" --detach "$node"
done
"""


def losetup(*words: str | Path) -> "subprocess.CompletedProcess[str]":
    """Run losetup."""
    assert LOSETUP is not None
    return ran(LOSETUP, *words)


def detach(node: Path) -> None:
    """Detach `node`, and wait: the kernel does so once nobody looks at it any more."""
    done = losetup("-d", node)
    assert done.returncode == 0, done.stderr
    assert until(lambda: not Path(f"/sys/block/{node.name}/loop/backing_file").exists())


@contextmanager
def none_is_attached() -> Iterator[None]:
    """Keep other tests from attaching anything, so that a detached device stays detached."""
    with LOCK.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def detached_behind(image: Path) -> AbstractContextManager[None]:
    """Detach, at the end of the block, what then lies in `image`."""
    at = image.stat()
    disk = f"{os.major(at.st_dev)}:{os.minor(at.st_dev)}"
    return undone_by("sh", "-c", DETACH, str(LOSETUP), f"{at.st_ino} {disk}")


@contextmanager
def attached(image: Path, size_bytes: int, *options: str) -> Iterator[Path]:
    """Give the node of a drive that lies in `image`, zeros but for what the image holds already.

    Options are losetup's. Skips where there can be none.
    """
    if os.geteuid() != 0 or LOSETUP is None or losetup("-f").returncode != 0:
        pytest.skip("needs root and loop devices")
    if not image.is_block_device():
        with image.open("ab") as file:
            file.truncate(size_bytes)
    with detached_behind(image):
        with none_is_attached():  # two tests must not be given the same free device
            done = losetup("-f", "--show", *options, image)
        assert done.returncode == 0, done.stderr
        yield Path(done.stdout.strip())
