"""What ``heatsoak trace stats --format json`` prints: the statistics that the core counts."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

SizeShares = dict[str, float | None]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class ByDirection(_Part):
    """A figure of all I/Os, and of reads and writes apart; null where there is no such I/O."""

    all: float | None
    reads: float | None
    writes: float | None


class SizesByDirection(_Part):
    """Shares of I/O sizes, in percent."""

    all: SizeShares
    reads: SizeShares
    writes: SizeShares


class Depth(_Part):
    """Queue depth as each I/O was issued, itself included.

    Attributes:
        known: I/Os whose depth the trace states.
        pct: shares of depths.
    """

    known: int
    mean: float
    max: int
    pct: dict[str, float]


class Sequential(_Part):
    """I/Os that continue where one before them ended; `definition` says what counts as one."""

    pct: ByDirection
    definition: str


class Span(_Part):
    """The addresses that are used; `end_byte` is the one after the last."""

    first_byte: int
    end_byte: int
    bytes: int


class Footprint(_Part):
    """How much is touched at all, each byte counted once.

    Attributes:
        granularity_bytes: bytes that are told apart; any part of so many counts as the whole.
    """

    bytes: int
    read_bytes: int
    write_bytes: int
    granularity_bytes: int


class Time(_Part):
    """How the time goes.

    Attributes:
        busy_s: at least one I/O in flight; null where completions are not known.
        idle_s: nothing in flight, or where completions are not known, time between issues.
        pauses: how many pauses make it; `pauses_cut` are longer than `idle_limit_s`.
        idle_left_s: idle time that is left after they were cut to it.
        completions_known: whether it is stated for every I/O when it completed.
    """

    duration_s: float
    busy_s: float | None
    idle_s: float
    pauses: int
    idle_limit_s: float
    pauses_cut: int
    idle_left_s: float
    completions_known: bool


class Bursts(_Part):
    """Stretches of I/O without a pause; `definition` says what ends one."""

    count: int
    mean_ios: float | None
    definition: str


class Service(_Part):
    """How long I/Os took, as recorded; `known` is how many the trace states it of."""

    known: int
    mean_us: ByDirection
    over_10ms_pct: ByDirection
    over_100ms_pct: ByDirection


class Skipped(_Part):
    """Damaged lines of a file that were left out.

    Attributes:
        first_line: the number of the first; 0 where there was none.
        why: what was wrong with it.
    """

    count: int
    first_line: int
    why: str


class TraceStatistics(_Part):
    """What a trace is like.

    Sizes, sequential shares, addresses and service times are those of reads and writes; depth, time
    and bursts count trims too.

    Attributes:
        schema_version: goes up when a key changes its meaning or goes away.
        depth: null where the trace does not say; `service` likewise.
        format: the file's; null for a shape. `skipped` likewise.
    """

    schema_version: Literal[1] = 1
    ios: int
    reads: int
    writes: int
    trims: int
    read_bytes: int
    write_bytes: int
    trim_bytes: int
    read_gb: float
    write_gb: float
    mean_bytes: ByDirection
    size_pct: SizesByDirection
    depth: Depth | None
    sequential: Sequential
    span: Span
    footprint: Footprint
    time: Time
    bursts: Bursts
    service: Service | None
    format: str | None = None
    skipped: Skipped | None = None
