"""The values of one measure, with the drive and the places of each."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np
from scipy import special

from heatsoak.analysis.series import Array

#: Smaller singular values are nothing.
_ZERO = 1e-9


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


def dummies(column: Sequence[str], levels: Sequence[str]) -> Array:
    """Return a row for each entry, with 1 in the column of its level."""
    return np.asarray([[float(one == level) for level in levels] for one in column])
