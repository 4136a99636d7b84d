"""The write guard in a container, where the machine's mounts, processes and paths are not in sight.

The containers are made by unshare and setpriv around a process of its own; the drives are loop
devices, which another process, outside of the container, uses.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from command import ran
from drive_contents import ext4
from guard_situations import PROTOCOLS
from guarded import Drive, MakeDrive, another_process, needs_loop, run, tool
from waiting import until

pytestmark = [needs_loop, pytest.mark.slow]

#: A container's own processes and mounts.
OWN_PROCESSES = ("unshare", "--mount", "--pid", "--fork", "--mount-proc")
#: The machine's processes, but its own mounts, as ``podman run --pid=host`` gives it.
OWN_MOUNTS = ("unshare", "--mount")
OPEN_FOR_WRITING = "fd = os.open(sys.argv[1], os.O_WRONLY)"


@pytest.fixture(name="make")
def make_fixture(tmp_path: Path, make_drive: MakeDrive) -> MakeDrive:
    (tmp_path / "w.toml").write_text(f'name = "w"\n{PROTOCOLS["write"]}')
    return make_drive


@contextmanager
def mounted(drive: Drive, place: Path) -> Iterator[Path]:
    """Mount a new file system of the drive's, outside of all containers."""
    ext4(drive)
    place.mkdir()
    run("mount", "-o", "ro,noload", drive.node, place)
    try:
        yield place
    finally:
        run("umount", place)


def runs(drive: Drive, directory: Path, *container: str) -> "subprocess.CompletedProcess[str]":
    """Run a protocol that writes to the drive, named as it should be, in a container."""
    words = ("run", "w.toml", "--on", str(drive.node), "--erase", drive.id, "-o", "r")
    line = [*container, sys.executable, "-m", "heatsoak", *words]
    line[0] = tool(line[0])
    return subprocess.run(line, cwd=directory, capture_output=True, text=True, check=False)


def takes(drive: Drive, directory: Path, *container: str) -> bool:
    """Whether a run takes the drive, once no neighbour has a loop device or swap of its own.

    Where process 1 hides even from root, nobody knows what those lead to, and all are refused.
    """
    return until(lambda: runs(drive, directory, *container).returncode == 0)


def refused(drive: Drive, directory: Path, *container: str) -> str:
    """Return what a refusal says that left every byte of the drive as it was."""
    before = drive.sum()
    done = runs(drive, directory, *container)
    assert done.returncode == 4, done.stdout + done.stderr
    assert drive.sum() == before
    return done.stderr


def test_what_processes_outside_of_the_container_do_is_not_known_so_it_refuses(
    make: MakeDrive, tmp_path: Path
) -> None:
    drive = make()
    with another_process(OPEN_FOR_WRITING, drive.node):
        assert "cannot see who else uses it" in refused(drive, tmp_path, *OWN_PROCESSES)
    assert "cannot see who else uses it" in refused(drive, tmp_path, *OWN_PROCESSES)
    heatsoak = (sys.executable, "-m", "heatsoak", "list", "drives", "--format", "json")
    done = ran(tool("unshare"), *OWN_PROCESSES[1:], *heatsoak, cwd=tmp_path, check=True)
    (row,) = (row for row in json.loads(done.stdout) if row["path"] == os.fspath(drive.node))
    assert not row["writable"]
    assert "this is a container" in row["why"]


def test_a_drive_that_is_mounted_outside_of_the_container_is_refused(
    make: MakeDrive, tmp_path: Path
) -> None:
    drive = make()
    with mounted(drive, tmp_path / "place") as place:
        said = refused(drive, tmp_path, *OWN_PROCESSES)
        assert "cannot see who else uses it" in said
        unmounted = ("sh", "-c", 'umount "$0" && exec "$@"', str(place))
        assert "mounted on" in refused(drive, tmp_path, *OWN_MOUNTS, *unmounted)


def test_with_the_machines_processes_in_sight_it_refuses_a_drive_in_use_and_takes_a_free_one(
    make: MakeDrive, tmp_path: Path
) -> None:
    drive = make()
    with another_process(OPEN_FOR_WRITING, drive.node):
        assert "has it open for writing" in refused(drive, tmp_path, *OWN_MOUNTS)
    assert takes(drive, tmp_path, *OWN_MOUNTS)


def test_drives_are_known_and_guarded_where_podman_hides_the_links_by_number(
    make: MakeDrive, tmp_path: Path
) -> None:
    hidden = ("sh", "-c", 'mount -t tmpfs none /sys/dev/block && exec "$@"', "sh")
    used, free = make(name="used"), make(name="free")
    with mounted(used, tmp_path / "place"):
        assert "it is mounted on" in refused(used, tmp_path, *OWN_MOUNTS, *hidden)
    assert takes(free, tmp_path, *OWN_MOUNTS, *hidden)


@pytest.mark.parametrize("capability", ["sys_ptrace", "sys_admin"])
def test_without_the_capabilities_to_look_at_other_processes_it_refuses(
    make: MakeDrive, tmp_path: Path, capability: str
) -> None:
    drive = make()
    lacking = ("setpriv", "--bounding-set", f"-{capability}")
    if capability == "sys_admin":  # which may look at what is mapped as well
        lacking = ("setpriv", "--bounding-set", "-sys_admin,-checkpoint_restore")
    mapped = (
        "import mmap; m = mmap.mmap(os.open(sys.argv[1], os.O_RDWR), 4096); os.closerange(3, 99)"
    )
    with another_process(mapped, drive.node):
        assert "--cap-add" in refused(drive, tmp_path, *lacking)


def test_what_the_machines_own_paths_lead_to_counts_where_the_container_has_another_file_there(
    make: MakeDrive, tmp_path: Path
) -> None:
    images = tmp_path / "images"
    images.mkdir()
    image = images / "drive.img"
    with image.open("wb") as file:
        file.truncate(64 << 20)
    first, second = make(image=image), make(image=image)
    hidden = (
        'cp -a "$0" /run/kept && mount -t tmpfs none /dev && cp -a /run/kept "$0" && '
        'mknod /dev/null c 1 3 && mount -t tmpfs none "$1" && echo other > "$1/drive.img" && '
        'shift && exec "$@"'
    )
    said = refused(
        first,
        tmp_path,
        *OWN_MOUNTS,
        "sh",
        "-c",
        f"mount -t tmpfs none /run && {hidden}",
        str(first.node),
        str(images),
    )
    # where process 1 hides even from root, nobody knows what any loop device leads to
    known = f"{second.node.name} is attached to the same file"
    assert known in said or "cannot find out what loop" in said
