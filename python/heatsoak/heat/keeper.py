"""Supervises a heater: runs it in its own process group, and ends it with all its descendants.

This is a separate program that only needs the standard library, so it survives whatever happens to
heatsoak. It gets its orders as one JSON argument, and ends when its standard input is closed: by
heatsoak, or because heatsoak is gone for any reason. It adopts orphaned descendants (prctl(2),
PR_SET_CHILD_SUBREAPER), so that none escapes.

It prints the command's process id, and once the command has ended its exit code, negative for a
signal. The command's output goes to a file, whose older half is dropped when it exceeds 1 MiB.
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

#: How long everything may take to exit before it is killed.
GRACE_S = 5.0
#: Length of one cycle of running and being stopped, for a duty cycle below 100 %.
PERIOD_S = 2.0
#: Exit code if some process of the heater could not be ended.
STILL_RUNNING = 3
_LOG_BYTES = 1 << 20
_SUBREAPER = 36  # <linux/prctl.h>
_TICK_S = 1.0


class OutputLog:
    """A file with the newest output."""

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)  # it is not the command's
        self._file = os.fdopen(descriptor, "r+b", buffering=0)

    def append(self, piece: bytes) -> None:
        """Append, dropping the older half of a file that is too long; lost if the disk is full."""
        with suppress(OSError):
            self._file.write(piece)
            if self._file.tell() > _LOG_BYTES:
                self._file.seek(-_LOG_BYTES // 2, os.SEEK_END)
                kept = self._file.read()
                self._file.seek(0)
                self._file.write(kept)
                self._file.truncate()


class DutyCycle:
    """Lets a process group run for a share of the time."""

    def __init__(self, group: int, busy_pct: float) -> None:
        self._group = group
        self._busy_s = PERIOD_S * busy_pct / 100
        self._is_running = True
        self._until = time.monotonic() + self._busy_s

    def take(self) -> float:
        """Stop or continue the group if it is time to; return the seconds until the next change."""
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
    """Reap processes that have ended, except `first`; return whether `first` has ended."""
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
    """End the command and all our descendants, politely at first; return whether none is left."""
    numbers = [signal.SIGTERM, signal.SIGCONT]  # a stopped process only reacts once it continues
    signalled: set[int] = set()
    started_s = time.monotonic()
    while True:
        if reap(child.pid):
            child.wait()
        left = descendants(os.getpid())
        passed_s = time.monotonic() - started_s
        if not left or passed_s > 2 * GRACE_S:
            return not left
        if passed_s > GRACE_S:
            numbers, signalled = [signal.SIGKILL], set()
        for pid in set(left) - signalled:
            for number in numbers:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
        signalled |= set(left)
        time.sleep(0.02)


def keep(child: "subprocess.Popen[bytes]", output: int, log: OutputLog, busy_pct: float) -> None:
    """Wait until the command ends, or until we are told to end it."""
    cycle = DutyCycle(child.pid, busy_pct)
    sources = [0, output, os.pidfd_open(child.pid)]
    while not reap(child.pid):
        ready, _, _ = select.select(sources, [], [], cycle.take())
        if 0 in ready:
            return
        if output in ready:
            piece = os.read(output, 1 << 16)
            log.append(piece)
            if not piece:
                sources.remove(output)


def main() -> int:
    """Supervise one heater; return 0, or 3 if some process of it could not be ended."""
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
    return 0 if is_gone else STILL_RUNNING


if __name__ == "__main__":
    sys.exit(main())
