"""What differs between operating systems: asked here, and nowhere else.

Real drives are loaded and watched on Linux alone: its kernel says what is needed to do that safely.
Modules that only serve them are imported where they are used, and may use whatever Linux has;
:func:`require_linux` stands before them. Everything else runs on Windows and macOS too, and gets
from here what they do in another way, or not at all.
"""

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from heatsoak.errors import UsageError

fcntl: Any = None
msvcrt: Any = None
with suppress(ImportError):
    import fcntl  # not on Windows
with suppress(ImportError):
    import msvcrt  # only there

IS_WINDOWS = sys.platform == "win32"
#: Whether real drives can be loaded and watched.
IS_LINUX = sys.platform == "linux" and fcntl is not None
#: What works on every system, for those who asked for something that does not.
_ELSEWHERE = (
    "here, heatsoak runs protocols on simulated drives (--on sim:DRIVE; `heatsoak list` "
    "lists them), and judges recordings and logs (heatsoak analyze FILE)"
)

#: Where Windows' byte-range locks are put: behind everything that a file holds, or others could not
#: read that; and below 2 GiB, where the C runtime's locks end.
_LOCKED_AT = 1 << 30
#: Windows neither replaces nor removes a file that somebody has open, even for reading. Readers of
#: ours, and scanners for viruses, are done with one soon.
_TRIES, _BETWEEN_S = 40, 0.05


def require_linux(what: str) -> None:
    """Raise UsageError on other systems; `what` begins the message, such as ``lab nbd``."""
    if not IS_LINUX:
        raise UsageError(f"{what} needs Linux: {_ELSEWHERE}")


#: Signals that stop a command, where a system has them: Ctrl-C, a shutdown, a closed terminal.
STOP_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back signals that stop the command until the end of the block.

    They are caught instead of blocked: another thread would get a blocked one, and Python would
    still raise it here. During imports Python drops one that comes in a callback of its own, and
    turns one that comes while a class is made into another error.
    """
    came: list[int] = []
    usual: dict[signal.Signals, Any] = {}
    try:
        if threading.current_thread() is threading.main_thread():
            for number in STOP_SIGNALS:
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    usual[number] = signal.signal(number, lambda got, _: came.append(got))
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


@contextmanager
def blocked(number: int) -> Iterator[None]:
    """Keep a signal from processes started in the block, until they unblock or ignore it."""
    if IS_WINDOWS:
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {number})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def lock(file: int, *, wait: bool = False) -> None:
    """Lock an open file against other processes until it is closed, or its process ends.

    Others can still read and write it. Raises BlockingIOError if another has it and `wait` is
    false, OSError on a file system without locks.
    """
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    elif msvcrt is not None:
        _lock_on_windows(file, wait=wait)


def _lock_on_windows(file: int, *, wait: bool) -> None:
    while True:
        os.lseek(file, _LOCKED_AT, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            if not wait:
                raise BlockingIOError(error.errno, error.strerror) from error
        else:
            return
        finally:
            os.lseek(file, 0, os.SEEK_SET)
        time.sleep(_BETWEEN_S)


def replace(path: str | Path, target: str | Path, at: int | None = None) -> None:
    """Move a file to `target`, in place of what is there; raises OSError.

    Names are relative to the directory that is open `at` a descriptor, if one is given.
    """
    _when_free(lambda: os.replace(path, target, src_dir_fd=at, dst_dir_fd=at))


def remove(path: str | Path, at: int | None = None) -> None:
    """Remove a file if it is there; raises OSError. `at` is as for :func:`replace`."""
    with suppress(FileNotFoundError):
        _when_free(lambda: os.unlink(path, dir_fd=at))


def _when_free(change: Callable[[], object]) -> None:
    for left in reversed(range(_TRIES)):
        try:
            change()
        except PermissionError:
            if not IS_WINDOWS or not left:
                raise
        else:
            return
        time.sleep(_BETWEEN_S)


def allocate(file: int, size: int) -> bool:
    """Give an open file disk space, which zeros do not take on a file system that compresses.

    Returns False where the system or the file system cannot.
    """
    try:
        os.posix_fallocate(file, 0, size)
    except (AttributeError, OSError):
        return False
    return True


def is_root() -> bool:
    """Whether this process may do anything, so that it must only run what root alone can change.

    Windows has no such user.
    """
    return hasattr(os, "geteuid") and os.geteuid() == 0


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def open_files_limit(wanted: int) -> int | None:
    """Return how many files this process may open, having raised that to `wanted` if it may.

    None on Windows, which has no limit that matters.
    """
    try:
        import resource
    except ImportError:
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def clock_in_sleep_s() -> float | None:
    """Return the time of a clock that keeps running while the machine sleeps; None without one."""
    if not hasattr(time, "CLOCK_BOOTTIME"):
        return None
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def error_number(reported: int) -> int:
    """Return the errno of an error number that a library had from the system.

    On Windows that is a number of another kind, which Python translates.
    """
    return OSError(0, "", None, reported).errno or reported if IS_WINDOWS else reported


def claim_port(listening: socket.socket) -> None:
    """Prepare a socket to be bound to a port that nobody else listens on.

    Elsewhere, SO_REUSEADDR only takes a port over from connections that have ended. On Windows it
    would share it with another server.
    """
    if not IS_WINDOWS:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)


def is_console(stream: TextIO) -> bool:
    """Whether a stream writes to a console of Windows.

    It takes any text as it is; the bytes that are written to its descriptor, it takes for text in a
    code page that the stream does not tell.
    """
    return IS_WINDOWS and stream.isatty()
