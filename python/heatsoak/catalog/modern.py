"""Figures of drives of 2015 to 2026, most of which the catalog does not have: an outside test."""

from functools import cache
from typing import Literal

from pydantic import Field

from heatsoak.catalog.loader import read_catalog
from heatsoak.catalog.published import FigureRole, RangeOrStatement
from heatsoak.catalog.specs import Strict
from heatsoak.toml import validated


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
