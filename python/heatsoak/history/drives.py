"""Whether each drive is slower than it was, from the summaries in an index."""

import datetime
import glob
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from heatsoak.analysis.definitions import MIN_DROP, ONSET_LOSS
from heatsoak.errors import ToolError, UsageError, suggestion
from heatsoak.history.trend import Array, Fit, Numbers
from heatsoak.history.trend import Change as LogChange
from heatsoak.protocol.phrases import listed, said

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MISSING = "history needs DuckDB: pip install 'heatsoak[history]'"
_DAY_S = 86400.0
#: A factor of a billion: no drive changes as much.
_LARGEST = math.log(1e9)
#: The share of drives called slower or faster that may be so by chance: a fleet has many.
_FALSE_SHARE = 0.05

#: Of texts, by DuckDB.
Hashes = NDArray[np.uint64]

#: ``same``: a loss of 5 % or more is excluded. ``too-few``: there are too few days to tell.
TrendVerdict = Literal["slower", "faster", "same", "cannot-tell", "too-few"]


class Interval(BaseModel):
    """A change in percent, and the 95 % interval around it; negative is slower."""

    pct: float
    low_pct: float
    high_pct: float


class HistoryChange(BaseModel):
    """What changed besides time.

    Attributes:
        date: the first day (UTC) after it.
        effect: what it did to the rate; None where that cannot be told from other changes.
    """

    date: datetime.date
    kind: Literal["firmware", "place", "host"]
    before: str
    after: str
    effect: Interval | None


class Series(BaseModel):
    """A drive under one workload over time.

    Attributes:
        drive: its serial, else its model and path.
        protocol: whose step it is; only the same step after the same steps is compared.
        unit: of `rate`: MB/s, or IOPS where no bytes were logged.
        runs: how many recordings have it, on `days` days; of a day, the (geometric) mean counts.
        rate: the median of all days.
        change: the drive's own, from the first day to the last: ageing and firmware, without
            places and hosts; None with too few days. If firmware and place changed together it is
            the ageing alone.
        per_year: the ageing alone: runs in one place with one firmware are compared.
        level_change: as `change`, for the rate before the first episode.
        since: the firmware that accounts for most of the change; None if that is gradual.
        changes: the first time of each other firmware, place and host.
        used_pct: what the drive says of its life, last; `throttle_count` and `throttle_s` are how
            far its own counters rose from the first run to the last.
        text: the answer for this series, in a sentence.
    """

    drive: str
    serial: str | None
    model: str | None
    size_bytes: int | None
    firmware: str | None
    protocol: str
    step: str
    workload: str
    unit: Literal["MB/s", "IOPS"]
    runs: int
    days: int
    first: datetime.date
    last: datetime.date
    rate: float
    verdict: TrendVerdict
    change: Interval | None
    per_year: Interval | None
    level_change: Interval | None
    since: HistoryChange | None
    changes: list[HistoryChange]
    max_temp_c: float | None
    thermal_runs: int
    used_pct: float | None
    throttle_count: float | None
    throttle_s: float | None
    text: str


class LeftOut(BaseModel):
    """How many steps are not compared, and why: each is counted once."""

    without_date: int
    not_comparable: int
    without_rate: int


class History(BaseModel):
    """Whether drives are slower than they were.

    Attributes:
        slower: ``no``: none is; ``cannot-tell``: none is known to be, and some may be.
        sentence: the answer.
        recordings: how many the index holds.
        index: the Parquet file with all summaries.
        series: the slower ones first.
    """

    schema_version: Literal[1] = 1
    slower: Literal["yes", "no", "cannot-tell"]
    sentence: str
    recordings: int
    index: str
    series: list[Series]
    left_out: LeftOut


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
    is_comparable AND started_unix_s IS NOT NULL AND (rate > 0) IS TRUE AS is_compared
  FROM whole
)
"""
_LEFT_OUT = """
SELECT count(*) FILTER (started_unix_s IS NULL) AS without_date,
  count(*) FILTER (started_unix_s IS NOT NULL AND NOT is_comparable) AS not_comparable,
  count(*) FILTER (started_unix_s IS NOT NULL AND is_comparable AND NOT is_compared)
    AS without_rate
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
_COUNT = "SELECT count(DISTINCT path) AS paths FROM read_parquet($index)"
_KNOWN = """
SELECT DISTINCT drive, model, step, workload FROM read_parquet($index) WHERE step IS NOT NULL
"""


