"""The fio of this machine: what it can do, and one run of it, watched to its end.

It runs in a process group of its own, and ends with us, within seconds. Its status stream becomes
samples, with heartbeats in between.
"""

import ctypes
import errno
import fcntl
import os
import re
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from heatsoak import fio, tools, writing
from heatsoak.errors import ToolError, saying
from heatsoak.target import base
from heatsoak.target.fio.command import job_name
from heatsoak.target.fio.lane import Lane, Stalls

#: The oldest supported fio: its documents have bins of the total latency (``lat_percentiles``
#: with ``json+``), and it has the nbd engine.
OLDEST = (3, 20)

#: The program that makes fio end with us, and what installs it.
ENDS_WITH_US = ("setpriv", "util-linux")
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


class FioProcess(base.Closing):
    """Starts fio and reads its output.

    The kernel kills fio when the *thread* that started it ends for any reason, so start it from the
    thread that reads it to the end, usually the main one.
    """

    def __init__(self, command: Sequence[str], keep_fds: Sequence[int], stderr: IO[bytes]) -> None:
        """Start `command`; raises ToolError if that fails."""
        self._stderr = stderr
        with saying("fio cannot be started"):
            self._process = subprocess.Popen(
                [tools.find_tool(*ENDS_WITH_US), "--pdeathsig", "KILL", "--", *command],
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
        with suppress(OSError):
            fcntl.fcntl(self._out, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)

    def is_stopped(self) -> bool:
        """Whether it was stopped, as by Ctrl-Z in a shell."""
        try:
            stat = Path(f"/proc/{self._process.pid}/stat").read_text("utf-8", "replace")
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
        which = f"fio (process {self._process.pid})"
        raise ToolError(f"{which} cannot be killed: the kernel is waiting for the drive")

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
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(FAREWELL_S)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)


# --- one run of it -------------------------------------------------------------------------------

#: fio prints a line or two of text between documents.
_LONGEST_TEXT = 1_000_000


class Splitter:
    """Splits a byte stream into JSON documents.

    fio indents its documents, so only the closing brace of one is at the start of a line.
    """

    def __init__(self, largest_bytes: int = fio.MAX_DOCUMENT) -> None:
        """Refuse documents over `largest_bytes`."""
        self._largest_bytes = largest_bytes
        self._rest = bytearray()
        self._searched = 0

    def feed(self, piece: bytes) -> Iterator[dict[str, Any]]:
        """Yield the documents that `piece` completes.

        Raises ToolError if the stream cannot be fio's; the documents before are valid.
        """
        self._rest += piece
        while True:
            end = self._rest.find(b"\n}", self._searched)
            if end < 0:
                break
            document = bytes(self._rest[: end + 2])
            del self._rest[: end + 2]
            self._searched = 0
            yield _parse(document)
        self._searched = max(len(self._rest) - 1, 0)
        has_started = b"{" in self._rest
        if not has_started and len(self._rest) > _LONGEST_TEXT:
            raise ToolError("fio's status stream is not JSON: is there another program named fio?")
        if len(self._rest) > self._largest_bytes:
            raise ToolError(
                f"fio's status stream has a document of over {self._largest_bytes} bytes"
            )

    def finish(self) -> None:
        """End the stream; raises ToolError if it ends within a document."""
        if b"{" in self._rest:
            raise ToolError("fio's status stream ended in the middle of a document")


def _parse(document: bytes) -> dict[str, Any]:
    """Parse the document at the end of `document`, which may have text before it."""
    start = document.find(b"{")
    if start > 0 and document[start - 1 : start] != b"\n":
        own_line = document.rfind(b"\n{")
        start = own_line + 1 if own_line >= 0 else start
    if start < 0:
        raise ToolError("fio's status stream has unbalanced braces")
    try:
        parsed = fio.json_of(document[start:], b"0")
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict):
        raise ToolError("fio's status stream has a document that is not valid JSON")
    return parsed


