"""What evidence says agrees with the recording that it is of."""

from typing import Any

import numpy as np
import pytest
from made_recording import Array, judged, sampled

T_S = np.arange(1.0, 3601.0)
FULL, LOW, LOWER = 2000.0, 1200.0, 500.0


def evidence(rate: Array, **columns: Any) -> list[str]:
    """What is said of the first episode of a step of an hour."""
    return judged(sampled(rate, **columns), rw="write").steps[0].episodes[0].evidence


def told(lines: list[str], *words: str) -> list[str]:
    """The lines with one of the words, without what they speak for."""
    return [line.split(": ", 1)[1] for line in lines if any(word in line for word in words)]


def test_a_fall_lasted_to_the_end_only_where_no_other_ended_it() -> None:
    one = np.where(T_S <= 1750, FULL, LOW)
    two = np.where(T_S <= 3559, one, LOWER)
    assert told(evidence(one), "lasted") == ["it lasted to the end, 1,850 s"]
    assert told(evidence(two), "lasted") == ["it lasted 1,809 s, until 41 s before the step's end"]


@pytest.mark.parametrize(
    ("before_mb_s", "during_mb_s", "said"),
    [
        (0, 0, "nobody else used the device"),
        (0, 5, "others moved next to nothing on the same device: "),
        (52, 52, "others moved no more on the same device than before: "),
        (0, 52, "others moved too little on the same device to explain the fall: "),
        (0, 400, "others moved much on the same device: "),
    ],
)
def test_it_is_said_how_much_others_moved(before_mb_s: int, during_mb_s: int, said: str) -> None:
    is_low = T_S > 1000
    rate = np.where(is_low, LOW, FULL)
    own = rate * np.random.default_rng(1).normal(1, 0.01, len(T_S))  # as it is recorded
    others = np.where(is_low, float(during_mb_s), float(before_mb_s))
    lines = evidence(rate, device_read_mb_s=others, device_write_mb_s=own)
    figures = f"{during_mb_s} MB/s during the fall, {before_mb_s} MB/s before"
    assert told(lines, "others moved", "nobody else") == [said + figures * said.endswith(": ")]


def test_a_device_that_moved_as_much_in_all_was_not_slower() -> None:
    is_low = T_S > 1000
    rate = np.where(is_low, LOW, FULL)
    others = np.where(is_low, FULL - LOW, 0.0)
    lines = evidence(rate, device_read_mb_s=others, device_write_mb_s=rate)
    (said,) = told(lines, "others had what it lost: the device moved as much in all")
    assert not told(lines, "others moved")
    assert said.endswith("MB/s before")