def history(
    index: Path,
    *,
    drive: str | None = None,
    workload: str | None = None,
    since: datetime.date | None = None,
) -> History:
    """Return what the summaries in `index` show, of one drive, workload and time if given.

    `drive` is a serial or model, `workload` a step's name or words of its description. Raises
    UsageError if nothing is left, ToolError without DuckDB.
    """
    with _connected() as database, _reporting_damage(index):
        wanted = {"drive": drive, "workload": workload}
        since_unix_s = None
        if since is not None:
            midnight = datetime.datetime.combine(since, datetime.time(), datetime.UTC)
            since_unix_s = midnight.timestamp()
        # a name may look like a pattern
        name = {"index": glob.escape(str(index.absolute()))}
        asked = {**name, **wanted, "since_unix_s": since_unix_s}
        left_out = LeftOut(**_rows(database, _CHOSEN + _LEFT_OUT, asked)[0])
        about = _rows(database, _CHOSEN + _SERIES, asked)
        if not about and not any(left_out.model_dump().values()):
            raise _nothing(_rows(database, _KNOWN, name), drive, workload, since)
        days = list(_days(database, asked))
        settings = database.execute(_CHOSEN + _SETTINGS, asked).fetchall()
        versions = database.execute(_CHOSEN + _VERSIONS, asked).fetchall()
        (count,) = _rows(database, _COUNT, name)
    names = _Names(
        {number: (place, host) for number, place, host in settings},
        {number: text or "" for number, text in versions},
    )
    fitted = [_Fitted(one, part) for one, part in zip(about, days, strict=True)]
    _judge_together(fitted)
    series = [one.series(names) for one in fitted]
    series.sort(key=lambda one: (_ORDER.index(one.verdict), one.change.pct if one.change else 0.0))
    slower, sentence = _answer(series)
    return History(
        slower=slower,
        sentence=sentence,
        recordings=count["paths"],
        index=str(index),
        series=series,
        left_out=left_out,
    )


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
def _reporting_damage(index: Path) -> Iterator[None]:
    import duckdb

    try:
        yield
    except (duckdb.Error, UnicodeError) as error:
        raise UsageError(
            f"{index}: cannot be queried: {str(error).splitlines()[0]}: delete it, and it is made "
            "again, or name another file with -o"
        ) from error


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
    more = len(names) - _MOST_NAMED
    shown = [*names[:_MOST_NAMED], *([f"{more} more"] if more > 0 else [])]
    return f"{'is' if len(names) == 1 else 'are'} {listed(shown)}"


@dataclass(frozen=True)
class _Names:
    """What the numbers of settings (place and host) and firmwares stand for."""

    settings: Mapping[int, tuple[str, str]]
    firmwares: Mapping[int, str]


@dataclass(frozen=True)
class _Days:
    """The days of a series, ascending: means of logarithms, and hashes of what it ran in."""

    day: Array
    rate: Array
    level: Array
    setting: Hashes
    version: Hashes


def _days(database: "DuckDBPyConnection", asked: Mapping[str, Any]) -> Iterator[_Days]:
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
        yield _Days(**part | {"version": _known(part["version"])})


