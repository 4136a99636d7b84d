"""fio's JSON status: counters since its start, and the rates between two documents.

:class:`FioStatus` is what we read from a document, :class:`Differencer` makes sample rows from
consecutive ones.

fio's output is not trusted: anything that does not make sense raises ToolError.
"""

import math
from dataclasses import dataclass, field
from typing import Any

from heatsoak.errors import ToolError

_DIRECTIONS = ("read", "write")
#: Latency limits in ns above which I/Os are counted, by the suffix of their columns.
OVER_NS = {"over_10ms": 10_000_000, "over_100ms": 100_000_000}


@dataclass
class DirectionTotals:
    """Totals of one direction since fio's start, over all jobs.

    Attributes:
        bins: I/Os by latency in ns, as fio's histogram has them.
        lat_sum_ns: the sum of all latencies.
    """

    bytes: int = 0
    ios: int = 0
    runtime_ms: int = 0
    lat_count: int = 0
    lat_sum_ns: float = 0.0
    bins: dict[str, int] = field(default_factory=dict)


@dataclass
class FioStatus:
    """What we read from one document.

    Attributes:
        trims: number of trim I/Os, which are in no rate.
        cpu_s: processor time of all jobs, user plus system.
    """

    timestamp_ms: int
    error: int
    read: DirectionTotals
    write: DirectionTotals
    usr_cpu_pct: float
    sys_cpu_pct: float
    trims: int = 0
    cpu_s: float = 0.0

    @classmethod
    def of(cls, document: dict[str, Any]) -> "FioStatus":
        """Read a document; raises ToolError if something is missing or absurd."""
        jobs = document.get("jobs")
        if not isinstance(jobs, list) or not jobs:
            raise ToolError("fio's status document has no jobs")
        status = cls(_stamp_ms(document), 0, DirectionTotals(), DirectionTotals(), 0.0, 0.0)
        for job in jobs:
            if not isinstance(job, dict):
                raise ToolError("fio's status document has a job that is not an object")
            status.error = status.error or _count(job, "error")
            status.usr_cpu_pct += _number(job, "usr_cpu")
            status.sys_cpu_pct += _number(job, "sys_cpu")
            status.trims += _count(_table(job, "trim"), "total_ios") if "trim" in job else 0
            status.cpu_s += _cpu_s(job)
            for name in _DIRECTIONS:
                _add(getattr(status, name), _table(job, name))
        return status

    @property
    def runtime_ms(self) -> int:
        """How long there has been I/O, in either direction."""
        return max(self.read.runtime_ms, self.write.runtime_ms)

    @property
    def bytes(self) -> int:
        """Bytes of both directions."""
        return self.read.bytes + self.write.bytes


def _cpu_s(job: dict[str, Any]) -> float:
    """Processor time of a job, which fio reports as a share of all its threads' run time."""
    pct = _number(job, "usr_cpu") + _number(job, "sys_cpu")
    # a job that waits for another has shares of 0 and a time that makes no sense
    if pct <= 0 or "job_runtime" not in job:
        return 0.0
    return pct / 100 * _count(job, "job_runtime") / 1000


def _add(totals: DirectionTotals, part: dict[str, Any]) -> None:
    totals.bytes += _count(part, "io_bytes")
    totals.ios += _count(part, "total_ios")
    totals.runtime_ms = max(totals.runtime_ms, _count(part, "runtime"))
    latency = _table(part, "lat_ns")
    count = _count(latency, "N")
    totals.lat_count += count
    totals.lat_sum_ns += count * _number(latency, "mean")
    bins = latency.get("bins", {})
    if not isinstance(bins, dict):
        raise ToolError("fio's status document has latency bins that are not an object")
    if not totals.bins:
        totals.bins = bins
        return
    totals.bins = dict(totals.bins)
    for latency_ns, ios in bins.items():
        totals.bins[latency_ns] = _add_bins(totals.bins.get(latency_ns, 0), ios)


def _add_bins(one: Any, other: Any) -> int:
    if not isinstance(one, int) or not isinstance(other, int):
        raise ToolError("fio's status document has latency bins that are not counts")
    return one + other


def _table(parent: dict[str, Any], key: str) -> dict[str, Any]:
    value = parent.get(key)
    if not isinstance(value, dict):
        raise ToolError(f"fio's status document has no object '{key}': is fio older than 3.20?")
    return value


def _count(parent: dict[str, Any], key: str) -> int:
    value = parent.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
        raise ToolError(f"fio's status document has no count '{key}'")
    return value


def _stamp_ms(document: dict[str, Any]) -> int:
    """By the machine's clock, which may be set to any year: one before 1970 is less than 0."""
    value = document.get("timestamp_ms")
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) >= 1 << 64:
        raise ToolError("fio's status document has no time 'timestamp_ms'")
    return value


def _number(parent: dict[str, Any], key: str) -> float:
    value = parent.get(key)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ToolError(f"fio's status document has no number '{key}'")
    return float(value) if math.isfinite(value) else 0.0


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
            getattr(status, name).runtime_ms - getattr(last, name).runtime_ms
            for name in _DIRECTIONS
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
    return [_upper_us(at) for at in numbers], [counts.get(at, 0) for at in numbers]


def _upper_us(at: int) -> float:
    exponent, part = divmod(at + 1, _IN_OCTAVE)
    return math.ldexp(0.5 * (1 + part / _IN_OCTAVE), exponent)
