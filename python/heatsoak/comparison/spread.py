"""The mean of a group over several conditions, and how far to trust it.

The unit of repetition is the run. If a group was run several times, the spread of its runs tells
how far the next one may differ (Welch's t; a group that was run once is assumed to vary as the
others do). If each was run once but in several conditions, the residuals of an additive model of
groups and conditions tell it: randomised blocks, in which differences of a group's effect between
conditions count as noise. With one pair of runs, only noise within the run is known.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from heatsoak import ranges
from heatsoak.analysis.series import Array
from heatsoak.comparison.measures import DRAWS, Measure
from heatsoak.comparison.model import IntervalOf
from heatsoak.facts.effects import Design, dummies
from heatsoak.protocol import Label

Scale = Literal["ratio", "difference"]
#: A group's runs in each stratum, by the stratum's number.
_Cells = Mapping[int, Mapping[Label, Sequence[Measure]]]

#: Fewer degrees of freedom give no useful interval.
_MIN_DEGREES = 2


@dataclass(frozen=True)
class GroupMean:
    """A group's mean over conditions.

    Attributes:
        value: None if one of its runs never fell.
        bound: the value, or its lower bound.
        stdev: standard deviation of the value, with `degrees` of freedom; NaN if unknown.
        draws: errors due to noise within the run, if that is all that is known.
        runs: the number of runs.
    """

    value: float | None
    bound: float
    stdev: float
    degrees: float
    draws: Array | None
    runs: int


@dataclass(frozen=True)
class Difference:
    """Two means compared; intervals are None if nothing is known about noise.

    Attributes:
        delta: in the metric's unit.
        ci95: of `delta`.
        share: `delta` divided by the second value; None if that is 0.
        share_ci95: of `share`.
        p: two-sided.
    """

    delta: float
    ci95: ranges.Range | None
    share: float | None
    share_ci95: ranges.Range | None
    p: float | None


class Spread:
    """Means of one metric in one step, for all groups."""

    def __init__(self, cells: _Cells, scale: Scale) -> None:
        self._cells = cells
        never_fell = {g for _, g, ms in _flat(cells) for m in ms if m.value is None}
        known: _Cells = {
            number: {g: ms for g, ms in groups.items() if g not in never_fell}
            for number, groups in cells.items()
        }
        self._known = known
        is_positive = all(m.bound > 0 for _, _, ms in _flat(known) for m in ms)
        self.scale: Scale = scale if is_positive else "difference"
        self.basis: IntervalOf | None = None
        self._stdevs: dict[Label, tuple[float, float]] = {}
        self._is_shared = False
        if not _flat(known):
            return
        if any(len(ms) > 1 for _, _, ms in _flat(known)):
            self.basis, self._stdevs = "runs", self._between_runs()
        elif (found := self._between_conditions()) is not None:
            self.basis, self._is_shared = "conditions", True
            self._stdevs = {group: found for _, group, _ in _flat(known)}
        elif all(m.draws is not None for _, _, ms in _flat(known) for m in ms):
            self.basis = "this run"

    def mean(self, group: Label, strata: Sequence[int]) -> GroupMean:
        """Return the group's mean over `strata`, all of which it has."""
        cells = [self._cells[number][group] for number in strata]
        known = [m.value for cell in cells for m in cell]
        bound = float(np.mean([np.mean([m.bound for m in cell]) for cell in cells]))
        runs = sum(len(cell) for cell in cells)
        value = None if None in known else bound
        if self.basis == "this run" and value is not None:
            per_cell = [_only(cell).draws for cell in cells]
            draws = np.mean([d for d in per_cell if d is not None], axis=0)
            return GroupMean(value, bound, float("nan"), 0, draws, runs)
        stdev, degrees = self._stdevs.get(group, (float("nan"), 0.0))
        parts = []
        for cell in cells:
            level = float(np.mean([m.bound for m in cell])) if self.scale == "ratio" else 1.0
            parts.append((stdev * level) ** 2 / len(cell))
        of_mean = float(np.sqrt(sum(parts))) / len(cells)
        return GroupMean(value, bound, of_mean, degrees, None, runs)

    def difference(self, one: GroupMean, two: GroupMean) -> Difference | None:
        """Return the difference of `one` from `two`; None if one has no value."""
        if one.value is None or two.value is None:
            return None
        delta = one.value - two.value
        share = delta / two.value if two.value else None
        if one.draws is not None and two.draws is not None:
            return _by_draws(one.value, two.value, one.draws, two.draws)
        if self.basis is None or not (np.isfinite(one.stdev) and np.isfinite(two.stdev)):
            return Difference(delta, None, share, None, None)
        degrees = one.degrees if self._is_shared else _welch(one, two)
        reach, base = _reach_of(degrees), two.value
        if self.scale == "ratio":
            log = np.log(one.value / two.value)
            stdev = float(np.hypot(one.stdev / one.value, two.stdev / two.value))
            low, high = (np.exp([log - reach * stdev, log + reach * stdev]) - 1).tolist()
            p = _two_sided(float(log), stdev, degrees)
            of_base = ranges.Range.around(delta / base, (low, high), self.basis)
            return Difference(delta, of_base.times(base), share, of_base, p)
        stdev = float(np.hypot(one.stdev, two.stdev))
        change = ranges.Range.around(
            delta, (delta - reach * stdev, delta + reach * stdev), self.basis
        )
        p = _two_sided(delta, stdev, degrees)
        relative = change.mapped(lambda value: value / base) if base > 0 else None
        return Difference(delta, change, share, relative, p)

    def draws(self, means: Sequence[GroupMean], rng: np.random.Generator) -> Array | None:
        """Return random values that the means might equally have had, one row per draw."""
        if any(m.value is None for m in means):
            return None
        if all(m.draws is not None for m in means):
            return np.stack([m.bound + m.draws for m in means if m.draws is not None], axis=1)
        if not all(np.isfinite(m.stdev) for m in means):
            return None
        # one chi-squared for all: with two groups, their difference then has Welch's t
        total = sum(m.stdev**2 for m in means)
        shares = sum(m.stdev**4 / m.degrees for m in means)
        degrees = means[0].degrees if self._is_shared or not shares else total**2 / shares
        swell = np.sqrt(degrees / rng.chisquare(degrees, size=(DRAWS, 1)))
        normal = rng.standard_normal((DRAWS, len(means))) * swell
        values = np.array([m.bound for m in means])
        stdevs = np.array([m.stdev for m in means])
        if self.scale == "ratio":
            return np.asarray(values * np.exp(normal * stdevs / values))
        return np.asarray(values + normal * stdevs)

    def range(self, mean: GroupMean) -> ranges.Range | None:
        """Return a mean with its interval, if there is one."""
        if mean.value is None or self.basis is None:
            return None
        if mean.draws is not None:
            return ranges.Range.around(mean.value, _ends(mean.value + mean.draws), self.basis)
        if not np.isfinite(mean.stdev):
            return None
        reach = _reach_of(mean.degrees) * mean.stdev
        ends = mean.value - reach, mean.value + reach
        if self.scale == "ratio":
            factor = float(np.exp(reach / mean.value))
            ends = mean.value / factor, mean.value * factor
        return ranges.Range.around(mean.value, ends, self.basis)

    def _between_runs(self) -> dict[Label, tuple[float, float]]:
        """Standard deviation of a run, and its degrees of freedom, for each group."""
        squares: dict[Label, float] = {}
        degrees: dict[Label, int] = {}
        for _, group, measures in _flat(self._known):
            values = np.array([m.bound for m in measures])
            scale = values.mean() if self.scale == "ratio" else 1.0
            squares[group] = squares.get(group, 0.0) + float(
                np.sum((values / scale - values.mean() / scale) ** 2)
            )
            degrees[group] = degrees.get(group, 0) + len(values) - 1
        pooled = (sum(squares.values()) / sum(degrees.values()), sum(degrees.values()))
        found = {
            g: (squares[g] / degrees[g], degrees[g]) if degrees[g] else pooled for g in squares
        }
        return {g: (float(np.sqrt(variance)), float(df)) for g, (variance, df) in found.items()}

    def _between_conditions(self) -> tuple[float, float] | None:
        """Residual deviation of one run from an additive model of groups and strata; None if too
        few."""
        rows = [(number, group, _only(ms).bound) for number, group, ms in _flat(self._known)]
        strata = list(dict.fromkeys(number for number, _, _ in rows))
        groups = list(dict.fromkeys(group for _, group, _ in rows))
        degrees = len(rows) - len(strata) - len(groups) + 1
        if degrees < _MIN_DEGREES:
            return None
        of_strata, of_groups, values = zip(*rows, strict=True)
        model = np.hstack([dummies(of_strata, strata), dummies(of_groups, groups)])
        seen = np.log(values) if self.scale == "ratio" else np.array(values)
        basis = Design(model).basis
        left = seen - basis @ (basis.T @ seen)
        return float(np.sqrt(np.sum(left**2) / degrees)), float(degrees)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Return p values corrected for multiple tests (Holm, Scand. J. Statist. 6, 1979)."""
    known = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    least = 0.0
    for place, (p, index) in enumerate(known):
        least = max(least, min(1.0, p * (len(known) - place)))
        adjusted[index] = least
    return adjusted


def _flat(cells: _Cells) -> list[tuple[int, Label, Sequence[Measure]]]:
    return [(number, g, ms) for number, groups in cells.items() for g, ms in groups.items()]


def _only(measures: Sequence[Measure]) -> Measure:
    (measure,) = measures
    return measure


def _welch(one: GroupMean, two: GroupMean) -> float:
    if one.stdev == two.stdev == 0:
        return min(one.degrees, two.degrees)
    parts = (one.stdev**4 / one.degrees) + (two.stdev**4 / two.degrees)
    return float((one.stdev**2 + two.stdev**2) ** 2 / parts)


def _two_sided(delta: float, stdev: float, degrees: float) -> float:
    if stdev == 0:
        return 1.0 if delta == 0 else 0.0
    from scipy.special import stdtr

    return float(2 * stdtr(degrees, -abs(delta) / stdev))


def _by_draws(one: float, two: float, noise_one: Array, noise_two: Array) -> Difference:
    delta = one - two
    moved = delta + noise_one - noise_two
    low, high = _ends(moved)
    share = relative = None
    if two > 0:
        share = delta / two
        ratios = (one + noise_one) / np.maximum(two + noise_two, 1e-9 * two) - 1
        relative = ranges.Range.around(share, _ends(ratios), "this run")
    # identical draws leave no doubt; otherwise p cannot be smaller than one draw can show
    beyond = min(float(np.mean(moved <= 0)), float(np.mean(moved >= 0)))
    p = min(1.0, 2 * beyond) if low == high else min(1.0, max(2 * beyond, 1 / DRAWS))
    return Difference(
        delta, ranges.Range.around(delta, (low, high), "this run"), share, relative, p
    )


def _ends(draws: Array) -> tuple[float, float]:
    low, high = np.quantile(draws, ranges.tails(ranges.USUAL_LEVEL))
    return float(low), float(high)


def _reach_of(degrees: float) -> float:
    """How many standard errors a 95 % interval of Student's t reaches to each side."""
    from scipy.special import stdtrit  # takes long to import, and few commands compare

    return float(stdtrit(degrees, ranges.tails(ranges.USUAL_LEVEL)[1]))
