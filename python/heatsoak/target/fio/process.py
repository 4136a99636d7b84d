"""The fio of this machine: what it can do; and one that runs in its own process group.

That one ends with us, and within seconds.
"""

import contextlib
import ctypes
import fcntl
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import IO

from heatsoak import tools
from heatsoak.errors import ToolError, saying
from heatsoak.target.base import Closing

#: The oldest supported fio: its documents have bins of the total latency (``lat_percentiles``
#: with ``json+``), and it has the nbd engine.
OLDEST = (3, 20)

_ENGINES = ("io_uring", "libaio", "psync")
_IO_URING_SETUP = 425  # the same number on every architecture


@dataclass(frozen=True)
class Fio:
    """An installed fio.

    Attributes:
        path: the program.
        version: as it prints it, ``fio-3.33``.
        number: the same for comparisons, ``(3, 33)``.
        engines: the I/O engines it was built with.
    """

    path: str
    version: str
    engines: frozenset[str]
    number: tuple[int, int] = OLDEST

    def require(self, oldest: tuple[int, int], what: str = "") -> None:
        """Raise ToolError if it is older than `oldest`, for `what` it is to do: ``" to copy"``."""
        if self.number < oldest:
            number = ".".join(map(str, oldest))
            raise ToolError(f"{self.version} is too old{what}: fio {number} or newer is needed")

    def engine(self) -> str:
        """Return the best engine for files and devices that works here."""
        for engine in _ENGINES:
            if engine in self.engines and (engine != "io_uring" or io_uring_works()):
                return engine
        raise ToolError(f"{self.version} has none of the engines {', '.join(_ENGINES)}")


def find_fio() -> Fio:
    """Return the fio of this machine; raises ToolError if it is missing or too old."""
    path = tools.find_tool("fio", "fio")
    return _ask(path, os.stat(path).st_mtime_ns)  # noqa: PTH116 -- a string from find_tool()


def setpriv() -> str:
    """Return the program that makes fio end with us; raises ToolError if it is missing."""
    return tools.find_tool("setpriv", "util-linux")


@lru_cache(maxsize=8)
def _ask(path: str, modified_ns: int) -> Fio:  # noqa: ARG001 -- part of the cache's key
    version = _output(path, "--version").strip()
    number = re.match(r"fio-(\d+)\.(\d+)", version)
    if number is None:
        raise ToolError(f"{path} is not fio: its version is '{version[:60]}'")
    found = Fio(path, version, frozenset(), (int(number[1]), int(number[2])))
    found.require(OLDEST)
    engines = _output(path, "--enghelp").split("\n")
    return replace(found, engines=frozenset(one.strip() for one in engines[1:] if one.strip()))


def _output(path: str, option: str) -> str:
    try:
        asked = tools.ran([path, option], timeout_s=30)
    except OSError as error:
        raise ToolError(f"{path} cannot be run: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise ToolError(f"{path} {option} did not answer within 30 s") from error
    if asked.returncode != 0:
        complaint = (asked.stderr.strip() or "no reason given").splitlines()[-1]
        raise ToolError(f"{path} {option} ended with exit code {asked.returncode}: {complaint}")
    return asked.stdout


@lru_cache(maxsize=1)
def io_uring_works() -> bool:
    """Whether io_uring is allowed; containers and sysctl often forbid it."""
    parameters = ctypes.create_string_buffer(120)
    ring = ctypes.CDLL(None).syscall(_IO_URING_SETUP, 1, parameters)
    if ring < 0:
        return False
    os.close(ring)
    return True


def takes_direct(path: str) -> bool:
    """Whether `path` can be opened with direct I/O."""
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_DIRECT | os.O_CLOEXEC))
    except OSError:
        return False
    return True


#: How long fio may take for its last document once it was told to stop.
FAREWELL_S = 5.0

#: Space for about ten documents, so that a late reader does not block fio.
_PIPE_BYTES = 1 << 20


class FioProcess(Closing):
    """Starts fio and reads its output.

    The kernel kills fio when the *thread* that started it ends for any reason, so start it from the
    thread that reads it to the end, usually the main one.
    """

    def __init__(self, command: Sequence[str], keep_fds: Sequence[int], stderr: IO[bytes]) -> None:
        """Start `command`; raises ToolError if that fails."""
        self._stderr = stderr
        with saying("fio cannot be started"):
            self._process = subprocess.Popen(
                [setpriv(), "--pdeathsig", "KILL", "--", *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                pass_fds=keep_fds,
                process_group=0,
                env=tools.environment(),
            )
        assert self._process.stdout is not None
        self._out = self._process.stdout.fileno()
        os.set_blocking(self._out, False)
        with contextlib.suppress(OSError):
            fcntl.fcntl(self._out, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    @property
    def pid(self) -> int:
        """The process id, which is also the group's."""
        return self._process.pid

    def is_stopped(self) -> bool:
        """Whether it was stopped, as by Ctrl-Z in a shell."""
        try:
            stat = Path(f"/proc/{self.pid}/stat").read_text("utf-8", "replace")
        except OSError:
            return False
        return stat.rpartition(")")[2].split()[0] in "Tt"

    def pieces(self, patience_s: float) -> Iterator[bytes | None]:
        """Yield fio's output as it arrives, and None after each `patience_s` of silence."""
        while True:
            ready, _, _ = select.select([self._out], [], [], patience_s)
            if not ready:
                yield None
                continue
            piece = os.read(self._out, _PIPE_BYTES)
            if not piece:
                return
            yield piece

    def wait(self) -> int:
        """Return the exit code, negative for a signal, once fio has closed its output."""
        for _ in range(2):
            try:
                return self._process.wait(FAREWELL_S)
            except subprocess.TimeoutExpired:
                self._signal(signal.SIGKILL)
        raise ToolError(
            f"fio (process {self.pid}) cannot be killed: the kernel is waiting for the drive"
        )

    def interrupt(self) -> bytes:
        """Stop fio now; return its remaining output, including the last document if in time."""
        if self._process.poll() is None:
            self._signal(signal.SIGINT)
        rest = bytearray()
        until = time.monotonic() + FAREWELL_S
        while (left := until - time.monotonic()) > 0:
            ready, _, _ = select.select([self._out], [], [], left)
            piece = os.read(self._out, _PIPE_BYTES) if ready else b""
            if not piece:
                break
            rest += piece
        return bytes(rest)

    def complaint(self) -> str:
        """Return the most informative line of fio's standard error, or an empty string."""
        # fio writes through the same open file: reading must not move its position
        text = os.pread(self._stderr.fileno(), 1_000_000, 0).decode("utf-8", "replace")
        lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
        telling = [line for line in lines if "error" in line.lower() or "fail" in line.lower()]
        return (telling or lines or [""])[-1][:300]

    def close(self) -> None:
        """Make sure that no process of fio is left."""
        if self._process.poll() is None:
            self._signal(signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(FAREWELL_S)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)
