"""The mixed model: what places, drives and repeated runs do to a measure.

    value = mean of the model + effect of each place + effect of the drive + noise of the run

Places (slot, host, ...) have fixed effects, the same for all models or, where they are not, those
of each model; the effects of drives are random with one variance for all models, as is the noise.

A rack often has 3 to 8 drives of a model, whose effects may be next to nothing. There the
estimates of statsmodels' MixedLM end on the edge of what is possible, its covariances are singular,
and its intervals are those of a normal law with known variances: too narrow. Here only one number
is unknown besides what has a solution in closed form: the ratio of the two variances. Given that
ratio, effects follow Student's law exactly; its degrees of freedom are runs less fixed effects.
The restricted likelihood (Patterson and Thompson 1971) is not maximised over the ratio but
averaged, with the prior of Tiao and Tan (1965): flat in the logarithms of the noise's variance and
of that of a drive's mean, which for balanced racks gives the intervals of an analysis of variance.
So a variance of zero is a value like others, and nothing can fail to converge.

`Design`, `Laws` and `Mixture` are for any linear model of which one number more is unknown than has
a solution in closed form: how much drives vary beside their runs, or how alike neighbouring days
are. Given that number, all sums of unknowns follow Student's law; so they are averaged over it, by
how likely each of its values is.
"""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, compress

import numpy as np
from numpy.typing import NDArray
from scipy import special

from heatsoak.analysis.series import Array
from heatsoak.ranges import USUAL_LEVEL, Covers, Range, tails

#: The ratio of a drive's variance to the noise's, of a mean of runs: all that is ever seen.
_RATIOS = np.geomspace(1e-5, 1e9, 160)
#: The ratio of the variances of two groups' runs, each as likely beforehand.
_UNEVEN = np.geomspace(1 / 400, 400, 41)
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

    def draws(self, weights: Array, count: int, rng: np.random.Generator) -> Array:
        """Return values that the sums might equally have, (count, sums)."""
        law = rng.choice(len(self.weight), size=count, p=self.weight)
        covariance = np.einsum("cp,lpq,dq->lcd", weights, self.inverse, weights, optimize=True)
        axes, sizes, _ = np.linalg.svd(covariance)
        roots = axes * np.sqrt(sizes)[:, None, :] * self.noise[:, None, None]
        normal = rng.standard_normal((count, len(weights)))
        normal *= np.sqrt(self.df / rng.chisquare(self.df, count))[:, None]
        return np.asarray(
            (weights @ self.at.T).T[law] + np.einsum("ncd,nd->nc", roots[law], normal)
        )


@dataclass(frozen=True)
class Law:
    """A law of the noise: `whiten` makes it independent and of variance 1, row by row.

    Attributes:
        log_det: the logarithm of its covariance's determinant.
        log_prior: how likely it is beforehand, up to a constant.
    """

    whiten: Callable[[Array], Array]
    log_det: float = 0.0
    log_prior: float = 0.0


def fitted(basis: Array, values: Array, laws: Sequence[Law], resolution: float) -> Laws:
    """Return what is fitted to orthonormal columns (n, p), averaged over the laws of the noise.

    They are weighted by their restricted likelihood. No value is known better than `resolution`.
    """
    count, width = basis.shape
    df = count - width
    both = np.column_stack([basis, values])
    grams = np.stack([white.T @ white for white in (law.whiten(both) for law in laws)])
    told, right = grams[:, :-1, :-1], grams[:, :-1, -1]
    inverse = np.linalg.inv(told)
    at = np.einsum("lpq,lq->lp", inverse, right)
    left = np.maximum(grams[:, -1, -1] - (at * right).sum(axis=1), 0.0) + df * resolution**2
    likely = np.array([law.log_prior - 0.5 * law.log_det for law in laws])
    likely -= 0.5 * (np.linalg.slogdet(told)[1] + df * np.log(left))
    return Laws(at, inverse.astype(float), left, weights_of(likely), df)


