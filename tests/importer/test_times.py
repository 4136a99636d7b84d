"""Times as logs write them."""

import numpy as np
from heatsoak.importer.timestamps import read_times


def test_a_time_without_its_day_among_dates_is_left_out() -> None:
    times = read_times(["2024-06-04 12:00:00", "12:00:01", "2024-06-04 12:00:02"])
    np.testing.assert_array_equal(times.t_s, [0.0, np.nan, 2.0])
