"""Linear models of which one number more is unknown than has a solution in closed form.

How alike neighbouring days are, or how much drives of a model vary beside their runs: given that
number, all sums of unknowns follow Student's law. So they are averaged over it, by how likely each
of its values is.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from heatsoak.analysis.series import Array
from heatsoak.ranges import USUAL_LEVEL, Covers, Range, tails

#: A quantile is found by halving: this often.
_HALVINGS = 30
#: Smaller singular values are nothing, and so are smaller parts of a sum.
_ZERO, _NO_PART = 1e-9, 1e-6


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

    def chance(self) -> Array:
        """Return how likely each quantity would be as far from 0, on either side, by chance."""
        below = self.below(np.zeros(len(self.at)))
        return np.asarray(2 * np.minimum(below, 1 - below))

    def ranges(self, of: Covers, level: float = USUAL_LEVEL) -> list[Range]:
        """Return each quantity with its interval, of so much of the probability."""
        ends = np.transpose([self.quantile(share) for share in tails(level)])
        return [
            Range.around(float(mid), (float(low), float(high)), of, level)
            for mid, (low, high) in zip(self.middle, ends, strict=True)
        ]

    def quantile(self, share: float | Array) -> Array:
        """Return the value of each quantity that `share` (of each) of the probability is below."""
        reach = np.abs(special.stdtrit(self.df, np.reshape(share, (-1, 1)))) * self.scale
        low, high = (self.at - reach).min(axis=1), (self.at + reach).max(axis=1)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            is_below = self.below(middle) < share
            low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
        return np.asarray((low + high) / 2)


def dummies(column: Sequence[Hashable], levels: Sequence[Hashable]) -> Array:
    """Return a row for each entry, with 1 in the column of its level."""
    return np.asarray([[float(one == level) for level in levels] for one in column])


class Design:
    """What columns (n, p) tell of their unknowns, of which some may make up for others.

    Attributes:
        basis: orthonormal, (n, rank).
        width: how many unknowns there are.
    """

    def __init__(self, columns: Array) -> None:
        axes, sizes, rows = np.linalg.svd(columns, full_matrices=False)
        self.width = columns.shape[1]
        kept = sizes > _ZERO * sizes[0]
        self.basis, self._rows, self._sizes = axes[:, kept], rows[kept], sizes[kept]

    @property
    def rank(self) -> int:
        """How many unknowns can be told."""
        return len(self._sizes)

    def tells(self, sums: Array) -> NDArray[np.bool_]:
        """Return which sums of unknowns, a row of weights each, can be told."""
        missing = np.abs(sums - sums @ self._rows.T @ self._rows).max(axis=1)
        return np.asarray(missing < _NO_PART * np.maximum(np.abs(sums).max(axis=1), 1.0))

    def along(self, sums: Array) -> Array:
        """Return the weights of the same sums for what is fitted to the basis."""
        return np.asarray(sums @ (self._rows / self._sizes[:, None]).T)


@dataclass(frozen=True)
class Laws:
    """Unknowns that are fitted under several laws of the noise, an entry each.

    Attributes:
        at: their values, (laws, k).
        inverse: their covariance in units of the noise's variance, (laws, k, k).
        left: the square of what they leave, with `df` degrees of freedom.
        weight: how likely each law is, 1 in all.
    """

    at: Array
    inverse: Array
    left: Array
    weight: Array
    df: int

    @property
    def noise(self) -> Array:
        """The noise's standard deviation under each law."""
        return np.sqrt(self.left / self.df)

    def sums(self, weights: Array) -> Mixture:
        """Return sums of the unknowns, a row of weights each."""
        variance = np.einsum("cp,lpq,cq->cl", weights, self.inverse, weights, optimize=True)
        scale = np.sqrt(np.maximum(variance, 1e-12)) * self.noise
        return Mixture(weights @ self.at.T, np.maximum(scale, 1e-12), self.weight, self.df)


def weights_of(log_likelihood: Array) -> Array:
    """Return how likely each of several laws is, 1 in all."""
    weight = np.exp(log_likelihood - log_likelihood.max())
    return np.asarray(weight / weight.sum())
