"""A recording in memory, such as an imported log that is analyzed but not saved."""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

import polars as pl

from heatsoak.recording.columns import schema_of
from heatsoak.recording.files import making, require_new
from heatsoak.recording.meta import Event, RecordingMeta
from heatsoak.recording.reader import Recording
from heatsoak.recording.writer import RecordingWriter


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
        typed = samples.select(pl.col(name).cast(dtype) for name, dtype in schema.items())
        object.__setattr__(self, "_samples", typed)
        object.__setattr__(self, "_events", events)
        object.__setattr__(self, "changes", changes)

    _samples: pl.DataFrame
    _events: list[Event]

    def samples(self, columns: Iterable[str] | None = None) -> pl.DataFrame:
        """Return the samples, as :meth:`Recording.samples` does."""
        wanted = schema_of(columns if columns is not None else self.meta.columns)
        missing = [
            pl.lit(None, dtype=dtype).alias(name)
            for name, dtype in wanted.items()
            if name not in self._samples.columns
        ]
        return self._samples.with_columns(missing).select(*wanted)

    def scan(self, columns: Iterable[str] | None = None) -> pl.LazyFrame:
        """Return the samples, as :meth:`Recording.scan` does."""
        return self.samples(columns).lazy()

    @cached_property
    def events(self) -> list[Event]:
        """The events."""
        return list(self._events)

    def save(self, directory: Path) -> Recording:
        """Write it to `directory`, which must be new or empty, and return what was written."""
        meta = self.meta.model_copy(update={"status": "running"})
        require_new(directory)
        with making(directory) as partial, RecordingWriter(partial, meta) as to:
            to.append(self._samples)
            for event in self._events:
                to.event(event)
            to.finish(self.meta.status, self.meta.duration_s or 0.0, self.meta.reason)
        return Recording.open(directory)


def save_all(held: Sequence[InMemoryRecording], directory: Path) -> list[Recording]:
    """Write one recording to `directory`, or several to numbered subdirectories.

    Raises UsageError if `directory` is not empty or cannot be created.
    """
    require_new(directory)
    if len(held) == 1:
        return [held[0].save(directory)]
    width = len(str(len(held)))
    names = [f"{number:0{width}d}-{_slug(one)}" for number, one in enumerate(held, 1)]
    with making(directory) as partial:
        for recording, name in zip(held, names, strict=True):
            recording.save(partial / name)
    return [Recording.open(directory / name) for name in names]


def _slug(recording: InMemoryRecording) -> str:
    words = [recording.path.stem, *(str(value) for value in recording.meta.conditions.values())]
    plain = "-".join(re.sub(r"[^A-Za-z0-9]+", "-", word).strip("-") for word in words)
    return plain[:60].strip("-") or "recording"
