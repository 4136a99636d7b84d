"""What is found in recordings: the contract of ``--format json``."""

from typing import Any, Literal

from pydantic import BaseModel

#: ``measured``: by a sensor or a meter outside the drive's firmware; ``reported``: by the drive of
#: itself; ``modelled``: by the simulated drive; ``logged``: by another tool, which does not say.
PowerSource = Literal["measured", "reported", "modelled", "logged"]


class Power(BaseModel):
    """Where power comes from; a rating is what the drive states, and no measurement.

    Attributes:
        source: None where no power was recorded.
        text: who told it and how, in words.
        rated_max_w: the most that the drive states for the power states it was seen in, of all
            its states where that was not asked; None where it states none.
        rated_states: those states' numbers.
    """

    source: PowerSource | None = None
    text: str = ""
    rated_max_w: float | None = None
    rated_states: list[int] = []


class CopyStepFindings(BaseModel):
    """What both sides of a copy show together.

    Attributes:
        bytes: what was written.
        duration_s: from the first read to the last write.
        mb_s: of the copy as a whole.
        bottleneck: the drive that the other waited for, for at least half of the time; None where
            that is not known.
        source_pct: the share of the time in which the destination waited for the source, its queue
            the emptier one; likewise `destination_pct`.
        text: who held up whom, and why.
    """

    step: str
    bytes: int | None
    duration_s: float
    mb_s: float | None
    bottleneck: Literal["source", "destination", "neither"] | None
    source_pct: float | None
    destination_pct: float | None
    text: str


class CopyFindings(BaseModel):
    """A copy of which both recordings are given, by their paths."""

    source: str
    destination: str
    steps: list[CopyStepFindings]


class RoundStep(BaseModel):
    """A step's means over the last rounds, five at most."""

    step: str
    workload: str
    mean_iops: float | None
    mean_mb_s: float | None


class RoundsFindings(BaseModel):
    """Whether rounds became steady, as SNIA's performance test specification asks.

    Attributes:
        taken: whole rounds.
        tracked: the step whose mean IOPS have to be steady; None for rounds that only repeat.
        iops: those means, round by round; null where nothing was measured.
        is_steady: whether the last five are; None where nothing is tracked.
        range_pct: by how much the last five differ, of their average; at most 20.
        slope_pct: by how much the line through them rises or falls, likewise; at most 10.
        steps: of one round, with means over the last five.
        text: the same in a sentence.
    """

    name: str
    taken: int
    tracked: str | None
    iops: list[float | None]
    is_steady: bool | None
    range_pct: float | None
    slope_pct: float | None
    steps: list[RoundStep]
    text: str


class ScoreFindings(BaseModel):
    """A number that a protocol is run for.

    Attributes:
        value: in `unit`; None where `why` says why there is none.
        better: which way is better.
        definition: how it is worked out, in a sentence.
        of_steps: what each step gives; the score is their mean. Of rounds, the last five.
        window_s: how much of each step's end counts; None is all of it.
        while_busy: whether time without any I/O in flight is left out.
        power_w: of a rate, the mean power over the same time; None where none was logged.
        mb_s_per_w: of a rate, what was moved for each watt: the same as megabytes a joule.
        cpu_us_per_io: what the load generator's processors spent on each I/O of those steps.
        cpu_core_pct: the same as a share of one core.
        scale: what share of the protocol's sizes and times was run; below 1 it is no result of it.
    """

    name: str
    metric: str
    statistic: str
    value: float | None
    unit: str
    better: Literal["higher", "lower"]
    definition: str
    steps: list[str]
    of_steps: dict[str, float] = {}
    window_s: float | None = None
    while_busy: bool = False
    why: str | None = None
    power_w: float | None = None
    mb_s_per_w: float | None = None
    cpu_us_per_io: float | None = None
    cpu_core_pct: float | None = None
    scale: float = 1.0


#: What can take throughput, in the order of the tables.
Cause = Literal[
    "thermal",
    "spare-area",
    "write-cache",
    "limited-by-host",
    "interference",
    "sliding",
]
Verdict = Cause | Literal["steady", "unknown"]


class Episode(BaseModel):
    """One stretch of lowered throughput.

    Attributes:
        onset_s: when throughput leaves its level, 2 % of it being lost, from the step's begin.
        end_s: when it is back, or the step's end.
        before_mb_s: mean from the step's begin, or the last recovery, to the onset.
        during_mb_s: mean of the episode's last 60 s, or of all of it where it is shorter.
        before_iops: likewise, where no bytes were logged.
        before_lat_us: likewise, where only latencies were.
        direction: which of reads and writes it is of, where the step's sum does not show it.
        depth_pct: 1 - during / before, in percent; of latencies by what they let through.
        confidence: how likely the named cause is right, 0 to 1; 0 where none is named.
        evidence: sentences for and against the cause; of an unknown one, for the likeliest two, and
            what would tell them apart.
        likelihoods: the share of each cause, and of one that the judge does not know.
        shape: ``step``, ``slide`` or ``cycle``.
        fall_s: from the onset to where 90 % of the loss is reached.
        duty: the share of a cycle that is low.
        oscillates: whether it is a cycle of falling and recovering; `period_s` is its length.
        recovered: whether throughput came back before the step's end.
    """

    onset_s: float
    end_s: float
    before_mb_s: float | None = None
    during_mb_s: float | None = None
    before_iops: float | None = None
    during_iops: float | None = None
    before_lat_us: float | None = None
    during_lat_us: float | None = None
    direction: Literal["read", "write"] | None = None
    depth_pct: float
    cause: Verdict
    confidence: float
    evidence: list[str]
    likelihoods: dict[str, float] = {}
    shape: Literal["step", "slide", "cycle"] = "step"
    fall_s: float = 0.0
    duty: float | None = None
    oscillates: bool
    period_s: float | None
    recovered: bool
    written_gb_at_onset: float | None
    temp_c_at_onset: float | None


