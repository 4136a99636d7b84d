"""Runs of the real command that something happens to, and small disks that fill up."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import psutil
import pytest
from heatsoak.recording import Event, Recording
from janitor import undone_by
from loaded import moved_bytes
from waiting import below, until


@dataclass
class Started:
    """A command that runs, and the directory that it records into."""

    process: subprocess.Popen[str]
    directory: Path

    @property
    def recording(self) -> Recording:
        return Recording.open(self.directory)

    @property
    def status(self) -> str:
        return self.recording.meta.status

    @property
    def events(self) -> list[Event]:
        return self.recording.events

    def wait_until(self, is_so: Callable[[], bool]) -> None:
        """Wait until something is so, while the command runs."""

        def came_to_it() -> bool:
            if is_so():
                return True
            assert self.process.poll() is None, self.process.communicate()
            return False

        assert until(came_to_it)

    def _text(self, name: str, below: str = "") -> str:
        file = self.directory / below / name
        return file.read_text() if file.exists() else ""

    def has_samples_of(self, step: str, count: int = 1, below: str = "") -> bool:
        """Whether a step has so many samples by now, perhaps in a directory `below`."""
        return self._text("samples.jsonl", below).count(f'"step":"{step}"') >= count

    def wait_for_load(self, samples: int = 2) -> "Started":
        """Wait until so many samples of a load are there."""
        self.wait_until(lambda: self._text("samples.jsonl").count("interval_s") >= samples)
        return self

    def wait_for_event(self, text: str, below: str = "") -> None:
        """Wait until `text` stands in the events."""
        self.wait_until(lambda: text in self._text("events.jsonl", below))

    def loader(self) -> int:
        """Return its fio; other tools of its own may run meanwhile."""
        (fio,) = below(psutil.Process(self.process.pid), "fio")
        return fio.pid

    def wait_for_rows(self, count: int) -> None:
        """Wait until its recording has so many rows."""
        self.wait_until(lambda: self._text("samples.jsonl").count("\n") >= count)

    def end(self, code: int, by: signal.Signals | None = None) -> str:
        """Wait for its end, perhaps `by` a signal, with `code`; return what it said last."""
        if by is not None:
            self.process.send_signal(by)
        _, errors = self.process.communicate(timeout=200)
        assert self.process.returncode == code, errors
        assert "Traceback" not in errors
        return errors.splitlines()[-1] if errors else ""

    def require_tiled_and_whole(self) -> None:
        """Check that samples of a load speak for no time twice, and for all that fio counted."""
        samples = self.recording.samples().filter(pl.col("interval_s").is_not_null()).sort("t_s")
        begins = (samples["t_s"] - samples["interval_s"])[1:]
        assert (begins - samples["t_s"][:-1]).min() > -1.0  # type: ignore[operator]
        wrote = [event.data["write_bytes"] for event in self.events if "write_bytes" in event.data]
        assert moved_bytes(samples, "write") == pytest.approx(wrote[0], rel=1e-6)

    def kill(self) -> None:
        """Kill it, so that its recording is cut."""
        self.process.kill()
        self.process.wait()


@contextmanager
def started(cwd: Path, *words: str, env: Mapping[str, str] | None = None) -> Iterator[Started]:
    """Start ``heatsoak`` with `words`, where ``-o`` names what it makes; it is killed at the end.

    It may record into a directory for each side, place or host below that.
    """
    with subprocess.Popen(
        [sys.executable, "-m", "heatsoak", *words],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
    ) as process:
        try:
            yield Started(process, cwd / words[words.index("-o") + 1])
        finally:
            process.kill()


def protocol(
    cwd: Path, steps: str = "", *, rw: str = "write", runtime_s: float = 5, rate: str = "20m"
) -> str:
    """Write a protocol with a load at a low rate, and `steps` behind it; return its name."""
    (cwd / "short.toml").write_text(
        f'name = "short"\nfile_size = "64MiB"\n[[steps]]\nname = "load"\nrw = "{rw}"\nbs = "64k"\n'
        f'rate = "{rate}"\nruntime = "{runtime_s}s"\n{steps}'
    )
    return "short.toml"


@contextmanager
def small_disk(mount: Path, size: str) -> Iterator[Path]:
    """Mount a file system of `size`; skips where that is not allowed."""
    mount.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(mount)]
    with undone_by("umount", "--lazy", mount):
        if subprocess.run(command, check=False, capture_output=True).returncode != 0:
            pytest.skip("needs root, to mount a small tmpfs")
        yield mount


def fill(mount: Path) -> Path:
    """Take all the room that a file system has left; return the file that takes it."""
    taken = mount / "taken"
    with taken.open("ab", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            return taken
