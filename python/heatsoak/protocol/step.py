"""The kinds of steps, and when a step is taken at all."""

from typing import Annotated, Any, Literal, Self

from pydantic import AliasChoices, BeforeValidator, Field, model_validator

from heatsoak.protocol.workload import Model, Seconds, Workload


def _as_list(names: Any) -> Any:
    """One name may stand without brackets."""
    return [names] if isinstance(names, str) else names


class Conditional(Model):
    """When a step is taken: always, or as a probe of what earlier steps showed.

    Attributes:
        only_if_drop_in: earlier workloads: it is taken if the throughput of any of them fell.
        only_after: an earlier step: it is taken if that was, and did what it is for.
        asks: what the step is to tell, for whoever watches the run.
    """

    only_if_drop_in: Annotated[tuple[str, ...], BeforeValidator(_as_list)] = ()
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


class WorkloadStep(Workload, Conditional):
    """A workload that is measured and judged.

    Attributes:
        end_after_drop_s: it ends early once its throughput was down for this long in all.
    """

    kind: Literal["workload"] = "workload"
    name: str = Field(min_length=1, max_length=200)
    beside: tuple[Workload, ...] = ()
    end_after_drop_s: Seconds | None = Field(
        None, gt=0, validation_alias=AliasChoices("end_after_drop", "end_after_drop_s")
    )

    @property
    def workloads(self) -> tuple[Workload, ...]:
        """This workload and those that run beside it."""
        return (self, *self.beside)


class Precondition(WorkloadStep):
    """A workload that only brings the drive into a state; recorded, not judged."""

    kind: Literal["precondition"] = "precondition"  # type: ignore[assignment]

    @model_validator(mode="after")
    def _check_end(self) -> Self:
        if self.end_after_drop_s is not None:
            raise ValueError("end_after_drop belongs to a workload: a precondition is not judged")
        return self


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
    """Bring the whole target back to the state of a new drive (trim or format)."""

    kind: Literal["purge"]
    name: str = Field("purge", min_length=1, max_length=200)


Step = Annotated[
    WorkloadStep | Precondition | Pause | Purge,
    Field(discriminator="kind"),
]


def with_kind(step: Any) -> Any:
    """A step without a kind is a workload."""
    return {"kind": "workload", **step} if isinstance(step, dict) else step
