"""Fits of single drives to the figures that reviewers printed of them."""

from collections.abc import Mapping
from dataclasses import replace
from math import exp, inf, log
from pathlib import Path
from tempfile import TemporaryDirectory

from heatsoak.catalog import Drive, ModernFigure
from heatsoak.catalog.left_out import fitted_numbers, with_numbers
from heatsoak.catalog.loader import drive_from, own_tables
from heatsoak.errors import UsageError
from heatsoak.output import Progress
from heatsoak.reproduce import FigureSet, Question, questions, reproduce

from heatsoak_dev.calibration.parameters import Parameter

Values = Mapping[tuple[str, ...], float]

#: Steps of the search as shares of a number, the coarsest first. Reported temperatures are whole
#: kelvins, so that a gradient would see nothing.
_STEPS = (0.2, 0.1, 0.05, 0.025, 0.0125)
#: A figure that could not be measured counts as this many tolerances off.
_UNMEASURED = 4.0
_DIGITS = 3


def fit_drive(drive_id: str, progress: Progress | None = None) -> list[Parameter]:
    """Return the fitted numbers of a drive: the likeliest, given the figures printed of it.

    A figure's tolerance counts as a standard deviation, as `expect` gives one for each number.
    Raises UsageError for a drive without figures or without numbers to fit.
    """
    tables = own_tables(drive_id)
    numbers = [
        Parameter(f"drives/{drive_id}.toml", one.path, one.value, one.bounds, one.expect)
        for one in fitted_numbers(tables)
    ]
    asked = [q for q in questions(drive_id, None, FigureSet.MODERN) if _is_fitted_to(q)]
    if not numbers or not asked:
        raise UsageError(f"{drive_id}: nothing of it is fitted to modern figures")

    def drive(values: Values) -> Drive:
        return drive_from(with_numbers(tables, dict(values), fitted=True), drive_id)

    def cost(values: Values) -> float:
        try:
            changed = drive(values)
        except UsageError:
            return inf  # numbers that do not go with each other
        with TemporaryDirectory() as directory:
            rows = reproduce(asked, Path(directory), drives={drive_id: changed})
        off = 0.0
        for row in rows:
            if row.simulated is None:
                off += _UNMEASURED**2
            else:
                low, high = row.published
                off += (max(low - row.simulated, row.simulated - high, 0.0) / row.tolerance) ** 2
        for number in numbers:
            mean, spread = number.expect
            off += ((values[number.keys] - mean) / spread) ** 2
        return off

    best = {number.keys: number.value for number in numbers}
    least = cost(best)
    for done, step in enumerate(_STEPS):
        for number in numbers:
            for sign in (1, -1):
                while True:
                    low, high = number.bounds
                    tried = min(max(exp(log(best[number.keys]) + sign * step), low), high)
                    values = {**best, number.keys: tried}
                    if tried == best[number.keys] or (found := cost(values)) >= least:
                        break
                    best, least = values, found
                    if progress is not None:
                        progress(done / len(_STEPS), f"{drive_id}: misfit {least:.2f}")
    return [replace(one, value=float(f"{best[one.keys]:.{_DIGITS}g}")) for one in numbers]


def _is_fitted_to(question: Question) -> bool:
    figure = question.figure
    return isinstance(figure, ModernFigure) and figure.fitted and figure.holds is None
