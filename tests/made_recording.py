"""Recordings of samples that a test makes up, and recordings as if they had been made otherwise."""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from heatsoak.analysis import RecordingFindings, analyze
from heatsoak.protocol import Protocol
from heatsoak.recording import META, Event, InMemoryRecording, Recording, RecordingMeta
from heatsoak.recording.writer import NO_CHECKSUMS, checksums, write_meta
from numpy.typing import NDArray

Array = NDArray[np.float64]


def sampled(
    rates: Array,
    *,
    step: str = "load",
    column: str = "write_bw_mb_s",
    sampling_s: float = 1.0,
    start_s: float = 0.0,
    sigma: float = 0.01,
    seed: int = 1,
    **columns: Any,
) -> pl.DataFrame:
    """A step's samples at even times, its `rates` with noise upon them.

    Further columns, one value for all rows or one for each, have __ for a dot in their names.
    """
    count = len(rates)
    noise = np.random.default_rng(seed).normal(1, sigma, count)
    more = {name.replace("__", "."): np.broadcast_to(v, (count,)) for name, v in columns.items()}
    return pl.DataFrame(
        {
            "t_s": start_s + sampling_s * np.arange(1, count + 1),
            "step": [step] * count,
            "interval_s": np.full(count, sampling_s),
            column: rates * noise,
            **more,
        }
    )


def held(
    samples: pl.DataFrame,
    *,
    rw: str | Mapping[str, str] = "randwrite",
    bs: str = "4k",
    preconditions: Sequence[str] = (),
    conditions: Mapping[str, Any] | None = None,
    serial: str | None = None,
    **meta: Any,
) -> InMemoryRecording:
    """Hold `samples`, with a recording's columns, as a finished recording; `meta` changes facts.

    The steps are those that the samples name, in the order of time; `rw` may say it for each.
    """
    names = samples["step"].drop_nulls().unique(maintain_order=True).to_list()
    steps = [
        {
            "kind": "precondition" if name in preconditions else "workload",
            **{"name": name, "rw": rw if isinstance(rw, str) else rw[name], "bs": bs},
        }
        for name in names
    ]
    facts: dict[str, Any] = {
        "status": "finished",
        "duration_s": float(samples["t_s"].to_list()[-1]),
        "protocol": Protocol.model_validate({"name": "x", "steps": steps}),
        "conditions": dict(conditions or {}),
        "drive": {"model": "a drive"} | ({"serial": serial} if serial else {}),
        "columns": {name: str(dtype) for name, dtype in samples.schema.items()},
        "started_unix_s": time.time(),
    }
    begins_s = {name: samples.filter(pl.col("step") == name)["t_s"].to_list()[0] for name in names}
    events = [Event(t_s=at, kind="step-begin", step=name) for name, at in begins_s.items()]
    return InMemoryRecording(Path("made"), RecordingMeta(**(facts | meta)), samples, events)


def make_recording(path: Path, samples: pl.DataFrame, **how: Any) -> Recording:
    """Write what :func:`held` makes of `samples`, and open what was written."""
    return held(samples, **how).save(path)


def judged(samples: pl.DataFrame, **how: Any) -> RecordingFindings:
    """Return what is found in what :func:`held` makes of `samples`."""
    return analyze([held(samples, **how)]).recordings[0]


def remake(path: Path, **changes: Any) -> Recording:
    """Let a recording have been made with the files that a test left in it, and open it.

    `changes` are to `recording.json`.
    """
    meta = RecordingMeta.model_validate(json.loads((path / META).read_text()) | changes)
    sums = NO_CHECKSUMS if meta.status == "running" else checksums(path)
    write_meta(path, meta.model_copy(update=sums))
    return Recording.open(path)


def of_older_version(path: Path, kept: str | None = None) -> None:
    """Let a recording be one of a version that kept no checksum but `kept`."""
    meta = json.loads((path / META).read_text())
    (path / META).write_text(
        json.dumps({k: v for k, v in meta.items() if k == kept or k not in NO_CHECKSUMS})
    )
