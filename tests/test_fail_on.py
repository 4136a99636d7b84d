"""``--fail-on``: what a script is told by the exit code."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from command import heatsoak_here
from heatsoak.analysis import analyze
from heatsoak.recording import Recording
from hypothesis import given, settings
from hypothesis import strategies as st
from made_recording import held, make_recording, sampled

WRITES: dict[str, Any] = {"rw": "write", "bs": "128k", "serial": "S1"}


def load(
    level: float, *, temp_c: float | None, fall_s: float | None = None, to: float = 1.0, **how: Any
) -> pl.DataFrame:
    """Writes at 1 Hz; at `fall_s` they fall to the share `to`. The drive warms to `temp_c`."""
    t_s = np.arange(1.0, 241.0)
    rates = np.full(240, float(level))
    if fall_s is not None:
        rates[t_s > fall_s] *= to
    warming: dict[str, Any] = {} if temp_c is None else {
        "temp_c__composite": (temp_c - 5 * np.exp(-t_s / 60)).round()
    }  # fmt: skip
    return sampled(rates, **warming, **how)


def save(directory: Path, frame: pl.DataFrame, heatsink: str | None = None) -> Recording:
    conditions = None if heatsink is None else {"heatsink": heatsink}
    return make_recording(directory, frame, conditions=conditions, **WRITES)


CODES = ("throttle", "unknown", "any")


def codes(cwd: Path, *words: str) -> dict[str, int]:
    """Return the exit code for each word of --fail-on."""
    return {
        word: heatsoak_here("analyze", *words, "--fail-on", word, cwd=cwd).returncode
        for word in CODES
    }


def answers(cwd: Path, *words: str) -> list[str]:
    done = heatsoak_here("analyze", *words, "--format", "json", cwd=cwd)
    return [one["answer"]["throttles"] for one in json.loads(done.stdout)["recordings"]]


@pytest.mark.parametrize(
    ("frame", "answer", "fails"),
    [
        pytest.param(load(1000, temp_c=45), "no", [], id="a steady step passes everything"),
        pytest.param(load(1000, temp_c=50, fall_s=60, to=0.4), "no", ["unknown", "any"],
                     id="a fall of a cool drive is not heat, and fails unknown and any"),
        # as hot as drives throttle at from the start: nothing shows its full speed
        pytest.param(load(1000, temp_c=78), "cannot-tell", ["unknown", "any"],
                     id="an answer that cannot tell fails unknown and any"),
        pytest.param(load(0.0, temp_c=35), "not-loaded", [],
                     id="a drive that was never loaded fails nothing"),
    ],
)  # fmt: skip
def test_one_recording_fails_what_it_shows(
    frame: pl.DataFrame, answer: str, fails: list[str], tmp_path: Path
) -> None:
    save(tmp_path / "r", frame)
    assert answers(tmp_path, "r") == [answer]
    assert codes(tmp_path, "r") == {word: int(word in fails) for word in CODES}


@pytest.mark.parametrize("word", ["throttle", "any"])
def test_half_the_speed_of_the_same_drive_with_a_heatsink_is_throttling(
    tmp_path: Path, word: str
) -> None:
    for name, level, temp_c in (("none", 500.0, 80.0), ("finned", 1000.0, 55.0)):
        save(tmp_path / "r" / name, load(level, temp_c=temp_c), name)
    assert heatsoak_here("analyze", "r/none", "--fail-on", "throttle", cwd=tmp_path).returncode == 0
    assert heatsoak_here("analyze", "r", "--fail-on", word, cwd=tmp_path).returncode == 1
    assert answers(tmp_path, "r") == ["no", "yes"]


def test_without_a_temperature_the_same_may_be_throttling(tmp_path: Path) -> None:
    for name, level in (("none", 500.0), ("finned", 1000.0)):
        save(tmp_path / "r" / name, load(level, temp_c=None), name)
    assert answers(tmp_path, "r/none") == ["no"]
    assert answers(tmp_path, "r") == ["no", "cannot-tell"]
    assert codes(tmp_path, "r") == {"throttle": 1, "unknown": 1, "any": 1}
    said = heatsoak_here("analyze", "r", cwd=tmp_path).stdout
    assert "with heatsink finned the same load ran 2 times as fast" in " ".join(said.split())


def test_a_cool_drive_that_is_slower_than_elsewhere_was_not_throttled(tmp_path: Path) -> None:
    save(tmp_path / "r" / "cool", load(500, temp_c=40))
    save(tmp_path / "r" / "fast", load(1000, temp_c=None))
    assert answers(tmp_path, "r") == ["no", "no"]
    assert codes(tmp_path, "r") == {"throttle": 0, "unknown": 0, "any": 0}


def test_a_step_below_its_full_speed_after_throttling_fails_though_it_cooled(
    tmp_path: Path,
) -> None:
    t_s = np.arange(1.0, 241)
    warm_c = np.where(t_s <= 180, np.minimum(40 + 38 * t_s / 60, 78).round(),
                      np.interp(t_s, [181, 240], [78, 45]))  # fmt: skip
    rates = np.where(t_s <= 60, 200.0, 130 + 70 * np.exp(-(t_s - 60) / 20))
    frame = sampled(rates, temp_c__composite=warm_c, seed=0)
    frame = frame.with_columns(step=pl.Series(np.where(t_s <= 180, "fill", "write")))
    make_recording(tmp_path / "r", frame, preconditions=["fill"], **WRITES)
    done = heatsoak_here("analyze", "r", "--format", "json", cwd=tmp_path)
    (step,) = json.loads(done.stdout)["recordings"][0]["steps"]
    assert step["verdict"] == "unknown"
    assert step["claims"][0]["loss_pct"] == pytest.approx(35, abs=3)
    assert codes(tmp_path, "r") == {"throttle": 1, "unknown": 1, "any": 1}


@pytest.mark.slow
def test_what_follows_a_full_cache_is_not_held_against_what_follows_a_rest(tmp_path: Path) -> None:
    for name, place in (("bare", "anandtech-bench"), ("finned", "wings-px1")):
        drive = f"sim:sabrent-rocket-q-1tb@{place}"
        words = ("run", "why", "--on", drive, "--scale", "0.3", "-o", name)
        assert heatsoak_here(*words, cwd=tmp_path).returncode == 0
    alone = [answers(tmp_path, name)[0] for name in ("bare", "finned")]
    assert alone == answers(tmp_path, "bare", "finned") == ["no", "no"]
    assert codes(tmp_path, "bare", "finned")["throttle"] == 0


def test_a_write_after_a_rest_is_not_held_against_the_first_one(tmp_path: Path) -> None:
    """Two runs alike but for the heatsink, of a drive whose cache is larger after a rest."""
    for name, temp_c in (("none", 66.0), ("finned", 45.0)):
        first = load(1700, temp_c=temp_c, fall_s=40, to=0.32)
        rested = load(1700, temp_c=temp_c, fall_s=120, to=0.32, step="rested", start_s=800)
        save(tmp_path / "r" / name, pl.concat([first, rested]), name)
    # alike with either, so its falls are not due to heat
    assert answers(tmp_path, "r/none") == ["cannot-tell"]
    assert answers(tmp_path, "r") == ["no", "no"]
    assert codes(tmp_path, "r")["throttle"] == 0
    assert "times as fast" not in heatsoak_here("analyze", "r", cwd=tmp_path).stdout


#: The better answer first.
ORDER = ("no", "not-loaded", "cannot-tell", "yes")


@given(
    fall_s=st.floats(20, 200),
    to=st.floats(0.1, 0.9),
    temps_c=st.tuples(st.floats(40, 85), st.floats(30, 85)),
    is_later=st.booleans(),
)
@settings(deadline=None, max_examples=20)
def test_a_neighbour_that_did_no_better_makes_no_answer_worse(
    fall_s: float, to: float, temps_c: tuple[float, float], is_later: bool
) -> None:
    """A run with another heatsink that fell as far, and when this one did or before."""
    recordings = []
    for name, temp_c in zip(("none", "finned"), temps_c, strict=True):
        fell_s = fall_s - 10.0 * (is_later and name == "finned")
        frame = load(1000, temp_c=temp_c, fall_s=fell_s, to=to)
        recordings.append(held(frame, conditions={"heatsink": name}, **WRITES))
    (alone,) = analyze(recordings[:1]).recordings
    beside = analyze(recordings).recordings[0]
    assert ORDER.index(beside.answer.throttles) <= ORDER.index(alone.answer.throttles)
