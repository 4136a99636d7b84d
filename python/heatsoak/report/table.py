"""Findings as one table: a row for each episode, and for each step without one."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from heatsoak.analysis import Episode, Findings, RecordingFindings, StepFindings
from heatsoak.analysis.names import Names
from heatsoak.protocol import label_text

_STEP: dict[str, type[pl.DataType]] = {
    "step": pl.String,
    "workload": pl.String,
    "duration_s": pl.Float64,
    "mean_mb_s": pl.Float64,
    "start_temp_c": pl.Float64,
    "power_mean_w": pl.Float64,
    "energy_j": pl.Float64,
    "verdict": pl.String,
    "why_unknown": pl.String,
}
_EPISODE: dict[str, type[pl.DataType]] = {
    "onset_s": pl.Float64,
    "end_s": pl.Float64,
    "direction": pl.String,
    "before_mb_s": pl.Float64,
    "during_mb_s": pl.Float64,
    "before_iops": pl.Float64,
    "during_iops": pl.Float64,
    "before_lat_us": pl.Float64,
    "during_lat_us": pl.Float64,
    "depth_pct": pl.Float64,
    "cause": pl.String,
    "confidence": pl.Float64,
    "shape": pl.String,
    "fall_s": pl.Float64,
    "oscillates": pl.Boolean,
    "period_s": pl.Float64,
    "recovered": pl.Boolean,
    "written_gb_at_onset": pl.Float64,
    "temp_c_at_onset": pl.Float64,
}


def findings_table(findings: Findings, names: Names) -> pl.DataFrame:
    """Return the table: recording, drive, its conditions, the step, and the episode's number.

    The columns of conditions are named ``condition.`` plus their key.
    """
    keys = list(dict.fromkeys(key for one in findings.recordings for key in one.conditions))
    schema: dict[str, type[pl.DataType]] = {
        **dict.fromkeys(("recording", "path", "drive", "serial"), pl.String),
        **{f"condition.{key}": pl.String for key in keys},
        **_STEP,
        "episode": pl.Int64,
        **_EPISODE,
        "evidence": pl.String,
    }
    rows = [
        row
        for named, recording in zip(names.recordings, findings.recordings, strict=True)
        for row in _rows(recording, named.label)
    ]
    return pl.DataFrame([{key: row.get(key) for key in schema} for row in rows], schema=schema)


def _rows(recording: RecordingFindings, label: str) -> Iterator[dict[str, Any]]:
    drive = recording.drive
    whose = {
        "recording": label,
        "path": recording.path,
        "drive": _text(drive.get("model") or drive.get("path")),
        "serial": _text(drive.get("serial")),
        **{f"condition.{key}": _text(value) for key, value in recording.conditions.items()},
    }
    for step in recording.steps:
        of_step = whose | {key: getattr(step, key) for key in _STEP}
        yield from _of_step(step, of_step)


def _of_step(step: StepFindings, of_step: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if not step.episodes:
        yield of_step | {"evidence": "; ".join(step.why) or None}
    for number, episode in enumerate(step.episodes, 1):
        yield of_step | {"episode": number} | _of_episode(episode)


def _of_episode(episode: Episode) -> dict[str, Any]:
    evidence = "; ".join(episode.evidence)
    return {key: getattr(episode, key) for key in _EPISODE} | {"evidence": evidence}


def _text(value: Any) -> str | None:
    return None if value is None else label_text(value)
