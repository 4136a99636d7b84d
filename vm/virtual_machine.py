"""A virtual machine with NVMe drives: Debian's kernel in QEMU, this machine's files in it.

Everything is emulated, so that it works wherever QEMU does, and is slow. The machine sees the
host's root through 9p, read-only, with what it writes in its own memory; one directory of the
host, at the same path, takes commands in and lets results out.
"""

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

HERE = Path(__file__).parent
KERNEL = HERE.parent / "target" / "vm-kernel"
DRIVE_BYTES = 512 << 20

_MODULES = (
    *("nvme", "9p", "9pnet_virtio", "virtio_pci"),
    *("overlay", "ext4", "crct10dif_generic", "crc32c_generic"),
)
_BOOT_S = 240.0


@dataclass(frozen=True)
class Result:
    """What a command in the machine came to."""

    code: int
    out: str
    err: str


class Command:
    """A command that runs in the machine."""

    def __init__(self, share: Path, name: str, machine: "Machine") -> None:
        self._stem = share / name
        self._machine = machine

    @property
    def has_ended(self) -> bool:
        """Whether there is a result."""
        return self._stem.with_suffix(".code").exists()

    def wait(self, timeout_s: float) -> Result:
        """Return its result; raises TimeoutError."""
        what = f"the end of {self._stem.name}"
        self._machine.wait_for(lambda: self.has_ended, timeout_s, what)
        code, out, err = (
            self._stem.with_suffix(end).read_text() for end in (".code", ".out", ".err")
        )
        return Result(int(code), out, err)


class Machine:
    """A machine with NVMe drives of 512 MiB, ``/dev/nvme0n1`` and on, serials ``VM0``...

    The last of them has a second namespace, whose content is :attr:`second`.
    """

    def __init__(self, directory: Path, drives: int) -> None:
        """Prepare its files in `directory`."""
        self.share = directory / "share"
        self.share.mkdir(parents=True)
        self._directory = directory
        self._names = (f"command{number}" for number in count())
        self.images = [directory / f"drive{number}.img" for number in range(drives)]
        self.second = directory / "second.img"
        for image in (*self.images, self.second):
            with image.open("wb") as file:
                file.truncate(DRIVE_BYTES)
        shutil.copy(HERE / "agent", self.share)
        self._qmp: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        kernel, initrd = _kernel(), _initrd(self._directory)
        command = [
            *("qemu-system-x86_64", "-M", "q35", "-accel", "tcg,thread=multi", "-cpu", "max"),
            *("-smp", "2", "-m", "2048", "-display", "none", "-nic", "none", "-no-reboot"),
            *("-monitor", "none", "-serial", f"file:{self._directory / 'console'}"),
            *("-kernel", str(kernel), "-initrd", str(initrd)),
            *("-append", f"console=ttyS0 quiet panic=-1 share={self.share}"),
            *("-qmp", f"unix:{self._directory / 'qmp'},server=on,wait=off"),
            *_shared("host", Path("/"), ",readonly=on,multidevs=remap"),
            *_shared("share", self.share, ""),
        ]
        for number, image in enumerate(self.images):
            command += _drive(f"d{number}", image)
            # a port of its own, from which it can be pulled
            command += ["-device", f"pcie-root-port,id=port{number},chassis={number},slot={number}"]
            command += ["-device", f"nvme,id=n{number},serial=VM{number},bus=port{number}"]
            command += ["-device", f"nvme-ns,drive=d{number},bus=n{number},nsid=1"]
        command += _drive("second", self.second)
        command += ["-device", f"nvme-ns,drive=second,bus=n{len(self.images) - 1},nsid=2"]
        self._process = subprocess.Popen(command, stderr=(self._directory / "qemu").open("wb"))
        try:
            self.wait_for((self.share / "up").exists, _BOOT_S, "its start")
            self._qmp = socket.socket(socket.AF_UNIX)
            self._qmp.connect(str(self._directory / "qmp"))
            self._replies = self._qmp.makefile("r")
            self._replies.readline()  # the greeting
            self.qmp("qmp_capabilities")
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _value: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if self._qmp is not None:
            self._qmp.close()
        if self._process is not None:
            self._process.terminate()
            self._process.wait()

    def start(self, script: str) -> Command:
        """Run a shell script in the machine, without waiting for it."""
        name = next(self._names)
        waiting = self.share / f"{name}.new"
        waiting.write_text(script)
        waiting.rename(self.share / f"{name}.todo")
        return Command(self.share, name, self)

    def run(self, script: str, timeout_s: float = 120.0) -> Result:
        """Run a shell script in the machine to its end."""
        return self.start(script).wait(timeout_s)

    def qmp(self, command: str, **arguments: object) -> Any:
        """Return what QEMU answers to a command of its monitor; raises RuntimeError."""
        assert self._qmp is not None
        self._qmp.sendall(json.dumps({"execute": command, "arguments": arguments}).encode())
        while True:
            reply = json.loads(self._replies.readline())
            if "error" in reply:
                raise RuntimeError(f"{command}: {reply['error']['desc']}")
            if "return" in reply:  # and no event
                return reply["return"]

    def limit(self, drive: int, mb_s: float) -> None:
        """Let a drive do no more than `mb_s` from now on; 0 is as much as it can."""
        others = dict.fromkeys(("bps_rd", "bps_wr", "iops", "iops_rd", "iops_wr"), 0)
        bytes_s = round(1e6 * mb_s)
        self.qmp("block_set_io_throttle", device=f"d{drive}", bps=bytes_s, **others)

    def pull(self, drive: int) -> None:
        """Take a drive out."""
        self.qmp("device_del", id=f"n{drive}")

    def wait_for(self, done: Callable[[], bool], timeout_s: float, what: str) -> None:
        """Wait until `done`; raises TimeoutError, or RuntimeError where the machine has ended."""
        until_s = time.monotonic() + timeout_s
        while not done():
            if self._process is not None and self._process.poll() is not None:
                said = (self._directory / "qemu").read_text()
                raise RuntimeError(f"the machine ended by itself: {said}{self._console()}")
            if time.monotonic() > until_s:
                raise TimeoutError(f"no sign of {what} in {timeout_s:g} s: {self._console()}")
            time.sleep(0.1)

    def _console(self) -> str:
        path = self._directory / "console"
        return path.read_text(errors="replace")[-2000:] if path.exists() else "no console"


