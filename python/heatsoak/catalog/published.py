"""Figures published in articles, to compare the simulated drives with.

Those of ``modern.toml``, of drives of 2015 to 2026 that the catalog mostly does not have, are an
outside test.
"""

from functools import cache
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from heatsoak.catalog.loader import read_catalog
from heatsoak.catalog.specs import Strict
from heatsoak.toml import validated

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
        most, share = self.tolerance.onset_s, self.tolerance.onset_share
        return low - min(most, share * low), high + min(most, share * high)

    @property
    def depth_limits_pct(self) -> Range:
        """The published range widened by its tolerance."""
        low, high = self.depth_pct
        return low - self.tolerance.depth_pct, high + self.tolerance.depth_pct

    def onset_holds(self, onset_s: float) -> bool:
        """Whether an onset counts as reproduced."""
        return self.onset_limits_s[0] <= onset_s <= self.onset_limits_s[1]

    def depth_holds(self, depth_pct: float) -> bool:
        """Whether a depth counts as reproduced."""
        return self.depth_limits_pct[0] <= depth_pct <= self.depth_limits_pct[1]


class FigureMeasurement(Strict):
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
        id: its name in the output of ``heatsoak lab reproduce``.
        range: as published; both ends are the same for a single number.
        holds: for a statement, whether it is true.
        note: what the number means.
        measured: how it is measured on simulated drives; None if it cannot be.
    """

    id: str
    range: Range | None = None
    holds: bool | None = None
    note: str = ""
    measured: FigureMeasurement | None = None

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
        why_not_counted: ``protocol``, a constant of the method, or ``assumed``.
    """

    article: str
    drives: tuple[str, ...] = ()
    tolerance: float = Field(0, ge=0)
    baseline: float | None = None
    compared: float | None = None
    conditions: dict[str, str | int | list[str]] = Field(default_factory=dict)
    why_not_counted: Literal["protocol", "assumed"] | None = None

    @property
    def counted(self) -> bool:
        """Whether it counts among the reproduced figures."""
        return self.why_not_counted is None

    @property
    def metric(self) -> str:
        """What is measured, with the unit last: the id without its subject."""
        return self.id.partition(".")[2]

    def holds_for(self, value: float) -> bool:
        """Whether `value` counts as reproduced."""
        return self.is_within(value, self.tolerance)


class Published(Strict):
    """All published figures."""

    articles: dict[str, Article]
    cells: tuple[PugetCell, ...]
    figures: tuple[PublishedFigure, ...]

    def figure(self, figure_id: str) -> PublishedFigure:
        """Return the single figure with an id; raises KeyError for an unknown one."""
        return {figure.id: figure for figure in self.figures}[figure_id]


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
    """Return which figures the catalog's calibration used."""
    return Roles.model_validate(read_catalog("calibration.toml"))


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
    wanted = (slot, gpus, gpu_load)
    return next((c for c in published().cells if (c.slot, c.gpus, c.gpu_load) == wanted), None)


class Allowance(Strict):
    """How far a reproduced figure may be outside each end of the range.

    Attributes:
        share: of the middle of the range.
        at_least: in the figure's unit; the allowance is never less.
    """

    share: float = Field(0, ge=0, le=1)
    at_least: float = Field(0, ge=0)


class ModernFigure(RangeOrStatement):
    """A figure of a drive that may not be in the catalog, as words describe both.

    Attributes:
        drive: the model, in words.
        drive_id: its id in the catalog; None if the catalog does not have it.
        conditions: how it was measured, in words.
        metric: what was measured, with the unit last.
        grade: ``A``, a number printed for defined conditions; ``B``, a bound or an approximate
            value; ``C``, from a maker or second-hand.
        known: whether it was known when the catalog was built, or one of its numbers comes from
            the figure.
        fitted: whether a number of its drive or place is fitted to it.
        allowed: what may be missing from the range.
        source: where it was published.
    """

    drive: str = Field(min_length=1)
    drive_id: str | None = None
    conditions: str = Field(min_length=1)
    metric: str = Field(min_length=1)
    grade: Literal["A", "B", "C"]
    known: bool
    fitted: bool = False
    allowed: Allowance = Field(Allowance(), alias="tolerance")
    source: str = Field(min_length=1)

    @property
    def role(self) -> FigureRole:
        """Whether it can be a prediction."""
        if self.fitted:
            return "fitted"
        return "known" if self.known else "predicted"

    @property
    def tolerance(self) -> float:
        """What is added to each end of the range, in the figure's unit."""
        middle = sum(self.interval) / 2
        return max(self.allowed.share * abs(middle), self.allowed.at_least)

    def holds_for(self, value: float) -> bool:
        """Whether `value` counts as reproduced."""
        return self.is_within(value, self.tolerance)


class _ModernFigures(Strict):
    figure: tuple[ModernFigure, ...]


@cache
def modern_figures() -> tuple[ModernFigure, ...]:
    """Return the figures of ``modern.toml``, in its order."""
    name = "modern.toml"
    return validated(_ModernFigures, read_catalog(name), name).figure
