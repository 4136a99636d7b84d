"""Time on a grid: what a sample covers, means over other times, values between readings."""

import numpy as np
import pytest
from heatsoak.recording import grid
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

Array = NDArray[np.float64]


def arrays(low: float, high: float) -> st.SearchStrategy[Array]:
    return st.lists(st.floats(low, high), min_size=1, max_size=30).map(np.array)


@given(arrays(0.01, 100.0))
def test_no_more_time_is_covered_than_has_passed(between_s: Array) -> None:
    t_s = np.append(0.0, np.cumsum(between_s))
    covered_s = grid.covered_s(t_s)
    assert np.all(covered_s[1:] <= between_s * (1 + 1e-9) + 1e-9)
    assert np.all(covered_s <= grid.LONGEST * grid.usual_of(np.diff(t_s)) + 1e-9)


def test_what_was_logged_counts_and_a_gap_does_not() -> None:
    t_s = np.array([1.0, 2.0, 3.5, 60.0, 61.0])
    assert grid.covered_s(t_s).tolist() == [1.25, 1.0, 1.5, 1.25, 1.0]
    logged_s = np.array([0.5, np.nan, 0.0, 3.0, np.inf])
    assert grid.covered_s(t_s, logged_s).tolist() == [0.5, 1.0, 1.5, 3.0, 1.0]
    assert grid.covered_s(np.array([7.0])).tolist() == [0.0]
    amounts = grid.Amounts.of(t_s, grid.covered_s(t_s), np.full(5, 2.0))
    (moved,), (measured_s,) = amounts.between(np.array([3.5, 58.0]))
    assert (moved, measured_s) == (0.0, 0.0)
    assert np.isnan(amounts.means(np.array([3.5, 58.0]))).all()


@given(arrays(0.01, 10.0), st.floats(0.05, 20.0), st.integers(0, 99))
def test_means_keep_the_total_and_a_constant(lengths_s: Array, width_s: float, seed: int) -> None:
    chance = np.random.default_rng(seed)
    t_s, rates = np.cumsum(lengths_s), chance.uniform(0.0, 1e3, len(lengths_s))
    interval_s = lengths_s * chance.uniform(0.5, 1.0, len(lengths_s))
    edges_s = np.append(np.arange(0.0, t_s[-1], width_s), t_s[-1])
    amounts = grid.Amounts.of(t_s, interval_s, rates)
    moved, measured_s = amounts.between(edges_s)
    assert moved.sum() == pytest.approx(float(rates @ interval_s))
    assert measured_s.sum() == pytest.approx(float(interval_s.sum()))
    assert np.all(measured_s <= np.diff(edges_s) + 1e-6)
    even = grid.Amounts.of(t_s, interval_s, np.full(len(t_s), 7.0)).means(edges_s)
    assert np.all(np.isnan(even) | (np.abs(even - 7.0) < 1e-5))
    _, _, means = grid.whole_means(t_s, interval_s, np.full(len(t_s), 7.0), 0.0, width_s)
    assert means == pytest.approx(7.0)


def test_time_that_two_samples_cover_counts_once() -> None:
    amounts = grid.Amounts.of(np.array([2.0, 3.0]), np.array([2.0, 2.0]), np.array([1.0, 5.0]))
    (moved,), (measured_s,) = amounts.between(np.array([0.0, 3.0]))
    assert (moved, measured_s) == (7.0, 3.0)


def test_whole_samples_lie_where_their_middles_are() -> None:
    t_s, rates = np.array([0.8, 1.7, 2.6, 5.4]), np.array([1.0, 2.0, 4.0, 8.0])
    first, number, means = grid.whole_means(t_s, np.full(4, 0.8), rates, 0.0, 1.0)
    assert (first.tolist(), number.tolist()) == ([0, 1, 2, 3], [0, 1, 2, 5])
    assert means.tolist() == rates.tolist()
    none = np.empty(0)
    assert [len(found) for found in grid.whole_means(none, none, none, 0.0, 1.0)] == [0, 0, 0]


def test_values_between_readings_lie_on_lines_and_a_moment_has_the_last_one() -> None:
    track = grid.SensorTrack(np.array([10.0, 20.0]), np.array([40.0, 50.0]))
    assert track.along(np.array([0.0, 12.5, 30.0])).tolist() == [40.0, 42.5, 50.0]
    assert [track.at(t_s) for t_s in (0.0, 19.0, 99.0)] == [40.0, 40.0, 50.0]
    assert [track.at(t_s, 15.0) for t_s in (0.0, 24.0, 36.0)] == [40.0, 50.0, None]
    assert grid.SensorTrack(np.empty(0), np.empty(0)).at(1.0) is None
