"""The case is warmed before the first step: for a time, or until no temperature rises any more."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from heatsoak.analysis import analyze
from heatsoak.bench.heating import Heating, HeatSource, Steadiness, warm_up_s
from heatsoak.bench.plan import typical_plan
from heatsoak.bench.progress import SessionView
from heatsoak.bench.recorder import Latest, Recorder, Side
from heatsoak.errors import ToolError, UsageError
from heatsoak.heat import ProcessHeater, heater
from heatsoak.protocol import Heat, Protocol, scaled
from heatsoak.protocol.source import parse_toml
from heatsoak.recording import Recording
from heatsoak.target.simulated import SimulatedTarget
from hypothesis import given
from hypothesis import strategies as st
from observed import Watcher, conducted, kinds

STEP = '[[steps]]\nname = "read"\nrw = "read"\nbs = "128k"\nruntime = "3s"\n'
SLEEP = '[[heat]]\nsource = "command"\ncommand = "sleep 1000"\n'


def protocol_of(heat: str) -> Protocol:
    return parse_toml('name = "heated"\n' + heat + STEP, "heated")


def heating_of(protocol: Protocol, directory: Path) -> list[HeatSource]:
    return [
        (heat, heater(heat.source, heat.load_pct, heat.command, directory / f"{n}.log", None))
        for n, heat in enumerate(protocol.heat)
    ]


def run(heat: str, drive: Path, directory: Path, watcher: Watcher | None = None) -> Recording:
    protocol = protocol_of(heat)
    heating = heating_of(protocol, directory)
    target = SimulatedTarget(str(drive), "open-bench")
    return conducted(protocol, target, directory / "r", watcher, heat=heating)


@pytest.mark.slow
def test_a_warm_up_of_a_fixed_time_comes_before_the_first_step_and_belongs_to_none(
    small_drive: Path, tmp_path: Path
) -> None:
    watcher = Watcher()
    recording = run(SLEEP + 'warm_up = "2m"\n', small_drive, tmp_path, watcher)
    assert kinds(recording) == ["heat-begin", "step-begin", "step-end", "heat-end"]
    begin, first, _, end = recording.events
    assert begin.t_s == 0
    assert first.t_s == pytest.approx(120, abs=0.2)
    assert end.data["duration_s"] == pytest.approx(123, abs=0.2)
    assert begin.data["command"][-1] == "1000"
    assert all("composite" in event.data["temps_c"] for event in (first, end))
    before = recording.samples().filter(pl.col("t_s") <= first.t_s)
    assert before["step"].null_count() == before.height > 10
    assert watcher.told == [
        ("warm-up", "command heat (sleep 1000), 2 min of warm-up"),
        ("step", "read"),
    ]
    (step,) = analyze([recording]).recordings[0].steps
    assert step.duration_s == pytest.approx(3, abs=0.2)


@pytest.mark.slow
def test_a_drive_at_rest_is_steady_as_soon_as_that_can_be_known(
    small_drive: Path, tmp_path: Path
) -> None:
    recording = run(SLEEP + 'warm_up = "steady"\n', small_drive, tmp_path)
    assert kinds(recording) == ["heat-begin", "heat-steady", "step-begin", "step-end", "heat-end"]
    (steady,) = (event for event in recording.events if event.kind == "heat-steady")
    assert steady.data["waited_s"] == pytest.approx(600, abs=20)
    assert abs(steady.data["rises_k"]["composite"]) < 0.5
    assert analyze([recording]).recordings[0].notes == []


@pytest.mark.slow
def test_a_longer_fixed_time_beside_it_is_waited_for(small_drive: Path, tmp_path: Path) -> None:
    heats = SLEEP + 'warm_up = "steady"\nat_most = "15m"\n' + SLEEP + 'warm_up = "20m"\n'
    recording = run(heats, small_drive, tmp_path)
    (begin,) = (event for event in recording.events if event.kind == "step-begin")
    assert begin.t_s == pytest.approx(1200, abs=11)
    assert kinds(recording).count("heat-end") == 2


@pytest.mark.slow
def test_a_warm_up_that_does_not_get_steady_in_its_time_is_said(
    small_drive: Path, tmp_path: Path
) -> None:
    heat = SLEEP + 'warm_up = "steady"\nat_most = "5m"\n'
    watcher = Watcher()
    recording = run(heat, small_drive, tmp_path, watcher)
    assert "heat-not-steady" in kinds(recording)
    said = ("the warm-up was not steady within 5 min: it takes ten minutes to tell at its end",)
    assert analyze([recording]).recordings[0].notes == list(said)
    assert ("warning", *said) in watcher.told


@pytest.mark.slow
@pytest.mark.parametrize(
    ("temps", "said"),
    [
        ({"composite": lambda t_s: 30 + t_s / 120}, "composite rose by 3.8 K"),
        ({}, "no temperature can be read"),
    ],
)
def test_what_still_rises_is_named(
    temps: dict[str, Callable[[float], float]], said: str, small_drive: Path, tmp_path: Path
) -> None:
    protocol = protocol_of(SLEEP + 'warm_up = "steady"\nat_most = "45m"\n')
    target = SimulatedTarget(str(small_drive), "open-bench")
    watcher = Watcher()
    recorder = Recorder(Side(protocol, {}, tmp_path / "r"), target, watcher.on_note)
    recorder.start([])

    def wait(duration_s: float, until: Callable[[], bool]) -> None:
        for _ in target.idle(duration_s):
            now_s = recorder.now_s()
            recorder.latest.update({f"temp_c.{key}": of(now_s) for key, of in temps.items()})
            if until():
                return

    with Heating(heating_of(protocol, tmp_path), recorder).on(watcher, wait):
        assert recorder.now_s() == pytest.approx(2700)
    recorder.finish("finished", None)
    assert watcher.told[-1] == (
        "warning",
        f"the warm-up was not steady within 45 min: {said} at its end",
    )


class _FailsAfterStart(ProcessHeater):
    """A heater that has ended once it is asked."""

    def start(self) -> None:
        super().start()
        self._why = "it ended with exit code 1"


@pytest.mark.slow
def test_heat_that_ends_during_the_warm_up_ends_the_run(small_drive: Path, tmp_path: Path) -> None:
    protocol = protocol_of(SLEEP + 'warm_up = "10m"\n')
    heat = _FailsAfterStart(["/bin/sleep", "1000"], tmp_path / "log")
    with pytest.raises(ToolError, match="command heat ended before it had warmed up: it ended"):
        conducted(
            protocol,
            SimulatedTarget(str(small_drive), "open-bench"),
            tmp_path / "r",
            heat=[(protocol.heat[0], heat)],
        )
    recording = Recording.open(tmp_path / "r")
    assert recording.meta.status == "failed"
    assert kinds(recording) == ["heat-begin", "heat-end", "fault"]


def test_a_warm_up_counts_in_what_is_left_to_do() -> None:
    planned = typical_plan(protocol_of(SLEEP))
    plan = replace(planned, warm_up_s=600)
    assert plan.duration_s == 603
    view = SessionView([plan], "heated")
    seen = view.begin_run(plan, "")
    assert view.remaining_s() == 603
    seen.on_warm_up("gpu heat at 100 %, 10 min of warm-up")
    assert seen.describe_step() == "warming up: gpu heat at 100 %, 10 min of warm-up"
    seen.on_progress(150, Latest())
    assert view.remaining_s() == 453
    seen.on_step(0, plan.steps[0].step, 600)
    assert view.remaining_s() == 3


@pytest.mark.slow
@given(
    rise_k=st.floats(0, 60),
    tau_s=st.floats(10, 900),
    noise_k=st.floats(0, 0.3),
    end_c=st.floats(20, 90),
    resolution_k=st.sampled_from([0.01, 0.1, 1.0]),
    interval_s=st.sampled_from([1, 10]),
    glitches=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_what_is_steady_has_less_than_two_kelvins_to_go(
    rise_k: float,
    tau_s: float,
    noise_k: float,
    end_c: float,
    resolution_k: float,
    interval_s: int,
    glitches: bool,
    seed: int,
) -> None:
    chance = np.random.default_rng(seed)
    steadiness = Steadiness(0.0)
    for t_s in range(0, 4 * 3600, interval_s):
        read_c = end_c - rise_k * np.exp(-t_s / tau_s) + chance.normal(0, noise_k)
        if glitches and chance.random() < 0.02:
            read_c = 127.0
        steadiness.add(t_s, {"case": round(read_c / resolution_k) * resolution_k})
        if t_s % 60 == 0 and steadiness.is_steady(t_s):
            break
    else:
        pytest.fail("it never got steady")
    assert rise_k * np.exp(-t_s / tau_s) < 2


@pytest.mark.parametrize("rate_k_per_h", [10.0, 20.0, 100.0])
def test_what_keeps_rising_is_never_steady(rate_k_per_h: float) -> None:
    steadiness = Steadiness(0.0)
    for t_s in range(0, 2 * 3600, 10):
        steadiness.add(t_s, {"calm": 40.0, "case": round(25 + rate_k_per_h * t_s / 3600)})
        assert not steadiness.is_steady(t_s)


def test_a_sensor_that_has_just_started_to_answer_is_waited_for_and_what_cools_is_steady() -> None:
    late, cooling = Steadiness(0.0), Steadiness(0.0)
    for t_s in range(1000):
        late.add(t_s, {"composite": 40.0} | ({"gpu0": 60.0} if t_s > 900 else {}))
        if t_s < 700 and t_s % 5 == 0:
            cooling.add(t_s, {"case": 40 - t_s / 100})
    assert not late.is_steady(1000)
    assert cooling.is_steady(700)


@pytest.mark.parametrize(
    ("heat", "said"),
    [
        ('source = "gpu"\nwarm_up = "soon"\n', r"heat\[1\].warm_up: 'soon' is not a time"),
        ('source = "gpu"\nat_most = "5m"\n', r"heat\[1\]: at_most is only for warm_up = 'steady'"),
        ('source = "command"\ncommand = ""\n', r"heat\[1\]: command is empty"),
        ('source = "command"\ncommand = "a \'b"\n', r"heat\[1\]: command is 'a 'b', which cannot"),
        (
            'source = "command"\ncommand = "a"\nload_pct = 50\n',
            r"heat\[1\]: load_pct does not apply to a command",
        ),
    ],
)
def test_heat_that_makes_no_sense_is_said_in_one_line(heat: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        protocol_of("[[heat]]\n" + heat)


def test_warm_ups_shrink_with_the_protocol() -> None:
    heats = (
        '[[heat]]\nsource = "gpu"\nwarm_up = "10m"\n[[heat]]\nsource = "cpu"\nwarm_up = "steady"\n'
    )
    small = scaled(protocol_of(heats), 0.1)
    assert [heat.longest_warm_up_s for heat in small.heat] == [60, 360]
    assert warm_up_s(small.heat) == 360
    assert [heat.until_steady for heat in small.heat] == [False, True]


@given(st.builds(Heat, source=st.just("gpu"), warm_up=st.sampled_from([0.0, 1e-7, 5.0, "steady"])))
def test_heat_reads_back_from_what_was_written_down(heat: Heat) -> None:
    assert Heat.model_validate_json(heat.model_dump_json()) == heat
