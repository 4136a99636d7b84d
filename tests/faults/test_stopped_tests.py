"""Tests that are stopped leave no process, and nothing of what they changed of the machine."""

import signal
import subprocess
import sys
from pathlib import Path

import janitor
import pytest
from waiting import is_alive, until

TESTS = f"""
import subprocess, sys, time
sys.path.insert(0, {str(Path(janitor.__file__).parent)!r})
import janitor

directory = janitor.begin()
sleeper = subprocess.Popen(["sleep", "1000"], start_new_session=True)
with janitor.undone_by("mv", "one", "both"), janitor.undone_by("touch", "one"):
    print(directory, sleeper.pid, flush=True)
    time.sleep(1000)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_what_was_begun_ends_and_what_was_changed_is_undone_in_turn(
    tmp_path: Path, number: signal.Signals
) -> None:
    words = [sys.executable, "-c", TESTS]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as tests:
        assert tests.stdout is not None
        directory, sleeper = tests.stdout.readline().split()
        assert is_alive(int(sleeper))
        tests.send_signal(number)
    assert until(lambda: not Path(directory).exists())
    # the kernel may still be taking down what was killed
    assert until(lambda: not is_alive(int(sleeper)))
    assert [path.name for path in tmp_path.iterdir()] == ["both"]
