"""The schema of a protocol, and of what takes its place where another tool made the load.

docs/protocols.md says how a protocol reads in TOML.
"""

import shlex
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AliasChoices, BeforeValidator, Field, model_validator

from heatsoak.errors import suggestion
from heatsoak.protocol import workload
from heatsoak.protocol.conditions import Conditions, Label
from heatsoak.protocol.steps import (
    Copy,
    LoadStep,
    Purge,
    Rounds,
    SingleStep,
    Step,
    as_list,
    few_steps,
    with_kind,
)
from heatsoak.units import Size, parse_seconds
from heatsoak.words import duration_text, percent_text

#: How long a warm-up takes at most that ends once temperatures are steady.
MAX_WARM_UP_S = 3600.0


def _warm_up(value: object) -> object:
    return value if value == "steady" else parse_seconds(value)  # type: ignore[arg-type]


class Heat(workload.StrictModel):
    """Something that warms the case while the steps run.

    Attributes:
        source: what makes the heat: ``gpu``, ``cpu``, a ``command``, or a ``person`` who is asked.
        when: the conditions under which it is on; an empty table is always.
        load_pct: how hard it is loaded.
        command: the command line of a ``command``.
        warm_up: how long it runs before the first step, in s, or ``steady``: until no temperature
            rises any more.
        at_most_s: how long ``steady`` may take.
    """

    source: Literal["gpu", "cpu", "command", "person"]
    when: Conditions = Field(default_factory=dict)
    load_pct: float = Field(100, gt=0, le=100)
    command: str | None = None
    warm_up: Annotated[float | Literal["steady"], BeforeValidator(_warm_up)] = Field(
        0.0, validation_alias=AliasChoices("warm_up", "warm_up_s")
    )
    at_most_s: workload.Seconds | None = Field(None, gt=0)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.source == "command") != (self.command is not None):
            raise ValueError("command is only for source = 'command', and is required there")
        if self.command is not None:
            _check_command(self.command)
            if self.load_pct != 100:
                raise ValueError(
                    "load_pct does not apply to a command: put the load into the command itself"
                )
        if self.at_most_s is not None and not self.until_steady:
            raise ValueError("at_most is only for warm_up = 'steady'")
        return self

    @property
    def until_steady(self) -> bool:
        """Whether its warm-up ends once no temperature rises any more."""
        return self.warm_up == "steady"

    @property
    def longest_warm_up_s(self) -> float:
        """How long it runs before the first step, at most."""
        if self.warm_up == "steady":
            return MAX_WARM_UP_S if self.at_most_s is None else self.at_most_s
        return self.warm_up

    def describe(self) -> str:
        """Return it in a few words: ``"gpu heat at 100 %, 10 min of warm-up"``."""
        text = f"{self.source} heat"
        text += f" ({self.command})" if self.command else f" at {percent_text(self.load_pct, 3)}"
        longest = duration_text(self.longest_warm_up_s)
        if self.until_steady:
            return f"{text}, warm-up until steady, at most {longest}"
        return f"{text}, {longest} of warm-up" if self.longest_warm_up_s else text

    def is_on(self, conditions: Conditions) -> bool:
        """Whether these conditions ask for it."""
        return all(conditions.get(key) == value for key, value in self.when.items())


def _check_command(command: str) -> None:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ValueError(f"command is '{command}', which cannot be read: {error}") from error
    if not words:
        raise ValueError("command is empty: give a program and its arguments")


#: What a score is made of: rates; the mean time from issue to completion; the share of I/Os that
#: took longer than 10 or 100 ms; the length of a step; energy; of rounds that seek it, the rate
#: that is held without end.
Metric = Literal[
    "iops",
    "mb_s",
    "service_us",
    "over_10ms_pct",
    "over_100ms_pct",
    "duration_s",
    "energy_j",
    "limit_mb_s",
]
#: Those that are rates.
RATES = ("iops", "mb_s")
#: How the values of a step become one: their mean; their standard deviation, each second a value;
#: mean over standard deviation, which reviews call consistency.
Statistic = Literal["mean", "stdev", "consistency"]


class Matrix(workload.StrictModel):
    """The conditions and places that a protocol is repeated in.

    Attributes:
        axes: the values of each condition; the cells are their product.
        exclude: cells that are not run, each given by some of its conditions.
        by_hand: axes that only hands can change on a real machine, such as the slot.
        enclosure: the simulated place of a cell, with ``{axis}`` for a value; ``place`` in TOML.
    """

    axes: dict[str, Annotated[list[Label], Field(min_length=1)]] = Field(min_length=1)
    exclude: list[Conditions] = Field(default_factory=list)
    by_hand: list[str] = Field(default_factory=list)
    enclosure: str | None = Field(None, validation_alias=AliasChoices("place", "enclosure"))

    @model_validator(mode="after")
    def _check(self) -> Self:
        for place, names in (
            *(("exclude", list(entry)) for entry in self.exclude),
            ("by_hand", self.by_hand),
        ):
            for name in names:
                if name not in self.axes:
                    raise ValueError(f"{place} names '{name}', which is not an axis of the matrix")
        self.enclosure_of({name: values[0] for name, values in self.axes.items()})
        if not self.cells():
            raise ValueError("exclude leaves no cell of the matrix")
        return self

    def cells(self) -> list[Conditions]:
        """Return every combination that is not excluded, the last axis moving fastest."""
        combinations = (
            dict(zip(self.axes, values, strict=True)) for values in product(*self.axes.values())
        )
        return [
            cell
            for cell in combinations
            if not any(all(cell[k] == v for k, v in entry.items()) for entry in self.exclude)
        ]

    def enclosure_of(self, cell: Conditions) -> str | None:
        """Return the id of the simulated place for a cell, if the protocol names one."""
        if self.enclosure is None:
            return None
        return workload.with_values("enclosure", self.enclosure, cell, "axes")


