"""The kinds of steps, what each can do, and when it is taken at all.

Nobody else needs to ask which kind a step is: whether it loads the drive, is judged, changes data,
needs two drives or has steps of its own are attributes of every kind (:class:`BaseStep`).
"""

from collections.abc import Iterator
from itertools import islice, product
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, cast

from pydantic import BeforeValidator, Field, model_validator

from heatsoak import words
from heatsoak.errors import suggestion
from heatsoak.protocol.workload import (
    Bytes,
    Load,
    Seconds,
    SizeOrShare,
    StrictModel,
    Workload,
    with_values,
)
from heatsoak.units import Size, parse_size

#: How a drive can be made to erase everything.
PurgeMethod = Literal["auto", "discard", "format", "sanitize", "secure-erase"]

#: How the area beyond the capacity is kept from being written.
Spare = Literal["unwritten", "hpa"]

#: Which of a copy's two drives.
Role = Literal["source", "destination"]
ROLES: tuple[Role, Role] = ("source", "destination")
#: The source's step that lays out what is then copied.
FILL = "fill-source"


def as_list(names: Any) -> Any:
    """One name may stand without brackets."""
    return [names] if isinstance(names, str) else names


#: More steps than anybody reads; each is validated, planned and drawn.
MAX_STEPS = 10_000


def few_steps(steps: Any) -> Any:
    """Refuse more steps than are taken, before each is looked at."""
    if isinstance(steps, list) and len(steps) > MAX_STEPS:
        raise ValueError(
            f"more than {MAX_STEPS:,} steps: what comes again and again is a step of kind rounds"
        )
    return steps


def with_kind(step: Any) -> Any:
    """A step without a kind is a workload."""
    return {"kind": "workload", **step} if isinstance(step, dict) else step


class BaseStep(StrictModel):
    """What all kinds of steps have: when one is taken, and what it can do.

    Attributes:
        only_if_drop_in: earlier workloads: it is taken if the throughput of any of them fell.
        only_after: an earlier step: it is taken if that one was, and did what it is for.
        asks: the question that the step answers, shown while it runs.
        loads: whether it loads the drive.
        is_judged: whether what was recorded of it is judged.
        only_prepares: whether it only brings the drive into a state for the steps after it.
        purges: whether it erases the whole drive.
        needs_two_drives: whether it is taken by two drives at once.
    """

    loads: ClassVar[bool] = False
    is_judged: ClassVar[bool] = False
    only_prepares: ClassVar[bool] = False
    purges: ClassVar[bool] = False
    needs_two_drives: ClassVar[bool] = False

    if TYPE_CHECKING:  # a field of each kind, after those of its base in what is recorded
        name: str

    only_if_drop_in: Annotated[tuple[str, ...], BeforeValidator(as_list)] = ()
    only_after: str | None = None
    asks: str = Field("", max_length=200)

    @property
    def is_probe(self) -> bool:
        """Whether it is taken only under a condition."""
        return bool(self.only_if_drop_in) or self.only_after is not None

    @property
    def changes_data(self) -> bool:
        """Whether it changes what is on the drive."""
        return self.purges

    @property
    def may_end_early(self) -> bool:
        """Whether it ends once its throughput was down for some time."""
        return False

    @property
    def block_sizes(self) -> tuple[int, ...]:
        """Bytes of one I/O of each load that it runs, as far as the protocol says them."""
        return ()

    @property
    def max_rounds(self) -> int:
        """How many times it takes its parts, at most."""
        return 1

    @property
    def min_rounds(self) -> int:
        """How many times it takes its parts, at least."""
        return 1

    @property
    def parts(self) -> tuple["SingleStep | Copy", ...]:
        """The steps that it consists of: itself, or the steps of one round."""
        return (cast("SingleStep | Copy", self),)

    def taken(self) -> Iterator["SingleStep | Copy"]:
        """Yield what is recorded of it, in order: itself, or the steps of every round."""
        yield from self.parts

    def load_steps(self) -> Iterator["LoadStep"]:
        """Yield the loads of one drive that may be recorded of it, in order."""
        return (step for step in self.taken() if isinstance(step, LoadStep))

    def own_names(self) -> Iterator[str]:
        """Yield the names that no other step of the protocol may have."""
        if self.loads:
            yield self.name

    def describe(self) -> str:
        """Return its load in a few words; empty where it has none."""
        return ""

    def describe_condition(self) -> str:
        """Return when it is taken: ``"only if 'write' falls"``; empty for always."""
        parts = []
        if self.only_if_drop_in:
            names = " or ".join(f"'{name}'" for name in self.only_if_drop_in)
            parts.append(f"if {names} {'falls' if len(self.only_if_drop_in) == 1 else 'fall'}")
        if self.only_after is not None:
            parts.append(f"after '{self.only_after}'")
        return f"only {' and '.join(parts)}" if parts else ""

    def mention(self) -> str:
        """Return how a sentence about several steps names it: ``"a pause of 5 min"``."""
        return f"'{self.name}'"


