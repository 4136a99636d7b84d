"""What was fitted to the days of each drive, whether that is beyond chance, and what to say."""

import datetime
import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np

from heatsoak import words
from heatsoak.analysis.definitions import MIN_DROP, ONSET_LOSS
from heatsoak.history import findings, queries, trend
from heatsoak.ranges import Range

_DAY_S = 86400.0
#: A factor of a billion: no drive changes as much.
_LARGEST = math.log(1e9)
#: The share of drives called slower or faster that may be so by chance: a fleet has many.
_FALSE_SHARE = 0.05
#: How well a sudden change is dated.
_DATED = datetime.timedelta(days=7)
#: What series have in common that two swapped drives of a model would exchange.
_SAME_LOAD = ("model", "protocol", "step", "workload", "unit")


class FittedSeries:
    """A series, and what was fitted to its days.

    Attributes:
        own: the drive's own change, which `is_whole` if it includes that of firmware.
        is_known: whether `own` is beyond chance, among all series that are looked at.
    """

    def __init__(self, about: dict[str, Any], days: queries.Days) -> None:
        self._about = about
        self._days = days
        self._numbers = _numbered(days.setting), _numbered(days.version)
        self._fit = trend.TrendFit(days.day, days.rate, *self._numbers).with_sudden()
        own = self._fit.own()
        self.own = own or self._fit.aged()
        self.is_whole = own is not None
        self.is_known = False

    @property
    def verdict(self) -> findings.TrendVerdict:
        """Whether the drive is slower than it was."""
        if self.own is None:
            return "too-few"
        if self.is_known and self.own.of_log.mid <= math.log(1 - ONSET_LOSS):
            return "slower"
        if self.is_known and self.own.of_log.mid >= -math.log(1 - ONSET_LOSS):
            return "faster"
        return "same" if self.own.of_log.low > math.log(1 - MIN_DROP) else "cannot-tell"

    def series(self, names: queries.SettingNames) -> findings.Series:
        """Return what the series shows."""
        about = {name: value for name, value in self._about.items() if name != "series"}
        verdict = self.verdict
        changes = self._changes(names)
        found = findings.Series(
            **about,
            days=len(np.unique(self._days.day)),
            first=_date(self._days.day[0]),
            last=_date(self._days.day[-1]),
            rate=math.exp(float(np.median(self._days.rate))),
            verdict=verdict,
            change=_percent(self.own),
            per_year=_percent(self._fit.slope()),
            level_change=_percent(self._level()) if verdict == "slower" else None,
            since=self._since(changes) if verdict in ("slower", "faster") else None,
            changes=changes,
            text="",
        )
        return found.model_copy(update={"text": text_of(found, is_whole=self.is_whole)})

    def _level(self) -> trend.Change | None:
        """The change of the level before the first episode."""
        days = self._days
        if not np.isfinite(days.level).all():
            return None
        fit = trend.TrendFit(days.day, days.level, *self._numbers, self._fit.sudden)
        return fit.own() if self.is_whole else fit.aged()

    def _since(self, changes: Sequence[findings.HistoryChange]) -> findings.HistoryChange | None:
        """The firmware, or the sudden change, that accounts for more than half of the change."""
        total = _percent(self.own)
        if total is None or not self.is_whole:
            return None
        found = [
            (abs(effect.mid), number)
            for number, change in enumerate(changes)
            if change.kind in ("firmware", "sudden")
            and (effect := change.effect) is not None
            and effect.has_sign
            and effect.mid * total.mid > 0
            and abs(effect.mid) > abs(total.mid) / 2
        ]
        return changes[max(found)[1]] if found else None

    def _changes(self, names: queries.SettingNames) -> list[findings.HistoryChange]:
        """The first day of each other setting, firmware and, of unknown cause, level."""
        days = self._days
        found = []
        for at in _first_days(self._numbers[0]):
            effect = _percent(self._fit.of_setting(*self._numbers[0][at - 1 : at + 1].tolist()))
            before, after = (names.settings[int(days.setting[one])] for one in (at - 1, at))
            if before[0] != after[0]:
                found.append(_change(days.day[at], "place", before[0], after[0], effect))
            if before[1] != after[1]:
                found.append(_change(days.day[at], "host", before[1], after[1], effect))
        for at in _first_days(self._numbers[1]):
            effect = _percent(self._fit.of_firmware(*self._numbers[1][at - 1 : at + 1].tolist()))
            one, two = (names.firmwares[int(days.version[one])] for one in (at - 1, at))
            found.append(_change(days.day[at], "firmware", one, two, effect))
        for number, at in enumerate(self._fit.sudden):
            one, two = (str(_date(days.day[day])) for day in (at - 1, at))
            effect = _percent(self._fit.of_sudden(number))
            found.append(_change(days.day[at], "sudden", one, two, effect))
        return sorted(found, key=lambda change: change.date)


