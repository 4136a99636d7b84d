"""Drives that stand still for some seconds and go on: no episode, and said all the same."""

from typing import Any

import numpy as np
import pytest
from heatsoak.analysis import RecordingFindings
from made_recording import judged, sampled
from made_series import Part, lost, low, of_parts


def found(parts: list[Part], sampling_s: float = 1.0, **made: Any) -> RecordingFindings:
    """What is found in rates of a write, with a little noise."""
    made = {"duration_s": 600, "correlation": 0.0, "sampling_s": sampling_s, **made}
    rates = of_parts(*parts, **made).values
    return judged(sampled(rates, step="write", sampling_s=sampling_s, sigma=0), rw="write")


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
    parts: list[Part], sampling_s: float, said: list[str]
) -> None:
    of = found(parts, sampling_s)
    assert (of.steps[0].episodes, of.steps[0].verdict) == ([], "steady")
    (note,) = [note for note in of.notes if " stalled " in note]
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
    parts: list[Part], wanted: tuple[float, float, bool]
) -> None:
    (episode,) = found(parts).steps[0].episodes
    assert (episode.onset_s, episode.end_s) == pytest.approx(wanted[:2], abs=3 if wanted[2] else 2)
    assert episode.oscillates == wanted[2]
    if wanted[1] == 600:
        assert episode.depth_pct == pytest.approx(50, abs=5)


@pytest.mark.parametrize("start_s", [300.0, 700.3])
def test_a_disk_that_stalls_slides_as_if_it_had_not(start_s: float) -> None:
    """A disk from its outer tracks inwards."""
    tracks: Part = lambda t_s: np.sqrt(1 - 0.3 * t_s / 1200)  # noqa: E731
    plain, stalled = (
        found(parts, duration_s=1200).steps[0].episodes
        for parts in ([tracks], [tracks, stalls((start_s, 3))])
    )
    assert [one.cause for one in stalled] == [one.cause for one in plain]
    for one, other in zip(stalled, plain, strict=True):
        # 2 % are lost after 158 s; a slide's onset is known to a tenth of its length
        assert (one.onset_s, other.onset_s) == pytest.approx((158, 158), abs=120)
        assert one.depth_pct == pytest.approx(other.depth_pct, abs=2)
