"""Fewer points of a series that draw the same line: no dip and no peak is lost."""

import numpy as np
from numpy.typing import NDArray

from heatsoak.analysis.series import Array


def thinned(values: Array, every: int) -> NDArray[np.intp]:
    """Return which points to keep, rising.

    Of each stretch of `every` neighbours the least and the greatest are kept, and the very first
    and last point. `every` up to 2 keeps all, since nothing would be saved.
    """
    count = len(values)
    if every <= 2 or count <= every:
        return np.arange(count)
    whole = count - count % every
    stretches = values[:whole].reshape(-1, every)
    begins = np.arange(0, whole, every)
    keep = np.zeros(count, dtype=bool)
    keep[[0, -1]] = True
    keep[begins + stretches.argmin(axis=1)] = True
    keep[begins + stretches.argmax(axis=1)] = True
    if whole < count:
        rest = values[whole:]
        keep[[whole + rest.argmin(), whole + rest.argmax()]] = True
    return np.flatnonzero(keep)
