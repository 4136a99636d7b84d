"""Fits of single drives and places to the figures that reviewers printed of them."""

from collections.abc import Callable, Mapping
from math import exp, log
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from heatsoak.catalog import Enclosure, ModernFigure, load_enclosure
from heatsoak.catalog.left_out import Fitted, fitted_numbers, with_numbers
from heatsoak.catalog.loader import drive_from, own_tables, read_catalog
from heatsoak.reproduce import FigureSet, questions, reproduce
from heatsoak.reproduce.plan import Question

#: Steps of the search as shares of a number, the coarsest first. Reported temperatures are whole
#: kelvins, so that a gradient would see nothing.
STEPS = (0.2, 0.1, 0.05, 0.025)
#: A figure that could not be measured counts as this many tolerances off.
UNMEASURED = 4.0


def fit_drive(drive_id: str, progress: Callable[[str], None]) -> dict[tuple[str, ...], float]:
    """Return the likeliest fitted numbers of a drive, given the figures printed of it."""
    tables = own_tables(drive_id)

    def made(values: Mapping[tuple[str, ...], float]) -> dict[str, Any]:
        changed = with_numbers(tables, dict(values), fitted=True)
        return {"drives": {drive_id: drive_from(changed, drive_id)}}

    asked = [q for q in questions(drive_id, None, FigureSet.MODERN) if _counts(q)]
    return _search(list(fitted_numbers(tables)), asked, made, progress)


def fit_place(place_id: str, progress: Callable[[str], None]) -> dict[tuple[str, ...], float]:
    """Return the likeliest fitted numbers of a place, given the figures of all drives in it."""
    tables = read_catalog(f"enclosures/{place_id}.toml")
    whole = load_enclosure(place_id).model_dump(exclude_none=True)

    def made(values: Mapping[tuple[str, ...], float]) -> dict[str, Any]:
        changed = with_numbers(whole, dict(values), fitted=True)
        return {"places": {place_id: Enclosure.model_validate(changed)}}

    asked = [
        q
        for q in questions(None, None, FigureSet.MODERN)
        if _counts(q) and {job.place for job in (*q.jobs, *q.against)} == {place_id}
    ]
    return _search(list(fitted_numbers(tables)), asked, made, progress)


def _counts(question: Question) -> bool:
    """Whether a figure is fitted to: printed as a number, and simulated."""
    figure = question.figure
    return (
        isinstance(figure, ModernFigure)
        and figure.fitted
        and question.measured is not None
        and figure.holds is None
    )


def _search(
    numbers: list[Fitted],
    asked: list[Question],
    made: Callable[[Mapping[tuple[str, ...], float]], dict[str, Any]],
    progress: Callable[[str], None],
) -> dict[tuple[str, ...], float]:
    """Search along one number after the other, in ever smaller steps."""
    best = {number.path: number.value for number in numbers}
    if not numbers or not asked:
        return best

    def cost(values: Mapping[tuple[str, ...], float]) -> float:
        with TemporaryDirectory() as directory:
            rows = reproduce(asked, Path(directory), **made(values))
        off = 0.0
        for row in rows:
            if row.simulated is None:
                off += UNMEASURED**2
                continue
            low, high = row.published
            away = max(low - row.simulated, row.simulated - high, 0.0)
            off += min(away / max(row.tolerance, 1e-9), UNMEASURED) ** 2
        return off + sum(number.surprise(values[number.path]) for number in numbers)

    least = cost(best)
    for step in STEPS:
        for number in numbers:
            for sign in (1, -1):
                while True:
                    tried = exp(log(best[number.path]) + sign * step)
                    low, high = number.bounds
                    tried = min(max(tried, low), high)
                    values = {**best, number.path: tried}
                    if tried == best[number.path] or (found := cost(values)) >= least:
                        break
                    best, least = values, found
                    progress(f"{least:.2f}  " + _told(best))
    return best


def _told(values: Mapping[tuple[str, ...], float]) -> str:
    return ", ".join(f"{'.'.join(path)} {value:.4g}" for path, value in values.items())


def modern_drives() -> list[str]:
    """Return the drives that have numbers of their own to fit."""
    known = {q.drives[0] for q in questions(None, None, FigureSet.MODERN) if q.drives}
    return sorted(one for one in known if any(fitted_numbers(own_tables(one))))
