"""Jobs beside each other in fio's JSON: rows of what they did between documents."""

import math
import re
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from heatsoak.errors import HeatsoakError
from heatsoak.fio import Differencer, FioStatus
from heatsoak.importer.formats.fio.json_fields import DIRECTIONS, count_in, float_in, table_in

#: What the clock is ahead of the sum of intervals by, where nothing ran in between.
_WAITED_S = 0.1
#: Percentiles that fio prints of a whole run.
_PERCENTILES = (("p50", 50.0), ("p99", 99.0), ("p999", 99.9))


class Rows:
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
        """Yield so many rows."""
        for index in range(min(count, len(self))):
            at = self._times[index]
            row = {name: _known(column[index]) for name, column in self._columns.items()}
            yield _known(at), row

    def columns(self) -> dict[str, Any]:
        """Return the times as `t_s`, and the columns."""
        return {"t_s": self._times, **self._columns}


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


@dataclass
class Step:
    """Jobs beside each other: what they did between documents."""

    differencer: Differencer = field(
        default_factory=lambda: Differencer(math.nan, reads=True, writes=True)
    )
    rows: Rows = field(default_factory=Rows)
    moving: int = 0
    first_runtime_ms: float = 0.0
    last: FioStatus | None = None
    jobs: list[dict[str, Any]] = field(default_factory=list)
    mixed: bool = False
    completion: bool = False
    reset: bool = False

    def take(self, jobs: list[dict[str, Any]], at_ms: float | None, version: str) -> None:
        """Take the jobs of the next document."""
        self.mixed = self.mixed or any("mixed" in j and "read" not in j for j in jobs)
        plain = [self._plain(job, version) for job in jobs]
        status = FioStatus.of({"timestamp_ms": int(at_ms or 0), "jobs": plain})
        before, self.last, self.jobs = self.last, status, jobs
        if before is None:
            self.first_runtime_ms = status.runtime_ms
        try:
            row = self.differencer.row(status)
        except HeatsoakError:
            self.reset = True
            self.differencer = Differencer(math.nan, reads=True, writes=True)
            self.differencer.row(status)
            return
        if row is None:
            return
        del row["queue"]
        self.rows.add(at_ms, row)
        if before is None or status.runtime_ms > before.runtime_ms or status.bytes > before.bytes:
            self.moving = len(self.rows)

    def _plain(self, job: dict[str, Any], version: str) -> dict[str, Any]:
        """Return a job in the form of fio 3.20 and later, whichever it was written by."""
        plain: dict[str, Any] = {"error": 0, "usr_cpu": 0.0, "sys_cpu": 0.0}
        for name in DIRECTIONS:
            table = table_in(job, "mixed" if self.mixed and name == "read" else name)
            plain[name] = self._direction(table, version)
        return plain

    def _direction(self, table: Mapping[str, Any], version: str) -> dict[str, Any]:
        runtime = count_in(table, "runtime")
        in_kib = "io_kbytes" not in table and _is_kib(table, version)
        moved = count_in(table, "io_bytes") * (1024 if in_kib else 1)
        ios = count_in(table, "total_ios") or round(float_in(table, "iops") * runtime / 1000)
        latency, bins, completion = _latency(table, ios)
        self.completion = self.completion or completion
        return {
            "io_bytes": min(moved, (1 << 63) - 1),
            "total_ios": min(ios, (1 << 63) - 1),
            "runtime": runtime,
            "lat_ns": {**latency, "bins": bins},
        }

    def rows_at(
        self, begin_ms: float | None, end_s: float, started_ms: float | None, *, single: bool
    ) -> Iterator[tuple[float, dict[str, float | None]]]:
        """Yield the samples with their `t_s`; those after the last I/O are left out."""
        if self.last is None:
            return
        used = {name: getattr(self.last, name).bytes > 0 for name in DIRECTIONS}
        used |= {name: used[name] or getattr(self.last, name).ios > 0 for name in used}
        if not any(used.values()):
            return
        at_s = end_s
        for index, (stamp_ms, row) in enumerate(self.rows.first(self.moving)):
            interval_s = row["interval_s"] or 0.0
            wall_s = None
            if begin_ms is not None and stamp_ms is not None and not single:
                wall_s = (stamp_ms - begin_ms) / 1000
            elif index == 0 and begin_ms is not None and started_ms is not None:
                wall_s = (started_ms - begin_ms) / 1000 + interval_s
            # intervals are fio's own count; the clock says where it stood still, or was not yet
            next_s = at_s + interval_s
            ended = 0 < index == self.moving - 1  # the document came later than the last I/O
            if not ended and wall_s is not None and next_s + _WAITED_S < wall_s < next_s + 86_400:
                next_s = wall_s
            at_s = next_s
            shown = self._shown(row, used)
            if single and index == 0:
                shown.update(self._whole_run(used))
            yield at_s, shown

    def _shown(
        self, row: dict[str, float | None], used: dict[str, bool]
    ) -> dict[str, float | None]:
        kept = {
            key: value
            for key, value in row.items()
            if not any(key.startswith(f"{name}_") and not used[name] for name in used)
        }
        if not self.mixed:
            return kept
        together = {"bw_mb_s", "iops", "lat_us"}
        plain = {key.removeprefix("read_"): value for key, value in kept.items()}
        return {k: v for k, v in plain.items() if k in together or k == "interval_s"}

    def _whole_run(self, used: dict[str, bool]) -> dict[str, float | None]:
        """Return percentiles and maxima of the whole run, as fio itself has them."""
        found: dict[str, float | None] = {}
        if self.mixed:
            return found
        for name in DIRECTIONS:
            tables = [table_in(job, name) for job in self.jobs]
            tables = [table for table in tables if count_in(table, "io_bytes")]
            if not used[name] or not tables:
                continue
            greatest = [float_in(*_timed(table)[:2], scale=_timed(table)[2]) for table in tables]
            found[f"{name}_lat_max_us"] = max(greatest) or None
            if len(tables) > 1:
                continue
            for table, scale in _percentile_tables(tables[0]):
                self.completion = "lat_ns" not in tables[0] or not table_in(
                    table_in(tables[0], "lat_ns"), "percentile"
                )
                printed = {float(key): value for key, value in table.items() if _is_number(key)}
                for short, percent in _PERCENTILES:
                    value = printed.get(percent)
                    if isinstance(value, int | float) and 0 < value < 1e18:
                        found[f"{name}_lat_{short}_us"] = float(value) * scale
        return found

    def remarks(self, name: str) -> Iterator[tuple[str, bool]]:
        """Yield what has to be said, and whether it is a doubt."""
        where = f"step {name}: " if name else ""
        if self.completion:
            yield "latencies, or their percentiles, are those of completion (clat)", False
        if self.mixed:
            yield f"{where}reads and writes are counted together (unified_rw_reporting)", False
        if self.reset:
            yield f"{where}its counters fell meanwhile: the interval is left out", True
        if any(count_in(table_in(job, "trim"), "io_bytes") for job in self.jobs):
            yield "trims are left out", False


