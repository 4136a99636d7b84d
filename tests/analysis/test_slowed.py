"""Steps that are slow from their start, since a load right before them had throttled."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from command import heatsoak_here
from heatsoak.analysis import StepFindings, analyze
from heatsoak.recording import Recording
from made_recording import make_recording
from numpy.typing import NDArray
from paged import page_of

Array = NDArray[np.float64]
FULL, LOW, LIMIT_C = 200.0, 130.0, 78.0


def load(name: str, start_s: float, rates: Array, temps_c: Array, **more: Array) -> pl.DataFrame:
    """A write at 1 Hz with a little noise, from `start_s` on."""
    chance = np.random.default_rng(round(start_s))
    rates = rates * chance.normal(1, 0.01, len(rates))
    columns: dict[str, Any] = {
        "t_s": start_s + np.arange(1.0, len(rates) + 1),
        "step": [name] * len(rates),
        "interval_s": np.ones(len(rates)),
        "write_bw_mb_s": rates,
        "temp_c.composite": temps_c,
    }
    return pl.DataFrame(columns | {key.replace("__", "."): value for key, value in more.items()})


def throttled_fill(**more: Array) -> pl.DataFrame:
    """One that warms to its limit in 60 s, and is held there for 120 s by a governor."""
    t_s = np.arange(1.0, 181)
    temps_c = np.minimum(40 + (LIMIT_C - 40) * t_s / 60, LIMIT_C).round().astype(float)
    rates = np.where(t_s <= 60, FULL, LOW + (FULL - LOW) * np.exp(-(t_s - 60) / 20))
    return load("fill", 0.0, rates, temps_c, **more)


def steps_of(path: Path, *frames: pl.DataFrame) -> dict[str, StepFindings]:
    recording = make_recording(
        path / "r", pl.concat(frames), rw="write", bs="128k", preconditions=["fill"]
    )
    return {step.step: step for step in analyze([recording]).recordings[0].steps}


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
    frames: list[pl.DataFrame], verdict: str, why: list[str], tmp_path: Path
) -> None:
    (*_, step) = steps_of(tmp_path, throttled_fill(), *frames).values()
    assert (step.episodes, step.verdict) == ([], verdict)
    assert all(words in step.why[0] for words in why)


def test_the_findings_say_that_it_throttles_from_its_start_and_why(tmp_path: Path) -> None:
    steps_of(tmp_path, throttled_fill(), SLOWED)
    done = heatsoak_here("analyze", "r", "--fail-on", "throttle", cwd=tmp_path)
    assert done.returncode == 1
    assert "right after 'fill'" in " ".join(done.stdout.split())
    head = page_of([Recording.open(tmp_path / "r")]).headline
    assert head.tone == "bad"
    assert head.text.startswith("Heat slows the drive from the start")
    assert any("right after 'fill'" in more for more in head.more)
    assert heatsoak_here("report", "r", "-o", "x.xml", cwd=tmp_path).returncode == 0
    assert "right after 'fill'" in (tmp_path / "x.xml").read_text()
    assert heatsoak_here("report", "r", "-o", "x.csv", cwd=tmp_path).returncode == 0
    assert "right after 'fill'" in (tmp_path / "x.csv").read_text()


@pytest.mark.parametrize(("hot_c", "expected"), [(LIMIT_C, "unknown"), (60.0, "steady")])
def test_reads_of_which_no_full_speed_is_known_are_unknown_while_the_drive_is_held(
    tmp_path: Path, hot_c: float, expected: str
) -> None:
    reads = load("read", 180, level(90.0), level(hot_c)).rename({"write_bw_mb_s": "read_bw_mb_s"})
    fill = throttled_fill()
    recording = make_recording(
        tmp_path / "r",
        pl.concat([fill, reads], how="diagonal"),
        rw={"fill": "write", "read": "read"},
        bs="128k",
        preconditions=["fill"],
    )
    (step,) = analyze([recording]).recordings[0].steps
    assert step.verdict == expected


def test_counted_throttling_names_heat_without_a_like_load(tmp_path: Path) -> None:
    fill = throttled_fill(throttle_time_s__tmt1=np.maximum(SECONDS - 60, 0))
    assert steps_of(tmp_path, fill, COUNTED)["write"].verdict == "thermal"