class FioWatch:
    """One run of fio for one step, on one or several targets."""

    def __init__(self, *lanes: Lane) -> None:
        """Prepare to follow `lanes`; fio's standard error goes to the last one's `raw_dir`."""
        self._lanes = lanes
        self._splitter = Splitter()

    @property
    def status(self) -> fio.FioStatus | None:
        """The first lane's newest status."""
        return self._lanes[0].status

    def batches(
        self, command: Sequence[str], keep_fds: Sequence[int]
    ) -> Iterator[base.NumberedBatch]:
        """Run `command`, yielding a row for each status, and heartbeats in between.

        Each comes with the number of its lane. Raises ToolError however fio fails; fio has ended
        when this ends.
        """
        last = self._lanes[-1]
        with ExitStack() as stack:
            stderr = stack.enter_context(_stderr_file(last.raw_dir, last.name))
            process = stack.enter_context(FioProcess(command, keep_fds, stderr))
            for lane in self._lanes:
                lane.start()
            try:
                yield from self._follow(process)
                self._judge(process.wait(), process.complaint())
            except ToolError:
                self._keep_documents()
                raise
            except BaseException:
                self._stop(process)
                self._keep_documents()
                raise
            for number, (lane, kept) in enumerate(
                zip(self._lanes, self._keep_documents(), strict=True)
            ):
                if isinstance(kept, base.Note):
                    yield number, kept
                yield number, lane.summary(kept)
                yield number, lane.outcome()

    def _follow(self, process: FioProcess) -> Iterator[base.NumberedBatch]:
        first = self._lanes[0]
        stalls = Stalls(first.where, first.rest_s, process.is_stopped)
        for piece in process.pieces(base.BEAT_S):
            is_silent = True
            for document in self._splitter.feed(piece) if piece else ():
                for number, lane in enumerate(self._lanes):
                    sample = lane.take(document)
                    if sample is not None:
                        is_silent = False
                        yield number, sample
            if is_silent:
                yield 0, base.HEARTBEAT
            moved = sum(lane.status.bytes for lane in self._lanes if lane.status is not None)
            yield from base.numbered(0, stalls.look(moved))
        yield from base.numbered(0, stalls.end())
        for number, lane in enumerate(self._lanes):
            sample = lane.held_back()
            if sample is not None:
                yield number, sample

    def _judge(self, exit_code: int, complaint: str) -> None:
        where = self._lanes[0].where
        because = f": {complaint}" if complaint else ""
        if exit_code < 0:
            try:
                name = signal.Signals(-exit_code).name
            except ValueError:
                name = f"signal {-exit_code}"
            raise ToolError(f"{where}: fio was killed by {name}")
        for lane in self._lanes:
            if lane.status is not None and lane.status.error:
                on = f" on the {lane.job}" if lane.job is not None else ""
                reason = _reason(lane.status.error)
                raise ToolError(f"{where}: fio reported an I/O error{on}{reason}{because}")
        if exit_code != 0:
            raise ToolError(f"{where}: fio ended with exit code {exit_code}{because}")
        self._splitter.finish()
        if any(lane.status is None for lane in self._lanes):
            raise ToolError(f"{where}: fio ended without a status document{because}")

    def _stop(self, process: FioProcess) -> None:
        """Stop fio because we are stopping, and keep its last document."""
        try:
            for document in self._splitter.feed(process.interrupt()):
                for lane in self._lanes:
                    lane.see(document)
        except ToolError:
            return  # the run is already ending for another reason

    def _keep_documents(self) -> list[Path | base.Note | None]:
        return [lane.keep_document() for lane in self._lanes]


@contextmanager
def _stderr_file(raw_dir: Path | None, step: str) -> Iterator[IO[bytes]]:
    """Open a file for fio's standard error, which is kept in `raw_dir` unless it is empty."""
    if raw_dir is None:
        with tempfile.TemporaryFile() as file:
            yield file
        return
    with saying(f"{raw_dir}: cannot be written"):
        file = writing.numbered_file(raw_dir / f"{job_name(step)}.stderr")
    with file:
        try:
            yield file
        finally:
            if os.fstat(file.fileno()).st_size == 0:
                Path(file.name).unlink(missing_ok=True)


def _reason(error: int) -> str:
    """The text of fio's error number; fio prints some negative ones as large unsigned ones."""
    low = error & 0xFFFF_FFFF
    number = low if low < 1 << 31 else (1 << 32) - low
    # -1 comes from a failing library, and is not a system error
    return "" if number == errno.EPERM else f", '{os.strerror(number)}'"
