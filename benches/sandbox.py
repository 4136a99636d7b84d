"""A place where changed code can be tested and does no harm: a checkout as it looks to itself.

Processes in there see the checkout where it is; what they write to it goes elsewhere, and the rest
of the machine is read-only but for a directory of temporary files. They see no other processes, and
of the machine's drives only loop devices. Each `Sandbox` is a process that has imported what tests
and package import of others; a job is done by a fork of it.
"""

import contextlib
import importlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import reaching

Job = dict[str, Any]
#: What takes long to import, of what tests and package import.
_IMPORTED = (
    *(
        "pytest",
        "_pytest.assertion.rewrite",
        "pytest_timeout",
        "hypothesis",
        "hypothesis.strategies",
    ),
    *("numpy", "numpy.ma", "numpy.random", "polars", "scipy.stats", "scipy.optimize"),
    *("scipy.special", "scipy.interpolate", "scipy.signal", "pydantic", "typer", "rich.console"),
    *("rich.table", "rich.progress", "tomlkit", "psutil", "defusedxml.ElementTree", "uvicorn"),
    *("starlette.applications", "sse_starlette", "typing_extensions", "unittest.mock", "asyncio"),
)
_MEMORY_BYTES = 6 << 30
_LOCK = "heatsoak-tests-loop.lock"
_REAP_S = 5.0


class Sandbox:
    """A sandbox of a checkout, and the files that it may write, in a directory of its own."""

    def __init__(self, checkout: Path, directory: Path) -> None:
        self.directory = directory
        for name in ("upper", "work", "t", "home"):
            (directory / name).mkdir(parents=True)
        lock = Path("/tmp", _LOCK)  # of all tests on this machine
        lock.touch()
        os.link(lock, directory / "t" / _LOCK)
        python = checkout / ".venv" / "bin" / "python"
        command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        self.process = subprocess.Popen(
            [*command, python, __file__, checkout, directory],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ
            | {"TMPDIR": str(directory / "t"), "HOME": str(directory / "home")}
            | {"OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": ""},
        )

    def do(self, job: Job) -> Job:
        """Have a job done, and return what came of it."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps(job), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("the sandbox ended: it needs root, unshare and overlayfs")
        done: Job = json.loads(line)
        return done

    def close(self) -> None:
        """End all that runs in it."""
        self.process.kill()
        self.process.wait()


def _mount(*words: str | Path) -> None:
    subprocess.run(["mount", *words], check=True)


def _enter(checkout: Path, directory: Path) -> None:
    layers = f"lowerdir={checkout},upperdir={directory / 'upper'},workdir={directory / 'work'}"
    _mount("-t", "overlay", "overlay", "-o", layers, checkout)
    _mount("--bind", directory, directory)
    _mount("-o", "remount,bind,ro", "/")
    for drive in Path("/sys/class/block").iterdir():
        if not drive.name.startswith("loop") and (node := Path("/dev", drive.name)).exists():
            _mount("--bind", "/dev/null", node)
    os.chdir(checkout)


def _end_all() -> None:
    """End what a job has left; what undoes things at the end of tests is given time for it."""
    give_up_s = time.monotonic() + _REAP_S
    while time.monotonic() < give_up_s:
        try:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(0.02)
        except ChildProcessError:
            return
    os.kill(-1, signal.SIGKILL)  # all in here but us, who are process 1
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def _fork(job: Job, directory: Path) -> Job:
    """Do a job in a fork; "timeout" if it took too long, "crash" if it ended without a result."""
    note, result = directory / "note", directory / "result"
    note.write_text("")
    result.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        os.setsid()
        log = os.open(directory / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for number, source in enumerate((os.open(os.devnull, os.O_RDONLY), log, log)):
            os.dup2(source, number)
        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY_BYTES, _MEMORY_BYTES))
        try:
            result.write_text(json.dumps(reaching.run(job | {"note": str(note)})))
        finally:
            os._exit(0)
    give_up_s = time.monotonic() + job["limit_s"]
    status = None
    while status is None:
        pid, ended = os.waitpid(-1, os.WNOHANG)  # processes whose parents have ended are ours too
        if pid == child:
            status = ended
        elif pid == 0 and time.monotonic() > give_up_s:
            os.kill(child, signal.SIGKILL)
        elif pid == 0:
            time.sleep(0.01)
    _end_all()
    if result.exists() and status == 0:
        done: Job = json.loads(result.read_text())
        return done
    late = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGKILL, signal.SIGPROF)
    return {"outcome": "timeout" if late else "crash", "by": note.read_text(), "said": ""}


def serve(checkout: Path, directory: Path) -> None:
    """Do the jobs that stdin gives, a line each, until it ends."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    _enter(checkout, directory)
    for name in _IMPORTED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    written_s = int(time.time())
    for line in sys.stdin:
        job = json.loads(line)
        kept = {}
        for name, text in job["files"].items():
            path = Path(name)
            kept[path] = path.read_bytes() if path.exists() else b""
            written_s = _write(path, text.encode(), written_s)
        done: Job = {}
        if "arguments" in job:  # else the files are to stay
            begun_s = time.monotonic()
            done = _fork(job, directory)
            done["s"] = round(time.monotonic() - begun_s, 2)
            for path, old in kept.items():
                written_s = _write(path, old, written_s)
        for left in (directory / "t").iterdir():
            if left.name not in (_LOCK, "kept"):
                shutil.rmtree(left, ignore_errors=True)
        print(json.dumps(done), file=replies, flush=True)


def _write(path: Path, text: bytes, last_s: int) -> int:
    """Write a file; its time is later than any before, or its compiled form would be taken."""
    path.write_bytes(text)
    os.utime(path, (last_s + 2, last_s + 2))
    return last_s + 2


if __name__ == "__main__":
    serve(Path(sys.argv[1]), Path(sys.argv[2]))
