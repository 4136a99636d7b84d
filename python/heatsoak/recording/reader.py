"""Reads recordings; finished and cut-off ones give the same frames, as do those in memory."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import polars as pl
from pydantic import ValidationError

from heatsoak import writing
from heatsoak.errors import ChangedError, UsageError
from heatsoak.files import read_regular, require_file
from heatsoak.identity import DriveIdentity
from heatsoak.output import utf8_text
from heatsoak.protocol import REPETITIONS
from heatsoak.recording import writer
from heatsoak.recording.columns import limits_c, schema_of
from heatsoak.recording.meta import EVENTS, JOURNAL, LONGEST_S, META, PARQUET, Event, RecordingMeta
from heatsoak.toml import explain
from heatsoak.words import listed

#: The first interval, of a sensor or a logger, may start up to this long before the recording.
_EARLY_S = 600.0
#: Larger than any rate, temperature or count in its unit, and its square is still finite.
_GREATEST = 1e18

#: So many copies are named.
_NAMED = 3

#: A file of 1 MB may claim any number of samples: the limit is 100 days at 10 Hz.
MAX_ROWS = 100_000_000
#: Samples times columns to load at once, of 8 bytes each: 10 days at 10 Hz of 15 columns.
MAX_VALUES = 130_000_000


def find_recordings(
    path: Path, on_broken: Callable[[UsageError], None] | None = None, *, damaged: bool = False
) -> list["Recording"]:
    """Return the recording at `path`, or all below it, sorted by name.

    Raises UsageError if there is none. With `on_broken`, those below `path` that cannot be read
    are left out, and it gets each one's error, as long as there are others. `damaged` is that of
    :meth:`Recording.open`.
    """
    if not path.exists():
        raise UsageError(f"{path}: there is no such file or directory")
    if path.name == META:
        path = path.parent
    if (path / META).exists():
        return [Recording.open(path, damaged=damaged)]
    if not path.is_dir():
        raise UsageError(f"{path}: is not a recording: name its directory")
    found = sorted(path.rglob(META))
    if not found:
        raise UsageError(f"{path}: has no recording in it (a directory with {META})")
    if on_broken is None:
        return [Recording.open(file.parent, damaged=damaged) for file in found]
    whole, broken = [], []
    for file in found:
        try:
            recording = Recording.open(file.parent, damaged=damaged)
            if recording.is_readable:
                recording.require_loadable()
            whole.append(recording)
        except UsageError as error:
            broken.append(error)
    if not whole:
        raise broken[0]
    for why in broken:
        on_broken(why)
    return whole


def without_copies(recordings: Sequence["Recording"]) -> tuple[list["Recording"], list[str]]:
    """Return each run once, and a sentence on recordings that are others' copies."""
    runs: dict[object, Recording] = {}
    copies = []
    for one in recordings:
        if (first := runs.setdefault(one.run, one)) is not one:
            again = "given twice" if one.path == first.path else f"a copy of {first.path_text}"
            copies.append(f"{one.path_text} is {again}")
    said = [f"the same run counts once: {listed(copies, _NAMED)}"] if copies else []
    return list(runs.values()), said


