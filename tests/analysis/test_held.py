"""A step is steady where that is shown: shapes that lost speed are never told to have held it."""

from collections.abc import Callable

import numpy as np
import pytest
from heatsoak.analysis.falls import find_drops
from heatsoak.analysis.series import Array, RateSeries
from heatsoak.analysis.slow_steps import not_held

Shape = Callable[[np.random.Generator, Array, float], Array]


def waves(rng: np.random.Generator, t_s: Array, low: float) -> Array:
    period_s = float(np.exp(rng.uniform(np.log(6), np.log(t_s[-1] / 3))))
    return np.where((t_s / period_s + rng.uniform()) % 1 < rng.uniform(0.2, 0.8), low, 1.0)


def swell(rng: np.random.Generator, t_s: Array, low: float) -> Array:
    period_s = float(np.exp(rng.uniform(np.log(20), np.log(t_s[-1]))))
    return 1 - (1 - low) * (0.5 - 0.5 * np.cos(2 * np.pi * (t_s / period_s + rng.uniform())))


def shifts(rng: np.random.Generator, t_s: Array, low: float) -> Array:
    at_s = np.sort(rng.uniform(15, t_s[-1] - 15, rng.integers(1, 6)))
    levels: Array = np.concatenate([[low], rng.uniform(low, 1, len(at_s) - 1), [1.0]])
    return levels[np.searchsorted(at_s, t_s)]


def recovery(rng: np.random.Generator, t_s: Array, low: float) -> Array:
    return np.where(t_s < rng.uniform(16, 0.8 * t_s[-1]), low, 1.0)


def late_fall(rng: np.random.Generator, t_s: Array, low: float) -> Array:
    return np.where(t_s > t_s[-1] - rng.uniform(16, 0.3 * t_s[-1]), low, 1.0)


def slope(rng: np.random.Generator, t_s: Array, low: float) -> Array:
    begin, end = (1.0, low) if rng.uniform() < 0.5 else (low, 1.0)
    return np.linspace(begin, end, len(t_s))


def trickle(rng: np.random.Generator, t_s: Array, low: float) -> Array:
    begin_s = rng.uniform(0, 0.8 * t_s[-1] - 16)
    return np.where((t_s > begin_s) & (t_s < begin_s + rng.uniform(16, 60)), 0.1 * low, 1.0)


def made(shape: Shape | None, seed: int) -> RateSeries:
    """A shape of a sampling interval and of noise as logs have them."""
    rng = np.random.default_rng(seed)
    sampling_s = float(rng.choice([0.1, 0.5, 1.0, 2.0]))
    fine_s = np.arange(0.05, round(float(np.exp(rng.uniform(4.4, 7.2))) / 2) * 2, 0.1)
    rates: Array = np.ones(len(fine_s))
    if shape is not None:
        rates = shape(rng, fine_s, 1 - rng.uniform(0.15, 0.95))
    size = round(10 * sampling_s)
    means: Array = rates[: len(rates) // size * size].reshape(-1, size).mean(axis=1)
    means *= 1 + float(rng.choice([0.002, 0.01, 0.03])) * rng.normal(size=len(means))
    t_s = np.linspace(sampling_s, len(means) * sampling_s, len(means))
    level = float(rng.choice([90.0, 1600.0, 7000.0]))
    return RateSeries(t_s, np.full(len(t_s), sampling_s), level * np.maximum(means, 0), "mb_s")


@pytest.mark.parametrize("shape", [waves, swell, shifts, recovery, late_fall, slope, trickle])
def test_what_lost_more_than_a_tenth_for_more_than_ten_seconds_did_not_hold(shape: Shape) -> None:
    held = [
        seed
        for seed in range(40)
        if not find_drops(series := made(shape, seed)) and not_held(series) is None
    ]
    assert held == []


def test_steady_noise_is_shown_to_hold() -> None:
    assert [seed for seed in range(100) if not_held(made(None, seed)) is not None] == []


@pytest.mark.parametrize("begin_s", [0.0, 70.0])
def test_a_slow_second_or_two_is_no_loss(begin_s: float) -> None:
    flat = made(None, 3)
    slow = (flat.t_s > begin_s) & (flat.t_s <= begin_s + 2)
    series = RateSeries(flat.t_s, flat.interval_s, np.where(slow, 0.4, 1) * flat.values, "mb_s")
    assert not_held(series) is None


@pytest.mark.parametrize("sigma", [0.5, 3.0])
def test_where_noise_would_hide_a_loss_nothing_is_shown(sigma: float) -> None:
    flat = made(None, 3)
    rough = np.random.default_rng(1).lognormal(sigma=sigma, size=len(flat.t_s))
    assert not_held(RateSeries(flat.t_s, flat.interval_s, rough * flat.values, "mb_s")) is not None


def test_three_samples_show_nothing() -> None:
    assert not_held(made(None, 3).between(0.0, 1.5)) is not None
