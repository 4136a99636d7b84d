"""Intervals of what follows Student's law given another number, averaged over that number."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from heatsoak.analysis.series import Array

#: A quantile is found by halving: this often.
_HALVINGS = 30


@dataclass(frozen=True)
class Mixture:
    """Student's laws with `df` degrees of freedom, weighted.

    Attributes:
        at, scale: their middles and scales, a row for each quantity and a column for each law.
        weight: of each law, 1 in all.
    """

    at: Array
    scale: Array
    weight: Array
    df: int

    @property
    def middle(self) -> Array:
        """The mean of each quantity."""
        return np.asarray(self.at @ self.weight)

    def below(self, value: Array) -> Array:
        """Return the probability that each quantity is below its `value`."""
        z = (value[:, None] - self.at) / self.scale
        return np.asarray(special.stdtr(self.df, z) @ self.weight)

    def quantile(self, share: float | Array) -> Array:
        """Return the value of each quantity that `share` (of each) of the probability is below."""
        reach = np.abs(special.stdtrit(self.df, np.reshape(share, (-1, 1)))) * self.scale
        low, high = (self.at - reach).min(axis=1), (self.at + reach).max(axis=1)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            is_below = self.below(middle) < share
            low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
        return np.asarray((low + high) / 2)
