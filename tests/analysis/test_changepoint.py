"""Exact segmentation and the Hampel filter, held against other programs and definitions."""

from collections.abc import Callable, Iterable
from itertools import pairwise

import numpy as np
import pytest
import ruptures
from heatsoak._core import decafs, hampel, pelt_mean_var
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from skchange.detectors import PELT
from skchange.interval_scorers import GaussianCost

Array = NDArray[np.float64]

FINITE = st.floats(-1e6, 1e6, allow_nan=False)
#: Whole numbers in a small range bring ties and stretches without any spread.
TIES = st.integers(-3, 3).map(float)


def noisy_levels(seed: int, count: int = 400) -> Array:
    """Return levels of uneven lengths, each with noise of its own size."""
    chance = np.random.default_rng(seed)
    lengths = chance.integers(3, 80, count)
    levels = np.repeat(chance.normal(0, 4, count), lengths)[:count]
    spreads = np.repeat(chance.uniform(0.3, 3, count), lengths)[:count]
    return levels + spreads * chance.standard_normal(count)


def total(
    values: Array, ends: Iterable[int], penalty: float, cost: Callable[[Array], float]
) -> float:
    """Return what a segmentation costs, each change with its penalty."""
    segments = [cost(values[start:end]) for start, end in pairwise((0, *ends))]
    return sum(segments) + penalty * (len(segments) - 1)


def squared_error(segment: Array) -> float:
    return float(np.sum((segment - segment.mean()) ** 2))


def gaussian(segment: Array) -> float:
    return float(len(segment) * np.log(np.var(segment)))


def test_levels_in_white_noise_are_the_optimum_that_exact_pelt_finds() -> None:
    changes = 0
    for seed in range(60):
        values = 1e4 + noisy_levels(seed)
        penalty = 10.0 ** (seed % 4 - 1)
        theirs = ruptures.KernelCPD(kernel="linear", min_size=1).fit(values).predict(pen=penalty)
        ours = decafs(values, 0.0, penalty).tolist()
        changes += len(ours) - 1
        assert total(values, ours, penalty, squared_error) == pytest.approx(
            total(values, theirs, penalty, squared_error), rel=1e-9
        )
    assert changes > 1000


@pytest.mark.slow
@pytest.mark.parametrize("min_length", [2, 5, 30])
def test_segments_by_mean_and_variance_are_those_of_another_program(min_length: int) -> None:
    changes = 0
    for seed in range(20):
        values = noisy_levels(seed)
        penalty = (4.0, 12.0, 30.0)[seed % 3]
        detector = PELT(GaussianCost(), penalty=penalty, min_segment_length=min_length)
        theirs = [*detector.fit(values[:, None]).predict(values[:, None]).tolist(), len(values)]
        ours = pelt_mean_var(values, penalty, min_length, least_variance=1e-16).tolist()
        changes += len(ours) - 1
        assert min(np.diff([0, *ours])) >= min_length
        assert total(values, ours, penalty, gaussian) == pytest.approx(
            total(values, theirs, penalty, gaussian), rel=1e-9
        )
    assert changes > 60


def test_segments_by_mean_and_variance_do_not_depend_on_the_unit() -> None:
    values = noisy_levels(7)
    scaled = pelt_mean_var(1e6 * values - 3e8, 20.0, 5, least_variance=1e-2)
    np.testing.assert_array_equal(scaled, pelt_mean_var(values, 20.0, 5, least_variance=1e-14))


def test_a_chance_repeat_is_not_a_segment_where_values_come_in_steps() -> None:
    values = np.round(np.random.default_rng(2).normal(50, 3, 2000))
    penalty = 5 * np.log(2000)
    assert len(pelt_mean_var(values, penalty, least_variance=1e-12)) > 1
    assert pelt_mean_var(values, penalty, least_variance=1 / 12).tolist() == [2000]


def hampel_by_definition(values: Array, half_width: int, limit: float) -> Array:
    """Return what the filter is defined to return, window by window in NumPy."""
    padded = np.pad(values, half_width, mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * half_width + 1)
    median = np.median(windows, axis=1)
    spread = 1.4826 * np.median(np.abs(windows - median[:, None]), axis=1)
    return np.where(np.abs(values - median) > limit * spread, median, values)


@settings(max_examples=30, deadline=None)
@given(
    half_width=st.integers(1, 50),
    limit=st.floats(0, 10),
    values=st.lists(FINITE, min_size=101, max_size=160)
    | st.lists(TIES, min_size=101, max_size=160),
)
def test_the_hampel_filter_is_its_definition_in_numpy(
    half_width: int, limit: float, values: list[float]
) -> None:
    series = np.array(values)
    expected = hampel_by_definition(series, half_width, limit)
    np.testing.assert_array_equal(hampel(series, half_width, limit), expected)


def test_the_hampel_filter_takes_an_array_with_gaps_between_its_values() -> None:
    spaced = np.random.default_rng(4).standard_cauchy(900)[::3]
    np.testing.assert_array_equal(hampel(spaced, 5), hampel(spaced.copy(), 5))
    assert (hampel(spaced, 5) != spaced).any()


def test_the_hampel_filter_leaves_the_array_it_is_given_alone() -> None:
    values = np.array([1.0, 2.0, 1.0, 90.0, 1.0, 2.0, 1.0])
    before = values.copy()
    assert hampel(values, 2)[3] == 2.0
    np.testing.assert_array_equal(values, before)


@pytest.mark.parametrize("count", [0, 1, 4])
def test_a_series_shorter_than_a_window_is_not_filtered(count: int) -> None:
    values = np.arange(float(count)) ** 9
    np.testing.assert_array_equal(hampel(values, 2), values)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda values: decafs(values, 0.0, 0.0), "penalty is 0"),
        (lambda values: decafs(values * 1e160, 0.0, 1.0), "too far apart"),
        (lambda values: pelt_mean_var(values, np.inf), "penalty is inf"),
        (lambda values: pelt_mean_var(values, 1.0, 1), "min_length is 1"),
        (lambda values: pelt_mean_var(values, 1.0, -2), "min_length is -2"),
        (lambda values: pelt_mean_var(values, 1.0, 2, 0.0), "least_variance is 0"),
        (lambda values: hampel(values, -1), "half_width is -1"),
        (lambda values: hampel(values, 1, -0.5), "limit is -0.5"),
        (lambda values: hampel(values, 1, np.nan), "limit is NaN"),
    ],
)
def test_a_setting_that_means_nothing_is_named(call: Callable[[Array], Array], said: str) -> None:
    with pytest.raises(ValueError, match=said) as refusal:
        call(np.arange(9.0))
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_named(bad: float) -> None:
    values = np.array([1.0, 2.0, bad, 3.0])
    calls: list[Callable[[], object]] = [
        lambda: hampel(values, 1),
        lambda: decafs(values, 0.5, 1.0),
        lambda: pelt_mean_var(values, 1.0),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="value 2 is"):
            call()
