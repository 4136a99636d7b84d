"""From evidence to a cause: weights add up to log-odds, and the likeliest cause is named if it is
likely enough."""

import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from itertools import product
from typing import get_args

import numpy as np

from heatsoak.analysis.cause.case import Case, Finding
from heatsoak.analysis.cause.evidence import observe
from heatsoak.analysis.findings import Cause, Verdict
from heatsoak.analysis.series import Array
from heatsoak.analysis.view import temp_moves
from heatsoak.words import listed

#: The causes that can be named, in the table's order.
CAUSES: tuple[Cause, ...] = get_args(Cause)
#: What a finding is about, and what was seen.
Seen = tuple[str, str]
#: A cause that is not in the table; its weight is always 0.
OTHER = "other"


@dataclass(frozen=True)
class WeightTable:
    """Weights in nats.

    Attributes:
        prior: how likely each cause is before any evidence, in the order of `CAUSES`.
        weights: what a finding adds, by what it is about and what was seen.
        judged: the `about` of findings whose weights are not fitted.
        either: ambiguous findings, with the findings that each may stand for.
        needs: for each cause, groups of findings; naming it takes one finding of each group.
        unless: findings that take away a cause, unless one of a group was seen.
        sure_unless: the same for findings that leave it probable.
        alone: the highest probability of a cause whose needs only this finding meets.
        witnesses: for some causes, the findings that show them at work during the drop.
        probes: for each pair of causes, what would tell them apart: a ``probe``, or what to record
            ``beside`` it unless that was recorded.
    """

    prior: Array
    weights: Mapping[Seen, Array]
    judged: frozenset[str]
    either: Mapping[Seen, tuple[Seen, ...]]
    needs: Mapping[str, tuple[frozenset[Seen], ...]]
    unless: Mapping[Seen, Mapping[str, frozenset[Seen]]]
    sure_unless: Mapping[Seen, Mapping[str, frozenset[Seen]]]
    alone: Mapping[Seen, float]
    witnesses: Mapping[str, frozenset[Seen]]
    probes: Mapping[frozenset[str], Mapping[str, str]]

    def can_name(self, cause: str, seen: Collection[Seen], *, as_probable: bool = False) -> bool:
        """Return whether a finding of each group that the cause needs was seen.

        If other causes were seen at work, this one must have been seen at work too. Some findings
        leave a cause probable, but keep it from being named.
        """
        at_work = {name for name, group in self.witnesses.items() if not group.isdisjoint(seen)}
        if at_work and cause not in at_work:
            return False
        for pair in seen:
            for against in (self.unless,) if as_probable else (self.unless, self.sure_unless):
                group = against.get(pair, {}).get(cause)
                if group is not None and group.isdisjoint(seen):
                    return False
        return all(not group.isdisjoint(seen) for group in self.needs[cause])

    def confidence(self, cause: str, share: float, seen: Collection[Seen]) -> float:
        """Return how certain a cause is that has this probability."""
        met_by = set().union(*self.needs[cause]).intersection(seen)
        caps = [self.alone[pair] for pair in met_by if pair in self.alone]
        return min(share, MAX_CONFIDENCE, *(caps if len(met_by) == 1 else ()))

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
    groups = {name: _group(rules["groups"], name) for name in rules["groups"]}
    return WeightTable(
        prior=_row(weights.pop("prior")),
        weights={
            (about, seen): _row(row)
            for about, rows in weights.items()
            for seen, row in rows.items()
        },
        judged=frozenset(rules["judged"]["about"]),
        either={
            _pair(text): tuple(_pair(other) for other in others)
            for text, others in rules["either"].items()
        },
        needs={
            cause: tuple(groups[name] for name in names) for cause, names in rules["needs"].items()
        },
        unless=_unless(rules["unless"], groups),
        sure_unless=_unless(rules["sure-unless"], groups),
        alone={_pair(text): share for text, share in rules["alone"].items()},
        witnesses={
            cause: frozenset(_pair(text) for text in texts)
            for cause, texts in rules["witnesses"].items()
        },
        probes={frozenset(rule.pop("between")): rule for rule in rules["probes"]},
    )


def _group(texts: Mapping[str, Sequence[str]], name: str) -> frozenset[Seen]:
    """The findings of a group, and of the groups that it names."""
    own = frozenset(_pair(text) for text in texts[name] if ": " in text)
    return own.union(*(_group(texts, text) for text in texts[name] if ": " not in text))


def _unless(
    told: Mapping[str, Mapping[str, str]], groups: Mapping[str, frozenset[Seen]]
) -> dict[Seen, dict[str, frozenset[Seen]]]:
    return {
        _pair(text): {cause: groups[name] for cause, name in causes.items()}
        for text, causes in told.items()
    }


def _row(weights: Mapping[str, float]) -> Array:
    return np.array([float(weights.get(cause, 0.0)) for cause in CAUSES])