def with_opposites(series: Sequence[findings.Series]) -> list[findings.Series]:
    """Return the series with sudden changes that look as if two drives had been swapped."""
    sudden = [(one, change) for one in series for change in one.changes if change.kind == "sudden"]
    found: dict[int, str] = {}
    for (one, here), (other, there) in combinations(sudden, 2):
        if _is_opposite(one, here, other, there):
            found[id(here)], found[id(there)] = drive_text(other), drive_text(one)
    return [_with_opposites(one, found) if found else one for one in series]


def _is_opposite(
    one: findings.Series,
    here: findings.HistoryChange,
    other: findings.Series,
    there: findings.HistoryChange,
) -> bool:
    same = all(getattr(one, key) == getattr(other, key) for key in _SAME_LOAD)
    if not same or one.drive == other.drive:
        return False
    if here.effect is None or there.effect is None:
        return False
    is_at_once = here.before <= str(there.date + _DATED) and there.before <= str(here.date + _DATED)
    one_way = here.effect.mapped(_log)
    back = there.effect.mapped(lambda pct: -_log(pct))
    is_shown = one_way.has_sign and back.has_sign
    return is_at_once and is_shown and one_way.low <= back.high and back.low <= one_way.high


def _log(pct: float) -> float:
    return math.log1p(max(pct, -99.999) / 100)


def _with_opposites(one: findings.Series, found: Mapping[int, str]) -> findings.Series:
    changes = [
        change.model_copy(update={"opposite": found.get(id(change))}) for change in one.changes
    ]
    since = next(
        (new for new, old in zip(changes, one.changes, strict=True) if old is one.since), one.since
    )
    text = one.text
    if since is not None and since.opposite is not None:
        text += f"; {since.opposite} changed the other way at that time: were they swapped?"
    return one.model_copy(update={"changes": changes, "since": since, "text": text})


def _numbered(values: queries.Hashes) -> trend.Numbers:
    """The values numbered from 0 in the order of their first appearance."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def _first_days(numbers: trend.Numbers) -> list[int]:
    """Where each number but the first appears first."""
    _, first = np.unique(numbers, return_index=True)
    return sorted(first.tolist())[1:]


def _change(
    day: float,
    kind: Literal["firmware", "place", "host", "sudden"],
    before: str,
    after: str,
    effect: Range | None,
) -> findings.HistoryChange:
    return findings.HistoryChange(
        date=_date(day), kind=kind, before=before, after=after, effect=effect
    )


def _percent(change: trend.Change | None) -> Range | None:
    if change is None:
        return None
    # an interval of few days may end beyond all numbers
    pct = change.of_log.mapped(lambda log: 100 * math.expm1(min(log, _LARGEST)))
    # adding 0 makes -0 positive
    return pct.rounded(4).mapped(lambda value: value + 0.0)


def _date(day: float) -> datetime.date:
    return datetime.datetime.fromtimestamp(day * _DAY_S, datetime.UTC).date()


def judge_together(fitted: Sequence[FittedSeries]) -> None:
    """Decide which changes are beyond chance: Benjamini and Hochberg's procedure, 1995."""
    known = sorted(
        ((one.own.p, number) for number, one in enumerate(fitted) if one.own is not None)
    )
    passed = 0
    for rank, (p, _) in enumerate(known, 1):
        if p <= _FALSE_SHARE * rank / len(known):
            passed = rank
    for _, number in known[:passed]:
        fitted[number].is_known = True


def drive_text(series: findings.Series) -> str:
    """Return how a drive is named: ``"S1234 (Samsung 990 PRO)"``."""
    if series.serial is None or series.model is None:
        return words.said(series.drive)
    return f"{words.said(series.serial)} ({words.said(series.model)})"


def workload_text(series: findings.Series) -> str:
    """Return how a workload is named in a sentence: its kind, before the sizes."""
    return words.said(series.workload.partition(",")[0] or series.step)