class _Fitted:
    """A series, and what was fitted to its days.

    Attributes:
        own: the drive's own change, which `is_whole` if it includes that of firmware.
        is_known: whether `own` is beyond chance, among all series that are looked at.
    """

    def __init__(self, about: dict[str, Any], days: _Days) -> None:
        self._about = about
        self._days = days
        self._numbers = _numbered(days.setting), _numbered(days.version)
        self._fit = Fit(days.day, days.rate, *self._numbers)
        own = self._fit.own()
        self.own = own or self._fit.aged()
        self.is_whole = own is not None
        self.is_known = False

    @property
    def verdict(self) -> TrendVerdict:
        if self.own is None:
            return "too-few"
        if self.is_known and self.own.value <= math.log(1 - ONSET_LOSS):
            return "slower"
        if self.is_known and self.own.value >= -math.log(1 - ONSET_LOSS):
            return "faster"
        return "same" if self.own.low > math.log(1 - MIN_DROP) else "cannot-tell"

    def series(self, names: _Names) -> Series:
        about = {name: value for name, value in self._about.items() if name != "series"}
        verdict = self.verdict
        changes = self._changes(names)
        found = Series(
            **about,
            days=len(np.unique(self._days.day)),
            first=_date(self._days.day[0]),
            last=_date(self._days.day[-1]),
            rate=math.exp(float(np.median(self._days.rate))),
            verdict=verdict,
            change=_interval(self.own),
            per_year=_interval(self._fit.slope()),
            level_change=_interval(self._level()) if verdict == "slower" else None,
            since=self._since(changes) if verdict in ("slower", "faster") else None,
            changes=changes,
            text="",
        )
        return found.model_copy(update={"text": _text(found, is_whole=self.is_whole)})

    def _level(self) -> LogChange | None:
        """The change of the level before the first episode."""
        days = self._days
        if not np.isfinite(days.level).all():
            return None
        fit = Fit(days.day, days.level, *self._numbers)
        return fit.own() if self.is_whole else fit.aged()

    def _since(self, changes: Sequence[HistoryChange]) -> HistoryChange | None:
        """The firmware that accounts for more than half of the change."""
        total = _interval(self.own)
        if total is None or not self.is_whole:
            return None
        found = [
            (abs(effect.pct), number)
            for number, change in enumerate(changes)
            if change.kind == "firmware"
            and (effect := change.effect) is not None
            and (effect.low_pct > 0 or effect.high_pct < 0)
            and effect.pct * total.pct > 0
            and abs(effect.pct) > abs(total.pct) / 2
        ]
        return changes[max(found)[1]] if found else None

    def _changes(self, names: _Names) -> list[HistoryChange]:
        """The first day of each other setting and firmware."""
        days = self._days
        found = []
        for at in _first_days(self._numbers[0]):
            effect = _interval(self._fit.of_setting(*self._numbers[0][at - 1 : at + 1].tolist()))
            before, after = (names.settings[int(days.setting[one])] for one in (at - 1, at))
            if before[0] != after[0]:
                found.append(_change(days.day[at], "place", before[0], after[0], effect))
            if before[1] != after[1]:
                found.append(_change(days.day[at], "host", before[1], after[1], effect))
        for at in _first_days(self._numbers[1]):
            effect = _interval(self._fit.of_firmware(*self._numbers[1][at - 1 : at + 1].tolist()))
            one, two = (names.firmwares[int(days.version[one])] for one in (at - 1, at))
            found.append(_change(days.day[at], "firmware", one, two, effect))
        return sorted(found, key=lambda change: change.date)


def _known(versions: Hashes) -> Hashes:
    """Versions with what was not recorded, 0, taken for the one before, or else the first known."""
    known = np.flatnonzero(versions)
    if not len(known):
        return versions
    before = np.searchsorted(known, np.arange(len(versions)), side="right") - 1
    return versions[known[np.maximum(before, 0)]]


def _numbered(values: Hashes) -> Numbers:
    """The values numbered from 0 in the order of their first appearance."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def _first_days(numbers: Numbers) -> list[int]:
    """Where each number but the first appears first."""
    _, first = np.unique(numbers, return_index=True)
    return sorted(first.tolist())[1:]


def _change(
    day: float,
    kind: Literal["firmware", "place", "host"],
    before: str,
    after: str,
    effect: Interval | None,
) -> HistoryChange:
    return HistoryChange(date=_date(day), kind=kind, before=before, after=after, effect=effect)


def _interval(change: LogChange | None) -> Interval | None:
    if change is None:
        return None
    ends = (change.value, change.low, change.high)
    # an interval of few days may end beyond all numbers
    # rounded to what anybody can mean; adding 0 makes -0 positive
    value, low, high = (round(100 * math.expm1(min(end, _LARGEST)), 4) + 0.0 for end in ends)
    return Interval(pct=value, low_pct=low, high_pct=high)


def _date(day: float) -> datetime.date:
    return datetime.datetime.fromtimestamp(day * _DAY_S, datetime.UTC).date()


def _judge_together(fitted: Sequence[_Fitted]) -> None:
    """Decide which changes are beyond chance: Benjamini and Hochberg's procedure, 1995."""
    known = sorted(
        ((one.own.p, number) for number, one in enumerate(fitted) if one.own is not None),
    )
    passed = 0
    for rank, (p, _) in enumerate(known, 1):
        if p <= _FALSE_SHARE * rank / len(known):
            passed = rank
    for _, number in known[:passed]:
        fitted[number].is_known = True


