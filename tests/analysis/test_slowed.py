"""Steps that are slow from their start, since a load right before them had throttled."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from command import done_here, heatsoak_here
from compared import run
from heatsoak.analysis import StepFindings, analyze
from heatsoak.recording import Recording
from hypothesis import given, settings
from hypothesis import strategies as st
from made_recording import Array, judged, make_recording, sampled
from made_series import lost, of_parts
from paged import page_of

FULL, LOW, LIMIT_C = 200.0, 130.0, 78.0
WRITES: dict[str, Any] = {"rw": "write", "bs": "128k", "preconditions": ["fill"]}


def load(name: str, start_s: float, rates: Array, temps_c: Array, **more: Any) -> pl.DataFrame:
    """A write at 1 Hz with a little noise, from `start_s` on."""
    seed = round(start_s)
    return sampled(rates, step=name, start_s=start_s, seed=seed, temp_c__composite=temps_c, **more)


def throttled_fill(**more: Array) -> pl.DataFrame:
    """One that warms to its limit in 60 s, and is held there for 120 s by a governor."""
    t_s = np.arange(1.0, 181)
    temps_c = np.minimum(40 + (LIMIT_C - 40) * t_s / 60, LIMIT_C).round().astype(float)
    rates = np.where(t_s <= 60, FULL, LOW + (FULL - LOW) * np.exp(-(t_s - 60) / 20))
    return load("fill", 0.0, rates, temps_c, **more)


def steps_of(*frames: pl.DataFrame) -> dict[str, StepFindings]:
    return {step.step: step for step in judged(pl.concat(frames), **WRITES).steps}


def level(value: float, length: int = 60) -> Array:
    return np.full(length, value)


SLOWED = load("write", 180, level(LOW), level(LIMIT_C))
SECONDS = np.arange(1.0, 181)
COUNTED = load(
    "write", 180, level(LOW), level(60.0), throttle_time_s__tmt1=120 + np.arange(1.0, 61)
)


@pytest.mark.parametrize(
    ("frames", "verdict", "why"),
    [
        pytest.param([SLOWED], "thermal", ["'fill'", "as hot"], id="right behind the fill"),
        pytest.param([SLOWED, load("again", 240, level(LOW), level(LIMIT_C))], "thermal", [],
                     id="one more behind it"),
        pytest.param([load("write", 200, level(LOW), level(50.0))], "steady", [],
                     id="after a rest, without the step before"),
        pytest.param([load("write", 200, level(LOW), level(LIMIT_C))], "unknown",
                     ["as hot as drives throttle at"], id="after a rest, hot from its start"),
        pytest.param([load("write", 180, level(FULL), level(LIMIT_C))], "steady", [],
                     id="at full speed"),
        pytest.param([load("write", 180, level(LOW), np.linspace(LIMIT_C, 45, 60))], "unknown",
                     ["pause"], id="slow while it cools"),
    ],
)  # fmt: skip
def test_a_step_is_judged_by_how_the_step_before_it_ended(
    frames: list[pl.DataFrame], verdict: str, why: list[str]
) -> None:
    (*_, step) = steps_of(throttled_fill(), *frames).values()
    assert (step.episodes, step.verdict) == ([], verdict)
    assert all(words in step.reasons[0] for words in why)


def test_the_findings_say_that_it_throttles_from_its_start_and_why(tmp_path: Path) -> None:
    make_recording(tmp_path / "r", pl.concat([throttled_fill(), SLOWED]), **WRITES)
    done = done_here("analyze", "r", "--fail-on", "throttle", cwd=tmp_path, code=1)
    assert "right after 'fill'" in " ".join(done.stdout.split())
    head = page_of([Recording.open(tmp_path / "r")]).headline
    assert head.tone == "bad"
    assert head.text.startswith("Heat slows the drive from the start")
    assert any("right after 'fill'" in more for more in head.more)
    for name in ("x.xml", "x.csv"):
        assert heatsoak_here("report", "r", "-o", name, cwd=tmp_path).returncode == 0
        assert "right after 'fill'" in (tmp_path / name).read_text()


@pytest.mark.parametrize(("hot_c", "expected"), [(LIMIT_C, "unknown"), (60.0, "steady")])
def test_reads_of_which_no_full_speed_is_known_are_unknown_while_the_drive_is_held(
    hot_c: float, expected: str
) -> None:
    reads = load("read", 180, level(90.0), level(hot_c), column="read_bw_mb_s")
    both = pl.concat([throttled_fill(), reads], how="diagonal")
    (step,) = judged(both, **WRITES | {"rw": {"fill": "write", "read": "read"}}).steps
    assert step.verdict == expected


def test_counted_throttling_names_heat_without_a_like_load() -> None:
    fill = throttled_fill(throttle_time_s__tmt1=np.maximum(SECONDS - 60, 0))
    assert steps_of(fill, COUNTED)["write"].verdict == "thermal"


@given(
    held_s=st.floats(5.0, 30.0),
    time_constant_s=st.floats(5.0, 40.0),
    cut_s=st.integers(1, 20),
    seed=st.integers(0, 99),
)
@settings(deadline=None, max_examples=15)
def test_a_log_that_begins_later_names_the_same_depth_or_says_that_it_starts_slow(
    held_s: float, time_constant_s: float, cut_s: int, seed: int
) -> None:
    t_s = np.arange(1, 601) * 0.5
    rates = of_parts(lost(held_s, 0.7, time_constant_s), sampling_s=0.5, sigma=0.01, seed=seed)
    temps_c = np.round(np.minimum(68 + 0.15 * t_s, 80))
    found = []
    for since_s in (0, cut_s):
        rows = t_s > since_s
        frame = sampled(rates.values[rows], sampling_s=0.5, temp_c__composite=temps_c[rows])
        found.append(judged(frame))
    whole, cut = found
    (fell,) = whole.steps[0].episodes
    (later,) = cut.steps[0].episodes
    is_slow = later.from_start or cut.steps[0].claims[0].what == "hot"
    assert is_slow or later.depth_pct == pytest.approx(fell.depth_pct, abs=3)


def test_a_load_that_only_began_after_the_other_had_ended_is_no_slower(tmp_path: Path) -> None:
    bare = run({"heatsink": "none"}, np.r_[np.zeros(700), np.full(900, 900.0)], temp_c=65.0)
    cooled = run({"heatsink": "big"}, np.full(600, 900.0), seed=2, temp_c=40.0)
    found = analyze([bare.save(tmp_path / "bare"), cooled.save(tmp_path / "cooled")])
    (step,) = found.recordings[0].steps
    assert "times as fast" not in " ".join(step.reasons)
