"""The index: a Parquet file with a row for each judged step below a directory, kept up to date.

A recording is judged again only if its files changed, or heatsoak. Two processes may do that at
once: each adds its rows to those of the file as it is then, under a lock, and replaces it as a
whole.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import polars as pl

import heatsoak
from heatsoak import analysis, output, system, writing
from heatsoak.analysis.judge import read_and_judge
from heatsoak.errors import UsageError
from heatsoak.facts.table import SCHEMA, summaries_of
from heatsoak.files import open_regular
from heatsoak.importer import divided
from heatsoak.recording import META, Recording, is_being_written, meta

#: The index of a directory, where no other name is given.
NAME = "history.parquet"
#: Judging years of recordings takes hours: what is judged is written this often.
_WRITE_AGAIN_S = 60.0
#: What rows mean; another number judges all recordings again.
_VERSION = (
    f"{heatsoak.__version__}, findings "
    f"{analysis.Findings.model_fields['schema_version'].default}, 4"
)


@dataclass
class Updated:
    """What an update of the index came to.

    Attributes:
        judged: how many recordings were new or changed.
        known: how many there are in all, without damaged ones.
        running: how many are still being written, and left for later.
        damaged: the errors of those that cannot be read.
    """

    judged: int = 0
    known: int = 0
    running: int = 0
    damaged: list[UsageError] = field(default_factory=list)


def update(
    directory: Path,
    index: Path,
    progress: output.Progress,
    on_damaged: Callable[[UsageError], None],
) -> Updated:
    """Bring the index of the recordings below `directory` up to date.

    `on_damaged` gets the error of each recording that cannot be read. Raises UsageError if the
    directory has no recordings or the index is not one, ToolError if it cannot be written.
    """
    before = _stamps(read_index(index)) if index.exists() else {}
    found = dict(recordings_below(directory))
    if not found:
        raise UsageError(f"{directory}: has no recording in it (a directory with {META})")
    stamps = {name: _stamp(place) for name, place in found.items()}
    changed = [name for name in found if before.get(name) != (stamps[name], _VERSION)]
    gone = before.keys() - found.keys()
    if changed or gone:
        writing.require_regular(index)
        writing.require_writable(index.parent, index)
    done = Updated(judged=0, known=len(found) - len(changed))
    rows: list[dict[str, Any]] = []
    lost = set(gone)
    written_at = time.monotonic()
    try:
        for number, name in enumerate(changed):
            progress(number / len(changed), f"judging {name}")
            try:
                judged = _judged(found[name])
            except UsageError as error:
                lost.add(name)
                done.damaged.append(error)
                on_damaged(error)
                continue
            if judged is None:
                done.running += 1
                continue
            key = {"path": name, "stamp": stamps[name], "judged_by": _VERSION}
            rows += [row | key for row in judged]
            done.judged += 1
            if time.monotonic() - written_at > _WRITE_AGAIN_S:
                _merge(index, rows, lost)
                rows, written_at = [], time.monotonic()
    finally:  # also where it is interrupted: the rest is judged another time
        if rows or (lost & before.keys()):
            _merge(index, rows, lost)
    done.known += done.judged
    if not done.known and done.damaged:
        raise done.damaged[0]
    return done


def require_index(index: Path) -> None:
    """Raise UsageError if the file is not an index, by its columns."""
    no_index = "is not an index of heatsoak history, or of another version: delete it, or name"
    with _opened(index, f"{no_index} another file with -o") as file:
        if pl.read_parquet_schema(file) != SCHEMA:
            raise pl.exceptions.SchemaError


def read_index(index: Path) -> pl.DataFrame:
    """Return the rows of an index; raises UsageError if the file is not one."""
    require_index(index)
    with _opened(index, "is damaged: delete it, and it is made again") as file:
        return pl.read_parquet(file)


@contextmanager
def _opened(index: Path, if_wrong: str) -> Iterator[IO[bytes]]:
    try:
        with open_regular(index) as file:
            yield file
    except OSError as error:
        raise UsageError(f"{index}: cannot be read: {error.strerror or error}") from error
    except pl.exceptions.PolarsError as error:
        raise UsageError(f"{index}: {if_wrong}") from error


def recordings_below(directory: Path) -> Iterator[tuple[str, Path]]:
    """Yield the recordings at or below `directory`, by name: recordings hold no others."""
    for place, below, files in os.walk(directory):
        below.sort()
        if META in files:
            below.clear()
            path = Path(place)
            yield output.utf8_text(path.relative_to(directory).as_posix()), path


def _stamp(place: Path) -> str:
    """What differs where any of a recording's files was changed."""
    parts = []
    for name in (META, meta.JOURNAL, meta.PARQUET, meta.EVENTS):
        try:
            status = (place / name).stat()
        except OSError:
            parts.append("-")
        else:
            parts.append(f"{status.st_mtime_ns}/{status.st_size}")
    return " ".join(parts)


def _stamps(rows: pl.DataFrame) -> dict[str, tuple[str, str]]:
    unique = rows.select("path", "stamp", "judged_by").unique("path")
    return {path: (stamp, judged_by) for path, stamp, judged_by in unique.iter_rows()}


def _judged(place: Path) -> list[dict[str, Any]] | None:
    """The rows of a recording; None while it is being written."""
    if is_being_written(place):
        return None
    recording = Recording.open(place)
    recording.require_loadable()
    (opened,), found = read_and_judge([divided(recording)])
    return summaries_of(opened, found.recordings[0])


def _merge(index: Path, rows: Sequence[Mapping[str, Any]], lost: set[str]) -> None:
    """Add rows to the index as it is now, in place of those of the same recordings."""
    new = pl.DataFrame(rows, schema=SCHEMA)
    index.parent.mkdir(parents=True, exist_ok=True)
    lock = f".{index.name}.lock"  # keeps other processes from replacing the index meanwhile
    with (
        writing.reporting_write_errors(index),
        writing.Directory(index.parent) as place,
        place.append(lock) as held,
    ):
        system.lock(held.fileno(), wait=True)
        if index.exists():
            kept = read_index(index)
            out = pl.concat([new["path"].unique(), pl.Series("path", list(lost), dtype=pl.String)])
            new = pl.concat([kept.join(out.to_frame(), on="path", how="anti"), new])
        with writing.output(index, replace=True) as file:
            new.sort("drive", "workload", "started_unix_s").write_parquet(file)
