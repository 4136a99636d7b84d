"""One job of a running fio: its load, the samples from its status documents, and stalls."""

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from heatsoak import fio, words, writing
from heatsoak.errors import ToolError
from heatsoak.protocol import Workload, WorkloadStep
from heatsoak.recording.columns import schema_of
from heatsoak.sensor import BusyTime
from heatsoak.target import base
from heatsoak.target.fio import command

#: A longer stall is reported when it is over.
REPORTED_S = 3.0
#: A longer stall is reported while it lasts.
WARNED_S = 10.0
#: Kernels give up a command after minutes and report an error; a server may never do so.
GIVEN_UP_S = 900.0

#: Options with which a load pauses on its own.
_RESTS = frozenset({"startdelay", "thinktime", "flow", "rate_process"})


class Stalls:
    """Detects stalls by how many bytes a load has moved."""

    def __init__(self, where: str, rest_s: float | None, is_stopped: Callable[[], bool]) -> None:
        """Start with none moved.

        `rest_s` is how long the load itself may pause between two I/Os, None if unknown;
        `is_stopped` says whether fio was stopped (SIGSTOP).
        """
        self._where = where
        self._rest_s = rest_s
        self._is_stopped = is_stopped
        self._looked_s = time.monotonic()
        self._moved = 0
        self._silent_s = 0.0
        self._has_warned = self._was_stopped = False

    def look(self, moved: int) -> Iterator[base.Note]:
        """Yield notes, given that `moved` bytes have been moved in total.

        Raises ToolError after a stall that is too long to be still waited for.
        """
        now_s = time.monotonic()
        waited_s = min(now_s - self._looked_s, 2 * base.BEAT_S)
        self._looked_s = now_s
        if moved != self._moved:
            yield from self.end()
            self._moved = moved
            self._silent_s = 0.0
            self._has_warned = self._was_stopped = False
            return
        self._silent_s += waited_s
        if self._silent_s > base.BEAT_S:
            self._was_stopped = self._was_stopped or self._is_stopped()
        if not self._has_warned and self._silent_s > WARNED_S:
            self._has_warned = True
            yield base.Note("warning", f"{self._said('has completed')}; still waiting")
        if self._rest_s is not None and self._silent_s > GIVEN_UP_S + 3 * self._rest_s:
            raise ToolError(f"{self._said('has completed')}: giving up")

    def end(self) -> Iterator[base.Note]:
        """Report the length of a stall that is over."""
        if self._rest_s is None or self._silent_s < max(REPORTED_S, 3 * self._rest_s):
            return
        if self._moved == 0 and not self._has_warned:
            return  # fio takes its time to start
        yield base.Note(
            "warning",
            f"{self._said('completed')}; then it continued",
            {"stalled_s": round(self._silent_s, 3)},
        )

    def _said(self, completed: str) -> str:
        why = " because fio was stopped" if self._was_stopped else ""
        return f"{self._where}: no I/O {completed} for {words.duration_text(self._silent_s)}{why}"


COLUMNS = [
    "t_s",
    "interval_s",
    *(
        f"{direction}_{what}"
        for what in ("bw_mb_s", "iops", "lat_us", "lat_p50_us", "lat_p99_us", *fio.OVER_NS)
        for direction in ("read", "write")
    ),
    "queue",
    "busy_pct",
]
_SCHEMA = schema_of(COLUMNS)

#: A status this soon after the start of a load is not an interval of its own.
_EARLY_MS = 60
#: Two statuses less than half a status interval apart are not two intervals.
_NEAR_MS = 500 * base.REPORT_S
#: If the first document seems older than this, the clocks are wrong.
_LONGEST_LAG_S = 5.0

#: fio takes its counts and then waits for its jobs before it prints them: if a drive hangs, the
#: document's time stamp can be this much later than its counts.
_APART_S = 1.0


