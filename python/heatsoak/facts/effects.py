"""The mixed model: what places, drives and repeated runs do to a measure.

    value = mean of the model + effect of each place + effect of the drive + noise of the run

Places (slot, host, ..., or a comparison's groups and other conditions) have fixed effects, the same
for all models or, where they are not, those of each model; the effects of drives are random with
one variance for all models, as is the noise.

A rack often has 3 to 8 drives of a model, whose effects may be next to nothing. There the
estimates of statsmodels' MixedLM end on the edge of what is possible, its covariances are singular,
and its intervals are those of a normal law with known variances: too narrow. Here only one number
is unknown besides what has a solution in closed form: the ratio of the two variances. Given that
ratio, effects follow Student's law exactly; its degrees of freedom are runs less fixed effects.
The restricted likelihood (Patterson and Thompson 1971) is not maximised over the ratio but
averaged, with the prior of Tiao and Tan (1965): flat in the logarithms of the noise's variance and
of that of a drive's mean, which for balanced racks gives the intervals of an analysis of variance.
So a variance of zero is a value like others, and nothing can fail to converge.

`Design`, `solved`, `Laws` and `Mixture` are for any linear model of which one number more is
unknown than has a solution in closed form: how much drives vary beside their runs, or how alike
neighbouring days are. Given that number, all sums of unknowns follow Student's law; so they are
averaged over it, by how likely each of its values is.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress

import numpy as np
import scipy
from numpy.typing import NDArray

from heatsoak.analysis.series import Array
from heatsoak.ranges import USUAL_LEVEL, Covers, Range, tails

#: The ratio of a drive's variance to the noise's, of a mean of runs: all that is ever seen.
_RATIOS = np.geomspace(1e-5, 1e9, 160)
#: The ratio of the variances of two groups' runs, each as likely beforehand.
_UNEVEN = np.geomspace(1 / 400, 400, 41)
#: A quantile is found by halving: this often.
_HALVINGS = 30
_DRIVE = "drive of its model"
#: The number of the level of each entry, from 0.
_Codes = NDArray[np.intp]
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
        return np.asarray(scipy.special.stdtr(self.df, z) @ self.weight)

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
        reach = np.abs(scipy.special.stdtrit(self.df, np.reshape(share, (-1, 1)))) * self.scale
        low, high = (self.at - reach).min(axis=1), (self.at + reach).max(axis=1)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            is_below = self.below(middle) < share
            low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
        return np.asarray((low + high) / 2)


def _coded(column: Sequence[str]) -> tuple[list[str], _Codes]:
    """The levels of a column, and the number of each entry's."""
    levels, codes = np.unique(np.asarray(column), return_inverse=True)
    return levels.tolist(), codes


def _decides(inner: _Codes, other: _Codes) -> bool:
    """Whether all entries of one level of a column are of one level of the other, too."""
    first = np.unique(inner, return_index=True)[1]
    return bool((other == other[first][inner]).all())


def _sums(codes: _Codes, values: Array, count: int) -> Array:
    """The sum of the rows (n, p) of each of so many levels."""
    columns = (np.bincount(codes, column, count) for column in values.T)
    return np.array([*columns]).reshape(values.shape[1], count).T


def _means(codes: _Codes, values: Array) -> Array:
    """The mean of each level's rows."""
    runs = np.bincount(codes)
    return _sums(codes, values, len(runs)) / runs[:, None]


class Design:
    """What columns (n, p) tell of their unknowns, of which some may make up for others.

    Attributes:
        basis: orthonormal, (n, rank): the columns times their `whitening`, (p, rank).
        width: how many unknowns there are.
    """

    def __init__(self, columns: Array) -> None:
        axes, sizes, rows = np.linalg.svd(columns, full_matrices=False)
        self.width = columns.shape[1]
        kept = sizes > _ZERO * sizes.max(initial=0.0)
        self.basis, self._rows = axes[:, kept], rows[kept]
        self.whitening = (self._rows / sizes[kept, None]).T

    @property
    def rank(self) -> int:
        """How many unknowns can be told."""
        return len(self._rows)

    def tells(self, sums: Array) -> NDArray[np.bool_]:
        """Return which sums of unknowns, a row of weights each, can be told."""
        missing = np.abs(sums - sums @ self._rows.T @ self._rows).max(axis=1, initial=0.0)
        size = np.abs(sums).max(axis=1, initial=1.0)
        return np.asarray(missing < _NO_PART * size)

    def along(self, sums: Array) -> Array:
        """Return the weights of the same sums for what is fitted to the basis."""
        return np.asarray(sums @ self.whitening)


