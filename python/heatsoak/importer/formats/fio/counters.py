"""What fio has counted of its jobs by each status, and rows of what they did in between."""

import math
import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from heatsoak.errors import HeatsoakError
from heatsoak.fio import Differencer, FioStatus
from heatsoak.importer.formats.results.core import DIRECTIONS
from heatsoak.importer.lenient import AnObject, Count, JsonObject, Lenient, Positive, Text

#: What the clock is ahead of the sum of intervals by, where nothing ran in between.
_WAITED_S = 0.1
_MAX_WAIT_S = 86_400
#: Percentiles that fio prints of a whole run.
_PERCENTILES = (("p50", 50.0), ("p99", 99.0), ("p999", 99.9))
_PERCENT = re.compile(r"\d{1,3}(?:\.\d{1,9})?", re.ASCII)
_MAX_COUNT = (1 << 63) - 1


class Latency(Lenient):
    """Latencies in ns, or before fio 3 in us; `bins` and `percentile` by texts of numbers.

    `N` is -1 where fio does not say how many there are.
    """

    N: Count = -1
    mean: Positive = 0.0
    max: Positive = 0.0
    bins: JsonObject = Field({})
    percentile: JsonObject = Field({})


class DirectionCounters(Lenient):
    """What was read, or written, since fio started: `runtime` in ms, `bw` in KiB/s."""

    io_bytes: Count = 0
    io_kbytes: Any = None
    total_ios: Count = 0
    runtime: Count = 0
    iops: Positive = 0.0
    bw: Positive = 0.0
    lat_ns: Annotated[Latency, AnObject] = Latency()
    clat_ns: Annotated[Latency, AnObject] = Latency()
    lat: Annotated[Latency, AnObject] = Latency()
    clat: Annotated[Latency, AnObject] = Latency()

    def bytes_of(self, version: str) -> int:
        """Return bytes that were moved; `io_bytes` is in KiB before version 3 of fio."""
        in_kib = version.startswith(("fio-2", "fio-1"))
        if self.bw > 8 and self.runtime > 0:
            in_kib = self.io_bytes < 32 * self.bw * self.runtime / 1000
        return self.io_bytes * (1024 if in_kib and self.io_kbytes is None else 1)

    def timed(self) -> list[tuple[Latency, int, bool]]:
        """Return its latencies, the best first: ns of their unit, whether of completion alone."""
        return [
            (self.lat_ns, 1, False),
            (self.lat, 1000, False),
            (self.clat_ns, 1, True),
            (self.clat, 1000, True),
        ]


class Job(Lenient):
    """A job in a document: what it was asked for, and what it has done."""

    jobname: Text = ""
    hostname: Text = ""
    groupid: Count = 0
    elapsed: Count = 0
    job_start: Count = 0
    options: JsonObject = Field({}, alias="job options")
    read: Annotated[DirectionCounters | None, AnObject] = None
    write: Annotated[DirectionCounters | None, AnObject] = None
    mixed: Annotated[DirectionCounters | None, AnObject] = None
    trim: Annotated[DirectionCounters | None, AnObject] = None

    @property
    def identity(self) -> tuple[str, int, str]:
        """What tells it from other jobs."""
        return self.jobname, self.groupid, self.hostname

    @property
    def is_mixed(self) -> bool:
        """Whether reads and writes are counted together."""
        return self.mixed is not None and self.read is None

    def done(self, name: str) -> DirectionCounters:
        """Return what it has done in a direction; nothing where that is not told."""
        found = getattr(self, name)
        return found if isinstance(found, DirectionCounters) else DirectionCounters()


