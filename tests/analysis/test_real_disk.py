"""What the judge says of real loads that something other than heat slows: found, and not heat.

The machine that runs this may be busy with other things, so the effects are far larger than that.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from exports import memory_export, set_rate
from live_run import Made, load

pytestmark = [
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.skipif(
        shutil.which("nbdkit") is None or shutil.which("fio") is None,
        reason="nbdkit or fio is not installed",
    ),
]

#: What the export takes before and while it is slowed, in few and large requests: every machine,
#: and a busy one too, is faster than that.
FULL_MB_S, CUT_MB_S = 40.0, 16.0


def test_a_rate_that_is_cut_and_given_back_is_found_in_time_and_depth_and_is_not_heat(
    tmp_path: Path,
) -> None:
    for attempt in "abc":
        made = cut_and_given_back(tmp_path / attempt)
        cut_s, back_s = made.moments_s
        before = made.level("write_bw_mb_s", 1.0, cut_s)
        # where others leave it no time to run at full speed, nothing is cut
        if before > 0.8 * FULL_MB_S:
            break
    assert made.step["episodes"], (before, made.step, made.moments_s)
    # a busy machine may make it fall elsewhere too
    cut = min(made.step["episodes"], key=lambda episode: abs(episode["onset_s"] - cut_s))
    during = made.level("write_bw_mb_s", cut_s + 1.0, back_s)
    assert during < 1.05 * CUT_MB_S
    # a busy machine may dip just before it is cut, and again once it is given back
    slow_s = slow_seconds(made, cut_s - 7, cut_s, before)
    assert min([cut_s, *slow_s]) - 2 <= cut["onset_s"] <= cut_s + 2
    slow_s = slow_seconds(made, back_s, back_s + 7, before)
    assert back_s - 2 <= cut["end_s"] <= max([back_s, *slow_s]) + 3
    assert cut["depth_pct"] == pytest.approx(100 * (1 - during / before), abs=10)
    assert cut["recovered"] or max(slow_s) > back_s + 3
    assert "thermal" not in made.causes


def cut_and_given_back(directory: Path) -> Made:
    directory.mkdir()
    with memory_export(directory, FULL_MB_S, burst_s=0.3) as (uri, rate):
        return load(
            directory,
            uri,
            'rw = "write"\nbs = "512k"\niodepth = 4\n',
            21,
            [(7, lambda: set_rate(rate, CUT_MB_S)), (14, lambda: set_rate(rate, FULL_MB_S))],
        )


def slow_seconds(made: Made, from_s: float, to_s: float, full_mb_s: float) -> list[float]:
    """Return the begins of the seconds in which it ran below full speed."""
    begins_s = [from_s + second for second in range(round(to_s - from_s))]
    return [s for s in begins_s if made.mean("write_bw_mb_s", s, s + 1) < 0.95 * full_mb_s]


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
    for attempt in "abc":  # where others took the CPU all the time, nothing is there to be judged
        (tmp_path / attempt).mkdir()
        with memory_export(tmp_path / attempt) as (uri, _), Hogs(12) as hogs:
            made = load(
                tmp_path / attempt,
                uri,
                'rw = "randread"\nbs = "4k"\niodepth = 8\n',
                16,
                [(5, hogs.start), (11, hogs.stop)],
            )
        hogs_s, free_s = made.moments_s
        before = made.mean("read_iops", 1.0, hogs_s)
        during = made.mean("read_iops", hogs_s + 1.0, free_s)
        if during < 0.7 * before:
            break
    assert during < 0.7 * before
    assert made.mean("cpu_core_pct", hogs_s + 1.0, free_s) > 90
    assert "thermal" not in made.causes
