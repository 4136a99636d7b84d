"""Records one drive of a run: its target and sensors, and the newest value of each column."""

import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs
import psutil

import heatsoak
from heatsoak import recording
from heatsoak.bench.interruptions import Interruptions, boot_now
from heatsoak.errors import ToolError
from heatsoak.protocol import Conditions, Observation, Protocol, Step, WorkloadStep
from heatsoak.recording.columns import COMPOSITE, TEMPERATURES, drive_temperature, types_of
from heatsoak.recording.meta import Status
from heatsoak.sensor import Poller, Sensor
from heatsoak.sensor.poller import PAUSE_INTERVAL_S
from heatsoak.target.base import Note, Recorded
from heatsoak.units import is_possible_temp
from heatsoak.words import temp_text

#: So few rows, as fio's reports are, cost less one by one than as a frame.
_FEW_ROWS = 4


_WAYS = ("read", "write")


def nothing_moved() -> dict[str, float]:
    """Return the counts that :func:`add_moved` adds to, such as ``read_bytes``."""
    return {f"{way}_{unit}": 0.0 for way in _WAYS for unit in ("bytes", "operations")}


def add_moved(moved: dict[str, float], row: Mapping[str, float]) -> None:
    """Add the bytes and I/Os of a sample's interval."""
    for way in _WAYS if "interval_s" in row else ():
        bytes_s = 1e6 * row.get(f"{way}_bw_mb_s", 0.0)
        moved[f"{way}_bytes"] += bytes_s * row["interval_s"]
        moved[f"{way}_operations"] += row.get(f"{way}_iops", 0.0) * row["interval_s"]


class Latest:
    """Newest values by column; readable and writable from several threads."""

    def __init__(self) -> None:
        self._values: dict[str, float] = {}

    def update(self, row: Mapping[str, float]) -> None:
        """Take over the numbers of one sample."""
        # one C-level call: no reader sees half of it
        self._values.update(row)

    def forget_load(self) -> None:
        """Leave out what a load did, once it is over: the next may do nothing of it."""
        for name in list(self._values):
            if name.startswith(("read_", "write_")):
                self._values.pop(name, None)

    def value(self, column: str) -> float | None:
        """Return the newest value of `column`, if there ever was one."""
        return self._values.get(column)

    def values(self) -> dict[str, float]:
        """Return the newest values by column."""
        return dict(self._values)

    def temps_c(self) -> dict[str, float]:
        """Return the newest temperatures by sensor."""
        temps = ((n, v) for n, v in self.values().items() if n.startswith(TEMPERATURES))
        return {name.removeprefix(TEMPERATURES): value for name, value in temps}

    def drive_temp_c(self) -> float | None:
        """Return the drive's own temperature: its composite, or its hottest other sensor.

        Temperatures that no drive can have are ignored.
        """
        values = {n: value for n, value in self.values().items() if is_possible_temp(value)}
        return values.get(drive_temperature(values))

    def throughput_mb_s(self) -> float | None:
        """Return reads and writes together."""
        parts = [self.value("read_bw_mb_s"), self.value("write_bw_mb_s")]
        known = [part for part in parts if part is not None]
        return sum(known) if known else None


@dataclass(frozen=True)
class Side:
    """What one drive of a run is recorded as, and where; a run has one side, a copy two.

    Attributes:
        notes: what is known of it before the first step.
        part_of_copy: of a copy, which side it is, and of which copy.
    """

    protocol: Protocol | Observation
    conditions: Conditions
    directory: Path
    sensors: list[Sensor] = field(default_factory=list)
    notes: Sequence[Note] = ()
    part_of_copy: recording.CopyPart | None = None