class ScoreRule(workload.StrictModel):
    """A number that a protocol is run for.

    The statistic is taken of each of the steps; the score is the mean of what they give.
    Of a step of rounds it is the mean over the last five rounds, if those are steady.

    Attributes:
        steps: names of judged steps; of rounds, without a round's number.
        last_s: how much of a step's end counts; None is all of it.
        while_busy: whether rates leave out the time without any I/O in flight.
        definition: one sentence that is printed beside it.
    """

    name: str = Field(min_length=1, max_length=100)
    metric: Metric
    statistic: Statistic = "mean"
    steps: Annotated[tuple[str, ...], BeforeValidator(as_list)] = Field(min_length=1)
    last_s: workload.Seconds | None = Field(None, gt=0)
    while_busy: bool = False
    definition: str = Field(min_length=1, max_length=400)

    @model_validator(mode="after")
    def _check(self) -> Self:
        is_rate = self.metric in RATES
        if self.statistic != "mean" and not is_rate:
            raise ValueError(
                f"statistic = '{self.statistic}' is computed from each second's rate: it needs "
                f"metric = 'iops' or 'mb_s', not '{self.metric}'"
            )
        if self.while_busy and not (is_rate and self.statistic == "mean"):
            raise ValueError("while_busy is only for the mean of a rate: metric 'iops' or 'mb_s'")
        if self.metric == "duration_s" and self.last_s is not None:
            raise ValueError("last is for a rate, a share or an energy, not for duration_s")
        return self


