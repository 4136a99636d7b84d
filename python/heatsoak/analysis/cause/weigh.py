"""From findings to a cause: weights add up to log-odds, and the likeliest cause may be named.

The rule: each finding's row of the table is added to the prior; the odds of all causes, and of one
that the table does not have, give shares that add up to 1. The likeliest cause is named where its
share is at least `NAMED` and something was seen that it cannot do without (`needs` in the rules);
else the answer is ``unknown``, and the probe is named that would tell the two likeliest apart.
"""

from dataclasses import dataclass

import numpy as np

from heatsoak.analysis.cause.case import Case, Finding
from heatsoak.analysis.cause.observe import observe
from heatsoak.analysis.cause.table import CAUSES, OTHER, Table, table
from heatsoak.analysis.findings import Verdict

#: The least share that names a cause.
NAMED = 0.75
#: A finding that moves the odds by less than this speaks for nobody.
SPEAKS = 0.3
#: No judgement from logs is surer than this.
MOST = 0.99


@dataclass(frozen=True)
class Judgement:
    """A drop's cause.

    Attributes:
        cause: the cause named, or ``unknown``.
        confidence: its share, 0 where none is named.
        evidence: sentences, each with what it speaks for or against.
        shares: the probability of each cause, and of one that is not in the table.
    """

    cause: Verdict
    confidence: float
    evidence: list[str]
    shares: dict[str, float]
    findings: list[Finding]


def weigh(case: Case) -> Judgement:
    """Return the cause of a drop with its evidence, by the rule of this module."""
    findings = observe(case)
    rules = table()
    # a list, so that sums come out the same in every process
    seen = [finding.pair for finding in findings]
    shares = rules.shares(seen)
    first, second = sorted(CAUSES, key=lambda cause: -shares[cause])[:2]
    if shares[first] >= NAMED and rules.can_name(first, seen):
        evidence = [_said(finding, first, None, shares, rules) for finding in findings]
        return Judgement(first, min(shares[first], MOST), evidence, shares, findings)
    evidence = [_said(finding, first, second, shares, rules) for finding in findings]
    if len(case.view.temp.values) == 0:
        distrusted = sorted(case.view.course.distrusted)
        missing = (
            f"of {', '.join(distrusted)} nothing can be believed"
            if distrusted
            else "no temperature of the drive was recorded"
        )
        evidence.append(
            f"open: {missing}; a log of it, or the same step again after a pause and in other "
            "cooling, would tell"
        )
    evidence.append(f"open: {_probe(first, second, rules)}")
    return Judgement("unknown", 0.0, evidence, shares, findings)


def _said(
    finding: Finding, first: str, second: str | None, shares: dict[str, float], rules: Table
) -> str:
    """A finding's sentence with what it speaks for, among the likeliest causes."""
    row = rules.weights.get(finding.pair)
    if row is None:
        return f"open: {finding.text}"
    weights = dict(zip((*CAUSES, OTHER), (*row.tolist(), 0.0), strict=True))
    if second is not None:
        gain = weights[first] - weights[second]
        if abs(gain) < SPEAKS:
            return f"open: {finding.text}"
        return f"for {first if gain > 0 else second}: {finding.text}"
    rest = 1 - shares[first]
    others = (
        sum(shares[cause] * weight for cause, weight in weights.items() if cause != first) / rest
        if rest > 1e-9
        else float(np.mean([w for c, w in weights.items() if c != first]))
    )
    gain = weights[first] - others
    if abs(gain) < SPEAKS:
        return f"open: {finding.text}"
    return f"{'for' if gain > 0 else 'against'} {first}: {finding.text}"


def _probe(first: str, second: str, rules: Table) -> str:
    """What would tell the two likeliest causes apart."""
    return rules.probes.get(
        frozenset((first, second)),
        "the same step again, after a pause and in other conditions, would tell more",
    )
