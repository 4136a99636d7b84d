"""The whole live path on a drive whose speed is cut while it runs: fio, recording, judge."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from heatsoak.recording import find_recordings

pytestmark = pytest.mark.skipif(
    shutil.which("nbdkit") is None or shutil.which("fio") is None,
    reason="nbdkit or fio is not installed",
)

PROTOCOL = """
schema = 1
name = "cut"
[[steps]]
name = "write"
rw = "write"
bs = "128k"
iodepth = 8
runtime = "26s"
"""


@pytest.fixture
def export(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A memory export of 1 GiB and the file that says how many bits a second it may take."""
    rate, at, pid = tmp_path / "rate", tmp_path / "socket", tmp_path / "pid"
    rate.write_text("1600M")
    # a small bucket: the filter's default lets two seconds through at any speed
    filters = ["--filter=rate", "memory", "1G", "rate=1600M", f"rate-file={rate}", "burstiness=0.1"]
    command = ["nbdkit", "--exit-with-parent", "-f", "-U", str(at), "-P", str(pid), *filters]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as server:
        deadline = time.monotonic() + 20
        while not pid.exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        yield f"nbd+unix:///?socket={at}", rate
        server.kill()


@pytest.mark.slow
@pytest.mark.parametrize("cut_to_mb_s", [120, 60])
def test_onset_and_depth_of_a_cut_are_found(
    export: tuple[str, Path], tmp_path: Path, cut_to_mb_s: int
) -> None:
    uri, rate = export
    (tmp_path / "cut.toml").write_text(PROTOCOL)
    words = ["run", "cut.toml", "--on", uri, "-o", "r", "--format", "json"]
    with subprocess.Popen(
        [sys.executable, "-m", "heatsoak", *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        journal = tmp_path / "r" / "samples.jsonl"
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if journal.exists() and journal.read_text().count("write_bw_mb_s") >= 40:
                break
            time.sleep(0.05)
        rate.write_text(f"{8 * cut_to_mb_s}M")
        cut_unix_s = time.time()
        output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    (recording,) = find_recordings(tmp_path / "r")
    (begin,) = (e for e in recording.events if e.kind == "step-begin")
    assert recording.meta.started_unix_s is not None
    cut_s = cut_unix_s - recording.meta.started_unix_s - begin.t_s
    (step,) = json.loads(output)["recordings"][0]["steps"]
    (episode,) = step["episodes"]
    assert episode["onset_s"] == pytest.approx(cut_s, abs=2)
    assert episode["depth_pct"] == pytest.approx(100 * (1 - cut_to_mb_s / 200), abs=5)
    assert step["verdict"] == "unknown"
    assert any("no temperature" in line for line in episode["evidence"])
