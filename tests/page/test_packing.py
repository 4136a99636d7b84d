"""Columns in few bytes: what comes out is what went in, to the promised quantum."""

import numpy as np
import pytest
from heatsoak.report.page.packing import Packer, decoded, per_unit_of, unpacked
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

COLUMNS = arrays(np.float64, st.integers(0, 60), elements=st.floats(-1e13, 1e13))
TIMES = arrays(np.float64, st.integers(0, 60), elements=st.floats(0, 1e6)).map(np.sort)


@pytest.mark.slow
@given(st.lists(COLUMNS, max_size=3))
def test_every_column_comes_back_to_within_half_a_quantum(columns: list[np.ndarray]) -> None:
    packer = Packer()
    packed = [packer.values(column) for column in columns]
    data = unpacked(packer.data())
    for column, told in zip(columns, packed, strict=True):
        quantum = 1 / told.per_unit
        error = np.abs(decoded(data, told) - column)
        # a double of this size has steps of its own
        assert np.all(error <= quantum / 2 + np.spacing(np.abs(column)) * 2)
        assert told.count == len(column)


@given(COLUMNS)
def test_the_quantum_is_a_power_of_ten_and_no_coarser_than_a_ten_thousandth(
    column: np.ndarray,
) -> None:
    per_unit = per_unit_of(column)
    assert per_unit == 10 ** (len(str(per_unit)) - 1)
    greatest = np.max(np.abs(column), initial=0.0)
    exact = np.array_equal(np.rint(column * per_unit) / per_unit, column)
    # the finest there is; nothing that is measured is smaller
    assert (
        exact or per_unit == 10**15 or 1 / per_unit <= max(greatest, 10_000) / 10_000 * (1 + 1e-9)
    )


@pytest.mark.slow
@given(TIMES)
def test_times_are_kept_to_the_millisecond_and_still_rise(t_s: np.ndarray) -> None:
    packer = Packer()
    told = packer.times(t_s)
    back = decoded(unpacked(packer.data()), told)
    assert np.all(np.abs(back - t_s) <= 0.0005 + 1e-9)
    assert np.all(np.diff(back) >= 0)


def test_whole_numbers_take_no_digits_that_they_do_not_have() -> None:
    assert per_unit_of(np.array([31.0, 77.0, 44.0])) == 1
    assert per_unit_of(np.array([0.25, 0.5])) == 100


def test_a_quiet_column_takes_next_to_nothing() -> None:
    packer = Packer()
    packer.times(np.arange(1, 100_001) / 10)
    packer.values(np.full(100_000, 2498.7))
    assert len(packer.data()) < 2000
