"""One drive's part of a run: its target and sensors, and the recording that they fill."""

import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl
import psutil

import heatsoak
from heatsoak.bench.interruptions import Interruptions, boot_now
from heatsoak.bench.latest import Latest, is_possible
from heatsoak.errors import ToolError
from heatsoak.protocol import Conditions, Protocol
from heatsoak.recording import (
    CopyPart,
    Event,
    Recording,
    RecordingMeta,
    RecordingWriter,
    SensorMeta,
)
from heatsoak.recording.columns import schema_of
from heatsoak.recording.meta import Status
from heatsoak.sensor import Poller, Sensor
from heatsoak.target import Note, Target

#: Polling a drive keeps it awake and warm: in pauses it is asked this rarely.
IDLE_POLL_INTERVAL_S = 10.0
#: So few rows, as fio's reports are, cost less one by one than as a frame.
_FEW_ROWS = 4


class Recorder:
    """Writes down what a target and its sensors tell, and watches the drive's critical limit.

    Attributes:
        step_name: the step that samples belong to; None between loads.
        latest: the newest value of each column.
        outcome: what the step's load came to, as its generator told at its end.
    """

    def __init__(
        self,
        protocol: Protocol,
        target: Target,
        conditions: Conditions,
        directory: Path,
        sensors: list[Sensor],
        on_note: Callable[[str, str], None],
        part_of_copy: CopyPart | None = None,
        goes_on_with: Recording | None = None,
    ) -> None:
        """Begin the recording in `directory`; `on_note` is told of what is worth a line.

        `goes_on_with` is what lies there already, and has been made ready to be written on.
        """
        self.target = target
        self.latest = Latest()
        self.step_name: str | None = None
        self.outcome: dict[str, Any] = {}
        self._on_note = on_note
        self._unwritten: ToolError | None = None
        self._told: set[str] = set()
        self._interruptions = None if target.identity.simulated else Interruptions()
        self._limits_c = _critical_limits(sensors)
        columns = ["step", *target.columns()]
        columns += [column for sensor in sensors for column in sensor.info.columns]
        said = [sensor_meta(sensor) for sensor in sensors]
        if goes_on_with is None:
            meta = RecordingMeta(
                protocol=protocol,
                conditions=conditions,
                drive=asdict(target.identity),
                host=host_facts(),
                tools={"heatsoak": heatsoak.__version__},
                load=target.describe(),
                sensors=said,
                columns=types_of(columns),
                started_unix_s=time.time() - target.clock.now_s(),
                started_boot=boot_now(target.clock.now_s()),
                part_of_copy=part_of_copy,
            )
        else:
            meta = _going_on(goes_on_with.meta, columns, said)
        self.writer = RecordingWriter(directory, meta, resumed=goes_on_with is not None)
        self.poller = Poller(sensors, target.clock, self._on_reading, on_note=self._on_sensor_note)

    @property
    def directory(self) -> Path:
        """Where the recording lies."""
        return self.writer.directory

    @property
    def recording(self) -> Recording:
        """The recording, once it is finished."""
        return Recording.open(self.directory)

    def start(self, texts: Sequence[str], notes: Sequence[Note]) -> None:
        """Write down what is known before the first step, and begin to poll the sensors."""
        for text in texts:
            self.note("warning", text)
        for note in notes:
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
        self.latest.update_from(samples)
        step = pl.lit(self.step_name, dtype=pl.String).alias("step")
        self.writer.append(samples.with_columns(step))

    def event(
        self, kind: str, step: str | None, text: str = "", data: dict[str, Any] | None = None
    ) -> None:
        """Append an event that happens now."""
        self.writer.event(Event(t_s=self.now_s(), kind=kind, step=step, text=text, data=data or {}))

    def note(self, level: str, text: str, data: dict[str, Any] | None = None) -> None:
        """Append what is worth a line, and tell it."""
        self.event(level, self.step_name, text, data)
        self._on_note(level, text)

    def check(self) -> None:
        """Look at what can end a run or has interrupted it, several times a second.

        Raises ToolError where the drive is at its critical limit, where a reading was not kept, and
        where the machine slept while the drive was loaded.
        """
        if self._unwritten is not None:
            raise self._unwritten
        for seen in () if self._interruptions is None else self._interruptions.look():
            if seen.slept_s and self.step_name is not None:
                raise ToolError(
                    f"{seen.text} in step '{self.step_name}', and the drive cooled meanwhile: the "
                    "step has to be taken again"
                )
            self.note("warning", seen.text, seen.data)
        for column, limit_c in self._limits_c.items():
            temp_c = self.latest.value(column)
            if temp_c is not None and temp_c >= limit_c and is_possible(temp_c):
                raise ToolError(
                    f"{column.removeprefix('temp_c.')} reads {temp_c:.0f} C, and the drive's "
                    f"critical limit is {limit_c:.0f} C: stopped"
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
            self._tell_impossible(row)
            self.writer.append_row({**row, "step": self.step_name})
        except ToolError as error:
            self._unwritten = error

    def _tell_impossible(self, row: dict[str, float]) -> None:
        for name, value in row.items():
            if name.startswith("temp_c.") and not is_possible(value) and name not in self._told:
                self._told.add(name)
                self.note(
                    "warning",
                    f"{name.removeprefix('temp_c.')} reads {value:g} C, which no drive can be at: "
                    "neither limits nor pauses heed it",
                )

    def _on_sensor_note(self, level: str, text: str) -> None:
        try:
            self.note(level, text)
        except ToolError as error:
            self._unwritten = error


def types_of(columns: Sequence[str]) -> dict[str, str]:
    """Return the type of each column by its name, as a recording says it."""
    return {name: str(dtype()) for name, dtype in schema_of(columns).items()}


def _going_on(
    then: RecordingMeta, columns: Sequence[str], sensors: Sequence[SensorMeta]
) -> RecordingMeta:
    """What a recording says of itself once it is written on: sensors may have come since."""
    here = {sensor.name for sensor in sensors}
    gone = [sensor for sensor in then.sensors if sensor.name not in here]
    return then.model_copy(
        update={
            "status": "running",
            "reason": None,
            "duration_s": None,
            "tools": {**then.tools, "heatsoak": heatsoak.__version__},
            "columns": types_of([*then.columns, *columns]),
            "sensors": [*sensors, *gone],
        }
    )


def _critical_limits(sensors: list[Sensor]) -> dict[str, float]:
    """The critical limit of each temperature whose sensor states one above freezing."""
    limits: dict[str, float] = {}
    for sensor in sensors:
        limit_c = sensor.info.thresholds.get("critical_c")
        if limit_c is not None and limit_c > 0:
            limits |= dict.fromkeys(
                (name for name in sensor.info.columns if name == "temp_c.composite"), limit_c
            )
    return limits


def sensor_meta(sensor: Sensor) -> SensorMeta:
    """Return what a recording says of a sensor."""
    info = sensor.info
    return SensorMeta(
        name=info.name,
        source=info.source,
        columns=list(info.columns),
        interval_s=info.interval_s,
        idle_interval_s=IDLE_POLL_INTERVAL_S,
        thresholds=info.thresholds,
        details=info.details,
    )


def host_facts() -> dict[str, Any]:
    """Return what a recording says of the machine."""
    return {
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "cpus": psutil.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "python": platform.python_version(),
    }
