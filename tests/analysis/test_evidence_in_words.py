"""What evidence says agrees with the recording that it is of."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from heatsoak.analysis import analyze
from made_recording import make_recording

T_S = np.arange(1.0, 3601.0)
FULL, LOW, LOWER = 2000.0, 1200.0, 500.0


def evidence(path: Path, rate: np.ndarray, others: np.ndarray | None = None) -> list[str]:
    """What is said of the first episode of a step of an hour."""
    noise = np.random.default_rng(1).normal(1, 0.01, len(T_S))
    more = {} if others is None else {"device_read_mb_s": others, "device_write_mb_s": rate * noise}
    samples = {"t_s": T_S, "step": ["load"] * len(T_S), "interval_s": np.ones(len(T_S))}
    frame = pl.DataFrame({**samples, "write_bw_mb_s": rate * noise, **more})
    (recording,) = analyze([make_recording(path / "r", frame, rw="write")]).recordings
    return recording.steps[0].episodes[0].evidence


def told(lines: list[str], *words: str) -> list[str]:
    """The lines with one of the words, without what they speak for."""
    return [line.split(": ", 1)[1] for line in lines if any(word in line for word in words)]


def test_a_fall_lasted_to_the_end_only_where_no_other_ended_it(tmp_path: Path) -> None:
    one = np.where(T_S <= 1750, FULL, LOW)
    two = np.where(T_S <= 3559, one, LOWER)
    assert told(evidence(tmp_path / "one", one), "lasted") == ["it lasted to the end, 1,850 s"]
    assert told(evidence(tmp_path / "two", two), "lasted") == [
        "it lasted 1,809 s, until 41 s before the step's end"
    ]


@pytest.mark.parametrize(
    ("before_mb_s", "during_mb_s", "said"),
    [
        (0.0, 0.0, "nobody else used the device"),
        (
            0.0,
            5.0,
            "others moved next to nothing on the same device: 5 MB/s during the fall, "
            "0 MB/s before",
        ),
        (
            *(52.0, 52.0),
            "others moved no more on the same device than before: 52 MB/s during the fall, "
            "52 MB/s before",
        ),
        (
            *(0.0, 52.0),
            "others moved too little on the same device to explain the fall: 52 MB/s during the "
            "fall, 0 MB/s before",
        ),
        (
            *(0.0, 700.0),
            "others moved much on the same device: 700 MB/s during the fall, 0 MB/s before",
        ),
    ],
)
def test_it_is_said_how_much_others_moved(
    tmp_path: Path, before_mb_s: float, during_mb_s: float, said: str
) -> None:
    is_low = T_S > 1000
    lines = evidence(
        tmp_path, np.where(is_low, LOW, FULL), np.where(is_low, during_mb_s, before_mb_s)
    )
    assert told(lines, "others moved", "nobody else") == [said]
