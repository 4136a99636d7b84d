"""The mean of a group over several conditions, and how far to trust it.

The unit of repetition is the run, and, where a condition was tried on several drives, the drive:
a linear model (:mod:`heatsoak.facts.effects`) tells groups and other conditions from drives from
runs. Two groups are compared by their own runs alone, so that no third one changes what is said of
them. With one run on each side nothing tells how far the next may differ: there is no interval.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from heatsoak.analysis.definitions import Metric
from heatsoak.analysis.series import Array
from heatsoak.comparison.model import IntervalOf
from heatsoak.facts import effects
from heatsoak.facts.table import Measure
from heatsoak.protocol import Label
from heatsoak.ranges import Range

#: The runs of a group in one stratum: which drive each was of, and its value.
Cell = Sequence[tuple[int, Measure]]
#: By the stratum's number, and by group.
Cells = Mapping[int, Mapping[Label, Cell]]

#: No value is known better than this share of what is negligible.
_RESOLUTION = 0.02
#: Draws of which group is the best.
_DRAWS, _SEED = 2000, 2016


@dataclass(frozen=True)
class GroupMean:
    """A group's mean over conditions.

    Attributes:
        value: None if one of its runs never fell.
        bound: the value, or its lower bound.
        runs: the number of runs.
    """

    value: float | None
    bound: float
    runs: int


@dataclass(frozen=True)
class Difference:
    """Two means compared; intervals are None if nothing tells them.

    Attributes:
        delta: in the metric's unit, and `change` with its interval.
        share: `delta` divided by the second value, if that is not 0; `change_share` likewise.
        p: how likely one as large is by chance, two-sided.
        of: what the intervals cover.
    """

    delta: float
    share: float | None
    change: Range | None = None
    change_share: Range | None = None
    p: float | None = None
    of: IntervalOf | None = None


def mean(cells: Cells, group: Label, strata: Sequence[int]) -> GroupMean:
    """Return a group's mean over `strata`, all of which it has."""
    found = [[one for _, one in cells[number][group]] for number in strata]
    bound = float(np.mean([np.mean([one.bound for one in cell]) for cell in found]))
    is_known = all(one.value is not None for cell in found for one in cell)
    return GroupMean(bound if is_known else None, bound, sum(map(len, found)))


def difference(
    cells: Cells, metric: Metric, group: Label, baseline: Label, strata: Sequence[int]
) -> Difference | None:
    """Return the difference of `group` from `baseline`; None if one has no value."""
    one, two = (mean(cells, each, strata).value for each in (group, baseline))
    if one is None or two is None:
        return None
    delta, share = one - two, (one - two) / two if two else None
    fit = _Fit(cells, metric, [group, baseline], strata)
    found = fit.sums(np.array([[1.0, -1.0]]))
    if found is None:
        return Difference(delta, share)
    (effect,) = found.ranges(fit.of)
    if fit.is_ratio:  # about the ratio of the means
        change = effect.mapped(lambda log: one * float(np.exp(log - effect.mid)) - two)
    else:
        change = effect.mapped(lambda value: value - effect.mid + delta)
    relative = change.times(1 / two) if two > 0 else None
    return Difference(delta, share, change, relative, float(found.chance()[0]), fit.of)


def ranges_of(
    cells: Cells, metric: Metric, groups: Sequence[Label], strata: Sequence[int]
) -> tuple[list[Range | None], list[float] | None]:
    """Return the groups' means with their intervals, and how often each is best by what is known.

    None where nothing tells, or a group has no value.
    """
    means = [mean(cells, group, strata).value for group in groups]
    fit = _Fit(cells, metric, groups, strata)
    each = np.eye(len(groups))
    found = None if None in means else fit.sums(each, is_mean=True)
    if found is None:
        return [None] * len(groups), None
    ranges: list[Range | None] = [
        one.mapped(lambda value: float(np.exp(value))) if fit.is_ratio else one
        for one in found.ranges(fit.of)
    ]
    draws = fit.draws(each, _DRAWS, np.random.default_rng(_SEED))
    sign = 1 if metric.better == "higher" else -1
    best = np.bincount(np.argmax(sign * draws, axis=1), minlength=len(groups))
    return ranges, (best / _DRAWS).tolist()


class _Fit:
    """The model of some groups in some strata.

    Attributes:
        of: what its intervals cover.
        is_ratio: whether it is of logarithms.
    """

    def __init__(
        self, cells: Cells, metric: Metric, groups: Sequence[Label], strata: Sequence[int]
    ) -> None:
        rows = [
            (number, group, drive, one.bound)
            for number in strata
            for group in groups
            for drive, one in cells[number][group]
        ]
        of_strata, of_groups, of_drives, bounds = zip(*rows, strict=True)
        self.is_ratio = metric.scale == "ratio" and min(bounds) > 0
        fixed = np.hstack(
            [effects.dummies(of_groups, groups), effects.dummies(of_strata, list(strata))]
        )
        drives = effects.dummies(of_drives, list(dict.fromkeys(of_drives)))
        alone, both = effects.Design(fixed), effects.Design(np.hstack([fixed, drives]))
        runs_df = len(rows) - both.rank
        is_random = both.rank - alone.rank >= effects.MIN_DRIVE_DF
        # few drives tell nothing of others: each is compared with itself
        is_alone = is_random or both.rank == alone.rank
        self._design = alone if is_alone else both
        self._groups = len(groups)
        self._means = [len(strata)] if is_alone else [len(strata), drives.shape[1]]
        is_once = bool((drives.sum(axis=0) == 1).all())
        self._can_tell = runs_df > 0 or (is_random and is_once)
        counts = [[len(cells[number][group]) for number in strata] for group in groups]
        has_repeats = max(map(max, counts)) > 1
        self.of: IntervalOf = "drives" if is_random else "runs" if has_repeats else "conditions"
        laws = [effects.Law(lambda rows: rows)]
        if is_random and runs_df > 0:
            laws = effects.of_drives(drives)
        elif len(groups) == 2 and min(sum(of) - len(of) for of in counts) > 0 and not is_random:
            laws = effects.of_two_groups(fixed[:, 0] == 1)
        if self._can_tell:
            values = np.log(bounds) if self.is_ratio else np.array(bounds, dtype=float)
            finest = _RESOLUTION * metric.negligible
            self._laws = effects.fitted(self._design.basis, values, laws, finest)

    def sums(self, of_groups: Array, *, is_mean: bool = False) -> effects.Mixture | None:
        """Return sums of groups, a row of weights each, or their means; None if unknown."""
        if not self._can_tell:
            return None
        wide = self._wide(of_groups, is_mean=is_mean)
        is_told = bool(self._design.tells(wide).all())
        return self._laws.sums(self._design.along(wide)) if is_told else None

    def draws(self, of_groups: Array, count: int, rng: np.random.Generator) -> Array:
        """Return what their means might equally have been, (count, groups)."""
        wide = self._wide(of_groups, is_mean=True)
        return self._laws.draws(self._design.along(wide), count, rng)

    def _wide(self, of_groups: Array, *, is_mean: bool) -> Array:
        wide = np.zeros((len(of_groups), self._design.width))
        wide[:, : self._groups] = of_groups
        if is_mean:
            ends = np.cumsum([self._groups, *self._means])
            for start, end in pairwise(ends.tolist()):
                wide[:, start:end] = 1 / (end - start)
        return wide
