"""What the judge says of real loads that something other than heat slows: found, and not heat.

The machine that runs this may be busy with other things, so the effects are far larger than that.
"""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from exports import memory_export, set_rate
from heatsoak.recording import Recording, find_recordings

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("nbdkit") is None or shutil.which("fio") is None,
        reason="nbdkit or fio is not installed",
    ),
]

#: What the export takes before and while it is slowed; every machine is faster than that.
FULL_MB_S, CUT_MB_S = 80.0, 32.0


@dataclass
class Made:
    """A recording, what was said of it, and when what was done to it, in seconds of the load."""

    recording: Recording
    step: dict[str, Any]
    moments_s: list[float]

    @property
    def causes(self) -> set[str]:
        return {self.step["verdict"], *(one["cause"] for one in self.step["episodes"])}

    def means(self, column: str) -> tuple[float, float]:
        """Return the means of a column before the first moment and up to the second."""
        samples = self.recording.samples(["t_s", column])
        samples = samples.with_columns(pl.col("t_s") - begin_s(self.recording))
        first_s, second_s = self.moments_s

        def mean(from_s: float, to_s: float) -> float:
            value = samples.filter(pl.col("t_s").is_between(from_s, to_s))[column].mean()
            assert isinstance(value, float)
            return value

        return mean(1.0, first_s), mean(first_s + 1.0, second_s)


def begin_s(recording: Recording) -> float:
    """Return when the load began: fio takes a while to start."""
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
    words = ["run", "real.toml", "--on", uri, "-o", "r", "--format", "json"]
    moments_unix_s = []
    with subprocess.Popen(
        [sys.executable, "-m", "heatsoak", *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        journal = tmp_path / "r" / "samples.jsonl"
        give_up = time.monotonic() + 60
        while not (journal.exists() and "interval_s" in journal.read_text()):
            assert time.monotonic() < give_up
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        begun = time.monotonic()
        for after_s, deed in deeds:
            time.sleep(max(0.0, begun + after_s - time.monotonic()))
            deed()
            moments_unix_s.append(time.time())
        output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    (recording,) = find_recordings(tmp_path / "r")
    assert recording.meta.started_unix_s is not None
    origin_s = recording.meta.started_unix_s + begin_s(recording)
    (step,) = json.loads(output)["recordings"][0]["steps"]
    return Made(recording, step, [moment - origin_s for moment in moments_unix_s])


def test_a_rate_that_is_cut_and_given_back_is_found_in_time_and_depth_and_is_not_heat(
    tmp_path: Path,
) -> None:
    with memory_export(tmp_path, FULL_MB_S) as (uri, rate):
        made = load(
            tmp_path,
            uri,
            'rw = "write"\nbs = "128k"\niodepth = 8\n',
            21,
            [(7, lambda: set_rate(rate, CUT_MB_S)), (14, lambda: set_rate(rate, FULL_MB_S))],
        )
    cut_s, back_s = made.moments_s
    assert made.step["episodes"]
    deepest = max(made.step["episodes"], key=lambda episode: episode["depth_pct"])
    assert deepest["onset_s"] == pytest.approx(cut_s, abs=1)
    assert deepest["end_s"] == pytest.approx(back_s, abs=1)
    assert deepest["depth_pct"] == pytest.approx(100 * (1 - CUT_MB_S / FULL_MB_S), abs=10)
    assert deepest["recovered"]
    assert "thermal" not in made.causes


class Hogs:
    """Processes that only compute; they are gone at the end whatever happens."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        command = [sys.executable, "-c", "while True: pass"]
        self._running = [subprocess.Popen(command) for _ in range(self._count)]

    def stop(self) -> None:
        for process in self._running:
            process.kill()
            process.wait()
        self._running = []

    def __enter__(self) -> "Hogs":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def test_a_load_that_other_processes_take_the_cpu_from_is_not_called_hot(tmp_path: Path) -> None:
    with memory_export(tmp_path) as (uri, _), Hogs(12) as hogs:
        made = load(
            tmp_path,
            uri,
            'rw = "randread"\nbs = "4k"\niodepth = 8\n',
            16,
            [(5, hogs.start), (11, hogs.stop)],
        )
    before, during = made.means("read_iops")
    assert during < 0.7 * before  # otherwise nothing was there to be judged
    assert made.means("cpu_core_pct")[1] > 90
    assert "thermal" not in made.causes
