"""The command line as a user has it: a process, its output and its exit code."""

import asyncio
import gc
import io
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any
from unittest.mock import patch

from heatsoak.cli import main

#: The signals whose handling the command line changes.
ENDING = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]


def ran(*words: str | Path, **given: Any) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, and take what it writes as text; `given` is subprocess.run's."""
    options = {"capture_output": True, "text": True, "check": False, **given}
    return subprocess.run([str(word) for word in words], **options)


def heatsoak(*words: str, cwd: Path, **kwargs: Any) -> subprocess.CompletedProcess[str]:
    """Run ``heatsoak`` with `words`; after 280 s, or `timeout`, it counts as hanging."""
    done = ran(sys.executable, "-m", "heatsoak", *words, cwd=cwd, **{"timeout": 280, **kwargs})
    done.stderr = _without_progress(done.stderr)
    return done


def heatsoak_here(
    *words: str, cwd: Path, encoding: str = "utf-8"
) -> subprocess.CompletedProcess[str]:
    """Run ``heatsoak`` with `words` in this process: for many words that differ in what is said."""
    output, errors = (
        io.TextIOWrapper(io.BytesIO(), encoding, "backslashreplace", newline="\n") for _ in range(2)
    )
    with redirect_stdout(output), redirect_stderr(errors):
        code = code_of(*words, cwd=cwd)
    said = []
    for stream in (output, errors):
        stream.flush()
        stream.seek(0)
        said.append(stream.read())
    return subprocess.CompletedProcess(words, code, said[0], _without_progress(said[1]))


def done_here(*words: str, cwd: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run ``heatsoak`` with `words` in this process, to end with `code`."""
    done = heatsoak_here(*words, cwd=cwd)
    assert done.returncode == code, (words, done.stdout, done.stderr)
    return done


def json_here(*words: str, cwd: Path, code: int = 0) -> Any:
    """Return what ``heatsoak`` says as JSON, in this process, to end with `code`."""
    return json.loads(done_here(*words, "--format", "json", cwd=cwd, code=code).stdout)


def _without_progress(errors: str) -> str:
    """Leave out the lines about what is left to do, which a busy machine has time for."""
    return re.sub(r"^.*, [\d.]+ %; .* to go\n", "", errors, flags=re.MULTILINE)


@contextmanager
def _no_event_loop() -> Iterator[None]:
    """As in a process of its own: the browser of other tests leaves a loop in this thread."""
    running = asyncio.events._get_running_loop()
    asyncio.events._set_running_loop(None)
    try:
        yield
    finally:
        asyncio.events._set_running_loop(running)


def code_of(*words: str, cwd: Path) -> int:
    """Run ``heatsoak`` in this process, on its own streams, and return the exit code."""
    handlers = {number: signal.getsignal(number) for number in ENDING}
    code: str | int | None = None
    try:
        with chdir(cwd), patch.object(sys, "argv", ["heatsoak", *words]), _no_event_loop():
            main()
    except SystemExit as end:
        code = end.code
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        # a command ends its process, and leaves what it made uncollected: tests go on
        gc.unfreeze()
    assert isinstance(code, int)
    return code


def complaint(done: subprocess.CompletedProcess[str], code: int) -> str:
    """Return the one line that a failed command says."""
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("heatsoak: ")
    return line