class Loading(BaseStep):
    """A step that loads the drive, is recorded, and, but for a precondition, judged.

    Attributes:
        end_after_drop_s: it ends early once its throughput was down for this long in all.
        ends_with_its_data: whether it ends once all is transferred, so that its length is a result.
        is_replay: whether it issues recorded I/O again.
        is_observed: whether another tool made it, as :class:`~heatsoak.protocol.Observed`.
    """

    loads: ClassVar[bool] = True
    is_judged: ClassVar[bool] = True
    is_replay: ClassVar[bool] = False
    is_observed: ClassVar[bool] = False

    name: str = Field(min_length=1, max_length=200)
    end_after_drop_s: Seconds | None = Field(None, gt=0)

    @property
    def may_end_early(self) -> bool:
        """Whether it ends once its throughput was down for some time."""
        return self.end_after_drop_s is not None

    def mention(self) -> str:
        """Return how a sentence about several steps names it."""
        return f"'{self.name}' ({self.describe()})"


class WorkloadStep(Workload, Loading):
    """A workload that is measured and judged."""

    kind: Literal["workload"] = "workload"
    beside: tuple[Workload, ...] = ()

    @property
    def workloads(self) -> tuple[Workload, ...]:
        """This workload and those that run beside it."""
        return (self, *self.beside)

    @property
    def reads(self) -> bool:
        """Whether it ever reads, or anything that runs beside it."""
        return any(workload.read_share > 0 for workload in self.workloads)

    @property
    def writes(self) -> bool:
        """Whether it ever writes, or anything that runs beside it."""
        return any(workload.read_share < 1 for workload in self.workloads)

    @property
    def changes_data(self) -> bool:
        """Whether it changes what is on the drive."""
        return self.writes

    @property
    def ends_with_its_data(self) -> bool:
        """Whether it ends once all is transferred, so that its length is a result."""
        return self.runtime_s is None

    def mention(self) -> str:
        """Return how a sentence about several steps names it, with its length."""
        length = "" if self.runtime_s is None else f", {words.duration_text(self.runtime_s)}"
        return f"'{self.name}' ({self.describe()}{length})"


class Precondition(WorkloadStep):
    """A workload that only brings the drive into a state; recorded, not judged."""

    is_judged: ClassVar[bool] = False
    only_prepares: ClassVar[bool] = True

    kind: Literal["precondition"] = "precondition"  # type: ignore[assignment]

    @model_validator(mode="after")
    def _check_end(self) -> Self:
        if self.end_after_drop_s is not None:
            raise ValueError("end_after_drop is only for a workload: a precondition is not judged")
        return self


