"""Steps that are taken again and again, and every kind of step that a protocol has."""

from collections.abc import Iterator
from itertools import islice, product
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from heatsoak.errors import suggestion
from heatsoak.protocol.steps import (
    MAX_STEPS,
    BaseStep,
    Copy,
    Pause,
    Precondition,
    Purge,
    Replay,
    SingleStep,
    WorkloadStep,
    few_steps,
    with_kind,
)
from heatsoak.protocol.workload import with_values
from heatsoak.words import counted

#: Rounds that have to agree before they are steady (SNIA SSS PTS 2.0.1, "Steady State").
MIN_STEADY_ROUNDS = 5


def _varied(steps: Any) -> Any:
    """Each step with a table ``vary`` becomes one step for each combination of its values."""
    if not isinstance(steps, list):
        return steps
    each = (one for step in steps for one in _each(step))
    return few_steps(list(islice(each, MAX_STEPS + 1)))


def _each(step: Any) -> Iterator[Any]:
    if not isinstance(step, dict) or "vary" not in step:
        yield with_kind(step)
        return
    vary, fixed = step["vary"], {key: value for key, value in step.items() if key != "vary"}
    if not isinstance(vary, dict) or not all(isinstance(v, list) and v for v in vary.values()):
        raise ValueError('vary is a table of lists, such as vary = { bs = ["4k", "128k"] }')
    name = str(fixed.get("name", ""))
    for values in product(*vary.values()):
        chosen = dict(zip(vary, values, strict=True))
        text = with_values("name", name, chosen, "what is varied")
        yield with_kind({**fixed, **chosen, "name": text})


class Rounds(BaseStep):
    """Steps that are taken in order, again and again; each round is recorded apart.

    In the third round the step ``write`` is recorded as ``write/3``.

    Attributes:
        at_most: how many rounds are taken, or with `until` at most.
        until: what ends them earlier: ``steady`` is SNIA's steady state, five rounds in a row that
            differ by at most 20 % of their average, with a line through them that rises or falls
            by at most 10 %.
        tracks: the step whose mean IOPS have to be steady.
        steps: of one round. A step with a table ``vary`` stands for one for each combination of
            the values in it, which its name may quote in braces.
    """

    loads: ClassVar[bool] = True

    kind: Literal["rounds"]
    name: str = Field("rounds", min_length=1, max_length=200)
    at_most: int = Field(ge=1, le=1000)
    until: Literal["steady"] | None = None
    tracks: str | None = None
    steps: Annotated[list[SingleStep], Field(min_length=1), BeforeValidator(_varied)]

    @model_validator(mode="after")
    def _check(self) -> Self:
        probes = [step.name for step in self.steps if step.is_probe]
        if probes:
            raise ValueError(
                f"'{probes[0]}' is taken only under a condition, which a step of rounds cannot "
                "have: give it to the rounds"
            )
        if (self.until is None) != (self.tracks is None):
            raise ValueError("until = 'steady' and tracks, which names a step, need each other")
        if self.until is None:
            return self
        if self.at_most < MIN_STEADY_ROUNDS:
            raise ValueError(
                f"at_most is {self.at_most}: a steady state takes at least {MIN_STEADY_ROUNDS} "
                "rounds"
            )
        known = [step.name for step in self.steps if step.is_judged]
        if self.tracks not in known:
            raise ValueError(
                f"tracks names '{self.tracks}', which is not a judged step of a round"
                f"{suggestion(str(self.tracks), known)}"
            )
        return self

    @property
    def changes_data(self) -> bool:
        """Whether a round writes or purges."""
        return any(step.changes_data for step in self.steps)

    @property
    def max_rounds(self) -> int:
        """How many rounds are taken, at most."""
        return self.at_most

    @property
    def min_rounds(self) -> int:
        """The fewest rounds that it can end with."""
        return self.at_most if self.until is None else MIN_STEADY_ROUNDS

    @property
    def parts(self) -> tuple["SingleStep | Copy", ...]:
        """The steps of one round."""
        return tuple(self.steps)

    def of_round(self, number: int) -> list[SingleStep]:
        """Return the steps of a round as they are recorded; rounds count from 1."""
        return [
            step.model_copy(update={"name": f"{step.name}/{number}"}) if step.loads else step
            for step in self.steps
        ]

    def taken(self) -> Iterator["SingleStep | Copy"]:
        """Yield the steps of every round that it may take, as they are recorded."""
        for number in range(1, self.at_most + 1):
            yield from self.of_round(number)

    def own_names(self) -> Iterator[str]:
        """Yield the names that no other step of the protocol may have."""
        yield from (step.name for step in self.steps if step.loads)
        yield from (step.name for step in self.load_steps())

    def describe(self) -> str:
        """Return it in a few words: ``"at most 25 rounds of 49 steps, until steady"``."""
        count = counted(len(self.steps), "step")
        if self.until is None:
            return f"{self.at_most} rounds of {count}"
        return f"at most {self.at_most} rounds of {count}, until steady"


#: Any step of a protocol.
Step = Annotated[
    WorkloadStep | Precondition | Replay | Copy | Pause | Purge | Rounds,
    Field(discriminator="kind"),
]
