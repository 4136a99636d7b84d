"""Logs of a world that heatsoak's simulator did not make: readable, repeatable, and true."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from command import heatsoak_here
from heatsoak_dev.elsewhere import DEVELOPMENT, FORMATS, HELD_OUT, draw, make, read_truth
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_is_read(name: str, tmp_path: Path) -> None:
    truth = make(1, tmp_path / "case", name)
    words = [str(tmp_path / "case" / one) for one in truth.files]
    done = heatsoak_here("analyze", *words, "--format", "json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    recordings = json.loads(done.stdout)["recordings"]
    steps = [step for one in recordings for step in one["steps"]]
    assert sum(step["duration_s"] for step in steps) > 0.7 * truth.duration_s
    assert not any("not be read" in note for one in recordings for note in one["notes"])


def test_a_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for seed in (0, 7):
        made = [make(seed, tmp_path / place / str(seed)) for place in ("first", "second")]
        assert made[0] == made[1] == read_truth(tmp_path / "first" / str(seed))
        for name in (*made[0].files, "truth.json"):
            first, second = (tmp_path / place / str(seed) / name for place in ("first", "second"))
            assert first.read_bytes() == second.read_bytes()


def test_development_and_held_out_seeds_are_apart() -> None:
    assert not set(DEVELOPMENT) & set(HELD_OUT)


@settings(max_examples=8, deadline=None)
@given(st.sampled_from(range(400)))
def test_a_fall_that_must_be_found_is_in_the_samples(seed: int) -> None:
    _, _, seen, _ = draw(seed)
    with TemporaryDirectory() as place:
        truth = make(seed, Path(place))
    total = seen.read + seen.write
    for fall in truth.falls:
        assert 0 <= fall.onset_s <= fall.end_s <= truth.duration_s
        assert fall.accepted
        if not fall.required:
            continue
        before = total[(seen.at_s <= fall.onset_s) & (seen.at_s > fall.onset_s - 60)]
        until = max(fall.end_s, fall.onset_s + 2 * seen.interval_s)
        during = total[(seen.at_s > fall.onset_s + seen.interval_s) & (seen.at_s <= until)]
        assert np.mean(during) < np.median(before)