_ORDER: tuple[TrendVerdict, ...] = ("slower", "cannot-tell", "same", "faster", "too-few")


def drive_text(series: Series) -> str:
    """Return how a drive is named: ``"S1234 (Samsung 990 PRO)"``."""
    if series.serial is None or series.model is None:
        return said(series.drive)
    return f"{said(series.serial)} ({said(series.model)})"


def workload_text(series: Series) -> str:
    """Return how a workload is named in a sentence: its kind, before the sizes."""
    return said(series.workload.partition(",")[0] or series.step)


def _text(series: Series, *, is_whole: bool) -> str:
    subject = f"{drive_text(series)}: {workload_text(series)}"
    if series.change is None:
        days = f"{series.days} day{'s' if series.days != 1 else ''}"
        return f"{subject} was recorded on {days}: too few to tell whether it is slower"
    then = _then(series)
    low, high = series.change.low_pct, series.change.high_pct
    if series.verdict in ("slower", "faster"):
        sign = -1 if series.verdict == "slower" else 1
        ends = sorted((sign * low, sign * high))
        text = (
            f"{subject} is {_number(sign * series.change.pct)} % {series.verdict} "
            f"({_number(ends[0])} to {_number(ends[1])}) than {then}"
        )
        text += _why(series)
    elif series.verdict == "same":
        text = f"{subject} is no slower than {then} ({_signed(low)} to {_signed(high)} %)"
    else:
        text = (
            f"{subject}: cannot tell whether it is slower than {then}: "
            f"{_signed(low)} to {_signed(high)} %"
        )
    if not is_whole:
        text += "; firmware and place or host changed together, so what that did is left out"
    return text


def _why(series: Series) -> str:
    if (since := series.since) is not None:
        return f"; since firmware {said(since.after)} ({since.date})"
    year, level = series.per_year, series.level_change
    if year is not None and (year.high_pct < 0 or year.low_pct > 0):
        text = f"; gradually, {_signed(year.pct)} % a year"
    else:
        text = ""
    if series.verdict == "slower" and level is not None and level.pct > -100 * ONSET_LOSS:
        text += "; it begins as fast as then, and falls sooner or further"
    return text


def _then(series: Series) -> str:
    if (series.first.year, series.first.month) == (series.last.year, series.last.month):
        return f"on {series.first}"
    return f"in {series.first:%B %Y}"


def _number(pct: float) -> str:
    """A percentage to a tenth below ten, and whole above."""
    text = f"{pct:.0f}" if abs(pct) >= 9.5 else f"{pct:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def _signed(pct: float) -> str:
    text = _number(pct)
    return text if text == "0" or text.startswith("-") else f"+{text}"


def _answer(series: Sequence[Series]) -> tuple[Literal["yes", "no", "cannot-tell"], str]:
    """The answer of all: the worst drive's sentence, and how many more there are."""
    slower = [one for one in series if one.verdict == "slower"]
    drives = len({one.drive for one in series})
    if slower:
        more = len({one.drive for one in slower}) - 1
        others = f"; {more} more of {drives} drives {'are' if more > 1 else 'is'} slower too"
        return "yes", f"{slower[0].text}{others if more else ''}"
    if not series:
        return "cannot-tell", "Cannot tell: no step was recorded that could be compared"
    open_ones = [one for one in series if one.verdict in ("cannot-tell", "too-few")]
    if len(series) == 1:
        return ("cannot-tell" if open_ones else "no"), series[0].text
    what = "the drive" if drives == 1 else f"any of {drives} drives"
    if open_ones:
        told = len(series) - len(open_ones)
        fewer = all(one.verdict == "too-few" for one in open_ones)
        why = "were run on too few days" if fewer else "have too few days or vary too much"
        which = "all workloads"
        if told:
            which = f"{told} of {len(series)} workloads are no slower, the others"
        return "cannot-tell", f"Cannot tell whether {what} is slower than it was: {which} {why}"
    subject = drive_text(series[0]) if drives == 1 else f"None of {drives} drives"
    verb = "is no slower" if drives == 1 else "is slower"
    return "no", f"{subject} {verb} than it was, in {len(series)} workloads"
