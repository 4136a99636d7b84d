"""``--fail-on``: what a script is told by the exit code."""

import json
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command import heatsoak_here
from heatsoak.analysis import analyze
from hypothesis import given, settings
from hypothesis import strategies as st
from made_recording import make_recording

SECONDS = 240


def load(
    level: float, *, temp_c: float, fall_s: float | None = None, to: float = 1.0
) -> pl.DataFrame:
    """Writes at 1 Hz; at `fall_s` they fall to the share `to`. The drive warms to `temp_c`."""
    t_s = np.arange(1.0, SECONDS + 1)
    rates = np.full(SECONDS, float(level))
    if fall_s is not None:
        rates[t_s > fall_s] *= to
    return pl.DataFrame(
        {
            "t_s": t_s,
            "step": ["load"] * SECONDS,
            "interval_s": np.ones(SECONDS),
            "write_bw_mb_s": rates * np.random.default_rng(1).normal(1, 0.01, SECONDS),
            "temp_c.composite": (temp_c - 5 * np.exp(-t_s / 60)).round(),
        }
    )


def codes(cwd: Path, *words: str) -> dict[str, int]:
    """Return the exit code for each word of --fail-on."""
    return {
        word: heatsoak_here("analyze", *words, "--fail-on", word, cwd=cwd).returncode
        for word in ("throttle", "unknown", "any")
    }


def answers(cwd: Path, *words: str) -> list[str]:
    done = heatsoak_here("analyze", *words, "--format", "json", cwd=cwd)
    return [one["answer"]["throttles"] for one in json.loads(done.stdout)["recordings"]]


def test_a_steady_step_passes_everything(tmp_path: Path) -> None:
    make_recording(tmp_path / "r", load(1000, temp_c=45), rw="write", bs="128k")
    assert answers(tmp_path, "r") == ["no"]
    assert codes(tmp_path, "r") == {"throttle": 0, "unknown": 0, "any": 0}


def test_a_fall_of_a_cool_drive_fails_any_alone(tmp_path: Path) -> None:
    frame = load(1000, temp_c=35, fall_s=60, to=0.4)
    make_recording(tmp_path / "r", frame, rw="write", bs="128k")
    assert answers(tmp_path, "r") == ["no"]
    assert codes(tmp_path, "r") == {"throttle": 0, "unknown": 0, "any": 1}


def test_an_answer_that_cannot_tell_fails_unknown_and_any(tmp_path: Path) -> None:
    # as hot as drives throttle at from the start: nothing shows its full speed
    make_recording(tmp_path / "r", load(1000, temp_c=78), rw="write", bs="128k")
    assert answers(tmp_path, "r") == ["cannot-tell"]
    assert codes(tmp_path, "r") == {"throttle": 0, "unknown": 1, "any": 1}


@pytest.mark.parametrize("word", ["throttle", "any"])
def test_half_the_speed_of_the_same_drive_with_a_heatsink_is_throttling(
    tmp_path: Path, word: str
) -> None:
    for name, level, temp_c in (("none", 500.0, 80.0), ("finned", 1000.0, 55.0)):
        make_recording(
            tmp_path / "r" / name,
            load(level, temp_c=temp_c),
            rw="write",
            bs="128k",
            conditions={"heatsink": name},
            serial="S1",
        )
    assert heatsoak_here("analyze", "r/none", "--fail-on", "throttle", cwd=tmp_path).returncode == 0
    assert heatsoak_here("analyze", "r", "--fail-on", word, cwd=tmp_path).returncode == 1
    assert answers(tmp_path, "r") == ["no", "yes"]


def test_without_a_temperature_the_same_may_be_throttling(tmp_path: Path) -> None:
    for name, level in (("none", 500.0), ("finned", 1000.0)):
        make_recording(
            tmp_path / "r" / name,
            load(level, temp_c=60).drop("temp_c.composite"),
            rw="write",
            bs="128k",
            conditions={"heatsink": name},
            serial="S1",
        )
    assert answers(tmp_path, "r/none") == ["no"]
    assert answers(tmp_path, "r") == ["no", "cannot-tell"]
    assert codes(tmp_path, "r") == {"throttle": 1, "unknown": 1, "any": 1}
    said = heatsoak_here("analyze", "r", cwd=tmp_path).stdout
    assert "with heatsink finned the same load ran 2 times as fast" in " ".join(said.split())