class CounterRows:
    """Rows of numbers with their times, kept by column, since there can be very many."""

    def __init__(self) -> None:
        self._times = array("d")
        self._columns: dict[str, array[float]] = {}

    def add(self, at: float | None, row: Mapping[str, float | None]) -> None:
        """Add a row; numbers that it does not have are None."""
        for name in row:
            if name not in self._columns:
                self._columns[name] = array("d", [math.nan]) * len(self._times)
        for name, column in self._columns.items():
            value = row.get(name)
            column.append(math.nan if value is None else value)
        self._times.append(math.nan if at is None else at)

    def __len__(self) -> int:
        return len(self._times)

    def first(self, count: int) -> Iterator[tuple[float | None, dict[str, float | None]]]:
        """Yield the first `count` rows."""
        for index in range(min(count, len(self))):
            row = {name: _known(column[index]) for name, column in self._columns.items()}
            yield _known(self._times[index]), row

    def columns(self) -> dict[str, Any]:
        """Return the times as `t_s`, and the columns."""
        return {"t_s": self._times, **self._columns}


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


class StepCounters:
    """Jobs beside each other: what they did between documents.

    Attributes:
        first_runtime_ms: how long they had run by the first document.
        jobs: as the last document has them.
        used: directions in which something was done.
        mixed: whether reads and writes are counted together.
    """

    def __init__(self) -> None:
        self.first_runtime_ms = 0.0
        self.jobs: Sequence[Job] = ()
        self.mixed = False
        self.last: FioStatus | None = None
        self._differencer = Differencer(math.nan, reads=True, writes=True)
        self._rows = CounterRows()
        self._moving = 0  # rows up to the last one in which anything was done
        self._is_completion = self._is_reset = False

    @property
    def used(self) -> dict[str, bool]:
        """Whether anything was read, and written."""
        totals = {name: getattr(self.last, name, None) for name in DIRECTIONS}
        return {name: bool(each and (each.bytes or each.ios)) for name, each in totals.items()}

    def take(self, jobs: Sequence[Job], at_ms: float | None, version: str) -> None:
        """Take the jobs of the next document."""
        self.mixed = self.mixed or any(job.is_mixed for job in jobs)
        plain = [self._plain(job, version) for job in jobs]
        status = FioStatus.of({"timestamp_ms": int(at_ms or 0), "jobs": plain})
        before, self.last, self.jobs = self.last, status, jobs
        if before is None:
            self.first_runtime_ms = status.runtime_ms
        try:
            row = self._differencer.row(status)
        except HeatsoakError:
            self._is_reset = True
            self._differencer = Differencer(math.nan, reads=True, writes=True)
            self._differencer.row(status)
            return
        if row is None:
            return
        del row["queue"]
        self._rows.add(at_ms, row)
        if before is None or status.runtime_ms > before.runtime_ms or status.bytes > before.bytes:
            self._moving = len(self._rows)

    def _plain(self, job: Job, version: str) -> dict[str, Any]:
        """Return a job in the form of fio 3.20 and later, whichever it was written by."""
        plain: dict[str, Any] = {"error": 0, "usr_cpu": 0.0, "sys_cpu": 0.0}
        for name in DIRECTIONS:
            done = job.done("mixed" if self.mixed and name == "read" else name)
            ios = done.total_ios or round(done.iops * done.runtime / 1000)
            plain[name] = {
                "io_bytes": min(done.bytes_of(version), _MAX_COUNT),
                "total_ios": min(ios, _MAX_COUNT),
                "runtime": done.runtime,
                "lat_ns": self._latency(done, ios),
            }
        return plain

    def _latency(self, done: DirectionCounters, ios: int) -> dict[str, Any]:
        """Return count, mean and buckets of latencies in ns."""
        found: dict[str, Any] = {"N": 0, "mean": 0.0}
        bins: dict[str, int] = {}
        of_completion = [False, False]
        for part, scale, is_completion in done.timed():
            count = ios if part.N < 0 else part.N
            if not found["N"] and count and part.mean:
                found = {"N": count, "mean": part.mean * scale}
                of_completion[0] = is_completion
            if not bins and part.bins:
                bins = {
                    str(int(ns) * scale): count
                    for ns, count in part.bins.items()
                    if ns.isascii() and ns.isdigit() and len(ns) < 16
                    if isinstance(count, int) and not isinstance(count, bool)
                    if 0 <= count < 1 << 53
                }
                of_completion[1] = is_completion
        self._is_completion = self._is_completion or any(of_completion)
        return {**found, "bins": bins}

    def rows_at(
        self, begin_ms: float | None, end_s: float, started_ms: float | None, *, single: bool
    ) -> Iterator[tuple[float, dict[str, float | None]]]:
        """Yield the samples with their `t_s`; those after the last I/O are left out.

        The run began at `begin_ms` and the jobs before these ended at `end_s`; these began at
        `started_ms`. `single` says that there is only one document, with means.
        """
        if not any(self.used.values()):
            return
        at_s = end_s
        for index, (stamp_ms, row) in enumerate(self._rows.first(self._moving)):
            interval_s = row["interval_s"] or 0.0
            wall_s = None
            if begin_ms is not None and stamp_ms is not None and not single:
                wall_s = (stamp_ms - begin_ms) / 1000
            elif index == 0 and begin_ms is not None and started_ms is not None:
                wall_s = (started_ms - begin_ms) / 1000 + interval_s
            # intervals are fio's own count; the clock says where it stood still, or was not yet
            at_s += interval_s
            ended = 0 < index == self._moving - 1  # the document came later than the last I/O
            waited = wall_s is not None and at_s + _WAITED_S < wall_s < at_s + _MAX_WAIT_S
            if waited and not ended and wall_s is not None:
                at_s = wall_s
            shown = self._shown(row)
            if single and index == 0:
                shown.update(self._whole_run())
            yield at_s, shown

    def _shown(self, row: dict[str, float | None]) -> dict[str, float | None]:
        unused = tuple(f"{name}_" for name, used in self.used.items() if not used)
        kept = {key: value for key, value in row.items() if not key.startswith(unused or "/")}
        if not self.mixed:
            return kept
        together = {"bw_mb_s", "iops", "lat_us", "interval_s"}
        plain = {key.removeprefix("read_"): value for key, value in kept.items()}
        return {key: value for key, value in plain.items() if key in together}

    def _whole_run(self) -> dict[str, float | None]:
        """Return percentiles and maxima of the whole run, as fio itself has them."""
        found: dict[str, float | None] = {}
        for name in DIRECTIONS if not self.mixed else ():
            each = [done for job in self.jobs if (done := job.done(name)).io_bytes]
            if not self.used[name] or not each:
                continue
            found[f"{name}_lat_max_us"] = max(map(_greatest_us, each)) or None
            if len(each) > 1:
                continue
            (done,) = each
            for part, scale_us in ((done.clat, 1.0), (done.clat_ns, 1e-3), (done.lat_ns, 1e-3)):
                if not part.percentile:
                    continue
                self._is_completion = not done.lat_ns.percentile
                printed = {
                    float(key): value
                    for key, value in part.percentile.items()
                    if _PERCENT.fullmatch(key)
                }
                for short, percent in _PERCENTILES:
                    value = printed.get(percent)
                    if isinstance(value, int | float) and 0 < value < 1e18:
                        found[f"{name}_lat_{short}_us"] = float(value) * scale_us
        return found

    def remarks(self, name: str) -> Iterator[tuple[str, bool]]:
        """Yield what has to be said, and whether it is a doubt."""
        where = f"step {name}: " if name else ""
        if self._is_completion:
            yield "latencies, or their percentiles, are those of completion (clat)", False
        if self.mixed:
            yield f"{where}reads and writes are counted together (unified_rw_reporting)", False
        if self._is_reset:
            yield f"{where}its counters fell meanwhile: the interval is left out", True
        if any(job.done("trim").io_bytes for job in self.jobs):
            yield "trims are left out", False


def _greatest_us(done: DirectionCounters) -> float:
    for part, scale_us in (
        (done.lat_ns, 1e-3),
        (done.clat_ns, 1e-3),
        (done.lat, 1.0),
        (done.clat, 1.0),
    ):
        if part.max:
            return part.max * scale_us
    return 0.0
