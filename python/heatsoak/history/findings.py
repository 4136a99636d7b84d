"""What an index of summaries shows of drives."""

import datetime
from typing import Annotated, Literal

from pydantic import BaseModel

from heatsoak.ranges import Range, WrittenAs

#: ``same``: a loss of 5 % or more is excluded. ``too-few``: there are too few days to tell.
TrendVerdict = Literal["slower", "faster", "same", "cannot-tell", "too-few"]


#: A change in percent with its 95 % interval; negative is slower.
Percent = Annotated[Range, WrittenAs("low_pct", "pct", "high_pct")]


class HistoryChange(BaseModel):
    """What changed besides time.

    Attributes:
        date: the first day (UTC) after it.
        kind: what changed; ``sudden`` is the rate itself, for a reason that was not recorded,
            ``together`` are several on one day, which nothing tells apart.
        before, after: its names; of a sudden change, the last day before and the first day after.
        effect: what it did to the rate; None where that cannot be told from other changes.
        until: the first day on which it was undone, which it stayed.
        days: how many days a sudden change lasted, of those that have runs.
        opposite: another drive of the model that became as much faster as this one became slower,
            or the other way round, at the same time: the two, or their labels, may have been
            swapped.
    """

    date: datetime.date
    kind: Literal["firmware", "place", "host", "together", "sudden"]
    before: str
    after: str
    effect: Percent | None
    until: datetime.date | None = None
    days: int | None = None
    opposite: str | None = None


class Series(BaseModel):
    """A drive under one workload over time.

    Attributes:
        drive: its serial, else its model and path.
        protocol: whose step it is; only the same step after the same steps is compared.
        unit: of `rate`: MB/s, or IOPS where no bytes were logged.
        runs: how many recordings have it, on `days` days; of a day, the (geometric) mean counts.
        rate: the median of all days.
        change: the drive's own, from the first day to the last: ageing and firmware, without
            places and hosts but where one changed together with firmware; None with too few days.
        per_year: the ageing alone: runs in one place with one firmware are compared, and what
            changed suddenly is left out.
        level_change: as `change`, for the rate before the first episode.
        since: the largest of those `changes` of the drive that account for most of the change;
            None if that is gradual.
        changes: the first time of each other firmware, place and host, and sudden changes.
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
    change: Percent | None
    per_year: Percent | None
    level_change: Percent | None
    since: HistoryChange | None
    changes: list[HistoryChange]
    max_temp_c: float | None
    thermal_runs: int
    used_pct: float | None
    throttle_count: float | None
    throttle_s: float | None
    text: str

    @property
    def lasted_a_year(self) -> bool:
        """Whether its days tell a change in a year; of fewer, a season may be taken for it."""
        return (self.last - self.first).days >= 365


class LeftOut(BaseModel):
    """How many steps are not compared, and why: each is counted once.

    Attributes:
        wrongly_dated: before 2000, in the future, or when the drive had written less, or more, than
            it tells.
        copies: of recordings that are copies of others.
    """

    without_date: int
    wrongly_dated: int
    not_comparable: int
    without_rate: int
    copies: int = 0


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
