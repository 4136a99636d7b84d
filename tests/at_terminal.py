"""The command at a terminal, where it asks and somebody types."""

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def at_terminal(*words: str, cwd: Path) -> Iterator["Terminal"]:
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "heatsoak", *words],
        cwd=cwd,
        stdin=slave,
        stdout=subprocess.PIPE,
        stderr=slave,
        start_new_session=True,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "200"},
    )
    os.close(slave)
    try:
        yield Terminal(master, process)
    finally:
        process.kill()
        process.communicate()
        os.close(master)


class Terminal:
    def __init__(self, master: int, process: "subprocess.Popen[bytes]") -> None:
        self.master = master
        self.process = process
        self.said = ""

    def read_until(self, text: str) -> str:
        """Return what was said up to `text`."""
        while text not in self.said:
            try:
                piece = os.read(self.master, 4096)
            except OSError:  # the other end was closed
                piece = b""
            assert piece, f"ended without {text!r}: {self.said}"
            self.said += piece.decode("utf-8", "replace")
        before, _, self.said = self.said.partition(text)
        return before

    def type(self, line: str) -> None:
        os.write(self.master, line.encode() + b"\n")

    def end(self) -> tuple[int, str]:
        """Return exit code and standard output, and let go of the rest that is said."""
        while True:
            try:
                piece = os.read(self.master, 4096)
            except OSError:
                break
            self.said += piece.decode("utf-8", "replace")
        output, _ = self.process.communicate(timeout=200)
        return self.process.returncode, output.decode()
