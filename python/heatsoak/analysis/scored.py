"""What a recording gives as a whole: its protocol's scores, and what became of its rounds."""

from typing import Literal

from pydantic import BaseModel


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


class Score(BaseModel):
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
