"""Real runs with the real fio and the real stress-ng: heat ends with them, whatever ends them."""

import json
import os
import shutil
import signal
from contextlib import AbstractContextManager
from pathlib import Path
from shlex import quote

import psutil
import pytest
from command import complaint, done_here, heatsoak, heatsoak_here, json_here
from heatsoak.heat import cpus_to_load
from heatsoak.recording import Recording
from needs import needs
from rest_long import rest_long
from started import Started, started
from waiting import below, until

pytestmark = needs("fio", "stress-ng")

CPU = '[[heat]]\nsource = "cpu"\nload_pct = 20\n'
READ = '[[steps]]\nname = "read"\nrw = "read"\nbs = "128k"\nrate = "20m"\nruntime = "{}"\n'


def protocol(directory: Path, heat: str, runtime: str = "2s", file_size: str = "16m") -> str:
    text = f'name = "heated"\nfile_size = "{file_size}"\n{heat}' + READ.format(runtime)
    (directory / "heated.toml").write_text(text)
    (directory / "place").mkdir(exist_ok=True)
    return "heated.toml"


def kinds(directory: Path) -> list[str]:
    return [
        event.kind
        for event in Recording.open(directory).events
        if event.kind.startswith("heat-") or event.kind in ("step-begin", "step-end")
    ]


def running(directory: Path, heat: str) -> AbstractContextManager[Started]:
    """A run in its only step."""
    words = ("run", protocol(directory, heat, "10m"), "--on", "place", "-o", "r")
    return started(directory, *words)


def heaters(run: Started) -> list[psutil.Process]:
    """All that heat, in its step: they take long to begin at idle priority on a busy machine."""
    count = len(cpus_to_load(os.sched_getaffinity(0))) + 1  # and the one that starts the others
    run.wait_for_event("step-begin")
    process = psutil.Process(run.process.pid)
    run.wait_until(lambda: len(below(process, "stress-ng")) == count)
    return below(process, "stress-ng")


def are_gone(processes: list[psutil.Process]) -> bool:
    return until(lambda: not any(one.is_running() for one in processes))


