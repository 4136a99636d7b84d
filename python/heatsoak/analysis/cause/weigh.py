"""From evidence to a cause: weights add up to log-odds, and the likeliest cause is named if it is
likely enough.

Evidence is gated, the answer is not: `observe` leaves out what may not speak, and naming a cause
takes shares, and that something was seen which shows heat at all.
"""

import math
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from itertools import product
from typing import get_args

import numpy as np

from heatsoak.analysis.cause.case import Case, Finding
from heatsoak.analysis.cause.evidence import OF_TEMPERATURES, counters, observe, temperature
from heatsoak.analysis.findings import Cause, Verdict
from heatsoak.analysis.series import Array
from heatsoak.analysis.view import StepView, is_known_cool, temp_moves
from heatsoak.words import listed

#: The causes that can be named, in the table's order.
CAUSES: tuple[Cause, ...] = get_args(Cause)
#: What a finding is about, and what was seen.
Seen = tuple[str, str]
#: A cause that is not in the table; its weight is always 0.
OTHER = "other"
#: The lowest probability at which a cause is named.
MIN_SHARE_NAMED = 0.75
#: Heat is named from this probability on, and excluded up to its rest; docs/judging.md says why.
#: Where no temperature or count tells of it, it is only excluded, and that takes more.
SURE_SHARE, SURE_WITHOUT = 0.92, 0.98
#: A finding that moves the log-odds by less than this is neither for nor against.
MIN_GAIN = 0.3
#: No judgement from logs is more certain than this, and none of heat that no temperature showed.
MAX_CONFIDENCE, MAX_WITHOUT_TEMP = 0.99, 0.9


@dataclass(frozen=True)
class WeightTable:
    """Weights in nats.

    Attributes:
        prior: how likely each cause is before any evidence, in the order of `CAUSES`.
        weights: what a finding adds, by what it is about and what was seen.
        judged: findings whose weights are not fitted, or what they are about.
        either: ambiguous findings, with the findings that each may stand for.
        shown: for some causes, what shows them; for heat, beside a temperature that moves.
        probes: for each pair of causes, what would tell them apart.
        beside: for some pairs, what to record beside it first.
    """

    prior: Array
    weights: Mapping[Seen, Array]
    judged: frozenset[str]
    either: Mapping[Seen, tuple[Seen, ...]]
    shown: Mapping[str, frozenset[Seen]]
    probes: Mapping[frozenset[str], str]
    beside: Mapping[frozenset[str], str]

    def named(
        self, shares: Mapping[str, float], seen: Collection[Seen], *, has_temp: bool
    ) -> tuple[Verdict, float]:
        """Return the cause that is named, or ``unknown``, and how certain it is (0 for that).

        `has_temp` is whether the drive's own temperature was seen to move.
        """
        first = max(CAUSES, key=lambda cause: shares[cause])
        share, heat = min(shares[first], MAX_CONFIDENCE), shares["thermal"]
        if first == "thermal":
            is_sure = not has_temp or heat >= SURE_SHARE
            share = share if has_temp else min(share, MAX_WITHOUT_TEMP)
        else:
            is_told = self.shows("thermal", seen, has_temp=has_temp)
            is_sure = heat <= 1 - (SURE_SHARE if is_told else SURE_WITHOUT)
        if is_sure and share >= MIN_SHARE_NAMED and self.shows(first, seen, has_temp=has_temp):
            return first, share
        return "unknown", 0.0

    def shows(self, cause: str, seen: Collection[Seen], *, has_temp: bool) -> bool:
        """Return whether something was seen that shows a cause, where that takes anything."""
        return (
            cause not in self.shown
            or not self.shown[cause].isdisjoint(seen)
            or (cause == "thermal" and has_temp)
        )

    def shares(self, seen: Iterable[Seen]) -> dict[str, float]:
        """Return the probability of each cause, and of any other one; they add up to 1.

        An ambiguous finding is averaged over what it may stand for, all equally likely.
        """
        ways = product(*(self.either.get(pair, (pair,)) for pair in seen))
        mean = np.mean([self._shares(way) for way in ways], axis=0)
        return dict(zip((*CAUSES, OTHER), mean.tolist(), strict=True))

    def _shares(self, seen: Iterable[Seen]) -> Array:
        nothing = np.zeros(len(CAUSES))
        logits = np.append(
            self.prior + sum((self.weights.get(pair, nothing) for pair in seen), start=nothing), 0.0
        )
        odds = np.exp(logits - logits.max())
        shares: Array = odds / odds.sum()
        return shares


@cache
def table(name: str = "weights") -> WeightTable:
    """Return a table from this package: the fitted ``weights``, or ``judgement``."""
    package = resources.files("heatsoak.analysis.cause")
    weights = tomllib.loads((package / f"{name}.toml").read_text("utf-8"))
    rules = tomllib.loads((package / "rules.toml").read_text("utf-8"))
    return WeightTable(
        prior=_row(weights.pop("prior")),
        weights={
            (about, seen): _row(row)
            for about, rows in weights.items()
            for seen, row in rows.items()
        },
        judged=frozenset(rules["judged"]),
        either={
            _pair(text): tuple(_pair(other) for other in others)
            for text, others in rules["either"].items()
        },
        shown={cause: frozenset(map(_pair, texts)) for cause, texts in rules["shown"].items()},
        probes={frozenset(pair.split(", ")): text for pair, text in rules["probes"].items()},
        beside={frozenset(pair.split(", ")): text for pair, text in rules["beside"].items()},
    )


def _row(weights: Mapping[str, float]) -> Array:
    return np.array([float(weights.get(cause, 0.0)) for cause in CAUSES])


def _pair(text: str) -> Seen:
    about, _, seen = text.partition(": ")
    return about, seen


