"""Reads recordings, finished or cut, and gives the same frames of both."""

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import polars as pl
from pydantic import ValidationError

from heatsoak.errors import UsageError
from heatsoak.files import read_regular, require_file
from heatsoak.output import utf8_text
from heatsoak.recording.columns import schema_of
from heatsoak.recording.files import MOST_META_BYTES, sha256_of
from heatsoak.recording.journal import scan_journal, whole_lines
from heatsoak.recording.meta import EVENTS, JOURNAL, LONGEST_S, META, PARQUET, Event, RecordingMeta

#: The first interval may have begun so long before the recording: a sensor's, or a logger's.
_EARLY_S = 600.0
#: No rate, temperature or count is beyond, in its unit, and squares of them are numbers still.
_GREATEST = 1e18

#: A file of 1 MB may claim any number of samples: 100 days at 10 Hz are believed.
MOST_ROWS = 100_000_000
#: Samples times columns that are held at once, of 8 bytes: 10 days at 10 Hz of 15 columns.
MOST_VALUES = 130_000_000


def find_recordings(path: Path) -> list["Recording"]:
    """Return the recording at `path`, or all that lie below it, in the order of their names.

    Raises UsageError where there is none.
    """
    if not path.exists():
        raise UsageError(f"{path}: there is no such file or directory")
    if path.name == META:
        path = path.parent
    if (path / META).exists():
        return [Recording.open(path)]
    if not path.is_dir():
        raise UsageError(f"{path}: is not a recording: name its directory")
    found = sorted(path.rglob(META))
    if not found:
        raise UsageError(f"{path}: holds no recording (a directory with {META})")
    return [Recording.open(file.parent) for file in found]


@dataclass(frozen=True)
class Recording:
    """A recording on disk; samples are read when asked for."""

    path: Path
    meta: RecordingMeta

    @classmethod
    def open(cls, path: Path) -> "Recording":
        """Open the recording in directory `path`; raises UsageError for a broken one."""
        file = path / META
        require_file(file)
        try:
            meta = RecordingMeta.model_validate_json(read_regular(file, MOST_META_BYTES))
            schema_of(meta.columns)
        except OSError as error:
            raise UsageError(f"{file}: cannot be read: {error.strerror}") from error
        except KeyError as error:
            raise UsageError(f"{file}: columns: {error} is no column of a recording") from error
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(str(part) for part in first["loc"])
            raise UsageError(f"{file}: {key + ': ' if key else ''}{first['msg']}") from error
        for name in (EVENTS, JOURNAL, PARQUET):
            require_file(path / name)
        for name in ("t_s", "step"):
            if name not in meta.columns:
                raise UsageError(f"{file}: columns: {name} is missing")
        if not any((path / name).exists() for name in (PARQUET, JOURNAL)):
            raise UsageError(f"{path}: has no samples: {PARQUET} or {JOURNAL} is missing")
        return cls(path, meta)

    @property
    def path_text(self) -> str:
        """The path as text for documents."""
        return utf8_text(str(self.path))

    def samples(self, columns: Iterable[str] | None = None) -> pl.DataFrame:
        """Return the samples in the order of time, of all columns or only those asked for.

        A column that was never announced comes back as nulls.
        """
        frame = self.scan(columns)
        with self._saying_what_is_damaged():
            width = len(frame.collect_schema())
            if self._rows() * width > MOST_VALUES:
                raise UsageError(
                    f"{self.path}: {self._rows():,} samples of {width} columns are more than are "
                    f"held at once ({MOST_VALUES:,} values): 'heatsoak export' writes "
                    "them as CSV, which can be split"
                )
            return frame.collect()

    def scan(self, columns: Iterable[str] | None = None) -> pl.LazyFrame:
        """Return what :meth:`samples` does, to be collected in streaming.

        Parquet that is damaged within raises polars' error when it is collected.
        """
        schema = schema_of(self.meta.columns)
        wanted = schema_of(columns) if columns is not None else schema
        present = [name for name in dict.fromkeys(("t_s", *wanted)) if name in schema]
        frame = self._source(schema)
        with self._saying_what_is_damaged():
            # to sort what is sorted would hold all of it in memory
            if not self._is_sorted(frame):
                frame = frame.sort("t_s", maintain_order=True)
        missing = [pl.lit(None, dtype=t).alias(n) for n, t in wanted.items() if n not in schema]
        return frame.select(present).with_columns(missing).select(*wanted)

    def _source(self, schema: dict[str, type[pl.DataType]]) -> pl.LazyFrame:
        """Return all samples as they lie there, with the columns and types of `schema`."""
        path = self.path / PARQUET
        if not path.exists():
            return _cleaned(scan_journal(self.path / JOURNAL, schema), schema)
        with self._saying_what_is_damaged():
            if not self.is_as_recorded and (why := _why_undecodable(path)) is not None:
                raise UsageError(f"{path}: is damaged: {why}")
            if self._rows() > MOST_ROWS:
                raise UsageError(
                    f"{path}: claims {self._rows():,} samples, and no recording has over "
                    f"{MOST_ROWS:,}: it is damaged"
                )
            frame = _scan_parquet(path)
            if self.is_as_recorded:
                return frame.select(*schema)
            _require_columns(path, frame, schema)
            return _cleaned(frame, schema)

    @property
    def is_as_recorded(self) -> bool:
        """Whether the Parquet file is known to be the one that was written."""
        path = self.path / PARQUET
        if self.meta.samples_sha256 is None:
            return False
        status = path.stat()
        return _sha256_of(path, status.st_mtime_ns, status.st_size) == self.meta.samples_sha256

    def _rows(self) -> int:
        """How many samples the Parquet file says it has; 0 where there is none."""
        if not (self.path / PARQUET).exists():
            return 0
        with self._saying_what_is_damaged():
            return int(_scan_parquet(self.path / PARQUET).select(pl.len()).collect().item())

    @property
    def was_changed(self) -> bool:
        """Whether the Parquet file is another than the one that was written."""
        told = self.meta.samples_sha256 is not None and (self.path / PARQUET).exists()
        return told and not self.is_as_recorded

    def _is_sorted(self, frame: pl.LazyFrame) -> bool:
        """Whether the samples lie in the order of time; Parquet never changes: asked once."""
        path = self.path / PARQUET
        if path not in self._sorted:
            is_sorted = bool(frame.select(pl.col("t_s").is_sorted()).collect().item())
            if not path.exists():
                return is_sorted
            self._sorted[path] = is_sorted
        return self._sorted[path]

    @cached_property
    def _sorted(self) -> dict[Path, bool]:
        return {}

    @contextmanager
    def _saying_what_is_damaged(self) -> Iterator[None]:
        try:
            yield
        except (pl.exceptions.PolarsError, OSError) as error:
            name = PARQUET if (self.path / PARQUET).exists() else JOURNAL
            text = str(error).splitlines()[0]
            raise UsageError(f"{self.path / name}: is damaged: {text}") from error

    @cached_property
    def events(self) -> list[Event]:
        """The events, leaving out lines that were cut or damaged."""
        events = []
        for line in whole_lines(self.path / EVENTS):
            try:
                events.append(Event.model_validate_json(line))
            except ValidationError:
                continue
        return events

    @property
    def was_cut(self) -> bool:
        """Whether it was never finished: killed, out of power, or still running."""
        return self.meta.status == "running"


