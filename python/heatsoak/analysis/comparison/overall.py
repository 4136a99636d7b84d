"""What a comparison shows overall: which group is fastest, which is slowest, what lies between."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from heatsoak.analysis.comparison.headline import SAME_POINTS, change_of, digits, main_rows, where
from heatsoak.analysis.comparison.model import (
    ComparisonHeadline,
    ComparisonRow,
    ComparisonSummary,
    Tone,
)
from heatsoak.analysis.comparison.runs import KEYS
from heatsoak.analysis.findings import Throttles
from heatsoak.protocol import Label
from heatsoak.protocol.phrases import listed, plain, short

#: More groups are counted instead of named.
_MAX_NAMES = 4


@dataclass(frozen=True)
class _Gain:
    """How much better a group is than the baseline, on average, where that is shown."""

    pct: float
    is_tested: bool


@dataclass(frozen=True)
class _Words:
    """What is said of rates, or of scores."""

    best: str
    worst: str
    above: str
    below: str


_RATES = _Words("fastest", "slowest", "above", "below")
_SCORES = _Words("best", "worst", "better than", "worse than")


def summarize(
    by: str,
    groups: Sequence[Label],
    rows: Sequence[ComparisonRow],
    headlines: Sequence[ComparisonHeadline],
    throttling: Mapping[Label, Throttles],
) -> ComparisonSummary:
    """Return what the comparison shows in one sentence.

    Of two groups that is the headline; of more, the range of the groups' rates, or scores, and
    which of them `throttling` says heat slows. The baseline comes first in `groups`.
    """
    if len(headlines) == 1:
        return ComparisonSummary(text=headlines[0].text, tone=headlines[0].tone)
    baseline, *others = groups
    main = {group: main_rows([row for row in rows if row.group == group]) for group in others}
    gains = {group: _gain(of_group) for group, of_group in main.items()}
    better = any(gain.pct > 0 for gain in gains.values())
    worse = any(gain.pct < 0 for gain in gains.values())
    counted = _counted(by, groups)
    slowed = [group for group in groups if throttling.get(group) == "yes"]
    open_ones = [group for group in groups if throttling.get(group) == "cannot-tell"]
    heat = [f"heat slows {_slowed(by, slowed, groups)}"] if slowed else []
    if slowed and open_ones:
        heat.append(f"whether it slows {_slowed(by, open_ones, groups)} is open")
    if not better and not worse:
        text = f"Between {'; '.join([f'{counted} no difference is shown', *heat])}."
        return ComparisonSummary(text=text, tone="mixed" if slowed else "alike")
    text = f"Of {counted}, {'; '.join([*_clauses(by, baseline, gains, main), *heat])}."
    tone: Tone = "better" if better else "worse"
    if (better and worse) or slowed:
        tone = "mixed"
    return ComparisonSummary(text=text, tone=tone)


def _gain(main: Sequence[ComparisonRow]) -> _Gain:
    shown = [row for row in main if change_of(row) is not None]
    if not shown:
        return _Gain(0.0, is_tested=True)
    changes = [row.delta_pct if row.definition is None else row.better_by_pct for row in main]
    known = [pct for pct in changes if pct is not None]
    is_tested = all(row.verdict != "not tested" for row in shown)
    return _Gain(float(np.mean(known)) if known else 0.0, is_tested)


def _clauses(
    by: str,
    baseline: Label,
    gains: Mapping[Label, _Gain],
    main: Mapping[Label, Sequence[ComparisonRow]],
) -> list[str]:
    words = _SCORES if any(row.definition for rows in main.values() for row in rows) else _RATES
    than = _name(by, baseline)
    if any(len(rows) > 1 for rows in main.values()):
        than += " on average"
    better = {group: gain for group, gain in gains.items() if gain.pct > 0}
    worse = {group: gain for group, gain in gains.items() if gain.pct < 0}
    alike = [group for group, gain in gains.items() if gain.pct == 0]
    most = max((gain.pct for gain in better.values()), default=0.0)
    least = min((gain.pct for gain in worse.values()), default=0.0)
    first = [group for group, gain in better.items() if most - gain.pct < SAME_POINTS]
    last = [group for group, gain in worse.items() if gain.pct - least < SAME_POINTS]
    clauses = []
    if first:
        share = _share([gains[group] for group in first], words.above)
        clauses.append(f"{_are(by, first)} {words.best}, {share} {than}")
    else:
        clauses.append(f"{_are(by, [baseline, *alike])} {words.best}")
    if last:
        share = _share([gains[group] for group in last], words.below)
        clauses.append(f"{_are(by, last)} {words.worst}, {share} {than}")
    between = [group for group in (*better, *worse) if group not in (*first, *last)]
    if between:
        clauses.append(f"{_named(by, between)} {'lie' if between[1:] else 'lies'} between")
    if first and alike:
        clauses.append(f"no difference is shown for {_named(by, alike)}")
    return clauses


def _share(gains: Sequence[_Gain], than: str) -> str:
    shares = sorted(abs(gain.pct) for gain in gains)
    low, high = digits(shares[0]), digits(shares[-1])
    text = f"{low} %" if low == high else f"{low} to {high} %"
    is_tested = all(gain.is_tested for gain in gains)
    return f"{text} {than}" if is_tested else f"{text} (not tested) {than}"


def _counted(by: str, groups: Sequence[Label]) -> str:
    key = plain(by)
    is_noun = not key.endswith("s") and any(isinstance(group, str) for group in groups)
    return f"{len(groups)} {key}s" if is_noun else f"{len(groups)} values of {key}"


def _name(by: str, group: Label) -> str:
    """The bare value where that is enough: ``A``, but ``no heatsink`` and ``2 cards``."""
    text = short(by, group)
    return text.removeprefix(f"{plain(by)} ") if isinstance(group, str) else text


def _named(by: str, groups: Sequence[Label]) -> str:
    names = [_name(by, group) for group in groups]
    if len(names) > _MAX_NAMES:
        names = [*names[: _MAX_NAMES - 1], f"{len(names) - _MAX_NAMES + 1} more"]
    return listed(names)


def _slowed(by: str, slowed: Sequence[Label], groups: Sequence[Label]) -> str:
    """What heat slows: drives of these names, or the drive in these conditions."""
    if len(slowed) == len(groups):
        return "all of them" if by in KEYS else "the drive in all of them"
    if by in KEYS:
        return _named(by, slowed)
    return f"the drive {listed([where(by, group) for group in slowed])}"


def _are(by: str, groups: Sequence[Label]) -> str:
    return f"{_named(by, groups)} {'are' if groups[1:] else 'is'}"
