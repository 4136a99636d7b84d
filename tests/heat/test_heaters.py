"""Heaters as processes: they begin, are watched, and nothing of them stays."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from heatsoak.errors import ToolError, UsageError
from heatsoak.heat import ProcessHeater, cpus_to_load, heater
from heatsoak.tools import VARIABLE
from needs import needs
from waiting import below, until

#: What a shell script waits with, until the test has made the file `go`.
UNTIL_TOLD = 'until [ -e "$1" ]; do sleep 0.02; done'


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "raw" / "heat-1.log"


@pytest.fixture
def mark() -> Iterator[str]:
    """A word that only the command lines of this test have; nothing that has it is left."""
    word = f"marked-{os.getpid()}-{time.monotonic_ns()}"
    yield word
    assert until(lambda: not marked(word))


def marked(word: str) -> list[psutil.Process]:
    """The processes with `word` in their command lines, heatsoak's keeper left out."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        words = process.info["cmdline"] or []
        if any(word in each for each in words) and "-I" not in words[:2]:
            found.append(process)
    return [one for one in found if one.info["status"] != psutil.STATUS_ZOMBIE]


@pytest.fixture
def go(tmp_path: Path) -> Path:
    """A file that is not there, until the test makes it; see `UNTIL_TOLD`."""
    return tmp_path / "go"


def stress_ngs() -> list[psutil.Process]:
    return below(psutil.Process(), "stress-ng")


def shell(script: str, log: Path, mark: str, busy_pct: float = 100.0) -> ProcessHeater:
    words = ["/bin/sh", "-c", script, mark, str(log.parents[1] / "go")]
    return ProcessHeater(words, log, busy_pct=busy_pct)


@pytest.mark.slow
@needs("stress-ng")
@pytest.mark.parametrize("load_pct", [100.0, 30.0])
def test_the_cpu_is_loaded_at_idle_priority_until_it_is_told_to_end(
    load_pct: float, log: Path
) -> None:
    heat = heater("cpu", load_pct, None, log, None)
    heat.start()
    count = len(cpus_to_load(os.sched_getaffinity(0))) + 1  # and the one that started them
    # at idle priority they take long to begin where others load the machine
    assert until(lambda: len(stress_ngs()) == count)
    workers = stress_ngs()
    assert {os.sched_getscheduler(one.pid) for one in workers} == {os.SCHED_IDLE}
    assert f"{load_pct:g}" in heat.describe()["command"]
    assert heat.why_ended() is None
    heat.stop()
    heat.stop()
    assert not any(one.is_running() for one in workers)
    assert "stress-ng" in log.read_text()


def topology(base: Path, cores: list[str]) -> Path:
    for cpu, siblings in enumerate(cores):
        place = base / f"cpu{cpu}" / "topology"
        place.mkdir(parents=True)
        (place / "thread_siblings_list").write_text(f"{siblings}\n")
    return base


def test_of_four_cores_one_is_left_to_fio_with_both_its_threads(tmp_path: Path) -> None:
    four = topology(tmp_path / "four", ["0,4", "1,5", "2,6", "3,7"] * 2)
    assert cpus_to_load(range(8), four) == [0, 1, 2, 4, 5, 6]
    # where only some may be used, only they count
    assert cpus_to_load({0, 1, 4, 5}, four) == [0, 1, 4, 5]
    two = topology(tmp_path / "two", ["0-1", "0-1", "2-3", "2-3"])
    assert cpus_to_load(range(4), two) == [0, 1, 2, 3]
    assert cpus_to_load(range(4), tmp_path / "unknown") == [0, 1, 2]


@pytest.mark.slow
def test_a_command_that_ends_is_reported_with_its_exit_code_and_the_newest_of_its_words(
    log: Path, mark: str, go: Path
) -> None:
    heat = shell(f"seq 1 400000; {UNTIL_TOLD}; echo the end >&2; exit 7", log, mark)
    heat.start()
    assert heat.why_ended() is None
    go.touch()
    assert until(heat.why_ended)
    said = str(heat.why_ended())
    assert said.startswith("sh ended with exit code 7: ")
    assert said.endswith("400000 / the end")
    heat.stop()
    assert log.stat().st_size <= 1 << 20


def test_a_command_that_ends_at_once_is_an_error(log: Path, mark: str) -> None:
    heat = shell("echo no card; exit 19", log, mark)
    with pytest.raises(ToolError, match=r"sh ended with exit code 19: no card$"):
        heat.start()


