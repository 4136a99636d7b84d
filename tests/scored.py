"""Recordings in memory of steps that follow each other, with what scores are made of."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from heatsoak.protocol import Protocol
from heatsoak.recording import Event, InMemoryRecording, RecordingMeta


def recording_of(
    protocol: Protocol,
    by_step: Mapping[str, Mapping[str, Any]],
    *,
    ends: Mapping[str, Mapping[str, Any] | None] | None = None,
    skipped: Mapping[str, str] | None = None,
    name: str = "made",
    **meta: Any,
) -> InMemoryRecording:
    """Each step's columns at 10 Hz, of which one may be an array and others constants.

    `ends` has the data of each step's end; None where it has none.
    """
    frames, events, start_s = [], [], 0.0
    for step, columns in by_step.items():
        count = max(np.size(values) for values in columns.values())
        t_s = start_s + np.arange(1, count + 1) / 10
        rows = {key: np.broadcast_to(values, (count,)) for key, values in columns.items()}
        rows |= {"t_s": t_s, "interval_s": np.full(count, 0.1)}
        frames.append(pl.DataFrame(rows).with_columns(step=pl.lit(step)))
        events.append(Event(t_s=start_s, kind="step-begin", step=step))
        start_s = float(t_s[-1])
        end = (ends or {}).get(step, {})
        if end is not None:
            events.append(Event(t_s=start_s, kind="step-end", step=step, data=dict(end)))
    for step, text in (skipped or {}).items():
        events.append(Event(t_s=start_s, kind="step-skipped", step=step, text=text))
    samples = pl.concat(frames, how="diagonal_relaxed")
    told = RecordingMeta.model_validate(
        {
            "status": "finished",
            "protocol": protocol,
            "conditions": {},
            "drive": {"model": "a drive", "size_bytes": 10**12},
            "columns": dict.fromkeys(samples.columns, "Float64"),
            "started_unix_s": 0.0,
            **meta,
        }
    )
    return InMemoryRecording(Path(name), told, samples, events)
