"""How a rate changed over the days, apart from what else changed meanwhile.

The logarithm of a day's rate is taken as a sum: of its setting (place and host), of its firmware,
of levels that changed suddenly, of a slope over time, and of the season. So ageing is what is left
when runs in the same setting with the same firmware are compared. Single bad days count little:
days are moved to Huber's limits around a first fit (P. J. Huber, Robust Statistics, 1981, chapter
7; its (6.7) gives the variance).

Each day is like the one before: a first-order autoregression. How much so, and how strong a
season is, nobody knows from a few dozen days; given both, every change follows Student's law. So
changes are averaged over both numbers, by their restricted likelihood: `Laws`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import median_filter
from scipy.special import stdtr

from heatsoak.analysis.series import Array
from heatsoak.facts import effects
from heatsoak.ranges import Range

Numbers = NDArray[np.int64]
#: What was before and after.
Pair = tuple[int | np.int64, int | np.int64]

#: Huber's constant: 95 % as efficient as least squares where noise is normal.
_HUBER = 1.345
#: The median distance of normal noise from its middle, in standard deviations.
_MAD = 0.6745
_ROUNDS = 50
#: Days around each, whose median says whether it is bad, or at another level.
_NEIGHBOURS = 11
#: Fewer days beyond the unknowns tell no noise: intervals would say nothing.
MIN_SPARE_DAYS = 3
DAYS_A_YEAR = 365.25
#: How alike neighbouring days may be, each as likely beforehand.
_ALIKE = (0.0, 0.3, 0.55, 0.75, 0.87, 0.94)
#: The standard deviation of a season, in those of the days' noise, each as likely beforehand.
_SEASONS = (0.0, 0.5, 1.0, 2.0)
#: A sudden change has at least this many days on each side, and is named if one as large, on any
#: day, would come by chance in fewer series than this share.
MIN_DAYS_OF_LEVEL = 5
MIN_LAST_DAYS = 3
_SUDDEN_BY_CHANCE = 0.003
#: The same of each of several, which are hardly all by chance.
_BESIDE_BY_CHANCE = 0.01
#: Where even the clearest is as likely, others are not looked for beside it.
_NO_CHANGE = 0.3
#: No more sudden changes of a series are looked for.
_MOST_SUDDEN = 3
#: Where a step may be in hundreds of days, about so many are looked at first.
_LOOKED_AT = 100
#: What is left of a step's column that other columns make up for.
_SMALLEST_SIZE = 1e-6


@dataclass(frozen=True)
class Change:
    """A change of the logarithm of a rate, and how likely one as large would be by chance."""

    of_log: Range
    p: float


@dataclass(frozen=True)
class TrendFit:
    """The fitted sum of one series.

    Attributes:
        days: ascending; all of these but the last are of one length.
        logs: the logarithms of the rates on them.
        settings, firmwares: what they were measured in, as numbers from 0 in the order of their
            first days.
        sudden: the first days (their indices) of levels that changed suddenly, ascending.
    """

    days: Array
    logs: Array
    settings: Numbers
    firmwares: Numbers
    sudden: Sequence[int] = ()

    @cached_property
    def _columns(self) -> Array:
        """Those of settings, of firmwares, of levels, and the years."""
        each = [np.eye(of.max() + 1)[of] for of in (self.settings, self.firmwares)]
        since = np.arange(len(self.days))[:, None] >= np.asarray(self.sudden, int)
        # from the middle, so that the columns are of one size
        years = (self.days - self.days.mean()) / DAYS_A_YEAR
        return np.column_stack([*each, since, years])

    @cached_property
    def _design(self) -> effects.Design:
        return effects.Design(self._columns)

    @property
    def _spare(self) -> int:
        return len(self.days) - self._design.rank

    @cached_property
    def _solved(self) -> "_Solved":
        return _Solved(self._design.basis, self.logs, _season(self.days))

    def own(self, *, beyond: float = 0.0) -> Change | None:
        """Return the drive's own change from the first to the last day, of whatever kind.

        With what another setting did where that cannot be told from another firmware.
        """
        ends, levels = [(self.firmwares[0], self.firmwares[-1])], range(len(self.sudden))
        years = float(self.days[-1] - self.days[0]) / DAYS_A_YEAR
        own = partial(self.change, firmwares=ends, levels=levels, years=years, beyond=beyond)
        return own() or own(settings=[m for m in pairwise(self.settings) if not self.tells(m)])

    def change(
        self,
        *,
        settings: Sequence[Pair] = (),
        firmwares: Sequence[Pair] = (),
        levels: Sequence[int] = (),
        years: float = 0.0,
        beyond: float = 0.0,
    ) -> Change | None:
        """Return what other settings and firmwares (before, after), levels and years come to.

        With how likely it is by chance that it is `beyond` so much, up or down. None where the
        days are too few, or leave it open.
        """
        weights = self._weights(settings, firmwares)
        for level in levels:
            weights[0, level - 1 - len(self.sudden)] = 1.0
        weights[0, -1] = years
        if self._spare < MIN_SPARE_DAYS or not weights.any() or not self._design.tells(weights)[0]:
            return None
        found = self._solved.laws.sums(self._design.along(weights))
        margin = np.array([beyond])
        p = 2 * min(found.below(margin)[0], 1 - found.below(-margin)[0])
        return Change(found.ranges("runs")[0], min(float(p), 1.0))

    def tells(self, setting: Pair) -> bool:
        """Return whether what another setting did can be told from other changes."""
        return bool(self._design.tells(self._weights([setting], ()))[0])

    def _weights(self, settings: Sequence[Pair], firmwares: Sequence[Pair]) -> Array:
        weights = np.zeros((1, self._columns.shape[1]))
        for pairs, offset in ((settings, 0), (firmwares, int(self.settings.max()) + 1)):
            for before, after in pairs:
                weights[0, offset + before] -= 1.0
                weights[0, offset + after] += 1.0
        return weights

    def with_sudden(self) -> "TrendFit":
        """Return the fit with the most sudden changes that the days show, each beyond chance.

        Of a fall that was undone, or of several, none alone may be: others are looked for beside
        one that is less than certain, and each again beside the others.
        """
        found = looked = self
        while len(looked.sudden) < _MOST_SUDDEN:
            chance, first = looked._clearest()
            if chance >= _NO_CHANGE:
                break
            looked = looked._with(*looked.sudden, first)
            chances = []
            for one in looked.sudden:
                others = looked._with(*(other for other in looked.sudden if other != one))
                chance, first = others._clearest()
                looked = others._with(*others.sudden, first)
                chances.append(chance)
            least = _SUDDEN_BY_CHANCE if len(chances) == 1 else _BESIDE_BY_CHANCE
            if max(*chances, looked._most_by_chance()) < least:
                found = looked
        return found

    def _most_by_chance(self) -> float:
        """How likely the least certain of the sudden changes would be by chance, on any day."""
        each = [self.change(levels=[number]) for number in range(len(self.sudden))]
        last = self.sudden[-1]
        if each[-1] is not None and len(self.days) - last < MIN_DAYS_OF_LEVEL:
            # a day that is as before, among so few, makes bad days of the others
            laws = self._solved.laws
            off = (self.logs - self._design.basis @ (laws.weight @ laws.at))[last:]
            if (off / each[-1].of_log.mid).min() < -0.5:
                return 1.0
        return max(1.0 if one is None else one.p * len(self.days) for one in each)

    def _with(self, *sudden: int) -> "TrendFit":
        return replace(self, sudden=sorted(sudden))

    def _clearest(self) -> tuple[float, int]:
        """How likely the clearest sudden change is by chance, and the day it begins with."""
        if self._spare <= MIN_SPARE_DAYS:
            return 1.0, 0
        axes, season = self._design.basis, _season(self.days)
        return _Solved(axes, self.logs, season, has_levels=True).most_sudden(self._candidates())

    def _candidates(self) -> Numbers:
        """Where another level may begin: days enough on each side, in the levels as they are."""
        end = len(self.days) + MIN_DAYS_OF_LEVEL - MIN_LAST_DAYS
        near = np.abs(np.arange(len(self.days))[:, None] - [0, *self.sudden, end]).min(axis=1)
        return np.flatnonzero(near >= MIN_DAYS_OF_LEVEL)


def _season(days: Array) -> Array:
    """A year's wave, sine and cosine, of variance 1."""
    phase = 2 * np.pi * days / DAYS_A_YEAR
    return math.sqrt(2) * np.column_stack([np.cos(phase), np.sin(phase)])


