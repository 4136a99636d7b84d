"""A running fio in its own process group, which ends with us, and within seconds."""

import contextlib
import fcntl
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Self

from heatsoak.errors import ToolError
from heatsoak.target.fio.tool import setpriv
from heatsoak.tools import environment

#: How long fio may take for its last document once it was told to stop.
FAREWELL_S = 5.0

#: Space for about ten documents, so that a late reader does not block fio.
_PIPE_BYTES = 1 << 20


class FioProcess:
    """Starts fio and reads its output.

    The kernel kills fio when the *thread* that started it ends for any reason, so start it from the
    thread that reads it to the end, usually the main one.
    """

    def __init__(self, command: Sequence[str], keep_fds: Sequence[int], stderr: IO[bytes]) -> None:
        """Start `command`; raises ToolError if that fails."""
        self._stderr = stderr
        try:
            self._process = subprocess.Popen(
                [setpriv(), "--pdeathsig", "KILL", "--", *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                pass_fds=keep_fds,
                process_group=0,
                env=environment(),
            )
        except OSError as error:
            raise ToolError(f"fio cannot be started: {error.strerror}") from error
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
        try:
            return self._process.wait(FAREWELL_S)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
        try:
            return self._process.wait(FAREWELL_S)
        except subprocess.TimeoutExpired as error:
            raise ToolError(
                f"fio (process {self.pid}) cannot be killed: the kernel is waiting for the drive"
            ) from error

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
        lines = _lines(self._stderr)
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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _lines(stream: IO[bytes]) -> list[str]:
    # fio writes through the same open file: reading must not move its position
    text = os.pread(stream.fileno(), 1_000_000, 0).decode("utf-8", "replace")
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def free_path(path: Path) -> Path:
    """Return `path`, or if that exists, the first one with a number appended to its stem."""
    number = 2
    free = path
    while free.exists():
        free = path.with_name(f"{path.stem}-{number}{path.suffix}")
        number += 1
    return free
