"""The schema of a protocol, in fio's words; see docs/protocols.md for how it reads in TOML."""

from itertools import product
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    model_validator,
)

from heatsoak.units import Size, format_block, parse_seconds, parse_size

Label = str | int | float | bool
Conditions = dict[str, Label]

Bytes = Annotated[int, BeforeValidator(parse_size)]
Seconds = Annotated[float, BeforeValidator(parse_seconds)]
SizeOrShare = Annotated[Size, BeforeValidator(Size.parse), PlainSerializer(str)]

RW = Literal["read", "write", "randread", "randwrite", "rw", "randrw"]
_RW_SYNONYMS = {"readwrite": "rw"}


class Model(BaseModel):
    """Base: unknown keys are errors, and a value never changes once it was read."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, populate_by_name=True, arbitrary_types_allowed=True
    )


class Workload(Model):
    """What a step asks of the drive.

    Attributes:
        rw: fio's access pattern.
        rwmixread: percentage of reads of a mixed workload.
        bs: bytes of one I/O.
        iodepth: I/Os in flight for each job.
        numjobs: jobs that do the same beside each other.
        span: the part of the target that offsets are drawn from (fio's ``size``).
        offset: where the span begins.
        io_size: bytes to transfer in all jobs together; without it and without a runtime,
            the span once.
        runtime_s: how long, repeating the span as often as needed.
        rate: bytes per second at most, for each job and each of reads and writes; None is
            unlimited.
        rate_iops: I/Os per second at most, likewise.
        compress_pct: how far the data can be compressed; 0 is incompressible.
        fio: further options for fio alone; no other target takes them.
    """

    rw: Annotated[RW, BeforeValidator(lambda v: _RW_SYNONYMS.get(v, v))]
    rwmixread: int | None = Field(None, ge=0, le=100)
    bs: Bytes = Field(4096, ge=512)
    iodepth: int = Field(1, ge=1, le=65536)
    numjobs: int = Field(1, ge=1, le=1024)
    span: SizeOrShare = Field(
        Size(percent=100.0), validation_alias=AliasChoices("span", "size"), validate_default=False
    )
    offset: SizeOrShare = Field(Size(bytes=0), validate_default=False)
    io_size: SizeOrShare | None = None
    runtime_s: Seconds | None = Field(
        None, gt=0, validation_alias=AliasChoices("runtime", "runtime_s")
    )
    rate: Bytes | None = Field(None, gt=0)
    rate_iops: int | None = Field(None, gt=0)
    compress_pct: int = Field(
        0, ge=0, le=100, validation_alias=AliasChoices("buffer_compress_percentage", "compress_pct")
    )
    fio: dict[str, str] = {}

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.rwmixread is not None and not self.is_mixed:
            raise ValueError(f"rwmixread needs rw=rw or rw=randrw, not rw={self.rw}")
        if not self.span.is_positive:
            raise ValueError("span is 0: give it bytes, such as 16g, or a share, such as 100%")
        if self.io_size is not None and not self.io_size.is_positive:
            raise ValueError("io_size is 0: give it bytes, such as 16g, or a share, such as 100%")
        return self

    @property
    def is_mixed(self) -> bool:
        """Whether it both reads and writes."""
        return self.rw in ("rw", "randrw")

    @property
    def is_random(self) -> bool:
        """Whether offsets are random."""
        return self.rw.startswith("rand")

    @property
    def read_share(self) -> float:
        """The share of I/Os that are reads, 0 to 1."""
        if self.is_mixed:
            return (50 if self.rwmixread is None else self.rwmixread) / 100
        return 1.0 if self.rw in ("read", "randread") else 0.0

    @property
    def writes(self) -> bool:
        """Whether it ever writes."""
        return self.read_share < 1

    @property
    def reads(self) -> bool:
        """Whether it ever reads."""
        return self.read_share > 0

    def transfer_bytes(self, target_bytes: int) -> int | None:
        """Bytes after which it ends, or None where only the runtime ends it."""
        if self.io_size is not None:
            return self.io_size.of(target_bytes)
        return None if self.runtime_s is not None else self.span.of(target_bytes)

    def describe(self) -> str:
        """Return it in a few words: ``"sequential read, 128k, QD32"``."""
        kind = "random" if self.is_random else "sequential"
        what = {1.0: "read", 0.0: "write"}.get(self.read_share, f"mix, {self.read_share:.0%} reads")
        jobs = f" x {self.numjobs} jobs" if self.numjobs > 1 else ""
        return f"{kind} {what}, {format_block(self.bs)}, QD{self.iodepth}{jobs}"


class WorkloadStep(Workload):
    """A workload that is measured and judged."""

    kind: Literal["workload"] = "workload"
    name: str = Field(min_length=1, max_length=200)
    beside: tuple[Workload, ...] = ()

    @property
    def workloads(self) -> tuple[Workload, ...]:
        """This workload and those that run beside it."""
        return (self, *self.beside)


class Precondition(WorkloadStep):
    """A workload that only brings the drive into a state; recorded, not judged."""

    kind: Literal["precondition"] = "precondition"  # type: ignore[assignment]


class Pause(Model):
    """Wait without load: for a time, or until a temperature is reached.

    With `until_temp_c`, `duration_s` is the longest that it may take.
    """

    kind: Literal["pause"]
    name: str = Field("pause", min_length=1, max_length=200)
    duration_s: Seconds = Field(
        300.0, ge=0, validation_alias=AliasChoices("duration", "duration_s")
    )
    until_temp_c: float | None = Field(None, ge=-40, le=150)


class Purge(Model):
    """Bring the whole target back to the state of a new drive (trim or format)."""

    kind: Literal["purge"]
    name: str = Field("purge", min_length=1, max_length=200)


Step = Annotated[
    WorkloadStep | Precondition | Pause | Purge,
    Field(discriminator="kind"),
]


def _with_kind(step: Any) -> Any:
    """A step without a kind is a workload."""
    return {"kind": "workload", **step} if isinstance(step, dict) else step


class Heat(Model):
    """Something that warms the case while the steps run.

    Attributes:
        source: what makes the heat: ``gpu``, ``cpu``, a ``command``, or a ``person`` who is asked.
        when: the conditions under which it is on; an empty table is always.
        load_pct: how hard it is loaded.
        command: the command line of a ``command``.
        warm_up_s: how long it runs before the first step.
    """

    source: Literal["gpu", "cpu", "command", "person"]
    when: Conditions = {}
    load_pct: float = Field(100, gt=0, le=100)
    command: str | None = None
    warm_up_s: Seconds = Field(0.0, ge=0, validation_alias=AliasChoices("warm_up", "warm_up_s"))

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.source == "command") != (self.command is not None):
            raise ValueError("command belongs to source = 'command', and is needed there")
        return self

    def is_on(self, conditions: Conditions) -> bool:
        """Whether these conditions ask for it."""
        return all(conditions.get(key) == value for key, value in self.when.items())


class Matrix(Model):
    """The conditions and places that a protocol is repeated in.

    Attributes:
        axes: the values of each condition; the cells are their product.
        exclude: cells left out, each by some of its conditions.
        by_hand: axes that only hands can change on a real machine, such as the slot.
        enclosure: the simulated place of a cell, with ``{axis}`` for a value.
    """

    axes: dict[str, Annotated[list[Label], Field(min_length=1)]] = Field(min_length=1)
    exclude: list[Conditions] = []
    by_hand: list[str] = []
    enclosure: str | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        for place, names in (
            *(("exclude", list(entry)) for entry in self.exclude),
            ("by_hand", self.by_hand),
        ):
            for name in names:
                if name not in self.axes:
                    raise ValueError(f"{place} names '{name}', which is no axis of the matrix")
        try:
            self.enclosure_of({name: values[0] for name, values in self.axes.items()})
        except (KeyError, IndexError, ValueError, AttributeError, TypeError) as error:
            raise ValueError(
                f"enclosure is '{self.enclosure}': only axes may stand in braces, "
                f"{{{'}, {'.join(self.axes)}}}"
            ) from error
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
        return None if self.enclosure is None else self.enclosure.format_map(cell)


class Protocol(Model):
    """Ordered steps, and the conditions they run in.

    Attributes:
        notes: what whoever reads a result must know of the protocol; each run warns of it.
        file_size: how large a test file it wants where the target is a directory.
        matrix: conditions to repeat it in; None runs it once.
        heat: what warms the case meanwhile.
    """

    schema_version: Literal[1] = Field(1, validation_alias=AliasChoices("schema", "schema_version"))
    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100)
    title: str = ""
    description: str = ""
    sources: list[str] = []
    notes: list[str] = []
    file_size: SizeOrShare = Field(Size(percent=100.0), validate_default=False)
    conditions: Conditions = {}
    heat: list[Heat] = []
    matrix: Matrix | None = None
    steps: Annotated[
        list[Annotated[Step, BeforeValidator(_with_kind)]],
        Field(min_length=1),
    ]

    @model_validator(mode="after")
    def _check(self) -> Self:
        seen: set[str] = set()
        for step in self.steps:
            if isinstance(step, WorkloadStep):
                if step.name in seen:
                    raise ValueError(f"two steps are named '{step.name}': give each its own name")
                seen.add(step.name)
        return self

    @property
    def workload_steps(self) -> list[WorkloadStep]:
        """The steps that load the target, preconditioning among them."""
        return [step for step in self.steps if isinstance(step, WorkloadStep)]

    @property
    def writes(self) -> bool:
        """Whether any step changes what is on the target."""
        return any(isinstance(step, Purge) for step in self.steps) or any(
            workload.writes for step in self.workload_steps for workload in step.workloads
        )

    def cells(self) -> list[Conditions]:
        """Return the conditions of each recording that a run makes."""
        if self.matrix is None:
            return [dict(self.conditions)]
        return [{**self.conditions, **cell} for cell in self.matrix.cells()]
