"""How a rate changed over the days, apart from what else changed meanwhile.

The logarithm of a day's rate is taken as a sum: of its setting (place and host), of its firmware,
and of a slope over time. So ageing is what is left when runs in the same setting with the same
firmware are compared. It is fitted with Huber's weights, so that single bad days count little:
P. J. Huber, Robust Statistics, 1981, chapter 7, whose (6.7) gives the variance. Intervals are
Student's, wider by the residuals' correlation from one day to the next.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

Array = NDArray[np.float64]
Numbers = NDArray[np.int64]

#: Huber's constant: 95 % as efficient as least squares where noise is normal.
_HUBER = 1.345
#: The median distance of normal noise from its middle, in standard deviations.
_MAD = 0.6745
_ROUNDS = 50
#: Fewer days beyond the unknowns tell no noise: intervals would say nothing.
MIN_SPARE_DAYS = 3
DAYS_A_YEAR = 365.25


@dataclass(frozen=True)
class Change:
    """A change of the logarithm of a rate.

    Attributes:
        low: of the 95 % interval, which ends at `high`.
        p: how likely a change as large would be by chance.
    """

    value: float
    low: float
    high: float
    p: float


class Fit:
    """The fitted sum of one series.

    `days` are ascending, `logs` the logarithms of the rates on them, `settings` and `firmwares`
    what they were measured in, as numbers from 0 in the order of their first days; all of one
    length.
    """

    def __init__(self, days: Array, logs: Array, settings: Numbers, firmwares: Numbers) -> None:
        self._days = days
        self._first_firmware = 1 + int(settings.max())
        self._ends = int(firmwares[0]), int(firmwares[-1])
        width = self._first_firmware + int(firmwares.max())
        design = np.zeros((len(days), width + 1))
        design[np.arange(len(days)), settings] = 1.0
        updated = np.flatnonzero(firmwares)  # the first is what the others are compared with
        design[updated, self._first_firmware + firmwares[updated] - 1] = 1.0
        # years from the middle, so that the columns are of one size
        design[:, -1] = (days - days.mean()) / DAYS_A_YEAR
        self._width = width + 1
        axes, sizes, rows = np.linalg.svd(design, full_matrices=False)
        rank = int((sizes > sizes[0] * max(design.shape) * np.finfo(float).eps).sum())
        self._told = rows[:rank]
        self._spare = len(days) - rank
        if self._spare >= MIN_SPARE_DAYS:
            along, variance = _fitted(axes[:, :rank], logs)
            back = self._told.T / sizes[:rank]
            self._coefficients, self._covariance = back @ along, variance * back @ back.T

    @property
    def is_known(self) -> bool:
        """Whether there are enough days to tell changes from noise."""
        return self._spare >= MIN_SPARE_DAYS

    def slope(self) -> Change | None:
        """Return the change in a year, in one setting with one firmware; None if not known."""
        return self._change(self._slope(1.0))

    def own(self) -> Change | None:
        """Return the drive's own change from the first to the last day: slope and firmware.

        None if it cannot be told from a change of setting.
        """
        years = (self._days[-1] - self._days[0]) / DAYS_A_YEAR
        return self._change(self._slope(years) + self._firmware(*self._ends))

    def aged(self) -> Change | None:
        """Return the change from the first to the last day by the slope alone."""
        return self._change(self._slope((self._days[-1] - self._days[0]) / DAYS_A_YEAR))

    def of_setting(self, before: int, after: int) -> Change | None:
        """Return what another setting changed; None if it cannot be told from other changes."""
        weights = np.zeros(self._width)
        weights[before], weights[after] = -1.0, 1.0
        return self._change(weights)

    def of_firmware(self, before: int, after: int) -> Change | None:
        """Return what another firmware changed; None if it cannot be told from other changes."""
        return self._change(self._firmware(before, after))

    def _firmware(self, before: int, after: int) -> Array:
        weights = np.zeros(self._width)
        for firmware, sign in ((before, -1.0), (after, 1.0)):
            if firmware > 0:
                weights[self._first_firmware + firmware - 1] += sign
        return weights

    def _slope(self, years: float) -> Array:
        weights = np.zeros(self._width)
        weights[-1] = years
        return weights

    def _change(self, weights: Array) -> Change | None:
        """The weighted sum of the unknowns; None where the days leave it open."""
        if not self.is_known or not weights.any():
            return None
        # what other unknowns can make up for has a part outside of what the days tell
        missing = weights - self._told.T @ (self._told @ weights)
        if np.abs(missing).max() > np.sqrt(np.finfo(float).eps) * np.abs(weights).max():
            return None
        value = float(weights @ self._coefficients)
        error = float(np.sqrt(max(0.0, weights @ self._covariance @ weights)))
        reach = error * float(stdtrit(self._spare, 0.975))
        p = 2 * float(stdtr(self._spare, -abs(value) / error)) if error > 0 else float(value == 0)
        return Change(value, value - reach, value + reach, p)


def _fitted(axes: Array, logs: Array) -> tuple[Array, float]:
    """Iteratively reweighted least squares along orthonormal `axes` (n, k).

    Returns the k coefficients, and the variance that each has.
    """
    count, unknowns = axes.shape
    spare = count - unknowns
    found: Array = axes.T @ logs
    smallest = float(np.finfo(float).eps * np.abs(logs).max() * count)
    for _ in range(_ROUNDS):
        residuals = logs - axes @ found
        # fitted unknowns make residuals smaller than the noise
        scale = float(np.median(np.abs(residuals))) / _MAD * math.sqrt(count / spare)
        if scale <= smallest:
            return found, 0.0  # all of it lies on the line
        limit = _HUBER * scale
        weights = np.minimum(1.0, limit / np.maximum(np.abs(residuals), smallest))
        before = found
        weighted = axes * weights[:, None]
        found = np.asarray(np.linalg.solve(weighted.T @ axes, weighted.T @ logs), float)
        if np.abs(found - before).max() <= scale / count:
            break
    residuals = logs - axes @ found
    clipped = np.clip(residuals, -limit, limit)
    inside = float(np.mean(np.abs(residuals) <= limit))
    correction = 1 + unknowns / count * (1 - inside) / inside
    variance = correction**2 * float(clipped @ clipped) / spare / inside**2
    return found, variance * _widening(clipped, unknowns)


def _widening(residuals: Array, unknowns: int) -> float:
    """How much larger the variance of a mean is since neighbours in time are alike.

    As of a first-order autoregression; its coefficient comes out too small from few residuals.
    """
    count = len(residuals)
    power = float(residuals @ residuals)
    if power == 0:
        return 1.0
    alike = float(residuals[1:] @ residuals[:-1]) / power + unknowns / count
    return (1 + alike) / (1 - alike) if 0 < alike < 1 else 1.0 if alike <= 0 else float(count)
