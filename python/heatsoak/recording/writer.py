"""Writes a recording, with a lock on its events that shows that somebody is writing it.

It says whether a recording's files are what was written, and whether a user may write a file.

While it is written, its samples are a journal: JSON lines, of which the last may be incomplete.
`recording.json` has the SHA-256 of the samples, of the events, and of itself; before there is one,
the journal has that of each block of its lines. That shows damage and mix-ups; it is no signature.
"""

import hashlib
import json
import math
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from io import BytesIO, FileIO
from pathlib import Path
from typing import Any, TypeGuard

import polars as pl

from heatsoak import system, writing
from heatsoak.errors import ToolError, UsageError
from heatsoak.files import open_regular, read_regular
from heatsoak.recording.columns import schema_of
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

Schema = dict[str, type[pl.DataType]]


#: The column of lines that are no samples, but seal those before.
_SEAL = "sha256"


def scan_journal(path: Path, schema: Schema) -> pl.LazyFrame:
    """Return the journal's complete lines, without an incomplete last line.

    Lines damaged by a power loss are skipped.
    """
    size = _whole_size(path)
    if size == 0:
        return pl.LazyFrame(schema=schema)
    # opened here, since polars could take a path for a pattern or a URL
    with open_regular(path) as file:
        is_whole = size == os.fstat(file.fileno()).st_size
        known: Schema = {**schema, _SEAL: pl.String}
        frame = pl.scan_ndjson(file if is_whole else BytesIO(file.read(size)), schema=known)
    samples = frame.filter(pl.col(_SEAL).is_null()).drop(_SEAL)
    return _salvaged(path, schema) if _is_damaged(samples) else samples


def whole_lines(path: Path) -> Iterator[bytes]:
    """Yield the complete lines of a file; nothing without a file."""
    try:
        with open_regular(path) as file:
            yield from (line for line in file if line.endswith(b"\n"))
    except FileNotFoundError:
        return


def _salvaged(path: Path, schema: Schema) -> pl.LazyFrame:
    rows = []
    for line in whole_lines(path):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict) and _is_number(row.get("t_s")):
            rows.append({name: _typed(row.get(name), dtype) for name, dtype in schema.items()})
    return pl.LazyFrame(rows, schema=schema)


def _typed(value: object, dtype: type[pl.DataType]) -> float | str | None:
    """Return the value if a column of this type can hold it, else None."""
    if dtype == pl.String:
        whole = value.encode(errors="ignore").decode() if isinstance(value, str) else None
        return whole if whole == value else None  # a lone surrogate is no text
    if not _is_number(value):
        return None
    if dtype == pl.Int64:
        return int(value) if abs(value) < 2**63 else None
    return float(value)


def _is_number(value: object) -> TypeGuard[float]:
    """Whether it is a finite number that fits in a float; a bool is not."""
    try:
        return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]
    except OverflowError:
        return False  # an integer of hundreds of digits


def _is_damaged(frame: pl.LazyFrame) -> bool:
    try:
        # polars only decodes columns that are selected, so select all
        return bool(frame.select(pl.all().null_count()).collect()["t_s"].item())
    except (pl.exceptions.PolarsError, OSError):
        return True


def _whole_size(path: Path) -> int:
    """Number of bytes up to and including the last newline."""
    try:
        with open_regular(path) as file:
            end = file.seek(0, os.SEEK_END)
            while end > 0:
                start = max(0, end - 65536)
                file.seek(start)
                newline = file.read(end - start).rfind(b"\n")
                if newline >= 0:
                    return start + newline + 1
                end = start
    except FileNotFoundError:
        pass
    return 0


def lock_events(events: FileIO) -> bool:
    """Lock the open events file until it is closed; return False if another process has."""
    try:
        system.lock(events.fileno())
    except OSError as error:
        return not isinstance(error, BlockingIOError)  # it may be a file system without locks
    return True


def is_being_written(directory: Path) -> bool:
    """Whether a running process is writing a recording in `directory`."""
    try:
        if not (directory / EVENTS).is_file():
            return False  # opening a pipe would block
        with (directory / EVENTS).open("rb", buffering=0) as events:
            return not lock_events(events)
    except OSError:
        return False


