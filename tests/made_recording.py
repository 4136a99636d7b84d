"""Recordings of samples that a test makes up, and recordings as if they had been made otherwise."""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from heatsoak.protocol import Protocol
from heatsoak.recording import META, Event, Recording, RecordingMeta, RecordingWriter
from heatsoak.recording.files import NO_CHECKSUMS, checksums, write_meta


def make_recording(
    path: Path,
    samples: pl.DataFrame,
    *,
    rw: str | Mapping[str, str] = "randwrite",
    bs: str = "4k",
    preconditions: Sequence[str] = (),
    conditions: Mapping[str, str] | None = None,
    serial: str | None = None,
) -> Recording:
    """Write `samples`, with a recording's columns, and open what was written.

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
    meta = RecordingMeta(
        protocol=Protocol.model_validate({"name": "x", "steps": steps}),
        conditions=dict(conditions or {}),
        drive={"model": "a drive"} | ({"serial": serial} if serial else {}),
        columns={name: str(dtype) for name, dtype in samples.schema.items()},
        started_unix_s=time.time(),
    )
    writer = RecordingWriter(path, meta)
    for name in names:
        start_s = samples.filter(pl.col("step") == name)["t_s"].to_list()[0]
        writer.event(Event(t_s=start_s, kind="step-begin", step=name))
    writer.append(samples)
    writer.finish("finished", float(samples["t_s"].to_list()[-1]))
    return Recording.open(path)


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
