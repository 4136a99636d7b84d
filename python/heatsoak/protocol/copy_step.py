"""A step that copies from one drive to another."""

from typing import Annotated, Literal, Self

from pydantic import AliasChoices, BeforeValidator, Field, model_validator

from heatsoak.protocol.step import Conditional
from heatsoak.protocol.workload import Bytes
from heatsoak.units import format_block, format_bytes, parse_size

#: Which of a copy's two drives.
Role = Literal["source", "destination"]
ROLES: tuple[Role, Role] = ("source", "destination")
#: The source's step that lays out what is then copied.
FILL = "fill-source"


def _amount(value: object) -> object:
    """A copy's size is bytes: of two drives, a share would be of either."""
    if isinstance(value, str) and value.strip().endswith("%"):
        raise ValueError(f"'{value}' is a share, and of two drives: give it bytes, such as 200GB")
    return parse_size(value) if isinstance(value, str | int | float) else value


class Copy(Conditional):
    """So many bytes, read from the source and written to the destination at the same time.

    Attributes:
        size_bytes: how much is copied.
        bs: bytes of one I/O, on either side.
        iodepth: I/Os in flight on each side, at most.
        buffer_bytes: the most that is read and not yet written.
    """

    kind: Literal["copy"]
    name: str = Field("copy", min_length=1, max_length=200)
    size_bytes: Annotated[int, BeforeValidator(_amount)] = Field(
        validation_alias=AliasChoices("size", "size_bytes")
    )
    bs: Bytes = Field(1 << 20, ge=4096)
    iodepth: int = Field(8, ge=1, le=65536)
    buffer_bytes: Bytes = Field(64 << 20, validation_alias=AliasChoices("buffer", "buffer_bytes"))

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.name == FILL:
            raise ValueError(f"'{FILL}' is the step that lays out the source: name it otherwise")
        if self.bs % 4096:
            raise ValueError(f"bs is {self.bs}: a multiple of 4096 is what direct I/O takes")
        if self.size_bytes < self.bs:
            raise ValueError(f"size is {self.size_bytes} bytes, less than one I/O of {self.bs}")
        if self.buffer_bytes < self.bs:
            raise ValueError(f"buffer is {self.buffer_bytes} bytes, less than one I/O of {self.bs}")
        return self

    @property
    def amount_bytes(self) -> int:
        """What is copied, in whole I/Os."""
        return self.size_bytes - self.size_bytes % self.bs

    def describe(self) -> str:
        """Return it in a few words: ``"copy of 200 GB, 1m, QD8"``."""
        amount = format_bytes(self.amount_bytes)
        return f"copy of {amount}, {format_block(self.bs)}, QD{self.iodepth}"