SYNC_INTERVAL_S = 1.0


class RecordingWriter:
    """Writes one recording to `directory`, which must be new or empty.

    With `resumed` it continues one that :func:`heatsoak.bench.resume.reopen` has prepared.
    Samples and events may come from several threads.
    Raises UsageError if the directory is not empty, ToolError if it cannot be written (for example
    because the disk is full).
    """

    def __init__(self, directory: Path, meta: RecordingMeta, *, resumed: bool = False) -> None:
        self.directory = directory
        self.meta = meta.model_copy(update=NO_CHECKSUMS)
        self._schema = schema_of(meta.columns)
        self._lock = threading.Lock()
        self._seal = JournalSeal()
        self._closed = threading.Event()
        writing.require_creatable(directory)
        with (
            writing.reporting_write_errors(directory),
            writing.made(directory),
            writing.Directory(directory) as place,
            ExitStack() as undo,
        ):
            if not resumed and any(directory.iterdir()):
                raise UsageError(f"{directory}: is not empty: name a new directory with -o")
            # recording.json comes last: where it exists, the recording is complete
            self._journal: FileIO = place.append(JOURNAL)
            if resumed:
                self._seal = JournalSeal.going_on(directory / JOURNAL)
            self._events: FileIO = place.append(EVENTS)
            if lock_events(self._events) and not resumed:
                undo.callback(self._remove_begun)
            place.reserve(RESERVE)
            write_meta(self.directory, self.meta)
            undo.pop_all()
        self._syncer = threading.Thread(target=self._sync_forever, name="journal-sync", daemon=True)
        self._syncer.start()

    def _remove_begun(self) -> None:
        """Remove what could not become a recording."""
        self._journal.close()
        self._events.close()
        for name in (JOURNAL, RESERVE, EVENTS):
            with suppress(OSError):
                system.remove(self.directory / name)

    def append(self, samples: pl.DataFrame) -> None:
        """Append samples; raises KeyError for columns that the recording does not have."""
        if samples.is_empty():
            return
        for name in samples.columns:
            if name not in self._schema:
                raise KeyError(f"{name} is not a column of this recording")
        self._write(self._journal, samples.write_ndjson().encode())

    def append_row(self, row: Mapping[str, float | str | None]) -> None:
        """Append one sample, leaving out values that are None or not finite."""
        given = {name: value for name, value in row.items() if value is not None}
        known = {n: v for n, v in given.items() if isinstance(v, str) or math.isfinite(v)}
        line = json.dumps(known, separators=(",", ":"))  # the same form as append writes
        self._write(self._journal, line.encode() + b"\n")

    def event(self, event: Event) -> None:
        """Append an event."""
        line = event.model_dump_json(exclude_defaults=True)
        self._write(self._events, line.encode() + b"\n")

    def update(self, **changes: Any) -> None:
        """Change fields of `recording.json`, atomically."""
        self.meta = self.meta.model_copy(update=changes)
        with writing.reporting_write_errors(self.directory):
            write_meta(self.directory, self.meta)

    def finish(
        self,
        status: Status,
        duration_s: float,
        reason: str | None = None,
        *,
        samples: pl.DataFrame | None = None,
        **changes: Any,
    ) -> None:
        """Close the recording and convert the journal to Parquet.

        `samples` replace the journal's, if they were processed after the end; `changes` to
        `recording.json` are written together with the status. Raises ToolError if the disk is full:
        then the journal stays, and can be read just like Parquet.
        """
        with system.uninterrupted(), writing.reporting_write_errors(self.directory):
            self.close()
            try:
                if samples is None:
                    journal_to_parquet(self.directory, self.meta)
                else:
                    _to_parquet(self.directory, samples.lazy())
                changes |= checksums(self.directory)
            except KeyboardInterrupt:
                # polars reacts to Ctrl-C in other threads too, maybe more than once: keep the
                # journal, and still record how the run ended
                was_stopped = status == "interrupted"
                if status == "finished":
                    status, reason = "interrupted", "stopped by the user"
                self.update(status=status, reason=reason, duration_s=duration_s)
                if not was_stopped:
                    raise
                return
            except OSError as error:
                if status == "finished":
                    failure = writing.write_error(self.directory, error)
                    self._end("failed", str(failure), duration_s)
                    raise failure from error
                self._end(status, reason, duration_s)
                raise
            self.update(status=status, reason=reason, duration_s=duration_s, **changes)
            for name in (JOURNAL, RESERVE):
                system.remove(self.directory / name)

    def _end(self, status: Status, reason: str | None, duration_s: float) -> None:
        """Record how the run ended although there is no space for Parquet, if possible."""
        self._use_reserve()
        with suppress(ToolError):
            self.update(status=status, reason=reason, duration_s=duration_s)

    def _use_reserve(self) -> None:
        with suppress(OSError):
            (self.directory / RESERVE).unlink(missing_ok=True)

    def close(self) -> None:
        """Stop writing and leave everything as it is, as a cut-off recording."""
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

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, file: FileIO, data: bytes) -> None:
        with self._lock:
            if file is self._journal:
                data, seal = self._seal.after(data)
            rest = memoryview(data)
            try:
                while rest:
                    rest = rest[file.write(rest) :]
            except OSError as error:
                with suppress(OSError):
                    # later writes, once there is space again, must not continue a partial line
                    cut = len(data) - len(rest)
                    os.ftruncate(file.fileno(), os.fstat(file.fileno()).st_size - cut)
                self._use_reserve()
                raise writing.write_error(self.directory, error) from error
            if file is self._journal:
                self._seal = seal

    def _sync_forever(self) -> None:
        while not self._closed.wait(SYNC_INTERVAL_S):
            for file in (self._journal, self._events):
                try:
                    # without the lock: a slow disk must not hold up the measurement
                    os.fsync(file.fileno())
                except (OSError, ValueError):
                    return  # the next append fails the same way and reports it