@dataclass(frozen=True)
class Recording:
    """A recording on disk; samples are read on demand.

    Attributes:
        reads_changed: whether samples and events are given even if it was changed.
    """

    path: Path
    meta: RecordingMeta
    reads_changed: bool = False

    @classmethod
    def open(cls, path: Path, *, damaged: bool = False) -> "Recording":
        """Open the recording in directory `path`; raises UsageError for a broken one.

        Samples and events of one that was changed after it was made are read only with `damaged`.
        """
        file = path / META
        require_file(file)
        try:
            meta = RecordingMeta.model_validate_json(read_regular(file, writer.MAX_META_BYTES))
            schema_of(meta.columns)
        except OSError as error:
            raise UsageError(f"{file}: cannot be read: {error.strerror}") from error
        except KeyError as error:
            raise UsageError(f"{file}: columns: {error} is not a recording's column") from error
        except ValidationError as error:
            raise UsageError(f"{file}: {explain(error, RecordingMeta)}") from error
        for name in (EVENTS, JOURNAL, PARQUET):
            require_file(path / name)
        for name in ("t_s", "step"):
            if name not in meta.columns:
                raise UsageError(f"{file}: columns: {name} is missing")
        if not any((path / name).exists() for name in (PARQUET, JOURNAL)):
            raise UsageError(f"{path}: has no samples: {PARQUET} or {JOURNAL} is missing")
        return cls(path, meta, damaged)

    @property
    def path_text(self) -> str:
        """The path as valid UTF-8."""
        return utf8_text(str(self.path))

    def samples(self, columns: Iterable[str] | None = None) -> pl.DataFrame:
        """Return the samples sorted by time, with all columns or only the given ones.

        A column that the recording does not have is all null.
        """
        frame = self._loadable(columns)
        with self._reporting_damage():
            return frame.collect()

    def require_loadable(self) -> None:
        """Raise UsageError if the samples are damaged, or too many to load at once."""
        self._loadable(None)

    def _loadable(self, columns: Iterable[str] | None) -> pl.LazyFrame:
        frame = self.scan(columns)
        with self._reporting_damage():
            width = len(frame.collect_schema())
            if self._rows() * width > MAX_VALUES:
                raise UsageError(
                    f"{self.path}: {self._rows():,} samples of {width} columns are too many to "
                    f"load at once (at most {MAX_VALUES:,} values): export them as CSV with "
                    "'heatsoak export' and split that"
                )
        return frame

    def frame(self, columns: Iterable[str] | None = None) -> pl.DataFrame:
        """Return the samples, as :meth:`samples` does: the name for notebooks."""
        return self.samples(columns)

    def scan(self, columns: Iterable[str] | None = None) -> pl.LazyFrame:
        """Return the same as :meth:`samples`, to be collected in streaming.

        If the Parquet file is damaged inside, collecting raises polars' error.
        """
        schema = schema_of(self.meta.columns)
        wanted = schema_of(columns) if columns is not None else schema
        present = [name for name in dict.fromkeys(("t_s", *wanted)) if name in schema]
        frame = self._source(schema)
        with self._reporting_damage():
            # sorting needs all of it in memory, so only sort if necessary
            order = frame.select(pl.col("t_s").is_sorted())
            is_parquet = (self.path / PARQUET).exists()
            if not (self._of_parquet("is_sorted", order) if is_parquet else order.collect().item()):
                frame = frame.sort("t_s", maintain_order=True)
        missing = [pl.lit(None, dtype=t).alias(n) for n, t in wanted.items() if n not in schema]
        return frame.select(present).with_columns(missing).select(*wanted)

    def _source(self, schema: dict[str, type[pl.DataType]]) -> pl.LazyFrame:
        """Return all samples in file order, with the columns and types of `schema`."""
        self.require_unchanged()
        path = self.path / PARQUET
        if not path.exists():
            return cleaned(writer.scan_journal(self.path / JOURNAL, schema), schema)
        with self._reporting_damage():
            is_as_recorded = self.meta.samples_sha256 is not None and self.changes is None
            if not is_as_recorded:
                status = path.stat()
                why = _undecodable(path, status.st_mtime_ns, status.st_size)
                if why is not None:
                    raise UsageError(f"{path}: is damaged: {why}")
            if self._rows() > MAX_ROWS:
                raise UsageError(
                    f"{path}: is damaged: it claims {self._rows():,} samples, more than the "
                    f"{MAX_ROWS:,} that a recording can have"
                )
            frame = _scan_parquet(path)
            if is_as_recorded:
                return frame.select(*schema)
            actual = frame.collect_schema()
            for name, dtype in schema.items():
                if name not in actual:
                    raise UsageError(f"{path}: the column {name}, which {META} lists, is missing")
                given, is_number = actual[name], dtype.is_numeric()
                if given not in (dtype, pl.Null) and not (is_number and given.is_numeric()):
                    raise UsageError(
                        f"{path}: the column {name} is {given}, but should be {dtype()}"
                    )
            return cleaned(frame, schema)

    @cached_property
    def changes(self) -> str | None:
        """That it was changed after it was made, and what; None if nothing is known to be."""
        with self._reporting_damage():
            return writer.changes_of(self.path, self.meta)

    @cached_property
    def identity(self) -> DriveIdentity:
        """Which drive it is of.

        Names are compared within one boot, and of logs among those that lie together.
        """
        meta = self.meta
        boot = None if meta.started_boot is None else meta.started_boot.id
        place = str(self.path.parent) if meta.protocol.is_observed else self.path_text
        limits = {f"{name}_c": c for name, c in limits_c(meta.sensors).items()}
        return DriveIdentity.of(meta.drive, limits, boot or place)

    @cached_property
    def run(self) -> object:
        """A key that is the same for copies of a recording: by its samples, and what was run."""
        meta = self.meta
        if meta.samples_sha256 is None or self.changes is not None:
            return self.path.resolve()
        labels = {k: v for k, v in meta.conditions.items() if k not in REPETITIONS}
        what = meta.protocol.model_dump_json(), str(labels), self.identity.text
        return meta.samples_sha256, meta.started_unix_s, *what

    @property
    def is_readable(self) -> bool:
        """Whether samples and events are given: it is unchanged, or was opened as damaged."""
        return self.reads_changed or self.changes is None

    def require_unchanged(self) -> None:
        """Raise ChangedError if it was changed after it was made, and not opened as damaged."""
        if not self.is_readable:
            raise ChangedError(
                f"{self.path}: {self.changes} (heatsoak analyze --damaged reads what can be read)"
            )

    def _rows(self) -> int:
        """The number of samples by the Parquet file's metadata; 0 without a file."""
        if not (self.path / PARQUET).exists():
            return 0
        with self._reporting_damage():
            return self._of_parquet("rows", _scan_parquet(self.path / PARQUET).select(pl.len()))

    def _of_parquet(self, what: str, asked: pl.LazyFrame) -> int:
        """Return the value that is `asked` for, and keep it: a Parquet file never changes."""
        if what not in self._known:
            self._known[what] = int(asked.collect().item())
        return self._known[what]

    @cached_property
    def _known(self) -> dict[str, int]:
        return {}

    @contextmanager
    def _reporting_damage(self) -> Iterator[None]:
        try:
            yield
        except (pl.exceptions.PolarsError, OSError) as error:
            name = PARQUET if (self.path / PARQUET).exists() else JOURNAL
            text = str(error).splitlines()[0]
            raise UsageError(f"{self.path / name}: is damaged: {text}") from error

    @cached_property
    def events(self) -> list[Event]:
        """The events, without lines that are cut off or damaged."""
        self.require_unchanged()
        events = []
        for line in writer.whole_lines(self.path / EVENTS):
            try:
                events.append(Event.model_validate_json(line))
            except ValidationError:
                continue
        return events

    @property
    def was_cut(self) -> bool:
        """Whether it was never finished: killed, power lost, or still running."""
        return self.meta.status == "running"


