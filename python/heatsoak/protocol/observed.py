"""A load that somebody else made: what a log of it, or the kernel's counters, tell of it."""

from typing import Annotated, Literal

from pydantic import Field

from heatsoak.protocol.workload import RW, Conditions, Model
from heatsoak.units import format_block


class Observed(Model):
    """A load that somebody else made, as far as a log of it tells; it cannot be run again.

    Attributes:
        reads: whether it read; True where the log does not tell.
        writes: likewise.
        rw: the access pattern, if known.
        bs: bytes of one I/O, if known and only one.
        iodepth: I/Os in flight, if known.
        about: the log's own words for it.
        watched: whether it is a stretch of what a logger saw, so that nobody says that it asked for
            the same throughout.
    """

    kind: Literal["observed"] = "observed"
    name: str = Field(min_length=1, max_length=200)
    reads: bool = True
    writes: bool = True
    rw: RW | None = None
    bs: int | None = Field(None, ge=1)
    iodepth: int | None = Field(None, ge=1)
    numjobs: int | None = Field(None, ge=1)
    rwmixread: int | None = Field(None, ge=0, le=100)
    about: str = Field("", max_length=1000)
    watched: bool = False

    def describe(self) -> str:
        """Return what is known of it in a few words: ``"random write, 4k, QD32"``."""
        share = f", {self.rwmixread} % reads" if self.rwmixread is not None else ""
        if self.rw is not None:
            kind = "random" if self.rw.startswith("rand") else "sequential"
            what = {"read": "read", "write": "write"}.get(
                self.rw.removeprefix("rand"), f"mix{share}"
            )
            words = [f"{kind} {what}"]
        elif self.reads != self.writes:
            words = ["reads" if self.reads else "writes"]
        else:
            words = [] if self.about else ["load not described"]
        words += [format_block(self.bs)] if self.bs else []
        words += [f"QD{self.iodepth}"] if self.iodepth else []
        words += [f"{self.numjobs} jobs"] if (self.numjobs or 1) > 1 else []
        return ", ".join([*words, *([self.about] if self.about else [])])


class Observation(Model):
    """What stands for the protocol in the recording of a load that somebody else made.

    Attributes:
        name: the kind of log it was taken from.
    """

    name: str = Field(min_length=1, max_length=100)
    title: str = ""
    conditions: Conditions = Field(default_factory=dict)
    steps: Annotated[list[Observed], Field(min_length=1)]

    @property
    def workload_steps(self) -> list[Observed]:
        """The steps, as a protocol has them."""
        return self.steps
