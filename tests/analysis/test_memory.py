"""Judging takes memory by the length of a log, not by what the log shows."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from made_series import FINE_S, FULL, wander
from numpy.typing import NDArray
from peak_memory import peak_mb

Array = NDArray[np.float64]
#: Above what its modules take.
DAY_MB = 500.0
#: A sixth of a day. It is mostly the log itself, which is read before it is judged.
FOUR_HOURS_MB = 150.0


def write_log(path: Path, rates: Array) -> Path:
    """Write a CSV as any logger does; what is not a number was not measured."""
    t_s = FINE_S * np.arange(1, len(rates) + 1)
    log = pl.DataFrame({"time [s]": t_s, "write [MB/s]": rates})
    log.with_columns(pl.all().round(3).fill_nan(None)).write_csv(path)
    return path


def judging_mb(directory: Path, rates: Array) -> float:
    """The memory that ``heatsoak analyze`` takes for a log of `rates` at 10 Hz."""
    seconds = np.arange(6000) * FINE_S
    small = write_log(directory / "small.csv", np.where(seconds % 60 < 30, FULL, FULL / 2))
    log = write_log(directory / "log.csv", rates)
    words = ["analyze", "--format", "json"]
    return peak_mb([*words, str(small)], [*words, str(log)], directory)


def times(hours: float) -> Array:
    return np.asarray((np.arange(round(hours * 3600 / FINE_S)) + 0.5) * FINE_S, dtype=np.float64)


def flat(t_s: Array) -> Array:
    return np.full(len(t_s), FULL)


def step(t_s: Array) -> Array:
    return np.where(t_s < t_s[-1] / 3, FULL, FULL / 2)


def slide(t_s: Array) -> Array:
    return np.asarray(FULL * (1 - 0.5 * t_s / t_s[-1]))


def late_slide(t_s: Array) -> Array:
    return np.asarray(FULL * (1 - np.clip(t_s / t_s[-1] - 0.5, 0, 1)))


def approach(t_s: Array) -> Array:
    return np.asarray(FULL * (0.4 + 0.6 * np.exp(-8 * t_s / t_s[-1])))


def noise(t_s: Array, correlation: float, sigma: float) -> Array:
    chance = np.random.default_rng(7)
    return FULL * np.maximum(wander(len(t_s), correlation, sigma, chance), 0.01)


def dips(t_s: Array) -> Array:
    return np.where(np.random.default_rng(8).random(len(t_s)) < 0.01, 0.5 * FULL, FULL)


def gaps(t_s: Array) -> Array:
    return np.where(np.random.default_rng(8).random(len(t_s)) < 0.3, np.nan, step(t_s))


def nothing(t_s: Array) -> Array:
    return np.zeros(len(t_s))


def two_levels_in_turn(t_s: Array) -> Array:
    return np.where(np.arange(len(t_s)) % 2, FULL, FULL / 2)


def square(t_s: Array, period_s: float) -> Array:
    return np.where(t_s % period_s < period_s / 2, FULL, FULL / 2)


def square_later_on(t_s: Array) -> Array:
    return np.where(t_s < t_s[-1] / 4, FULL, square(t_s, 3600))


def drifting_period(t_s: Array) -> Array:
    return square(t_s / 600 * (1 + t_s / t_s[-1]), 1)


def sawtooth(t_s: Array, period_s: float) -> Array:
    return np.asarray(FULL * (1 - 0.5 * (t_s % period_s) / period_s))


def bursts(t_s: Array) -> Array:
    return np.where(t_s % 3600 < 30, FULL, 0.02 * FULL)


def telegraph(t_s: Array, stay_s: float) -> Array:
    is_low = np.cumsum(np.random.default_rng(8).random(len(t_s)) < FINE_S / stay_s) % 2
    return np.where(is_low == 0, FULL, FULL / 2)


#: Without noise upon them: they are noise, or it is its absence that matters.
AS_THEY_ARE: dict[str, Callable[[Array], Array]] = {
    "flat": flat,
    "white noise": partial(noise, correlation=0.0, sigma=0.1),
    "noise that remembers": partial(noise, correlation=0.95, sigma=0.08),
    "noise that wanders": partial(noise, correlation=0.9999, sigma=0.15),
    "nothing moved": nothing,
    "two levels in turn": two_levels_in_turn,
}
SHAPES: dict[str, Callable[[Array], Array]] = {
    **AS_THEY_ARE,
    "step": step,
    "slide": slide,
    "late slide": late_slide,
    "approach": approach,
    "dips": dips,
    "gaps": gaps,
    "square later on": square_later_on,
    "bursts": bursts,
    "drifting period": drifting_period,
    **{f"square of {s} s": partial(square, period_s=s) for s in (1, 10, 60, 600, 3600)},
    **{f"sawtooth of {s} s": partial(sawtooth, period_s=s) for s in (1, 10, 60, 600, 3600)},
    **{f"telegraph of {s} s": partial(telegraph, stay_s=s) for s in (1, 30, 600)},
}


def shaped(name: str, hours: float) -> Array:
    """The rates of a shape at 10 Hz."""
    t_s = times(hours)
    rates = SHAPES[name](t_s)
    if name in AS_THEY_ARE:
        return rates
    return rates * wander(len(t_s), 0.8, 0.02, np.random.default_rng(7))


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