def journal_to_parquet(directory: Path, meta: RecordingMeta) -> None:
    """Write `samples.parquet` from the journal, in streaming, and sync it."""
    _to_parquet(directory, scan_journal(directory / JOURNAL, schema_of(meta.columns)))


def _to_parquet(directory: Path, frame: pl.LazyFrame) -> None:
    with writing.Directory(directory) as place, place.writing(PARQUET) as file:
        frame.sink_parquet(file, compression="zstd")


# --- whether files are what was written, and which a user may write ------------------------------

#: Hundreds of steps on a machine with hundreds of sensors take half a megabyte.
MAX_META_BYTES = 16 << 20
#: Ten events of 150 bytes per minute for a month.
MAX_EVENTS_BYTES = 64 << 20

_KEYS = {PARQUET: "samples_sha256", EVENTS: "events_sha256"}
#: The checksums of a recording that goes on.
NO_CHECKSUMS = dict.fromkeys((*_KEYS.values(), "meta_sha256"))


def checksums(directory: Path) -> dict[str, str | None]:
    """Return those of complete samples and events, as `recording.json` has them."""
    return {key: _sha256(directory / name) for name, key in _KEYS.items()}


def write_meta(directory: Path, meta: RecordingMeta) -> None:
    """Write `recording.json`, atomically, with its own checksum if it has those of other files."""
    ends = meta.events_sha256 is not None
    own = hashlib.sha256(_content(meta, "")).hexdigest() if ends else None
    writing.replace_file(directory / META, _content(meta, own))