@contextmanager
def booted(directory: Path, drives: int) -> Iterator[Machine]:
    """Give a machine that has started."""
    with Machine(directory, drives) as machine:
        yield machine


def _drive(name: str, image: Path) -> list[str]:
    return ["-drive", f"if=none,id={name},file={image},format=raw,discard=unmap"]


def _shared(tag: str, path: Path, options: str) -> list[str]:
    return [
        *("-fsdev", f"local,id={tag},path={path},security_model=none{options}"),
        *("-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"),
    ]


def _kernel() -> Path:
    found = sorted(KERNEL.glob("boot/vmlinuz-*"))
    if not found:
        raise RuntimeError(f"{KERNEL} has no kernel: make test-vm unpacks one")
    return found[-1]


def _initrd(directory: Path) -> Path:
    """Return an archive of busybox, the modules that are needed, and the first process."""
    busybox = shutil.which("busybox")
    assert busybox is not None
    tree = directory / "initrd"
    for place in ("bin", "proc", "sys", "dev", "lower", "upper", "root"):
        (tree / place).mkdir(parents=True)
    shutil.copy(busybox, tree / "bin" / "busybox")
    shutil.copy(HERE / "init", tree / "init")
    (tree / "init").chmod(0o755)
    version = _kernel().name.removeprefix("vmlinuz-")
    subprocess.run([busybox, "depmod", "-b", KERNEL, version], check=True)
    modules = Path("lib") / "modules" / version
    needs: dict[str, list[str]] = {}
    for line in (KERNEL / modules / "modules.dep").read_text().splitlines():
        path, _, others = line.partition(":")
        needs[Path(path).stem] = [path, *others.split()]
    wanted = {path for name in _MODULES for path in needs[name]}
    for name in sorted({*wanted, "modules.dep", "modules.alias", "modules.builtin"}):
        (tree / modules / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(KERNEL / modules / name, tree / modules / name)
    names = "\n".join(str(path.relative_to(tree)) for path in sorted(tree.rglob("*")))
    packed = subprocess.run(
        [busybox, "cpio", "-o", "-H", "newc"],
        cwd=tree,
        input=names.encode(),
        capture_output=True,
        check=True,
    )
    archive = directory / "initrd.cpio"
    archive.write_bytes(packed.stdout)
    return archive
