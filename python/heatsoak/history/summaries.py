"""What is kept of a recording: a row for each judged step."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from heatsoak.analysis import RecordingFindings, StepFindings, analyze
from heatsoak.analysis.likeness import load_key
from heatsoak.importer import divided
from heatsoak.output import printable
from heatsoak.protocol import REPETITIONS, Label, Observed
from heatsoak.protocol.conditions import kind_of_condition
from heatsoak.recording import Recording
from heatsoak.recording.columns import throttle_counters

#: The columns of the index. `path` is relative to the directory that is indexed; `stamp` tells
#: whether the recording's files changed, `judged_by` which heatsoak judged it. `alike` is the same
#: for the same step after the same steps; `is_comparable` is false for a step that was cut short
#: or whose load nobody controlled. `level` is that before the first episode, in MB/s or, if no
#: bytes were logged, IOPS. Counters and wear are the drive's own, at the end of the step and the
#: start of the recording. A recording without a judged step has one row with `step` null.
SCHEMA: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("path", "stamp", "judged_by"), pl.String),
    "started_unix_s": pl.Float64,
    **dict.fromkeys(("drive", "serial", "model", "firmware"), pl.String),
    "size_bytes": pl.Int64,
    **dict.fromkeys(("host", "place", "protocol", "step", "workload", "alike"), pl.String),
    "round": pl.Int64,
    "is_comparable": pl.Boolean,
    **dict.fromkeys(("duration_s", "mean_mb_s", "iops", "level"), pl.Float64),
    **dict.fromkeys(("verdict", "cause"), pl.String),
    **dict.fromkeys(("onset_s", "depth_pct", "start_temp_c", "max_temp_c"), pl.Float64),
    **dict.fromkeys(("used_pct", "written_gb", "throttle_count", "throttle_s"), pl.Float64),
}
_COUNTERS = {"throttle_count": "throttle_count.", "throttle_s": "throttle_time_s."}
_FIRMWARE_LABELS = ("firmware", "fw")


def summaries_of(
    recording: Recording, findings: RecordingFindings | None = None
) -> list[dict[str, Any]]:
    """Return the rows of a recording, without `path`, `stamp` and `judged_by`.

    It is judged on its own unless `findings` are given. Raises UsageError if it is damaged.
    """
    recording = divided(recording)
    meta = recording.meta
    whose = {"started_unix_s": meta.started_unix_s, **_drive(recording), **_setting(recording)}
    whose |= {"protocol": meta.protocol.name} | _wear(recording)
    if findings is None:
        (findings,) = analyze([recording]).recordings
    measured = _measured(recording)
    rows = [whose | _step(step, recording) | measured.get(step.step, {}) for step in findings.steps]
    return rows or [whose]


def _drive(recording: Recording) -> dict[str, Any]:
    drive, labels = recording.meta.drive, recording.meta.conditions
    model, serial = _text(drive.get("model")), _text(drive.get("serial"))
    details = drive.get("details") or {}
    told = [drive.get("firmware"), details.get("firmware")]
    told += [sensor.details.get("firmware") for sensor in recording.meta.sensors]
    told += [labels.get(name) for name in _FIRMWARE_LABELS]
    nameless = ", ".join(text for text in (model, _text(drive.get("path"))) if text)
    return {
        "drive": serial or nameless or "unnamed drive",
        "serial": serial,
        "model": model,
        "firmware": next((text for each in told if (text := _text(each))), None),
        "size_bytes": drive.get("size_bytes"),
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


def _listed(labels: Mapping[str, Label], kind: str, without: tuple[str, ...] = ()) -> str:
    return printable(
        ", ".join(
            f"{name} {str(value).lower() if isinstance(value, bool) else value}"
            for name, value in sorted(labels.items())
            if kind_of_condition(name) == kind and name not in (*without, *REPETITIONS)
        )
    )


def _wear(recording: Recording) -> dict[str, Any]:
    known = [sensor.details for sensor in recording.meta.sensors]
    return {
        name: next((details[name] for details in known if details.get(name) is not None), None)
        for name in ("used_pct", "written_gb")
    }


def _step(step: StepFindings, recording: Recording) -> dict[str, Any]:
    first = step.episodes[0] if step.episodes else None
    level = step.mean_mb_s if first is None else first.before_mb_s or first.before_iops
    name = step.step if step.round is None else step.step.removesuffix(f"/{step.round}")
    meta = recording.meta
    return {
        "step": printable(name),
        "round": step.round,
        "workload": printable(step.workload),
        "alike": load_key(meta.protocol, name, _listed(meta.conditions, "load")),
        "is_comparable": _is_comparable(step, recording),
        "duration_s": step.duration_s,
        "mean_mb_s": step.mean_mb_s,
        "level": level,
        "verdict": step.verdict,
        "cause": None if first is None else first.cause,
        "onset_s": None if first is None else first.onset_s,
        "depth_pct": None if first is None else first.depth_pct,
        "start_temp_c": step.start_temp_c,
        "max_temp_c": step.max_temp_c,
    }


def _is_comparable(step: StepFindings, recording: Recording) -> bool:
    meta = recording.meta
    for one in meta.protocol.workload_steps:
        if one.name == step.step and isinstance(one, Observed) and (one.watched or one.rw is None):
            return False
    ends = [event for event in recording.events if (event.kind, event.step) == _end(step)]
    if ends:
        return ends[-1].data.get("was_done") is not False
    return meta.status == "finished"


def _end(step: StepFindings) -> tuple[str, str]:
    return "step-end", step.step


def _measured(recording: Recording) -> dict[str, dict[str, Any]]:
    """IOPS and the drive's counters of each step, by its name."""
    columns = recording.meta.columns
    iops = [name for name in ("read_iops", "write_iops", "iops") if name in columns]
    counters = {
        name: [column for column in throttle_counters(columns) if column.startswith(prefix)]
        for name, prefix in _COUNTERS.items()
    }
    of_counters = [column for found in counters.values() for column in found]
    wanted = ["t_s", "step", "interval_s", *iops, *of_counters]
    length_s = pl.col("interval_s").fill_null(0.0)
    rate = pl.sum_horizontal(iops) if iops else pl.lit(None, dtype=pl.Float64)
    counted = pl.any_horizontal(pl.col(iops).is_not_null()) if iops else pl.lit(False)
    rows = (
        recording.scan(wanted)
        .filter(pl.col("step").is_not_null())
        .group_by("step")
        .agg(
            ((rate * length_s).filter(counted).sum() / length_s.filter(counted).sum()).alias(
                "iops"
            ),
            *(pl.col(column).drop_nulls().last() for column in of_counters),
        )
        .with_columns(
            pl.sum_horizontal(found, ignore_nulls=False).alias(name)
            if found
            else pl.lit(None, dtype=pl.Float64).alias(name)
            for name, found in counters.items()
        )
        .collect()
    )
    return {
        row["step"]: {
            name: row[name] if row[name] is not None and row[name] == row[name] else None
            for name in ("iops", *_COUNTERS)
        }
        for row in rows.iter_rows(named=True)
    }


def _text(value: Any) -> str | None:
    return printable(str(value).strip()) or None if value not in (None, "") else None
