"""Which recordings the published figures need, each made once however many figures use it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from heatsoak.catalog import CELL_METRICS, Measured, PublishedFigure, PugetCell, published
from heatsoak.errors import UsageError, suggestion

#: What measures a cell of Puget's matrix: the protocol, and the steps that its table summarises.
CELL_DRIVE = "samsung-950-pro-512"
CELL_PROTOCOL = "puget"
CELL_STEPS = ("sequential-read", "sequential-write")


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
    figure: PublishedFigure | PugetCell
    measured: Measured | None
    jobs: tuple[Job, ...] = ()
    against: tuple[Job, ...] = ()

    @property
    def drives(self) -> tuple[str, ...]:
        """The ids of its drives."""
        return (CELL_DRIVE,) if isinstance(self.figure, PugetCell) else self.figure.drives


def questions(drive: str | None = None, prefix: str | None = None) -> list[Question]:
    """Return every published figure, or those of `drive` whose ids start with `prefix`.

    Raises UsageError if no figure is left, naming the nearest match.
    """
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


def _of_figure(figure: PublishedFigure) -> Question:
    how = figure.measured
    if how is None:
        return Question(figure.id, figure, None)
    drives = how.drives or figure.drives or (CELL_DRIVE,)
    return Question(
        figure.id,
        figure,
        how,
        _product(how, drives, how.places),
        _product(how, how.against_drives or drives, how.against_places),
    )


def _product(how: Measured, drives: Sequence[str], places: Sequence[str]) -> tuple[Job, ...]:
    return tuple(
        Job(protocol, drive, place, how.only)
        for protocol in how.protocols
        for drive in drives
        for place in places
    )