def _require_columns(path: Path, frame: pl.LazyFrame, schema: dict[str, type[pl.DataType]]) -> None:
    """Raise UsageError where a column is missing, or holds something else than it should."""
    there = frame.collect_schema()
    for name, dtype in schema.items():
        if name not in there:
            raise UsageError(f"{path}: lacks the column {name}, which {META} announces")
        given = there[name]
        if given not in (dtype, pl.Null) and not (dtype.is_numeric() and given.is_numeric()):
            raise UsageError(f"{path}: the column {name} holds {given}, and should {dtype()}")


def _cleaned(frame: pl.LazyFrame, schema: dict[str, type[pl.DataType]]) -> pl.LazyFrame:
    """Return the columns of `schema` without what cannot have been recorded.

    Numbers that no drive or sensor can give become nulls, and intervals that began before the
    recording; rows without a time that a recording can have are left out.
    """
    columns = (pl.col(name).cast(dtype, strict=False) for name, dtype in schema.items())
    floats = pl.col(pl.Float64)
    kept = (
        frame.select(columns)
        .with_columns(pl.when(floats.is_between(-_GREATEST, _GREATEST)).then(floats).name.keep())
        .filter(pl.col("t_s").is_between(-LONGEST_S, LONGEST_S))
    )
    if "interval_s" not in schema:
        return kept
    interval_s = pl.col("interval_s")
    began = interval_s.is_between(0, pl.max_horizontal(pl.col("t_s"), 0) + _EARLY_S)
    return kept.with_columns(pl.when(began).then(interval_s).name.keep())


@lru_cache(maxsize=1024)
def _sha256_of(path: Path, _mtime_ns: int, _size: int) -> str:
    return sha256_of(path)


#: Read in a process of its own, which damage may end: polars panics on it, or aborts.
_TRIAL = f"""
import sys
import polars as pl
try:
    with open(sys.argv[1], "rb") as file:
        frame = pl.scan_parquet(file)
    # more are refused by their number alone
    if frame.select(pl.len()).collect().item() <= {MOST_ROWS}:
        frame.select(pl.all().max()).collect(engine="streaming")
except (pl.exceptions.PolarsError, OSError) as error:
    print(str(error).splitlines()[0])
    sys.exit(1)
"""


def _why_undecodable(path: Path) -> str | None:
    """Return why polars cannot read a Parquet file; None where it can."""
    status = path.stat()
    return _undecodable(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=1024)
def _undecodable(path: Path, _mtime_ns: int, _size: int) -> str | None:
    words = [sys.executable, "-c", _TRIAL, os.fspath(path)]
    done = subprocess.run(words, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode == 0:
        return None
    said = done.stdout.decode("utf-8", "replace").strip()
    return said or "it cannot be decoded"


def _scan_parquet(path: Path) -> pl.LazyFrame:
    """Return what is in the file, whatever it is called: its name is no pattern and no URL."""
    path = path.absolute()  # polars takes what begins with file: for a URL
    try:
        str(path).encode()
    except UnicodeEncodeError:
        # polars knows no such names; open files are few, so others are opened when they are read
        with path.open("rb") as file:
            return pl.scan_parquet(file)
    return pl.scan_parquet(path, glob=False)