class Protocol(workload.StrictModel):
    """Ordered steps, and the conditions they run in.

    Attributes:
        notes: what a reader of a result must know about the protocol; each run warns of it.
        file_size: how large a test file it wants where the target is a directory.
        matrix: conditions to repeat it in; None runs it once.
        heat: what warms the case meanwhile.
        scores: the numbers that it is run for.
        scale: what share of its sizes and times this is; see :func:`heatsoak.protocol.source`.
        is_observed: whether somebody else made the load, as :class:`Observation`.
    """

    is_observed: ClassVar[bool] = False

    schema_version: Literal[1] = Field(1, validation_alias=AliasChoices("schema", "schema_version"))
    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)
    title: str = ""
    description: str = ""
    sources: list[str] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    file_size: workload.SizeOrShare = Field(Size(percent=100.0), validate_default=False)
    conditions: Conditions = Field(default_factory=dict)
    heat: list[Heat] = Field(default_factory=list)
    matrix: Matrix | None = None
    scores: list[ScoreRule] = Field(default_factory=list)
    scale: float = Field(1.0, gt=0, le=1)
    steps: Annotated[
        list[Annotated[Step, BeforeValidator(with_kind)]],
        Field(min_length=1),
        BeforeValidator(few_steps),
    ]

    @model_validator(mode="after")
    def _check(self) -> Self:
        seen: set[str] = set()
        for name in (name for step in self.steps for name in step.own_names()):
            if name in seen:
                raise ValueError(f"two steps are named '{name}': give each its own name")
            seen.add(name)
        earlier: dict[str, Step] = {}
        for index, step in enumerate(self.steps):
            problem = self._wrong_condition(earlier, step)
            if problem:
                raise ValueError(f"steps[{index + 1}], '{step.name}': {problem}")
            earlier[step.name] = step
        self._check_scores()
        self._check_copies()
        return self

    def _check_scores(self) -> None:
        judged = [part.name for part in self._parts() if part.is_judged]
        for score in self.scores:
            for name in score.steps:
                if name not in judged:
                    raise ValueError(
                        f"score '{score.name}' names '{name}', which is not a judged step"
                        f"{suggestion(name, judged)}{_list(judged)}"
                    )
            sought = [one.tracks for one in self.rounds if one.until == "limit"]
            if score.metric == "limit_mb_s" and not set(score.steps) <= set(sought):
                raise ValueError(f"score '{score.name}': limit_mb_s needs rounds until = 'limit'")

    def _check_copies(self) -> None:
        if not self.copies:
            return
        for index, step in enumerate(self.steps):
            if step.is_probe or not (step.needs_two_drives or step.only_prepares):
                what = "taken only under a condition" if step.is_probe else f"a {step.kind}"
                raise ValueError(
                    f"steps[{index + 1}], '{step.name}': is {what}, which a protocol that copies "
                    "cannot have: it has copies, pauses, and purges and preconditions of the "
                    "destination"
                )
            if step.kind == "purge" and not step.takes_all:
                raise ValueError(
                    f"steps[{index + 1}], '{step.name}': capacity is for workloads, whose spans "
                    "are shares of it; a copy says in bytes how much it copies"
                )
        for key in ("matrix", "heat"):
            if getattr(self, key):
                raise ValueError(f"{key} is not possible in a protocol that copies")

    def _wrong_condition(self, earlier: Mapping[str, Step], step: Step) -> str | None:
        """What is wrong with the conditions under which a step is taken."""
        wanted = [("only_if_drop_in", name, True) for name in step.only_if_drop_in]
        if step.only_after is not None:
            wanted.append(("only_after", step.only_after, False))
        for key, name, is_of_judged in wanted:
            before = earlier.get(name)
            if before is not None and (before.is_judged or not is_of_judged):
                continue
            known = [one.name for one in earlier.values() if one.is_judged or not is_of_judged]
            if before is not None:
                wrong = f"which is a {before.kind} and not judged: name a workload before it"
            elif any(name == other.name for other in self.steps):
                wrong = "which does not come before it: name an earlier step"
            else:
                near = suggestion(name, known)
                wrong = f"and there is no such step{near}: name an earlier one"
            return f"{key} names '{name}', {wrong}{_list(known)}"
        return None

    def _parts(self) -> Iterator[SingleStep | Copy]:
        """Each step, and for rounds the steps of one round."""
        return (part for step in self.steps for part in step.parts)

    @property
    def workload_steps(self) -> list[LoadStep]:
        """What loads the target and is recorded: preconditioning, replays, steps of each round."""
        return [one for step in self.steps for one in step.load_steps()]

    @property
    def rounds(self) -> list[Rounds]:
        """The steps that are taken again and again."""
        return [step for step in self.steps if isinstance(step, Rounds)]

    @property
    def copies(self) -> list[Copy]:
        """The steps that copy; with any, it is run on two drives."""
        return [step for step in self.steps if isinstance(step, Copy)]

    @property
    def writes(self) -> bool:
        """Whether any step changes what is on the target."""
        return any(step.changes_data for step in self.steps)

    @property
    def purges(self) -> list[Purge]:
        """The steps that purge, those of rounds included."""
        return [part for part in self._parts() if isinstance(part, Purge)]

    def cells(self) -> list[Conditions]:
        """Return the conditions of each recording that a run makes."""
        if self.matrix is None:
            return [dict(self.conditions)]
        return [{**self.conditions, **cell} for cell in self.matrix.cells()]


class Observed(workload.Load):
    """A load that another tool made, as far as a log describes it; it cannot be run again.

    Attributes:
        reads: whether it read; True where the log does not say.
        writes: whether it wrote; True where the log does not say.
        about: the log's own words for it.
        watched: whether it is a stretch of what a logger saw, which need not have asked for the
            same throughout.
        idle: whether hardly anything was asked of the drive, so that there is nothing to judge.
    """

    loads: ClassVar[bool] = True
    is_probe: ClassVar[bool] = False
    is_replay: ClassVar[bool] = False
    is_observed: ClassVar[bool] = True
    ends_with_its_data: ClassVar[bool] = False
    runtime_s: ClassVar[None] = None

    kind: Literal["observed"] = "observed"
    name: str = Field(min_length=1, max_length=200)
    reads: bool = True
    writes: bool = True
    about: str = Field("", max_length=1000)
    watched: bool = False
    idle: bool = False

    @property
    def is_judged(self) -> bool:
        """Whether there is anything to judge."""
        return not self.idle

    def mention(self) -> str:
        """Return how a sentence about several steps names it."""
        return f"'{self.name}'"

    def describe(self) -> str:
        """Return what is known of it in a few words, with the log's own."""
        ways = {(True, False): "reads", (False, True): "writes"}
        other = "" if self.about else "load not described"
        way = "" if self.rw else ways.get((self.reads, self.writes), other)
        return ", ".join(text for text in (way, super().describe(), self.about) if text)


class Observation(workload.StrictModel):
    """What takes the protocol's place in the recording of a load that another tool made.

    Attributes:
        name: the kind of log it was taken from.
    """

    is_observed: ClassVar[bool] = True
    scale: ClassVar[float] = 1.0
    # nobody says that it was repeated, or what it was made for
    rounds: ClassVar[list[Rounds]] = []
    scores: ClassVar[list[ScoreRule]] = []

    name: str = Field(min_length=1, max_length=100)
    title: str = ""
    conditions: Conditions = Field(default_factory=dict)
    steps: Annotated[list[Observed], Field(min_length=1)]

    @property
    def workload_steps(self) -> list[Observed]:
        """The steps, as a protocol has them."""
        return self.steps


def _list(names: list[str]) -> str:
    return f", {' or '.join(names)}" if names else ""
