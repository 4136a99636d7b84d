"""A sweep's results on disk: a table of points in part files, each written at once or not at all.

A part's file is named for the points in it. So a directory says which parts are done, whatever made
them, and parts of a smaller grid stay readable while those of a larger one replace them.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from heatsoak import system, writing
from heatsoak.errors import ToolError, UsageError
from heatsoak.sweep.work import ENDS, RANGES

#: The table's columns, the axes of a point first.
POINTS: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("point", "drive", "enclosure", "workload"), pl.String),
    **dict.fromkeys(("for_s", "ambient_c", "warmer_k", "airflow_m_s"), pl.Float64),
    "heatsink": pl.String,
    **dict.fromkeys(("heatsink_k_per_w", "holds_mb_s"), pl.Float64),
    "throttles": pl.Float64,
    **{f"{name}_{end}_{unit}": pl.Float64 for name, unit in RANGES for end in ENDS},
    **dict.fromkeys(("full_mb_s", "holds"), pl.Float64),
    **dict.fromkeys(("first", "cliff"), pl.String),
    **dict.fromkeys(("cliff_onset_s", "held_mid_s", "late_mid_pct"), pl.Float64),
    "impossible": pl.String,
}
#: The directory of the points, in that of their sweep.
TABLE = "points"
#: Parts of a table: enough that hosts share them, and that little is lost with one.
_PARTS = 64
#: The least and most points in a part: one takes 7 ms, and a file 14.
_SIZES = (16, 128)


@dataclass(frozen=True)
class StoredPart:
    """Points that are written together.

    Attributes:
        names: the hashes of its points, in their order.
        group: the group of all of them.
    """

    path: Path
    group: int
    names: Sequence[str]


class SweepTable:
    """The points of a sweep: which it is to have, and which it has already."""

    def __init__(
        self,
        directory: Path,
        axes: Mapping[str, Mapping[str, Any]],
        groups: Mapping[str, int],
        sizes: tuple[int, int] = _SIZES,
    ) -> None:
        """Take what it is to hold: each point's axes and group by its hash, in their order.

        `sizes` are the least and most points in a part. Raises UsageError where the directory holds
        points that it is not to hold, and ToolError for a file that cannot be read.
        """
        self.directory = directory
        self._axes = axes
        self.parts = list(_parts(directory, groups, sizes))
        self._kept = self._read()
        self._is_at = {name: place for place, name in enumerate(axes)}

    @property
    def done(self) -> set[str]:
        """Hashes of the points that it holds."""
        return set(self._kept["point"])

    def missing(self) -> Iterator[tuple[StoredPart, list[str]]]:
        """Yield the parts that lack points, and which; write those that only were cut otherwise."""
        done = self.done
        for part in self.parts:
            lacking = [name for name in part.names if name not in done]
            if lacking:
                yield part, lacking
            elif not part.path.exists():
                self.add(part, [])

    def add(self, part: StoredPart, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write a part: what it lacked, beside what is there."""
        frame = self._frame(rows)
        if len(frame) < len(part.names):
            frame = pl.concat([self._kept.filter(pl.col("point").is_in(list(part.names))), frame])
        with (
            writing.reporting_write_errors(self.directory),
            writing.made(self.directory),
            writing.Directory(self.directory) as place,
            place.writing(part.path.name) as file,
        ):
            self._in_order(frame).write_parquet(file, compression="zstd")

    def finish(self) -> pl.DataFrame:
        """Remove what other parts have replaced, and return all of it in its order."""
        wanted = {part.path for part in self.parts}
        for path in _part_files(self.directory):
            if path not in wanted:
                system.remove(path)
        self._kept = self._read()
        return self._in_order(self._kept)

    def _read(self) -> pl.DataFrame:
        kept = read_parts(self.directory)
        others = kept.filter(~pl.col("point").is_in(list(self._axes)))
        if len(others):
            raise UsageError(
                f"{self.directory.parent}: holds {len(others):,} points that this sweep does not "
                "have: name another directory with -o"
            )
        return kept

    def _frame(self, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
        whole = [{**self._axes[row["point"]], **row} for row in rows]
        return pl.DataFrame(
            [{name: row.get(name) for name in POINTS} for row in whole], schema=POINTS
        )

    def _in_order(self, frame: pl.DataFrame) -> pl.DataFrame:
        places = pl.Series([self._is_at[name] for name in frame["point"]], dtype=pl.Int64)
        return frame[places.arg_sort()].rechunk()


def read_parts(directory: Path) -> pl.DataFrame:
    """Return the rows of a table's parts, each point once.

    Raises ToolError for a file that cannot be read, UsageError for one with other columns.
    """
    frames = [pl.DataFrame(schema=POINTS)]
    for path in _part_files(directory):
        try:
            frames.append(pl.read_parquet(path, glob=False))
        except (OSError, pl.exceptions.PolarsError) as error:
            raise ToolError(
                f"{path}: cannot be read: {str(error).splitlines()[0]}: remove it, and its "
                "points are run again"
            ) from error
        if frames[-1].schema != pl.Schema(POINTS):
            raise UsageError(f"{path}: is of another release: name another directory with -o")
    return pl.concat(frames).unique("point", keep="first", maintain_order=True)


def _part_files(directory: Path) -> list[Path]:
    return sorted(directory.glob("part-*.parquet"))


def require_place(directory: Path) -> None:
    """Raise UsageError for a directory that is no sweep's and not empty, or cannot be written.

    What a sweep that was killed was writing is removed.
    """
    if not (directory / TABLE).is_dir():
        writing.require_new(directory)
        return
    writing.require_creatable(directory)
    writing.require_writable(directory)
    with writing.Directory(directory / TABLE) as place:
        place.sweep()


def _parts(
    directory: Path, groups: Mapping[str, int], sizes: tuple[int, int]
) -> Iterator[StoredPart]:
    """Cut points where their group changes, and into parts of one size."""
    least, most = sizes
    size = min(max(len(groups) // _PARTS, least), most)
    by_group: dict[int, list[str]] = {}
    for name, group in groups.items():
        by_group.setdefault(group, []).append(name)
    number = 0
    for group, names in by_group.items():
        for first in range(0, len(names), size):
            held = names[first : first + size]
            yield StoredPart(directory / f"part-{number:05d}-{_digest(held)}.parquet", group, held)
            number += 1


def _digest(names: Iterable[str]) -> str:
    return hashlib.sha256(" ".join(names).encode()).hexdigest()[:12]
