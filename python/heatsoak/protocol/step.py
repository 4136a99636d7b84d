"""The kinds of steps, and when a step is taken at all."""

from abc import ABC, abstractmethod
from typing import Annotated, Any, Literal, Self

from pydantic import AliasChoices, BeforeValidator, Field, model_validator

from heatsoak.protocol.workload import Model, Seconds, SizeOrShare, Workload
from heatsoak.units import Size

#: How a drive can be told to forget everything.
PurgeMethod = Literal["auto", "discard", "format", "sanitize", "secure-erase"]

#: How what lies beyond the capacity is kept from being written.
Spare = Literal["unwritten", "hpa"]


def as_list(names: Any) -> Any:
    """One name may stand without brackets."""
    return [names] if isinstance(names, str) else names


class Conditional(Model):
    """When a step is taken: always, or as a probe of what earlier steps showed.

    Attributes:
        only_if_drop_in: earlier workloads: it is taken if the throughput of any of them fell.
        only_after: an earlier step: it is taken if that was, and did what it is for.
        asks: what the step is to tell, for whoever watches the run.
    """

    only_if_drop_in: Annotated[tuple[str, ...], BeforeValidator(as_list)] = ()
    only_after: str | None = None
    asks: str = Field("", max_length=200)

    @property
    def is_probe(self) -> bool:
        """Whether it is taken only under a condition."""
        return bool(self.only_if_drop_in) or self.only_after is not None

    def describe_condition(self) -> str:
        """Return when it is taken: ``"only if 'write' falls"``; empty for always."""
        parts = []
        if self.only_if_drop_in:
            names = " or ".join(f"'{name}'" for name in self.only_if_drop_in)
            parts.append(f"if {names} {'falls' if len(self.only_if_drop_in) == 1 else 'fall'}")
        if self.only_after is not None:
            parts.append(f"after '{self.only_after}'")
        return f"only {' and '.join(parts)}" if parts else ""


class Loading(Conditional, ABC):
    """A step that loads the drive, is recorded, and, but for a precondition, judged.

    Attributes:
        end_after_drop_s: it ends early once its throughput was down for this long in all.
    """

    name: str = Field(min_length=1, max_length=200)
    end_after_drop_s: Seconds | None = Field(
        None, gt=0, validation_alias=AliasChoices("end_after_drop", "end_after_drop_s")
    )

    @property
    @abstractmethod
    def reads(self) -> bool:
        """Whether it ever reads."""

    @property
    @abstractmethod
    def writes(self) -> bool:
        """Whether it ever writes."""

    @property
    def changes_data(self) -> bool:
        """Whether it writes, or anything that runs beside it."""
        return self.writes

    @abstractmethod
    def describe(self) -> str:
        """Return it in a few words."""


class WorkloadStep(Workload, Loading):
    """A workload that is measured and judged."""

    kind: Literal["workload"] = "workload"
    beside: tuple[Workload, ...] = ()

    @property
    def workloads(self) -> tuple[Workload, ...]:
        """This workload and those that run beside it."""
        return (self, *self.beside)

    @property
    def changes_data(self) -> bool:
        """Whether it writes, or anything that runs beside it."""
        return any(workload.writes for workload in self.workloads)


class Precondition(WorkloadStep):
    """A workload that only brings the drive into a state; recorded, not judged."""

    kind: Literal["precondition"] = "precondition"  # type: ignore[assignment]

    @model_validator(mode="after")
    def _check_end(self) -> Self:
        if self.end_after_drop_s is not None:
            raise ValueError("end_after_drop belongs to a workload: a precondition is not judged")
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

    kind: Literal["replay"]
    trace: str = Field(min_length=1, max_length=4096)
    scale: float = Field(1.0, gt=0, le=1)
    seed: int = Field(0, ge=0, lt=1 << 63)
    idle_limit_s: Seconds = Field(
        0.025, ge=0, validation_alias=AliasChoices("idle_limit", "idle_limit_s")
    )
    iodepth: int = Field(32, ge=1, le=65536)
    damaged: Literal["error", "skip"] = "error"
    beyond: Literal["error", "skip", "wrap"] = "error"

    @property
    def reads(self) -> bool:
        """Whether it ever reads; what is in a trace is known only once it was read."""
        return True

    @property
    def writes(self) -> bool:
        """Whether it ever writes; likewise, and in doubt it does."""
        return True

    @property
    def rw(self) -> None:
        """No one access pattern."""
        return None

    @property
    def bs(self) -> None:
        """No one size."""
        return None

    @property
    def rwmixread(self) -> None:
        """No stated mix."""
        return None

    @property
    def numjobs(self) -> int:
        """One host replays."""
        return 1

    def describe(self) -> str:
        """Return it in a few words: ``"replay of heavy, idle cut to 25 ms"``."""
        scale = f" at {self.scale:g}" if self.scale != 1 else ""
        return f"replay of {self.trace}{scale}, idle cut to {1e3 * self.idle_limit_s:g} ms"


class Pause(Conditional):
    """Wait without load: for a time, or until a temperature is reached.

    With `until_temp_c`, `duration_s` is the longest that it may take.
    """

    kind: Literal["pause"]
    name: str = Field("pause", min_length=1, max_length=200)
    duration_s: Seconds = Field(
        300.0, ge=0, validation_alias=AliasChoices("duration", "duration_s")
    )
    until_temp_c: float | None = Field(None, ge=-40, le=150)


class Purge(Conditional):
    """Bring the whole target back to the state of a new drive.

    Attributes:
        method: how a real drive is told; ``auto`` takes the best that it offers.
        capacity: how much of the target the steps after it use, up to the next purge; the rest
            stays purged, which is spare area to the drive.
        spare: ``unwritten`` just leaves the rest alone, ``hpa`` has a SATA drive hide it as well.
    """

    kind: Literal["purge"]
    name: str = Field("purge", min_length=1, max_length=200)
    method: PurgeMethod = "auto"
    capacity: SizeOrShare = Field(Size(percent=100.0), validate_default=False)
    spare: Spare = "unwritten"

    @model_validator(mode="after")
    def _check_spare(self) -> Self:
        if self.spare == "hpa" and self.takes_all:
            raise ValueError("spare = 'hpa' hides what is beyond the capacity: give one below 100%")
        return self

    @property
    def takes_all(self) -> bool:
        """Whether the steps after it use the whole target."""
        return self.capacity.percent == 100


#: What loads the drive.
LoadStep = WorkloadStep | Replay

#: A step that is taken once.
SingleStep = Annotated[
    WorkloadStep | Precondition | Replay | Pause | Purge,
    Field(discriminator="kind"),
]


def with_kind(step: Any) -> Any:
    """A step without a kind is a workload."""
    return {"kind": "workload", **step} if isinstance(step, dict) else step
