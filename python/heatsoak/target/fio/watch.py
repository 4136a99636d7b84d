"""Watching one fio from its start to its end: samples, signs of life, and how it ended."""

import json
import os
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import polars as pl

from heatsoak.errors import ToolError
from heatsoak.fio import OVER_NS, Differencer, Status, coarse_bins
from heatsoak.protocol import WorkloadStep
from heatsoak.recording.columns import schema_of
from heatsoak.sensor import BusyTime
from heatsoak.target.base import BEAT_S as BEAT_S
from heatsoak.target.base import HEARTBEAT as HEARTBEAT
from heatsoak.target.base import Batch, Clock, Note, Outcome, latency_bins
from heatsoak.target.fio.command import Place, job_name, region_of
from heatsoak.target.fio.process import FioProcess, free_path
from heatsoak.target.fio.stream import Splitter
from heatsoak.units import format_bytes

COLUMNS = [
    "t_s",
    "interval_s",
    *(
        f"{direction}_{what}"
        for what in ("bw_mb_s", "iops", "lat_us", "lat_p50_us", "lat_p99_us", *OVER_NS)
        for direction in ("read", "write")
    ),
    "queue",
    "busy_pct",
]
_SCHEMA = schema_of(COLUMNS)

_SILENCE_S = 10.0
#: A document that comes later than this after it was made says more of clocks than of us.
_LONGEST_LAG_S = 5.0


@dataclass(frozen=True)
class Load:
    """What a fio is to do, as far as watching it needs to know.

    Attributes:
        name: the step's.
        queue: I/Os that it keeps in flight.
        runtime_s: when it ends by itself, or None.
        total_bytes: after how many bytes it ends, or None.
        polls: whether fio spends its processor time on waiting, so that it says nothing of the I/O.
    """

    name: str
    queue: int
    reads: bool
    writes: bool
    runtime_s: float | None
    total_bytes: int | None
    polls: bool = False

    @classmethod
    def of(cls, step: WorkloadStep, place: Place) -> "Load":
        """Return what `step` is on `place`."""
        runtimes = [load.runtime_s for load in step.workloads]
        amounts = [region_of(load, place.size_bytes).io_bytes for load in step.workloads]
        depths = [
            (1 if place.engine == "psync" else load.iodepth) * load.numjobs
            for load in step.workloads
        ]
        known_s = [runtime_s for runtime_s in runtimes if runtime_s is not None]
        known = [amount for amount in amounts if amount is not None]
        return cls(
            step.name,
            sum(depths),
            any(load.reads for load in step.workloads),
            any(load.writes for load in step.workloads),
            max(known_s) if len(known_s) == len(runtimes) else None,
            sum(known) if len(known) == len(amounts) else None,
        )


