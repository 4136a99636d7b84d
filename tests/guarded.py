"""Drives for the write guard to judge: loop devices, who uses them, and machines of our own."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from command import ran
from heatsoak.sensor import Roots
from loop_drive import attached

SIZE = 64 << 20
ALL_PROCESSES = Path("/proc/2/ns/pid")
SBIN = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def tool(name: str) -> str:
    """Return where a tool is; skip the test where it is not installed."""
    found = shutil.which(name, path=SBIN)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def run(name: str, *arguments: object, text: str | None = None) -> str:
    done = ran(
        tool(name),
        *map(str, arguments),
        input=text,
        stdin=subprocess.DEVNULL if text is None else None,
        timeout=200,
    )
    assert done.returncode == 0, f"{name}: {done.stderr}"
    return done.stdout.strip()


def loop_devices_work() -> bool:
    if os.geteuid() != 0 or not Path("/dev/loop-control").exists():
        return False
    losetup = shutil.which("losetup", path=SBIN)
    if losetup is None or not ALL_PROCESSES.is_symlink():
        return False
    if str(ALL_PROCESSES.readlink()) != "pid:[4026531836]":
        return False  # the guard refuses every drive in a container without --pid=host
    return subprocess.run([losetup, "-f"], capture_output=True, timeout=200).returncode == 0


needs_loop = pytest.mark.skipif(
    not loop_devices_work(), reason="needs root and loop devices to make drives of"
)


class Drive:
    """A loop device and the image behind it."""

    def __init__(self, image: Path, node: Path) -> None:
        self.image = image
        self.node = node
        self.size_bytes = image.stat().st_size

    @property
    def id(self) -> str:
        return f"{self.node}:{self.size_bytes}"

    @property
    def number(self) -> str:
        rdev = self.node.stat().st_rdev
        return f"{os.major(rdev)}:{os.minor(rdev)}"

    def sum(self) -> str:
        """Return the digest of what a reader of the device sees, past any cache of ours."""
        run("blockdev", "--flushbufs", self.node)
        with self.image.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def writes(self) -> tuple[str, str]:
        """Return the kernel's counts of sectors written and discarded.

        Not its counts of requests: anybody's ``sync`` flushes a mounted drive, which is one more.
        """
        fields = Path(f"/sys/block/{self.node.name}/stat").read_text().split()
        return fields[6], fields[13]


MakeDrive = Callable[..., Drive]


@contextmanager
def drives_in(directory: Path) -> Iterator[MakeDrive]:
    """Give a function that attaches empty drives; options are losetup's."""
    with ExitStack() as stack:

        def make(
            *options: str, image: Path | None = None, name: str = "drive", size: int = SIZE
        ) -> Drive:
            if image is None:
                image = directory / f"{name}.img"
                with image.open("wb") as file:
                    file.truncate(size)
            node = stack.enter_context(attached(image, image.stat().st_size, *options))
            return Drive(image, node)

        yield make


@contextmanager
def another_process(program: str, *arguments: object) -> Iterator[int]:
    """Run Python code in a process, whose number this gives, until the block ends.

    It has done its part when it prints.
    """
    with subprocess.Popen(
        [sys.executable, "-c", f"import os, sys\n{program}\nprint(flush=True)\nsys.stdin.read()"]
        + [str(argument) for argument in arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"\n", "the other process did not do its part"
            yield process.pid
        finally:
            process.stdin.close()
            process.wait(timeout=200)


class Machine:
    """A sysfs of our own around a real loop device, which thereby has a serial."""

    def __init__(self, base: Path, drive: Drive, name: str = "sdx") -> None:
        self.base = base
        self.drive = drive
        self.roots = Roots(sys=base)
        self.disk = self.add(name, drive.number, drive.size_bytes)

    def add(self, name: str, number: str, size_bytes: int, serial: str | None = None) -> Path:
        disk = self.base / "devices" / name
        for part in ("holders", "slaves", "queue", "device"):
            (disk / part).mkdir(parents=True)
        (disk / "dev").write_text(number)
        (disk / "size").write_text(str(size_bytes // 512))
        (disk / "ro").write_text("0")
        for link in (self.base / "block" / name, self.base / "dev" / "block" / number):
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(disk)
        if serial is not None:
            (disk / "device" / "serial").write_text(serial)
        return disk


def fake_proc(base: Path, mount: str = "0:1 / /", swaps: str = "") -> Path:
    (base / "1" / "fd").mkdir(parents=True)
    (base / "2" / "ns").mkdir(parents=True)
    (base / "2" / "ns" / "pid").symlink_to("pid:[4026531836]")  # that of all processes
    (base / "1" / "mountinfo").write_text(f"22 1 {mount} rw - ext4 /dev/somewhere rw\n")
    (base / "swaps").write_text(f"Filename Type Size Used Priority\n{swaps}")
    return base
