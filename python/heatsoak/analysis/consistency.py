"""How steady the I/Os of each second are."""

import numpy as np

from heatsoak.analysis.findings import Consistency
from heatsoak.analysis.series import Series, rates_by_second

#: The window of the published method: the last 400 s of a step.
WINDOW_S = 400.0


def consistency(series: Series, window_s: float = WINDOW_S) -> Consistency | None:
    """Return mean and standard deviation of the I/Os of each second in the last `window_s`.

    `series` is in IOPS. None where there are fewer than two whole seconds.
    """
    rates, length_s = rates_by_second(series, window_s)
    if len(rates) < 2:
        return None
    mean, stdev = float(np.mean(rates)), float(np.std(rates, ddof=1))
    negligible = stdev <= 1e-9 * max(mean, 1.0)
    return Consistency(
        window_s=length_s,
        mean_iops=mean,
        stdev_iops=0.0 if negligible else stdev,
        ratio=None if negligible else mean / stdev,
    )
