"""The whole live path on a drive whose speed is cut while it runs: fio, recording, judge."""

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from exports import memory_export, set_rate
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
    """A memory export and the file that says how many bits a second it may take."""
    with memory_export(tmp_path, 200) as export:
        yield export


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
        set_rate(rate, cut_to_mb_s)
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
