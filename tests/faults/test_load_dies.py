"""What makes the load is killed or stopped, or the terminal is closed, while a run goes on."""

import os
import signal
import time
from pathlib import Path

import polars as pl
import pytest
from command import done_here
from needs import needs
from started import protocol, started
from waiting import is_alive, until

pytestmark = [pytest.mark.slow, pytest.mark.long, needs("fio")]


def words(tmp_path: Path, runtime_s: float = 5) -> list[str]:
    (tmp_path / "place").mkdir(exist_ok=True)
    return ["run", protocol(tmp_path, runtime_s=runtime_s), "--on", "place", "-o", "r"]


def test_fio_that_is_killed_fails_the_run_which_can_be_resumed(tmp_path: Path) -> None:
    with started(tmp_path, *words(tmp_path)) as run:
        loader = run.wait_for_load().loader()
        os.kill(loader, signal.SIGKILL)
        line = run.end(3)
    said = "step 'load': fio was killed by SIGKILL"
    assert line == f"heatsoak: {said}; the recording so far is in r, and --resume continues it"
    assert (run.recording.meta.status, run.recording.meta.reason) == ("failed", said)
    assert (run.events[-1].kind, run.events[-1].text) == ("fault", said)
    seen = run.recording.samples().filter(pl.col("step") == "load").height
    assert seen >= 2
    done_here(*words(tmp_path), "--resume", cwd=tmp_path)
    assert run.status == "finished"
    kept = run.recording.samples().filter(pl.col("step") == "load~1")
    assert kept.height == seen
    assert list((tmp_path / "place").iterdir()) == []


def test_fio_that_is_stopped_for_a_while_is_reported_and_no_sample_covers_the_wrong_time(
    tmp_path: Path,
) -> None:
    with started(tmp_path, *words(tmp_path, 8)) as run:
        loader = run.wait_for_load().loader()
        os.kill(loader, signal.SIGSTOP)
        time.sleep(4)
        os.kill(loader, signal.SIGCONT)
        run.end(0)
    # a busy machine may hold it up at other times too
    held_up = [event for event in run.events if "stalled_s" in event.data]
    told = max(held_up, key=lambda event: event.data["stalled_s"])
    assert told.kind == "warning"
    assert told.text.endswith(" because fio was stopped; then it continued")
    run.require_tiled_and_whole()


def test_a_heatsoak_that_is_stopped_for_a_while_continues_and_says_so(tmp_path: Path) -> None:
    with started(tmp_path, *words(tmp_path, 8)) as run:
        run.wait_for_load()
        run.process.send_signal(signal.SIGSTOP)
        time.sleep(4)
        run.process.send_signal(signal.SIGCONT)
        run.end(0)
    assert any("heatsoak was paused" in event.text for event in run.events)
    run.require_tiled_and_whole()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_closed_terminal_and_a_shutdown_end_a_run_as_ctrl_c_does(
    tmp_path: Path, number: signal.Signals
) -> None:
    with started(tmp_path, *words(tmp_path, 20)) as run:
        loader = run.wait_for_load().loader()
        assert run.end(130, by=number) == (
            "heatsoak: stopped; the recording so far is in r, and --resume continues it"
        )
    assert (run.recording.meta.status, run.recording.meta.reason) == (
        "interrupted",
        "stopped by the user",
    )
    assert not is_alive(loader)
    assert list((tmp_path / "place").iterdir()) == []


def test_a_run_under_nohup_continues_after_its_terminal_is_closed(tmp_path: Path) -> None:
    usual = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # what is started inherits it
    try:
        with started(tmp_path, *words(tmp_path)) as run:
            run.wait_for_load()
            run.process.send_signal(signal.SIGHUP)
            run.end(0)
    finally:
        signal.signal(signal.SIGHUP, usual)
    assert run.status == "finished"


@pytest.mark.parametrize("between_s", [0.0, 0.3])
def test_ctrl_c_twice_ends_a_run_with_nothing_lost_and_nothing_left(
    tmp_path: Path, between_s: float
) -> None:
    with started(tmp_path, *words(tmp_path, 20)) as run:
        loader = run.wait_for_load().loader()
        seen = run.recording.samples().height
        run.process.send_signal(signal.SIGINT)
        time.sleep(between_s)
        run.process.send_signal(signal.SIGINT)
        run.end(130)
    assert run.recording.samples().height >= seen
    assert until(lambda: not is_alive(loader))
    assert list((tmp_path / "place").iterdir()) == []
