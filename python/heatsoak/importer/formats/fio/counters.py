"""What fio has counted of its jobs by each status, and rows of what they did in between."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from heatsoak import fio
from heatsoak.errors import HeatsoakError
from heatsoak.importer.numbers import text_of

#: What the clock is ahead of the sum of intervals by, where nothing ran in between.
_WAITED_S = 0.1
_MAX_WAIT_S = 86_400
#: Percentiles that fio prints of a whole run.
_PERCENTILES = {50.0: "p50", 99.0: "p99", 99.9: "p999"}
#: Latencies, the best first, and microseconds of their units.
_UNITS_US = (("lat_ns", 1e-3), ("clat_ns", 1e-3), ("lat", 1.0), ("clat", 1.0))
_PERCENT = re.compile(r"\d{1,3}(?:\.\d{1,9})?", re.ASCII)
#: Milliseconds since 1970 of the years 2001 to 2128.
_CLOCK_MS = (1e12, 5e12)

Row = dict[str, float | None]


@dataclass(frozen=True)
class Job:
    """A job in a document.

    Attributes:
        identity: what tells it from other jobs: name, group, host.
        part: the job as it is written.
        totals: what was read and written since fio started.
        is_mixed: whether reads and writes are counted together, as reads.
    """

    identity: tuple[str, int, str]
    part: fio.FioObject
    totals: dict[str, fio.DirectionTotals]
    is_mixed: bool = False

    @classmethod
    def of(cls, value: dict[str, Any], version: str) -> "Job":
        """Read a job that this version of fio wrote."""
        part = fio.FioObject(value)
        name, host = text_of(value.get("jobname")), text_of(value.get("hostname"))
        is_mixed = "mixed" in value and "read" not in value
        keys = {"read": "mixed" if is_mixed else "read", "write": "write"}
        totals = {way: fio.DirectionTotals.of(part.part(key), version) for way, key in keys.items()}
        return cls((name, part.count("groupid"), host), part, totals, is_mixed)

    @property
    def name(self) -> str:
        """Its name."""
        return self.identity[0]

    @property
    def runtime_ms(self) -> int:
        """How long it has been reading or writing."""
        return max(done.runtime_ms for done in self.totals.values())

    @property
    def started_ms(self) -> float | None:
        """When it started, by the clock; None for fio before 3.34."""
        start_ms = float(self.part.count("job_start"))
        return start_ms if _CLOCK_MS[0] < start_ms < _CLOCK_MS[1] else None


def started_ms(jobs: Sequence[Job]) -> float | None:
    """Return when the first of `jobs` began, where fio says when."""
    return min((at for job in jobs if (at := job.started_ms) is not None), default=None)


class StepCounters:
    """Jobs beside each other: what they did between documents.

    Attributes:
        first_runtime_ms: how long they had run by the first document.
        jobs: as the last document has them.
        mixed: whether reads and writes are counted together.
        last: their sum in the last document.
    """

    def __init__(self) -> None:
        self.first_runtime_ms = 0.0
        self.jobs: Sequence[Job] = ()
        self.mixed = self._is_completion = self._is_reset = False
        self.last = fio.FioStatus(0)
        self._differencer = fio.Differencer(math.nan, reads=True, writes=True)
        self._rows: list[tuple[float | None, Row]] = []
        self._moving = 0  # rows up to the last one in which anything was done

    @property
    def used(self) -> dict[str, bool]:
        """Whether anything was read, and written."""
        totals = {name: getattr(self.last, name) for name in fio.DIRECTIONS}
        return {name: bool(each.bytes or each.ios) for name, each in totals.items()}

    def take(self, jobs: Sequence[Job], at_ms: float | None) -> None:
        """Take the jobs of the next document."""
        status = fio.FioStatus(int(at_ms or 0))
        for job in jobs:
            self.mixed |= job.is_mixed
            for name, done in job.totals.items():
                getattr(status, name).add(done)
                self._is_completion |= done.is_completion
        if not self.jobs:
            self.first_runtime_ms = status.runtime_ms
        has_moved = (status.runtime_ms, status.bytes) != (self.last.runtime_ms, self.last.bytes)
        is_first, self.last, self.jobs = not self.jobs, status, jobs
        try:
            row = self._differencer.row(status)
        except HeatsoakError:
            self._is_reset = True
            self._differencer = fio.Differencer(math.nan, reads=True, writes=True)
            self._differencer.row(status)
            return
        if row is not None:
            del row["queue"]
            self._rows.append((at_ms, row))
            self._moving = len(self._rows) if is_first or has_moved else self._moving

    def rows_at(
        self, begin_ms: float | None, end_s: float, *, single: bool
    ) -> Iterator[tuple[float, Row]]:
        """Yield the samples with their `t_s`; those after the last I/O are left out.

        The run began at `begin_ms` and the jobs before these ended at `end_s`. `single` says that
        there is only one document, with means.
        """
        if not any(self.used.values()):
            return
        at_s = end_s
        own_ms = started_ms(self.jobs)
        for index, (stamp_ms, row) in enumerate(self._rows[: self._moving]):
            interval_s = row["interval_s"] or 0.0
            wall_s = None
            if begin_ms is not None and stamp_ms is not None and not single:
                wall_s = (stamp_ms - begin_ms) / 1000
            elif index == 0 and begin_ms is not None and own_ms is not None:
                wall_s = (own_ms - begin_ms) / 1000 + interval_s
            # intervals are fio's own count; the clock says where it stood still, or was not yet
            at_s += interval_s
            ended = 0 < index == self._moving - 1  # the document came later than the last I/O
            if wall_s is not None and at_s + _WAITED_S < wall_s < at_s + _MAX_WAIT_S and not ended:
                at_s = wall_s
            yield at_s, self._shown(row | (self._whole_run() if single and index == 0 else {}))

    def _shown(self, row: Row) -> Row:
        unused = tuple(f"{name}_" for name, used in self.used.items() if not used)
        kept = {key: value for key, value in row.items() if not key.startswith(unused or "/")}
        if not self.mixed:
            return kept
        together = {"bw_mb_s", "iops", "lat_us", "interval_s"}
        plain = {key.removeprefix("read_"): value for key, value in kept.items()}
        return {key: value for key, value in plain.items() if key in together}

    def _whole_run(self) -> Row:
        """Return percentiles and maxima of the whole run, as fio itself has them."""
        found: Row = {}
        for name in fio.DIRECTIONS if not self.mixed else ():
            each = [job.part.part(name) for job in self.jobs if job.totals[name].bytes]
            if not self.used[name] or not each:
                continue
            most_us = [
                next(
                    (us for key, unit in _UNITS_US if (us := done.part(key).number("max") * unit)),
                    0,
                )
                for done in each
            ]
            found[f"{name}_lat_max_us"] = max(most_us) or None
            if len(each) > 1:
                continue
            (done,) = each
            for key, scale_us in (("clat", 1.0), ("clat_ns", 1e-3), ("lat_ns", 1e-3)):
                printed = done.part(key).part("percentile")
                self._is_completion |= bool(printed.value) and key != "lat_ns"
                for percent in filter(_PERCENT.fullmatch, printed.value):
                    if (short := _PERCENTILES.get(float(percent))) and printed.number(percent):
                        found[f"{name}_lat_{short}_us"] = printed.number(percent) * scale_us
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
        if any(job.part.part("trim").count("io_bytes") for job in self.jobs):
            yield "trims are left out", False
