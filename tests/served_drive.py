"""Simulated drives that are served for as long as a test needs them."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class Served:
    """A drive behind a socket, and where it tells of itself."""

    process: subprocess.Popen[str]
    socket: Path
    sensors: Path
    greeting: list[str]

    @property
    def uri(self) -> str:
        return f"nbd+unix:///?socket={self.socket}"

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """End it; return its exit code and what it complained of."""
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=200)
        return self.process.returncode, errors

    def truth(self) -> list[dict[str, Any]]:
        """Return the samples of what the drive itself knows, so far."""
        return [line for line in self._lines() if "t_s" in line]

    def ended(self) -> dict[str, Any]:
        """Return what was served in all, once it has ended."""
        found: dict[str, Any] = self._lines()[-1]["ended"]
        return found

    def _lines(self) -> list[dict[str, Any]]:
        text = (self.sensors / "truth.jsonl").read_text("utf-8")
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]


@contextmanager
def served(directory: Path, drive: str | Path, *words: str) -> Iterator[Served]:
    """Serve `drive` from `directory`, as the command line has it, until the block ends."""
    socket, sensors = directory / "socket", directory / "sensors"
    # what runs in the background may have been told to ignore Ctrl-C
    command = ["env", "--default-signal=INT", sys.executable, "-m", "heatsoak", "lab", "nbd"]
    command.append(str(drive))
    command += ["--socket", str(socket)]
    command += ["--sensors", str(sensors), *words]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        greeting = []
        for line in process.stdout:
            greeting.append(line.strip())
            if "Ctrl-C" in line:
                break
        try:
            yield Served(process, socket, sensors, greeting)
        finally:
            if process.poll() is None:
                process.terminate()
