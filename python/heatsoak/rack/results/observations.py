"""The values of one measure, with the drive and the places of each."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np

from heatsoak.analysis.series import Array


@dataclass(frozen=True)
class Observations:
    """The values of one measure: all of these have one entry for each run.

    Attributes:
        places: the place by the name of each label.
        resolution: no value is known better than this.
    """

    values: Sequence[float]
    models: Sequence[str]
    drives: Sequence[str]
    places: Mapping[str, Sequence[str]]
    resolution: float

    def without(self, drives: Collection[str]) -> "Observations":
        """Return those of all other drives."""
        return self._kept([one not in drives for one in self.drives])

    def only(self, drive: str) -> "Observations":
        """Return those of one drive."""
        return self._kept([one == drive for one in self.drives])

    def by_model(self) -> "Observations":
        """Return those with each model's places apart: a place may slow one model alone."""
        named = {
            label: [f"{model} in {place}" for model, place in zip(self.models, column, strict=True)]
            for label, column in self.places.items()
        }
        return replace(self, places=named)

    @property
    def min_drives_per_place(self) -> int:
        """The smallest number of drives of one model in any place."""
        by_place = [
            drives
            for label in self.by_model().places.values()
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
