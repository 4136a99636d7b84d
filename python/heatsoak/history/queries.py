"""Queries of an index of summaries, by DuckDB."""

import datetime
import glob
import math
import time
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from heatsoak.analysis.series import Array
from heatsoak.errors import ToolError, UsageError, suggestion
from heatsoak.history.findings import LeftOut
from heatsoak.words import listed

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MISSING = "history needs DuckDB: pip install duckdb"
#: Of texts, by DuckDB.
Hashes = NDArray[np.uint64]

#: The summaries that are asked for; `rate` is what is compared. Of rounds, which are taken until
#: they are steady, the last one counts. Hashes of 64 bits stand for texts: they are never equal by
#: chance, and much faster to group by and to fetch. A table of it would take longer to make than
#: all that is asked of it.
_CHOSEN = """
WITH asked AS (
  SELECT * FROM read_parquet($index)
  WHERE step IS NOT NULL
    AND ($drive IS NULL OR drive = $drive OR lower(model) = lower($drive))
    AND ($workload IS NULL OR lower(step) = lower($workload)
      OR contains(lower(workload), lower($workload)))
    AND ($since_unix_s IS NULL OR started_unix_s IS NULL OR started_unix_s >= $since_unix_s)
),
whole AS (
  SELECT * FROM asked WHERE round IS NULL
  UNION ALL
  SELECT * FROM asked WHERE round IS NOT NULL
  QUALIFY round = max(round) OVER (PARTITION BY path, step)
),
chosen AS (
  SELECT *, coalesce(mean_mb_s, iops) AS rate,
    CASE WHEN mean_mb_s IS NULL THEN 'IOPS' ELSE 'MB/s' END AS unit,
    hash(drive, alike, workload, unit) AS series, hash(place, host) AS setting,
    CASE WHEN firmware IS NULL THEN 0 ELSE hash(firmware) END AS version,
    started_unix_s BETWEEN $oldest_unix_s AND $newest_unix_s
      AND NOT list_contains($out_of_order, path) AS is_dated,
    is_comparable AND is_dated IS TRUE AND (rate > 0) IS TRUE AS is_compared
  FROM whole
)
"""
#: A clock that was never set says 1970, or when a board was made; no drive that is compared is from
#: before 2000. Zones and clocks that are a little fast put a date ahead by up to a day.
_OLDEST_UNIX_S, _AHEAD_S = 946_684_800.0, 86_400.0
#: If more of a drive's recordings than this share are out of order, its counter is at fault.
_MOST_OUT_OF_ORDER = 0.2
_LEFT_OUT = """
SELECT count(*) FILTER (started_unix_s IS NULL) AS without_date,
  count(*) FILTER (is_dated = FALSE) AS wrongly_dated,
  count(*) FILTER (is_dated AND NOT is_comparable) AS not_comparable,
  count(*) FILTER (is_dated AND is_comparable AND NOT is_compared) AS without_rate
FROM chosen
"""
_SERIES = """
SELECT series, any_value(drive) AS drive, any_value(serial) AS serial,
  arg_max(model, started_unix_s) AS model, arg_max(size_bytes, started_unix_s) AS size_bytes,
  arg_max(firmware, started_unix_s) AS firmware, any_value(protocol) AS protocol,
  any_value(step) AS step, any_value(workload) AS workload, any_value(unit) AS unit,
  count(*) AS runs, max(max_temp_c) AS max_temp_c,
  count(*) FILTER (verdict = 'thermal') AS thermal_runs,
  arg_max(used_pct, started_unix_s) AS used_pct,
  arg_max(throttle_count, started_unix_s) - arg_min(throttle_count, started_unix_s)
    AS throttle_count,
  arg_max(throttle_s, started_unix_s) - arg_min(throttle_s, started_unix_s) AS throttle_s
FROM chosen WHERE is_compared GROUP BY series ORDER BY series
"""
_DAYS = """
SELECT series, floor(started_unix_s / 86400) AS day, setting, version,
  avg(ln(rate)) AS rate, avg(CASE WHEN level > 0 THEN ln(level) END) AS level
FROM chosen WHERE is_compared GROUP BY ALL ORDER BY series, day, min(started_unix_s)
"""
_SETTINGS = "SELECT setting, any_value(place), any_value(host) FROM chosen GROUP BY setting"
_VERSIONS = "SELECT version, any_value(firmware) FROM chosen GROUP BY version"
_WRITTEN = """
SELECT drive, path, started_unix_s, written_gb FROM read_parquet($index)
WHERE written_gb IS NOT NULL AND serial IS NOT NULL
  AND started_unix_s BETWEEN $oldest_unix_s AND $newest_unix_s
GROUP BY ALL ORDER BY drive, started_unix_s, path
"""
_COUNT = "SELECT count(DISTINCT path) AS paths FROM read_parquet($index)"
_KNOWN = """
SELECT DISTINCT drive, model, step, workload FROM read_parquet($index) WHERE step IS NOT NULL
"""


@dataclass(frozen=True)
class Days:
    """The days of a series, ascending: means of logarithms, and hashes of what it ran in."""

    day: Array
    rate: Array
    level: Array
    setting: Hashes
    version: Hashes


@dataclass(frozen=True)
class SettingNames:
    """What the numbers of settings (place and host) and firmwares stand for."""

    settings: Mapping[int, tuple[str, str]]
    firmwares: Mapping[int, str]


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
    names: SettingNames
    recordings: int


