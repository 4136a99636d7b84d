"""Queries of an index of summaries."""

import datetime
import math
import time
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from heatsoak.analysis.series import Array
from heatsoak.errors import UsageError, suggestion
from heatsoak.history.findings import LeftOut
from heatsoak.history.index import read_index
from heatsoak.identity import DriveIdentity, numbered
from heatsoak.output import utf8_text
from heatsoak.words import MOST_NAMED, listed

#: Of texts: numbers of 64 bits, never equal by chance, and much faster to group by.
Hashes = NDArray[np.uint64]

#: A clock that was never set says 1970, or when a board was made; no drive that is compared is from
#: before 2000. Zones and clocks that are a little fast put a date ahead by up to a day.
_OLDEST_UNIX_S, _AHEAD_S = 946_684_800.0, 86_400.0
#: If more of a drive's recordings than this share are out of order, its counter is at fault.
_MOST_OUT_OF_ORDER = 0.2
_DAY_S = 86400.0
#: What tells a drive, which `identity` numbers; one serial may be that of several.
_IDENTITY = ("drive", "serial", "model", "size_bytes")


@dataclass(frozen=True)
class Days:
    """The days of a series, ascending: means of logarithms, and hashes of what it ran in."""

    day: Array
    rate: Array
    level: Array
    setting: Hashes
    version: Hashes


#: What the numbers of settings and firmwares stand for, by what that is.
Names = Mapping[int, Mapping[str, str]]


@dataclass(frozen=True)
class Chosen:
    """The summaries that were asked for.

    Attributes:
        about: what is known of each series besides its days.
        days: the days of each series.
        recordings: how many the index holds.
    """

    left_out: LeftOut
    about: list[dict[str, Any]]
    days: list[Days]
    names: Names
    recordings: int


def chosen_from(
    index: Path, drive: str | None, workload: str | None, since: datetime.date | None
) -> Chosen:
    """Return the summaries of one drive, workload and time if given.

    Raises UsageError if nothing is left, or the file is not an index.
    """
    rows = _with_drives(_with_copies(read_index(index)))
    steps = rows.filter(pl.col("step").is_not_null())
    is_copy = steps["is_copy"]
    steps, copies = steps.filter(~is_copy), steps.filter(is_copy)
    chosen = _with_keys(_last_rounds(_asked_for(steps, drive, workload, since)), rows)
    if chosen.is_empty():
        raise _nothing(steps, drive, workload, since)
    compared = chosen.filter("is_compared").sort("started_unix_s", maintain_order=True)
    about = _about(compared)
    days = _days(compared)
    return Chosen(
        _left_out(chosen, _asked_for(copies, drive, workload, since).height),
        about,
        [days[one["series"]] for one in about],
        {
            number: told
            for key, columns in (("setting", ("place", "host")), ("version", ("firmware",)))
            for number, *names in chosen.select(key, *columns).unique(key).iter_rows()
            for told in [dict(zip(columns, names, strict=True))]
        },
        rows["path"].n_unique(),
    )


def _with_copies(rows: pl.DataFrame) -> pl.DataFrame:
    """Add whether a row is of a copy of another recording: all is the same but where it lies."""
    own = [name for name in rows.columns if name not in ("path", "stamp", "judged_by")]
    is_dated = pl.col("started_unix_s").is_not_null()
    return rows.with_columns(is_copy=is_dated & ~pl.struct(own).is_first_distinct())


def _with_drives(rows: pl.DataFrame) -> pl.DataFrame:
    """Add the number of the drive that a row is of."""
    told = rows.select(*_IDENTITY).unique(maintain_order=True)
    drives = [
        DriveIdentity(serial=serial, name=name, model=model, size_bytes=size)
        for name, serial, model, size in told.iter_rows()
    ]
    told = told.with_columns(number=pl.Series(numbered(drives), dtype=pl.Int64))
    return rows.join(told, on=_IDENTITY, how="left", nulls_equal=True, maintain_order="left")


def _asked_for(
    steps: pl.DataFrame, drive: str | None, workload: str | None, since: datetime.date | None
) -> pl.DataFrame:
    def is_like(column: str, words: str) -> pl.Expr:
        return pl.col(column).str.to_lowercase() == words.lower()

    if drive is not None:
        drive = utf8_text(drive)
        steps = steps.filter((pl.col("drive") == drive) | is_like("model", drive))
    if workload is not None:
        words = utf8_text(workload).lower()
        described = pl.col("workload").str.to_lowercase().str.contains(words, literal=True)
        steps = steps.filter(is_like("step", words) | described)
    if since is not None:
        midnight = datetime.datetime.combine(since, datetime.time(), datetime.UTC)
        date = pl.col("started_unix_s")
        steps = steps.filter(date.is_null() | (date >= midnight.timestamp()))
    return steps


def _last_rounds(steps: pl.DataFrame) -> pl.DataFrame:
    """Of rounds, which are taken until they are steady, the last one counts."""
    number = pl.col("round")
    return steps.filter(number.is_null() | (number == number.max().over("path", "step")))