@pytest.mark.slow
def test_a_command_that_is_killed_is_reported_with_the_signal(log: Path, mark: str) -> None:
    heat = shell("sleep 100; true", log, mark)
    heat.start()
    (command,) = marked(mark)
    command.kill()
    assert until(heat.why_ended)
    assert heat.why_ended() == "sh was killed by signal 9 (SIGKILL)"
    heat.stop()


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [
        pytest.param(  # is killed after five seconds
            "trap '' TERM; sleep 100 & wait; sleep 100; true",
            id="deaf to SIGTERM",
            marks=pytest.mark.long,
        ),
        pytest.param("sh -c 'sleep 100; true' $0 & sh -c 'sleep 100; true' $0 & wait", id="many"),
        pytest.param("setsid sh -c 'sleep 100; true' $0 & wait", id="in another session"),
        pytest.param(
            "setsid sh -c 'setsid sh -c \"sleep 100; true\" $0 & exit' $0; sleep 100; true",
            id="its parent gone",
        ),
    ],
)
def test_nothing_that_a_command_started_outlives_it(script: str, log: Path, mark: str) -> None:
    heat = shell(script, log, mark)
    heat.start()
    assert marked(mark)
    heat.stop()
    assert not marked(mark)


@pytest.mark.slow
def test_what_a_command_left_behind_ends_with_the_command(log: Path, mark: str, go: Path) -> None:
    heat = shell(f"setsid sh -c 'sleep 100; true' $0 & {UNTIL_TOLD}", log, mark)
    heat.start()
    assert until(lambda: len(marked(mark)) >= 2)
    go.touch()
    assert until(heat.why_ended)
    assert not marked(mark)
    heat.stop()


@pytest.mark.slow
def test_a_killed_keeper_takes_the_command_with_it(log: Path, mark: str) -> None:
    others = set(psutil.Process().children())
    heat = shell("sh -c 'sleep 100; true' $0 & wait", log, mark)
    heat.start()
    (keeper,) = set(psutil.Process().children()) - others
    keeper.kill()
    assert until(heat.why_ended)
    assert "killed with its keeper" in str(heat.why_ended())
    assert until(lambda: not marked(mark))
    heat.stop()


@pytest.mark.slow
def test_it_ends_when_whoever_started_it_is_killed(log: Path, mark: str) -> None:
    program = (
        "import sys, time; from pathlib import Path; from heatsoak.heat import "
        "ProcessHeater as P; P(['/bin/sh', '-c', sys.argv[1], sys.argv[2]], Path(sys.argv[3]), "
        "busy_pct=50).start(); print('on', flush=True); time.sleep(100)"
    )
    words = [sys.executable, "-c", program, "setsid sleep 100 & sleep 100; true", mark, str(log)]
    with psutil.Popen(words, stdout=-1, process_group=0) as owner:
        assert owner.stdout.readline() == b"on\n"
        assert until(lambda: len(owner.children(recursive=True)) >= 3)
        left = owner.children(recursive=True)
        owner.send_signal(signal.SIGKILL)
    assert until(lambda: not any(one.is_running() for one in left))


@pytest.mark.slow
def test_a_lesser_load_is_made_by_stopping_and_going_on(log: Path, mark: str) -> None:
    heat = shell("while true; do :; done", log, mark, busy_pct=50)
    heat.start()
    (command,) = marked(mark)
    assert until(lambda: command.status() == psutil.STATUS_STOPPED)
    assert until(lambda: command.status() != psutil.STATUS_STOPPED)
    assert heat.describe()["busy_pct"] == 50
    # also while it is stopped
    assert until(lambda: command.status() == psutil.STATUS_STOPPED)
    heat.stop()
    assert not command.is_running()


@pytest.mark.parametrize(
    ("source", "command", "said"),
    [
        ("gpu", None, r"^gpu-burn is not installed: .*heat=by-hand"),
        ("cpu", None, r"^stress-ng is not installed: apt-get install stress-ng"),
        ("command", "no-such-program --hot", r"^the command 'no-such-program' does not exist"),
        ("person", None, r"^there is no terminal to ask at: .*heat=by-hand"),
    ],
)
def test_what_cannot_be_commanded_says_what_would_help(
    source: str,
    command: str | None,
    said: str,
    log: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("heatsoak.tools.SYSTEM", ())
    monkeypatch.setattr("heatsoak.tools.LOCAL", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match=said):
        heater(source, 100, command, log, None)


@pytest.mark.slow
def test_gpu_burn_runs_for_long_and_where_its_kernel_is(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # no card is here: a program of that name stands for it, and says how it was started
    built = tmp_path / "gpu-burn"
    built.mkdir()
    (built / "compare.ptx").touch()
    program = built / "gpu_burn"
    program.write_text('#!/bin/sh\necho "$PWD for $1 s"\nexec sleep 100\n')
    program.chmod(0o755)
    monkeypatch.setenv(VARIABLE, str(built))
    heat = heater("gpu", 60, None, log, None)
    heat.start()
    assert heat.describe()["busy_pct"] == 60
    assert until(lambda: log.exists() and log.read_text())
    heat.stop()
    assert log.read_text() == f"{built} for 31536000 s\n"


def test_a_person_is_asked_and_believed() -> None:
    asked: list[str] = []
    heat = heater("person", 80, None, Path("unused"), asked.append)
    heat.start()
    assert asked == ["Switch on the heat, at 80 %"]
    assert heat.why_ended() is None
    heat.stop()