def of_drives(drives: Array) -> list[Law]:
    """Return the laws of runs of drives, which have a column of 0 and 1 each: drives vary, too."""
    runs = drives.sum(axis=0)
    mean_runs = len(runs) / float((1 / runs).sum())

    def law(ratio: float) -> Law:
        shrink = (1 - 1 / np.sqrt(1 + ratio * runs)) / runs
        return Law(
            lambda rows: rows - drives @ (shrink[:, None] * (drives.T @ rows)),
            float(np.log1p(ratio * runs).sum()),
            float(np.log(ratio / (1 / mean_runs + ratio))),
        )

    return [law(ratio) for ratio in (_RATIOS / mean_runs).tolist()]


def of_two_groups(is_first: NDArray[np.bool_]) -> list[Law]:
    """Return the laws of two groups of runs, of which one may vary more than the other."""

    def law(ratio: float) -> Law:
        scale = np.where(is_first, np.sqrt(ratio), 1.0)
        return Law(lambda rows: rows / scale[:, None], 2 * float(np.log(scale).sum()))

    return [law(ratio) for ratio in _UNEVEN.tolist()]


def adjusted(chances: Sequence[float | None]) -> list[float | None]:
    """Return p values so corrected that of all that are below a share, so many are by chance.

    Benjamini and Hochberg, J. R. Statist. Soc. B 57, 1995.
    """
    known = sorted((p, number) for number, p in enumerate(chances) if p is not None)
    found: list[float | None] = [None] * len(chances)
    least = 1.0
    for rank, (p, number) in reversed(list(enumerate(known, 1))):
        least = min(least, p * (len(known) / rank))
        found[number] = least
    return found


def weights_of(log_likelihood: Array) -> Array:
    """Return how likely each of several laws is, 1 in all."""
    weight = np.exp(log_likelihood - log_likelihood.max())
    return np.asarray(weight / weight.sum())


@dataclass(frozen=True)
class Observations:
    """The values of one measure: all of these have one entry for each run.

    Attributes:
        places: the place by the name of each label.
        resolution: no value is known better than this.
        is_by_model: whether places are those of each model, since one slows some models alone.
    """

    values: Sequence[float]
    models: Sequence[str]
    drives: Sequence[str]
    places: Mapping[str, Sequence[str]]
    resolution: float
    is_by_model: bool = False

    def without(self, drives: Collection[str]) -> "Observations":
        """Return those of all other drives."""
        return self._kept([one not in drives for one in self.drives])

    def only(self, drive: str) -> "Observations":
        """Return those of one drive."""
        return self._kept([one == drive for one in self.drives])

    @property
    def columns(self) -> Mapping[str, Sequence[str]]:
        """What places are told apart, by label: ``3``, or ``990 PRO in 3`` if `is_by_model`."""
        if not self.is_by_model:
            return self.places
        return {
            label: [f"{model} in {place}" for model, place in zip(self.models, column, strict=True)]
            for label, column in self.places.items()
        }

    def by_model(self, *, apart: bool = True) -> "Observations":
        """Return those with each model's places apart: a place may slow one model alone."""
        return replace(self, is_by_model=apart)

    @property
    def interplay(self) -> float:
        """How likely places differ as much from model to model by chance: Fisher's F.

        Of the means of each drive in each place, with drives as they are where they moved.
        """
        means: dict[tuple[str, ...], list[float]] = {}
        for value, *where in zip(self.values, self.drives, *self.places.values(), strict=True):
            means.setdefault(tuple(where), []).append(value)
        first = {where: row for row, where in reversed(list(enumerate(self._cells)))}
        one = self._kept([first[where] == row for row, where in enumerate(self._cells)])
        one = replace(one, values=[float(np.mean(means[where])) for where in one._cells])
        moved = len(first) > len(set(self.drives))
        less, more = (each.unexplained(by_drive=moved) for each in (one, one.by_model()))
        less_df, more_df = (round(float(free.sum())) for _, free in (less, more))
        if more_df < 1 or less_df <= more_df:
            return 1.0
        noise = float(more[0].sum()) / more_df + self.resolution**2
        gained = max(float(less[0].sum() - more[0].sum()), 0.0) / (less_df - more_df)
        return float(special.fdtrc(less_df - more_df, more_df, gained / noise))

    @property
    def _cells(self) -> list[tuple[str, ...]]:
        return list(zip(self.drives, *self.places.values(), strict=True))

    def unexplained(self, *, by_drive: bool) -> tuple[Array, Array]:
        """What models and places, or drives and places, leave of each value: its square.

        And how much of that the value itself decides: a degree of freedom or less.
        """
        groups = self.drives if by_drive else self.models
        _, of, count = np.unique(groups, return_inverse=True, return_counts=True)
        columns = [dummies(column, list(dict.fromkeys(column))) for column in self.columns.values()]
        both = np.column_stack([*columns, self.values])
        # sums within groups are as good as a column for each group, and much smaller
        sums = np.zeros((len(count), both.shape[1]))
        np.add.at(sums, of, both)
        both = both - (sums / count[:, None])[of]
        axes, sizes, _ = np.linalg.svd(both[:, :-1], full_matrices=False)
        axes = axes[:, sizes > _ZERO * np.sqrt(len(of))]
        left = both[:, -1] - axes @ (axes.T @ both[:, -1])
        return left**2, 1 - 1 / count[of] - (axes**2).sum(axis=1)

    @property
    def min_drives_per_place(self) -> int:
        """The smallest number of drives of one model in any place."""
        by_place = [
            drives
            for label in self.by_model().columns.values()
            for drives in _grouped(label, self.drives).values()
        ]
        return min(map(len, by_place), default=len(set(self.drives)))

    def _kept(self, kept: Sequence[bool]) -> "Observations":
        return replace(
            self,
            values=list(compress(self.values, kept)),
            models=list(compress(self.models, kept)),
            drives=list(compress(self.drives, kept)),
            places={name: list(compress(of, kept)) for name, of in self.places.items()},
        )


