"""The mean of a group over several conditions, and how far to trust it.

The unit of repetition is the run, and, where a condition was tried on several drives, the drive:
a linear model (:mod:`heatsoak.facts.effects`) tells groups and other conditions from drives from
runs. Two groups are compared by their own runs alone, so that no third one changes what is said of
them. With one run on each side nothing tells how far the next may differ: there is no interval.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from heatsoak.analysis.definitions import Metric
from heatsoak.comparison.model import IntervalOf
from heatsoak.facts import effects
from heatsoak.facts.table import Measure
from heatsoak.protocol import Label
from heatsoak.ranges import Range

#: The runs of a group in one stratum: which drive each was of, and its value.
Cell = Sequence[tuple[int, Measure]]
#: By the stratum's number, and by group.
Cells = Mapping[int, Mapping[Label, Cell]]

#: Draws of which group is the best.
_DRAWS, _SEED = 2000, 2016
_GROUP = "group"


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
        delta: in the metric's unit, and `change` with its interval; None if one has no value.
        share: `delta` divided by the second value, if that is not 0; `change_share` likewise.
        p: how likely one as large is by chance, two-sided.
        of: what the intervals cover.
    """

    delta: float | None = None
    share: float | None = None
    change: Range | None = None
    change_share: Range | None = None
    p: float | None = None
    of: IntervalOf | None = None

    @property
    def is_higher(self) -> bool:
        """Whether the first mean is known to be higher."""
        return self.delta is not None and self.delta > 0


def mean(cells: Cells, group: Label, strata: Sequence[int]) -> GroupMean:
    """Return a group's mean over `strata`, all of which it has."""
    found = [[one for _, one in cells[number][group]] for number in strata]
    bound = float(np.mean([np.mean([one.bound for one in cell]) for cell in found]))
    is_known = all(one.value is not None for cell in found for one in cell)
    return GroupMean(bound if is_known else None, bound, sum(map(len, found)))


def difference(
    cells: Cells, metric: Metric, group: Label, baseline: Label, strata: Sequence[int]
) -> Difference:
    """Return the difference of `group` from `baseline`."""
    one, two = (mean(cells, each, strata).value for each in (group, baseline))
    if one is None or two is None:
        return Difference()
    delta, share = one - two, (one - two) / two if two else None
    fit, of, is_ratio = _fitted(cells, metric, [group, baseline], strata)
    found = fit.sums({_GROUP: np.array([[1.0, -1.0]])})
    if found is None:
        return Difference(delta, share)
    (effect,) = found.ranges(of)
    if is_ratio:  # about the ratio of the means
        change = effect.mapped(lambda log: one * float(np.exp(log - effect.mid)) - two)
    else:
        change = effect.mapped(lambda value: value - effect.mid + delta)
    relative = change.times(1 / two) if two > 0 else None
    return Difference(delta, share, change, relative, float(found.chance()[0]), of)


def ranges_of(
    cells: Cells, metric: Metric, groups: Sequence[Label], strata: Sequence[int]
) -> tuple[list[Range | None], list[float] | None]:
    """Return the groups' means with their intervals, and how often each is best by what is known.

    None where nothing tells, or a group has no value.
    """
    means = [mean(cells, group, strata).value for group in groups]
    fit, of, is_ratio = _fitted(cells, metric, groups, strata)
    found = None if None in means else fit.means(_GROUP)
    if found is None:
        return [None] * len(groups), None
    ranges: list[Range | None] = [
        one.mapped(lambda value: float(np.exp(value))) if is_ratio else one
        for one in found.ranges(of)
    ]
    draws = fit.draws(_GROUP, _DRAWS, np.random.default_rng(_SEED))
    sign = 1 if metric.better == "higher" else -1
    best = np.bincount(np.argmax(sign * draws, axis=1), minlength=len(groups))
    return ranges, (best / _DRAWS).tolist()


def _fitted(
    cells: Cells, metric: Metric, groups: Sequence[Label], strata: Sequence[int]
) -> tuple[effects.EffectsFit, IntervalOf, bool]:
    """The model of some groups in some strata, what it covers, and whether it is of logarithms."""
    rows = [
        (f"{place:06}", str(number), str(drive), one.bound)
        for number in strata
        for place, group in enumerate(groups)
        for drive, one in cells[number][group]
    ]
    of_groups, of_strata, drives, bounds = zip(*rows, strict=True)
    is_ratio = metric.scale == "ratio" and min(bounds) > 0
    counts = [[len(cells[number][group]) for number in strata] for group in groups]
    # one of two may vary more than the other
    is_uneven = len(groups) == 2 and all(sum(of) > len(of) for of in counts)
    seen = effects.Observations(
        np.log(bounds).tolist() if is_ratio else bounds,
        [""] * len(rows),
        drives,
        {_GROUP: of_groups, "stratum": of_strata},
        metric.resolution,
        uneven=[one == of_groups[0] for one in of_groups] if is_uneven else (),
    )
    fit = effects.EffectsFit(seen)
    if fit.drive_df == 0 and len(set(drives)) > 1:
        # nothing tells drives from groups: what is compared are these drives
        fit = effects.EffectsFit(replace(seen, drives=[""] * len(rows)))
    if fit.knows_drives:
        return fit, "drives", is_ratio
    return fit, "runs" if max(map(max, counts)) > 1 else "conditions", is_ratio
