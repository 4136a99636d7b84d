"""Drives that stand still for some seconds and go on: no episode, and said all the same."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from heatsoak.analysis import RecordingFindings, analyze
from made_recording import make_recording
from made_series import Part, lost, low, of_parts


def judged(path: Path, parts: list[Part], **made: Any) -> RecordingFindings:
    """What is found in rates of a write, with a little noise."""
    of = of_parts(*parts, correlation=0.0, **{"duration_s": 600, **made})
    samples = pl.DataFrame(
        {"t_s": of.t_s, "step": "write", "interval_s": of.interval_s, "write_bw_mb_s": of.values}
    )
    made_up = make_recording(path / "r", samples, rw="write", bs="128k")
    return analyze([made_up]).recordings[0]


def stalls(*stalls_s: tuple[float, float]) -> Part:
    """Standstills at some times, each for so long."""
    return low(*((start_s, start_s + length_s) for start_s, length_s in stalls_s), to=0)


@pytest.mark.parametrize(
    ("parts", "sampling_s", "said"),
    [
        *(([stalls((300.4, length_s))], sampling_s, ["'write'", "at 30"])
          for sampling_s in (0.1, 1.0) for length_s in (3.3, 6.0, 9.5)),
        ([stalls((100, 4), (250, 7), (420, 5))], 1.0, ["3 times for 4 to 7 s, first at 100 s"]),
    ],
)  # fmt: skip
def test_short_standstills_are_one_note_and_no_episode(
    parts: list[Part], sampling_s: float, said: list[str], tmp_path: Path
) -> None:
    found = judged(tmp_path, parts, sampling_s=sampling_s)
    assert (found.steps[0].episodes, found.steps[0].verdict) == ([], "steady")
    (note,) = [note for note in found.notes if " stalled " in note]
    assert all(words in note for words in said)


@pytest.mark.parametrize(
    ("parts", "wanted"),
    [
        pytest.param([stalls((300, 5)), lost(300, 0.5)], (300, 600, False), id="a fall begins so"),
        pytest.param([stalls((300, 30))], (300, 330, False), id="a long one"),
        pytest.param([stalls(*((at_s, 5) for at_s in range(200, 600, 20)))], (200, 585, True),
                     id="again and again"),
    ],
)  # fmt: skip
def test_what_a_standstill_is_part_of_is_an_episode(
    parts: list[Part], wanted: tuple[float, float, bool], tmp_path: Path
) -> None:
    (episode,) = judged(tmp_path, parts, sampling_s=1.0).steps[0].episodes
    assert (episode.onset_s, episode.end_s) == pytest.approx(wanted[:2], abs=3 if wanted[2] else 2)
    assert episode.oscillates == wanted[2]
    if wanted[1] == 600:
        assert episode.depth_pct == pytest.approx(50, abs=5)


@pytest.mark.parametrize("start_s", [300.0, 700.3])
def test_a_disk_that_stalls_slides_as_if_it_had_not(start_s: float, tmp_path: Path) -> None:
    """A disk from its outer tracks inwards."""
    tracks: Part = lambda t_s: np.sqrt(1 - 0.3 * t_s / 1200)  # noqa: E731
    plain, stalled = (
        judged(tmp_path / name, parts, duration_s=1200, sampling_s=1.0).steps[0].episodes
        for name, parts in [("plain", [tracks]), ("stalled", [tracks, stalls((start_s, 3))])]
    )
    assert [one.cause for one in stalled] == [one.cause for one in plain]
    for one, other in zip(stalled, plain, strict=True):
        # 2 % are lost after 158 s; a slide's onset is known to a tenth of its length
        assert (one.onset_s, other.onset_s) == pytest.approx((158, 158), abs=120)
        assert one.depth_pct == pytest.approx(other.depth_pct, abs=2)
