"""Shells that complete a line for real, with what is installed beside heatsoak."""

import os
import pty
import re
import select
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: What a wheel installs below the environment's directory.
SHARE = Path(__file__).parent.parent / "installed" / "data" / "share"


def program_in(directory: Path) -> Path:
    """Write a `heatsoak` that a shell finds in `directory`."""
    program = directory / "heatsoak"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m heatsoak "$@"\n')
    program.chmod(0o755)
    return program


class Terminal:
    """A terminal with a shell on it."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def type(self, text: str) -> None:
        """Type; a tab completes."""
        os.write(self._fd, text.encode())

    def until(self, pattern: str) -> None:
        """Read until the pattern was seen; raises AssertionError after two minutes."""
        seen, end_s = "", time.monotonic() + 120
        while not re.search(pattern, seen):
            ready, _, _ = select.select([self._fd], [], [], 1)
            if ready:
                seen += os.read(self._fd, 4096).decode("utf-8", "replace")
            assert time.monotonic() < end_s, seen


@contextmanager
def terminal(*command: str, **environment: str) -> Iterator[Terminal]:
    """Start a shell, and end it with its terminal."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execvpe(command[0], command, {**os.environ, "TERM": "dumb", **environment})
    try:
        yield Terminal(fd)
    finally:
        os.close(fd)
        os.waitpid(pid, 0)