@dataclass(frozen=True)
class Laws:
    """Unknowns that are fitted under several laws of the noise, an entry each.

    Attributes:
        at: their values, (laws, k).
        inverse: their covariance in units of the noise's variance, (laws, k, k).
        left: the square of what they leave, with `df` degrees of freedom.
        likely: the logarithm of how likely each law is, up to a constant.
    """

    at: Array
    inverse: Array
    left: Array
    likely: Array
    df: int

    @cached_property
    def weight(self) -> Array:
        """How likely each law is, 1 in all."""
        weight = np.exp(self.likely - self.likely.max())
        return np.asarray(weight / weight.sum())

    @property
    def noise(self) -> Array:
        """The noise's standard deviation under each law."""
        return np.sqrt(self.left / self.df)

    def sums(self, weights: Array, at: Array | float = 0.0, spread: Array | float = 0.0) -> Mixture:
        """Return sums of the unknowns, a row of weights each: for all laws, or (laws, k, p).

        `at` and `spread` (laws, k) are what is added, and its variance in the noise's.
        """
        at = at + (weights @ self.at[:, :, None])[:, :, 0]
        variance = spread + ((weights @ self.inverse) * weights).sum(axis=2)
        scale = np.sqrt(np.maximum(variance, 1e-12)) * self.noise[:, None]
        return Mixture(at.T, np.maximum(scale, 1e-12).T, self.weight, self.df)

    def draws(
        self, weights: Array, at: Array, spread: Array, count: int, rng: np.random.Generator
    ) -> Array:
        """Return values that sums might equally have, (count, sums).

        As in `sums`, for (laws, k, p); `spread` are also the covariances, (laws, k, k).
        """
        law = rng.choice(len(self.weight), size=count, p=self.weight)
        at = at + (weights @ self.at[:, :, None])[:, :, 0]
        covariance = spread + weights @ self.inverse @ weights.transpose(0, 2, 1)
        axes, sizes, _ = np.linalg.svd(covariance)
        roots = axes * np.sqrt(sizes)[:, None, :] * self.noise[:, None, None]
        normal = rng.standard_normal((count, weights.shape[1]))
        normal *= np.sqrt(self.df / rng.chisquare(self.df, count))[:, None]
        return np.asarray(at[law] + np.einsum("ncd,nd->nc", roots[law], normal))


def solved(sums: Array, likely: Array, df: int, least: float) -> Laws:
    """Return the unknowns that sums of squares and products tell, (laws, k + 1, k + 1).

    The last row and column are the values'. `likely` is the logarithm of how likely each law is
    beforehand, with its noise; here it becomes that of their restricted likelihood. `least` is the
    smallest square that is taken to be left.
    """
    columns, right = sums[:, :-1, :-1], sums[:, :-1, -1]
    inverse = np.linalg.inv(columns).astype(float)
    at = np.einsum("lpq,lq->lp", inverse, right)
    left = np.maximum(sums[:, -1, -1] - (at * right).sum(axis=1), 0.0) + least
    likely = likely - 0.5 * (np.linalg.slogdet(columns)[1] + df * np.log(left))
    return Laws(at, inverse, left, likely, df)


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


