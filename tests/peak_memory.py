"""How much memory a command needs beyond what its modules take."""

import json
import sys
from pathlib import Path

from command import ran

#: Runs the first command to load every module that is needed, and measures the second.
_MEASURE = """
import contextlib, io, json, sys
from pathlib import Path
from heatsoak.cli import main

def run(words):
    sys.argv = ["heatsoak", *words]
    said = io.TextIOWrapper(io.BytesIO(), "utf-8")
    try:
        with contextlib.redirect_stdout(said):
            main()
    except SystemExit as end:
        assert end.code == 0, end.code

def memory_mb(name):
    status = Path("/proc/self/status").read_text()
    return int(status.split(name + ":")[1].split()[0]) * 1024 / 1e6

first, then = json.loads(sys.argv[1])
run(first)
Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
before_mb = memory_mb("VmRSS")
run(then)
print(memory_mb("VmHWM") - before_mb)
"""


def peak_mb(first: list[str], then: list[str], cwd: Path) -> float:
    """Return by how many MB the command `then` raises the peak of memory in use.

    `first` is a small command of the same kind, which loads the modules.
    """
    done = ran(sys.executable, "-c", _MEASURE, json.dumps([first, then]), cwd=cwd, timeout=280)
    assert done.returncode == 0, done.stderr
    return float(done.stdout)
