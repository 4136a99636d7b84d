"""How steady the I/Os of each second are."""

import numpy as np

from heatsoak.analysis.findings import Consistency
from heatsoak.analysis.series import Series

#: The window of the published method: the last 400 s of a step.
WINDOW_S = 400.0


def consistency(series: Series, window_s: float = WINDOW_S) -> Consistency | None:
    """Return mean and standard deviation of the I/Os of each second in the last `window_s`.

    `series` is in IOPS. None where there are fewer than two whole seconds.
    """
    if len(series.t_s) == 0:
        return None
    end_s = np.floor(series.duration_s + 1e-9)
    begin_s = max(0.0, end_s - window_s)
    second = np.floor((series.t_s - series.interval_s / 2 - begin_s) + 1e-9).astype(int)
    inside = (second >= 0) & (second < round(end_s - begin_s))
    ios = np.bincount(second[inside], weights=(series.values * series.interval_s)[inside])
    time_s = np.bincount(second[inside], weights=series.interval_s[inside])
    rates = ios[time_s > 0] / time_s[time_s > 0]
    if len(rates) < 2:
        return None
    mean, stdev = float(np.mean(rates)), float(np.std(rates, ddof=1))
    negligible = stdev <= 1e-9 * max(mean, 1.0)
    return Consistency(
        window_s=float(end_s - begin_s),
        mean_iops=mean,
        stdev_iops=0.0 if negligible else stdev,
        ratio=None if negligible else mean / stdev,
    )
