"""Recordings in memory whose truth is known, to be compared."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from heatsoak.protocol import Observation, Observed, Protocol
from heatsoak.recording import Event, InMemoryRecording, RecordingMeta
from numpy.typing import NDArray
from scipy.signal import lfilter

Array = NDArray[np.float64]
DURATION_S = 300.0
READ = {"name": "read", "rw": "read", "bs": "128k", "iodepth": 32, "runtime": "300s"}


def noise(count: int, seed: int, correlation: float = 0.9, sigma: float = 0.02) -> Array:
    """AR(1) noise about 0, as 10 Hz samples of a drive have it."""
    scale = sigma * np.sqrt(1 - correlation**2)
    draws = np.random.default_rng(seed).normal(0, scale, count + 300)
    return np.asarray(lfilter([1.0], [1.0, -correlation], draws)[300:], dtype=np.float64)


def falling(onset_s: float, share: float, level: float = 2000.0) -> Array:
    """Throughput that falls to `share` of its level."""
    t_s = np.arange(1, int(DURATION_S * 10) + 1) / 10
    return level * np.where(t_s <= onset_s, 1.0, share)


def steady(level: float, duration_s: float = DURATION_S) -> Array:
    return np.full(int(duration_s * 10), level)


def warmth(rates: Array) -> Array:
    """How far a drive has warmed that does this every 0.1 s, within a minute: of 1 at most."""
    gain = -np.expm1(-0.1 / 60)
    most = max(float(np.max(rates)), 1e-9)
    return np.asarray(lfilter([gain], [1.0, gain - 1.0], rates / most), dtype=np.float64)


def run(
    conditions: Mapping[str, Any],
    rates: Array | Mapping[str, Array],
    *,
    seed: int = 0,
    sigma: float = 0.02,
    steps: Sequence[Mapping[str, Any]] = (READ,),
    way: str = "read",
    temp_c: float | None = 40.0,
    rest_c: Sequence[float] = (),
    drive: Mapping[str, Any] | None = None,
    protocol: str = "x",
    name: str | None = None,
    imported: bool = False,
    more: Mapping[str, float] | None = None,
    **changes: Any,
) -> InMemoryRecording:
    """A recording in memory: each workload of `steps` with its rates at 10 Hz and noise upon it.

    `rest_c` is what the drive reported in the last minute before each step, `way` what the rates
    are of.
    """
    by_step = dict(rates) if isinstance(rates, Mapping) else {"read": rates}
    frames, events, start_s = [], [], 1000.0
    for number, (step, values) in enumerate(by_step.items()):
        t_s = start_s + np.arange(1, len(values) + 1) / 10
        noisy = values * (1 + noise(len(values), 100 * seed + number, sigma=sigma))
        columns: dict[str, Any] = {
            "t_s": t_s,
            "interval_s": np.full(len(t_s), 0.1),
            f"{way}_bw_mb_s": noisy,
            f"{way}_iops": noisy / 0.131072,
        }
        columns |= {key: np.full(len(t_s), value) for key, value in (more or {}).items()}
        if temp_c is not None:
            columns["temp_c.composite"] = temp_c + 20 * warmth(values)
        rest_s = np.linspace(start_s - 50, start_s - 1, len(rest_c))
        rest = {"t_s": rest_s, "temp_c.composite": np.array(rest_c, dtype=float)}
        frames.append(pl.DataFrame(rest).with_columns(step=pl.lit("pause")))
        frames.append(pl.DataFrame(columns).with_columns(step=pl.lit(step)))
        events.append(Event(t_s=start_s, kind="step-begin", step=step))
        start_s += 1000.0
    samples = pl.concat(frames, how="diagonal")
    told: Protocol | Observation
    if imported:
        told = Observation(name="fio-log", steps=[Observed(name=step) for step in by_step])
    else:
        told = Protocol.model_validate({"name": protocol, "steps": [dict(s) for s in steps]})
    labels = "-".join(str(value) for value in conditions.values())
    meta = RecordingMeta(
        **{
            "status": "finished",
            "protocol": told,
            "conditions": dict(conditions),
            "drive": {"model": "a drive", "size_bytes": 10**12, **(drive or {})},
            "columns": dict.fromkeys(samples.columns, "Float64"),
            "started_unix_s": 0.0,
            **changes,
        }
    )
    return InMemoryRecording(Path(name or f"{labels}-{seed}"), meta, samples, events)