def _pair(text: str) -> Seen:
    about, _, seen = text.partition(": ")
    return about, seen


#: The lowest probability at which a cause is named.
MIN_SHARE_NAMED = 0.75
#: With a temperature that moves, heat of this probability is named though it is only probable.
SURE_SHARE = 0.95
#: A drive that is asked for less cools in step with that, as one that is held back does.
_TOGETHER = {("rate-and-temperature", "together"), ("rate-and-temperature", "time")}
#: A finding that moves the log-odds by less than this is neither for nor against.
MIN_GAIN = 0.3
#: No judgement from logs is more certain than this.
MAX_CONFIDENCE = 0.99


@dataclass(frozen=True)
class Judgement:
    """A drop's cause.

    Attributes:
        cause: the cause named, or ``unknown``.
        confidence: its probability, 0 if none is named.
        evidence: sentences, each with the cause that it is for or against.
        shares: the probability of each cause, and of any that is not in the table.
        findings: what was seen.
        shows_heat: whether something was seen that naming heat takes.
    """

    cause: Verdict
    confidence: float
    evidence: list[str]
    shares: dict[str, float]
    findings: list[Finding]
    shows_heat: bool

    def without(self, about: str) -> "Judgement":
        """Return it without the sentences on something, such as what a part of a fall lost."""
        texts = tuple(one.text for one in self.findings if one.about == about)
        kept = [line for line in self.evidence if not texts or not line.endswith(texts)]
        return replace(self, evidence=kept)

    @property
    def likeliest(self) -> str:
        """The cause with the highest probability, named or not."""
        return max(self.shares, key=lambda cause: self.shares[cause])


def weigh(case: Case) -> Judgement:
    """Return the cause of a drop with its evidence."""
    findings = observe(case)
    rules = table()
    # a list, so that sums come out the same in every process
    seen = [finding.pair for finding in findings]
    shares = _shares(case, seen, rules)
    shows_heat = rules.can_name("thermal", seen, as_probable=True)
    first, second = sorted(CAUSES, key=lambda cause: -shares[cause])[:2]
    is_sure = shares["thermal"] >= SURE_SHARE and temp_moves(case.view)
    if getattr(case.view.step, "watched", False):
        is_sure = is_sure and _TOGETHER.isdisjoint(seen)
    if shares[first] >= MIN_SHARE_NAMED and rules.can_name(first, seen, as_probable=is_sure):
        evidence = _sentences(findings, first, None, shares, rules)
        confidence = rules.confidence(first, shares[first], seen)
        return Judgement(first, confidence, evidence, shares, findings, shows_heat)
    evidence = _sentences(findings, first, second, shares, rules)
    if len(case.view.temp.values) == 0:
        distrusted = sorted(case.view.course.distrusted)
        missing = "no temperature of the drive was recorded"
        if distrusted:
            missing = f"the readings of {listed(distrusted)} cannot be trusted"
        evidence.append(f"open: {missing}: the same step with other cooling would tell as well")
    evidence.append(f"open: {_probe(case, first, second, rules)}")
    return Judgement("unknown", 0.0, evidence, shares, findings, shows_heat)


def _shares(case: Case, seen: Sequence[Seen], rules: WeightTable) -> dict[str, float]:
    """The probability of each cause, whosever the temperatures are."""
    known, read = rules.shares(seen), case.view.main_sensor
    own = (one.of_drive for one in case.view.course.sensors if read in one.columns)
    if (of_drive := min(own, default=1.0)) == 1:
        return known
    blind = rules.shares([finding.pair for finding in observe(case.without_temperatures())])
    return {cause: of_drive * known[cause] + (1 - of_drive) * blind[cause] for cause in known}


def _sentences(
    findings: Sequence[Finding],
    first: str,
    second: str | None,
    shares: dict[str, float],
    rules: WeightTable,
) -> list[str]:
    """Each finding's sentence with the cause that it is for or against, the strongest first.

    For a named cause, `first`, against all others together; else between the two likeliest.
    """
    told = []
    for finding in findings:
        gain = _gain(finding, first, second, shares, rules)
        if abs(gain) < MIN_GAIN:
            told.append((0.0, f"open: {finding.text}"))
        elif second is not None:
            told.append((abs(gain), f"for {first if gain > 0 else second}: {finding.text}"))
        else:
            told.append((abs(gain), f"{'for' if gain > 0 else 'against'} {first}: {finding.text}"))
    return [text for _, text in sorted(told, key=lambda one: -one[0])]


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
    usual = {"probe": "run the same step again, after a pause and in other conditions"}
    rule = rules.probes.get(frozenset((first, second)), usual)
    if "beside" in rule and not case.view.columns("cpu_"):
        return f"to tell, {rule['beside']}"
    return f"to tell, {rule['probe']}"