class Lane:
    """Follows what fio does on one place, of possibly several.

    Attributes:
        name: the step's.
        rest_s: how long fio may pause between two I/Os on its own; None if unknown.
        job: the only job of fio's that counts; None for all.
        raw_dir: where to save fio's last document; None to not save it.
        status: the newest one.
    """

    def __init__(
        self,
        step: WorkloadStep,
        place: command.FioPlace,
        clock: base.RecordingClock,
        raw_dir: Path | None,
        busy_time: BusyTime | None = None,
        job: str | None = None,
        *,
        is_replay: bool = False,
    ) -> None:
        """Prepare to follow what fio is told to do.

        In a replay, fio pauses as the trace does, and polls meanwhile: its processor time says
        nothing about the I/O.
        """
        loads = step.workloads
        self.name = step.name
        steady = [] if is_replay else [load for load in loads if _RESTS.isdisjoint(load.fio)]
        self.rest_s = min((load.bs / load.most_bytes_s for load in steady), default=None)
        self.job = job
        self.raw_dir = raw_dir
        self.status: fio.FioStatus | None = None
        self._clock = clock
        self._busy_time = busy_time
        self._is_replay = is_replay
        depths = [1 if place.engine == "psync" else load.iodepth for load in loads]
        self._differencer = fio.Differencer(
            float(sum(depth * load.numjobs for depth, load in zip(depths, loads, strict=True))),
            reads=step.reads,
            writes=step.writes,
        )
        self._end = _End(loads, place.size_bytes)
        self._document: dict[str, Any] | None = None
        self._held: fio.FioStatus | None = None
        self._t_s: float | None = None

    @property
    def where(self) -> str:
        """The step, for messages."""
        return f"step '{self.name}'"

    def start(self) -> None:
        """Start counting how busy the drive is."""
        if self._busy_time is not None:
            self._busy_time.pct()

    def see(self, document: dict[str, Any]) -> dict[str, Any]:
        """Keep fio's newest document; return this lane's part of it."""
        if self.job is not None and isinstance(document.get("jobs"), list):
            jobs = [job for job in document["jobs"] if isinstance(job, dict)]
            own = [job for job in jobs if job.get("jobname") == self.job]
            document = {**document, "jobs": own}
        self._document = document
        return document

    def take(self, document: dict[str, Any]) -> pl.DataFrame | None:
        """Return the samples that a document completes.

        A status near the end is held back until the next one, and dropped if that follows
        immediately, so that the last interval is not a sliver. So is a first status that comes just
        after the start: fio's interval does not wait for a load that starts late.
        """
        last, self.status = self.status, fio.FioStatus.of(self.see(document))
        statuses: list[fio.FioStatus] = []
        held = None if self._held is None or _is_early(self._held) else self._held
        if held is not None and self.status.runtime_ms - held.runtime_ms >= _NEAR_MS:
            statuses.append(held)
        is_held = _is_early(self.status) or self._end.is_near(last, self.status)
        self._held = self.status if is_held else None
        if self._held is None:
            statuses.append(self.status)
        return self._samples(statuses)

    def held_back(self) -> pl.DataFrame | None:
        """Return what was held back, once there are no more documents."""
        return None if self._held is None else self._samples([self._held])

    def _samples(self, statuses: list[fio.FioStatus]) -> pl.DataFrame | None:
        rows = [row for row in map(self._row, statuses) if row is not None]
        if not rows:
            return None
        # two rows at the same time cannot have separate busy times
        busy_pct = None if self._busy_time is None else self._busy_time.pct()
        return pl.DataFrame([row | {"busy_pct": busy_pct} for row in rows], schema=_SCHEMA)

    def _row(self, status: fio.FioStatus) -> dict[str, float | None] | None:
        row = self._differencer.row(status)
        if row is None:
            return None
        last_s, now_s = self._t_s, self._clock.now_s()
        made_s = now_s - (time.time() - status.timestamp_ms / 1000)
        # if it seems older than the previous one, the wall clock was set meanwhile
        oldest_s = now_s - _LONGEST_LAG_S if last_s is None else last_s
        t_s = made_s if oldest_s < made_s < now_s else now_s
        if last_s is not None:
            ran_s = row["interval_s"] or 0.0
            if t_s - last_s > ran_s + _APART_S:
                t_s = last_s + ran_s
            t_s = max(t_s, last_s + 0.001)
            if ran_s > t_s - last_s + _APART_S:
                _spread(row, t_s - last_s)
        self._t_s = row["t_s"] = t_s
        return row

    def keep_document(self) -> Path | base.Note | None:
        """Save fio's last document; a full disk must not fail the step."""
        if self.raw_dir is None or self._document is None:
            return None
        try:
            name = f"{command.job_name(self.name)}.json"
            with writing.numbered_file(self.raw_dir / name) as file:
                file.write(json.dumps(self._document, indent=1).encode() + b"\n")
                return Path(file.name)
        except OSError as error:
            return base.Note("warning", f"fio's last document cannot be saved: {error}")

    def summary(self, kept: Path | base.Note | None) -> base.Note:
        """Return a note with the totals."""
        status = self.status
        assert status is not None
        return base.Note(
            "info",
            f"{self.where}: fio read {words.size_text(status.read.bytes)} and wrote "
            f"{words.size_text(status.write.bytes)} in "
            f"{words.amount_text(status.runtime_ms / 1000, 's')}, with "
            f"{words.percent_text(status.usr_cpu_pct + status.sys_cpu_pct)} of a core for each job",
            {
                "step": self.name,
                "read_bytes": status.read.bytes,
                "write_bytes": status.write.bytes,
                "read_ios": status.read.ios,
                "write_ios": status.write.ios,
                "runtime_s": status.runtime_ms / 1000,
                "usr_cpu_pct": status.usr_cpu_pct,
                "sys_cpu_pct": status.sys_cpu_pct,
                "raw": str(kept) if isinstance(kept, Path) else None,
            },
        )

    def outcome(self) -> base.LoadResult:
        """Return processor time and latency histograms of the load."""
        status = self.status
        assert status is not None
        cpu = {} if self._is_replay else {"load_cpu_s": round(status.cpu_s, 3)}
        bins = {name: fio.coarse_bins(getattr(status, name).bins) for name in ("read", "write")}
        return base.LoadResult({**cpu, **base.latency_bins(bins)})