class Watch:
    """One run of fio for one step."""

    def __init__(
        self,
        load: Load,
        clock: Clock,
        status_interval_s: float,
        raw_dir: Path | None,
        busy_time: BusyTime | None = None,
    ) -> None:
        """Prepare to watch `load`."""
        self._name = load.name
        self._polls = load.polls
        self._clock = clock
        self._raw_dir = raw_dir
        self._busy_time = busy_time
        self._differencer = Differencer(float(load.queue), reads=load.reads, writes=load.writes)
        self._end = _End(load, status_interval_s)
        self._splitter = Splitter()
        self._document: dict[str, Any] | None = None
        self._held: Status | None = None
        self._t_s = -1.0
        self.status: Status | None = None

    def batches(self, command: Sequence[str], keep_fds: Sequence[int]) -> Iterator[Batch]:
        """Run `command`, yielding a row for each status, and batches of no rows in between.

        Raises ToolError for every way in which fio can fail; fio is gone when this ends.
        """
        with ExitStack() as stack:
            stderr = stack.enter_context(_stderr_file(self._raw_dir, self._name))
            process = stack.enter_context(FioProcess(command, keep_fds, stderr))
            if self._busy_time is not None:
                self._busy_time.pct()  # from here on
            try:
                yield from self._follow(process)
                self._judge(process.wait(), process.complaint())
            except ToolError:
                self._keep_document()
                raise
            except BaseException:
                self._hear_out(process)
                self._keep_document()
                raise
            yield from self._sum_up(self._keep_document())

    def _follow(self, process: FioProcess) -> Iterator[Batch]:
        moved_at = time.monotonic()
        moved_bytes = 0
        warned = False
        for piece in process.pieces(BEAT_S):
            sample = None
            for document in self._splitter.feed(piece) if piece else ():
                sample = self._take(document)
                if sample is not None:
                    yield sample
            if sample is None:
                yield HEARTBEAT
            now = time.monotonic()
            if self.status is not None and self.status.bytes != moved_bytes:
                moved_bytes, moved_at, warned = self.status.bytes, now, False
            elif not warned and now - moved_at > _SILENCE_S:
                warned = True
                yield Note(
                    "warning",
                    f"step '{self._name}': no I/O has completed for {now - moved_at:.0f} s; "
                    "still waiting",
                )
        if self._held is not None:
            sample = self._sample(self._held)
            if sample is not None:
                yield sample

    def _take(self, document: dict[str, Any]) -> pl.DataFrame | None:
        last, self.status = self.status, Status.of(document)
        self._document = document
        if self._held is None and self._end.is_near(last, self.status):
            self._held = self.status
            return None
        self._held = None
        return self._sample(self.status)

    def _sample(self, status: Status) -> pl.DataFrame | None:
        row = self._differencer.row(status)
        if row is None:
            return None
        lag_s = time.time() - status.timestamp_ms / 1000
        t_s = self._clock.now_s() - (lag_s if 0 < lag_s < _LONGEST_LAG_S else 0.0)
        self._t_s = max(t_s, self._t_s + 0.001)
        row["t_s"] = self._t_s
        row["busy_pct"] = None if self._busy_time is None else self._busy_time.pct()
        return pl.DataFrame([row], schema=_SCHEMA)

    def _judge(self, exit_code: int, complaint: str) -> None:
        where = f"step '{self._name}'"
        because = f": {complaint}" if complaint else ""
        if exit_code < 0:
            try:
                name = signal.Signals(-exit_code).name
            except ValueError:
                name = f"signal {-exit_code}"
            raise ToolError(f"{where}: fio was killed by {name}")
        if self.status is not None and self.status.error:
            reason = _reason(self.status.error)
            raise ToolError(f"{where}: fio met an I/O error, '{reason}'{because}")
        if exit_code != 0:
            raise ToolError(f"{where}: fio ended with exit code {exit_code}{because}")
        self._splitter.finish()
        if self.status is None:
            raise ToolError(f"{where}: fio ended without a status document{because}")

    def _hear_out(self, process: FioProcess) -> None:
        """End fio because we are to end; its last document is still worth keeping."""
        try:
            for document in self._splitter.feed(process.interrupt()):
                self._document = document
        except ToolError:
            return  # the run is over for another reason already

    def _keep_document(self) -> Path | Note | None:
        """Save fio's last document; a full disk is no reason to lose the step."""
        if self._raw_dir is None or self._document is None:
            return None
        try:
            path = free_path(self._raw_dir / f"{job_name(self._name)}.json")
            path.write_text(json.dumps(self._document, indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            return Note("warning", f"fio's last document cannot be kept: {error}")
        return path

    def _sum_up(self, kept: Path | Note | None) -> Iterator[Batch]:
        if isinstance(kept, Note):
            yield kept
        status = self.status
        assert status is not None
        yield Note(
            "info",
            f"step '{self._name}': fio read {format_bytes(status.read.bytes)} and wrote "
            f"{format_bytes(status.write.bytes)} in {status.runtime_ms / 1000:.1f} s, with "
            f"{status.usr_cpu_pct + status.sys_cpu_pct:.0f} % of a core for each job",
            {
                "step": self._name,
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
        cpu = {} if self._polls else {"load_cpu_s": round(status.cpu_s, 3)}
        bins = {name: coarse_bins(getattr(status, name).bins) for name in ("read", "write")}
        yield Outcome({**cpu, **latency_bins(bins)})


class _End:
    """Foresees the end of a step, so that its last interval is not a sliver.

    fio's last document can come a few milliseconds after a status document. Rates over so short
    a time are mostly rounding, so the status before is left out where the end is near.
    """

    def __init__(self, load: Load, status_interval_s: float) -> None:
        self._near_ms = 500 * status_interval_s
        self._runtime_ms = None if load.runtime_s is None else load.runtime_s * 1000
        self._bytes = load.total_bytes

    def is_near(self, last: Status | None, status: Status) -> bool:
        """Whether the step will probably be over within half a status interval."""
        if self._runtime_ms is not None:
            left_ms = self._runtime_ms - status.runtime_ms
            if 0 <= left_ms < self._near_ms:
                return True
        if self._bytes is None:
            return False
        left = self._bytes - status.bytes
        moved = status.bytes - (0 if last is None else last.bytes)
        took_ms = status.runtime_ms - (0 if last is None else last.runtime_ms)
        return moved > 0 and took_ms > 0 and 0 <= left < moved / took_ms * self._near_ms


@contextmanager
def _stderr_file(raw_dir: Path | None, step: str) -> Iterator[IO[bytes]]:
    """Open where fio's standard error goes; kept in `raw_dir` unless there was none."""
    if raw_dir is None:
        with tempfile.TemporaryFile() as file:
            yield file
        return
    try:
        raw_dir.mkdir(parents=True, exist_ok=True)
        path = free_path(raw_dir / f"{job_name(step)}.stderr")
        file = path.open("x+b")
    except OSError as error:
        raise ToolError(f"{raw_dir}: cannot be written: {error.strerror}") from error
    with file:
        try:
            yield file
        finally:
            if os.fstat(file.fileno()).st_size == 0:
                path.unlink(missing_ok=True)


def _reason(error: int) -> str:
    """What fio's error number means; it prints some negative ones as large unsigned ones."""
    low = error & 0xFFFF_FFFF
    return os.strerror(low if low < 1 << 31 else (1 << 32) - low)
