"""The page's program by itself: its own tests, and its types, which are those of the report."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

WEB = Path(__file__).parents[2] / "web"


def npm(script: str) -> subprocess.CompletedProcess[str]:
    found = shutil.which("npm")
    if found is None or not (WEB / "node_modules").is_dir():
        pytest.skip("the program's packages are not there: npm ci in web/")
    return subprocess.run(
        [found, "run", "--silent", script],
        cwd=WEB,
        env={**os.environ, "PYTHON": sys.executable},
        text=True,
        capture_output=True,
        timeout=200,
        check=False,
    )


@pytest.mark.slow
def test_the_programs_own_tests_pass() -> None:
    done = npm("test")
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


@pytest.mark.slow
def test_the_programs_types_are_those_of_the_report() -> None:
    done = npm("contract:check")
    assert done.returncode == 0, done.stderr[-2000:]