class Replay(Loading):
    """Recorded I/O, issued again: what a trace did, as fast as the drive lets it.

    Attributes:
        trace: the path of a trace, or the name of a shape that one is made from.
        scale: the share of a shape's I/Os that is made.
        seed: of what is made from a shape.
        idle_limit_s: pauses between two I/Os are cut to this.
        iodepth: the most I/Os in flight.
        damaged: what to do about records that make no sense: ``error`` or ``skip``.
        beyond: what to do about offsets past the target's end: ``error``, ``skip``, or ``wrap``,
            which folds them back into it.
    """

    is_replay: ClassVar[bool] = True
    # what is in a trace is known only once it was read: in doubt it does both
    reads: ClassVar[bool] = True
    writes: ClassVar[bool] = True
    changes_data: ClassVar[bool] = True
    ends_with_its_data: ClassVar[bool] = True
    rw: ClassVar[None] = None
    bs: ClassVar[None] = None
    runtime_s: ClassVar[None] = None
    rwmixread: ClassVar[None] = None
    numjobs: ClassVar[int] = 1

    kind: Literal["replay"]
    trace: str = Field(min_length=1, max_length=4096)
    scale: float = Field(1.0, gt=0, le=1)
    seed: int = Field(0, ge=0, lt=1 << 63)
    idle_limit_s: Seconds = Field(0.025, ge=0)
    iodepth: int = Field(32, ge=1, le=65536)
    damaged: Literal["error", "skip"] = "error"
    beyond: Literal["error", "skip", "wrap"] = "error"

    def describe(self) -> str:
        """Return it in a few words: ``"replay of heavy, idle cut to 25 ms"``."""
        scale = f" at {self.scale:g}" if self.scale != 1 else ""
        idle = words.amount_text(1e3 * self.idle_limit_s, "ms")
        return f"replay of {self.trace}{scale}, idle cut to {idle}"


class Pause(BaseStep):
    """Wait without load: for a time, or until a temperature is reached.

    With `until_temp_c`, `duration_s` is the longest that it may take.
    """

    only_prepares: ClassVar[bool] = True

    kind: Literal["pause"]
    name: str = Field("pause", min_length=1, max_length=200)
    duration_s: Seconds = Field(300.0, ge=0)
    until_temp_c: float | None = Field(None, ge=-40, le=150)

    def mention(self) -> str:
        """Return how a sentence about several steps names it: ``"a pause of 5 min"``."""
        until = (
            "" if self.until_temp_c is None else f", until {words.temp_text(self.until_temp_c, 3)}"
        )
        return f"a pause of {words.duration_text(self.duration_s)}{until}"


class Purge(BaseStep):
    """Bring the whole target back to the state of a new drive.

    Attributes:
        method: how a real drive is purged; ``auto`` takes the best way that it offers.
        capacity: how much of the target the steps after it use, up to the next purge; the rest
            stays purged, which is spare area to the drive.
        spare: ``unwritten``; ``hpa`` is in older recordings, where a SATA drive hid the rest.
    """

    only_prepares: ClassVar[bool] = True
    purges: ClassVar[bool] = True

    kind: Literal["purge"]
    name: str = Field("purge", min_length=1, max_length=200)
    method: PurgeMethod = "auto"
    capacity: SizeOrShare = Field(Size(percent=100.0), validate_default=False)
    spare: Spare = "unwritten"

    @property
    def takes_all(self) -> bool:
        """Whether the steps after it use the whole target."""
        return self.capacity.percent == 100


#: One drive's load.
LoadStep = WorkloadStep | Replay

#: A step that one drive takes once.
SingleStep = Annotated[
    WorkloadStep | Precondition | Replay | Pause | Purge, Field(discriminator="kind")
]


def _amount(value: object) -> object:
    """A copy's size is bytes: of two drives, a share would be of either."""
    if isinstance(value, str) and value.strip().endswith("%"):
        raise ValueError(
            f"'{value}' is a share, but a copy has two drives: give it bytes, such as 200GB"
        )
    return parse_size(value) if isinstance(value, str | int | float) else value