def text_of(series: findings.Series, *, is_whole: bool) -> str:
    """Return the answer for a series; `is_whole` if its change includes that of firmware."""
    subject = f"{drive_text(series)}: {workload_text(series)}"
    if series.change is None:
        days = words.counted(series.days, "day")
        return f"{subject} was recorded on {days}: too few to tell whether it is slower"
    then = _then(series)
    change = series.change.rounded(1)
    ends = words.interval_text(change, "%", signed=True)
    if series.verdict in ("slower", "faster"):
        size = change.size
        by = f"{words.percent_text(size.mid)} {series.verdict} ({words.interval_text(size)})"
        text = f"{subject} is {by} than {then}{_why(series)}"
    elif series.verdict == "same":
        text = f"{subject} is not {_slower(series.change.low)} than {then} ({ends})"
    else:
        text = f"{subject}: cannot tell whether it is slower than {then}: {ends}"
    if not is_whole:
        text += "; firmware and place or host changed together, so what that did is left out"
    return text


def _why(series: findings.Series) -> str:
    if (since := series.since) is not None:
        if since.kind == "sudden":
            return f"; suddenly, since {since.date}, for a reason that was not recorded"
        return f"; since firmware {words.said(since.after)} ({since.date})"
    year, level = series.per_year, series.level_change
    if year is not None and year.has_sign:
        text = "; gradually"
        if series.lasted_a_year:
            text += f", {_signed(year.mid)} % a year"
    else:
        text = ""
    if series.verdict == "slower" and level is not None and level.mid > -100 * ONSET_LOSS:
        text += "; it begins as fast as then, and falls sooner or further"
    return text


def _then(series: findings.Series) -> str:
    if (series.first.year, series.first.month) == (series.last.year, series.last.month):
        return f"on {series.first}"
    return f"in {series.first:%B %Y}"


def _slower(low_pct: float) -> str:
    """What is excluded: as much slower as the lower end of a change, or at all."""
    loss = round(-low_pct, 1)
    return f"more than {words.percent_text(loss)} slower" if loss > 0 else "slower"


def _signed(pct: float) -> str:
    return words.signed_text(round(pct, 1))


def answer_of(series: Sequence[findings.Series]) -> tuple[Literal["yes", "no", "cannot-tell"], str]:
    """Return the answer of all: the worst drive's sentence, and how many more there are."""
    slower = [one for one in series if one.verdict == "slower"]
    drives = len({one.drive for one in series})
    if slower:
        more = len({one.drive for one in slower}) - 1
        others = f"; {more} more of {drives} drives {'are' if more > 1 else 'is'} slower too"
        return "yes", f"{slower[0].text}{others if more else ''}"
    if not series:
        return "cannot-tell", "Cannot tell: no step was recorded that could be compared"
    open_ones = [one for one in series if one.verdict in ("cannot-tell", "too-few")]
    told = [one.change.low for one in series if one.change and one.verdict in ("same", "faster")]
    excluded = _slower(min(told, default=0.0))
    if len(series) == 1:
        return ("cannot-tell" if open_ones else "no"), series[0].text
    what = "the drive" if drives == 1 else f"any of {drives} drives"
    if open_ones:
        fewer = all(one.verdict == "too-few" for one in open_ones)
        why = "were run on too few days" if fewer else "have too few days or vary too much"
        which = "all workloads"
        if told:
            which = f"{len(told)} of {len(series)} workloads are not {excluded}, the others"
        return "cannot-tell", f"Cannot tell whether {what} is slower than it was: {which} {why}"
    is_ = f"{drive_text(series[0])} is not" if drives == 1 else f"None of {drives} drives is"
    return "no", f"{is_} {excluded} than it was, in {len(series)} workloads"


_ORDER: tuple[findings.TrendVerdict, ...] = ("slower", "cannot-tell", "same", "faster", "too-few")


def history(
    index: Path,
    *,
    drive: str | None = None,
    workload: str | None = None,
    since: datetime.date | None = None,
) -> findings.History:
    """Return what the summaries in `index` show, of one drive, workload and time if given.

    `drive` is a serial or model, `workload` a step's name or words of its description. Raises
    UsageError if nothing is left, or `index` is not an index.
    """
    chosen = queries.chosen_from(index, drive, workload, since)
    fitted = [FittedSeries(one, part) for one, part in zip(chosen.about, chosen.days, strict=True)]
    judge_together(fitted)
    series = with_opposites([one.series(chosen.names) for one in fitted])
    series.sort(key=lambda one: (_ORDER.index(one.verdict), one.change.mid if one.change else 0.0))
    slower, sentence = answer_of(series)
    return findings.History(
        slower=slower,
        sentence=sentence,
        recordings=chosen.recordings,
        index=str(index),
        series=series,
        left_out=chosen.left_out,
    )