@dataclass(frozen=True)
class Judgement:
    """A drop's cause.

    Attributes:
        cause: the cause named, or ``unknown``.
        confidence: its probability, 0 if none is named.
        evidence: what each sentence is for or against, or ``open``, and the sentence; of an unknown
            cause the last says what would tell.
        shares: the probability of each cause, and of any that is not in the table.
        findings: what was seen.
        shows_heat: whether anything was seen that tells of heat, for it or against it.
    """

    cause: Verdict
    confidence: float
    evidence: list[tuple[str, str]]
    shares: dict[str, float]
    findings: list[Finding]
    shows_heat: bool

    def without(self, about: str) -> "Judgement":
        """Return it without the sentences on something, such as what a part of a fall lost."""
        texts = [one.text for one in self.findings if one.about == about]
        kept = [(side, text) for side, text in self.evidence if text not in texts]
        return replace(self, evidence=kept)

    @property
    def likeliest(self) -> str:
        """The cause of the table with the highest probability, named or not."""
        return max(CAUSES, key=lambda cause: self.shares[cause])

    @property
    def excludes_heat(self) -> bool:
        """Whether it was not heat, whatever else it was."""
        return self.shows_heat and self.shares["thermal"] <= 1 - SURE_SHARE


def weigh(case: Case) -> Judgement:
    """Return the cause of a drop with its evidence."""
    findings = observe(case)
    rules = table()
    # a list, so that sums come out the same in every process
    seen = [finding.pair for finding in findings]
    shares = _shares(case, findings, rules)
    cause, confidence = rules.named(shares, seen, has_temp=case.has_temp)
    shows_heat = rules.shows("thermal", seen, has_temp=case.has_temp)
    if cause != "unknown":
        evidence = _sentences(findings, cause, None, shares, rules)
        return Judgement(cause, confidence, evidence, shares, findings, shows_heat)
    first, second = sorted(CAUSES, key=lambda cause: -shares[cause])[:2]
    evidence = _sentences(findings, first, second, shares, rules)
    if len(case.view.temp.values) == 0:
        distrusted = sorted(case.view.course.distrusted)
        missing = "no temperature of the drive was recorded"
        if distrusted:
            missing = f"the readings of {listed(distrusted)} cannot be trusted"
        evidence.append(("open", f"{missing}: the same step with other cooling would tell as well"))
    evidence.append(("open", f"to tell, {_probe(case, first, second, rules)}"))
    return Judgement("unknown", 0.0, evidence, shares, findings, shows_heat)


def excludes_heat(view: StepView, others: Sequence[StepView]) -> bool:
    """Return whether how hot a step got, whatever it lost, and what the drive counted itself leave
    heat hardly a chance; `others` are of its recording."""
    if counters.risen(view):
        return False
    told = counters.none_counted(view, others)
    seen = [("thermal-counters", told[0])] if told else []
    sure, top_c = SURE_WITHOUT, view.max_temp_c
    if view.at_its_limit(-math.inf, math.inf) is not None:
        top_c = math.inf
    is_cool = is_known_cool(view, *others, temp_c=top_c)
    if top_c is not None and (is_cool or temp_moves(view, *others)):
        seen.append(("onset-temperature", temperature.grade_of(top_c)))
        sure = SURE_SHARE
    return bool(seen) and table().shares(seen)["thermal"] <= 1 - sure


def _shares(case: Case, findings: Sequence[Finding], rules: WeightTable) -> dict[str, float]:
    """The probability of each cause, whosever the temperatures are."""
    known, read = rules.shares(one.pair for one in findings), case.view.main_sensor
    own = (one.of_drive for one in case.view.course.sensors if read in one.columns)
    if (of_drive := min(own, default=1.0)) == 1:
        return known
    blind = rules.shares(one.pair for one in findings if one.about not in OF_TEMPERATURES)
    return {cause: of_drive * known[cause] + (1 - of_drive) * blind[cause] for cause in known}


def _sentences(
    findings: Sequence[Finding],
    first: str,
    second: str | None,
    shares: dict[str, float],
    rules: WeightTable,
) -> list[tuple[str, str]]:
    """What each finding is for or against, and its sentence, the strongest first.

    For a named cause, `first`, against all others together; else between the two likeliest.
    """
    told = []
    for finding in findings:
        gain = _gain(finding, first, second, shares, rules)
        size, side = abs(gain), f"for {first}" if gain > 0 else f"against {first}"
        if size < MIN_GAIN:
            size, side = 0.0, "open"
        elif second is not None and gain < 0:
            side = f"for {second}"
        told.append((size, (side, finding.text)))
    return [line for _, line in sorted(told, key=lambda one: -one[0])]


def _gain(
    finding: Finding, first: str, second: str | None, shares: dict[str, float], rules: WeightTable
) -> float:
    """By how much a finding raises the log-odds of `first`, against `second` or all others."""
    row = rules.weights.get(finding.pair)
    if row is None:
        return 0.0
    weights = dict(zip((*CAUSES, OTHER), (*row.tolist(), 0.0), strict=True))
    if second is not None:
        return float(weights[first] - weights[second])
    rest = 1 - shares[first]
    others = (
        sum(shares[cause] * weight for cause, weight in weights.items() if cause != first) / rest
        if rest > 1e-9
        else float(np.mean([w for c, w in weights.items() if c != first]))
    )
    return float(weights[first] - others)


def _probe(case: Case, first: str, second: str, rules: WeightTable) -> str:
    """What would tell the two likeliest causes apart, but for what was recorded."""
    pair = frozenset((first, second))
    if pair in rules.beside and not case.view.columns("cpu_"):
        return rules.beside[pair]
    usual = "run the same step again, after a pause and in other conditions"
    return rules.probes.get(pair, usual)
