"""Courses into recordings that look like any other."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import heatsoak
from heatsoak.corpus import host
from heatsoak.corpus.instruments import Instruments
from heatsoak.corpus.logged import Habits, rates
from heatsoak.corpus.machine import Array, Course
from heatsoak.corpus.scenario import Take
from heatsoak.protocol import Protocol
from heatsoak.recording import Event, HeldRecording, RecordingMeta, SensorMeta
from heatsoak.recording.columns import schema_of

#: Sensors are asked once a second, in pauses once in ten.
SENSOR_S, IDLE_SENSOR_S = 1.0, 10.0
_HOST_COLUMNS = {
    "cpu": ("cpu_pct", "cpu_core_pct"),
    "steal": ("cpu_steal_pct",),
    "device": ("device_read_mb_s", "device_write_mb_s"),
    "link": ("link_mb_s",),
}


def recorded(
    take: Take,
    courses: list[Course],
    shown: dict[str, Array],
    habits: Habits,
    size_bytes: int,
    name: str,
    chance: np.random.Generator,
) -> HeldRecording:
    """Return the recording of `courses`; `shown` are the noise-free rates of its loads."""
    instruments = Instruments(habits, chance)
    frames, events = [], []
    for course in courses:
        is_load = course.step.loads
        step = course.step.name if is_load else None
        end_s = course.begin_s + course.duration_s
        events += [
            Event(
                t_s=course.begin_s,
                kind="step-begin",
                step=course.step.name,
                data={"step_kind": course.step.kind},
            ),
            Event(
                t_s=end_s,
                kind="step-end",
                step=course.step.name,
                data={"duration_s": course.duration_s},
            ),
        ]
        readings = _readings(take, course, shown.get(course.step.name), habits, instruments, chance)
        frame = readings
        if is_load:
            gaps = habits.gaps if course.step.kind == "workload" else 0
            samples = rates(course, habits, shown[course.step.name], gaps, chance)
            frame = _joined(samples, readings, habits)
        frames.append(frame.with_columns(pl.lit(step, dtype=pl.String).alias("step")))
    samples = pl.concat([frame for frame in frames if not frame.is_empty()], how="diagonal")
    schema = schema_of(samples.columns)
    protocol = Protocol(name=name, conditions=take.conditions, steps=take.steps)
    meta = RecordingMeta(
        status="finished",
        protocol=protocol,
        conditions=take.conditions,
        drive=_identity(take, habits, size_bytes),
        tools={"heatsoak": heatsoak.__version__},
        load={"tool": "heatsoak's labelled corpus"},
        sensors=_sensors(take, habits, samples.columns),
        columns={column: str(dtype()) for column, dtype in schema.items()},
        started_unix_s=None,
        duration_s=courses[-1].begin_s + courses[-1].duration_s,
    )
    samples = samples.select(*schema).sort("t_s", maintain_order=True)
    return HeldRecording(Path(name), meta, samples, events)


def _readings(
    take: Take,
    course: Course,
    shown: Array | None,
    habits: Habits,
    instruments: Instruments,
    chance: np.random.Generator,
) -> pl.DataFrame:
    """Readings of the drive's instruments and, under load, of the host's."""
    every_s = max(SENSOR_S, habits.sampling_s) if shown is not None else IDLE_SENSOR_S
    stride = round(every_s / course.grid_s)
    index = np.arange(stride - 1, len(course), stride)
    data: dict[str, Array] = {"t_s": course.begin_s + course.t_s[index]}
    if habits.sensor != "none":
        data["temp_c.composite"] = instruments.temperature(course)[index]
    if habits.levels:
        data |= {name: values[index] for name, values in instruments.counters(course).items()}
    if shown is not None:
        held = [stretch for stretch in take.held if stretch.step == course.step.name]
        link_mb_s = take.link_mb_s or habits.link_mb_s
        data |= host.columns(course, held, habits, shown, link_mb_s, index, chance)
    return pl.DataFrame(data) if len(data) > 1 else pl.DataFrame(schema={"t_s": pl.Float64})


def _joined(samples: pl.DataFrame, readings: pl.DataFrame, habits: Habits) -> pl.DataFrame:
    """Sensors' readings in the rows of the rates, or in rows of their own."""
    if readings.width < 2:
        return samples
    if habits.apart:
        shifted = readings.with_columns(pl.col("t_s") - 0.037)
        return pl.concat([samples, shifted], how="diagonal").sort("t_s")
    tolerance_s = 0.5 * habits.sampling_s
    return samples.join_asof(
        readings.rename({"t_s": "read_s"}).sort("read_s"),
        left_on="t_s",
        right_on="read_s",
        strategy="nearest",
        tolerance=tolerance_s - 1e-6,
    ).drop("read_s", strict=False)


def _identity(take: Take, habits: Habits, size_bytes: int) -> dict[str, Any]:
    """The drive as a real one would be known: nothing says what it was made to show."""
    details: dict[str, Any] = {}
    if "link" in habits.others:
        now_mb_s = take.link_mb_s or habits.link_mb_s
        details["link"] = {
            "kind": "pcie",
            "ceiling_mb_s": round(now_mb_s),
            "max_ceiling_mb_s": round(habits.link_mb_s),
        }
    return {
        "kind": "block",
        "path": "/dev/nvme0n1",
        "model": take.model or take.setup.model,
        "serial": None,
        "size_bytes": take.size_bytes or size_bytes,
        "simulated": False,
        "details": details,
    }


def _sensors(take: Take, habits: Habits, columns: list[str]) -> list[SensorMeta]:
    families = ("temp_c.", "throttle_")
    own = [column for column in columns if column.startswith(families)]
    found = []
    every_s = max(SENSOR_S, habits.sampling_s)
    if own:
        found.append(
            SensorMeta(
                name="nvme",
                source="SMART / Health log page",
                columns=own,
                interval_s=every_s,
                idle_interval_s=IDLE_SENSOR_S,
                thresholds={
                    name: float(round(limit_c + habits.offset_c))
                    for name, limit_c in take.setup.limits_c.items()
                },
            )
        )
    for other, names in _HOST_COLUMNS.items():
        if other in habits.others:
            found.append(
                SensorMeta(name=other, source="kernel", columns=list(names), interval_s=every_s)
            )
    return found
