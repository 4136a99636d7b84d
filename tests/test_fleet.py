"""Several simulated runs at once: what comes back, what is kept, and what a person sees."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from heatsoak.bench.fleet import Fleet
from heatsoak.bench.plan import RunPlan, typical_plan
from heatsoak.bench.progress import LiveView, Observer, PlainView
from heatsoak.bench.recorder import Latest
from heatsoak.bench.session import Session, plan_session
from heatsoak.errors import RunInterrupted, ShutDownError, ToolError
from heatsoak.output import Console
from heatsoak.protocol import Protocol, load
from heatsoak.recording import find_recordings
from heatsoak.target import parse_place
from waiting import until

PLACES = ["open-bench", "laptop", "puget-top-2gpu-loaded"]
FULL = {"name": "fill", "rw": "write", "bs": "128k", "iodepth": 32}
SMALL = {"bs": "4k", "iodepth": 32, "runtime": "20s"}
STEPS = [
    {"kind": "precondition", **FULL},
    {"name": "write", "rw": "randwrite", **SMALL},
    {"kind": "pause", "duration": "30s"},
    {"name": "mix", "rw": "randrw", "numjobs": 2, **SMALL, "iodepth": 8},
]
#: On a bare board the drive shuts down in a minute and a half.
HOT_PLACES = ["board-heatsink", "open-bench", "laptop"]
HOT_STEPS = [{**FULL, "name": "read", "rw": "read", "runtime": "120s"}]


def session(drive: str, places: list[str] = PLACES, steps: Any = STEPS) -> Session:
    matrix = {"enclosure": "{place}", "axes": {"place": places}}
    told = {"name": "short", "matrix": matrix, "steps": steps}
    return plan_session(parse_place(f"sim:{drive}"), lambda: Protocol.model_validate(told))


# ---- the recordings


@pytest.mark.slow
def test_recordings_are_the_same_with_one_worker_and_with_two_in_the_matrixs_order(
    small_drive: Path, tmp_path: Path
) -> None:
    made = {
        workers: session(str(small_drive)).record(tmp_path / str(workers), workers=workers)
        for workers in (1, 2)
    }
    assert {path.name for path in (tmp_path / "2").iterdir()} == {f"place-{p}" for p in PLACES}
    for place, one, two in zip(PLACES, made[1], made[2], strict=True):
        assert one.samples().equals(two.samples())
        parquet = [(each.path / "samples.parquet").read_bytes() for each in (one, two)]
        assert parquet[0] == parquet[1]
        assert [(e.t_s, e.kind, e.step) for e in one.events] == [
            (e.t_s, e.kind, e.step) for e in two.events
        ]
        assert one.meta.conditions == two.meta.conditions
        assert (two.meta.conditions["place"], two.meta.status) == (place, "finished")


@pytest.mark.slow
def test_a_drive_that_shuts_down_loses_nothing_but_its_own_end(
    small_hot_drive: Path, tmp_path: Path
) -> None:
    with pytest.raises(ShutDownError) as caught:
        session(str(small_hot_drive), HOT_PLACES, HOT_STEPS).record(tmp_path / "r")
    said = str(caught.value)
    assert "\n" not in said
    assert said.startswith(
        f"place-open-bench failed: sim:{small_hot_drive}@open-bench: shut itself "
    )
    assert f"heatsoak analyze {tmp_path / 'r'}" in said
    states = {
        recording.meta.conditions["place"]: recording.meta.status
        for recording in find_recordings(tmp_path / "r")
    }
    assert states.keys() == {*HOT_PLACES}
    assert states["open-bench"] == "failed"
    assert states["board-heatsink"] == "finished"
    whole = sum(status == "finished" for status in states.values())
    assert f"{whole} of 3 recordings are complete" in said
    (failed,) = find_recordings(tmp_path / "r" / "place-open-bench")
    assert failed.samples(["t_s"])["t_s"].max() > 60  # type: ignore[operator]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_matrix_keeps_what_there_is(tmp_path: Path, number: int) -> None:
    words = [sys.executable, "-m", "heatsoak", "run", "puget"]
    words += ["--on", "sim:samsung-950-pro-512", "-o", "r"]

    def events() -> Iterator[Path]:
        return tmp_path.glob("r/*/events.jsonl")

    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
        assert until(lambda: sum("step-begin" in e.read_text() for e in events()) == 2)
        process.send_signal(number)
        _, errors = process.communicate(timeout=200)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert errors.splitlines()[-1] == (
        "heatsoak: stopped; the recordings so far are in r, and --resume continues them"
    )
    recordings = find_recordings(tmp_path / "r")
    assert [recording.meta.status for recording in recordings] == ["interrupted"] * 2


# ---- the fleet


def test_results_are_in_order_and_never_more_at_once_than_workers() -> None:
    going, most = 0, 0
    lock = threading.Lock()

    def run(index: int) -> int:
        nonlocal going, most
        with lock:
            going += 1
            most = max(most, going)
        time.sleep(0.01 * (5 - index % 5))
        with lock:
            going -= 1
        return index

    ticks: list[int] = []
    fleet = Fleet[int](2)
    made = fleet.make([lambda i=i: run(i) for i in range(12)], tick=ticks.append)  # type: ignore[misc]
    assert made == list(range(12))
    assert most <= 2
    assert ticks == sorted(ticks)
    assert ticks[-1] == 12


@pytest.mark.slow
def test_after_an_error_that_concerns_every_run_no_further_run_starts() -> None:
    begun: list[int] = []
    second_goes_on = threading.Event()

    def run(index: int) -> int:
        begun.append(index)
        if index == 0:
            second_goes_on.wait(200)
            raise ToolError("the disk is full")
        if index == 1:
            second_goes_on.set()
            time.sleep(0.5)
        return index

    made = Fleet[int](2).make([lambda i=i: run(i) for i in range(8)])  # type: ignore[misc]
    assert isinstance(made[0], ToolError)
    assert made[1] == 1
    assert made[2:] == [None] * 6
    assert sorted(begun) == [0, 1]


def test_after_a_drive_that_shut_down_the_others_are_run() -> None:
    def run(index: int) -> int:
        if index == 0:
            raise ShutDownError("too hot")
        return index

    made = Fleet[int](2).make([lambda i=i: run(i) for i in range(4)])  # type: ignore[misc]
    assert isinstance(made[0], ShutDownError)
    assert made[0].__traceback__ is None
    assert made[1:] == [1, 2, 3]


@pytest.mark.parametrize("by", ["a fault", "the user"])
def test_what_stops_the_fleet_ends_all_runs_and_is_not_swallowed(by: str) -> None:
    fleet = Fleet[int](2)
    seen = Observer()
    seen.stop = fleet.stop
    ended: list[int] = []

    def endless() -> int:
        try:
            while True:
                seen.raise_if_stopped()
                time.sleep(0.01)
        except KeyboardInterrupt:
            ended.append(1)
            raise RunInterrupted("as the conductor says it") from None

    def broken() -> int:
        raise ZeroDivisionError

    def stop(_count: int) -> None:
        raise KeyboardInterrupt

    if by == "a fault":
        with pytest.raises(ZeroDivisionError):
            fleet.make([endless, broken])
        assert len(ended) == 1
    else:
        with pytest.raises(RunInterrupted, match="stopped by the user"):
            fleet.make([endless, endless, endless], tick=stop)
        assert len(ended) == 2


# ---- what a person sees


def three_runs() -> tuple[Protocol, list[RunPlan]]:
    protocol = load("quick")
    return protocol, [typical_plan(protocol)] * 3


def test_the_share_that_is_done_never_goes_back_and_ends_at_one() -> None:
    protocol, plans = three_runs()
    view = PlainView(plans, "three")
    shares = [view.share_done()]
    for group in (2, 1):
        runs = [view.begin_run(plans[0], f"run {n}") for n in range(group)]
        t_s = 0.0
        for index, step in enumerate(plans[0].steps):
            for run in runs:
                run.on_step(index, step.step, t_s)
                shares.append(view.share_done())
            t_s += step.duration_s
            for run in runs:
                run.on_progress(t_s, Latest())
                shares.append(view.share_done())
        for run in runs:
            run.end()
            shares.append(view.share_done())
    assert protocol.name == "quick"
    # but for the last bit of a sum
    assert all(later >= sooner - 1e-12 for sooner, later in pairwise(shares))
    assert shares[0] == 0
    assert shares[-1] == pytest.approx(1)
    assert view.eta_s() == pytest.approx(0)


def test_a_terminal_shows_one_bar_and_the_runs_in_progress() -> None:
    protocol, plans = three_runs()
    screen = StringIO()
    console = Console(file=screen, force_terminal=True, width=120, color_system=None)
    view = LiveView(plans, "three", console)
    first, second = (view.begin_run(plans[0], f"cell-{n}") for n in (1, 2))
    for run in (first, second):
        run.on_step(0, protocol.steps[0], 0.0)
    latest = Latest()
    latest.update({"write_bw_mb_s": 1234.0, "temp_c.composite": 56.0})
    second.on_progress(2.0, latest)
    console.print(view._render())
    shown = screen.getvalue()
    assert "three: 0 of 3 recordings done" in shown
    assert shown.count("%") == 1
    assert "ETA" in shown
    assert "cell-1: step 1 of" in shown
    assert "1,234 MB/s  composite 56 C" in shown
    first.end()
    screen.truncate(0)
    console.print(view._render())
    shown = screen.getvalue()
    assert "three: 1 of 3 recordings done" in shown
    assert "cell-1" not in shown


def test_plain_lines_count_what_is_done(capsys: pytest.CaptureFixture[str]) -> None:
    _, plans = three_runs()
    view = PlainView(plans, "three")
    for name in ("one", "two"):
        view.begin_run(plans[0], name).end()
    assert capsys.readouterr().err.splitlines() == [
        "1 of 3 recordings done: one",
        "2 of 3 recordings done: two",
    ]


@pytest.mark.slow
def test_a_single_run_says_its_steps(small_drive: Path, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "heatsoak", "run", "quick", "--on", f"sim:{small_drive}"]
    done = subprocess.run(
        [*words, "-o", "r", "--format", "json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "step 1 of" in done.stderr
    assert len(json.loads(done.stdout)["recordings"]) == 1


@pytest.mark.parametrize(("is_stopped", "status"), [(True, "interrupted"), (False, "failed")])
def test_any_error_that_comes_as_the_user_stops_is_an_interruption(
    small_drive: Path, tmp_path: Path, is_stopped: bool, status: str
) -> None:
    """A signal that reaches a library within a thread comes out of it as a panic of its own."""

    class Panics(Observer):
        stop = threading.Event()

        def on_step(self, *_: object) -> None:
            if is_stopped:
                self.stop.set()
            raise ZeroDivisionError

    one = session(str(small_drive))
    raised = pytest.raises(RunInterrupted if is_stopped else ZeroDivisionError)
    with raised, one.claimed(one.runs[0], tmp_path / "r", Panics()) as conductor:
        conductor.run([])
    (recording,) = find_recordings(tmp_path / "r")
    assert recording.meta.status == status