@dataclass(frozen=True)
class Observations:
    """The values of one measure: all of these have one entry for each run.

    Attributes:
        places: the place by the name of each label.
        resolution: no value is known better than this.
        is_by_model: whether places are those of each model, since one slows some models alone.
        uneven: which runs may vary more, or less, than the others, where drives take no part.
    """

    values: Sequence[float]
    models: Sequence[str]
    drives: Sequence[str]
    places: Mapping[str, Sequence[str]]
    resolution: float
    is_by_model: bool = False
    uneven: Sequence[bool] = ()

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

    @property
    def factors(self) -> Mapping[str, Sequence[str]]:
        """What may tell values apart besides drives: that they have a mean, models and places."""
        return {"": [""] * len(self.models), "model": self.models, **self.columns}

    def by_model(self, *, apart: bool = True) -> "Observations":
        """Return those with each model's places apart: a place may slow one model alone."""
        return replace(self, is_by_model=apart)

    @property
    def interplay(self) -> float:
        """How likely places differ as much from model to model by chance: Fisher's F.

        Of the means of each drive in each place, with drives as they are where they moved.
        """
        cells: dict[tuple[str, ...], list[float]] = {}
        columns = self.models, self.drives, *self.places.values()
        for value, *cell in zip(self.values, *columns, strict=True):
            cells.setdefault(tuple(cell), []).append(value)
        models, drives, *places = zip(*cells, strict=True)
        means = [float(np.mean(of)) for of in cells.values()]
        of_labels = dict(zip(self.places, places, strict=True))
        one = replace(self, values=means, models=models, drives=drives, places=of_labels)
        moved = len(cells) > len(set(drives))
        less, more = (each.unexplained(by_drive=moved) for each in (one, one.by_model()))
        less_df, more_df = (round(float(free.sum())) for _, free in (less, more))
        if more_df < 1 or less_df <= more_df:
            return 1.0
        noise = float(more[0].sum()) / more_df + self.resolution**2
        gained = max(float(less[0].sum() - more[0].sum()), 0.0) / (less_df - more_df)
        return float(scipy.special.fdtrc(less_df - more_df, more_df, gained / noise))

    def unexplained(self, *, by_drive: bool) -> tuple[Array, Array]:
        """What models and places, or drives and places, leave of each value: its square.

        And how much of that the value itself decides: a degree of freedom or less.
        """
        codes = {key: _coded(column)[1] for key, column in self.factors.items()}
        codes |= {_DRIVE: _coded(self.drives)[1]} if by_drive else {}
        columns = _Columns(codes, max(codes, key=lambda key: int(codes[key].max())))
        values, basis = np.asarray(self.values, dtype=float), columns.design.basis
        left = values - _means(columns.codes, values[:, None])[columns.codes, 0]
        left -= basis @ (basis.T @ left)
        count = np.bincount(columns.codes)[columns.codes]
        return left**2, 1 - 1 / count - (basis**2).sum(axis=1)

    @property
    def min_drives_per_place(self) -> int:
        """The smallest number of drives of one model in any place."""
        pairs = (
            set(zip(one, self.drives, strict=True)) for one in self.by_model().columns.values()
        )
        counts = (count for of in pairs for count in Counter(place for place, _ in of).values())
        return min(counts, default=len(set(self.drives)))

    def _kept(self, kept: Sequence[bool]) -> "Observations":
        return replace(
            self,
            values=list(compress(self.values, kept)),
            models=list(compress(self.models, kept)),
            drives=list(compress(self.drives, kept)),
            places={name: list(compress(of, kept)) for name, of in self.places.items()},
            uneven=list(compress(self.uneven, kept)),
        )


class _Columns:
    """What tells models and places apart: a column for each level, but of one factor, the `inner`.

    Given the rest, each level of that is a mean, so that a rack of many hosts costs no more than
    its runs. Factors that the inner one decides have no columns: nothing tells them from it.

    Attributes:
        rest: (runs, p), a 1 in the column of each level.
        means: of `rest` in each level of the inner factor.
        widths: how many levels each factor has.
    """

    def __init__(self, codes: Mapping[str, _Codes], inner: str) -> None:
        self.inner, self.codes = inner, codes[inner]
        self.widths = {key: int(of.max()) + 1 for key, of in codes.items()}
        first = np.unique(self.codes, return_index=True)[1]
        follow = [key for key in codes if key != inner and _decides(self.codes, codes[key])]
        self._follow = {key: codes[key][first] for key in follow}
        self._keys = [key for key in codes if key not in (inner, *follow)]
        parts = [np.eye(self.widths[key])[codes[key]] for key in self._keys]
        self.rest = np.hstack([np.zeros((len(self.codes), 0)), *parts])
        self.means = _means(self.codes, self.rest)
        self.design = Design(self.rest - self.means[self.codes])
        self.rank = len(self.means) + self.design.rank

    def rows(self, weights: Mapping[str, Array]) -> tuple[Array, Array]:
        """Return weights of factors' levels as those of the inner levels, and of `rest`."""
        count = len(next(iter(weights.values())))
        of = {key: np.zeros((count, width)) for key, width in self.widths.items()}
        of |= weights
        return of[self.inner], np.hstack([np.zeros((count, 0)), *(of[key] for key in self._keys)])

    def tells(self, weights: Mapping[str, Array]) -> bool:
        """Return whether all sums of factors' levels can be told."""
        inner, rest = self.rows(weights)
        for key in self._follow:
            due = inner @ np.eye(self.widths[key])[self._follow[key]]
            if np.abs(weights.get(key, 0.0) - due).max() > _NO_PART:
                return False
        return bool(self.design.tells(rest - inner @ self.means).all())


