"""The schema of trace shapes: the statistics of synthetic traces, with sources."""

import json
import math
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from heatsoak.catalog import specs
from heatsoak.units import GB, parse_size
from heatsoak.words import block_text

DEPTHS = ("1", "2", "3", "4-5", "6-10", "11-20", "21-32", ">32")

Share = Annotated[float, Field(ge=0, le=100)]


class ShareRow(specs.Strict):
    """A row of percentages with one provenance."""

    source: str | None = Field(None, min_length=1)
    assumed: str | None = Field(None, min_length=1)
    pct: dict[str, Share] = Field(min_length=1)

    @model_validator(mode="after")
    def _has_provenance(self) -> Self:
        if (self.source is None) == (self.assumed is None):
            raise ValueError("a row needs one of source = '...', assumed = '...'")
        return self


class Sizes(ShareRow):
    """Shares of I/O sizes: ``"4K"`` is exact, ``"<4K"`` is smaller; the rest is in between."""

    @model_validator(mode="after")
    def _are_sizes(self) -> Self:
        self.core()
        return self

    def core(self) -> list[dict[str, Any]]:
        """Return the classes in `_core`'s form."""
        return [_size(name) | {"share": share / 100} for name, share in self.pct.items()]


def _size(name: str) -> dict[str, int]:
    key = "below" if name.startswith("<") else "bytes"
    return {key: parse_size(name.removeprefix("<"))}


def size_name(name: str) -> str:
    """Return the name of a size class as in statistics: ``"128K"``, ``"<4K"``."""
    less = "<" if name.startswith("<") else ""
    return less + block_text(parse_size(name.removeprefix("<"))).upper()


class Depths(ShareRow):
    """Shares of queue depths at issue, in the classes of ``DEPTHS``.

    Attributes:
        mean: mean depth; without it, depths beyond 32 extend to 64.
    """

    mean: specs.Positive | None = None

    @model_validator(mode="after")
    def _are_depths(self) -> Self:
        for name in self.pct:
            if name not in DEPTHS:
                raise ValueError(f"'{name}' is not a class of depths: they are {', '.join(DEPTHS)}")
        return self

    def core(self) -> list[dict[str, Any]]:
        """Return the classes in `_core`'s form."""
        return [
            {"from": least, "to": most, "share": self.pct[name] / 100}
            for name, (least, most) in zip(DEPTHS, map(_ends, DEPTHS), strict=True)
            if name in self.pct
        ]


def _ends(name: str) -> tuple[int, int | None]:
    if name.startswith(">"):
        return int(name[1:]) + 1, None
    least, _, most = name.partition("-")
    return int(least), int(most or least)


class TraceTotals(specs.Strict):
    """I/Os and bytes.

    Attributes:
        gb_bytes: bytes in the source's GB; default: 10^9.
    """

    reads: specs.Count
    writes: specs.Count
    read_gb: specs.Volume
    write_gb: specs.Volume
    gb_bytes: specs.Positive | None = None

    @property
    def unit_bytes(self) -> float:
        """Bytes in a GB here."""
        return GB if self.gb_bytes is None else self.gb_bytes.value


class Addresses(specs.Strict):
    """Where I/Os go."""

    sequential_pct: specs.Percentage
    span_gb: specs.Positive
    hot_span_pct: specs.Percentage
    hot_read_pct: specs.Percentage
    hot_write_pct: specs.Percentage


class Pauses(specs.Strict):
    """Time without I/O: between the bursts of a task, and between tasks."""

    think_us: specs.Figure
    task_bursts: specs.Figure
    rest_s: specs.Figure


class Reference(specs.Strict):
    """The drive that the synthetic trace pretends to be recorded on."""

    read_us: specs.Figure
    write_us: specs.Figure
    mb_s: specs.Figure


class TraceShape(specs.Strict):
    """The statistics of a trace, at a scale of 1.

    Attributes:
        id: the name of its file, or the path of a user's own.
    """

    id: str = ""
    description: str = ""
    totals: TraceTotals
    sizes: Sizes
    depths: Depths
    addresses: Addresses
    pauses: Pauses
    reference: Reference

    @property
    def ios(self) -> int:
        """Reads and writes."""
        return int(self.totals.reads.value + self.totals.writes.value)

    @property
    def read_bytes(self) -> int:
        """Bytes read."""
        return round(self.totals.read_gb.value * self.totals.unit_bytes)

    @property
    def write_bytes(self) -> int:
        """Bytes written."""
        return round(self.totals.write_gb.value * self.totals.unit_bytes)

    @property
    def span_bytes(self) -> int:
        """Bytes from the first address to the last, in whole pages of 4 KiB."""
        return round(self.addresses.span_gb.value * GB) // 4096 * 4096

    def idle_s(self, limit_s: float) -> float:
        """Return the approximate idle time if each pause is truncated to `limit_s`.

        A burst starts with its only I/O at depth 1.
        """
        bursts = self.ios * self.depths.pct.get("1", 100.0) / 100
        think_s = self.pauses.think_us.value / 1e6
        rests = bursts / max(self.pauses.task_bursts.value, 1)
        # pauses are exponentially distributed
        lengths_s = ((bursts - rests, think_s), (rests, self.pauses.rest_s.value))
        return sum(
            count * mean_s * -math.expm1(-limit_s / mean_s)
            for count, mean_s in lengths_s
            if mean_s > 0
        )

    def core_json(self) -> str:
        """Return what :meth:`heatsoak._core.Trace.synthetic` takes."""
        mean = self.depths.mean
        addresses = self.addresses
        shape = {
            "reads": int(self.totals.reads.value),
            "writes": int(self.totals.writes.value),
            "read_bytes": self.read_bytes,
            "write_bytes": self.write_bytes,
            "sizes": self.sizes.core(),
            "depths": self.depths.core(),
            "mean_depth": None if mean is None else mean.value,
            "sequential_share": addresses.sequential_pct.value / 100,
            "span_bytes": self.span_bytes,
            "hot": {
                "span_share": addresses.hot_span_pct.value / 100,
                "read_share": addresses.hot_read_pct.value / 100,
                "write_share": addresses.hot_write_pct.value / 100,
            },
            "pauses": specs.plain(self.pauses),
            "reference": specs.plain(self.reference),
        }
        return json.dumps(shape)
