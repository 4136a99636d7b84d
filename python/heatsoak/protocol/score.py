"""What a protocol's result is in one number, and how it is worked out."""

from typing import Annotated, Literal, Self

from pydantic import AliasChoices, BeforeValidator, Field, model_validator

from heatsoak.protocol.step import as_list
from heatsoak.protocol.workload import Model, Seconds

#: What a score is made of: rates; the mean time from issue to completion; the share of I/Os that
#: took longer than 10 or 100 ms; the length of a step; energy.
Metric = Literal[
    "iops", "mb_s", "service_us", "over_10ms_pct", "over_100ms_pct", "duration_s", "energy_j"
]
#: Those that are rates.
RATES = ("iops", "mb_s")
#: How the values of a step become one: their mean; their standard deviation, each second a value;
#: mean over standard deviation, which reviews call consistency.
Statistic = Literal["mean", "stdev", "consistency"]


class Score(Model):
    """A number that a protocol is run for.

    The statistic is taken of each of the steps; the score is the mean of what they give.
    Of a step of rounds it is the mean over the last five rounds, if those are steady.

    Attributes:
        steps: names of judged steps; of rounds, without a round's number.
        last_s: how much of a step's end counts; None is all of it.
        while_busy: whether time without any I/O in flight is left out of rates.
        definition: one sentence that is printed beside it.
    """

    name: str = Field(min_length=1, max_length=100)
    metric: Metric
    statistic: Statistic = "mean"
    steps: Annotated[tuple[str, ...], BeforeValidator(as_list)] = Field(min_length=1)
    last_s: Seconds | None = Field(None, gt=0, validation_alias=AliasChoices("last", "last_s"))
    while_busy: bool = False
    definition: str = Field(min_length=1, max_length=400)

    @model_validator(mode="after")
    def _check(self) -> Self:
        is_rate = self.metric in RATES
        if self.statistic != "mean" and not is_rate:
            raise ValueError(
                f"statistic = '{self.statistic}' is of each second's rate: it needs metric = "
                f"'iops' or 'mb_s', not '{self.metric}'"
            )
        if self.while_busy and not (is_rate and self.statistic == "mean"):
            raise ValueError("while_busy belongs to the mean of a rate: metric 'iops' or 'mb_s'")
        if self.metric == "duration_s" and self.last_s is not None:
            raise ValueError("last belongs to a rate, a share or an energy, not to duration_s")
        return self