@pytest.mark.slow
def test_a_run_is_heated_from_its_first_step_to_its_last(tmp_path: Path) -> None:
    name = protocol(tmp_path, CPU + 'warm_up = "1s"\n')
    done = heatsoak("run", name, "--on", "place", "-o", "r", "--format", "json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "warming up: cpu heat at 20 %, 1 s of warm-up" in done.stderr
    assert kinds(tmp_path / "r") == ["heat-begin", "step-begin", "step-end", "heat-end"]
    assert "stress-ng" in (tmp_path / "r" / "raw" / "heat-1.log").read_text()
    (recording,) = json.loads(done.stdout)["recordings"]
    assert any(note.startswith("the processor was being heated") for note in recording["notes"])
    begin = next(e for e in Recording.open(tmp_path / "r").events if e.kind == "heat-begin")
    assert begin.data["source"] == "cpu"
    assert begin.data["command"][:3] == [shutil.which("chrt"), "--idle", "0"]


@pytest.mark.slow
def test_a_heater_that_dies_is_reported_and_the_run_continues(tmp_path: Path) -> None:
    with running(tmp_path, CPU) as run:
        heating = heaters(run)
        # the first to begin has begun the others
        min(heating, key=lambda one: one.create_time()).kill()
        said = "the cpu heat ended early"
        run.wait_for_event(said)
        assert are_gone(heating)
        run.end(130, by=signal.SIGINT)
    (warning,) = (event for event in run.events if said in event.text)
    assert "stress-ng was killed by signal 9 (SIGKILL): stress-ng:" in warning.text
    assert warning.step == "read"
    assert kinds(tmp_path / "r").count("heat-end") == 1
    (recording,) = json_here("analyze", "r", cwd=tmp_path)["recordings"]
    assert warning.text in recording["notes"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "by", rest_long(["SIGINT", "SIGTERM", "SIGKILL", "the end of its load"], every=2)
)
def test_heat_ends_with_a_run_that_is_ended_or_fails(by: str, tmp_path: Path) -> None:
    with running(tmp_path, CPU) as run:
        heaters(run)
        begun = psutil.Process(run.process.pid).children(recursive=True)
        if by == "the end of its load":
            os.kill(run.wait_for_load().loader(), signal.SIGKILL)
        else:
            run.process.send_signal(signal.Signals[by])
        code = run.process.wait(200)
        assert are_gone(begun)
    assert code == {"SIGINT": 130, "SIGTERM": 130, "SIGKILL": -signal.SIGKILL}.get(by, 3)
    assert list((tmp_path / "place").iterdir()) == []
    if by == "SIGKILL":
        assert run.recording.was_cut
    elif by == "the end of its load":
        assert run.recording.meta.reason == "step 'read': fio was killed by SIGKILL"
        assert run.recording.samples()["read_bw_mb_s"].drop_nulls().len() >= 2
    else:
        assert run.status == "interrupted"
    if by != "SIGKILL":
        assert kinds(tmp_path / "r")[-1] == "heat-end"


@pytest.mark.slow
def test_heat_that_does_not_start_ends_the_run_before_anything_is_measured(tmp_path: Path) -> None:
    script = tmp_path / "broken"
    script.write_text("#!/bin/sh\necho no card found >&2\nexit 19\n")
    script.chmod(0o755)
    name = protocol(
        tmp_path, f'[[heat]]\nsource = "command"\ncommand = "{quote(str(script))} --all"\n'
    )
    done = done_here("run", name, "--on", "place", "-o", "r", cwd=tmp_path, code=3)
    assert "broken ended with exit code 19: no card found" in done.stderr
    assert kinds(tmp_path / "r") == []
    assert list((tmp_path / "place").iterdir()) == []


def test_heat_that_cannot_be_commanded_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    name = protocol(tmp_path, '[[heat]]\nsource = "command"\ncommand = "no-such-program -x"\n')
    done = heatsoak_here("run", name, "--on", "place", "-o", "r", cwd=tmp_path)
    line = complaint(done, 2)
    assert "heated asks for command heat here: the command 'no-such-program' does not exist" in line
    assert not (tmp_path / "r").exists()
    done = done_here("run", name, "--on", "place", "--dry-run", cwd=tmp_path)
    assert "heat: command heat (no-such-program -x)" in done.stdout
    assert "the command 'no-such-program' does not exist" in " ".join(done.stdout.split())


@pytest.mark.slow
def test_heat_by_hand_and_a_simulated_drives_own_need_no_program(
    small_drive: Path, tmp_path: Path
) -> None:
    name = protocol(tmp_path, '[[heat]]\nsource = "gpu"\nwarm_up = "1h"\n', "0.3s")
    done_here("run", name, "--on", f"sim:{small_drive}@open-bench", "-o", "s", cwd=tmp_path)
    name = protocol(tmp_path, '[[heat]]\nsource = "gpu"\n', "0.3s")
    done_here("run", name, "--on", "place", "-o", "r", "--set", "heat=by-hand", cwd=tmp_path)
    for made in ("s", "r"):
        assert kinds(tmp_path / made) == ["step-begin", "step-end"]


def test_a_dry_run_lists_heat_and_counts_its_warm_up(tmp_path: Path) -> None:
    name = protocol(tmp_path, CPU + 'warm_up = "steady"\nat_most = "20m"\n')
    (row,) = json_here("run", name, "--on", "place", "--dry-run", cwd=tmp_path)
    assert row["warm_up_s"] == 1200
    assert row["duration_s"] == 1202
    text = "cpu heat at 20 %, warm-up until steady, at most 20 min"
    assert row["heat"] == [{"heat": text, "why_not": None}]
    assert row["set_up"] == {}
    assert list((tmp_path / "place").iterdir()) == []
