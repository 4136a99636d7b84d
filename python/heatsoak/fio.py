"""fio's JSON: counters since its start, and the rates between two documents.

:class:`FioStatus` is what we read from a document, :class:`Differencer` makes sample rows from
consecutive ones. The output of the fio that we run is not trusted: anything that does not make
sense raises ToolError. Documents that others kept may be of any version, and damaged: what is
missing or absurd there is 0 (:class:`FioObject`).
"""

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import from_json

from heatsoak.errors import ToolError

DIRECTIONS = ("read", "write")
#: Latency limits in ns above which I/Os are counted, by the suffix of their columns.
OVER_NS = {"over_10ms": 10_000_000, "over_100ms": 100_000_000}
#: Latencies, the best first: the object, ns of its unit, whether of completion alone.
_LATENCIES = (
    ("lat_ns", 1, False),
    ("lat", 1000, False),
    ("clat_ns", 1, True),
    ("clat", 1000, True),
)


@dataclass(frozen=True)
class FioObject:
    """An object in a document; where it `is_ours` something missing or absurd is an error."""

    value: Mapping[str, Any]
    is_ours: bool = False

    def part(self, key: str) -> "FioObject":
        """Return the object that stands at `key`."""
        value = self.value.get(key)
        if isinstance(value, dict):
            return FioObject(value, self.is_ours)
        if self.is_ours:
            raise ToolError(f"fio's status document has no object '{key}': is fio older than 3.20?")
        return FioObject({})

    def count(self, key: str) -> int:
        """Return a whole number from 0 on."""
        value = self.value.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63:
            return value
        if self.is_ours:
            raise ToolError(f"fio's status document has no count '{key}'")
        return int(value) if isinstance(value, float) and 0 <= value < 1 << 53 else 0

    def number(self, key: str) -> float:
        """Return a number; 0 for what is not finite, and for less where it is not ours."""
        value = self.value.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            known = float(value) if abs(value) < 1e300 else 0.0
            return known if self.is_ours else max(known, 0.0)
        if self.is_ours:
            raise ToolError(f"fio's status document has no number '{key}'")
        return 0.0


@dataclass
class DirectionTotals:
    """Totals of one direction since fio's start.

    Attributes:
        bins: I/Os by latency in ns, as fio's histogram has them.
        lat_sum_ns: the sum of all latencies.
        is_completion: whether latencies are those of completion alone.
    """

    bytes: int = 0
    ios: int = 0
    runtime_ms: int = 0
    lat_count: int = 0
    lat_sum_ns: float = 0.0
    bins: dict[str, int] = field(default_factory=dict)
    is_completion: bool = False

    @classmethod
    def of(cls, done: FioObject, version: str = "") -> "DirectionTotals":
        """Read what a job did in a direction; raises ToolError as :class:`FioObject` does."""
        runtime_ms = done.count("runtime")
        totals = cls(done.count("io_bytes"), done.count("total_ios"), runtime_ms)
        if done.is_ours:
            totals._take(done.part("lat_ns"), 1, is_completion=False)
            return totals
        totals.bytes *= 1024 if _in_kib(done, version) else 1
        totals.ios = totals.ios or round(done.number("iops") * runtime_ms / 1000)
        for key, unit_ns, is_completion in _LATENCIES:
            if key in done.value:
                totals._take(done.part(key), unit_ns, is_completion=is_completion)
        return totals

    def _take(self, latency: FioObject, unit_ns: int, *, is_completion: bool) -> None:
        """Take latencies, as far as no better ones were there."""
        count = latency.count("N") if latency.is_ours or "N" in latency.value else self.ios
        mean = latency.number("mean")
        if not self.lat_count and count and mean:
            self.lat_count, self.lat_sum_ns = count, count * mean * unit_ns
            self.is_completion |= is_completion
        bins = latency.value.get("bins", {})
        if latency.is_ours:
            if not isinstance(bins, dict):
                raise ToolError("fio's status document has latency bins that are not an object")
            self.bins = bins
        elif not self.bins and isinstance(bins, dict):
            self.bins = {
                str(int(ns) * unit_ns): ios
                for ns, ios in bins.items()
                if ns.isascii() and ns.isdigit() and len(ns) < 16
                if isinstance(ios, int) and not isinstance(ios, bool) and 0 <= ios < 1 << 53
            }
            self.is_completion |= bool(self.bins) and is_completion

    def add(self, other: "DirectionTotals") -> None:
        """Add what another job did meanwhile."""
        self.bytes += other.bytes
        self.ios += other.ios
        self.runtime_ms = max(self.runtime_ms, other.runtime_ms)
        self.lat_count += other.lat_count
        self.lat_sum_ns += other.lat_sum_ns
        self.is_completion |= other.is_completion
        if not self.bins:
            self.bins = other.bins
            return
        self.bins = dict(self.bins)
        for latency_ns, ios in other.bins.items():
            self.bins[latency_ns] = _add_bins(self.bins.get(latency_ns, 0), ios)