class IopsPercentiles(BaseModel):
    """Percentiles of the rates of single seconds."""

    min: float
    p1: float
    p5: float
    p50: float
    p95: float
    p99: float
    max: float


class RateLevel(BaseModel):
    """A rate that is kept to: the part of the time spent there, and how long each stay usually is.

    Attributes:
        iops: the median of the seconds at this level.
        share: 0 to 1.
        dwell_s: the median length of a stay.
    """

    iops: float
    share: float
    dwell_s: float


class LatencySummary(BaseModel):
    """Latencies of a window, of which only `max_us` is the window's own.

    The percentiles were taken interval by interval: of those the median, and the largest.
    """

    p50_median_us: float | None
    p99_median_us: float | None
    p99_largest_us: float | None
    p999_median_us: float | None
    p999_largest_us: float | None
    max_us: float | None


class SteadyState(BaseModel):
    """Whether five rounds in a row are steady, as SNIA's performance test specification asks.

    Attributes:
        reached: whether any five were.
        since_s: when the first such window begins.
        at_end: whether the last five were.
        round_s: the length of a round, whose mean is tracked.
        mean_iops: the average of the window told: the first that passes, or the last of all.
        range_pct: by how much its rounds differ, of that average; at most 20.
        slope_pct: by how much the line through them rises or falls, likewise; at most 10.
    """

    reached: bool
    since_s: float | None
    at_end: bool
    round_s: float
    mean_iops: float
    range_pct: float
    slope_pct: float


class Consistency(BaseModel):
    """IOPS of each second over the last `window_s`; the ratio is mean over standard deviation.

    Attributes:
        each_s: 1, or the interval of a log that has nothing shorter.
        derived_from_bytes: whether IOPS are bytes over the block size, since only those were
            logged.
        levels: the rates it keeps to, rising; one where it only scatters.
        changes: how often it went from one level to another.
        as_at_end_since_s: since when, in the whole step, mean and deviation have been those of its
            end; None where it is too short to tell.
        steady_state: over the whole step; None where it is shorter than five rounds.
    """

    window_s: float
    mean_iops: float
    stdev_iops: float
    ratio: float | None
    each_s: float = 1.0
    derived_from_bytes: bool = False
    percentiles: IopsPercentiles | None = None
    levels: list[RateLevel] = []
    changes: int = 0
    as_at_end_since_s: float | None = None
    steady_state: SteadyState | None = None
    read_latency: LatencySummary | None = None
    write_latency: LatencySummary | None = None


class StepFindings(BaseModel):
    """What one judged step shows.

    Attributes:
        mean_mb_s: reads and writes together over the whole step.
        cpu_us_per_io: what the load generator's processors spent on each I/O; None where that was
            not measured, as for a simulated drive.
        cpu_core_pct: the same as a share of one core, which several may exceed.
        power_mean_w: over the whole step, and `energy_j` what that comes to; None where no power
            was recorded for nine tenths of it. `RecordingFindings.power` tells who says so.
        rounds: the name of the rounds that it belongs to, and in which it was taken.
        start_temp_c: the drive's temperature when it began.
        why: what a verdict without an episode rests on.
        why_unknown: why its throughput could not be judged; None where it was.
    """

    step: str
    workload: str
    duration_s: float
    mean_mb_s: float | None
    start_temp_c: float | None
    verdict: Verdict
    episodes: list[Episode]
    consistency: Consistency | None
    why: list[str] = []
    why_unknown: str | None = None
    cpu_us_per_io: float | None = None
    cpu_core_pct: float | None = None
    power_mean_w: float | None = None
    energy_j: float | None = None
    rounds: str | None = None
    round: int | None = None

    @property
    def throttles(self) -> bool:
        """Whether heat took anything from it: in an episode, or from its begin."""
        return self.verdict == "thermal" or any(ep.cause == "thermal" for ep in self.episodes)


class SensorTrust(BaseModel):
    """Whether a temperature can be trusted to explain throttling, and why.

    Attributes:
        lag_s: how much later than the load it moves, where that can be seen.
        step_c: the step that it is rounded to; None where it is not.
        renewed_s: the shortest time in which it usually changes.
        onsets: how many onsets of throttling it was held against.
        spread_at_onset_k: how far its readings at those lie apart between conditions.
        same_as: another sensor from which it never differs.
    """

    name: str
    trust: Literal["good", "poor", "unknown"]
    why: str
    lag_s: float | None = None
    step_c: float | None = None
    renewed_s: float | None = None
    onsets: int = 0
    spread_at_onset_k: float | None = None
    same_as: str | None = None


class RecordingFindings(BaseModel):
    """What one recording shows; `notes` are warnings a reader of the result must know.

    Attributes:
        scores: those that its protocol defines.
        rounds: the rounds that its protocol has, and whether they became steady.
        power: where power comes from; None where nothing is known of it.
    """

    path: str
    drive: dict[str, Any]
    conditions: dict[str, Any]
    steps: list[StepFindings]
    sensors: list[SensorTrust]
    notes: list[str]
    scores: list[ScoreFindings] = []
    rounds: list[RoundsFindings] = []
    power: Power | None = None


class Findings(BaseModel):
    """What recordings show, in the order they were given, and copies with both their sides."""

    recordings: list[RecordingFindings]
    copies: list[CopyFindings] = []
