"""Writes files completely or not at all, and never overwrites any unasked."""

import errno
import os
import re
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from heatsoak import system
from heatsoak.errors import ToolError, UsageError
from heatsoak.output import printable, spreadsheet_text
from heatsoak.recording import Recording, require_creatable, require_writable
from heatsoak.recording.meta import EVENTS, JOURNAL, META, PARQUET

_OS_ERROR = re.compile(r"os error (\d+)")


@dataclass(frozen=True)
class Written:
    """A file that was written.

    Attributes:
        recording: the name of the recording in it; None if it has several.
        rows: samples, lines of a log, or one for a JSON document.
        notes: what had to be assumed because it is not in the recording.
        schema_version: goes up when a key of the JSON changes its meaning or goes away.
    """

    path: str
    recording: str | None
    rows: int
    bytes: int
    notes: tuple[str, ...] = ()
    schema_version: Literal[1] = 1


def check_free(paths: Iterable[Path], recordings: Sequence[Recording], *, force: bool) -> None:
    """Raise UsageError, before anything is written, if a path cannot or must not be written.

    The recordings' own files are never overwritten.
    """
    protected = {
        _real(recording.path / name)
        for recording in recordings
        for name in (META, JOURNAL, PARQUET, EVENTS)
    }
    places: dict[Path, Path] = {}
    for path in paths:
        require_creatable(path)
        with reporting_export_errors(path):
            if _real(path) in protected:
                raise UsageError(f"{path}: is part of a recording: name another file with -o")
            if path.exists() and not path.is_file():
                raise UsageError(f"{path}: is not a regular file: name another with -o")
            if path.exists() and not force:
                raise UsageError(f"{path}: already exists: name another file, or add --force")
            places[_real(path).parent] = path
    for place, path in places.items():
        require_writable(place, path)


def _real(path: Path) -> Path:
    """The file after following links."""
    return Path(os.path.realpath(path))


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a file to write, which replaces `path` once it is complete.

    Creates directories as needed. Raises ToolError if it cannot be written.
    """
    target = _real(path)  # a link keeps pointing at what is written
    partial = target.with_name(f".{uuid.uuid4().hex}.partial")
    with reporting_export_errors(path):
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield partial
            with partial.open("rb+") as file:
                os.fsync(file.fileno())
            system.replace(partial, target)
        finally:
            with suppress(OSError):
                partial.unlink()


def for_spreadsheets(frame: pl.LazyFrame, *, visible: bool) -> pl.LazyFrame:
    """Return `frame` with :func:`spreadsheet_text` applied to every text and header.

    With `visible`, control characters are escaped too: the output is for people, not programs.
    """

    def shown(text: str) -> str:
        return spreadsheet_text(printable(text) if visible else text)

    def each_once(column: pl.Series) -> pl.Series:
        found = column.drop_nulls().unique()
        return column.replace(found, [shown(text) for text in found])

    schema = frame.collect_schema()
    texts = pl.col([name for name, dtype in schema.items() if dtype == pl.String])
    return frame.with_columns(
        texts.map_batches(each_once, return_dtype=pl.String, is_elementwise=True)
    ).rename({name: shown(name) for name in schema})


@contextmanager
def reporting_export_errors(place: Path | str) -> Iterator[None]:
    """Turn errors of the system or polars into one line.

    Raises ToolError with the system's message, BrokenPipeError if the reader has gone, and
    UsageError if not the writing failed, but reading the recording's damaged Parquet file.
    """
    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        # polars only has the system's error in its message
        match = _OS_ERROR.search(str(error))
        number = getattr(error, "errno", None) or (
            system.error_number(int(match.group(1))) if match else None
        )
        if number == errno.EPIPE:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)) from error
        if isinstance(error, pl.exceptions.PolarsError) and number is None:
            text = str(error).splitlines()[0]
            raise UsageError(f"the samples for {place} are damaged: {text}") from error
        reason = os.strerror(number) if number else str(error)
        raise ToolError(f"{place}: cannot be written: {reason}") from error