def _in_kib(done: FioObject, version: str) -> bool:
    """Whether `io_bytes` is in KiB, as before version 3 of fio."""
    if "io_kbytes" in done.value:
        return False
    kib_s, runtime_ms = done.number("bw"), done.count("runtime")
    if kib_s > 8 and runtime_ms > 0:
        return done.count("io_bytes") < 32 * kib_s * runtime_ms / 1000
    return version.startswith(("fio-2", "fio-1"))


@dataclass
class FioStatus:
    """What we read from one document.

    Attributes:
        trims: number of trim I/Os, which are in no rate.
        cpu_s: processor time of all jobs, user plus system.
    """

    timestamp_ms: int
    error: int = 0
    read: DirectionTotals = field(default_factory=DirectionTotals)
    write: DirectionTotals = field(default_factory=DirectionTotals)
    usr_cpu_pct: float = 0.0
    sys_cpu_pct: float = 0.0
    trims: int = 0
    cpu_s: float = 0.0

    @classmethod
    def of(cls, document: dict[str, Any]) -> "FioStatus":
        """Read a document of ours; raises ToolError if something is missing or absurd."""
        jobs = document.get("jobs")
        if not isinstance(jobs, list) or not jobs:
            raise ToolError("fio's status document has no jobs")
        stamp_ms = document.get("timestamp_ms")
        # by the machine's clock, which may be set to any year: one before 1970 is less than 0
        if not isinstance(stamp_ms, int) or isinstance(stamp_ms, bool) or abs(stamp_ms) >= 1 << 64:
            raise ToolError("fio's status document has no time 'timestamp_ms'")
        status = cls(stamp_ms)
        for value in jobs:
            if not isinstance(value, dict):
                raise ToolError("fio's status document has a job that is not an object")
            job = FioObject(value, is_ours=True)
            status.error = status.error or job.count("error")
            status.usr_cpu_pct += job.number("usr_cpu")
            status.sys_cpu_pct += job.number("sys_cpu")
            status.trims += job.part("trim").count("total_ios") if "trim" in value else 0
            status.cpu_s += _cpu_s(job)
            for name in DIRECTIONS:
                getattr(status, name).add(DirectionTotals.of(job.part(name)))
        return status

    @property
    def runtime_ms(self) -> int:
        """How long there has been I/O, in either direction."""
        return max(self.read.runtime_ms, self.write.runtime_ms)

    @property
    def bytes(self) -> int:
        """Bytes of both directions."""
        return self.read.bytes + self.write.bytes


def _cpu_s(job: FioObject) -> float:
    """Processor time of a job, which fio reports as a share of all its threads' run time."""
    pct = job.number("usr_cpu") + job.number("sys_cpu")
    # a job that waits for another has shares of 0 and a time that makes no sense
    if pct <= 0 or "job_runtime" not in job.value:
        return 0.0
    return pct / 100 * job.count("job_runtime") / 1000


def _add_bins(one: Any, other: Any) -> int:
    if not isinstance(one, int) or not isinstance(other, int):
        raise ToolError("fio's status document has latency bins that are not counts")
    return one + other


class Differencer:
    """Turns cumulative statuses into sample rows, one per interval between two.

    An interval's length is the change of fio's own I/O time, which is exact for the first and the
    last one; if that did not change, the difference of the documents' time stamps. In any case, the
    sum of rate times `interval_s` is what fio has counted.
    """

    def __init__(self, queue: float, reads: bool, writes: bool) -> None:
        """Start at zero.

        `queue` is how many I/Os the workload keeps in flight; an unused direction has nulls, a used
        one has zeros while nothing completes.
        """
        self._queue = queue
        self._used = {"read": reads, "write": writes}
        self._last: FioStatus | None = None

    def row(self, status: FioStatus) -> dict[str, float | None] | None:
        """Return the sample between the last status taken and this one, without `t_s`.

        None if no time has passed and nothing has moved. Raises ToolError if counters went
        backwards.
        """
        last = self._last
        interval_ms = self._interval_ms(last, status)
        if interval_ms <= 0:
            if status.bytes == (0 if last is None else last.bytes):
                return None
            interval_ms = 1  # done in less than a tick of fio's clock
        self._last = status
        row: dict[str, float | None] = {"interval_s": interval_ms / 1000}
        for name, used in self._used.items():
            before = DirectionTotals() if last is None else getattr(last, name)
            row.update(_rates(name, used, before, getattr(status, name), interval_ms / 1000))
        row["queue"] = self._queue
        return row

    @staticmethod
    def _interval_ms(last: FioStatus | None, status: FioStatus) -> int:
        if last is None:
            return status.runtime_ms
        wall_ms = status.timestamp_ms - last.timestamp_ms
        moved_ms = [
            getattr(status, name).runtime_ms - getattr(last, name).runtime_ms for name in DIRECTIONS
        ]
        io_ms = max(moved_ms)
        # time stamps are wall clock, which can be set while fio is running
        return io_ms if io_ms > 0 else max(wall_ms, 0)