def _with_keys(steps: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Add what is compared (`rate`), whether it is, and the keys by which it is grouped."""
    date = pl.col("started_unix_s")
    is_possible = date.is_between(_OLDEST_UNIX_S, time.time() + _AHEAD_S)
    written = rows.filter(pl.col("written_gb").is_not_null() & pl.col("serial").is_not_null())
    wrong = _out_of_order(written.filter(is_possible))
    firmware = pl.col("firmware")
    return steps.with_columns(
        rate=pl.coalesce("mean_mb_s", "mean_iops"),
        unit=pl.when(pl.col("mean_mb_s").is_null()).then(pl.lit("IOPS")).otherwise(pl.lit("MB/s")),
        day=(date / _DAY_S).floor(),
        setting=pl.struct("place", "host").hash(),
        version=pl.when(firmware.is_null()).then(0).otherwise(firmware.hash()),
        is_dated=is_possible & ~pl.col("path").is_in(wrong),
    ).with_columns(
        series=pl.struct("number", "alike", "workload", "unit").hash(),
        is_compared=pl.col("is_comparable")
        & pl.col("is_dated").fill_null(False)
        & (pl.col("rate") > 0).fill_null(False),
    )


def _left_out(chosen: pl.DataFrame, copies: int) -> LeftOut:
    is_dated, is_comparable = pl.col("is_dated"), pl.col("is_comparable")
    counts = chosen.select(
        without_date=pl.col("started_unix_s").is_null().sum(),
        wrongly_dated=(~is_dated).sum(),
        not_comparable=(is_dated & ~is_comparable).sum(),
        without_rate=(is_dated & is_comparable & ~pl.col("is_compared")).sum(),
    )
    return LeftOut(copies=copies, **counts.row(0, named=True))


def _about(compared: pl.DataFrame) -> list[dict[str, Any]]:
    """What is known of each series; `compared` are its summaries by date."""

    def known(column: str) -> pl.Expr:
        return pl.col(column).drop_nulls()

    about = compared.group_by("series").agg(
        *(known(name).first() for name in ("drive", "serial")),
        *(known(name).last() for name in ("model", "size_bytes", "firmware")),
        *(known(name).first() for name in ("protocol", "step", "workload", "unit")),
        runs=pl.len(),
        max_temp_c=pl.col("temp_max_c").max(),
        thermal_runs=(pl.col("heat") == "yes").sum(),
        used_pct=known("used_pct").last(),
        **{
            name: known(name).last() - known(name).first()
            for name in ("throttle_count", "throttle_s")
        },
    )
    return about.sort("drive", "step", "workload", "series").to_dicts()


def _nothing(
    steps: pl.DataFrame,
    drive: str | None,
    workload: str | None,
    since: datetime.date | None,
) -> UsageError:
    """Return the error where no summary is as asked for, which says what there is."""
    if steps.is_empty():
        return UsageError("no recording has a step that could be judged")
    if drive is not None and _asked_for(steps, drive, None, None).is_empty():
        drives = sorted(steps["drive"].unique())
        near = suggestion(drive, drives)
        return UsageError(f"--drive {drive}: there is no such drive{near}: there {_some(drives)}")
    if workload is not None:
        known = steps.select("step", "workload").unique().iter_rows()
        loads = sorted(f"{step} ({described})" for step, described in known)
        return UsageError(
            f"--workload {workload}: there is no such workload"
            f"{' of this drive, or none as new' if drive or since else ''}: there {_some(loads)}"
        )
    return UsageError(f"--since {since}: no recording is as new")


def _some(names: Sequence[str]) -> str:
    return f"{'is' if len(names) == 1 else 'are'} {listed(names, MOST_NAMED)}"


def _out_of_order(written: pl.DataFrame) -> list[str]:
    """The recordings whose date contradicts how much their drive had written by then.

    As few as possible are in the wrong: all that are not in the longest sequence in which a drive
    wrote more and more. Where these are many, it is the counter that cannot be trusted.
    """
    by_date = ("number", "started_unix_s", "path")
    ordered = written.select(*by_date, "written_gb").unique().sort(*by_date)
    wrong: list[str] = []
    for _, of_drive in groupby(ordered.to_dicts(), key=itemgetter("number")):
        rows = list(of_drive)
        lowest: list[float] = []  # the least that a sequence of each length ends with
        lengths = []
        for row in rows:
            length = bisect_right(lowest, row["written_gb"])
            lowest[length : length + 1] = [row["written_gb"]]
            lengths.append(length)
        if len(rows) - len(lowest) > _MOST_OUT_OF_ORDER * len(rows):
            continue
        wanted = len(lowest) - 1
        most = math.inf
        for row, length in zip(reversed(rows), reversed(lengths), strict=True):
            if length == wanted and row["written_gb"] <= most:
                wanted, most = wanted - 1, row["written_gb"]
            else:
                wrong.append(row["path"])
    return wrong


def _days(compared: pl.DataFrame) -> dict[int, Days]:
    """The days of each series; `compared` are its summaries by date."""
    level = pl.coalesce("before_mb_s", "mean_mb_s", "before_iops", "mean_iops")
    found = compared.group_by("series", "day", "setting", "version", maintain_order=True).agg(
        rate=pl.col("rate").log().mean(), level=level.filter(level > 0).log().mean()
    )
    return {
        series: Days(
            version=_known(part["version"].to_numpy()),
            **{name: part[name].to_numpy() for name in ("day", "rate", "level", "setting")},
        )
        for (series,), part in found.partition_by("series", as_dict=True).items()
    }


def _known(versions: Hashes) -> Hashes:
    """Versions with what was not recorded, 0, taken for the one before, or else the first known."""
    known = np.flatnonzero(versions)
    if not len(known):
        return versions
    before = np.searchsorted(known, np.arange(len(versions)), side="right") - 1
    return versions[known[np.maximum(before, 0)]]
