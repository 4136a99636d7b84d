"""Judging takes memory by the length of a log, not by what the log shows."""

from collections.abc import Callable
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


def write_log(path: Path, rates: Array, begin_s: float = 0.0) -> Path:
    """Write a CSV as any logger does; what is not a number was not measured."""
    t_s = begin_s + FINE_S * np.arange(1, len(rates) + 1)
    log = pl.DataFrame({"time [s]": t_s, "write [MB/s]": rates})
    log.with_columns(pl.all().round(3).fill_nan(None)).write_csv(path)
    return path


def judging_mb(directory: Path, rates: Array) -> float:
    """The memory that ``heatsoak analyze`` takes for a log of `rates` at 10 Hz."""
    seconds = np.arange(6000) * FINE_S
    small = write_log(directory / "small.csv", np.where(seconds % 60 < 30, FULL, FULL / 2))
    log = write_log(directory / "log.csv", rates)
    return peak_mb(*(["analyze", str(one), "--format", "json"] for one in (small, log)), directory)


def times(hours: float) -> Array:
    return (np.arange(round(hours * 3600 / FINE_S)) + 0.5) * FINE_S


def square(t_s: Array, period_s: float) -> Array:
    return np.where(t_s % period_s < period_s / 2, FULL, FULL / 2)


def sawtooth(t_s: Array, period_s: float) -> Array:
    return np.asarray(FULL * (1 - 0.5 * (t_s % period_s) / period_s))


def telegraph(t_s: Array, stay_s: float, chance: np.random.Generator) -> Array:
    is_low = np.cumsum(chance.random(len(t_s)) < FINE_S / stay_s) % 2
    return np.where(is_low == 0, FULL, FULL / 2)


def with_dips(t_s: Array, chance: np.random.Generator) -> Array:
    return np.where(chance.random(len(t_s)) < 0.01, 0.5 * FULL, FULL)


def with_gaps(t_s: Array, chance: np.random.Generator) -> Array:
    rates = np.where(t_s < t_s[-1] / 2, FULL, FULL / 2)
    rates[chance.random(len(t_s)) < 0.3] = np.nan
    return rates


def nothing(t_s: Array, chance: np.random.Generator) -> Array:  # noqa: ARG001
    return np.zeros(len(t_s))


def noise(correlation: float, sigma: float) -> Callable[[Array, np.random.Generator], Array]:
    return lambda t_s, chance: FULL * np.maximum(wander(len(t_s), correlation, sigma, chance), 0.01)


SHAPES: dict[str, Callable[[Array, np.random.Generator], Array]] = {
    "flat": lambda t_s, _: np.full(len(t_s), FULL),
    "step": lambda t_s, _: np.where(t_s < t_s[-1] / 3, FULL, FULL / 2),
    "slide": lambda t_s, _: FULL * (1 - 0.5 * t_s / t_s[-1]),
    "late slide": lambda t_s, _: FULL * (1 - np.clip(t_s / t_s[-1] - 0.5, 0, 1)),
    "approach": lambda t_s, _: FULL * (0.4 + 0.6 * np.exp(-8 * t_s / t_s[-1])),
    "white noise": noise(0.0, 0.1),
    "noise that remembers": noise(0.95, 0.08),
    "noise that wanders": noise(0.9999, 0.15),
    "noise with dips": with_dips,
    "gaps": with_gaps,
    "nothing moved": nothing,
    "two levels in turn": lambda t_s, _: np.where(np.arange(len(t_s)) % 2, FULL, FULL / 2),
    "square later on": lambda t_s, _: np.where(t_s < t_s[-1] / 4, FULL, square(t_s, 3600)),
    "bursts": lambda t_s, _: np.where(t_s % 3600 < 30, FULL, 0.02 * FULL),
    "drifting period": lambda t_s, _: square(t_s / 600 * (1 + t_s / t_s[-1]), 1),
    **{
        f"{name} of {period_s} s": lambda t_s, _, wave=wave, period_s=period_s: wave(t_s, period_s)
        for name, wave in (("square", square), ("sawtooth", sawtooth))
        for period_s in (1, 10, 60, 600, 3600)
    },
    **{
        f"telegraph of {stay_s} s": lambda t_s, chance, stay_s=stay_s: telegraph(
            t_s, stay_s, chance
        )
        for stay_s in (1, 30, 600)
    },
}


def shaped(name: str, hours: float) -> Array:
    """The rates of a shape, with noise unless it is noise or none by itself."""
    chance = np.random.default_rng(7)
    t_s = times(hours)
    rates = SHAPES[name](t_s, chance)
    if name in ("flat", "two levels in turn", "nothing moved"):
        return rates
    return rates * wander(len(t_s), 0.8, 0.02, chance)


def test_four_hours_that_swing_each_hour_are_judged_in_little_memory(tmp_path: Path) -> None:
    assert judging_mb(tmp_path, shaped("square of 3600 s", 4)) < FOUR_HOURS_MB


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", SHAPES)
def test_a_day_at_10_hz_is_judged_in_bounded_memory_whatever_its_shape(
    name: str, tmp_path: Path
) -> None:
    assert judging_mb(tmp_path, shaped(name, 24)) < DAY_MB
