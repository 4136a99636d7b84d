"""Runs a protocol's steps on a target and records everything that is seen meanwhile."""

import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl
import psutil

import heatsoak
from heatsoak.bench.latest import Latest
from heatsoak.bench.observer import Observer
from heatsoak.bench.probes import Decision, Prober
from heatsoak.bench.rounds import RoundsWatch
from heatsoak.errors import HeatsoakError, RunInterrupted, ToolError
from heatsoak.protocol import (
    Conditions,
    LoadStep,
    Pause,
    Protocol,
    Purge,
    Replay,
    Rounds,
    SingleStep,
    Step,
    WorkloadStep,
)
from heatsoak.recording import Event, Recording, RecordingMeta, RecordingWriter, SensorMeta
from heatsoak.recording.columns import schema_of
from heatsoak.sensor import Poller, Sensor
from heatsoak.target import Batch, Note, Outcome, Target

#: Polling a drive keeps it awake and warm: in pauses it is asked this rarely.
IDLE_POLL_INTERVAL_S = 10.0


def conduct(
    protocol: Protocol,
    target: Target,
    conditions: Conditions,
    directory: Path,
    *,
    sensors: list[Sensor],
    observer: Observer,
    notes: list[Note] | None = None,
) -> Recording:
    """Run `protocol` once on `target`, which is open, and record it into `directory`.

    Whatever ends the run, the recording keeps all that was seen; its status says how it ended.
    Raises ToolError when a drive or tool fails, RunInterrupted when the user stops it.
    """
    conductor = _Conductor(protocol, target, conditions, directory, sensors, observer)
    return conductor.run(notes or [])


@dataclass(frozen=True)
class _End:
    """How a step's iterator ended: early, and after warnings or without any."""

    is_early: bool
    has_warned: bool