#: Two drives more than are needed to tell their places: a variance of fewer is not known at all.
_MIN_DRIVE_DF = 2
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
        coded = {key: _coded(column) for key, column in seen.factors.items()}
        self._levels = {key: levels for key, (levels, _) in coded.items()}
        codes = {key: of for key, (_, of) in coded.items()}
        self._drives, drive = _coded(seen.drives)
        inner = max(
            (key for key in codes if _decides(drive, codes[key])),
            key=lambda key: len(self._levels[key]),
        )
        self._fixed = _Columns(codes, inner)
        apart = _Columns(codes | {_DRIVE: drive}, _DRIVE)
        self.drive_df = apart.rank - self._fixed.rank
        self.run_df = len(drive) - apart.rank
        self._has_random = self.drive_df >= _MIN_DRIVE_DF
        self._runs = np.bincount(drive).astype(float)
        self.has_repeats = self.run_df > 0
        # a variance of drives that is not known takes no part: drives are compared with themselves
        self._columns = self._fixed if self._has_random else apart
        self.can_tell = self.has_repeats or (self._has_random and bool((self._runs == 1).all()))
        if self.can_tell:
            self._solve(drive)

    def is_apart(self, key: str) -> bool:
        """Whether the places of a label can be told from other labels and models, if not drives."""
        return self._fixed.tells({key: self._against_mean(key)})

    def _solve(self, unit: _Codes) -> None:
        """Fit to means of units: drives, or runs of which some are `uneven`."""
        values = np.asarray(self._seen.values, dtype=float)
        self._middle = float(values.mean())
        both = np.column_stack([self._columns.rest, values - self._middle])
        # units with as many runs count alike
        sizes, kind = np.unique(self._runs, return_inverse=True)
        ratio, likely = np.zeros(1), np.zeros(1)
        if self._has_random and self.has_repeats:
            mean_runs = len(self._runs) / float((1 / self._runs).sum())
            ratio = _RATIOS / mean_runs
            # flat in the logarithm of 1 + ratio x runs, by steps of the ratio's logarithm
            likely = np.log(ratio / (1 / mean_runs + ratio))
        variance = ratio[:, None] + 1 / sizes
        if self._seen.uneven and not self._has_random:
            unit, sizes = np.arange(len(values)), np.ones(2)
            kind, ratio = np.asarray(self._seen.uneven, dtype=np.intp), _UNEVEN
            variance, likely = np.stack([np.ones(len(ratio)), ratio], axis=1), np.zeros(len(ratio))
        self._means = _means(unit, both)
        both -= self._means[unit]
        self._level = self._columns.codes[np.unique(unit, return_index=True)[1]]
        weight, level_means, squares = self._by_level(kind, 1 / variance)
        white = self._columns.design.whitening
        basis = np.asarray(scipy.linalg.block_diag(white, np.ones((1, 1))))
        df = len(values) - self._columns.rank
        laws = solved(
            basis.T @ (squares + both.T @ both) @ basis,
            likely - 0.5 * (np.log(variance * sizes) @ np.bincount(kind) + np.log(weight).sum(1)),
            df,
            df * self._seen.resolution**2,
        )
        kept = laws.likely > laws.likely.max() + np.log(_UNLIKELY)
        self._ratio, self._weight, self._level_means = ratio[kept], weight[kept], level_means[kept]
        self._laws = Laws(
            laws.at[kept] @ white.T,
            white @ laws.inverse[kept] @ white.T,
            laws.left[kept],
            laws.likely[kept],
            df,
        )

    def _by_level(self, kind: _Codes, share: Array) -> tuple[Array, Array, Array]:
        """The weight of each inner level, its mean, and squares of units about it, by law.

        Units of a kind count by its `share` under each law, (laws, kinds).
        """
        kinds = [kind == one for one in range(share.shape[1])]
        of, level, count = self._means, self._level, len(self._columns.means)
        units = [np.bincount(level[one], minlength=count) for one in kinds]
        sums = [_sums(level[one], of[one], count) for one in kinds]
        products = [of[one].T @ of[one] for one in kinds]
        weight = share @ np.stack(units)
        means = np.tensordot(share, np.stack(sums), 1) / weight[:, :, None]
        about = (means * weight[:, :, None]).transpose(0, 2, 1) @ means
        return weight, means, np.tensordot(share, np.stack(products), 1) - about

    def _weigh(self, weights: Mapping[str, Array]) -> tuple[Array, Array, Array]:
        """Sums of factors' levels, a row of weights each, as `Laws.sums` takes them."""
        inner, rest = self._columns.rows(weights)
        means = inner @ self._level_means
        return rest - means[:, :, :-1], means[:, :, -1], (1 / self._weight) @ (inner**2).T

    def places(self, key: str) -> dict[str, Range] | None:
        """Return what each place does against the mean of all; None if that cannot be told.

        Where models have places of their own, the mean is that of the model's.
        """
        found = self.sums({key: self._against_mean(key)})
        if found is None:
            return None
        return dict(zip(self._levels[key], found.ranges("drives"), strict=True))

    def sums(self, weights: Mapping[str, Array]) -> Mixture | None:
        """Return sums of factors' levels, a row of weights each; None if they cannot be told."""
        if not (self.can_tell and self._columns.tells(weights)):
            return None
        return self._laws.sums(*self._weigh(weights))

    def means(self, key: str) -> Mixture | None:
        """Return each level's mean over all levels of the other factors, which count alike."""
        found = self.sums(self._in_all(key))
        return None if found is None else replace(found, at=found.at + self._middle)

    def draws(self, key: str, count: int, rng: np.random.Generator) -> Array:
        """Return what the same means, which can be told, might equally have been."""
        of = self._in_all(key)
        weights, at, _ = self._weigh(of)
        inner, _ = self._columns.rows(of)
        spread = (inner / self._weight[:, None]) @ inner.T
        return self._middle + self._laws.draws(weights, at, spread, count, rng)

    def _in_all(self, key: str) -> dict[str, Array]:
        widths = self._columns.widths
        alike = {one: np.full((widths[key], width), 1 / width) for one, width in widths.items()}
        return alike | {key: np.eye(widths[key])}

    def _against_mean(self, key: str) -> Array:
        alike = self._is_alike(key)
        return np.asarray(np.eye(len(alike)) - alike / alike.sum(axis=1, keepdims=True))

    def _is_alike(self, key: str) -> NDArray[np.bool_]:
        """Which places of a label can be compared: all, or those of one model."""
        of = dict(zip(self._seen.columns[key], self._seen.models, strict=True))
        models = np.asarray([of[one] for one in self._levels[key]])
        return np.asarray((models[:, None] == models) | (not self._seen.is_by_model))

    def widest(self, key: str) -> Range | None:
        """Return the largest difference between places.

        The interval holds for the largest one, whichever it is: that of each pair is widened
        (Bonferroni), and the largest of their ends are taken. None if it cannot be told.
        """
        alike = np.triu(self._is_alike(key), 1)
        count = int(alike.sum())
        if not (count and self.can_tell and self._columns.tells({key: self._against_mean(key)})):
            return None
        weights, at, spread = self._weigh({key: np.eye(len(alike))})
        shares = tails(1 - (1 - USUAL_LEVEL) / count)
        mid, ends = 0.0, dict.fromkeys(shares, 0.0)
        for one in range(len(alike)):
            other = np.nonzero(alike[one])[0]
            pairs = self._laws.sums(
                weights[:, [one]] - weights[:, other],
                at[:, [one]] - at[:, other],
                spread[:, [one]] + spread[:, other],
            )
            # the other way round, too
            pairs = replace(
                pairs, at=np.vstack([pairs.at, -pairs.at]), scale=np.tile(pairs.scale, (2, 1))
            )
            mid = float(pairs.middle.max(initial=mid))
            for share, end in ends.items():
                # none of the others can reach farther than this one does
                most = pairs.at + scipy.special.stdtrit(pairs.df, share) * pairs.scale
                far = most.max(axis=1) > end
                some = replace(pairs, at=pairs.at[far], scale=pairs.scale[far])
                ends[share] = float(some.quantile(share).max(initial=end))
        return Range.around(mid, (ends[shares[0]], ends[shares[1]]), "drives")

    def _expected(self) -> Mixture:
        """What models and places make of each drive's mean."""
        means = self._level_means[:, self._level]
        weights = self._means[:, :-1] - means[:, :, :-1]
        return self._laws.sums(weights, means[:, :, -1], 1 / self._weight[:, self._level])

    def drives(self) -> dict[str, Range] | None:
        """Return what each drive does against its model (best linear unbiased predictions).

        Without repeated runs, nothing tells the drive's own part of a deviation: the intervals
        then hold whatever that is. None if drives cannot be told from places.
        """
        if not self.knows_drives:
            return None
        expected, noise = self._expected(), self._laws.noise
        left = self._means[:, -1:] - expected.at
        if not self.has_repeats:
            own = _SHARES * left
            ends = scipy.special.stdtrit(self._laws.df, tails(USUAL_LEVEL)[1]) * np.hypot(
                noise * np.sqrt(_SHARES * (1 - _SHARES)), _SHARES * expected.scale
            )
            lows, highs = (own - ends).min(axis=1).tolist(), (own + ends).max(axis=1).tolist()
            whole = zip(self._drives, left[:, 0].tolist(), lows, highs, strict=True)
            return {name: Range.around(mid, (a, b), "drives") for name, mid, a, b in whole}
        runs = self._runs[:, None]
        shrink = self._ratio / (1 + self._ratio * runs)
        scale = np.hypot(np.sqrt(shrink) * noise, shrink * runs * expected.scale)
        predicted = replace(expected, at=shrink * runs * left, scale=scale)
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
        """The quantiles of factor x noise, whose square is left / chi-square given the ratio."""
        low, high = tails(USUAL_LEVEL)
        shares = np.array([low, 0.5, high])
        least, most = np.full(3, -40.0), np.full(3, 40.0)
        for _ in range(60):
            middle = (least + most) / 2
            over = self._laws.left * factor**2 / np.exp(2 * middle)[:, None]
            is_below = scipy.special.chdtrc(self._laws.df, over) @ self._laws.weight < shares
            least, most = np.where(is_below, middle, least), np.where(is_below, most, middle)
        low, mid, high = np.exp((least + most) / 2).tolist()
        return Range(low, mid, high, of)

    def most_unlike(self, among: Collection[str]) -> str | None:
        """Return which of these drives deviates most from its model, for its leverage."""
        likeliest, expected = int(np.argmax(self._laws.weight)), self._expected()
        left = np.abs(self._means[:, -1] - expected.at[:, likeliest])
        told = (expected.scale[:, likeliest] / self._laws.noise[likeliest]) ** 2
        whole = 1 / self._runs + self._ratio[likeliest]
        # a drive alone in its place deviates from nothing
        score = np.where(whole - told > _ZERO * whole, left, 0) / np.sqrt(
            np.maximum(whole - told, _ZERO * whole)
        )
        ranked = [self._drives[i] for i in np.argsort(-score) if score[i] > 0]
        return next((one for one in ranked if one in among), None)

    def shift(self, own: Observations) -> Mixture | None:
        """Return how far another drive of these models is from what these drives suggest.

        `own` are its runs, in places that these drives know. The law is that of a deviation over
        the spread of the others: the externally studentised one. None if they cannot tell.
        """
        if not self.knows_drives:
            return None
        weights = {}
        for key, column in own.factors.items():
            if not set(column) <= set(self._levels[key]):
                return None
            found = [self._levels[key].index(one) for one in column]
            weights[key] = np.eye(len(self._levels[key]))[found].mean(axis=0, keepdims=True)
        if (expected := self.sums(weights)) is None:
            return None
        own_variance = (self._ratio + 1 / len(own.values)) * self._laws.noise**2
        scale = np.sqrt(expected.scale**2 + own_variance)
        return replace(expected, at=np.mean(own.values) - self._middle - expected.at, scale=scale)
