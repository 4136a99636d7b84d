"""Watches a drive that something else loads: counters, sensors and a verdict so far; no load."""

import math
import threading
import time
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from heatsoak import errors, importer
from heatsoak.analysis import RecordingFindings
from heatsoak.bench import falls
from heatsoak.bench.recorder import Latest, Recorder, Side, add_moved, nothing_moved
from heatsoak.importer.recordings import to_recording
from heatsoak.protocol import Conditions, Observation, Observed
from heatsoak.recording import InMemoryRecording, Recording, SensorMeta, schema_of
from heatsoak.recording.meta import Status
from heatsoak.sensor import CountersSensor, Roots, discover, drive_sensors, sysfs
from heatsoak.sensor.base import SensorInfo
from heatsoak.target import base
from heatsoak.target.device import DeviceInfo

#: Older rows are kept for a while longer, since many are dropped at a time.
_KEPT_S = 1.25 * falls.JUDGED_S
_BEAT_S = 0.5
#: A drive that does not answer for this long is gone.
_GONE_S = 5.0


def read_once(device: DeviceInfo, roots: Roots) -> Recording:
    """Return a recording of one reading of a drive's own sensors, kept nowhere."""
    row: dict[str, float] = {"t_s": 0.0}
    known = []
    for sensor in drive_sensors(device.name, roots):
        row |= sensor.read()
        known.append(SensorMeta(**asdict(sensor.info)))
        sensor.close()
    samples = pl.DataFrame([row], schema=schema_of(row))
    drive = asdict(device.identity(str(device.path)))
    log = importer.Log("reading", str(device.path), samples, drive=drive, sensors=tuple(known))
    return to_recording(log, {})


