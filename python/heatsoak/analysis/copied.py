"""What a copy shows as a whole, from the recordings of both its drives."""

from typing import Literal

from pydantic import BaseModel


class CopyStepFindings(BaseModel):
    """What both sides of a copy show together.

    Attributes:
        bytes: what was written.
        duration_s: from the first read to the last write.
        mb_s: of the copy as a whole.
        bottleneck: the drive that the other waited for, for at least half of the time; None where
            that is not known.
        source_pct: the share of the time in which the destination waited for the source, its queue
            the emptier one; likewise `destination_pct`.
        text: who held up whom, and why.
    """

    step: str
    bytes: int | None
    duration_s: float
    mb_s: float | None
    bottleneck: Literal["source", "destination", "neither"] | None
    source_pct: float | None
    destination_pct: float | None
    text: str


class CopyFindings(BaseModel):
    """A copy of which both recordings are given, by their paths."""

    source: str
    destination: str
    steps: list[CopyStepFindings]
