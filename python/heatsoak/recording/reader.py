"""Reads recordings, finished or cut, and gives the same frames of both."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import polars as pl
from pydantic import ValidationError

from heatsoak.errors import UsageError
from heatsoak.recording.columns import schema_of
from heatsoak.recording.journal import scan_journal, whole_lines
from heatsoak.recording.layout import EVENTS, JOURNAL, META, PARQUET
from heatsoak.recording.meta import Event, RecordingMeta

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
        try:
            meta = RecordingMeta.model_validate_json(file.read_bytes())
            schema_of(meta.columns)
        except OSError as error:
            raise UsageError(f"{file}: cannot be read: {error.strerror}") from error
        except KeyError as error:
            raise UsageError(f"{file}: columns: {error} is no column of a recording") from error
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(str(part) for part in first["loc"])
            raise UsageError(f"{file}: {key + ': ' if key else ''}{first['msg']}") from error
        if not any((path / name).exists() for name in (PARQUET, JOURNAL)):
            raise UsageError(f"{path}: has no samples: {PARQUET} or {JOURNAL} is missing")
        return cls(path, meta)

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
        if self._rows() > MOST_ROWS:
            raise UsageError(
                f"{self.path}: claims {self._rows():,} samples: no recording has over "
                f"{MOST_ROWS:,}, so its {PARQUET} is damaged or no recording's"
            )
        schema = schema_of(self.meta.columns)
        wanted = schema_of(columns) if columns is not None else schema
        present = [name for name in dict.fromkeys(("t_s", *wanted)) if name in schema]
        if (self.path / PARQUET).exists():
            frame = pl.scan_parquet(self.path / PARQUET)
        else:
            frame = scan_journal(self.path / JOURNAL, schema)
        with self._saying_what_is_damaged():
            # to sort what is sorted would hold all of it in memory
            if not self._is_sorted(frame):
                frame = frame.sort("t_s", maintain_order=True)
        missing = [pl.lit(None, dtype=t).alias(n) for n, t in wanted.items() if n not in schema]
        return frame.select(present).with_columns(missing).select(*wanted)

    def _rows(self) -> int:
        """How many samples the Parquet file says it has; 0 where there is none."""
        if not (self.path / PARQUET).exists():
            return 0
        with self._saying_what_is_damaged():
            return int(pl.scan_parquet(self.path / PARQUET).select(pl.len()).collect().item())

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
