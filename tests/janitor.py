"""What tests start ends, and what they change of the machine is undone, also if they are killed.

A process of its own waits for the end of pytest, which it sees however that ends. Then it ends all
that the tests have started, wherever that was handed to: it is known by its environment.
"""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

#: In the environment of all that tests start: the directory of what is to be undone.
VARIABLE = "HEATSOAK_TESTS"
_started: list[object] = []


def begin() -> Path:
    """Have an end made of what this process leaves; return a directory that goes with it."""
    if sys.platform != "linux":
        _started.append(own := tempfile.TemporaryDirectory(prefix="heatsoak-tests-"))
        return Path(own.name)
    directory = tempfile.mkdtemp(prefix="heatsoak-tests-")
    us = os.pidfd_open(os.getpid())
    command = [sys.executable, "-IS", __file__, directory, str(us)]
    with Path(os.devnull).open("r+b") as nowhere:
        _started.append(
            subprocess.Popen(
                command,
                stdin=nowhere,
                stdout=nowhere,
                stderr=nowhere,
                pass_fds=[us],
                start_new_session=True,  # signals to our group do not reach it
                env={},  # nor do other janitors
            )
        )
    os.close(us)
    os.environ[VARIABLE] = directory
    return Path(directory)


@contextmanager
def undone_by(*command: str | Path) -> Iterator[None]:
    """Run a command behind what is within, and also if this process is killed meanwhile.

    It may find that there is nothing to undo.
    """
    words = [str(word) for word in command]
    note = Path(os.environ[VARIABLE]) / f"{time.monotonic_ns():020}.json"
    note.write_text(json.dumps(words))
    try:
        yield
    finally:
        subprocess.run(words, check=False, capture_output=True)
        note.unlink()


def _clean_up(directory: Path) -> None:
    mark = f"{VARIABLE}={directory}".encode()
    give_up_s = time.monotonic() + 60
    while (left := _marked(mark)) and time.monotonic() < give_up_s:
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
    for note in sorted(directory.glob("*.json"), reverse=True):
        with suppress(ValueError):  # we ended while it was written: nothing was done yet
            subprocess.run(json.loads(note.read_text()), check=False)
    shutil.rmtree(directory, ignore_errors=True)


def _marked(mark: bytes) -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended
            if mark in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
    return found


if __name__ == "__main__":
    os.environ["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    select.select([int(sys.argv[2])], [], [])
    _clean_up(Path(sys.argv[1]))
