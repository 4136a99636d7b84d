"""The fio of this machine: whether it is installed, what it can do, and its best engine."""

import ctypes
import os
import re
import subprocess
from dataclasses import dataclass
from functools import lru_cache

from heatsoak.errors import ToolError
from heatsoak.tools import environment, find_tool

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

    def engine(self) -> str:
        """Return the best engine for files and devices that works here."""
        for engine in _ENGINES:
            if engine in self.engines and (engine != "io_uring" or io_uring_works()):
                return engine
        raise ToolError(f"{self.version} has none of the engines {', '.join(_ENGINES)}")


def find_fio() -> Fio:
    """Return the fio of this machine; raises ToolError if it is missing or too old."""
    path = find_tool("fio", "fio")
    return _ask(path, os.stat(path).st_mtime_ns)  # noqa: PTH116 -- a string from find_tool()


def setpriv() -> str:
    """Return the program that makes fio end with us; raises ToolError if it is missing."""
    return find_tool("setpriv", "util-linux")


@lru_cache(maxsize=8)
def _ask(path: str, modified_ns: int) -> Fio:  # noqa: ARG001 -- part of the cache's key
    version = _output(path, "--version").strip()
    number = re.match(r"fio-(\d+)\.(\d+)", version)
    if number is None:
        raise ToolError(f"{path} is not fio: its version is '{version[:60]}'")
    numbers = int(number[1]), int(number[2])
    if numbers < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise ToolError(f"{version} is too old: fio {oldest} or newer is needed")
    engines = _output(path, "--enghelp").split("\n")
    names = frozenset(line.strip() for line in engines[1:] if line.strip())
    return Fio(path, version, names, numbers)


def _output(path: str, option: str) -> str:
    try:
        asked = subprocess.run(
            [path, option],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=30,
            env=environment(),
            check=False,
        )
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
