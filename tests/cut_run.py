"""Runs that are killed, and what must be true of what they leave."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from unittest.mock import patch

from command import heatsoak_here
from heatsoak.protocol import LoadStep, Protocol, Rounds
from heatsoak.recording import Recording
from heatsoak.recording.meta import META
from heatsoak.target.lock import DIRECTORY_VARIABLE
from started import Started, started
from waiting import until

#: What makes a drive ready, at a rate that leaves time to end it.
MADE_READY = """
  { kind = "purge" },
  { kind = "precondition", name = "fill", rw = "write", bs = "1m", rate = "100m" },\
"""
#: Every kind of step that a file can take, each short.
PROTOCOL = f"""
schema = 1
name = "short"
file_size = "64MiB"
steps = [{MADE_READY}
  {{ name = "read", rw = "read", bs = "128k", runtime = "0.6s", rate = "50m" }},
  {{ kind = "pause", duration = "0.2s" }},
  {{ kind = "rounds", at_most = 2, steps = [
    {{ name = "again", rw = "randread", runtime = "0.5s", rate = "5m" }},
    {{ kind = "pause", duration = "0.1s" }},
  ] }},
  {{ name = "write", rw = "randwrite", runtime = "1s", rate = "5m" }},
]
"""

_RUNTIME = re.compile(r'runtime = "([\d.]+)s"')


def begin(
    directory: Path, *more: str, on: str = "place", env: Mapping[str, str] | None = None
) -> AbstractContextManager[Started]:
    """Start ``run short.toml`` in `directory`, into `r`."""
    return started(directory, "run", "short.toml", "--on", on, "-o", "r", *more, env=env)


def own_locks(directory: Path) -> dict[str, str]:
    """What is in the environment of runs that share a disk with others, which two runs must not."""
    return {DIRECTORY_VARIABLE: str(directory)}


def wait_for_step(recording: Path, name: str, kind: str = "step-begin") -> None:
    """Wait until a step has begun."""
    assert until(lambda: told(recording, kind, name)), f"no {kind} of {name}"


def told(recording: Path, kind: str, name: str) -> bool:
    """Whether an event of this kind is there already, of a step."""
    if not (recording / META).exists():
        return False
    return any(
        event.kind == kind and event.step == name for event in Recording.open(recording).events
    )


def cut_in(
    directory: Path,
    step: str,
    *more: str,
    on: str = "place",
    with_: signal.Signals = signal.SIGKILL,
) -> None:
    """Run the protocol and end it while `step` goes on and has samples."""
    recording = directory / "r"
    # a step is short: on a busy machine it may be over before we look, and is tried anew, longer
    for _ in range(6):
        with begin(directory, *more, on=on) as run:
            until(lambda: run.has_samples_of(step) or run.process.poll() is not None)
            run.process.send_signal(with_)
            run.process.wait()
        assert run.process.returncode in (0, 130 if with_ is signal.SIGINT else -with_)
        if run.process.returncode != 0 and not told(recording, "step-end", step):
            return
        shutil.rmtree(recording)
        file = directory / "short.toml"
        file.write_text(_RUNTIME.sub(_doubled, file.read_text()))
    raise AssertionError(f"{step} was over each time")


def _doubled(runtime: re.Match[str]) -> str:
    return f'runtime = "{2 * float(runtime[1]):g}s"'


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
    assert recording.changes is None
    assert recording.meta.meta_sha256 is not None
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
