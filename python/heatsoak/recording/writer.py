"""Which recording somebody is writing: its events are locked until the writer closes or dies."""

import json
import math
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Any

import polars as pl

from heatsoak.errors import ToolError, UsageError
from heatsoak.recording.columns import schema_of
from heatsoak.recording.files import (
    as_system_error,
    cannot_write,
    check_way,
    put_in_place,
    reserve,
    saying_that_it_cannot_be_written,
    sha256_of,
)
from heatsoak.recording.journal import scan_journal
from heatsoak.recording.meta import (
    EVENTS,
    JOURNAL,
    META,
    PARQUET,
    RAW,
    RESERVE,
    Event,
    RecordingMeta,
    Status,
)


def hold(events: FileIO) -> bool:
    """Lock the open file of events; return False where another process has."""
    try:
        import fcntl
    except ImportError:  # Windows, where nothing is run, only imported
        return True
    try:
        fcntl.flock(events.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # a file system that knows no locks
    return True


def is_written(directory: Path) -> bool:
    """Whether a process that lives writes a recording in `directory`."""
    try:
        if not (directory / EVENTS).is_file():
            return False  # to open a pipe would wait for its writer
        with (directory / EVENTS).open("rb", buffering=0) as events:
            return not hold(events)
    except OSError:
        return False


SYNC_INTERVAL_S = 1.0


class RecordingWriter:
    """Writes one recording into `directory`, which must be new or empty.

    With `goes_on` it writes on one that :func:`heatsoak.recording.reopen` has made ready.
    Samples and events may come from several threads.
    Raises UsageError where something stands in the directory already, ToolError where it
    cannot be written (disk full, for one).
    """

    def __init__(self, directory: Path, meta: RecordingMeta, *, goes_on: bool = False) -> None:
        self.directory = directory
        self.meta = meta.model_copy(update={"samples_sha256": None})
        self._schema = schema_of(meta.columns)
        self._lock = threading.Lock()
        self._closed = threading.Event()
        check_way(directory)
        with saying_that_it_cannot_be_written(directory):
            directory.mkdir(parents=True, exist_ok=True)
            if not goes_on and any(directory.iterdir()):
                raise UsageError(f"{directory}: is not empty: name a new directory with -o")
            # what says that a recording is here comes last: where it is, all of it is
            self._journal: FileIO = (directory / JOURNAL).open("ab", buffering=0)
            self._events: FileIO = (directory / EVENTS).open("ab", buffering=0)
            hold(self._events)
            reserve(directory / RESERVE)
            self._write_meta()
        self._syncer = threading.Thread(target=self._sync_forever, name="journal-sync", daemon=True)
        self._syncer.start()

    def append(self, samples: pl.DataFrame) -> None:
        """Append samples; columns that the recording did not announce raise KeyError."""
        if samples.is_empty():
            return
        for name in samples.columns:
            if name not in self._schema:
                raise KeyError(f"{name} is no column of this recording")
        self._write(self._journal, samples.write_ndjson().encode())

    def append_row(self, row: Mapping[str, float | str | None]) -> None:
        """Append one sample, leaving out what is None or no finite number."""
        known = {name: value for name, value in row.items() if _is_known(value)}
        line = json.dumps(known, separators=(",", ":"))  # as a frame's lines are written
        self._write(self._journal, line.encode() + b"\n")

    def event(self, event: Event) -> None:
        """Append an event."""
        line = event.model_dump_json(exclude_defaults=True)
        self._write(self._events, line.encode() + b"\n")

    def update(self, **changes: Any) -> None:
        """Change fields of `recording.json`, atomically."""
        self.meta = self.meta.model_copy(update=changes)
        self._write_meta()

    def raw_directory(self) -> Path:
        """Return the directory for the output of tools, made if need be."""
        path = self.directory / RAW
        path.mkdir(exist_ok=True)
        return path

    def finish(
        self,
        status: Status,
        duration_s: float,
        reason: str | None = None,
        *,
        samples: pl.DataFrame | None = None,
        **changes: Any,
    ) -> None:
        """Close the recording, turning the journal into Parquet.

        `samples` stand there instead of the journal's, where they were worked over after the end;
        `changes` are of `recording.json`, and come with the status. Raises ToolError where the
        disk is full: the journal stays then, and is read as well as Parquet.
        """
        with saying_that_it_cannot_be_written(self.directory):
            self.close()
            try:
                if samples is None:
                    journal_to_parquet(self.directory, self.meta)
                else:
                    _to_parquet(self.directory, samples.lazy())
                changes["samples_sha256"] = sha256_of(self.directory / PARQUET)
            except KeyboardInterrupt:
                # polars heeds the signal in every thread, and may do so more than once: the
                # journal stays, and how the run ended is said all the same
                self.update(status=status, reason=reason, duration_s=duration_s)
                if status != "interrupted":
                    raise
                return
            except OSError as error:
                if status == "finished":
                    told = cannot_write(self.directory, error)
                    self._end("failed", str(told), duration_s)
                    raise told from error
                self._end(status, reason, duration_s)
                raise
            self.update(status=status, reason=reason, duration_s=duration_s, **changes)
            for name in (JOURNAL, RESERVE):
                (self.directory / name).unlink(missing_ok=True)

    def _end(self, status: Status, reason: str | None, duration_s: float) -> None:
        """Say how it ended although there is no room for Parquet, where that can be done."""
        self._use_reserve()
        with suppress(ToolError):
            self.update(status=status, reason=reason, duration_s=duration_s)

    def _use_reserve(self) -> None:
        with suppress(OSError):
            (self.directory / RESERVE).unlink(missing_ok=True)

    def close(self) -> None:
        """Stop writing and leave everything as it is, to be read as a cut recording."""
        self._closed.set()
        if self._syncer.is_alive() and self._syncer is not threading.current_thread():
            self._syncer.join()
        with self._lock:
            for file in (self._journal, self._events):
                if not file.closed:
                    try:
                        os.fsync(file.fileno())
                    finally:
                        file.close()

    def __enter__(self) -> "RecordingWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _write(self, file: FileIO, data: bytes) -> None:
        with self._lock:
            rest = memoryview(data)
            try:
                while rest:
                    rest = rest[file.write(rest) :]
            except OSError as error:
                with suppress(OSError):
                    # what follows once there is room again must not go on in the midst of a line
                    cut = len(data) - len(rest)
                    os.ftruncate(file.fileno(), os.fstat(file.fileno()).st_size - cut)
                self._use_reserve()
                raise cannot_write(self.directory, error) from error

    def _write_meta(self) -> None:
        with (
            saying_that_it_cannot_be_written(self.directory),
            put_in_place(self.directory / META) as partial,
        ):
            partial.write_bytes(self.meta.model_dump_json(indent=1).encode() + b"\n")

    def _sync_forever(self) -> None:
        while not self._closed.wait(SYNC_INTERVAL_S):
            for file in (self._journal, self._events):
                try:
                    # without the lock: a slow disk must not hold up the measurement
                    os.fsync(file.fileno())
                except (OSError, ValueError):
                    return  # the next append meets the same fault and reports it


def _is_known(value: float | str | None) -> bool:
    return value is not None and (isinstance(value, str) or math.isfinite(value))


def journal_to_parquet(directory: Path, meta: RecordingMeta) -> None:
    """Write `samples.parquet` from the journal, in streaming, and sync it."""
    _to_parquet(directory, scan_journal(directory / JOURNAL, schema_of(meta.columns)))


def _to_parquet(directory: Path, frame: pl.LazyFrame) -> None:
    with (
        put_in_place(directory / PARQUET) as partial,
        as_system_error(directory),
        partial.open("wb") as file,
    ):
        frame.sink_parquet(file, compression="zstd")
