"""What is found in recordings: the contract of ``--format json``."""

from typing import Any, Literal

from pydantic import BaseModel

Verdict = Literal[
    "steady",
    "thermal",
    "spare-area",
    "write-cache",
    "limited-by-host",
    "interference",
    "sliding",
    "unknown",
]


class Episode(BaseModel):
    """One stretch of lowered throughput.

    Attributes:
        onset_s: when throughput leaves its level, from the step's begin.
        end_s: when it is back, or the step's end.
        before_mb_s: mean from the step's begin, or the last recovery, to the onset.
        during_mb_s: mean of the episode's last 60 s, or of all of it where it is shorter.
        depth_pct: 1 - during / before, in percent.
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


class Consistency(BaseModel):
    """IOPS of each second over the last `window_s`; the ratio is mean over standard deviation."""

    window_s: float
    mean_iops: float
    stdev_iops: float
    ratio: float | None


class StepFindings(BaseModel):
    """What one judged step shows.

    Attributes:
        mean_mb_s: reads and writes together over the whole step.
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


class SensorTrust(BaseModel):
    """Whether a temperature can be trusted to explain throttling, and why."""

    name: str
    trust: Literal["good", "poor", "unknown"]
    why: str


class RecordingFindings(BaseModel):
    """What one recording shows; `notes` are warnings a reader of the result must know."""

    path: str
    drive: dict[str, Any]
    conditions: dict[str, Any]
    steps: list[StepFindings]
    sensors: list[SensorTrust]
    notes: list[str]


class Findings(BaseModel):
    """What recordings show, in the order they were given."""

    recordings: list[RecordingFindings]