class _Solved:
    """The unknowns along orthonormal `axes` (n, k), for each likeness of days and each season.

    Both are laws, in the order of `_ALIKE` and, for each, of `_SEASONS`: the first axis of arrays.
    """

    def __init__(
        self, axes: Array, logs: Array, season: Array, *, has_levels: bool = False
    ) -> None:
        count, unknowns = axes.shape
        moved, self._wider, smallest = _robust(axes, logs, has_levels=has_levels)
        self._least = (count - unknowns) * smallest**2
        columns = np.column_stack([season, axes, moved])
        self._white = [_whitened(columns, alike) for alike in _ALIKE]
        gram = np.repeat([white.T @ white for white in self._white], len(_SEASONS), axis=0)
        waves, rest = slice(season.shape[1]), slice(season.shape[1], None)
        strength = np.tile(_SEASONS, len(_ALIKE))[:, None, None]
        # a season is a random effect, as strong as the law says
        inner = strength**2 * gram[:, waves, waves] + np.eye(season.shape[1])
        self._by_wave = strength**2 * np.linalg.solve(inner, gram[:, waves, rest])
        self._of_waves = strength**2 * np.linalg.inv(inner)
        gram = gram[:, rest, rest] - gram[:, rest, waves] @ self._by_wave
        alike = np.repeat(_ALIKE, len(_SEASONS))
        likely = -0.5 * ((count - 1) * np.log(1 - alike**2) + np.linalg.slogdet(inner)[1])
        self._laws = effects.solved(gram, likely, count - unknowns, self._least)
        self.laws = replace(self._laws, left=self._laws.left * self._wider**2)

    def most_sudden(self, candidates: Numbers) -> tuple[float, int]:
        """Return how likely the clearest sudden change is by chance, and the day it begins with."""
        if len(candidates) == 0:
            return 1.0, 0
        # a step shows some days off, too: of many days, all are looked at near the clearest only
        apart = -(-len(candidates) // _LOOKED_AT)
        near = apart * int(np.argmin(self._chances(candidates[::apart])))
        looked_at = candidates[max(near - apart, 0) : near + apart + 1]
        chances = self._chances(looked_at)
        best = int(np.argmin(chances))
        return float(chances[best]) * len(candidates), int(looked_at[best])

    def _chances(self, candidates: Numbers) -> Array:
        """How likely a step as large at each candidate is by chance."""
        likely, chance = np.concatenate(
            [self._steps(number, candidates) for number in range(len(_ALIKE))], axis=1
        )
        shares = np.exp(likely - likely.max(axis=0))
        return np.asarray((chance * shares).sum(axis=0) / shares.sum(axis=0))

    def _steps(self, number: int, candidates: Numbers) -> Array:
        """The likelihood of a step at each candidate, and how likely one as large is by chance.

        For the laws of one likeness of days, a row each.
        """
        alike, white = _ALIKE[number], self._white[number]
        laws = slice(number * len(_SEASONS), (number + 1) * len(_SEASONS))
        root = math.sqrt(1 - alike**2)
        # the step itself, whitened, is 1 / root at its day and (1 - alike) / root from then on
        after = np.cumsum(white[::-1], axis=0)[::-1][candidates]
        along = ((1 - alike) * after + alike * white[candidates]) / root
        size = (1 + (len(white) - 1 - candidates) * (1 - alike) ** 2) / root**2
        by_wave, of_waves = self._by_wave[laws], self._of_waves[laws]
        waves = along[:, : by_wave.shape[1]]
        rest = along[None, :, by_wave.shape[1] :] - waves @ by_wave
        inverse = self._laws.inverse[laws]
        size = size - (waves @ of_waves * waves).sum(axis=2)
        size = size - (rest[:, :, :-1] @ inverse * rest[:, :, :-1]).sum(axis=2)
        right = rest[:, :, -1] - np.einsum("lkp,lp->lk", rest[:, :, :-1], self._laws.at[laws])
        is_told = size > _SMALLEST_SIZE
        size = np.where(is_told, size, 1.0)
        gained = np.where(is_told, right**2 / size, 0.0)
        whole = self._laws.left[laws, None]
        left = np.maximum(whole - gained, self._least)
        df = self._laws.df - 1
        t = np.sqrt(gained / (left / df)) / self._wider
        likely = self._laws.likely[laws, None] - 0.5 * (
            np.log(size) + df * np.log(left) - self._laws.df * np.log(whole)
        )
        return np.stack([likely, 2 * stdtr(df, -t)])


def _whitened(columns: Array, alike: float) -> Array:
    """The columns as those of independent noise of variance 1."""
    fresh = columns.copy()
    fresh[1:] -= alike * columns[:-1]
    fresh[1:] /= math.sqrt(1 - alike**2)
    return fresh


def _robust(axes: Array, logs: Array, *, has_levels: bool) -> tuple[Array, float, float]:
    """Return the logarithms with outlying days moved to Huber's limits around a robust fit.

    Where another level may show, around the median of neighbouring days, which it moves. Also
    returns by how much wider that makes an interval, and what is nothing beside such logarithms.
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
            return logs, 1.0, smallest  # all of it lies on the line
        limit = _HUBER * scale
        weights = np.minimum(1.0, limit / np.maximum(np.abs(residuals), smallest))
        before = found
        weighted = axes * weights[:, None]
        found = np.asarray(np.linalg.solve(weighted.T @ axes, weighted.T @ logs), float)
        if np.abs(found - before).max() <= scale / count:
            break
    residuals = logs - axes @ found
    around = median_filter(residuals, _NEIGHBOURS, mode="reflect") if has_levels else 0.0
    near = around + np.clip(residuals - around, -limit, limit)
    inside = float(np.mean(np.abs(residuals - around) <= limit))
    correction = 1 + unknowns / count * (1 - inside) / inside
    return axes @ found + near, correction / inside, smallest
