"""What was fitted to the days of each drive, whether that is beyond chance, and what to say."""

import datetime
import math
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np

from heatsoak import words
from heatsoak.analysis.definitions import MIN_DROP, ONSET_LOSS
from heatsoak.facts import effects
from heatsoak.history import findings, queries, trend
from heatsoak.ranges import Range

_DAY_S = 86400.0
#: A factor of a billion: no drive changes as much.
_LARGEST = math.log(1e9)
#: What changes less, as a logarithm, is as it was.
_LEAST = -math.log(1 - ONSET_LOSS)
#: The share of drives called slower or faster that may be so by chance: a fleet has many.
_FALSE_SHARE = 0.05
#: How well a sudden change is dated.
_DATED = datetime.timedelta(days=7)
#: What series have in common that two swapped drives of a model would exchange.
_SAME_LOAD = ("model", "protocol", "step", "workload", "unit")


class FittedSeries:
    """A series, and what was fitted to its days.

    Attributes:
        own: the drive's own change.
        is_known: whether `own` is beyond chance, among all series that are looked at.
    """

    def __init__(self, about: dict[str, Any], days: queries.Days) -> None:
        self._about = about
        self._days = days
        self._numbers = _numbered(days.setting), _numbered(days.version)
        self._fit = trend.TrendFit(days.day, days.rate, *self._numbers).with_sudden()
        self.own = self._fit.own(beyond=_LEAST)
        self.is_known = False

    @property
    def verdict(self) -> findings.TrendVerdict:
        """Whether the drive is slower than it was."""
        if self.own is None:
            return "too-few"
        if self.is_known:
            return "slower" if self.own.of_log.mid < 0 else "faster"
        return "same" if self.own.of_log.low > math.log(1 - MIN_DROP) else "cannot-tell"

    def series(self, names: queries.Names) -> findings.Series:
        """Return what the series shows."""
        about = {name: value for name, value in self._about.items() if name != "series"}
        verdict = self.verdict
        found = findings.Series(
            **about,
            days=len(np.unique(self._days.day)),
            first=_date(self._days.day[0]),
            last=_date(self._days.day[-1]),
            rate=math.exp(float(np.median(self._days.rate))),
            verdict=verdict,
            change=_percent(self.own),
            per_year=_percent(self._fit.change(years=1.0)),
            level_change=_percent(self._level()) if verdict == "slower" else None,
            since=None,
            changes=self._changes(names),
            text="",
        )
        steps = steps_of(found)
        sizes = [abs(_log(step.effect.mid)) for step in steps if step.effect is not None]
        if found.change is not None and sum(sizes) > abs(_log(found.change.mid)) / 2:
            found.since = steps[int(np.argmax(sizes))]
        found.text = text_of(found)
        return found

    def _level(self) -> trend.Change | None:
        """The change of the level before the first episode."""
        days = self._days
        if not np.isfinite(days.level).all():
            return None
        return trend.TrendFit(days.day, days.level, *self._numbers, self._fit.sudden).own()

    def _changes(self, names: queries.Names) -> list[findings.HistoryChange]:
        """The first day of each other setting, firmware and, of unknown cause, level."""
        days, fit = self._days, self._fit
        told_of = [
            {**names[setting], **names[version]}
            for setting, version in zip(days.setting.tolist(), days.version.tolist(), strict=True)
        ]
        found = list(self._sudden())
        moves, updates = map(_first_days, self._numbers)
        for at in {*moves, *updates}:
            before, after = dict(told_of[at - 1]), dict(told_of[at])
            pairs = [[(one[at - 1], one[at])] for one in self._numbers]
            moved, updated = pairs[0] if at in moves else [], pairs[1] if at in updates else []
            groups = [("place", moved, []), ("host", moved, []), ("firmware", [], updated)]
            kinds = ["firmware", "place", "host"]
            if moved and updated and not fit.tells(moved[0]):
                kinds = [one for one in kinds if before[one] != after[one]]
                for told in (before, after):
                    each = [f"{one} {told[one] or 'not told'}" for one in kinds]
                    told["together"] = " and ".join(each)
                groups = [("together", moved, updated)]
            for kind, moved, updated in groups:
                if (moved or updated) and before[kind] != after[kind]:
                    effect = fit.change(settings=moved, firmwares=updated)
                    change = _change(days.day[at], kind, before[kind], after[kind], effect)
                    of_kind = kinds if kind == "together" else [kind]
                    undone = _undone([[told[one] for one in of_kind] for told in told_of], at)
                    change.until = None if undone is None else _date(days.day[undone])
                    found.append(change)
        return sorted(found, key=lambda change: change.date)

    def _sudden(self) -> Iterator[findings.HistoryChange]:
        """The sudden changes; a second that takes the one before it back is that one's end."""
        days, fit = self._days.day, self._fit
        is_undone = False
        for number, (first, end) in enumerate(pairwise([*fit.sudden, len(days)])):
            if is_undone:
                is_undone = False
                continue
            here, there, both = (
                fit.change(levels=[one for one in levels if one < len(fit.sudden)])
                for levels in ([number], [number + 1], [number, number + 1])
            )
            if here and there and both:
                is_undone = here.of_log.mid * there.of_log.mid < 0 and 0 in both.of_log
            one, two = (str(_date(days[day])) for day in (first - 1, first))
            change = _change(days[first], "sudden", one, two, here)
            change.until = _date(days[end]) if is_undone else None
            change.days = end - first
            yield change


