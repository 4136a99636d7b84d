"""The types of the page's program are those of the report; its own tests are run by make test."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from command import ran

WEB = Path(__file__).parents[2] / "web"


@pytest.mark.slow
def test_the_programs_types_are_those_of_the_report() -> None:
    found = shutil.which("npm")
    if found is None or not (WEB / "node_modules").is_dir():
        pytest.skip("the program's packages are not there: npm ci in web/")
    done = ran(
        found,
        "run",
        "--silent",
        "contract:check",
        cwd=WEB,
        env={**os.environ, "PYTHON": sys.executable},
        timeout=200,
    )
    assert done.returncode == 0, done.stderr[-2000:]
