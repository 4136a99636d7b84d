"""Waiting for what comes by itself; only a fault is waited for until the limit.

The limits only end tests that would hang: a busy machine may take a minute to start a process.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

#: Longer than anything takes that does come, also on a machine that others load.
PATIENCE_S = 200.0


def until(is_so: Callable[[], object], at_most_s: float = PATIENCE_S) -> bool:
    """Wait until something is so; False where it does not come."""
    give_up = time.monotonic() + at_most_s
    while not is_so():
        if time.monotonic() > give_up:
            return False
        time.sleep(0.02)
    return True


def below(process: psutil.Process, name: str) -> list[psutil.Process]:
    """Return the processes below another that have a name that begins so.

    What was only just started has the name of what started it.
    """
    found = []
    for one in process.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if one.is_running() and one.name().startswith(name):
                found.append(one)
    return found


def is_alive(pid: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
