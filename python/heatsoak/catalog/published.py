"""Figures published in articles, to compare the simulated drives with."""

from functools import cache
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from heatsoak.catalog.loader import read_catalog
from heatsoak.catalog.specs import Strict
from heatsoak.errors import UsageError

Range = tuple[float, float]

#: The figures of one cell of a matrix, as the ends of their ids.
CELL_METRICS = ("onset_s", "depth_pct")

#: The steps that Puget's table summarises: a place's onset is the earlier, its depth the deeper.
PUGET_STEPS = ("sequential-read", "sequential-write")


class Article(Strict):
    """Where figures were published."""

    title: str
    publisher: str
    date: str
    author: str | None = None
    url: str | None = None


class Tolerance(Strict):
    """How far a reproduced figure may be outside each end of the published range.

    Attributes:
        onset_s: in seconds.
        onset_share: and at most this share of the published onset.
        depth_pct: in percentage points.
    """

    onset_s: float = Field(gt=0)
    onset_share: float = Field(gt=0, le=1)
    depth_pct: float = Field(gt=0)


class PugetCell(Strict):
    """One cell of Puget Systems' summary tables: a slot, its graphics cards, and their load."""

    article: str
    slot: Literal["bottom", "top", "upright", "underside"]
    gpus: int
    gpu_load: Literal["idle", "loaded"]
    onset_s: Range
    depth_pct: Range
    tolerance: Tolerance

    @property
    def id(self) -> str:
        """The first part of the ids of its figures."""
        return f"puget.{self.slot}.{self.gpus}gpu.{self.gpu_load}"

    @property
    def enclosure(self) -> str:
        """The simulated enclosure for it."""
        return f"puget-{self.slot}-{self.gpus}gpu-{self.gpu_load}"

    @property
    def onset_limits_s(self) -> Range:
        """The published range widened by its tolerance."""
        low, high = self.onset_s
        allowed = (self._onset_tolerance(low), self._onset_tolerance(high))
        return low - allowed[0], high + allowed[1]

    @property
    def depth_limits_pct(self) -> Range:
        """The published range widened by its tolerance."""
        low, high = self.depth_pct
        return low - self.tolerance.depth_pct, high + self.tolerance.depth_pct

    def onset_holds(self, onset_s: float) -> bool:
        """Whether an onset counts as reproduced."""
        low, high = self.onset_limits_s
        return low <= onset_s <= high

    def depth_holds(self, depth_pct: float) -> bool:
        """Whether a depth counts as reproduced."""
        low, high = self.depth_limits_pct
        return low <= depth_pct <= high

    def _onset_tolerance(self, figure_s: float) -> float:
        return min(self.tolerance.onset_s, self.tolerance.onset_share * figure_s)


class Measured(Strict):
    """How a figure is measured on simulated drives.

    Attributes:
        by: the measure, a function in :mod:`heatsoak.reproduce.measures`.
        protocols: the protocols to run.
        places: the enclosures to run them in.
        drives: the drives to run them on; empty for the drives that the figure is about.
        steps: the steps to evaluate; empty for the whole recording.
        at: those of the steps that the figure is about.
        scores: names of the protocols' scores, if the figure is made from them.
        only: the only step to run, with what precedes it since the last purge; empty runs all.
        against_places: the enclosures of the recordings to compare with.
        against_drives: the drives of those recordings; empty for the same drives.
    """

    by: str
    protocols: tuple[str, ...] = Field(min_length=1)
    places: tuple[str, ...] = Field(min_length=1)
    drives: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    at: tuple[str, ...] = ()
    scores: tuple[str, ...] = ()
    only: str = ""
    against_places: tuple[str, ...] = ()
    against_drives: tuple[str, ...] = ()


class RangeOrStatement(Strict):
    """What was printed: a number, a range, or a statement that is true or false.

    Attributes:
        id: its name in the output of ``heatsoak reproduce``.
        range: as published; both ends are the same for a single number.
        holds: for a statement, whether it is true.
        note: what the number means.
        measured: how it is measured on simulated drives; None if it cannot be.
    """

    id: str
    range: Range | None = None
    holds: bool | None = None
    note: str = ""
    measured: Measured | None = None

    @property
    def interval(self) -> Range:
        """The range as published; for a statement, both ends are 1 if it is true, else 0."""
        if self.range is not None:
            return self.range
        return (1.0, 1.0) if self.holds else (0.0, 0.0)

    def is_within(self, value: float, tolerance: float) -> bool:
        """Whether `value` is in the range with `tolerance` added to each end."""
        low, high = self.interval
        return low - tolerance <= value <= high + tolerance

    @model_validator(mode="after")
    def _check_interval(self) -> Self:
        if (self.range is None) == (self.holds is None):
            raise ValueError(f"{self.id}: give either range or holds")
        if self.interval[0] > self.interval[1]:
            raise ValueError(f"{self.id}: range must be the lower and then the upper end")
        return self