class Recorder:
    """Records what a target and its sensors yield, and watches the drive's critical limit.

    Attributes:
        step_name: the step that samples belong to; None between loads.
        latest: the newest value of each column.
        outcome: what the step's load came to, as its generator said at its end.
        unwritten: why a reading could not be kept; None while all were.
    """

    def __init__(
        self,
        side: Side,
        target: Recorded,
        on_note: Callable[[str, str], None],
        resumes: recording.Recording | None = None,
        on_reading: Callable[[dict[str, float]], None] = lambda _: None,
    ) -> None:
        """Open the recording in the side's directory; `on_note` gets what is worth a line.

        `resumes` is the recording that already exists there, reopened for writing; `on_reading`
        gets each reading of a sensor, in the sensor's thread.
        """
        self.side = side
        self.target = target
        self.latest = Latest()
        self.step_name: str | None = None
        self.outcome: dict[str, Any] = {}
        self.unwritten: ToolError | None = None
        self._on_note, self._on_new_reading = on_note, on_reading
        self._reported: set[str] = set()
        self._interruptions = None if target.identity.simulated else Interruptions()
        stated = [one.info.thresholds for one in side.sensors if COMPOSITE in one.info.columns]
        limits_c = [limits["critical_c"] for limits in stated if limits.get("critical_c", 0) > 0]
        self._critical_c = limits_c[-1] if limits_c else None
        columns = ["step", *target.columns()]
        columns += [column for sensor in side.sensors for column in sensor.info.columns]
        sensors = [
            recording.SensorMeta(**asdict(sensor.info), idle_interval_s=PAUSE_INTERVAL_S)
            for sensor in side.sensors
        ] + target.sensors()
        if resumes is None:
            meta = recording.RecordingMeta(
                protocol=side.protocol,
                conditions=side.conditions,
                drive=asdict(target.identity),
                host={
                    "system": platform.system(),
                    "release": platform.release(),
                    "machine": platform.machine(),
                    "cpus": psutil.cpu_count(),
                    "memory_bytes": psutil.virtual_memory().total,
                    "python": platform.python_version(),
                },
                tools={"heatsoak": heatsoak.__version__},
                load=target.describe(),
                sensors=sensors,
                columns=types_of(columns),
                started_unix_s=time.time() - target.clock.now_s(),
                started_boot=boot_now(target.clock.now_s()),
                part_of_copy=side.part_of_copy,
            )
        else:
            # sensors may have been added since
            then, here = resumes.meta, {sensor.name for sensor in sensors}
            again: dict[str, Any] = {
                **{"status": "running", "reason": None, "duration_s": None},
                "tools": {**then.tools, "heatsoak": heatsoak.__version__},
                "columns": types_of([*then.columns, *columns]),
                "sensors": [*sensors, *(old for old in then.sensors if old.name not in here)],
            }
            meta = then.model_copy(update=again)
        self.writer = recording.RecordingWriter(side.directory, meta, resumed=resumes is not None)
        self.poller = Poller(
            side.sensors, target.clock, self._on_reading, on_note=self._on_sensor_note
        )

    def start(self, texts: Sequence[str]) -> None:
        """Record what is known before the first step, and start to poll the sensors."""
        for text in texts:
            self.note("warning", text)
        for note in self.side.notes:
            self.note(note.level, note.text, note.data)
        self.poller.start()

    def now_s(self) -> float:
        """Return the target's time."""
        return self.target.clock.now_s()

    def record(self, samples: pl.DataFrame) -> None:
        """Append samples of the step that runs."""
        if samples.height <= _FEW_ROWS:
            for row in samples.iter_rows(named=True):
                self.latest.update({n: v for n, v in row.items() if isinstance(v, int | float)})
                self.writer.append_row({**row, "step": self.step_name})
            return
        last = samples.select(cs.numeric().drop_nulls().last().cast(pl.Float64))
        known = last.row(0, named=True).items()
        self.latest.update({name: value for name, value in known if value is not None})
        step = pl.lit(self.step_name, dtype=pl.String).alias("step")
        self.writer.append(samples.with_columns(step))

    def begin_step(
        self, step: Step, index: int, *, round_number: int | None = None, because: str = ""
    ) -> None:
        """Record that a step begins: `index` is its number among the protocol's steps.

        `round_number` is the round of a step of rounds, `because` why a probe is taken.
        """
        self.latest.forget_load()
        data: dict[str, Any] = {
            "index": index,
            "step_kind": step.kind,
            "temps_c": self.latest.temps_c(),
        }
        if round_number is not None:
            data["round"] = round_number
            if isinstance(step, WorkloadStep) and step.rate is not None:
                data["rate_mb_s"] = step.limit_mb_s
        self.event("step-begin", step.name, f"probe: {because}" if because else "", data)

    def end_step(
        self, step: Step, text: str, *, start_s: float, own_cpu_s: float, was_done: bool
    ) -> None:
        """Record that a step that began at `start_s` is over.

        `own_cpu_s` is what measuring cost: heatsoak's processor time, not the load generator's.
        """
        data: dict[str, Any] = {
            "duration_s": self.now_s() - start_s,
            "own_cpu_s": round(own_cpu_s, 3),
            **self.outcome,
        }
        if not was_done:
            data["was_done"] = False
        self.event("step-end", step.name, text, data)

    def event(
        self, kind: str, step: str | None, text: str = "", data: dict[str, Any] | None = None
    ) -> None:
        """Append an event that happens now."""
        self.writer.event(
            recording.Event(t_s=self.now_s(), kind=kind, step=step, text=text, data=data or {})
        )

    def note(self, level: str, text: str, data: dict[str, Any] | None = None) -> None:
        """Append what is worth a line, and tell it."""
        self.event(level, self.step_name, text, data)
        self._on_note(level, text)

    def look(self) -> None:
        """Note what has interrupted the recording; to be called several times a second.

        Raises ToolError where a reading was not kept, and where the machine slept in a step.
        """
        if self.unwritten is not None:
            raise self.unwritten
        for seen in () if self._interruptions is None else self._interruptions.look():
            if "slept_s" in seen.data and self.step_name is not None:
                raise ToolError(
                    f"{seen.text} in step '{self.step_name}', and the drive cooled meanwhile: the "
                    "step has to be repeated"
                )
            self.note(seen.level, seen.text, seen.data)

    def check(self) -> None:
        """Look, and raise ToolError also where the drive is at its critical limit."""
        self.look()
        temp_c, limit_c = self.latest.value(COMPOSITE), self._critical_c
        if limit_c is None or temp_c is None or not is_possible_temp(temp_c):
            return
        if temp_c >= limit_c:
            raise ToolError(
                f"composite reads {temp_text(temp_c)}, and the drive's critical limit is "
                f"{temp_text(limit_c)}: stopped"
            )

    def finish(self, status: Status, reason: str | None) -> None:
        """End the recording, whatever ended the run."""
        self.poller.stop()
        # it holds on to this, and this to the target: a simulated drive is gigabytes
        del self.poller
        duration_s = self.now_s()
        try:
            if reason is not None:
                self.event("fault" if status == "failed" else "info", None, reason)
            # how the load was made is known in full only now
            self.writer.update(load=self.target.describe())
        finally:
            self.writer.finish(status, duration_s, reason)

    def _on_reading(self, row: dict[str, float]) -> None:
        """Take a reading of a sensor's thread; one that cannot be kept ends the run."""
        self.latest.update(row)
        try:
            self._warn_of_impossible(row)
            self.writer.append_row({**row, "step": self.step_name})
        except ToolError as error:
            self.unwritten = error
        self._on_new_reading(row)

    def _warn_of_impossible(self, row: dict[str, float]) -> None:
        for name, value in row.items():
            if not name.startswith(TEMPERATURES) or is_possible_temp(value):
                continue
            if name not in self._reported:
                self._reported.add(name)
                self.note(
                    "warning",
                    f"{name.removeprefix(TEMPERATURES)} reads {temp_text(value)}, which is "
                    "impossible for a drive: it is ignored",
                )

    def _on_sensor_note(self, level: str, text: str) -> None:
        try:
            self.note(level, text)
        except ToolError as error:
            self.unwritten = error
