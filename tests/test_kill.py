"""Runs with the real fio, killed at random times: nothing is lost and nothing is left."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from heatsoak.analysis import analyze
from heatsoak.recording import find_recordings
from heatsoak.target.lock import DIRECTORY_VARIABLE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed"),
]

PROTOCOL = """
schema = 1
name = "short"
file_size = "64MiB"
[[steps]]
kind = "precondition"
name = "fill"
rw = "write"
bs = "1m"
[[steps]]
name = "read"
rw = "read"
bs = "128k"
runtime = "1.5s"
rate = "50m"
[[steps]]
kind = "pause"
duration = "0.5s"
[[steps]]
name = "write"
rw = "randwrite"
runtime = "10s"
rate = "5m"
"""


def children_of(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in listed.split()]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def run_and_kill(directory: Path, after_s: float) -> None:
    """Kill a run `after_s` after it has begun to write, and look at what there is of it."""
    place, output = directory / "place", directory / "r"
    place.mkdir(parents=True)
    (directory / "short.toml").write_text(PROTOCOL)
    with subprocess.Popen(
        [sys.executable, "-m", "heatsoak", "run", "short.toml", "--on", "place", "-o", "r"],
        cwd=directory,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        # those beside each other share a disk, which two runs must not
        env={**os.environ, DIRECTORY_VARIABLE: str(directory)},
    ) as process:
        deadline = time.monotonic() + 60
        while not (output / "samples.jsonl").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(after_s)
        started = children_of(process.pid)
        os.kill(process.pid, signal.SIGKILL)
        killed_unix_s = time.time()
    (recording,) = find_recordings(output)
    assert recording.was_cut
    samples = recording.samples()
    seen_s = [event.t_s for event in recording.events] + samples["t_s"].to_list()
    assert recording.meta.started_unix_s is not None
    killed_s = killed_unix_s - recording.meta.started_unix_s
    assert killed_s - max(seen_s, default=0.0) < 1.0
    assert samples["t_s"].null_count() == 0
    assert analyze([recording]).recordings[0].notes[0].startswith("the recording was cut")
    deadline = time.monotonic() + 10
    while any(is_alive(pid) for pid in started) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(is_alive(pid) for pid in started)
    assert list(place.iterdir()) == []


def test_a_run_killed_at_20_random_times_loses_less_than_a_second(tmp_path: Path) -> None:
    chance = random.Random(2)
    after_s = [chance.uniform(0.0, 5.0) for _ in range(20)]
    directories = [tmp_path / str(turn) for turn in range(20)]
    # a run is mostly waited for: some go on at once
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(run_and_kill, directories, after_s))