def _rates(
    name: str, used: bool, before: DirectionTotals, after: DirectionTotals, seconds: float
) -> dict[str, float | None]:
    moved = after.bytes - before.bytes
    ios = after.ios - before.ios
    if moved < 0 or ios < 0:
        raise ToolError("fio's status stream went backwards: its counters have decreased")
    rates: dict[str, float | None] = {
        f"{name}_bw_mb_s": None,
        f"{name}_iops": None,
        f"{name}_lat_us": None,
        f"{name}_lat_p50_us": None,
        f"{name}_lat_p99_us": None,
        **dict.fromkeys(f"{name}_{over}" for over in OVER_NS),
    }
    if not used and after.bytes == 0:
        return rates
    rates[f"{name}_bw_mb_s"] = moved / seconds / 1e6
    rates[f"{name}_iops"] = ios / seconds
    timed = after.lat_count - before.lat_count
    if timed > 0:
        total_ns = after.lat_sum_ns - before.lat_sum_ns
        rates[f"{name}_lat_us"] = max(total_ns, 0.0) / timed / 1000
        p50, p99 = percentiles(before.bins, after.bins, (0.5, 0.99))
        rates[f"{name}_lat_p50_us"] = p50
        rates[f"{name}_lat_p99_us"] = p99
    if after.bins:
        new = _between(before.bins, after.bins)
        for over, least_ns in OVER_NS.items():
            # a bin is named by its middle, and is 1 % wide
            slow = sum(count for latency_ns, count in new if latency_ns > least_ns)
            rates[f"{name}_{over}"] = float(slow)
    return rates


def _between(before: dict[str, int], after: dict[str, int]) -> list[tuple[int, int]]:
    """Latencies in ns and their counts between two histograms, sorted."""
    try:
        return sorted(
            (int(latency_ns), count - before.get(latency_ns, 0))
            for latency_ns, count in after.items()
            if count != before.get(latency_ns, 0)
        )
    except (TypeError, ValueError) as error:
        raise ToolError("fio's status document has latency bins that are not counts") from error


def percentiles(
    before: dict[str, int], after: dict[str, int], shares: tuple[float, ...]
) -> list[float | None]:
    """Return the latency percentiles in us, for `shares` of the I/Os between two histograms."""
    new = _between(before, after)
    total = sum(count for _, count in new)
    found: list[float | None] = []
    for share in shares:
        seen = 0
        for latency_ns, count in new:
            seen += count
            if seen >= share * total:
                found.append(latency_ns / 1000)
                break
        else:
            found.append(None)
    return found


#: Bins per octave of :func:`coarse_bins`, each 6 to 13 % wide.
_IN_OCTAVE = 8


def coarse_bins(bins: dict[str, int]) -> tuple[list[float], list[int]]:
    """Return upper bounds in us and counts of fio's histogram, in eight bins per octave.

    From the empty bin before the first non-empty one to the last non-empty one; nothing if all are
    empty. Raises ToolError if the histogram makes no sense.
    """
    counts: dict[int, int] = {}
    for latency_ns, count in _between({}, bins):
        mantissa, exponent = math.frexp(max(latency_ns, 1) / 1000)
        at = exponent * _IN_OCTAVE + int((2 * mantissa - 1) * _IN_OCTAVE)
        counts[at] = counts.get(at, 0) + count
    if not counts:
        return [], []
    numbers = range(min(counts) - 1, max(counts) + 1)
    ends = [divmod(at + 1, _IN_OCTAVE) for at in numbers]
    upper_us = [math.ldexp(0.5 * (1 + part / _IN_OCTAVE), exponent) for exponent, part in ends]
    return upper_us, [counts.get(at, 0) for at in numbers]


#: A JSON document in bytes. One of fio's with all latency bins has about 100 kB for each group, a
#: large result 10 MB; longer series come as many documents.
MAX_DOCUMENT = 64 << 20
#: C programs print these where they divided by zero; no JSON has them.
_NOT_A_NUMBER = re.compile(rb"([:\[,]\s*)-?(?:nan|inf)\b", re.IGNORECASE)


def json_of(data: bytes | bytearray, not_a_number: bytes = b"null") -> Any:
    """Return a document's value, with `not_a_number` for nan and inf; raises ValueError."""
    try:
        return from_json(data)
    except ValueError:
        with suppress(ValueError):
            return from_json(_NOT_A_NUMBER.sub(rb"\g<1>" + not_a_number, data))
        raise