def test_a_cool_drive_that_is_slower_than_elsewhere_was_not_throttled(tmp_path: Path) -> None:
    make_recording(
        tmp_path / "r" / "cool", load(500, temp_c=40), rw="write", bs="128k", serial="S1"
    )
    fast = load(1000, temp_c=40).drop("temp_c.composite")
    make_recording(tmp_path / "r" / "fast", fast, rw="write", bs="128k", serial="S1")
    assert answers(tmp_path, "r") == ["no", "no"]
    assert codes(tmp_path, "r") == {"throttle": 0, "unknown": 0, "any": 0}


def test_a_step_below_its_full_speed_after_throttling_fails_though_it_cooled(
    tmp_path: Path,
) -> None:
    t_s = np.arange(1.0, 241)
    cooling_c = np.linspace(78, 45, 60)
    frame = pl.DataFrame(
        {
            "t_s": t_s,
            "step": np.where(t_s <= 180, "fill", "write"),
            "interval_s": np.ones(240),
            "write_bw_mb_s": np.where(t_s <= 60, 200.0, 130 + 70 * np.exp(-(t_s - 60) / 20))
            * np.random.default_rng(0).normal(1, 0.01, 240),
            "temp_c.composite": np.concatenate(
                [np.minimum(40 + 38 * t_s[:180] / 60, 78).round(), cooling_c]
            ),
        }
    )
    make_recording(tmp_path / "r", frame, rw="write", bs="128k", preconditions=["fill"])
    done = heatsoak_here("analyze", "r", "--format", "json", cwd=tmp_path)
    (step,) = json.loads(done.stdout)["recordings"][0]["steps"]
    assert step["verdict"] == "unknown"
    assert step["slower_than_elsewhere_pct"] == pytest.approx(35, abs=3)
    assert codes(tmp_path, "r") == {"throttle": 1, "unknown": 1, "any": 1}


def test_a_drive_that_was_never_loaded_fails_nothing(tmp_path: Path) -> None:
    frame = load(0.0, temp_c=35)
    make_recording(tmp_path / "r", frame, rw="write", bs="128k")
    assert answers(tmp_path, "r") == ["not-loaded"]
    assert codes(tmp_path, "r") == {"throttle": 0, "unknown": 0, "any": 0}


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
        rested = load(1700, temp_c=temp_c, fall_s=120, to=0.32)
        rested = rested.with_columns(t_s=pl.col("t_s") + 800, step=pl.lit("rested"))
        make_recording(
            tmp_path / "r" / name,
            pl.concat([first, rested]),
            rw="write",
            bs="128k",
            conditions={"heatsink": name},
            serial="S1",
        )
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
@settings(deadline=None, max_examples=40)
def test_a_neighbour_that_did_no_better_makes_no_answer_worse(
    fall_s: float, to: float, temps_c: tuple[float, float], is_later: bool
) -> None:
    """A run with another heatsink that fell as far, and when this one did or before."""
    with tempfile.TemporaryDirectory() as directory:
        recordings = []
        for name, temp_c in zip(("none", "finned"), temps_c, strict=True):
            fell_s = fall_s - 10.0 * (is_later and name == "finned")
            frame = load(1000, temp_c=temp_c, fall_s=fell_s, to=to)
            recordings.append(
                make_recording(
                    Path(directory) / name,
                    frame,
                    rw="write",
                    bs="128k",
                    conditions={"heatsink": name},
                    serial="S1",
                )
            )
        (alone,) = analyze(recordings[:1]).recordings
        beside = analyze(recordings).recordings[0]
        assert ORDER.index(beside.answer.throttles) <= ORDER.index(alone.answer.throttles)
