"""Judging takes memory by the length of a log, not by what the log shows."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from made_series import END, FINE_S, Array, Part, line, lost, low, of_parts, swing, wander, wave
from peak_memory import peak_mb

#: Above what its modules take.
DAY_MB = 500.0
#: A sixth of a day. It is mostly the log itself, which is read before it is judged.
FOUR_HOURS_MB = 150.0
DAY_S = 86_400.0


def write_log(path: Path, rates: Array) -> Path:
    """Write a CSV as any logger does; what is not a number was not measured."""
    t_s = FINE_S * np.arange(1, len(rates) + 1)
    log = pl.DataFrame({"time [s]": t_s, "write [MB/s]": rates})
    log.with_columns(pl.all().round(3).fill_nan(None)).write_csv(path)
    return path


def judging_mb(directory: Path, rates: Array) -> float:
    """The memory that ``heatsoak analyze`` takes for a log of `rates` at 10 Hz."""
    small = write_log(directory / "small.csv", of_parts(swing(0, 60), duration_s=600).values)
    log = write_log(directory / "log.csv", rates)
    words = ["analyze", "--format", "json"]
    return peak_mb([*words, str(small)], [*words, str(log)], directory)


def noise(correlation: float, sigma: float) -> Part:
    chance = np.random.default_rng(7)
    return lambda t_s: np.maximum(wander(len(t_s), correlation, sigma, chance), 0.01)


def at_times(share: float, to: float) -> Part:
    """A share of the samples is not what the others are."""
    chance = np.random.default_rng(8)
    return lambda t_s: np.where(chance.random(len(t_s)) < share, to, 1.0)


def telegraph(stay_s: float) -> Part:
    """Two levels, each for any time."""
    chance = np.random.default_rng(8)
    return lambda t_s: np.where(
        np.cumsum(chance.random(len(t_s)) < (t_s[1] - t_s[0]) / stay_s) % 2, 0.5, 1.0
    )


#: Without noise upon them: they are noise, or it is its absence that matters.
AS_THEY_ARE: dict[str, list[Part]] = {
    "flat": [],
    "white noise": [noise(0.0, 0.1)],
    "noise that remembers": [noise(0.95, 0.08)],
    "noise that wanders": [noise(0.9999, 0.15)],
    "nothing moved": [low((0, END), to=0)],
    "two levels in turn": [swing(0, 2 * FINE_S)],
}
SHAPES: dict[str, list[Part]] = {
    **AS_THEY_ARE,
    "step": [low((DAY_S / 3, END))],
    "slide": [line((0, 1), (DAY_S, 0.5))],
    "late slide": [line((DAY_S / 2, 1), (DAY_S, 0.5))],
    "approach": [lost(0, 0.6, DAY_S / 8)],
    "dips": [at_times(0.01, 0.5)],
    "gaps": [low((DAY_S / 3, END)), at_times(0.3, np.nan)],
    "square later on": [swing(DAY_S / 4, 3600)],
    "bursts": [swing(30, 3600, 3570 / 3600, 0.02)],
    "drifting period": [lambda t_s: np.where(t_s / 600 * (1 + t_s / DAY_S) % 1 < 0.5, 0.5, 1.0)],
    **{f"square of {s} s": [swing(0, s)] for s in (1, 10, 60, 600, 3600)},
    **{f"sawtooth of {s} s": [wave(0, s, (0, 1), (1, 0.5))] for s in (1, 10, 60, 600, 3600)},
    **{f"telegraph of {s} s": [telegraph(s)] for s in (1, 30, 600)},
}


def shaped(name: str, hours: float) -> Array:
    """The rates of a shape at 10 Hz."""
    noisy: dict[str, Any] = {"sigma": 0.0 if name in AS_THEY_ARE else 0.02, "correlation": 0.8}
    return of_parts(*SHAPES[name], duration_s=3600 * hours, **noisy).values


def test_four_hours_that_swing_each_hour_are_judged_in_little_memory(tmp_path: Path) -> None:
    assert judging_mb(tmp_path, shaped("square of 3600 s", 4)) < FOUR_HOURS_MB


#: Periods of which none is like another have most to be kept.
HARDEST = "drifting period"


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if name == HARDEST else pytest.mark.soak)
        for name in SHAPES
    ],
)
def test_a_day_at_10_hz_is_judged_in_bounded_memory_whatever_its_shape(
    name: str, tmp_path: Path
) -> None:
    assert judging_mb(tmp_path, shaped(name, 24)) < DAY_MB
