"""What a step asks of the drive, in fio's words, and the kinds of values that a protocol has."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationInfo,
    field_validator,
    model_validator,
)

from heatsoak.protocol.fio_options import wrong_option
from heatsoak.units import Size, parse_seconds, parse_size
from heatsoak.words import block_text, percent_text

#: The context in which a protocol is validated that is to be run. Without it one that was recorded
#: is read, whatever fio's options were then; none gets past :mod:`heatsoak.target.fio.command`.
TO_BE_RUN = {"to_be_run": True}

Bytes = Annotated[int, BeforeValidator(parse_size)]
Seconds = Annotated[float, BeforeValidator(parse_seconds)]
SizeOrShare = Annotated[Size, BeforeValidator(Size.parse), PlainSerializer(str)]

RW = Literal["read", "write", "randread", "randwrite", "rw", "randrw"]
_RW_SYNONYMS = {"readwrite": "rw"}


class Model(BaseModel):
    """Base: unknown keys are errors, and a value never changes once it was read."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        populate_by_name=True,
        arbitrary_types_allowed=True,
        defer_build=True,
    )


def with_values(key: str, text: str, values: Mapping[str, object], which: str) -> str:
    """Return the value of `key` with `values` in place of their names in braces.

    Raises ValueError for other names; `which` says what these are.
    """
    try:
        return text.format_map(values)
    except (KeyError, IndexError, ValueError, AttributeError, TypeError) as error:
        raise ValueError(
            f"{key} is '{text}': only {which} may appear in braces, {{{'}, {'.join(values)}}}"
        ) from error


class Workload(Model):
    """What a step asks of the drive.

    Attributes:
        rw: fio's access pattern.
        rwmixread: percentage of reads of a mixed workload.
        bs: bytes of one I/O.
        iodepth: I/Os in flight for each job.
        numjobs: jobs that do the same beside each other.
        span: the part of the target that offsets are drawn from (fio's ``size``).
        offset: where the span starts.
        io_size: bytes to transfer in all jobs together; without it and without a runtime,
            the span once.
        runtime_s: how long, repeating the span as often as needed.
        rate: bytes per second at most, for each job and each of reads and writes; None is
            unlimited.
        rate_iops: I/Os per second at most, counted in the same way.
        compress_pct: how far the data can be compressed; 0 is incompressible.
        fio: further options for fio alone, of :mod:`heatsoak.protocol.fio_options`; no other
            target takes them.
    """

    rw: Annotated[
        RW, BeforeValidator(lambda v: _RW_SYNONYMS.get(v, v) if isinstance(v, str) else v)
    ]
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

    @field_validator("fio")
    @classmethod
    def _check_fio(cls, options: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        for option, value in options.items() if info.context == TO_BE_RUN else ():
            if wrong := wrong_option(option, value):
                raise ValueError(f"'{option}' {wrong}")
        return options

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
        what = {1.0: "read", 0.0: "write"}.get(
            self.read_share, f"mix, {percent_text(100 * self.read_share)} reads"
        )
        jobs = f" x {self.numjobs} jobs" if self.numjobs > 1 else ""
        return f"{kind} {what}, {block_text(self.bs)}, QD{self.iodepth}{jobs}"