def with_opposites(series: Sequence[findings.Series]) -> None:
    """Say of sudden changes which look as if two drives had been swapped."""
    sudden = [(one, change) for one in series for change in one.changes if change.kind == "sudden"]
    for (one, here), (other, there) in combinations(sudden, 2):
        same = all(getattr(one, key) == getattr(other, key) for key in _SAME_LOAD)
        if same and one.drive != other.drive and _is_opposite(here, there):
            here.opposite, there.opposite = drive_text(other), drive_text(one)
    for one in series:
        if one.since is not None and one.since.opposite is not None:
            drive = one.since.opposite
            one.text += f"; {drive} changed the other way at that time: were they swapped?"


def _is_opposite(here: findings.HistoryChange, there: findings.HistoryChange) -> bool:
    if here.effect is None or there.effect is None:
        return False
    one, other = here.effect.mapped(_log), there.effect.mapped(lambda pct: -_log(pct))
    is_at_once = here.before <= str(there.date + _DATED) and there.before <= str(here.date + _DATED)
    is_alike = one.low <= other.high and other.low <= one.high
    return is_at_once and one.has_sign and other.has_sign and is_alike


def _log(pct: float) -> float:
    return math.log1p(max(pct, -99.999) / 100)


def _numbered(values: queries.Hashes) -> trend.Numbers:
    """The values numbered from 0 in the order of their first appearance."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def _first_days(numbers: trend.Numbers) -> list[int]:
    """Where each number but the first appears first."""
    _, first = np.unique(numbers, return_index=True)
    return sorted(first.tolist())[1:]


def _undone(told: Sequence[object], at: int) -> int | None:
    """Where it is as before the change `at`, and never again as it was after that."""
    later = range(at + 1, len(told))
    back = next((day for day in later if told[day] == told[at - 1]), None)
    return None if back is None or told[at] in told[back:] else back


def _change(
    day: float, kind: str, before: str, after: str, effect: trend.Change | None
) -> findings.HistoryChange:
    told = {"date": _date(day), "kind": kind, "before": before, "after": after}
    return findings.HistoryChange.model_validate(told | {"effect": _percent(effect)})


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
    """Decide which changes are beyond chance, of all that are looked at."""
    chances = effects.adjusted([None if one.own is None else one.own.p for one in fitted])
    for one, p in zip(fitted, chances, strict=True):
        one.is_known = p is not None and p <= _FALSE_SHARE


def drive_text(series: findings.Series) -> str:
    """Return how a drive is named: ``"S1234 (Samsung 990 PRO)"``."""
    if series.serial is None or series.model is None:
        return words.said(series.drive)
    return f"{words.said(series.serial)} ({words.said(series.model)})"


def steps_of(series: findings.Series) -> list[findings.HistoryChange]:
    """Return the changes of a slower or faster drive's own that went its way, and stayed."""
    total = series.change
    if total is None or series.verdict not in ("slower", "faster"):
        return []
    return [
        change
        for change in series.changes
        if change.kind in ("firmware", "sudden", "together")
        and change.until is None
        and change.effect is not None
        and change.effect.has_sign
        and change.effect.mid * total.mid > 0
    ]


