"""Runs of the real fio whose machine sleeps or is set to another time meanwhile."""

import time
from pathlib import Path

import polars as pl
import pytest
from command import heatsoak
from heatsoak.sensor import device_behind
from needs import needs
from set_clock import Clock
from started import protocol, started

pytestmark = [pytest.mark.slow, pytest.mark.long, needs("fio")]
HOUR_S = 3600
PAUSE = '[[steps]]\nkind = "pause"\nduration = "6s"\n'


@pytest.fixture
def clock(tmp_path: Path) -> Clock:
    return Clock(tmp_path)


def words(tmp_path: Path) -> list[str]:
    (tmp_path / "place").mkdir(exist_ok=True)
    return ["run", protocol(tmp_path), "--on", "place", "-o", "r"]


@pytest.mark.parametrize("by_s", [HOUR_S, -HOUR_S])
def test_a_clock_change_is_reported_and_moves_no_sample(
    tmp_path: Path, clock: Clock, by_s: int
) -> None:
    with started(tmp_path, *words(tmp_path), env=clock.env) as run:
        run.wait_for_load()
        clock.move(by_s)
        run.end(0)
    told = [event for event in run.events if "clock_set_s" in event.data]
    assert [event.data["clock_set_s"] for event in told] == [pytest.approx(by_s, abs=0.6)]
    assert ("forward" if by_s > 0 else "back") in told[0].text
    samples = run.recording.samples()
    rates = samples["interval_s"].drop_nulls()
    assert samples["t_s"].max() < 60  # type: ignore[operator]
    assert rates.max() < 60  # type: ignore[operator]
    run.require_tiled_and_whole()


@pytest.mark.parametrize("by_s", [HOUR_S, -int(1.7e9)])
def test_a_run_is_resumed_after_the_time_that_passed_whatever_the_clock_was_set_to(
    tmp_path: Path, clock: Clock, by_s: int
) -> None:
    command = words(tmp_path)
    with started(tmp_path, *command, env=clock.env) as run:
        run.wait_for_load().kill()
    killed = time.monotonic()
    clock.move(by_s)
    done = heatsoak(*command, "--resume", cwd=tmp_path, env=clock.env)
    gone_s = time.monotonic() - killed
    assert done.returncode == 0, done.stderr
    samples = run.recording.samples()
    first = samples.filter(pl.col("step") == "load~1")["t_s"].max()
    last = samples.filter(pl.col("step") == "load")["t_s"].max()
    assert isinstance(first, float)
    assert isinstance(last, float)
    assert 0 < last - first < gone_s + 1


def test_a_machine_that_sleeps_under_load_fails_the_run_which_takes_the_step_again(
    tmp_path: Path, clock: Clock
) -> None:
    command = words(tmp_path)
    with started(tmp_path, *command, env=clock.env) as run:
        run.wait_for_load()
        clock.move(slept_s=HOUR_S)
        line = run.end(3)
    assert line.startswith("heatsoak: the machine slept for 60 min in step 'load'")
    assert line.endswith("--resume continues it")
    assert run.status == "failed"
    done = heatsoak(*command, "--resume", cwd=tmp_path, env=clock.env)
    assert done.returncode == 0, done.stderr
    samples = run.recording.samples()
    assert samples.filter(pl.col("step") == "load~1").height >= 2
    assert samples.filter(pl.col("step") == "load")["t_s"].min() > HOUR_S  # type: ignore[operator]


def test_a_run_whose_machine_sleeps_in_a_pause_continues_and_says_so(
    tmp_path: Path, clock: Clock
) -> None:
    (tmp_path / "place").mkdir()
    name = protocol(tmp_path, PAUSE, runtime_s=1)
    with started(tmp_path, "run", name, "--on", "place", "-o", "r", env=clock.env) as run:
        run.wait_for_event('"step_kind":"pause"')
        clock.move(slept_s=HOUR_S)
        run.end(0)
    told = [event for event in run.events if "slept_s" in event.data]
    assert [event.data["slept_s"] for event in told] == [pytest.approx(HOUR_S, abs=1)]
    assert not any("clock_set_s" in event.data for event in run.events)


def test_a_watch_continues_after_a_sleep_and_a_clock_change_and_says_so(
    tmp_path: Path, clock: Clock
) -> None:
    if device_behind(tmp_path) is None:
        pytest.skip("the tests lie on no drive")
    command = ["watch", str(tmp_path), "-o", "r", "--for", "8s"]
    with started(tmp_path, *command, env=clock.env) as run:
        run.wait_for_rows(8)
        clock.move(set_s=-HOUR_S, slept_s=600)
        run.end(0)
    data = [event.data for event in run.events if event.kind == "warning"]
    assert {name for one in data for name in one} >= {"slept_s", "clock_set_s"}
    assert run.status == "finished"
