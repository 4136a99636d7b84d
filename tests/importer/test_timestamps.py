"""Times as logs write them."""

import numpy as np
from heatsoak.importer.timestamps import read_times


def test_a_time_without_its_day_among_dates_is_left_out() -> None:
    times = read_times(["2024-06-04 12:00:00", "12:00:01", "2024-06-04 12:00:02"])
    np.testing.assert_array_equal(times.t_s, [0.0, np.nan, 2.0])


def test_times_without_leading_zeros_are_read() -> None:
    times = read_times(["6.9.2022 17:9:7.718", "6.9.2022 17:9:9.760", "6.9.2022 17:10:0.001"])
    assert times.t_s.round(3).tolist() == [0, 2.042, 52.283]


def test_the_order_of_dates_can_be_known() -> None:
    times = read_times(["03/04/2026 10:00:00"], day_first=False)
    assert times.start_unix_s == 1772618400
    assert not times.doubt


def test_what_is_written_otherwise_than_the_first_is_read_too() -> None:
    words = ["2026-11-20 14:03:17.5", "2026-11-20T14:03:18", "", "20.11.2026 14:03:20",
             "Nov 20 2026 14:03:21", "2026-11-20 24:00:00", "26-11-20 14:03:22"]  # fmt: skip
    times = read_times(words)
    np.testing.assert_allclose(times.t_s[:6], [0, 0.5, np.nan, 2.5, 3.5, 35802.5])
    assert times.clock == "local"


def test_long_columns_of_dates_are_read_in_their_order() -> None:
    days = [f"{day:02}/11/2026 {hour:02}:00:00" for day in range(1, 31) for hour in range(24)] * 50
    times = read_times(days)
    np.testing.assert_array_equal(times.t_s[:720], 3600.0 * np.arange(720))
    assert times.t_s[-1] == 719 * 3600.0
    assert not times.doubt