def text_of(series: findings.Series) -> str:
    """Return the answer for a series."""
    load = series.workload.partition(",")[0] or series.step
    subject = f"{drive_text(series)}: {words.said(load)}"
    if series.change is None:
        days = words.counted(series.days, "day")
        return f"{subject} was recorded on {days}: too few to tell whether it is slower"
    is_a_month = f"{series.first:%Y-%m}" == f"{series.last:%Y-%m}"
    then = f"on {series.first}" if is_a_month else f"in {series.first:%B %Y}"
    ends = words.interval_text(series.change.rounded(1), "%", signed=True)
    if series.verdict in ("slower", "faster"):
        text = f"{subject} is {_size_text(series.change)} than {then}{_why(series)}"
    elif series.verdict == "same":
        text = f"{subject} is not {_slower(series.change.low)} than {then} ({ends})"
    else:
        text = f"{subject}: cannot tell whether it is slower than {then}: {ends}"
    for one in series.changes:
        if one.kind == "sudden" and (one.until or series.since is None):
            text += f"; it became {_step_text(one, with_size=True)}"
    return text


def _size_text(change: Range) -> str:
    size = change.rounded(1).size
    way = "slower" if change.mid < 0 else "faster"
    return f"{words.percent_text(size.mid)} {way} ({words.interval_text(size)})"


def _step_text(change: findings.HistoryChange, *, with_size: bool = False) -> str:
    """Since when, and why: ``suddenly, since 2025-06-11, for a reason that was not recorded``."""
    size = f"{_size_text(change.effect)} " if with_size and change.effect is not None else ""
    after = words.said(change.after)
    if change.kind == "firmware":
        return f"{size}since firmware {after} ({change.date})"
    if change.kind == "together":
        return f"{size}since {after} ({change.date}), together: nothing tells them apart"
    when = f"since {change.date}"
    if change.until is not None:
        when = f"on {change.date}, and came back by {change.until}"
    elif change.days is not None and change.days < trend.MIN_DAYS_OF_LEVEL:
        when = f"since about {change.date}, on {words.counted(change.days, 'day')}"
    return f"{size}suddenly, {when}, for a reason that was not recorded"


def _why(series: findings.Series) -> str:
    if series.since is not None:
        steps = steps_of(series)
        return "".join(f"; {_step_text(step, with_size=len(steps) > 1)}" for step in steps)
    year, level = series.per_year, series.level_change
    text = ""
    if year is not None and year.has_sign:
        text = "; gradually"
        if series.lasted_a_year:
            text += f", {words.signed_text(round(year.mid, 1))} % a year"
    if series.verdict == "slower" and level is not None and level.mid > -100 * ONSET_LOSS:
        text += "; it begins as fast as then, and falls sooner or further"
    return text


def _slower(low_pct: float) -> str:
    """What is excluded: as much slower as the lower end of a change, or at all."""
    loss = round(-low_pct, 1)
    return f"more than {words.percent_text(loss)} slower" if loss > 0 else "slower"


def answer_of(series: Sequence[findings.Series]) -> tuple[Literal["yes", "no", "cannot-tell"], str]:
    """Return the answer of all: the worst drive's sentence, and how many more there are."""
    slower = [one for one in series if one.verdict == "slower"]
    drives = len({drive_text(one) for one in series})
    if slower:
        more = len({drive_text(one) for one in slower}) - 1
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


def _shared(series: Sequence[findings.Series]) -> str:
    """What serials several models have, which are told apart."""
    models: dict[str, set[str]] = {}
    for one in series:
        if one.serial is not None and one.model is not None:
            models.setdefault(one.serial, set()).add(one.model)
    return "".join(
        f"; {words.said(serial)} is the serial of {words.listed(sorted(map(words.said, of)))}"
        for serial, of in models.items()
        if len(of) > 1
    )


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
    series = [one.series(chosen.names) for one in fitted]
    with_opposites(series)
    series.sort(key=lambda one: (_ORDER.index(one.verdict), one.change.mid if one.change else 0.0))
    slower, sentence = answer_of(series)
    return findings.History(
        slower=slower,
        sentence=sentence + _shared(series),
        recordings=chosen.recordings,
        index=str(index),
        series=series,
        left_out=chosen.left_out,
    )