def cleaned(frame: pl.LazyFrame, schema: dict[str, type[pl.DataType]]) -> pl.LazyFrame:
    """Return the columns of `schema` without values that cannot have been recorded.

    Impossible numbers, and intervals that start long before the recording, become null; rows
    without a possible time are dropped.
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
    is_possible = interval_s.is_between(0, pl.max_horizontal(pl.col("t_s"), 0) + _EARLY_S)
    return kept.with_columns(pl.when(is_possible).then(interval_s).name.keep())


#: Run in a separate process, since polars may panic or abort on a damaged file.
_TRIAL = f"""
import sys
import polars as pl
try:
    with open(sys.argv[1], "rb") as file:
        frame = pl.scan_parquet(file)
    # more rows are refused without decoding
    if frame.select(pl.len()).collect().item() <= {MAX_ROWS}:
        frame.select(pl.all().max()).collect(engine="streaming")
except (pl.exceptions.PolarsError, OSError) as error:
    print(str(error).splitlines()[0])
    sys.exit(1)
"""


@lru_cache(maxsize=1024)
def _undecodable(path: Path, _mtime_ns: int, _size: int) -> str | None:
    """Return why polars cannot read a Parquet file; None if it can."""
    words = [sys.executable, "-c", _TRIAL, os.fspath(path)]
    done = subprocess.run(words, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode == 0:
        return None
    said = done.stdout.decode("utf-8", "replace").strip()
    return said or "it cannot be decoded"


def _scan_parquet(path: Path) -> pl.LazyFrame:
    """Scan the file, whatever its name: it must not be taken for a pattern or a URL."""
    path = path.absolute()  # polars takes a name that starts with file: for a URL
    try:
        str(path).encode()
    except UnicodeEncodeError:
        # polars cannot open such a name; other files are opened only when read, to save descriptors
        with path.open("rb") as file:
            return pl.scan_parquet(file)
    return pl.scan_parquet(path, glob=False)


# --- in memory, such as an imported log that is analyzed but not saved ---------------------------


class InMemoryRecording(Recording):
    """Samples and events in memory, with the interface of a recording on disk.

    `path` is where it came from; nothing is read from there.
    """

    def __init__(
        self,
        path: Path,
        meta: RecordingMeta,
        samples: pl.DataFrame,
        events: list[Event],
        changes: str | None = None,
    ) -> None:
        """`samples` must have the columns that `meta` lists; `changes` are of what it came from."""
        super().__init__(path, meta, reads_changed=True)
        schema = schema_of(meta.columns)
        typed = (pl.col(name).cast(dtype) for name, dtype in schema.items())
        is_typed = samples.schema == pl.Schema(schema)
        object.__setattr__(self, "_samples", samples if is_typed else samples.select(typed))
        object.__setattr__(self, "events", list(events))
        object.__setattr__(self, "changes", changes)

    _samples: pl.DataFrame

    def samples(self, columns: Iterable[str] | None = None) -> pl.DataFrame:
        """Return the samples, as :meth:`Recording.samples` does."""
        wanted = schema_of(columns if columns is not None else self.meta.columns)
        nothing = {n: pl.lit(None, dtype=t) for n, t in wanted.items() if n not in self._samples}
        return (self._samples.with_columns(**nothing) if nothing else self._samples)[list(wanted)]

    def scan(self, columns: Iterable[str] | None = None) -> pl.LazyFrame:
        """Return the samples, as :meth:`Recording.scan` does."""
        return self.samples(columns).lazy()

    @property
    def run(self) -> object:
        """A key of its own: several may come from one file, each of which is read once."""
        return id(self)

    def save(self, directory: Path) -> Recording:
        """Write it to `directory`, which must be new or empty, and return what was written."""
        meta = self.meta.model_copy(update={"status": "running"})
        writing.require_new(directory)
        with writing.making(directory) as partial, writer.RecordingWriter(partial, meta) as to:
            to.append(self._samples)
            for event in self.events:
                to.event(event)
            to.finish(self.meta.status, self.meta.duration_s or 0.0, self.meta.reason)
        return Recording.open(directory)
