"""Runs that are killed, and what must be true of what they leave."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from unittest.mock import patch

from command import heatsoak, heatsoak_here
from heatsoak.protocol import LoadStep, Protocol, Rounds
from heatsoak.recording import Recording
from heatsoak.recording.layout import EVENTS
from heatsoak.target.lock import DIRECTORY_VARIABLE

#: What makes a drive ready, at a rate that leaves time to end it.
MADE_READY = """
[[steps]]
kind = "purge"
[[steps]]
kind = "precondition"
name = "fill"
rw = "write"
bs = "1m"
rate = "100m"
"""
#: Every kind of step that a file can take, each short.
PROTOCOL = f"""
schema = 1
name = "short"
file_size = "64MiB"
{MADE_READY}
[[steps]]
name = "read"
rw = "read"
bs = "128k"
runtime = "0.6s"
rate = "50m"
[[steps]]
kind = "pause"
duration = "0.5s"
[[steps]]
kind = "rounds"
at_most = 2
[[steps.steps]]
name = "again"
rw = "randread"
runtime = "0.5s"
rate = "5m"
[[steps.steps]]
kind = "pause"
duration = "0.2s"
[[steps]]
name = "write"
rw = "randwrite"
runtime = "1s"
rate = "5m"
"""


def begin(
    directory: Path, *more: str, on: str = "place", env: Mapping[str, str] | None = None
) -> "subprocess.Popen[bytes]":
    """Start ``run short.toml`` in `directory`, into `r`."""
    words = ["run", "short.toml", "--on", on, "-o", "r", *more]
    return subprocess.Popen(
        [sys.executable, "-m", "heatsoak", *words],
        cwd=directory,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=env,
    )


def own_locks(directory: Path) -> dict[str, str]:
    """The environment of runs that share a disk with others, which two runs must not."""
    return {**os.environ, DIRECTORY_VARIABLE: str(directory)}


def wait_for_step(recording: Path, name: str, kind: str = "step-begin") -> None:
    """Wait until a step has begun."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        events = recording / EVENTS
        for line in events.read_text().splitlines() if events.exists() else []:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if event["kind"] == kind and event.get("step") == name:
                return
        time.sleep(0.02)
    raise AssertionError(f"{name} did not begin")


def cut_in(
    directory: Path, step: str, *more: str, on: str = "place", with_: int = signal.SIGKILL
) -> None:
    """Run the protocol and end it while `step` goes on."""
    with begin(directory, *more, on=on) as process:
        wait_for_step(directory / "r", step)
        time.sleep(0.3)
        process.send_signal(with_)


def resume(directory: Path, *more: str, on: str = "place") -> "subprocess.CompletedProcess[str]":
    """Go on with what was cut."""
    words = ["run", "short.toml", "--on", on, "-o", "r", "--resume", *more]
    return heatsoak(*words, cwd=directory, env=own_locks(directory))


def resume_here(
    directory: Path, *more: str, on: str = "place"
) -> "subprocess.CompletedProcess[str]":
    """Go on with what was cut, in this process."""
    words = ["run", "short.toml", "--on", on, "-o", "r", "--resume", *more]
    with patch.dict(os.environ, own_locks(directory)):
        return heatsoak_here(*words, cwd=directory)


def require_whole(directory: Path) -> Recording:
    """Assert that the recording is finished, and each of its steps is one whole attempt."""
    recording = Recording.open(directory)
    protocol = recording.meta.protocol
    assert isinstance(protocol, Protocol)
    assert recording.meta.status == "finished"
    begun, ended = (
        [event for event in recording.events if event.kind == kind]
        for kind in ("step-begin", "step-end")
    )
    samples = recording.samples(["step", "interval_s", "t_s"]).drop_nulls()
    expected = []
    for step in protocol.steps:
        expected.append(step.name)
        if isinstance(step, Rounds):
            for number in range(1, step.at_most + 1):
                expected += [one.name for one in step.of_round(number)]
    plain = [event.step for event in begun if "~" not in str(event.step)]
    assert plain == expected
    assert sorted(str(e.step) for e in ended if "~" not in str(e.step)) == sorted(expected)
    for step in protocol.workload_steps:
        assert isinstance(step, LoadStep)
        (begin_event,) = (event for event in begun if event.step == step.name)
        (end_event,) = (event for event in ended if event.step == step.name)
        rows = samples.filter(samples["step"] == step.name)
        times = rows["t_s"].to_list()
        assert begin_event.t_s <= times[0]
        assert times[-1] <= end_event.t_s
        bounds = [getattr(load, "runtime_s", None) for load in getattr(step, "workloads", ())]
        if bounds and bounds[0] is not None:
            assert rows["interval_s"].sum() >= 0.9 * bounds[0]
    return recording
