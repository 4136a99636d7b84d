"""A virtual machine with NVMe drives: Debian's kernel in QEMU, this machine's files in it.

Everything is emulated, so that it works wherever QEMU does, and is slow. The machine sees the
host's root through 9p, read-only, with what it writes in its own memory; one directory of the
host, at the same path, takes commands in and lets results out.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from qemu import Qemu, drive, empty

HERE = Path(__file__).parent
_BOOT_S = 900.0  # ends what hangs; a busy host takes minutes


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
        """Start it, with its files in `directory`."""
        self.share = directory / "share"
        self.share.mkdir(parents=True)
        self._names = (f"command{number}" for number in count())
        self.images = [empty(directory / f"drive{number}.img") for number in range(drives)]
        self.second = empty(directory / "second.img")
        shutil.copy(HERE / "agent", self.share)
        words = [
            *_shared("host", Path("/"), ",readonly=on,multidevs=remap"),
            *_shared("share", self.share, ""),
        ]
        for number, image in enumerate(self.images):
            words += drive(f"d{number}", image)
            # a port of its own, from which it can be pulled
            words += ["-device", f"pcie-root-port,id=port{number},chassis={number},slot={number}"]
            words += ["-device", f"nvme,id=n{number},serial=VM{number},bus=port{number}"]
            words += ["-device", f"nvme-ns,drive=d{number},bus=n{number},nsid=1"]
        words += drive("second", self.second)
        words += ["-device", f"nvme-ns,drive=second,bus=n{drives - 1},nsid=2"]
        self._qemu = Qemu(directory, f"share={self.share}", words)

    def wait_for(self, done: Callable[[], bool], timeout_s: float, what: str) -> None:
        """Wait until `done`; raises TimeoutError, or RuntimeError where the machine has ended."""
        self._qemu.wait_for(done, timeout_s, what)

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

    def limit(self, drive: int, mb_s: float) -> None:
        """Let a drive do no more than `mb_s` from now on; 0 is as much as it can."""
        others = dict.fromkeys(("bps_rd", "bps_wr", "iops", "iops_rd", "iops_wr"), 0)
        bytes_s = round(1e6 * mb_s)
        self._qemu.qmp("block_set_io_throttle", device=f"d{drive}", bps=bytes_s, **others)

    def pull(self, drive: int) -> None:
        """Take a drive out."""
        self._qemu.qmp("device_del", id=f"n{drive}")

    def end(self) -> None:
        """Switch it off."""
        self._qemu.end()


@contextmanager
def booted(directory: Path, drives: int) -> Iterator[Machine]:
    """Give a machine that has started."""
    machine = Machine(directory, drives)
    try:
        machine.wait_for((machine.share / "up").exists, _BOOT_S, "its start")
        yield machine
    finally:
        machine.end()


def _shared(tag: str, path: Path, options: str) -> list[str]:
    return [
        *("-fsdev", f"local,id={tag},path={path},security_model=none{options}"),
        *("-device", f"virtio-9p-pci,fsdev={tag},mount_tag={tag}"),
    ]
