"""Fewer points, and neither a dip nor a peak lost."""

import numpy as np
import pytest
from heatsoak.report.page.packing import thinned
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

SERIES = arrays(np.float64, st.integers(1, 400), elements=st.floats(-1e6, 1e6))


@pytest.mark.slow
@given(SERIES, st.integers(1, 60))
def test_each_stretch_keeps_its_least_and_its_greatest(values: np.ndarray, every: int) -> None:
    kept = thinned(values, every)
    assert np.all(np.diff(kept) > 0)
    for begin in range(0, len(values), every):
        stretch = values[begin : begin + every]
        inside = values[kept[(kept >= begin) & (kept < begin + every)]]
        assert (inside.min(), inside.max()) == (stretch.min(), stretch.max())


@given(SERIES, st.integers(1, 60))
def test_start_and_end_stay_and_no_point_is_made_up(values: np.ndarray, every: int) -> None:
    kept = thinned(values, every)
    assert (kept[0], kept[-1]) == (0, len(values) - 1)
    assert len(kept) <= len(values)
    if 2 < every < len(values):
        assert len(kept) <= 2 * (len(values) // every + 1) + 2


def test_a_single_low_sample_in_a_day_is_still_there() -> None:
    values = np.full(864_000, 2000.0)
    values[500_001] = 3.0
    kept = thinned(values, 1000)
    assert len(kept) < 2000
    assert 500_001 in kept
