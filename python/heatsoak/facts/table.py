"""A row for each judged step: what a history keeps, and what racks are compared by."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from heatsoak import analysis, output, protocol
from heatsoak.analysis.course import end_of
from heatsoak.analysis.likeness import load_key
from heatsoak.analysis.view import RecordingView, StepView
from heatsoak.recording import Recording
from heatsoak.recording.columns import throttle_counters

#: The columns of the index. `path` is relative to the directory that is indexed; `stamp` tells
#: whether the recording's files changed, `judged_by` which heatsoak judged it. `alike` is the same
#: for the same step after the same steps; `is_comparable` is false for a step that was cut short
#: or whose load nobody controlled. `level` is that before the first episode, in MB/s or, if no
#: bytes were logged, IOPS; `throttled_mb_s` is that after it, if heat caused it, and `heat` what is
#: claimed of the step: ``yes``, ``no`` or ``open``. Counters and wear are the drive's own, at the
#: end of the step and the start of the recording. A recording without a judged step has one row
#: with `step` null.
SCHEMA: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("path", "stamp", "judged_by"), pl.String),
    "started_unix_s": pl.Float64,
    **dict.fromkeys(("drive", "serial", "model", "firmware"), pl.String),
    "size_bytes": pl.Int64,
    **dict.fromkeys(("host", "place", "protocol", "step", "workload", "alike"), pl.String),
    "round": pl.Int64,
    "is_comparable": pl.Boolean,
    **dict.fromkeys(("duration_s", "mean_mb_s", "iops", "level"), pl.Float64),
    **dict.fromkeys(("verdict", "heat"), pl.String),
    **dict.fromkeys(("onset_s", "depth_pct", "throttled_mb_s"), pl.Float64),
    **dict.fromkeys(("start_temp_c", "max_temp_c"), pl.Float64),
    **dict.fromkeys(("used_pct", "written_gb", "throttle_count", "throttle_s"), pl.Float64),
}
_COUNTERS = {"throttle_count": "throttle_count.", "throttle_s": "throttle_time_s."}
_FIRMWARE_LABELS = ("firmware", "fw")


def summaries_of(opened: RecordingView, found: analysis.RecordingFindings) -> list[dict[str, Any]]:
    """Return the rows of a judged recording, without `path`, `stamp` and `judged_by`."""
    recording, meta = opened.recording, opened.recording.meta
    whose = {"started_unix_s": meta.started_unix_s, **_drive(recording), **_setting(recording)}
    whose |= {"protocol": meta.protocol.name} | _wear(recording)
    rows = [
        whose | _step(step, recording) | _measured(view, meta.columns)
        for step, view in zip(found.steps, opened.views, strict=True)
    ]
    return rows or [whose]


def _drive(recording: Recording) -> dict[str, Any]:
    drive, labels, identity = recording.meta.drive, recording.meta.conditions, recording.identity
    details = drive.get("details") or {}
    told = [drive.get("firmware"), details.get("firmware")]
    told += [sensor.details.get("firmware") for sensor in recording.meta.sensors]
    told += [labels.get(name) for name in _FIRMWARE_LABELS]
    return {
        "drive": _text(identity.text),
        "serial": _text(identity.serial),
        "model": _text(identity.model),
        "firmware": next((text for each in told if (text := _text(each))), None),
        "size_bytes": identity.size_bytes,
    }


def _setting(recording: Recording) -> dict[str, str]:
    """Where it was measured: how the drive was cooled, and in which machine."""
    labels, host = recording.meta.conditions, recording.meta.host
    # a kernel's release changes with every update, and memory a little
    facts = [host.get("system"), host.get("machine")]
    facts += [f"{host['cpus']} processors"] if host.get("cpus") else []
    machine = [*(_text(fact) for fact in facts), _listed(labels, "identity", _FIRMWARE_LABELS)]
    return {
        "place": _listed(labels, "cooling"),
        "host": ", ".join(text for text in machine if text),
    }


def _listed(labels: Mapping[str, protocol.Label], kind: str, without: tuple[str, ...] = ()) -> str:
    return output.printable(
        ", ".join(
            f"{name} {protocol.label_text(value)}"
            for name, value in sorted(labels.items())
            if protocol.kind_of_condition(name) == kind
            and name not in (*without, *protocol.REPETITIONS)
        )
    )


def _wear(recording: Recording) -> dict[str, Any]:
    known = [sensor.details for sensor in recording.meta.sensors]
    return {
        name: next((details[name] for details in known if details.get(name) is not None), None)
        for name in ("used_pct", "written_gb")
    }


def _step(step: analysis.StepFindings, recording: Recording) -> dict[str, Any]:
    first = step.episodes[0] if step.episodes else None
    level = step.mean_mb_s if first is None else first.before_mb_s or first.before_iops
    slowed_mb_s = None
    if first is not None and first in step.by_heat and first.before_mb_s is not None:
        slowed_mb_s = first.before_mb_s * (1 - first.depth_pct / 100)
    name = step.step if step.round is None else step.step.removesuffix(f"/{step.round}")
    meta = recording.meta
    return {
        "step": output.printable(name),
        "round": step.round,
        "workload": output.printable(step.workload),
        "alike": load_key(meta.protocol, name, _listed(meta.conditions, "load")),
        "is_comparable": _is_comparable(step, recording),
        "duration_s": step.duration_s,
        "mean_mb_s": step.mean_mb_s,
        "level": level,
        "verdict": step.verdict,
        "heat": step.claim.heat,
        "onset_s": None if first is None else first.onset_s,
        "depth_pct": None if first is None else first.depth_pct,
        "throttled_mb_s": slowed_mb_s,
        "start_temp_c": step.start_temp_c,
        "max_temp_c": step.max_temp_c,
    }


def _is_comparable(step: analysis.StepFindings, recording: Recording) -> bool:
    meta = recording.meta
    for one in meta.protocol.workload_steps:
        if (
            one.name == step.step
            and isinstance(one, protocol.Observed)
            and (one.watched or one.rw is None)
        ):
            return False
    if (end := end_of(recording, step.step)) is not None:
        return end.data.get("was_done") is not False
    return meta.status == "finished"


def _measured(view: StepView, columns: Iterable[str]) -> dict[str, float | None]:
    """A step's mean IOPS, and the drive's counters at its end."""
    found = {"iops": view.iops.mean(-math.inf, math.inf)}
    for name, prefix in _COUNTERS.items():
        counted = [
            view.track(column).values
            for column in throttle_counters(columns)
            if column.startswith(prefix)
        ]
        is_known = counted and all(map(len, counted))
        found[name] = float(sum(values[-1] for values in counted)) if is_known else math.nan
    return {name: value if math.isfinite(value) else None for name, value in found.items()}


def _text(value: Any) -> str | None:
    return output.printable(str(value).strip()) or None if value not in (None, "") else None
