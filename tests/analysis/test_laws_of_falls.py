"""Laws of the segmentation, and falls that recovery or regularity must not hide."""

import numpy as np
import pytest
from heatsoak.analysis.falls import Found, find
from heatsoak.analysis.series import Array, Series
from hypothesis import given, settings
from hypothesis import strategies as st
from made_series import FULL, wander


def found_in(shape: Array, sampling_s: float = 1.0, sigma: float = 0.02, seed: int = 1) -> Found:
    values = FULL * shape * wander(len(shape), 0.5, sigma, np.random.default_rng(seed))
    t_s: Array = sampling_s * np.arange(1, len(shape) + 1, dtype=np.float64)
    found = find(Series(t_s, np.full(len(shape), sampling_s), values, "mb_s"))
    assert found is not None
    return found


def test_a_fall_that_recovers_in_the_last_minute_has_fallen() -> None:
    shape = np.ones(900)
    shape[600:870] = 0.47
    (drop,) = found_in(shape).drops
    assert drop.recovered
    assert (drop.onset_s, drop.end_s) == pytest.approx((600, 870), abs=2)
    assert drop.depth == pytest.approx(0.53, abs=0.02)


@pytest.mark.parametrize("seed", range(5))
def test_dips_of_a_quarter_of_a_minute_and_more_are_falls(seed: int) -> None:
    chance = np.random.default_rng(seed)
    shape, at = np.ones(1800), 60
    while at < 1700:
        length = int(chance.integers(15, 45))
        shape[at : at + length] -= chance.uniform(0.26, 0.58)
        at += length + int(chance.integers(60, 240))
    assert found_in(shape, seed=seed).drops


def test_saw_teeth_of_ten_minutes_are_falls() -> None:
    t_s = np.arange(5400)
    (first, *_) = found_in(1 - 0.9 * np.mod(t_s, 600) / 600).drops
    assert first.depth > 0.3


def test_a_cliff_in_slow_waves_is_a_fall_of_its_own_depth() -> None:
    t_s = np.arange(5400)
    waves = 0.93 + 0.07 * np.cos(2 * np.pi * t_s / 600)
    drops = found_in(np.where(t_s > 4000, 0.1, 1.0) * waves).drops
    deepest = max(drops, key=lambda drop: drop.depth)
    assert deepest.depth == pytest.approx(0.9, abs=0.03)
    assert deepest.onset_s == pytest.approx(4000, abs=5)
    assert not deepest.recovered


def test_a_level_that_rises_as_it_falls_moves_by_itself() -> None:
    wander = [(200, 1), (90, 0.935), (310, 1), (140, 1.06), (170, 1), (120, 0.93), (400, 1)]
    shape = np.concatenate([np.full(length, level) for length, level in wander])
    assert found_in(shape, sigma=0.005).drops == []
    assert len(found_in(np.minimum(shape, 1), sigma=0.005).drops) == 2


def test_regular_dips_that_cost_next_to_nothing_are_no_fall_and_hide_none() -> None:
    shape = np.ones(3000)
    for at in range(150, 3000, 150):
        shape[at : at + 2] = 0.6
    assert found_in(shape, sigma=0.005).drops == []
    shape[2020:] = 0.7
    (drop,) = found_in(shape, sigma=0.005).drops
    assert drop.onset_s == pytest.approx(2020, abs=2)
    assert not drop.oscillates


def test_two_dips_before_falls_of_another_depth_do_not_swing_with_them() -> None:
    shape = np.ones(2000)
    shape[58:61] = shape[178:181] = 0.65
    shape[299:938] = shape[1166:1790] = 0.03
    first, second = found_in(shape, sigma=0.005).drops
    assert (first.onset_s, second.onset_s) == pytest.approx((299, 1166), abs=2)
    assert first.depth == pytest.approx(0.97, abs=0.02)


def test_one_small_dip_in_hours_is_no_fall_and_is_told() -> None:
    shape = np.ones(3 * 3600)
    shape[5000:5010] = 0.92
    found = found_in(shape, sigma=0.005)
    assert found.drops == []
    assert any(abs(dip.begin_s - 5000) <= 2 and dip.length_s > 5 for dip in found.dips)


@given(
    scale=st.floats(1e-3, 1e6),
    low=st.floats(0.2, 0.9),
    seed=st.integers(0, 99),
)
@settings(deadline=None, max_examples=25)
def test_the_unit_of_the_rates_changes_nothing(scale: float, low: float, seed: int) -> None:
    shape = np.where(np.arange(600) < 250, 1.0, low)
    one, other = found_in(shape, seed=seed), found_in(scale * shape, seed=seed)
    assert len(one.drops) == len(other.drops)
    for a, b in zip(one.drops, other.drops, strict=True):
        assert (a.onset_s, a.end_s) == pytest.approx((b.onset_s, b.end_s))
        assert a.shape == b.shape
        assert a.depth == pytest.approx(b.depth, abs=1e-9)


@given(begin=st.integers(100, 250), length=st.integers(20, 200), seed=st.integers(0, 99))
@settings(deadline=None, max_examples=25)
def test_a_passing_fall_is_the_same_backwards(begin: int, length: int, seed: int) -> None:
    shape = np.ones(600)
    shape[begin : begin + length] = 0.5
    (forth,), (back,) = (
        found_in(one, sigma=0.005, seed=seed).drops for one in (shape, shape[::-1])
    )
    assert forth.onset_s == pytest.approx(600 - back.end_s, abs=3)
    assert forth.end_s == pytest.approx(600 - back.onset_s, abs=3)