def _grouped(keys: Sequence[str], values: Sequence[str]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for key, value in zip(keys, values, strict=True):
        found.setdefault(key, set()).add(value)
    return found


#: Two drives more than are needed to tell their places: a variance of fewer is not known at all.
MIN_DRIVE_DF = 2
#: What share of a deviation may be the drive's own.
_SHARES = np.linspace(0, 1, 51)
#: Ratios that are less likely than the likeliest by this factor do not count.
_UNLIKELY = 1e-5


class EffectsFit:
    """The model fitted to observations.

    Attributes:
        drive_df: drives more than are needed to tell models and places apart.
        run_df: runs more than are needed to tell the drives, too.
        can_tell: whether there are enough of either; otherwise every answer is None.
        has_repeats: whether drive and run can be told apart.
    """

    def __init__(self, seen: Observations) -> None:
        self._seen = seen
        self._drives = list(dict.fromkeys(seen.drives))
        columns = {"model": seen.models, **seen.columns}
        self._levels = {key: list(dict.fromkeys(column)) for key, column in columns.items()}
        fixed = np.hstack([dummies(column, self._levels[key]) for key, column in columns.items()])
        drives = dummies(seen.drives, self._drives)
        self._fixed, both = Design(fixed), Design(np.hstack([fixed, drives]))
        self.drive_df = both.rank - self._fixed.rank
        self.run_df = len(seen.values) - both.rank
        self._has_random = self.drive_df >= MIN_DRIVE_DF
        runs = drives.sum(axis=0)
        self.has_repeats = self.run_df > 0
        # a variance of drives that is not known takes no part: drives are compared with themselves
        self._design = self._fixed if self._has_random else both
        self.can_tell = self.has_repeats or (self._has_random and bool((runs == 1).all()))
        if self.can_tell:
            self._solve(drives, runs)

    def is_apart(self, key: str) -> bool:
        """Whether the places of a label can be told from other labels and models, if not drives."""
        rows = self._rows(key, self._against_mean(key))
        return bool(self._fixed.tells(rows).all())

    def _solve(self, drives: Array, runs: Array) -> None:
        seen = self._seen
        values = np.asarray(seen.values, dtype=float)
        basis, df = self._design.basis, len(values) - self._design.rank
        first = basis.T @ values
        rest = values - basis @ first
        mixes = self._has_random and self.has_repeats
        mean_runs = len(runs) / float((1 / runs).sum())
        ratio = _RATIOS / mean_runs if mixes else np.zeros(1)
        self._by_drive = drives.T @ basis
        of_drives = drives.T @ rest
        shrink = ratio[:, None] / (1 + ratio[:, None] * runs)
        a = np.eye(len(first)) - np.einsum(
            "gd,dp,dq->gpq", shrink, self._by_drive, self._by_drive, optimize=True
        )
        right = -(shrink * of_drives) @ self._by_drive
        inverse = np.linalg.inv(a)
        solved = np.einsum("gpq,gq->gp", inverse, right)
        left = rest @ rest - shrink @ of_drives**2 - (solved * right).sum(axis=1)
        left = np.maximum(left, 0.0) + df * seen.resolution**2
        log_likelihood = -0.5 * (
            np.log1p(ratio[:, None] * runs).sum(axis=1)
            + np.linalg.slogdet(a)[1]
            + df * np.log(left)
        )
        if mixes:  # flat in the logarithm of 1 + ratio x runs, by steps of the ratio's logarithm
            log_likelihood += np.log(ratio / (1 / mean_runs + ratio))
        likely = log_likelihood > log_likelihood.max() + np.log(_UNLIKELY)
        weight = weights_of(log_likelihood[likely])
        self._ratio, self._shrink, self._solved = ratio[likely], shrink[likely], solved[likely]
        self._laws = Laws(first + self._solved, inverse[likely], left[likely], weight, df)
        self._of_drives, self._runs = of_drives, runs

    def _sums(self, rows: Array) -> tuple[Mixture, NDArray[np.bool_]]:
        """Sums of fixed effects, a row of weights each, and which of them can be told."""
        wide = np.zeros((len(rows), self._design.width))
        wide[:, : rows.shape[1]] = rows
        return self._laws.sums(self._design.along(wide)), self._design.tells(wide)

    @property
    def labels(self) -> list[str]:
        """The labels of places."""
        return list(self._seen.places)

    def levels(self, key: str) -> list[str]:
        """Return the places of a label."""
        return self._levels[key]

    def places(self, key: str) -> list[Range] | None:
        """Return what each place does against the mean of all; None if that cannot be told.

        Where models have places of their own, the mean is that of the model's.
        """
        return self._effects(key, self._against_mean(key))

    def _against_mean(self, key: str) -> Array:
        alike = self._is_alike(key)
        return np.asarray(np.eye(len(alike)) - alike / alike.sum(axis=1, keepdims=True))

    def _is_alike(self, key: str) -> Array:
        """Which places of a label can be compared: all, or those of one model."""
        levels = self._levels[key]
        if not self._seen.is_by_model:
            return np.ones((len(levels), len(levels)))
        of = dict(zip(self._seen.columns[key], self._seen.models, strict=True))
        return np.asarray([[float(of[one] == of[two]) for two in levels] for one in levels])

    def widest(self, key: str) -> Range | None:
        """Return the largest difference between places.

        The interval holds for the largest one, whichever it is: that of each pair is widened
        (Bonferroni), and the largest of their ends are taken. None if it cannot be told.
        """
        alike = self._is_alike(key)
        pairs = [pair for pair in combinations(range(len(alike)), 2) if alike[pair]]
        if not pairs:
            return None
        rows = np.zeros((len(pairs), len(self._levels[key])))
        for row, (i, j) in zip(rows, pairs, strict=True):
            row[i], row[j] = 1.0, -1.0
        found = self._effects(key, rows, 1 - (1 - USUAL_LEVEL) / len(pairs))
        if found is None:
            return None
        sizes = [one.size for one in found]
        ends = max(0.0, *(one.low for one in sizes)), max(max(one.high, -one.low) for one in sizes)
        return Range.around(max(one.mid for one in sizes), ends, "drives")

    def _effects(self, key: str, weights: Array, level: float = USUAL_LEVEL) -> list[Range] | None:
        if not self.can_tell:
            return None
        found, told = self._sums(self._rows(key, weights))
        return found.ranges("drives", level) if told.all() else None

    def _rows(self, key: str, weights: Array) -> Array:
        """The weights of a label's places among those of all fixed effects."""
        parts = [
            weights if name == key else np.zeros((len(weights), len(levels)))
            for name, levels in self._levels.items()
        ]
        return np.hstack(parts)

    def drives(self) -> dict[str, Range] | None:
        """Return what each drive does against its model (best linear unbiased predictions).

        Without repeated runs, nothing tells the drive's own part of a deviation: the intervals
        then hold whatever that is. None if drives cannot be told from places.
        """
        if not self.knows_drives:
            return None
        left = self._of_drives[:, None] - self._by_drive @ self._solved.T
        spread = np.einsum(
            "dp,gpq,dq->dg", self._by_drive, self._laws.inverse, self._by_drive, optimize=True
        )
        if not self.has_repeats:
            reach = special.stdtrit(self._laws.df, tails(USUAL_LEVEL)[1]) * self._laws.noise
            own = _SHARES * left
            ends = reach * np.sqrt(_SHARES * (1 - _SHARES) + _SHARES**2 * spread)
            lows, highs = (own - ends).min(axis=1).tolist(), (own + ends).max(axis=1).tolist()
            whole = zip(self._drives, left[:, 0].tolist(), lows, highs, strict=True)
            return {name: Range.around(mid, (a, b), "drives") for name, mid, a, b in whole}
        shrink = self._shrink.T
        scale = np.sqrt(shrink + shrink**2 * spread) * self._laws.noise
        predicted = Mixture(shrink * left, scale, self._laws.weight, self._laws.df)
        return dict(zip(self._drives, predicted.ranges("drives"), strict=True))

    @property
    def knows_drives(self) -> bool:
        """Whether drives can be told from places."""
        return self.can_tell and self._has_random

    @cached_property
    def drive_sd(self) -> Range | None:
        """The standard deviation of drives of one model; with the noise, without repeated runs."""
        if not self.knows_drives:
            return None
        return self._deviation(np.sqrt(self._ratio) if self.has_repeats else np.ones(1), "drives")

    @cached_property
    def run_sd(self) -> Range | None:
        """The standard deviation of repeated runs; None if nothing was repeated."""
        return self._deviation(np.ones(len(self._ratio)), "runs") if self.has_repeats else None

    def _deviation(self, factor: Array, of: Covers) -> Range:
        low, high = tails(USUAL_LEVEL)
        low, mid, high = (self._deviation_quantile(factor, share) for share in (low, 0.5, high))
        return Range(low, mid, high, of)

    def _deviation_quantile(self, factor: Array, share: float) -> float:
        """The quantile of factor x noise, whose square is left / chi-square given the ratio."""
        low, high = -40.0, 40.0
        for _ in range(60):
            middle = (low + high) / 2
            over = self._laws.left * factor**2 / np.exp(2 * middle)
            below = float(special.chdtrc(self._laws.df, over) @ self._laws.weight)
            low, high = (middle, high) if below < share else (low, middle)
        return float(np.exp((low + high) / 2))

    def most_unlike(self, among: Collection[str]) -> str | None:
        """Return which of these drives deviates most from its model, for its leverage."""
        likeliest = int(np.argmax(self._laws.weight))
        left = self._of_drives - self._by_drive @ self._solved[likeliest]
        told = np.einsum(
            "dp,pq,dq->d", self._by_drive, self._laws.inverse[likeliest], self._by_drive
        )
        variance = self._runs + self._ratio[likeliest] * self._runs**2 - told
        # a drive alone in its place deviates from nothing
        score = np.where(variance > _ZERO, np.abs(left) / np.sqrt(np.maximum(variance, _ZERO)), 0)
        ranked = [self._drives[i] for i in np.argsort(-score) if score[i] > 0]
        return next((one for one in ranked if one in among), None)

    def shift(self, own: Observations) -> Mixture | None:
        """Return how far another drive of these models is from what these drives suggest.

        `own` are its runs, in places that these drives know. The law is that of a deviation over
        the spread of the others: the externally studentised one. None if they cannot tell.
        """
        if not self.knows_drives:
            return None
        columns = {"model": own.models, **own.columns}
        if any(set(column) - set(self._levels[key]) for key, column in columns.items()):
            return None
        row = np.hstack([dummies(column, self._levels[key]) for key, column in columns.items()])
        expected, told = self._sums(row.mean(axis=0, keepdims=True))
        if not told.all():
            return None
        runs = len(own.values)
        own_variance = (self._ratio + 1 / runs) * self._laws.noise**2
        scale = np.sqrt(expected.scale**2 + own_variance)
        return Mixture(np.mean(own.values) - expected.at, scale, self._laws.weight, self._laws.df)
