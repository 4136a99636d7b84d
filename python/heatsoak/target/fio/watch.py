"""Watching one fio from start to end: its status stream, signs of life, and how it ended."""

import errno
import os
import re
import signal
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from pydantic_core import from_json

from heatsoak.errors import ToolError
from heatsoak.fio import FioStatus
from heatsoak.target.base import BEAT_S, HEARTBEAT, Batch, Note
from heatsoak.target.fio.command import job_name
from heatsoak.target.fio.lane import Lane, Stalls
from heatsoak.target.fio.process import FioProcess, free_path

#: A document of one group with all latency bins in use is about 100 kB.
LARGEST_DOCUMENT = 64_000_000
#: Text of fio's own between documents is a line or two.
_LONGEST_TEXT = 1_000_000

_NOT_A_NUMBER = re.compile(rb"(:\s*)-?(?:nan|inf)\b")


class Splitter:
    """Cuts bytes, in whatever pieces they arrive, into JSON documents.

    fio indents its documents, so only the brace that closes one stands at the start of a line.
    """

    def __init__(self, largest_bytes: int = LARGEST_DOCUMENT) -> None:
        """Refuse documents over `largest_bytes`."""
        self._largest_bytes = largest_bytes
        self._rest = bytearray()
        self._searched = 0

    def feed(self, piece: bytes) -> Iterator[dict[str, Any]]:
        """Yield the documents that `piece` completes.

        Raises ToolError where the stream cannot be fio's; the documents before stand.
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
        begun = b"{" in self._rest
        if not begun and len(self._rest) > _LONGEST_TEXT:
            raise ToolError("fio's status stream is not JSON: is there another program named fio?")
        if len(self._rest) > self._largest_bytes:
            raise ToolError(
                f"fio's status stream holds a document of over {self._largest_bytes} bytes"
            )

    def finish(self) -> None:
        """Say that the stream has ended; raises ToolError where that cut a document."""
        if b"{" in self._rest:
            raise ToolError("fio's status stream ended in the middle of a document")


def _parse(document: bytes) -> dict[str, Any]:
    """Return the document that ends `document`, whatever text stands before it."""
    start = document.find(b"{")
    if start > 0 and document[start - 1 : start] != b"\n":
        own_line = document.rfind(b"\n{")
        start = own_line + 1 if own_line >= 0 else start
    if start < 0:
        raise ToolError("fio's status stream has unbalanced braces")
    text = document[start:]
    for attempt in (text, _NOT_A_NUMBER.sub(rb"\g<1>0", text)):
        try:
            parsed = from_json(attempt)
        except ValueError:
            continue
        if isinstance(parsed, dict):
            return parsed
    raise ToolError("fio's status stream holds a document that is not valid JSON")


class FioWatch:
    """One run of fio for one step, on one place or on several at once."""

    def __init__(self, *lanes: Lane) -> None:
        """Prepare to follow `lanes`; fio's standard error is kept where the last one's raw is."""
        self._lanes = lanes
        self._splitter = Splitter()

    @property
    def status(self) -> FioStatus | None:
        """The first lane's newest status."""
        return self._lanes[0].status

    def batches(self, command: Sequence[str], keep_fds: Sequence[int]) -> Iterator[Batch]:
        """Run `command`, yielding a row for each status, and batches of no rows in between.

        Raises ToolError for every way in which fio can fail; fio is gone when this ends.
        """
        for _, batch in self.told(command, keep_fds):
            yield batch

    def told(self, command: Sequence[str], keep_fds: Sequence[int]) -> Iterator[tuple[int, Batch]]:
        """Do the same for several lanes: with each batch comes the number of its lane."""
        last = self._lanes[-1]
        with ExitStack() as stack:
            stderr = stack.enter_context(_stderr_file(last.raw_dir, last.load.name))
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
                self._hear_out(process)
                self._keep_documents()
                raise
            for number, (lane, kept) in enumerate(
                zip(self._lanes, self._keep_documents(), strict=True)
            ):
                if isinstance(kept, Note):
                    yield number, kept
                yield number, lane.summary(kept)
                yield number, lane.outcome()

    def _follow(self, process: FioProcess) -> Iterator[tuple[int, Batch]]:
        first = self._lanes[0]
        stalls = Stalls(first.where, first.load.rest_s, process.is_stopped)
        for piece in process.pieces(BEAT_S):
            is_silent = True
            for document in self._splitter.feed(piece) if piece else ():
                for number, lane in enumerate(self._lanes):
                    sample = lane.take(document)
                    if sample is not None:
                        is_silent = False
                        yield number, sample
            if is_silent:
                yield 0, HEARTBEAT
            moved = sum(lane.status.bytes for lane in self._lanes if lane.status is not None)
            for note in stalls.look(moved):
                yield 0, note
        for note in stalls.end():
            yield 0, note
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
                raise ToolError(f"{where}: fio met an I/O error{on}{reason}{because}")
        if exit_code != 0:
            raise ToolError(f"{where}: fio ended with exit code {exit_code}{because}")
        self._splitter.finish()
        if any(lane.status is None for lane in self._lanes):
            raise ToolError(f"{where}: fio ended without a status document{because}")

    def _hear_out(self, process: FioProcess) -> None:
        """End fio because we are to end; its last document is still worth keeping."""
        try:
            for document in self._splitter.feed(process.interrupt()):
                for lane in self._lanes:
                    lane.see(document)
        except ToolError:
            return  # the run is over for another reason already

    def _keep_documents(self) -> list[Path | Note | None]:
        return [lane.keep_document() for lane in self._lanes]


@contextmanager
def _stderr_file(raw_dir: Path | None, step: str) -> Iterator[IO[bytes]]:
    """Open where fio's standard error goes; kept in `raw_dir` unless there was none."""
    if raw_dir is None:
        with tempfile.TemporaryFile() as file:
            yield file
        return
    try:
        raw_dir.mkdir(parents=True, exist_ok=True)
        path = free_path(raw_dir / f"{job_name(step)}.stderr")
        file = path.open("x+b")
    except OSError as error:
        raise ToolError(f"{raw_dir}: cannot be written: {error.strerror}") from error
    with file:
        try:
            yield file
        finally:
            if os.fstat(file.fileno()).st_size == 0:
                path.unlink(missing_ok=True)


def _reason(error: int) -> str:
    """What fio's error number means; it prints some negative ones as large unsigned ones."""
    low = error & 0xFFFF_FFFF
    number = low if low < 1 << 31 else (1 << 32) - low
    # a library that fails tells fio -1, which is no number of the system's
    return "" if number == errno.EPERM else f", '{os.strerror(number)}'"
