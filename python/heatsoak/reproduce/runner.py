"""Which recordings the published figures need, and makes them: each once, two at a time, with the
bench's conductor like any other run.

A measure of a published figure takes a :class:`FigureInput` of them, and gives a number.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, partial
from pathlib import Path
from typing import TypeVar

from typing_extensions import override

from heatsoak import analysis, catalog, errors, protocol
from heatsoak.analysis.judge import judge
from heatsoak.analysis.view import RecordingView, StepView
from heatsoak.bench.conductor import conduct
from heatsoak.bench.fleet import Fleet
from heatsoak.bench.plan import typical_plan
from heatsoak.bench.progress import Observer
from heatsoak.bench.recorder import Latest
from heatsoak.facts import table
from heatsoak.output import Progress
from heatsoak.recording import Recording
from heatsoak.target.simulated import SimulatedTarget

#: What measures a cell of Puget's matrix: the protocol, and the steps that its table summarises.
CELL_DRIVE = "samsung-950-pro-512"
CELL_PROTOCOL = "puget"
CELL_STEPS = ("sequential-read", "sequential-write")


class FigureSet(StrEnum):
    """Which figures are asked for: those that the catalog was built with, or an outside test."""

    PUBLISHED = "published"
    MODERN = "modern"


@dataclass(frozen=True, order=True)
class PlannedRecording:
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
        id: the figure's id, as ``heatsoak lab reproduce`` prints it.
        figure: the single figure, or the cell that it is a figure of.
        measured: how it is measured; None if nothing can be run for it.
        jobs: the recordings that it is measured in.
        against: the recordings that those are compared with.
    """

    id: str
    figure: catalog.PublishedFigure | catalog.PugetCell | catalog.ModernFigure
    measured: catalog.FigureMeasurement | None
    jobs: tuple[PlannedRecording, ...] = ()
    against: tuple[PlannedRecording, ...] = ()

    @property
    def drives(self) -> tuple[str, ...]:
        """The ids of its drives."""
        match self.figure:
            case catalog.PugetCell():
                return (CELL_DRIVE,)
            case catalog.ModernFigure(drive_id=drive_id):
                return () if drive_id is None else (drive_id,)
            case catalog.PublishedFigure(drives=drives):
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
        found = [
            _of_figure(figure) for figure in catalog.modern_figures() if figure.drive_id is not None
        ]
    else:
        found = [question for cell in catalog.published().cells for question in _of_cell(cell)]
        found += [_of_figure(figure) for figure in catalog.published().figures]
    if drive is not None:
        known = dict.fromkeys(name for question in found for name in question.drives)
        if drive not in known:
            raise errors.UsageError(
                f"no figure was published of a drive '{drive}'{errors.suggestion(drive, known)}: "
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
            raise errors.UsageError(
                f"no published figure{of} has an id that starts with '{prefix}'"
                f"{errors.suggestion(prefix, ids)}: they start with "
                f"{', '.join(dict.fromkeys(name.partition('.')[0] for name in ids))}"
            )
    return found


def jobs_of(asked: Iterable[Question]) -> list[PlannedRecording]:
    """Return the recordings that these figures need, each once."""
    return sorted({job for question in asked for job in (*question.jobs, *question.against)})


def _of_cell(cell: catalog.PugetCell) -> list[Question]:
    measured = [
        catalog.FigureMeasurement(
            by=f"cell_{metric}",
            protocols=(CELL_PROTOCOL,),
            places=(cell.enclosure,),
            steps=CELL_STEPS,
        )
        for metric in catalog.CELL_METRICS
    ]
    jobs = (PlannedRecording(CELL_PROTOCOL, CELL_DRIVE, cell.enclosure),)
    return [
        Question(f"{cell.id}.{metric}", cell, how, jobs)
        for metric, how in zip(catalog.CELL_METRICS, measured, strict=True)
    ]


def _of_figure(figure: catalog.PublishedFigure | catalog.ModernFigure) -> Question:
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


def _product(
    how: catalog.FigureMeasurement, drives: Sequence[str], places: Sequence[str]
) -> tuple[PlannedRecording, ...]:
    return tuple(
        PlannedRecording(protocol, drive, place, how.only)
        for protocol in how.protocols
        for drive in drives
        for place in places
    )


_Found = TypeVar("_Found")


class NotMeasured(Exception):  # noqa: N818 -- an answer, not a fault
    """A figure could not be measured; the message says why, for the reader of the table."""


@dataclass(frozen=True)
class FinishedRun:
    """A finished recording, judged.

    The steps' series are read from disk when needed, and not kept: an hour of random writes is
    large, and there are dozens.
    """

    job: PlannedRecording
    recording: Recording
    findings: analysis.RecordingFindings

    def step(self, name: str) -> analysis.StepFindings:
        """Return what was found in a step; raises NotMeasured where there is none."""
        return self._named("step", name, ((one.step, one) for one in self.findings.steps))

    def row(self, name: str) -> table.Row:
        """Return the row of a step; raises NotMeasured where there is none."""
        return self._named("step", name, self._rows.items())

    def number(self, name: str, key: str, otherwise: str) -> float:
        """Return a number of a step's row; raises NotMeasured where it has none."""
        value: float | None = self.row(name).get(key)
        if value is None:
            raise NotMeasured(otherwise)
        return value

    @cached_property
    def _rows(self) -> dict[str, table.Row]:
        return table.rows_of(RecordingView(self.recording), self.findings)

    def score(self, name: str) -> analysis.ScoreFindings:
        """Return a score of the protocol; raises NotMeasured where there is none of that name."""
        return self._named("score", name, ((one.name, one) for one in self.findings.scores))

    def view(self, name: str) -> StepView:
        """Return the series of a step; raises NotMeasured where there is none."""
        views = RecordingView(self.recording).views
        return self._named("step", name, ((one.step.name, one) for one in views))

    def _named(self, what: str, name: str, among: Iterable[tuple[str, _Found]]) -> _Found:
        found = next((one for own, one in among if own == name), None)
        if found is None:
            raise NotMeasured(f"{self.job.name}: there is no {what} '{name}'")
        return found

    @cached_property
    def cell(self) -> tuple[object, object]:
        """Cards and load of a place of the matrix, which are the same in comparisons between
        slots."""
        conditions = self.recording.meta.conditions
        return conditions.get("gpus"), conditions.get("gpu_load")


@dataclass(frozen=True)
class FigureInput:
    """What a figure is measured from.

    Attributes:
        runs: the recordings that the figure is about.
        against: the recordings that they are compared with.
        steps: the steps that count.
        at: the steps that the figure singles out.
        published: both ends of the printed range.
        scores: the names of the scores that it uses.
    """

    runs: list[FinishedRun]
    against: list[FinishedRun]
    steps: tuple[str, ...]
    at: tuple[str, ...]
    published: tuple[float, float]
    scores: tuple[str, ...] = ()

    def pairs(self) -> Iterator[tuple[FinishedRun, FinishedRun]]:
        """Yield each run with those of `against` that ran the same in a similar place.

        Slots are compared with as many cards under the same load.
        """
        found = False
        for run in self.runs:
            for other in self.against:
                if (run.job.protocol, run.cell) == (other.job.protocol, other.cell):
                    found = True
                    yield run, other
        if not found:
            raise NotMeasured("no two recordings can be compared")

    def farthest(self, values: list[float]) -> float:
        """Return the value farthest from the printed range, since the figure is about all of
        them."""
        low, high = self.published
        return max(values, key=lambda value: max(low - value, value - high))


@dataclass(frozen=True)
class MeasuredFigure:
    """A measured number; if `why` is set, it does not hold, whatever the number."""

    value: float
    why: str | None = None


#: A number, or whether a statement holds.
Figure = float | MeasuredFigure


def only(runs: list[FinishedRun]) -> FinishedRun:
    """Return the single run of a figure that is about one."""
    (run,) = runs
    return run


def only_step(steps: tuple[str, ...]) -> str:
    """Return the single step of a figure that is about one."""
    (name,) = steps
    return name


#: The result of a job: the run, or why there is none.
RunOrReason = FinishedRun | str


def make_recordings(
    jobs: Sequence[PlannedRecording],
    directory: Path,
    *,
    seed: int = 0,
    drives: Mapping[str, catalog.Drive] | None = None,
    places: Mapping[str, catalog.Enclosure] | None = None,
    progress: Progress | None = None,
) -> dict[PlannedRecording, RunOrReason]:
    """Make the recordings of `jobs` below `directory`, and judge them.

    `drives` and `places` replace those of the catalog with the same ids. A drive or place that the
    catalog does not have, or that cannot be simulated, is a result, not an error. Raises
    RunInterrupted when the user stops it, ToolError where nothing can be written.
    """
    weights = {job: typical_plan(steps_of(job)).duration_s for job in jobs}
    shares = {job: _Share(weights[job]) for job in jobs}
    fleet = Fleet[RunOrReason]()
    # the longest first, so that no worker is busy alone at the end
    order = sorted(jobs, key=lambda job: -weights[job])

    def make(job: PlannedRecording) -> RunOrReason:
        shares[job].stop = fleet.stop
        outcome = _make(job, shares[job], directory, seed, drives or {}, places or {})
        shares[job].value = 1.0
        return outcome

    def tick(count: int) -> None:
        if progress is not None:
            part = sum(shares[job].value * weights[job] for job in jobs) / sum(weights.values())
            progress(part, f"{count} of {len(jobs)} recordings")

    made = fleet.make([partial(make, job) for job in order], tick=tick)
    outcomes: dict[PlannedRecording, RunOrReason] = {}
    for job, result in zip(order, made, strict=True):
        if isinstance(result, errors.HeatsoakError):
            raise result
        if result is not None:
            outcomes[job] = result
    return outcomes


def steps_of(job: PlannedRecording) -> protocol.Protocol:
    """Return the protocol of `job`, or the part of it that its one step needs.

    Raises UsageError where there is no such protocol, or no such step in it.
    """
    whole = protocol.load(job.protocol)
    if not job.only:
        return whole
    names = [step.name for step in whole.steps]
    if job.only not in names:
        raise errors.UsageError(f"protocol '{job.protocol}' has no step '{job.only}'")
    end = names.index(job.only) + 1
    purges = [at for at, step in enumerate(whole.steps[:end]) if step.purges]
    scores = [score for score in whole.scores if score.steps == (job.only,)]
    return whole.model_copy(
        update={"steps": whole.steps[purges[-1] if purges else 0 : end], "scores": scores}
    )


def _make(
    job: PlannedRecording,
    observer: Observer,
    directory: Path,
    seed: int,
    drives: Mapping[str, catalog.Drive],
    places: Mapping[str, catalog.Enclosure],
) -> RunOrReason:
    if job.drive not in (*drives, *catalog.drive_ids()):
        return f"the catalog has no drive '{job.drive}'"
    if job.place not in (*places, *catalog.enclosure_ids()):
        return f"the catalog has no place '{job.place}'"
    try:
        steps = steps_of(job)
        drive = drives.get(job.drive) or catalog.load_drive(job.drive)
        place = places.get(job.place) or catalog.load_enclosure(job.place)
        target = SimulatedTarget(drive, place, seed=seed)
    except errors.UsageError as error:
        return str(error)
    try:
        conditions = {**steps.conditions, **place.labels}
        recording = conduct(
            steps, target, conditions, directory / job.name, sensors=[], observer=observer
        )
    except (errors.UsageError, errors.ShutDownError) as error:
        # the message has no path, since the recording may be gone when it is read
        return str(error.__cause__ or error)
    finally:
        target.close()
    return FinishedRun(job, recording, judge(recording))


class _Share(Observer):
    """How much of a job is done, as its own thread says."""

    def __init__(self, planned_s: float) -> None:
        self.value = 0.0
        self.planned_s = planned_s

    @override
    def on_progress(self, t_s: float, latest: Latest) -> None:
        self.value = min(0.99, t_s / self.planned_s)
