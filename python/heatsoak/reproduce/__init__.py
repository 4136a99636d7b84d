"""Compares the simulated drives with everything that was published about the real ones.

`runner` says which recordings the figures need, and makes them like any other run, `measures`
takes one number from them for each figure, and `rows` puts it next to the published one. Figures,
tolerances and where each is measured are data, in ``catalog/published.toml`` and
``catalog/modern.toml``.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from heatsoak import catalog, writing
from heatsoak.errors import RunInterrupted, UsageError
from heatsoak.output import Progress
from heatsoak.reproduce.rows import Nearness, ReproductionRow, make_row, nearness
from heatsoak.reproduce.runner import (
    FigureSet,
    PlannedRecording,
    Question,
    jobs_of,
    make_recordings,
    questions,
)

__all__ = [
    "FigureSet",
    "Nearness",
    "PlannedRecording",
    "Question",
    "ReproductionRow",
    "drive_like",
    "jobs_of",
    "left_out_drives",
    "nearness",
    "questions",
    "reproduce",
]


def reproduce(
    asked: list[Question] | None = None,
    directory: Path | None = None,
    *,
    seed: int = 0,
    drives: Mapping[str, catalog.Drive] | None = None,
    places: Mapping[str, catalog.Enclosure] | None = None,
    progress: Progress | None = None,
) -> list[ReproductionRow]:
    """Return a row for each requested figure, by default all published ones.

    Recordings are made below `directory`, which must be new, or in a temporary place that is
    removed again. `drives` and `places` replace those of the catalog with the same ids, to see what
    a changed number does to every figure. Raises UsageError if the directory is not empty,
    RunInterrupted when the user stops it.
    """
    asked = questions() if asked is None else asked
    if directory is not None:
        writing.require_new(directory)
    with tempfile.TemporaryDirectory(prefix="heatsoak-reproduce-") as scratch:
        place = Path(scratch) if directory is None else directory
        try:
            outcomes = make_recordings(
                jobs_of(asked), place, seed=seed, drives=drives, places=places, progress=progress
            )
        except RunInterrupted as error:
            kept = "" if directory is None else f"; the recordings so far are in {directory}"
            raise RunInterrupted(f"{error}{kept}") from None
        return [make_row(question, outcomes) for question in asked]


def left_out_drives(asked: list[Question]) -> dict[str, catalog.Drive]:
    """Return the drives of these figures without what was fitted to them, by id."""
    names = {job.drive for job in jobs_of(asked)}
    return {name: catalog.left_out(name) for name in sorted(names)}


def drive_like(path: str) -> tuple[str, catalog.Drive]:
    """Return a user's own drive file with the id of the published drive that it replaces.

    Its `model` says which one that is. Raises UsageError if no drive of the catalog has that model.
    """
    own = catalog.load_drive(path)
    drives = map(catalog.load_drive, catalog.drive_ids())
    models = {drive.model: drive.id for drive in drives if not drive.basis}
    if own.model not in models:
        raise UsageError(
            f"{path}: no drive of the catalog is a '{own.model}': model says which published "
            f"figures it is compared with, one of {', '.join(models)}"
        )
    return models[own.model], own