class Copy(BaseStep):
    """So many bytes, read from the source and written to the destination at the same time.

    Attributes:
        size_bytes: how much is copied; None for `at_most_bytes`, or less where that has no room.
        bs: bytes of one I/O, on either side.
        iodepth: I/Os in flight on each side, at most.
        buffer_bytes: the most that is read and not yet written.
    """

    loads: ClassVar[bool] = True
    is_judged: ClassVar[bool] = True
    needs_two_drives: ClassVar[bool] = True
    changes_data: ClassVar[bool] = True  # on the destination

    kind: Literal["copy"]
    name: str = Field("copy", min_length=1, max_length=200)
    size_bytes: Annotated[int | None, BeforeValidator(_amount)] = None
    at_most_bytes: Annotated[int | None, BeforeValidator(_amount)] = None
    bs: Bytes = Field(1 << 20, ge=4096)
    iodepth: int = Field(8, ge=1, le=65536)
    buffer_bytes: Bytes = 64 << 20

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.name == FILL:
            raise ValueError(f"'{FILL}' is the step that lays out the source: choose another name")
        if self.bs % 4096:
            raise ValueError(f"bs is {self.bs}: direct I/O needs a multiple of 4096")
        if self.size_bytes is None and self.at_most_bytes is None:
            raise ValueError("size is missing: it, or at_most, says how much is copied")
        if self.amount_bytes < self.bs:
            raise ValueError(f"size is {self._asked_bytes} bytes, less than one I/O of {self.bs}")
        if self.buffer_bytes < self.bs:
            raise ValueError(f"buffer is {self.buffer_bytes} bytes, less than one I/O of {self.bs}")
        return self

    @property
    def block_sizes(self) -> tuple[int, ...]:
        """Bytes of one I/O, on either side."""
        return (self.bs,)

    @property
    def amount_bytes(self) -> int:
        """What is copied, in whole I/Os."""
        return self._asked_bytes - self._asked_bytes % self.bs

    @property
    def _asked_bytes(self) -> int:
        return (self.at_most_bytes or 0) if self.size_bytes is None else self.size_bytes

    def halves(self) -> tuple[WorkloadStep, WorkloadStep]:
        """Return what it asks of its source, and what of its destination."""
        fields = {"name": self.name, "bs": self.bs, "iodepth": self.iodepth}
        read, write = (
            WorkloadStep.model_validate({**fields, "rw": rw, "size": self.amount_bytes})
            for rw in ("read", "write")
        )
        return read, write

    def describe(self) -> str:
        """Return it in a few words: ``"copy of 200 GB, 1m, QD8"``."""
        amount = words.size_text(self.amount_bytes)
        return f"copy of {amount}, {Load(bs=self.bs, iodepth=self.iodepth).describe()}"


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
            by at most 10 %; ``limit`` is the highest rate that the drive holds without end: each
            round runs its tracked step at another rate, until that is held or not.
        within_s: with `until`, no round begins that would end later, if it takes as long as the
            longest so far.
        tracks: the step whose mean IOPS have to be steady, or whose rate is sought.
        steps: of one round. A step with a table ``vary`` stands for one for each combination of
            the values in it, which its name may quote in braces.
    """

    loads: ClassVar[bool] = True

    kind: Literal["rounds"]
    name: str = Field("rounds", min_length=1, max_length=200)
    at_most: int = Field(ge=1, le=1000)
    until: Literal["steady", "limit"] | None = None
    within_s: Seconds | None = Field(None, gt=0)
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
            kind = self.until or "steady"
            raise ValueError(f"until = '{kind}' and tracks, which names a step, need each other")
        if self.until is None and self.within_s is not None:
            raise ValueError("within needs until: without it, at_most says how many are taken")
        if self.until is None:
            return self
        if self.until == "steady" and self.at_most < MIN_STEADY_ROUNDS:
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
        sought = next(step for step in self.steps if step.name == self.tracks)
        if self.until == "limit" and (
            not isinstance(sought, WorkloadStep) or sought.runtime_s is None or sought.beside
        ):
            raise ValueError(
                f"'{self.tracks}', whose rate is sought, needs a runtime, and no beside"
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
        return {None: self.at_most, "steady": MIN_STEADY_ROUNDS, "limit": 1}[self.until]

    @property
    def parts(self) -> tuple[SingleStep | Copy, ...]:
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
        count = words.counted(len(self.steps), "step")
        if self.until is None:
            return f"{self.at_most} rounds of {count}"
        end = "until steady" if self.until == "steady" else "until its limit is known"
        within = "" if self.within_s is None else f" in {words.duration_text(self.within_s)}"
        return f"at most {self.at_most} rounds of {count}{within}, {end}"


#: Any step of a protocol.
Step = Annotated[
    WorkloadStep | Precondition | Replay | Copy | Pause | Purge | Rounds,
    Field(discriminator="kind"),
]
