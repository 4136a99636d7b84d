"""Benches are run by nobody for weeks: all of them come to their end, whatever they measure."""

import sys
from pathlib import Path

import pytest
from command import ran


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_all_benches_come_to_their_end() -> None:
    root = Path(__file__).parent.parent
    done = ran(sys.executable, "benches/run.py", cwd=root, timeout=7000)
    assert done.returncode == 0, done.stderr
