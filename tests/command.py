"""The command line as a user has it: a process, its output and its exit code."""

import subprocess
import sys
from pathlib import Path
from typing import Any


def heatsoak(*words: str, cwd: Path, **kwargs: Any) -> subprocess.CompletedProcess[str]:
    """Run ``heatsoak`` with `words`; after 280 s, or `timeout`, it counts as hanging."""
    return subprocess.run(
        [sys.executable, "-m", "heatsoak", *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        **{"timeout": 280, **kwargs},
    )


def complaint(done: subprocess.CompletedProcess[str], code: int) -> str:
    """Return the one line that a failed command says."""
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("heatsoak: ")
    return line