def _spread(row: dict[str, float | None], seconds: float) -> None:
    """Scale a row to the actual time since the previous one, after the wall clock was set."""
    interval_s = row["interval_s"]
    assert interval_s is not None
    row["interval_s"] = seconds
    for name, value in row.items():
        if value is not None and name.endswith(("_bw_mb_s", "_iops")):
            row[name] = value * interval_s / seconds


def _is_early(status: fio.FioStatus) -> bool:
    """Whether a status came so soon after the start of its load that it is not an interval."""
    return status.runtime_ms < _EARLY_MS


class _End:
    """Predicts the end of a step, so that its last interval is not a sliver.

    fio's last document can come a few milliseconds after a status document, even after one at the
    end of the runtime. Rates over such a short time are mostly rounding errors.
    """

    def __init__(self, loads: Sequence[Workload], size_bytes: int) -> None:
        amounts = [command.region_of(load, size_bytes).io_bytes for load in loads]
        self._bytes = sum(math.inf if amount is None else amount for amount in amounts)
        self._runtime_ms = 1000 * max(load.runtime_s or math.inf for load in loads)

    def is_near(self, last: fio.FioStatus | None, status: fio.FioStatus) -> bool:
        """Whether the step is over, or probably will be within half a status interval."""
        if self._runtime_ms - status.runtime_ms < _NEAR_MS:
            return True
        left = self._bytes - status.bytes
        moved = status.bytes - (0 if last is None else last.bytes)
        took_ms = status.runtime_ms - (0 if last is None else last.runtime_ms)
        return moved > 0 and took_ms > 0 and left < moved / took_ms * _NEAR_MS
