"""What a comparison shows: the contract of ``heatsoak compare --format json``."""

from typing import Literal

from pydantic import BaseModel

from heatsoak.analysis.definitions import Direction
from heatsoak.errors import UsageError
from heatsoak.protocol import Label
from heatsoak.ranges import Range

Bounds = tuple[float | None, float | None]
ComparisonVerdict = Literal[
    "better",
    "worse",
    "higher",
    "lower",
    "no difference shown",
    "negligible",
    "one run",
    "not tested",
]
Tone = Literal["better", "worse", "mixed", "alike"]
#: What a confidence interval covers: further runs of the same, further conditions, or drives.
IntervalOf = Literal["runs", "conditions", "drives"]


#: Why a later or smaller fall is not better.
WAS_SLOW = "what falls later, or less, was slow from its start"


def bounds_of(known: Range | None) -> Bounds:
    """Return the ends of an interval; both None if there is none."""
    return (None, None) if known is None else (known.low, known.high)


def _range(mid: float | None, bounds: Bounds, of: IntervalOf | None) -> Range | None:
    low, high = bounds
    if mid is None or low is None or high is None or of is None:
        return None
    return Range.around(mid, (low, high), of)


class NotAlikeError(UsageError):
    """No recordings were run alike; `differences` has a line for each pair."""

    def __init__(self, differences: list[str]) -> None:
        super().__init__("; ".join(differences))
        self.differences = differences


class ComparisonRow(BaseModel):
    """One metric of one step in one group, compared with the baseline.

    Attributes:
        schema_version: goes up when a key of the JSON changes its meaning or goes away.
        protocol: the protocol of the step.
        model: the drive's model, if several are compared separately; empty otherwise.
        summary: what the comparison shows overall, in a sentence.
        headline: what its group differs in from the baseline, in a sentence or two.
        group: the group's value of the compared condition.
        value: the group's mean, in `unit`; None if it is beyond what was measured.
        value_at_least: if throughput never fell: the mean if each run had fallen at the step's end.
        baseline: the baseline's mean over the same other conditions, likewise.
        delta_pct: 100 (value - baseline) / baseline; None if one is unknown or the baseline is 0.
        ci95_pct: its 95 % confidence interval; both None if there is none.
        delta: value - baseline, in `delta_unit`.
        ci95: its 95 % interval.
        interval_of: what the interval covers; None if there is none.
        runs: the number of the group's recordings.
        better: which direction is better, if either is.
        why_neither: why neither direction is better here, although it is for this metric.
        better_by_pct: `delta_pct` with the sign that AnandTech prints: worse is negative, for MB/s
            and for us alike.
        definition: how a score is calculated; None for a step.
        steps: the steps of a score.
        p: the two-sided p value of the difference.
        p_adjusted: the same, corrected for all groups of this metric and step (Benjamini-Hochberg).
        other_conditions: those that have the same value in group and baseline.
        pairs: the number of sets of other conditions that it is a mean over.
        pairs_higher: in how many of them the group's value is higher.
        pooled: whether it is a mean over several sets; rows for each one follow.
        rank: the group's rank if its step is ranked by this metric, otherwise None.
        best_share: as :attr:`Ranked.best_share`, likewise.
        caveats: how recordings that were compared anyway differ.
    """

    schema_version: Literal[2] = 2
    metric: str
    step: str
    group: Label
    baseline: float | None
    value: float | None
    delta_pct: float | None
    ci95_pct: Bounds
    runs: int
    protocol: str
    model: str = ""
    summary: str = ""
    headline: str = ""
    workload: str
    title: str
    unit: str
    baseline_group: Label
    baseline_runs: int
    value_at_least: float | None = None
    baseline_at_least: float | None = None
    delta: float | None
    delta_unit: str
    ci95: Bounds
    interval_of: IntervalOf | None
    better: Direction | None
    why_neither: str | None = None
    verdict: ComparisonVerdict
    p: float | None
    p_adjusted: float | None
    other_conditions: dict[str, Label | None]
    pairs: int
    pairs_higher: int
    pooled: bool
    rank: int | None = None
    baseline_rank: int | None = None
    best_share: float | None = None
    baseline_best_share: float | None = None
    caveats: list[str] = []
    better_by_pct: float | None = None
    definition: str | None = None
    steps: list[str] = []

    @property
    def change(self) -> Range | None:
        """`delta` with its interval, if there is one."""
        return _range(self.delta, self.ci95, self.interval_of)

    @property
    def change_pct(self) -> Range | None:
        """`delta_pct` likewise."""
        return _range(self.delta_pct, self.ci95_pct, self.interval_of)

    @property
    def measured(self) -> tuple[str, str, str, str]:
        """What it is about: rows of other groups and conditions may share it."""
        return self.protocol, self.model, self.step, self.metric


class Ranked(BaseModel):
    """A group's rank in one step.

    Attributes:
        rank: one more than the number of groups that are shown to be better, so groups may share
            ranks.
        ranks: the lowest and the highest rank that the data permit.
        value: mean over the other conditions that all ranked groups have.
        ci95: its 95 % interval, in `unit`.
        best_share: how likely it is the best, 0 to 1, by what the runs show.
        not_told_apart_from: groups without a shown difference from it.
    """

    protocol: str
    model: str = ""
    step: str
    metric: str
    unit: str
    group: Label
    rank: int
    ranks: tuple[int, int]
    value: float | None
    value_at_least: float | None = None
    ci95: Bounds
    best_share: float | None
    not_told_apart_from: list[Label]
    pairs: int

    @property
    def measured(self) -> tuple[str, str, str, str]:
        """What is ranked, as :attr:`ComparisonRow.measured`."""
        return self.protocol, self.model, self.step, self.metric


class ComparisonHeadline(BaseModel):
    """What a group differs in from the baseline.

    Attributes:
        text: a sentence; `details` are more of them.
        tone: ``mixed`` if something is better and something worse.
    """

    group: Label
    text: str
    details: list[str] = []
    tone: Tone


class ComparisonSummary(BaseModel):
    """What a comparison shows overall: of two groups, the headline; of more, their range.

    Attributes:
        text: a sentence.
        tone: what is so of any group; ``mixed`` if something is better and something worse.
    """

    text: str
    tone: Tone


class Comparison(BaseModel):
    """What recordings show about a condition.

    Attributes:
        groups: the values of the condition, the baseline first.
        models: the drive models, if there are several that are compared separately.
        summary: the same in every row.
        headlines: one for each group but the baseline.
        rows: for each step, metric and group; pooled rows before those of each condition. Rows of
            scores come last.
        ranking: for the steps in which at least two groups can be ranked.
        notes: what was chosen, left out, or not paired, in sentences.
        caveats: how recordings that were compared anyway differ.
    """

    by: str
    baseline: Label
    groups: list[Label]
    drives: list[str]
    protocols: list[str]
    models: list[str] = []
    summary: ComparisonSummary
    headlines: list[ComparisonHeadline] = []
    rows: list[ComparisonRow]
    ranking: list[Ranked]
    notes: list[str]
    caveats: list[str]
