"""``heatsoak rack host``: racks driven by schedulers of other people."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import slurm
import yaml
from command import heatsoak_here
from heatsoak.recording import Recording
from racked import CONTRIB

DRIVES = ("sim:samsung-950-pro-512", "sim:wd-sn570-1tb@laptop")
SHORT = """
name = "short"
steps = [{ name = "read", rw = "read", bs = "128k", iodepth = 8, runtime = "5s" }]
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a short protocol, and a program called heatsoak."""
    monkeypatch.setenv("HEATSOAK_RACK", str(tmp_path / "home"))
    (tmp_path / "short.toml").write_text(SHORT)
    program = tmp_path / "bin" / "heatsoak"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m heatsoak "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv(
        "PATH", f"{program.parent}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    )
    return tmp_path


def asked(place: Path, *words: str, code: int = 0) -> Any:
    done = heatsoak_here("rack", "host", *words, cwd=place)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


def test_a_test_is_started_once_followed_and_collected(place: Path) -> None:
    words = ("start", "monday", "short.toml", "--on", DRIVES[0], "--wait")
    first = asked(place, *words)
    assert first["state"] == "finished"
    recorded = Path(first["recording"]) / "samples.parquet"
    at = recorded.stat().st_mtime_ns
    assert asked(place, *words) == first
    assert recorded.stat().st_mtime_ns == at
    asked(place, "start", "monday", "short.toml", "--on", DRIVES[1], "--wait")
    rows = asked(place, "status", "monday")
    assert [row["state"] for row in rows] == ["finished", "finished"]
    assert asked(place, "stop", "monday") == {"stopped": 0}
    for _ in range(2):
        found = asked(place, "collect", "monday", "-o", "out")
        assert [Recording.open(place / row["directory"]).meta.status for row in found] == [
            "finished"
        ] * 2
    report = heatsoak_here("rack", "report", "out", "--format", "json", cwd=place)
    assert len(json.loads(report.stdout)["tests"]) == 2


def test_an_attempt_that_is_about_to_begin_is_the_newest(place: Path) -> None:
    asked(place, "start", "monday", "short.toml", "--on", DRIVES[0], "--wait")
    (test,) = (place / "home" / "monday").glob("*/test.json")
    # asked for, and systemd has not made its process yet: there is no output of it
    again = {"at_unix_s": time.time(), "times": 1}
    test.with_name("asked-2.json").write_text(json.dumps(again))
    assert [row["state"] for row in asked(place, "status", "monday")] == ["starting"]


def test_each_cell_of_a_matrix_is_collected(place: Path) -> None:
    matrix = '[matrix]\nenclosure = "{place}"\n[matrix.axes]\nplace = ["open-bench", "laptop"]\n'
    (place / "matrix.toml").write_text(SHORT + matrix)
    asked(place, "start", "monday", "matrix.toml", "--on", DRIVES[0], "--wait")
    (row,) = asked(place, "collect", "monday", "-o", "out")
    assert len(list((place / row["directory"]).glob("*/recording.json"))) == 2


def test_a_refused_test_says_so_in_its_exit_code(place: Path) -> None:
    (place / "data").mkdir()
    (place / "data" / "file").write_bytes(bytes(1 << 20))
    (place / "write.toml").write_text(SHORT.replace('rw = "read"', 'rw = "write"'))
    words = ("start", "monday", "write.toml", "--on", str(place / "data" / "file"), "--wait")
    row = asked(place, *words, code=4)
    assert row["state"] == "refused"
    assert (place / "data" / "file").read_bytes() == bytes(1 << 20)
    assert asked(place, "status", "monday", code=4)[0]["why"] == row["why"]


def test_a_run_that_is_not_known_is_one_line(place: Path) -> None:
    done = heatsoak_here("rack", "host", "status", "tuesday", cwd=place)
    assert done.returncode == 2
    assert done.stderr == "heatsoak: tuesday: this host keeps no test of a run of that name\n"


def test_the_script_for_slurm_tests_the_drive_of_its_line(place: Path) -> None:
    (place / "drives.txt").write_text("\n".join(DRIVES) + "\n")
    command = [str(CONTRIB / "slurm.sh"), "monday", "short.toml", "drives.txt", "out"]
    for task in ("1", "2", "2"):  # the last one, as if it had been requeued
        done = subprocess.run(
            command, cwd=place, env={**os.environ, "SLURM_ARRAY_TASK_ID": task}, check=False
        )
        assert done.returncode == 0
    assert len(list((place / "out").glob("*/*/recording.json"))) == len(DRIVES)


@pytest.mark.skipif(not slurm.is_installed(), reason="needs root and Slurm")
def test_slurm_tests_each_drive_of_an_array(place: Path) -> None:
    (place / "drives.txt").write_text("\n".join(DRIVES) + "\n")
    array = ["sbatch", "--wait", "--array=1-2", str(CONTRIB / "slurm.sh")]
    with slurm.slurm(place / "slurm") as env:
        subprocess.run(
            [*array, "monday", "short.toml", "drives.txt", "out"],
            cwd=place,
            env=env,
            check=True,
            timeout=300,
        )
    assert len(list((place / "out").glob("*/*/recording.json"))) == len(DRIVES)


@pytest.mark.long
def test_the_playbook_tests_all_drives_and_collects(place: Path) -> None:
    host = {"ansible_connection": "local", "drives": [{"on": one} for one in DRIVES]}
    host["ansible_python_interpreter"] = sys.executable
    inventory = {"rack": {"hosts": {"b1": host}}}
    (place / "hosts.yml").write_text(yaml.safe_dump(inventory))
    variables = {
        "run": "monday",
        "protocol": str(place / "short.toml"),
        "out": str(place / "out"),
        "heatsoak": str(place / "bin" / "heatsoak"),
    }
    playbook = str(Path(sys.executable).with_name("ansible-playbook"))
    command = [playbook, "-i", "hosts.yml", str(CONTRIB / "ansible.yml")]
    command += ["-e", json.dumps(variables)]
    env = {**os.environ, "ANSIBLE_LOCAL_TEMP": str(place / "tmp"), "LC_ALL": "C.UTF-8"}
    done = subprocess.run(command, cwd=place, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list((place / "out").glob("*/*/recording.json"))) == len(DRIVES)
