"""What a comparison shows: the contract of ``heatsoak compare --format json``, and its metrics."""

from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

from heatsoak.errors import UsageError
from heatsoak.protocol import Label

Bounds = tuple[float | None, float | None]
Direction = Literal["higher", "lower"]
ComparisonVerdict = Literal[
    "better", "worse", "higher", "lower", "no difference shown", "negligible", "not tested"
]
#: What an interval speaks of: these runs, further runs of the same, or further conditions.
IntervalOf = Literal["this run", "runs", "conditions"]


class NotAlikeError(UsageError):
    """Nothing is left that was run alike; `differences` has a line for each two recordings."""

    def __init__(self, differences: list[str]) -> None:
        super().__init__("; ".join(differences))
        self.differences = differences


class ComparisonRow(BaseModel):
    """One metric of one step in one group, against the baseline.

    Attributes:
        protocol: whose step it is.
        group: the group's value of the condition that is compared.
        value: the group's mean, in `unit`; None where it lies beyond what was measured.
        value_at_least: where a fall never came: the mean if each had come as the step ended.
        baseline: the baseline's mean over the same other conditions, likewise.
        delta_pct: 100 (value - baseline) / baseline; None where one is unknown or the baseline 0.
        ci95_pct: its 95 % interval; both None where there is none.
        delta: value - baseline, in `delta_unit`.
        ci95: its 95 % interval.
        interval_of: what the interval speaks of; None where there is none.
        runs: the group's recordings behind it.
        better: which way is better, if one is.
        better_by_pct: `delta_pct` with the sign that AnandTech prints: worse is negative, for MB/s
            and for us alike.
        definition: of a score, how it is worked out; None for a step.
        steps: of a score, the steps that it is made of.
        p: how likely a difference as large is without a true one, two-sided.
        p_holm: the same after Holm's correction for all groups of this metric and step.
        other_conditions: those that group and baseline share, where they all share one value.
        pairs: the sets of other conditions that it is a mean over.
        pairs_higher: in how many of them the group's value is the higher one.
        pooled: whether it is a mean over several of them; rows for each one follow.
        rank: the group's rank where its step is ranked by this metric; None elsewhere.
        best_share: as :attr:`Ranked.best_share`, likewise.
        caveats: what speaks against the comparison, where it was asked for anyway.
    """

    metric: str
    step: str
    group: Label
    baseline: float | None
    value: float | None
    delta_pct: float | None
    ci95_pct: Bounds
    runs: int
    protocol: str
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
    verdict: ComparisonVerdict
    p: float | None
    p_holm: float | None
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


class Ranked(BaseModel):
    """A group's place in one step.

    Attributes:
        rank: one more than the groups that are shown to be better, so that groups share ranks.
        ranks: the least and the greatest rank that the data leave open.
        value: mean over the other conditions that all ranked groups have.
        ci95: its 95 % interval, in `unit`.
        best_share: the share of bootstrap draws in which it is the best, 0 to 1.
        not_told_apart_from: groups whose difference from it is not shown.
    """

    protocol: str
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


class Comparison(BaseModel):
    """What recordings show of a condition.

    Attributes:
        groups: the values of the condition, the baseline first.
        rows: for each step, metric and group; pooled rows before those of each condition. Those
            of scores come last.
        ranking: of the steps in which at least two groups can be ranked.
        notes: what was chosen, left out, or not paired, in sentences.
        caveats: how recordings that were compared anyway are unlike.
    """

    by: str
    baseline: Label
    groups: list[Label]
    drives: list[str]
    protocols: list[str]
    rows: list[ComparisonRow]
    ranking: list[Ranked]
    notes: list[str]
    caveats: list[str]


@dataclass(frozen=True)
class ComparedMetric:
    """Something that is compared.

    Attributes:
        better: which way is better; None where neither is.
        scale: whether a change is a ratio, or a difference in `delta_unit`.
        negligible: a change that matters to nobody, as a share or in `delta_unit`.
        is_shown: whether the tables for people have it.
    """

    name: str
    title: str
    unit: str
    better: Direction | None
    scale: Literal["ratio", "difference"] = "ratio"
    delta_unit: str = ""
    negligible: float = 0.005
    is_shown: bool = True


#: Of steps.
METRICS = {
    metric.name: metric
    for metric in (
        ComparedMetric("mean_mb_s", "mean", "MB/s", "higher"),
        ComparedMetric("mean_iops", "mean", "IOPS", "higher"),
        ComparedMetric("end_mb_s", "end level", "MB/s", "higher"),
        ComparedMetric("end_iops", "end level", "IOPS", "higher"),
        ComparedMetric("onset_s", "falls after", "s", "higher"),
        ComparedMetric("depth_pct", "falls by", "%", "lower", "difference", "pp", 1.0),
        ComparedMetric("consistency_mean_iops", "last 400 s", "IOPS", "higher"),
        ComparedMetric("consistency_stdev_iops", "stdev of these", "IOPS", "lower"),
        ComparedMetric("consistency_ratio", "mean / stdev", "x", "higher"),
        ComparedMetric("latency_mean_us", "mean latency", "us", "lower", is_shown=False),
        ComparedMetric("read_latency_p99_us", "p99 of reads", "us", "lower"),
        ComparedMetric("write_latency_p99_us", "p99 of writes", "us", "lower"),
        ComparedMetric("busy_mb_s", "while busy", "MB/s", "higher"),
        ComparedMetric("service_us", "service time", "us", "lower"),
        ComparedMetric("over_10ms_pct", "over 10 ms", "%", "lower", "difference", "pp", 0.01),
        ComparedMetric("over_100ms_pct", "over 100 ms", "%", "lower", "difference", "pp", 0.01),
        ComparedMetric("energy_j", "energy", "J", "lower"),
        ComparedMetric("duration_s", "takes", "s", "lower"),
        ComparedMetric("temp_start_c", "start", "C", None, "difference", "K", 1.0),
        ComparedMetric("temp_max_c", "hottest", "C", "lower", "difference", "K", 1.0),
        ComparedMetric("power_mean_w", "mean power", "W", None),
        ComparedMetric("efficiency_mb_per_j", "efficiency", "MB/J", "higher"),
    )
}

#: Of scores; each score has one of them, and a rate its efficiency too.
SCORE_METRICS = {
    metric.name: metric
    for metric in (
        ComparedMetric("score_iops", "score", "IOPS", "higher"),
        ComparedMetric("score_mb_s", "score", "MB/s", "higher"),
        ComparedMetric("score_stdev_iops", "score", "IOPS", "lower"),
        ComparedMetric("score_stdev_mb_s", "score", "MB/s", "lower"),
        ComparedMetric("score_consistency", "score", "x", "higher"),
        ComparedMetric("score_service_us", "score", "us", "lower"),
        ComparedMetric("score_over_10ms_pct", "score", "%", "lower", "difference", "pp", 0.01),
        ComparedMetric("score_over_100ms_pct", "score", "%", "lower", "difference", "pp", 0.01),
        ComparedMetric("score_duration_s", "score", "s", "lower"),
        ComparedMetric("score_energy_j", "score", "J", "lower"),
        ComparedMetric("score_mb_s_per_w", "efficiency", "MB/s per W", "higher"),
    )
}


def metric_of(name: str) -> ComparedMetric:
    """Return a metric of steps or of scores; raises KeyError for a name that is neither's."""
    return METRICS.get(name) or SCORE_METRICS[name]
