"""Watches one run of fio: its status stream, heartbeats, and how it ended."""

import errno
import os
import signal
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from heatsoak import fio, writing
from heatsoak.errors import ToolError, saying
from heatsoak.target import base
from heatsoak.target.fio.command import job_name
from heatsoak.target.fio.lane import Lane, Stalls
from heatsoak.target.fio.process import FioProcess

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
