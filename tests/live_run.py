"""Runs of the real fio while something is done to what it loads, on the clock of the machine."""

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from heatsoak.recording import Recording, find_recordings
from started import started


@dataclass
class Made:
    """A recording, what was said of it, and when what was done to it, in seconds of the load."""

    recording: Recording
    step: dict[str, Any]
    moments_s: list[float]

    @property
    def causes(self) -> set[str]:
        return {self.step["verdict"], *(one["cause"] for one in self.step["episodes"])}

    def mean(self, column: str, from_s: float, to_s: float = float("inf")) -> float:
        """Return the mean of a column between two times of the load, by the time of each sample."""
        t_s = pl.col("t_s") - start_s(self.recording)
        weight = pl.col("interval_s").fill_null(1.0)
        samples = (
            self.recording.samples(["t_s", "interval_s", column])
            .filter(t_s.is_between(from_s, to_s))
            .drop_nulls(column)
        )
        value = samples.select((pl.col(column) * weight).sum() / weight.sum()).item()
        assert isinstance(value, float)
        return value

    def level(self, column: str, from_s: float, to_s: float) -> float:
        """Return the median of the means of whole seconds: a standstill or burst takes no part."""
        seconds = range(round(to_s - from_s))
        return statistics.median(
            self.mean(column, from_s + second, from_s + second + 1) for second in seconds
        )


def start_s(recording: Recording) -> float:
    """Return when the load began: fio takes a while to start, and long on a busy machine."""
    rates = recording.samples(["t_s", "interval_s"]).filter(pl.col("interval_s").is_not_null())
    first = rates.row(0, named=True)
    return float(first["t_s"] - first["interval_s"])


def load(
    tmp_path: Path,
    uri: str,
    workload: str,
    runtime_s: int,
    deeds: list[tuple[float, Callable[[], None]]],
) -> Made:
    """Run `workload` on `uri` for `runtime_s`, and do each deed so long after it has begun."""
    (tmp_path / "real.toml").write_text(
        f'schema = 1\nname = "real"\n[[steps]]\nname = "load"\nruntime = "{runtime_s}s"\n{workload}'
    )
    words = ("run", "real.toml", "--on", uri, "-o", "r", "--format", "json")
    moments_unix_s = []
    with started(tmp_path, *words) as run:
        run.wait_for_load(1)
        begun = time.monotonic()
        for after_s, deed in deeds:
            time.sleep(max(0.0, begun + after_s - time.monotonic()))
            deed()
            moments_unix_s.append(time.time())
        output, errors = run.process.communicate(timeout=200)
    assert run.process.returncode == 0, errors
    (recording,) = find_recordings(tmp_path / "r")
    assert recording.meta.started_unix_s is not None
    origin_s = recording.meta.started_unix_s + start_s(recording)
    (step,) = json.loads(output)["recordings"][0]["steps"]
    return Made(recording, step, [moment - origin_s for moment in moments_unix_s])