class _Conductor:
    def __init__(
        self,
        protocol: Protocol,
        target: Target,
        conditions: Conditions,
        directory: Path,
        sensors: list[Sensor],
        observer: Observer,
    ) -> None:
        self.protocol = protocol
        self.target = target
        self.observer = observer
        self.step_name: str | None = None
        self.latest = Latest()
        self.rounds: RoundsWatch | None = None
        #: What the step's load has come to, as its generator tells.
        self.outcome: dict[str, Any] = {}
        self.limits_c = _critical_limits(sensors)
        self.prober = Prober(
            protocol.steps,
            can_purge=target.identity.kind != "file",
            warn=lambda text: self._note("warning", text),
        )
        columns = ["step", *target.columns()]
        columns += [column for sensor in sensors for column in sensor.info.columns]
        schema = schema_of(columns)
        self.writer = RecordingWriter(
            directory,
            RecordingMeta(
                protocol=protocol,
                conditions=conditions,
                drive=asdict(target.identity),
                host=_host(),
                tools={"heatsoak": heatsoak.__version__},
                load=target.describe(),
                sensors=[_sensor_meta(sensor) for sensor in sensors],
                columns={name: str(dtype()) for name, dtype in schema.items()},
                started_unix_s=time.time() - target.clock.now_s(),
            ),
        )
        self.poller = Poller(sensors, target.clock, self._on_reading, on_note=self._note)

    def run(self, notes: list[Note]) -> Recording:
        for text in self.protocol.notes:
            self._note("warning", text)
        for note in notes:
            self._note(note.level, note.text, note.data)
        self.poller.start()
        try:
            for index, step in enumerate(self.protocol.steps):
                self._step(index, step)
        except KeyboardInterrupt:
            self._finish("interrupted", "stopped by the user")
            raise RunInterrupted(f"stopped; the recording is in {self.writer.directory}") from None
        except HeatsoakError as error:
            self._finish("failed", str(error))
            raise type(error)(
                f"{error}; the recording so far is in {self.writer.directory}"
            ) from error
        except BaseException:
            self._finish("failed", "a fault in heatsoak itself")
            raise
        self._finish("finished", None)
        return Recording.open(self.writer.directory)

    def _step(self, index: int, step: Step) -> None:
        decision = self.prober.decide(step)
        if decision is not None and not decision.is_taken:
            self._skip(index, step, decision.reason)
            return
        if isinstance(step, Rounds):
            self._begin(index, step, decision)
            self._rounds(index, step)
            self.prober.end(step)
        else:
            self._single(index, step, decision)

    def _rounds(self, index: int, rounds: Rounds) -> None:
        """Take rounds until they are steady, or as many as there may be."""
        self.rounds = watch = RoundsWatch(rounds)
        try:
            for number in range(1, rounds.at_most + 1):
                for step in rounds.of_round(number):
                    self._single(index, step, None, number)
                watch.end_round()
                if watch.is_steady:
                    break
        finally:
            self.rounds = None
        text, data = watch.describe(), watch.data()
        if rounds.until is None or watch.is_steady:
            self._event("step-end", rounds.name, text, data)
        else:
            self._event("step-end", rounds.name, "", data)
            self._note("warning", text)

    def _single(
        self, index: int, step: SingleStep, decision: Decision | None, number: int | None = None
    ) -> None:
        """Take a step once; `number` is its round, where it is one of rounds."""
        self.step_name = step.name if isinstance(step, LoadStep) else None
        begin_s, begin_cpu_s = self.target.clock.now_s(), time.process_time()
        self.outcome = {}
        self._begin(index, step, decision, number)
        self.prober.begin(step)
        was_done, text = True, ""
        match step:
            case WorkloadStep() | Replay():
                text = self._load(step)
            case Pause():
                self._pause(step)
            case Purge():
                was_done = not self._consume(self.target.purge(step.method)).has_warned
        end_s = self.target.clock.now_s()
        data: dict[str, Any] = {
            "duration_s": end_s - begin_s,
            # what measuring costs: our own, not that of the tool that loads
            "own_cpu_s": round(time.process_time() - begin_cpu_s, 3),
            **self.outcome,
        }
        self._event("step-end", step.name, text, data if was_done else {**data, "was_done": False})
        self.prober.end(step, was_done=was_done)
        self.step_name = None

    def _skip(self, index: int, step: Step, reason: str) -> None:
        data = {"index": index, "step_kind": step.kind}
        self._event("step-skipped", step.name, reason, data)
        self.observer.on_skip(index, step, reason)

    def _begin(
        self, index: int, step: Step, decision: Decision | None, number: int | None = None
    ) -> None:
        data = {"index": index, "step_kind": step.kind, "temps_c": self.latest.temps_c()}
        if number is None or isinstance(step, Rounds):
            self.observer.on_step(index, step, self.target.clock.now_s())
        else:
            self.observer.on_round(step, number)
            data["round"] = number
        if decision is None:
            self._event("step-begin", step.name, data=data)
            return
        self._event("step-begin", step.name, f"probe: {decision.reason}", data)
        self.observer.on_probe(step, decision.reason)

    def _load(self, step: LoadStep) -> str:
        """Run a workload; return why it ended early, if it did."""
        down_s = step.end_after_drop_s
        if down_s is None:
            self._consume(self.target.run(step))
            return ""
        end = self._consume(self.target.run(step), until=lambda: self.prober.was_down_for(down_s))
        return f"ended early: it was slowed for {down_s:g} s" if end.is_early else ""

    def _pause(self, step: Pause) -> None:
        wanted_c = step.until_temp_c

        def is_cool() -> bool:
            temp_c = self.latest.drive_temp_c()
            return wanted_c is not None and temp_c is not None and temp_c <= wanted_c

        self.poller.slow(IDLE_POLL_INTERVAL_S)
        try:
            self._consume(self.target.idle(step.duration_s), until=is_cool)
        finally:
            self.poller.normal()
        if wanted_c is not None and not is_cool():
            temp_c = self.latest.drive_temp_c()
            seen = "no temperature can be read" if temp_c is None else f"it is at {temp_c:.0f} C"
            self._note(
                "warning",
                f"the pause was to reach {wanted_c:.0f} C and did not within "
                f"{step.duration_s:.0f} s: {seen}",
            )

    def _consume(self, batches: Iterator[Batch], until: Callable[[], bool] | None = None) -> "_End":
        has_warned, is_early = False, False
        try:
            for batch in batches:
                if isinstance(batch, Note):
                    has_warned |= batch.level == "warning"
                    self._note(batch.level, batch.text, batch.data)
                elif isinstance(batch, Outcome):
                    self.outcome = batch.data
                elif not batch.is_empty():
                    self._record(batch)
                self._check_limits()
                self.observer.on_progress(self.target.clock.now_s(), self.latest)
                if until is not None and until():
                    is_early = True
                    break
        finally:
            close = getattr(batches, "close", None)
            if close is not None:
                close()  # ends the load at once, not when the iterator is collected
        return _End(is_early, has_warned)

    def _record(self, samples: pl.DataFrame) -> None:
        self.prober.append(samples)
        if self.rounds is not None:
            self.rounds.append(self.step_name, samples)
        self.latest.update_from(samples)
        step = pl.lit(self.step_name, dtype=pl.String).alias("step")
        self.writer.append(samples.with_columns(step))

    def _on_reading(self, row: dict[str, float]) -> None:
        """Take a reading of the poller's thread."""
        self.latest.update(row)
        self.writer.append_row({**row, "step": self.step_name})

    def _check_limits(self) -> None:
        for column, limit_c in self.limits_c.items():
            temp_c = self.latest.value(column)
            if temp_c is not None and temp_c >= limit_c:
                raise ToolError(
                    f"{column.removeprefix('temp_c.')} reads {temp_c:.0f} C, and the drive's "
                    f"critical limit is {limit_c:.0f} C: stopped"
                )

    def _finish(self, status: Any, reason: str | None) -> None:
        self.poller.stop()
        # they hold on to this, and this to the target: a simulated drive is gigabytes
        del self.poller, self.prober
        duration_s = self.target.clock.now_s()
        if reason is not None:
            self._event("fault" if status == "failed" else "info", None, reason)
        # how the load was made is known in full only now
        self.writer.update(load=self.target.describe())
        self.writer.finish(status, duration_s, reason)

    def _event(
        self, kind: str, step: str | None, text: str = "", data: dict[str, Any] | None = None
    ) -> None:
        t_s = self.target.clock.now_s()
        self.writer.event(Event(t_s=t_s, kind=kind, step=step, text=text, data=data or {}))

    def _note(self, level: str, text: str, data: dict[str, Any] | None = None) -> None:
        self._event(level, self.step_name, text, data)
        self.observer.on_note(level, text)


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


def _sensor_meta(sensor: Sensor) -> SensorMeta:
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


def _host() -> dict[str, Any]:
    return {
        "system": platform.system(),
        "release": platform.release(),
        "machine": platform.machine(),
        "cpus": psutil.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "python": platform.python_version(),
    }
