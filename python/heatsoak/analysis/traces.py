"""What a trace is like, and whether it has a requested shape: what ``lab trace`` prints."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from heatsoak.catalog import TraceShape
from heatsoak.catalog.traces import DEPTHS, size_name
from heatsoak.units import GB, GIB

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
    """What a trace is like: what ``heatsoak lab trace --format json`` prints.

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


TOLERANCE = 0.01
_PAGE = 4096
# the first I/O of each direction continues nothing, and the last run may have no end
_RUNS_LOST = 3


FigureGroup = Literal["totals", "sizes", "depths", "addresses", "time"]


class TraceFigure(_Part):
    """A requested figure, and what a trace has.

    Attributes:
        group: what it is about.
        name: the figure, with its unit.
        off_pct: how far `got` is from `asked`, in percent of it; None if nothing was asked for.
        holds: whether it is within 1 %, or as close as whole I/Os allow.
        note: why it may be off by more than 1 %, if it is.
    """

    group: FigureGroup
    name: str
    asked: float
    got: float
    off_pct: float | None
    holds: bool
    note: str = ""


class TraceCheck(_Part):
    """What ``heatsoak lab trace --check --format json`` prints.

    Attributes:
        schema_version: goes up when a key changes its meaning or goes away.
        holds: whether all of the figures do.
    """

    schema_version: Literal[1] = 1
    shape: str
    scale: float
    seed: int
    holds: bool
    rows: list[TraceFigure]


def compare_with_shape(
    shape: TraceShape, statistics: dict[str, Any], scale: float
) -> list[TraceFigure]:
    """Return every figure of `shape` at `scale`, next to that of a trace's statistics."""
    return [
        *_totals(shape, statistics, scale),
        *_sizes(shape, statistics),
        *_depths(shape, statistics),
        *_addresses(shape, statistics),
        *_times(shape, statistics),
    ]


def _row(
    group: FigureGroup, name: str, asked: float, got: float, grain: float, note: str = ""
) -> TraceFigure:
    """A figure that may be off by 1 %, or by `grain` where whole I/Os allow no better."""
    off = abs(got - asked)
    close = off <= TOLERANCE * abs(asked)
    holds = close or off <= grain * (1 + 1e-9)
    return TraceFigure(
        group=group,
        name=name,
        asked=asked,
        got=got,
        off_pct=(got - asked) / asked * 100 if asked else None,
        holds=holds,
        note="" if close or not holds else note or "as close as whole I/Os allow",
    )


def _totals(shape: TraceShape, got: dict[str, Any], scale: float) -> Iterator[TraceFigure]:
    totals = shape.totals
    yield _row("totals", "reads", totals.reads.value * scale, got["reads"], 0.5)
    yield _row("totals", "writes", totals.writes.value * scale, got["writes"], 0.5)
    # in the unit of the published figures
    unit, size = ("gib", GIB) if totals.unit_bytes == GIB else ("gb", GB)
    for name, asked in (("read", shape.read_bytes), ("write", shape.write_bytes)):
        found = got[f"{name}_bytes"] / size
        yield _row("totals", f"{name}_{unit}", asked * scale / size, found, _PAGE / size)


def _sizes(shape: TraceShape, got: dict[str, Any]) -> Iterator[TraceFigure]:
    one_pct = 100 / max(got["ios"], 1)
    found = got["size_pct"]["all"]
    listed = {size_name(name): share for name, share in shape.sizes.pct.items()}
    # the statistics count sizes without a class of their own as others
    listed = {name: share for name, share in listed.items() if name in found}
    for name, asked in listed.items():
        yield _row("sizes", f"{name}_pct", asked, found[name] or 0.0, one_pct)
    others = 100 - sum(listed.values())
    yield _row("sizes", "others_pct", others, found["others"] or 0.0, one_pct)


def _depths(shape: TraceShape, got: dict[str, Any]) -> Iterator[TraceFigure]:
    depth = got["depth"] or {"pct": {}, "mean": 0.0}
    counts = _whole_counts(shape, got["ios"])
    one_pct = 100 / max(got["ios"], 1)
    grains = _grains(counts)
    for name, asked in shape.depths.pct.items():
        grain = grains.get(name, 1)
        note = "too few I/Os for queues so deep" if grain > 1 else ""
        yield _row(
            "depths", f"{name}_pct", asked, depth["pct"].get(name, 0.0), grain * one_pct, note
        )
    mean = shape.depths.mean
    if mean is not None:
        short = max(0.0, mean.value - _deepest_mean(counts))
        note = "too few I/Os for queues so deep"
        yield _row("depths", "mean", mean.value, depth["mean"], short * (1 + TOLERANCE), note)


@dataclass(frozen=True)
class _Class:
    """The I/Os requested in a class of depths."""

    name: str
    least: int
    most: int | None
    ios: float

    @property
    def width(self) -> int:
        return 1 if self.most is None else self.most - self.least + 1


def _whole_counts(shape: TraceShape, ios: int) -> list[_Class]:
    names = [name for name in DEPTHS if name in shape.depths.pct]
    return [
        _Class(name, entry["from"], entry["to"], entry["share"] * ios)
        for name, entry in zip(names, shape.depths.core(), strict=True)
    ]


def _grains(classes: list[_Class]) -> dict[str, float]:
    """By how many I/Os each class may be off: a growing queue passes every depth.

    If a class has fewer I/Os than depths, no deeper class can be reached, and the I/Os requested
    there are spread over the depths that can.
    """
    grains = {}
    unreachable = 0.0
    for at, entry in enumerate(classes):
        deeper = sum(other.ios for other in classes[at + 1 :])
        if not unreachable and entry.ios < entry.width and deeper > 0:
            unreachable = deeper + 1
        grains[entry.name] = 1 + unreachable
    return grains


def _deepest_mean(classes: list[_Class]) -> float:
    """The greatest mean depth that this many I/Os of these classes can have."""
    total = 0.0
    for entry in classes:
        ramp = entry.ios if entry.most is None else min(entry.ios, entry.width)
        deepest = entry.least + ramp - 1
        total += ramp * (entry.least + deepest) / 2 + (entry.ios - ramp) * deepest
    return total / max(sum(entry.ios for entry in classes), 1)


def _addresses(shape: TraceShape, got: dict[str, Any]) -> Iterator[TraceFigure]:
    one_pct = 100 / max(got["ios"], 1)
    sequential = got["sequential"]["pct"]["all"] or 0.0
    asked = shape.addresses.sequential_pct.value
    yield _row("addresses", "sequential_pct", asked, sequential, _RUNS_LOST * one_pct)
    yield _row("addresses", "span_gb", shape.span_bytes / GB, got["span"]["bytes"] / GB, 0.0)


def _times(shape: TraceShape, got: dict[str, Any]) -> Iterator[TraceFigure]:
    alone = shape.depths.pct.get("1")
    bursts = got["bursts"]["count"]
    if alone is not None:
        yield _row("time", "bursts", alone / 100 * got["ios"], bursts, 1)
    pauses = shape.pauses
    rests = max(1, round(bursts / pauses.task_bursts.value)) - 1
    thinks = max(bursts - 1, 0) - rests
    asked_s = thinks * pauses.think_us.value / 1e6 + rests * pauses.rest_s.value
    yield _row("time", "idle_s", asked_s, got["time"]["idle_s"], 0.0)