def chosen_from(
    index: Path, drive: str | None, workload: str | None, since: datetime.date | None
) -> Chosen:
    """Return the summaries of one drive, workload and time if given.

    Raises UsageError if nothing is left, ToolError without DuckDB.
    """
    with _connected() as database, _reporting(index):
        wanted = {"drive": drive, "workload": workload}
        since_unix_s = None
        if since is not None:
            midnight = datetime.datetime.combine(since, datetime.time(), datetime.UTC)
            since_unix_s = midnight.timestamp()
        # a name may look like a pattern
        name = {"index": glob.escape(str(index.absolute()))}
        years = {"oldest_unix_s": _OLDEST_UNIX_S, "newest_unix_s": time.time() + _AHEAD_S}
        written = _rows(database, _WRITTEN, name | years)
        asked = {
            **name,
            **wanted,
            **years,
            "since_unix_s": since_unix_s,
            "out_of_order": _out_of_order(written),
        }
        left_out = LeftOut(**_rows(database, _CHOSEN + _LEFT_OUT, asked)[0])
        about = _rows(database, _CHOSEN + _SERIES, asked)
        if not about and not any(left_out.model_dump().values()):
            raise _nothing(_rows(database, _KNOWN, name), drive, workload, since)
        days = list(_days(database, asked))
        settings = database.execute(_CHOSEN + _SETTINGS, asked).fetchall()
        versions = database.execute(_CHOSEN + _VERSIONS, asked).fetchall()
        (count,) = _rows(database, _COUNT, name)
    names = SettingNames(
        {number: (place, host) for number, place, host in settings},
        {number: text or "" for number, text in versions},
    )
    return Chosen(left_out, about, days, names, count["paths"])


def require_duckdb() -> None:
    """Raise ToolError without DuckDB, before anything takes long."""
    _connected().close()


def _connected() -> "DuckDBPyConnection":
    try:
        import duckdb
    except ImportError as error:
        raise ToolError(_MISSING) from error
    # nothing is ever fetched from elsewhere
    return duckdb.connect(config={"autoinstall_known_extensions": "false"})


@contextmanager
def _reporting(index: Path) -> Iterator[None]:
    """Say what is wrong with the index, and that the user stopped a query."""
    import duckdb

    try:
        yield
    except (duckdb.Error, UnicodeError) as error:
        raise UsageError(
            f"{index}: cannot be queried: {str(error).splitlines()[0]}: delete it, and it is made "
            "again, or name another file with -o"
        ) from error
    except RuntimeError as error:
        if str(error) != "Query interrupted":
            raise
        raise KeyboardInterrupt from error  # which DuckDB does not let through


def _rows(
    database: "DuckDBPyConnection", query: str, values: Mapping[str, Any]
) -> list[dict[str, Any]]:
    found = database.execute(query, values)
    names = [column[0] for column in found.description or ()]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def _nothing(
    known: Sequence[Mapping[str, Any]],
    drive: str | None,
    workload: str | None,
    since: datetime.date | None,
) -> UsageError:
    """Return the error where no summary is as asked for, which says what there is."""
    if not known:
        return UsageError("no recording has a step that could be judged")
    if drive is not None and not any(
        drive == one["drive"] or drive.lower() == (one["model"] or "").lower() for one in known
    ):
        drives = sorted({one["drive"] for one in known})
        return UsageError(
            f"--drive {drive}: there is no such drive{suggestion(drive, drives)}: there "
            f"{_some(drives)}"
        )
    if workload is not None:
        steps = sorted({f"{one['step']} ({one['workload']})" for one in known})
        return UsageError(
            f"--workload {workload}: there is no such workload"
            f"{' of this drive, or none as new' if drive or since else ''}: there {_some(steps)}"
        )
    return UsageError(f"--since {since}: no recording is as new")


#: Names in an error.
_MOST_NAMED = 8


def _some(names: Sequence[str]) -> str:
    return f"{'is' if len(names) == 1 else 'are'} {listed(names, _MOST_NAMED)}"


def _out_of_order(written: Sequence[Mapping[str, Any]]) -> list[str]:
    """The recordings whose date contradicts how much their drive had written by then.

    `written` are those of each drive by date. As few as possible are in the wrong: all that are not
    in the longest sequence in which a drive wrote more and more. Where these are many, it is the
    counter that cannot be trusted.
    """
    wrong: list[str] = []
    for _, of_drive in groupby(written, key=itemgetter("drive")):
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


def _days(database: "DuckDBPyConnection", asked: Mapping[str, Any]) -> Iterator[Days]:
    found = database.execute(_CHOSEN + _DAYS, asked).fetchnumpy()
    series = np.asarray(found["series"])
    numbers = {name: np.asarray(found[name]) for name in ("setting", "version")}
    values: dict[str, Any] = {
        name: np.ma.filled(np.ma.asarray(found[name], dtype=float), math.nan)
        for name in ("day", "rate", "level")
    }
    cuts = [0, *(np.flatnonzero(series[1:] != series[:-1]) + 1).tolist(), len(series)]
    for begin, end in pairwise(cuts if len(series) else ()):
        part = {name: of[begin:end] for name, of in (values | numbers).items()}
        yield Days(**part | {"version": _known(part["version"])})


def _known(versions: Hashes) -> Hashes:
    """Versions with what was not recorded, 0, taken for the one before, or else the first known."""
    known = np.flatnonzero(versions)
    if not len(known):
        return versions
    before = np.searchsorted(known, np.arange(len(versions)), side="right") - 1
    return versions[known[np.maximum(before, 0)]]
