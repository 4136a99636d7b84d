"""Exact segmentation and the Hampel filter, held against other programs and definitions."""

import numpy as np
import pytest
from heatsoak._core import fpop, hampel
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

Array = NDArray[np.float64]

FINITE = st.floats(-1e6, 1e6, allow_nan=False)
#: Whole numbers in a small range bring ties and stretches without any spread.
TIES = st.integers(-3, 3).map(float)


def hampel_by_definition(values: Array, half_width: int, limit: float) -> Array:
    """Return what the filter is defined to return, window by window in NumPy."""
    padded = np.pad(values, half_width, mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * half_width + 1)
    median = np.median(windows, axis=1)
    spread = 1.4826 * np.median(np.abs(windows - median[:, None]), axis=1)
    return np.where(np.abs(values - median) > limit * spread, median, values)


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
    ("half_width", "limit", "said"),
    [(-1, 3.0, "half_width is -1"), (1, -0.5, "limit is -0.5"), (1, np.nan, "limit is NaN")],
)
def test_a_setting_that_means_nothing_is_named(half_width: int, limit: float, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        hampel(np.zeros(9), half_width, limit)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_named(bad: float) -> None:
    values = np.array([1.0, 2.0, bad, 3.0])
    with pytest.raises(ValueError, match="value 2 is"):
        hampel(values, 1)
    with pytest.raises(ValueError, match="value 2 is"):
        fpop(values, 1.0)
