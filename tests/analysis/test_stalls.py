"""Drives that stand still for some seconds and go on: no episode, and said all the same."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from heatsoak.analysis import RecordingFindings
from heatsoak.analysis.judge import judge
from made_recording import make_recording
from numpy.typing import NDArray

Array = NDArray[np.float64]


def judged(path: Path, rates: Array, sampling_s: float = 1.0) -> RecordingFindings:
    """What is found in rates of a write, with a little noise."""
    size = round(sampling_s / 0.1)
    noisy = rates * np.random.default_rng(3).normal(1, 0.02, len(rates))
    means = noisy[: len(noisy) // size * size].reshape(-1, size).mean(axis=1)
    samples = pl.DataFrame(
        {
            "t_s": np.arange(1, len(means) + 1) * sampling_s,
            "step": ["write"] * len(means),
            "interval_s": np.full(len(means), sampling_s),
            "write_bw_mb_s": means,
        }
    )
    return judge(make_recording(path / "r", samples, rw="write", bs="128k"))


def disk(stalls: dict[float, float], duration_s: float = 1200.0) -> Array:
    """A disk from its outer tracks inwards, every 0.1 s, that stalls for so long at some times."""
    t_s = np.arange(0, duration_s, 0.1)
    rates = 200 * np.sqrt(1 - 0.3 * t_s / duration_s)
    for start_s, length_s in stalls.items():
        rates[(t_s >= start_s) & (t_s < start_s + length_s)] = 0
    return rates


def flat(stalls: dict[float, float], level: float = 500.0, after: float = 500.0) -> Array:
    """A level, every 0.1 s for 600 s, with another one after the last stall."""
    t_s = np.arange(0, 600, 0.1)
    rates = np.full(len(t_s), level)
    rates[t_s >= max(stalls)] = after
    for start_s, length_s in stalls.items():
        rates[(t_s >= start_s) & (t_s < start_s + length_s)] = 0
    return rates


@pytest.mark.parametrize("sampling_s", [0.1, 1.0])
@pytest.mark.parametrize("length_s", [3.3, 6.0, 9.5])
def test_a_short_standstill_is_noted_and_no_episode(
    length_s: float, sampling_s: float, tmp_path: Path
) -> None:
    found = judged(tmp_path, flat({300.4: length_s}), sampling_s)
    assert found.steps[0].episodes == []
    assert found.steps[0].verdict == "steady"
    (note,) = [note for note in found.notes if " stalled " in note]
    assert "'write'" in note
    assert "at 30" in note


def test_several_standstills_are_one_note(tmp_path: Path) -> None:
    found = judged(tmp_path, flat({100.0: 4.0, 250.0: 7.0, 420.0: 5.0}))
    assert found.steps[0].verdict == "steady"
    (note,) = [note for note in found.notes if " stalled " in note]
    assert "3 times for 4 to 7 s, first at 100 s" in note


@pytest.mark.parametrize("start_s", [300.0, 700.3])
def test_a_disk_that_stalls_slides_as_if_it_had_not(start_s: float, tmp_path: Path) -> None:
    plain = judged(tmp_path / "plain", disk({})).steps[0]
    stalled = judged(tmp_path / "stalled", disk({start_s: 3.0})).steps[0]
    assert [episode.cause for episode in stalled.episodes] == [
        episode.cause for episode in plain.episodes
    ]
    for one, other in zip(stalled.episodes, plain.episodes, strict=True):
        # 2 % are lost after 158 s; a slide's onset is known to a tenth of its length
        assert (one.onset_s, other.onset_s) == pytest.approx((158, 158), abs=120)
        assert one.depth_pct == pytest.approx(other.depth_pct, abs=2)


def test_a_fall_that_starts_with_a_standstill_starts_there(tmp_path: Path) -> None:
    found = judged(tmp_path, flat({300.0: 5.0}, after=250.0))
    (episode,) = found.steps[0].episodes
    assert episode.onset_s == pytest.approx(300, abs=2)
    assert episode.depth_pct == pytest.approx(50, abs=5)


def test_a_long_standstill_is_an_episode(tmp_path: Path) -> None:
    (episode,) = judged(tmp_path, flat({300.0: 30.0})).steps[0].episodes
    assert (episode.onset_s, episode.end_s) == pytest.approx((300, 330), abs=2)


def test_standstills_that_come_again_and_again_are_a_swing(tmp_path: Path) -> None:
    often = {float(start_s): 5.0 for start_s in range(200, 600, 20)}
    (episode,) = judged(tmp_path, flat(often)).steps[0].episodes
    assert episode.oscillates
    assert episode.onset_s == pytest.approx(200, abs=3)