class PublishedFigure(RangeOrStatement):
    """A single figure, a comparison, or a statement about drives of the catalog.

    Attributes:
        article: the key of the article that published it.
        drives: the ids of the drives that it is about; empty for a constant of the method.
        tolerance: added to each end of the range.
        baseline: for a comparison, the value with a heatsink.
        compared: for a comparison, the value without; `range` is then the published change in
            percent, negative if worse.
        conditions: the conditions of the measurement.
        counted: whether it counts among the reproduced figures.
        why_not_counted: ``protocol``, a constant of the method, or ``assumed``.
    """

    article: str
    drives: tuple[str, ...] = ()
    tolerance: float = Field(0, ge=0)
    baseline: float | None = None
    compared: float | None = None
    conditions: dict[str, str | int | list[str]] = Field(default_factory=dict)
    counted: bool = True
    why_not_counted: Literal["protocol", "assumed"] | None = None

    @property
    def metric(self) -> str:
        """What is measured, with the unit last: the id without its subject."""
        return self.id.partition(".")[2]

    def holds_for(self, value: float) -> bool:
        """Whether `value` counts as reproduced."""
        return self.is_within(value, self.tolerance)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.counted == (self.why_not_counted is not None):
            raise ValueError(f"{self.id}: why_not_counted goes with counted = false")
        return self


class Published(Strict):
    """All published figures."""

    articles: dict[str, Article]
    cells: tuple[PugetCell, ...]
    figures: tuple[PublishedFigure, ...]

    @model_validator(mode="after")
    def _check(self) -> Self:
        named = [(cell.id, cell.article) for cell in self.cells]
        named += [(figure.id, figure.article) for figure in self.figures]
        for entry, article in named:
            if article not in self.articles:
                raise ValueError(f"{entry}: there is no article '{article}'")
        return self

    def figure(self, figure_id: str) -> PublishedFigure:
        """Return the single figure with an id; raises KeyError for an unknown one."""
        for figure in self.figures:
            if figure.id == figure_id:
                return figure
        raise KeyError(figure_id)


FigureRole = Literal["fitted", "held-out", "known", "predicted"]


class Roles(Strict):
    """Which published figures the numbers of the catalog were fitted to.

    Attributes:
        fitted: ids of figures, or of cells for all figures of each.
        held_out: those that were withheld from the fit.
    """

    fitted: tuple[str, ...] = ()
    held_out: tuple[str, ...] = ()

    def of(self, figure_id: str) -> FigureRole:
        """Return the role of a figure; ``predicted`` if no fit has seen it."""
        if _is_among(figure_id, self.held_out):
            return "held-out"
        return "fitted" if _is_among(figure_id, self.fitted) else "predicted"


def _is_among(figure_id: str, ids: tuple[str, ...]) -> bool:
    return any(figure_id == entry or figure_id.startswith(f"{entry}.") for entry in ids)


def figure_ids() -> list[str]:
    """Return the ids of all published figures, two per cell, in the order of the file."""
    figures = published()
    ids = [f"{cell.id}.{metric}" for cell in figures.cells for metric in CELL_METRICS]
    return ids + [figure.id for figure in figures.figures]


@cache
def roles() -> Roles:
    """Return which figures the catalog's calibration used.

    Raises UsageError if its file names an unknown figure.
    """
    found = Roles.model_validate(read_catalog("calibration.toml"))
    known = figure_ids()
    for entry in (*found.fitted, *found.held_out):
        if not any(_is_among(name, (entry,)) for name in known):
            raise UsageError(f"calibration.toml: there is no figure '{entry}'")
    return found


@cache
def published() -> Published:
    """Return all published figures."""
    data = read_catalog("published.toml")
    tolerance = data.pop("puget_tolerance")
    cells = [{**cell, "tolerance": tolerance} for cell in data.pop("puget")]
    return Published.model_validate(
        {"articles": data["article"], "cells": cells, "figures": data["figure"]}
    )


def puget_cell(slot: Any, gpus: Any, gpu_load: Any) -> PugetCell | None:
    """Return the published figures of a cell of the Puget matrix, or None for any other."""
    for cell in published().cells:
        if (cell.slot, cell.gpus, cell.gpu_load) == (slot, gpus, gpu_load):
            return cell
    return None
