"""Keeps a heater: runs it in a group of its own, and ends it with all that it ever started.

A program of its own, made of the standard library alone, so that nothing that happens to heatsoak
happens to it. It is told what to do in one JSON argument, and ends when its standard input does:
when heatsoak says so, and when heatsoak is gone, however that came about. Processes whose parents
have ended become its own (prctl(2), PR_SET_CHILD_SUBREAPER), so that none gets away.

It says the command's process id on its standard output, and once the command has ended its exit
code, negative for a signal. The command's output goes to a file whose older part is dropped where
it grows beyond 1 MiB.
"""

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

#: How long everything may take to end by itself before it is killed.
GRACE_S = 5.0
#: One turn of running and being stopped, where it may not run all the time.
PERIOD_S = 2.0
#: The exit code where something of the heater could not be ended.
STAYS = 3
_LOG_BYTES = 1 << 20
_SUBREAPER = 36  # <linux/prctl.h>
_TICK_S = 1.0


class OutputLog:
    """A file of the newest output."""

    def __init__(self, path: str) -> None:
        self._file = open(path, "w+b", buffering=0)  # noqa: SIM115, PTH123 -- for our whole life

    def append(self, piece: bytes) -> None:
        """Append, dropping the older half where it grows too long; a full disk loses it."""
        with suppress(OSError):
            self._file.write(piece)
            if self._file.tell() > _LOG_BYTES:
                self._file.seek(-_LOG_BYTES // 2, os.SEEK_END)
                kept = self._file.read()
                self._file.seek(0)
                self._file.write(kept)
                self._file.truncate()


class Turns:
    """Lets a group of processes run for a share of the time."""

    def __init__(self, group: int, busy_pct: float) -> None:
        self._group = group
        self._busy_s = PERIOD_S * busy_pct / 100
        self._is_running = True
        self._until = time.monotonic() + self._busy_s

    def take(self) -> float:
        """Stop the group or let it go on where it is time to; return for how long from now."""
        if self._busy_s >= PERIOD_S:
            return _TICK_S
        now = time.monotonic()
        if now >= self._until:
            self._is_running = not self._is_running
            number = signal.SIGCONT if self._is_running else signal.SIGSTOP
            with suppress(ProcessLookupError):
                os.killpg(self._group, number)
            self._until = now + (self._busy_s if self._is_running else PERIOD_S - self._busy_s)
        return min(_TICK_S, self._until - now)


def descendants(pid: int) -> list[int]:
    """Return the ids of all processes below `pid`."""
    found: list[int] = []
    waiting = [pid]
    while waiting:
        parent = waiting.pop()
        with suppress(OSError):
            for task in Path(f"/proc/{parent}/task").iterdir():
                children = [int(word) for word in (task / "children").read_text().split()]
                found += children
                waiting += children
    return found


def reap(first: int) -> bool:
    """Take leave of processes that have ended; return whether `first` has."""
    while True:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return True
        if ended is None:
            return False
        if ended.si_pid == first:
            return True
        with suppress(ChildProcessError):
            os.waitpid(ended.si_pid, 0)


def end(child: "subprocess.Popen[bytes]") -> bool:
    """End the command and everything below us, first politely; return whether nothing is left."""
    numbers = [signal.SIGTERM, signal.SIGCONT]  # what is stopped answers once it goes on
    told: set[int] = set()
    begun_s = time.monotonic()
    while True:
        if reap(child.pid):
            child.wait()
        left = descendants(os.getpid())
        passed_s = time.monotonic() - begun_s
        if not left or passed_s > 2 * GRACE_S:
            return not left
        if passed_s > GRACE_S:
            numbers, told = [signal.SIGKILL], set()
        for pid in set(left) - told:
            for number in numbers:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
        told |= set(left)
        time.sleep(0.02)


def keep(child: "subprocess.Popen[bytes]", output: int, log: OutputLog, busy_pct: float) -> None:
    """Wait until the command ends, or until we are to end it."""
    turns = Turns(child.pid, busy_pct)
    sources = [0, output, os.pidfd_open(child.pid)]
    while not reap(child.pid):
        ready, _, _ = select.select(sources, [], [], turns.take())
        if 0 in ready:
            return
        if output in ready:
            piece = os.read(output, 1 << 16)
            log.append(piece)
            if not piece:
                sources.remove(output)


def main() -> int:
    """Keep one heater; return 0, or 3 where something of it could not be ended."""
    wanted = json.loads(sys.argv[1])
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    log = OutputLog(wanted["log"])
    child = subprocess.Popen(
        wanted["command"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=wanted["directory"],
        process_group=0,
    )
    assert child.stdout is not None
    output = child.stdout.fileno()
    is_gone = False
    try:
        print(child.pid, flush=True)
        keep(child, output, log, wanted["busy_pct"])
        code = child.poll()
    finally:
        is_gone = end(child)
    os.set_blocking(output, False)
    with suppress(BlockingIOError):
        while piece := os.read(output, 1 << 16):
            log.append(piece)
    with suppress(BrokenPipeError):
        print("" if code is None else code, flush=True)
    return 0 if is_gone else STAYS


if __name__ == "__main__":
    sys.exit(main())