class JournalSeal:
    """Seals a journal: a line after each block has the SHA-256 of the seal before and the block."""

    _PREFIX = b'{"sha256":"'
    _BLOCK_BYTES = 8 << 10

    def __init__(self, seal: bytes = b"") -> None:
        self._block, self._bytes = hashlib.sha256(seal), 0

    @classmethod
    def going_on(cls, path: Path) -> "JournalSeal":
        """Return what seals a journal that has no seals yet, with what is written to it next."""
        going = cls()
        with path.open("rb") as file:
            going._block = hashlib.file_digest(file, hashlib.sha256)
            going._bytes = file.tell()
        return going

    def after(self, lines: bytes) -> tuple[bytes, "JournalSeal"]:
        """Return what is written for more lines, with a seal if it is time for one, and what
        seals what comes then."""
        following = JournalSeal()
        following._block, following._bytes = self._block.copy(), self._bytes + len(lines)
        following._block.update(lines)
        if following._bytes < self._BLOCK_BYTES:
            return lines, following
        seal = following._block.hexdigest().encode()
        return lines + self._PREFIX + seal + b'"}\n', JournalSeal(seal)

    @classmethod
    def is_broken(cls, path: Path) -> bool:
        """Whether a line was changed after it was written; unknown of what a power loss damaged.

        Raises OSError.
        """
        block, is_damaged = hashlib.sha256(), False
        with open_regular(path) as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break  # cut off, or being written
                if line.startswith(cls._PREFIX):
                    seal = line[len(cls._PREFIX) :].partition(b'"')[0]
                    if not is_damaged and block.hexdigest().encode() != seal:
                        return True
                    block, is_damaged = hashlib.sha256(seal), False
                else:
                    block.update(line)
                    is_damaged |= not line.startswith(b"{") or b"\0" in line
        return False


def changes_of(directory: Path, meta: RecordingMeta) -> str | None:
    """Say that the recording in `directory` was changed after it was made, and what; else None.

    Nothing is known to be where it did not end, or an older version did not say. Raises OSError if
    a file cannot be read.
    """
    said = []
    for name, key in _KEYS.items():
        expected = getattr(meta, key)
        if expected is not None and not (directory / name).exists():
            said.append(f"{name} is missing")
        elif expected is not None and _sha256(directory / name) != expected:
            said.append(f"{name} is not what was recorded")
    if not (directory / PARQUET).exists() and JournalSeal.is_broken(directory / JOURNAL):
        said.append(f"{JOURNAL} is not what was recorded")
    own = meta.meta_sha256
    if own is not None or meta.events_sha256 is not None:
        content = read_regular(directory / META, MAX_META_BYTES)
        of_rest = content if own is None else content.replace(own.encode(), b"", 1)
        if hashlib.sha256(of_rest).hexdigest() != own:
            said.append(f"{META} is not what was recorded")
    return f"this recording was changed after it was made: {', '.join(said)}" if said else None


def _content(meta: RecordingMeta, own: str | None) -> bytes:
    """`recording.json`; its own checksum is of the file with nothing in that one's place."""
    whole = meta.model_copy(update={"meta_sha256": own})
    return whole.model_dump_json(indent=1).encode() + b"\n"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


#: Files that no output replaces, even when asked to.
_OWN = {META, JOURNAL, PARQUET, EVENTS}


def check_free(
    paths: Iterable[Path],
    *,
    force: bool,
    inputs: Iterable[Path] = (),
    makes_directories: bool = False,
) -> None:
    """Raise UsageError, before anything is written, if a path cannot or must not be written.

    With `force`, a regular file that is there may be replaced, unless it is a recording's own or
    one of the `inputs`: files that the command reads, or directories of logs. The directory of a
    file has to be there, unless the command `makes_directories`: a misspelt one is no other's.
    """
    read = [Path(os.path.realpath(path)) for path in inputs]
    logs = [path for path in read if path.is_dir() and next(path.rglob(META), None) is None]
    places: dict[Path, Path] = {}
    for path in paths:
        if writing.is_stream(path):
            continue
        writing.require_creatable(path)
        writing.require_regular(path)
        if not (makes_directories or path.parent.is_dir()):
            raise UsageError(
                f"{path}: there is no directory {path.parent}: make it, or name another"
            )
        with writing.reporting_write_errors(path):
            real = Path(os.path.realpath(path))
            own = [real.parent] if real.name in _OWN else []
            own += [place.parent for place in real.parents if place.name == RAW]
            if any((place / META).exists() for place in own):
                raise UsageError(f"{path}: is part of a recording: name another file with -o")
            if path.exists() and (real in read or any(real.is_relative_to(one) for one in logs)):
                raise UsageError(f"{path}: is what is read: name another file with -o")
            if path.exists() and not force:
                raise writing.already_there(path)
        places[real.parent] = path
    for place, path in places.items():
        writing.require_writable(place, path)