def _timed(table: Mapping[str, Any]) -> tuple[Mapping[str, Any], str, float]:
    """Return the table of latencies with its `max` and what makes us of it."""
    for key, scale in (("lat_ns", 1e-3), ("clat_ns", 1e-3), ("lat", 1.0), ("clat", 1.0)):
        found = table_in(table, key)
        if float_in(found, "max"):
            return found, "max", scale
    return {}, "max", 1.0


def _percentile_tables(table: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], float]]:
    """Yield what fio printed as percentiles, the better last."""
    for key, scale in (("clat", 1.0), ("clat_ns", 1e-3), ("lat_ns", 1e-3)):
        found = table_in(table_in(table, key), "percentile")
        if found:
            yield found, scale


def _latency(table: Mapping[str, Any], ios: int) -> tuple[dict[str, float], dict[str, int], bool]:
    """Return count and mean (ns), and buckets (ns), of a direction; whether clat stands for it."""
    found: dict[str, float] = {"N": 0, "mean": 0.0}
    bins: dict[str, int] = {}
    completion = False
    for key, scale in (("lat_ns", 1), ("lat", 1000), ("clat_ns", 1), ("clat", 1000)):
        part = table_in(table, key)
        mean = float_in(part, "mean", scale=scale)
        count = count_in(part, "N") if "N" in part else ios
        if not found["N"] and count and mean:
            found = {"N": count, "mean": mean}
            completion = key.startswith("clat")
        counts = table_in(part, "bins")
        if not bins and counts:
            bins = {
                str(int(ns) * scale): count
                for ns, count in counts.items()
                if ns.isascii() and ns.isdigit() and len(ns) < 16
                if isinstance(count, int) and not isinstance(count, bool) and 0 <= count < 1 << 53
            }
            completion = completion or key.startswith("clat")
    return found, bins, completion


def _is_kib(table: Mapping[str, Any], version: str) -> bool:
    """Whether `io_bytes` is in KiB, as fio had it before version 3."""
    bw_kib, runtime = float_in(table, "bw"), float_in(table, "runtime")
    if bw_kib > 8 and runtime > 0:
        return float_in(table, "io_bytes") < 32 * bw_kib * runtime / 1000
    return version.startswith(("fio-2", "fio-1"))


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\d{1,3}(?:\.\d{1,9})?", text, re.ASCII) is not None