@dataclass
class DriveWatch:
    """One drive, watched for as long as :meth:`run` takes.

    Attributes:
        interval_s: how often the kernel's counters are read.
        latest: the newest readings.
        findings: what the last half hour shows, as far as it has been judged.
        fall_options: what is to be done when throughput falls.
        warn: gets a line on what failed of that.
        reached: why it was ended by that; None if it was not.
        moved: bytes and I/Os so far: `read_bytes`, `read_operations`, `write_bytes` and
            `write_operations`.
        sensors: those that are read, once it has begun.
    """

    device: DeviceInfo
    directory: Path
    conditions: Conditions
    roots: Roots
    interval_s: float = base.SAMPLE_S
    power_sensor: str | None = None
    latest: Latest = field(default_factory=Latest)
    fall_options: falls.FallOptions = field(default_factory=falls.FallOptions)
    warn: Callable[[str], None] = lambda _: None
    reached: str | None = None
    findings: RecordingFindings | None = None
    elapsed_s: float = 0.0
    moved: dict[str, float] = field(default_factory=nothing_moved)
    sensors: Sequence[SensorInfo] = ()

    def run(self, duration_s: float | None, on_beat: Callable[["DriveWatch"], None]) -> Recording:
        """Watch for `duration_s`, or until interrupted, and return what was recorded.

        `on_beat` is called twice a second. Raises UsageError where the kernel does not count the
        drive's I/O, ToolError for a drive that went away; what was seen before is kept.
        """
        disk = sysfs.directory_of_name(self.device.name, self.roots)
        counters = None if disk is None else CountersSensor.find(disk, self.interval_s)
        if counters is None:
            raise errors.UsageError(
                f"{self.device.path}: the kernel does not count its I/O (queue/iostats in "
                f"/sys/block/{self.device.name} switches that on)"
            )
        protocol = Observation(
            name=importer.WATCH, title="watched, loaded by others", steps=[Observed(name="load")]
        )

        def take(row: dict[str, float]) -> None:
            add_moved(self.moved, row)
            recent.add(row)

        status: Status = "finished"
        reason: str | None = None
        with ExitStack() as open_:
            others = discover(self.device.name, self.roots, power=self.power_sensor)
            for sensor in (counters, *others):
                open_.callback(sensor.close)
            # the counters are read ten times as often as that
            sensors = [counters, *(one for one in others if one.info.name != "traffic")]
            self.sensors = [sensor.info for sensor in sensors]
            self.fall_options.require_readings(c for info in self.sensors for c in info.columns)
            side = Side(protocol, self.conditions, self.directory, sensors)
            watched = _Watched(self.device.identity(str(self.device.path)), base.MonotonicClock())
            recorder = Recorder(side, watched, lambda *_: None, on_reading=take)
            recent = _Recent(recorder.writer.meta.columns)
            judged = partial(self._recorded, recorder, recent)
            acting = open_.enter_context(falls.FallWatch(self.fall_options, judged, self.warn))
            self.latest = recorder.latest
            open_.enter_context(recorder.writer)
            recorder.start([])
            try:
                self._wait(recorder, acting, duration_s, on_beat)
            except KeyboardInterrupt:
                reason = "stopped by the user"
            except errors.LimitReachedError as error:
                reason = self.reached = str(error)
            except errors.ToolError as error:
                status, reason = "failed", str(error)
            finally:
                recorder.poller.stop()
            try:
                recording = self._finish(recorder, status, reason)
            except errors.ToolError as error:
                status, reason = "failed", reason if status == "failed" else str(error)
        if status == "failed":
            raise errors.ToolError(f"{reason}; the recording so far is in {self.directory}")
        return recording

    def _wait(
        self,
        recorder: Recorder,
        acting: falls.FallWatch,
        duration_s: float | None,
        on_beat: Callable[["DriveWatch"], None],
    ) -> None:
        while duration_s is None or recorder.now_s() < duration_s:
            left_s = _BEAT_S if duration_s is None else duration_s - recorder.now_s()
            time.sleep(max(0.0, min(_BEAT_S, left_s)))
            self.elapsed_s = recorder.now_s()
            recorder.look()
            if self.elapsed_s - (self.latest.value("t_s") or 0.0) > _GONE_S and (
                sysfs.directory_of_name(self.device.name, self.roots) is None
            ):
                raise errors.ToolError(f"{self.device.path}: is gone")
            acting.look(self.elapsed_s, self.latest)
            self.findings = acting.findings
            on_beat(self)

    def _recorded(self, recorder: Recorder, recent: "_Recent") -> Recording | None:
        if (samples := recent.samples()).is_empty():
            return None
        return importer.divided(
            InMemoryRecording(self.directory, recorder.writer.meta, samples, [])
        )

    def _finish(self, recorder: Recorder, status: Status, reason: str | None) -> Recording:
        """Close it, with a step for each stretch of load that was seen."""
        writer, duration_s = recorder.writer, recorder.now_s()
        plain = Recording.open(self.directory)
        worked = importer.divided(plain)
        if not isinstance(worked, InMemoryRecording) or recorder.unwritten is not None:
            writer.finish(status, duration_s, reason)
            return Recording.open(self.directory)
        for event in worked.events:
            if event not in plain.events:
                writer.event(event)
        writer.finish(
            status,
            duration_s,
            reason,
            samples=worked.samples(),
            protocol=worked.meta.protocol,
            columns=worked.meta.columns,
            load=worked.meta.load,
        )
        return Recording.open(self.directory)


@dataclass
class _Watched:
    """A drive as its recording has it: all that is known of the load is what sensors read."""

    identity: base.Identity
    clock: base.RecordingClock

    def columns(self) -> list[str]:
        return ["t_s"]

    def sensors(self) -> list[SensorMeta]:
        return []

    def describe(self) -> dict[str, Any]:
        return {"tool": "none of ours: the drive was watched"}


class _Recent:
    """The rows of the last half hour, in one table: as Python's own they take ten times as much.

    They are added by the sensors' threads and asked for by another.
    """

    def __init__(self, columns: Iterable[str]) -> None:
        self._columns = list(columns)
        self._table = array("d")
        self._lock = threading.Lock()

    def add(self, row: Mapping[str, float]) -> None:
        """Take a row; what it does not tell was not measured."""
        with self._lock:
            self._table.extend(row.get(name, math.nan) for name in self._columns)
            if self._table[self._columns.index("t_s")] < row["t_s"] - _KEPT_S:
                self._table = array("d", self._rows().tobytes())

    def samples(self) -> pl.DataFrame:
        """Return the rows in the order of time, what was not measured as null."""
        with self._lock:
            rows = self._rows()
        return pl.DataFrame(rows, schema=self._columns, orient="row").fill_nan(None).sort("t_s")

    def _rows(self) -> NDArray[np.float64]:
        rows = np.array(self._table, dtype=np.float64).reshape(-1, len(self._columns))
        t_s = rows[:, self._columns.index("t_s")]
        recent: NDArray[np.float64] = rows[t_s >= np.max(t_s, initial=0.0) - falls.JUDGED_S]
        return recent
