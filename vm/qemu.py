"""QEMU as a process: started, asked through its monitor, watched, ended."""

import json
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from initrd import initrd, kernel

DRIVE_BYTES = 512 << 20
_OFF = "reboot: Power down"


class Qemu:
    """An emulated machine; its first process reads `words` of the kernel's command line."""

    def __init__(self, directory: Path, words: str, devices: Sequence[str]) -> None:
        """Start it, with its files in `directory`."""
        self._directory = directory
        self._console_path = directory / "console"
        self._socket: socket.socket | None = None
        command = [
            *("qemu-system-x86_64", "-M", "q35", "-accel", "tcg,thread=multi", "-cpu", "max"),
            *("-smp", "2", "-m", "2048", "-display", "none", "-nic", "none", "-no-reboot"),
            *("-monitor", "none", "-serial", f"file:{self._console_path}"),
            *("-kernel", str(kernel()), "-initrd", str(initrd(directory))),
            *("-append", f"console=ttyS0 quiet panic=-1 {words}"),
            *("-qmp", f"unix:{directory / 'qmp'},server=on,wait=off"),
            *devices,
        ]
        with (directory / "qemu").open("wb") as said:
            self._process = subprocess.Popen(command, stderr=said)

    def qmp(self, command: str, **arguments: object) -> Any:
        """Return what QEMU answers to a command of its monitor; raises RuntimeError."""
        if self._socket is None:
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.connect(str(self._directory / "qmp"))
            self._replies = self._socket.makefile("r")
            self._replies.readline()  # the greeting
            self.qmp("qmp_capabilities")
        self._socket.sendall(json.dumps({"execute": command, "arguments": arguments}).encode())
        while True:
            reply = json.loads(self._replies.readline())
            if "error" in reply:
                raise RuntimeError(f"{command}: {reply['error']['desc']}")
            if "return" in reply:  # and no event
                return reply["return"]

    def wait_for(self, done: Callable[[], bool], timeout_s: float, what: str) -> None:
        """Wait until `done`; raises TimeoutError, or RuntimeError where the machine has ended."""
        until_s = time.monotonic() + timeout_s
        while not done():
            if self._process.poll() is not None:
                said = (self._directory / "qemu").read_text()
                raise RuntimeError(f"the machine ended unexpectedly: {said}{self.console[-2000:]}")
            if time.monotonic() > until_s:
                raise TimeoutError(f"no sign of {what} in {timeout_s:g} s: {self.console[-2000:]}")
            time.sleep(0.1)

    def wait(self, timeout_s: float) -> None:
        """Wait until the machine has switched itself off; raises TimeoutError."""
        until_s = time.monotonic() + timeout_s
        # one that has slept says so, and QEMU continues
        while self._process.poll() is None and _OFF not in self.console:
            if time.monotonic() > until_s:
                raise TimeoutError(f"it does not end: {self.console[-2000:]}")
            time.sleep(0.1)

    @property
    def console(self) -> str:
        """What it wrote to its console."""
        if not self._console_path.exists():
            return ""
        return self._console_path.read_text(errors="replace").replace("\r", "")

    def end(self) -> None:
        """Take the power from it."""
        if self._socket is not None:
            self._socket.close()
            self._replies.close()
            self._socket = None
        self._process.kill()
        self._process.wait()


def drive(name: str, image: Path) -> list[str]:
    """Return the words for an image that devices can be made of."""
    return ["-drive", f"if=none,id={name},file={image},format=raw,discard=unmap"]


def empty(image: Path) -> Path:
    """Make an empty image."""
    with image.open("wb") as file:
        file.truncate(DRIVE_BYTES)
    return image
