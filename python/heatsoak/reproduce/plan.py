"""Which recordings the published figures need, each made once however many figures use it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from heatsoak.catalog import (
    CELL_METRICS,
    Measured,
    ModernFigure,
    PublishedFigure,
    PugetCell,
    modern_figures,
    published,
)
from heatsoak.errors import UsageError, suggestion

#: What measures a cell of Puget's matrix: the protocol, and the steps that its table summarises.
CELL_DRIVE = "samsung-950-pro-512"
CELL_PROTOCOL = "puget"
CELL_STEPS = ("sequential-read", "sequential-write")


class FigureSet(StrEnum):
    """Which figures are asked for: those that the catalog was built with, or an outside test."""

    PUBLISHED = "published"
    MODERN = "modern"


@dataclass(frozen=True, order=True)
class Job:
    """A recording to make: a drive in a place, and what runs on it.

    Attributes:
        only: the step that is run, with what precedes it since the last purge; empty runs all.
    """

    protocol: str
    drive: str
    place: str
    only: str = ""

    @property
    def name(self) -> str:
        """Its recording's directory, relative to that of all recordings."""
        runs = f"{self.protocol}-{self.only}" if self.only else self.protocol
        return f"{runs}/{self.drive}@{self.place}"


@dataclass(frozen=True)
class Question:
    """One published figure, and what measuring it takes.

    Attributes:
        id: the figure's id, as ``heatsoak reproduce`` prints it.
        figure: the single figure, or the cell that it is a figure of.
        measured: how it is measured; None if nothing can be run for it.
        jobs: the recordings that it is measured in.
        against: the recordings that those are compared with.
    """

    id: str
    figure: PublishedFigure | PugetCell | ModernFigure
    measured: Measured | None
    jobs: tuple[Job, ...] = ()
    against: tuple[Job, ...] = ()

    @property
    def drives(self) -> tuple[str, ...]:
        """The ids of its drives."""
        match self.figure:
            case PugetCell():
                return (CELL_DRIVE,)
            case ModernFigure(drive_id=drive_id):
                return () if drive_id is None else (drive_id,)
            case PublishedFigure(drives=drives):
                return drives


def questions(
    drive: str | None = None,
    prefix: str | None = None,
    figure_set: FigureSet = FigureSet.PUBLISHED,
) -> list[Question]:
    """Return every figure of a set, or those of `drive` whose ids start with `prefix`.

    Modern figures are those of drives that the catalog has. Raises UsageError if no figure is
    left, naming the nearest match.
    """
    if figure_set is FigureSet.MODERN:
        found = [_of_figure(figure) for figure in modern_figures() if figure.drive_id is not None]
    else:
        found = [question for cell in published().cells for question in _of_cell(cell)]
        found += [_of_figure(figure) for figure in published().figures]
    if drive is not None:
        known = dict.fromkeys(name for question in found for name in question.drives)
        if drive not in known:
            raise UsageError(
                f"no figure was published of a drive '{drive}'{suggestion(drive, known)}: "
                f"there are {', '.join(known)}"
            )
        found = [question for question in found if drive in question.drives]
    if prefix is not None:
        ids = [question.id for question in found]
        found = [question for question in found if question.id.startswith(prefix)]
        if not found:
            of = "" if drive is None else f" of {drive}"
            if figure_set is FigureSet.MODERN:
                of = of or " of a drive in the catalog"
            raise UsageError(
                f"no published figure{of} has an id that starts with '{prefix}'"
                f"{suggestion(prefix, ids)}: they start with "
                f"{', '.join(dict.fromkeys(name.partition('.')[0] for name in ids))}"
            )
    return found


def jobs_of(asked: Iterable[Question]) -> list[Job]:
    """Return the recordings that these figures need, each once."""
    return sorted({job for question in asked for job in (*question.jobs, *question.against)})


def _of_cell(cell: PugetCell) -> list[Question]:
    measured = [
        Measured(
            by=f"cell_{metric}",
            protocols=(CELL_PROTOCOL,),
            places=(cell.enclosure,),
            steps=CELL_STEPS,
        )
        for metric in CELL_METRICS
    ]
    jobs = (Job(CELL_PROTOCOL, CELL_DRIVE, cell.enclosure),)
    return [
        Question(f"{cell.id}.{metric}", cell, how, jobs)
        for metric, how in zip(CELL_METRICS, measured, strict=True)
    ]


def _of_figure(figure: PublishedFigure | ModernFigure) -> Question:
    asked = Question(figure.id, figure, figure.measured)
    how = asked.measured
    if how is None:
        return asked
    drives = how.drives or asked.drives or (CELL_DRIVE,)
    return replace(
        asked,
        jobs=_product(how, drives, how.places),
        against=_product(how, how.against_drives or drives, how.against_places),
    )


def _product(how: Measured, drives: Sequence[str], places: Sequence[str]) -> tuple[Job, ...]:
    return tuple(
        Job(protocol, drive, place, how.only)
        for protocol in how.protocols
        for drive in drives
        for place in places
    )
