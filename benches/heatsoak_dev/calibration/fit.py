"""Fits parameters of the catalog to published figures, and says which figures it used."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import tomlkit
from heatsoak.catalog import published
from heatsoak.output import Progress
from scipy.optimize import least_squares

from heatsoak_dev.calibration import bench, heatsinks, matrix
from heatsoak_dev.calibration.figures import CalibrationRow, Figures
from heatsoak_dev.calibration.parameters import Parameter, Vector, read_catalog_text

#: In order: each stage starts from the results of those before.
STAGES = (matrix.NAME, bench.NAME, heatsinks.NAME)
STARTS, ITERATIONS = 1, 20
_POWERS = (2, 4, 8)
#: Step of the difference quotients, as a share of the bounds.
_STEP = 5e-5
#: A direction is loose if the figures say less about it than the expectations do.
_LOOSE = 1.0
#: Parameters with less than this share of a direction's greatest one are not named.
_NAMED = 0.5


@dataclass(frozen=True)
class WeakDirection:
    """A combination of parameters that the figures hardly determine.

    Attributes:
        information: what the figures say about it, relative to the expectations; below 1, the
            expectations say more.
        shares: the names of the numbers and how far each moves along it, in its own spreads.
    """

    information: float
    shares: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Calibration:
    """What a fit found.

    Attributes:
        stage: the name of the stage.
        parameters: the fitted numbers, rounded as they are written down.
        rows: every figure, simulated with these numbers.
        seed: the seed of the further starts.
        simulations: the number of simulations.
        loose: the combinations that the figures do not determine, the loosest first.
    """

    stage: str
    parameters: tuple[Parameter, ...]
    rows: tuple[CalibrationRow, ...]
    seed: int
    simulations: int
    loose: tuple[WeakDirection, ...] = ()

    @property
    def figures_fitted(self) -> int:
        """How many figures the fit used."""
        return sum(row.role == "fitted" for row in self.rows)

    def held(self, metric: str) -> tuple[int, int]:
        """How many figures of a metric are within tolerance, and how many there are."""
        rows = [row for row in self.rows if row.metric == metric]
        return sum(row.ok for row in rows), len(rows)

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "stage": self.stage,
            "parameters": [
                {
                    "file": p.file,
                    "key": p.name,
                    "value": p.value,
                    "bounds": list(p.bounds),
                    "expect": list(p.expect),
                    "stderr": p.stderr,
                }
                for p in self.parameters
            ],
            "figures_fitted": self.figures_fitted,
            "seed": self.seed,
            "rows": [row.as_dict() for row in self.rows],
            "loose": [{"information": d.information, "shares": dict(d.shares)} for d in self.loose],
        }


def calibrate(
    *,
    stage: str = matrix.NAME,
    given: Sequence[Parameter] = (),
    seed: int = 0,
    hold_out: Sequence[str] = (),
    starts: int = STARTS,
    iterations: int = ITERATIONS,
    progress: Progress | None = None,
    catalog_dir: Path | None = None,
) -> Calibration:
    """Fit every parameter of a stage, and return the result.

    The catalog's current values of these parameters are not used; `given` are the results of
    earlier stages. `hold_out` names cells of the matrix, such as ``puget.top.1gpu.idle``, or has
    patterns for them, ``puget.*.2gpu.*``, that the fit may not use. `starts` and `iterations` bound
    the work; starts after the first are drawn with `seed`. `catalog_dir` is a catalog other than
    heatsoak's own. Writes nothing; may be interrupted at any time. Raises UsageError for unknown
    cells and a catalog that cannot be read.
    """
    figures = _figures(stage, catalog_dir, hold_out, given)
    found = lower(figures, seed=seed, starts=starts, iterations=iterations, progress=progress)
    if figures.refine(found):
        found = lower(figures, seed=seed, starts=starts, iterations=iterations, progress=progress)
    return describe(figures, found, seed)


def check_calibration(catalog_dir: Path | None = None, stage: str = matrix.NAME) -> Calibration:
    """Simulate a stage of the catalog as it stands, without fitting anything."""
    figures = _figures(stage, catalog_dir, (), ())
    figures.refine(figures.tables.present())
    return describe(figures, figures.tables.present(), 0)


def _figures(
    stage: str, catalog_dir: Path | None, hold_out: Sequence[str], given: Sequence[Parameter]
) -> Figures:
    if stage == matrix.NAME:
        return matrix.CellFigures(catalog_dir, hold_out)
    if stage == heatsinks.NAME:
        return heatsinks.HeatsinkPairs(catalog_dir, hold_out)
    return bench.Bench(catalog_dir, given)


def lower(
    figures: Figures,
    *,
    seed: int = 0,
    starts: int = STARTS,
    iterations: int = ITERATIONS,
    progress: Progress | None = None,
) -> Vector:
    """Return the point of the unit cube at which the fit ends."""
    powers = _POWERS if figures.worst_first else ()
    report = _Report(progress, (starts + len(powers)) * iterations)
    random = np.random.default_rng(seed)
    best, best_cost = figures.tables.expected(), math.inf
    for start in range(starts):
        expected = figures.tables.expected()
        begin = expected if start == 0 else random.uniform(0.1, 0.9, len(expected))
        report.begin(f"start {start + 1} of {starts}", iterations)
        found, cost = _lower(figures, begin, 1, iterations, report)
        if cost < best_cost:
            best, best_cost = found, cost
    for power in powers:
        report.begin(f"worst figures, power {power}", iterations)
        best, _ = _lower(figures, best, power, iterations, report)
    return best


def describe(figures: Figures, unit: Vector, seed: int) -> Calibration:
    """Return the figures at a point of the unit cube, and how well they determine it."""
    values = figures.tables.rounded(unit)
    stderr, loose = _identified(figures, unit)
    parameters = tuple(
        replace(parameter, value=value, stderr=error)
        for parameter, value, error in zip(figures.parameters, values, stderr, strict=True)
    )
    rows = figures.rows(values)
    return Calibration(figures.stage, parameters, rows, seed, figures.simulations, loose)


def _lower(
    figures: Figures, begin: Vector, power: int, iterations: int, report: "_Report"
) -> tuple[Vector, float]:
    """Minimise a power of the errors, plus the distances from the expectations."""

    def residuals(unit: Vector) -> Vector:
        errors = figures.errors(unit)
        powers: Vector = np.sign(errors) * np.abs(errors) ** power
        return np.concatenate([powers, figures.tables.beliefs(unit)])

    def jacobian(unit: Vector) -> Vector:
        report.count()
        return _jacobian(residuals, unit)

    found = least_squares(
        residuals,
        np.clip(begin, 1e-3, 1 - 1e-3),
        bounds=(0, 1),
        # the first pass should not be dominated by the one figure that does not fit
        loss="soft_l1" if power == 1 and figures.worst_first else "linear",
        ftol=1e-4,
        max_nfev=iterations,
        jac=jacobian,
    )
    return np.asarray(found.x, dtype=np.float64), float(found.cost)


def _jacobian(residuals: Callable[[Vector], Vector], point: Vector) -> Vector:
    """Difference quotients, away from the nearer bound."""
    base = residuals(point)
    columns = []
    for index in range(len(point)):
        step = _STEP if point[index] < 0.5 else -_STEP
        moved = point.copy()
        moved[index] += step
        columns.append((residuals(moved) - base) / step)
    return np.stack(columns, axis=1)


def _identified(figures: Figures, unit: Vector) -> tuple[list[float], tuple[WeakDirection, ...]]:
    """Standard errors of the numbers, and the combinations of them that stay loose.

    From the curvature at the optimum, with tolerances and spreads as standard deviations; bounds
    are ignored.
    """
    width = np.array([p.bounds[1] - p.bounds[0] for p in figures.parameters])
    spread = np.array([p.expect[1] for p in figures.parameters])
    # in units of the spreads, so that the expectations are the unit matrix
    slopes = _jacobian(figures.errors, unit) * (spread / width)
    information = slopes.T @ slopes
    covariance = np.linalg.inv(information + np.eye(len(unit)))
    stderr = [float(error) for error in spread * np.sqrt(np.diag(covariance))]
    found, vectors = np.linalg.eigh(information)
    names = [parameter.name for parameter in figures.parameters]
    loose = tuple(
        WeakDirection(max(0.0, float(value)), _shares(names, vector))
        for value, vector in zip(found, vectors.T, strict=True)
        if value < _LOOSE
    )
    return stderr, loose


def _shares(names: list[str], vector: Vector) -> tuple[tuple[str, float], ...]:
    """The main parameters of a direction, the first with a positive sign."""
    order = np.argsort(-np.abs(vector))
    vector = vector * np.sign(vector[order[0]])
    named = [index for index in order if abs(vector[index]) >= _NAMED * abs(vector[order[0]])]
    return tuple((names[index], float(vector[index])) for index in named)


class _Report:
    """Counts iterations towards a budget, and reports progress."""

    def __init__(self, progress: Progress | None, budget: int) -> None:
        self.progress = progress
        self.budget = budget
        self.spent = 0
        self.stage_end = 0
        self.text = ""

    def begin(self, text: str, iterations: int) -> None:
        self.spent = self.stage_end
        self.stage_end += iterations
        self.text = text
        self._say()

    def count(self) -> None:
        self.spent = min(self.spent + 1, self.stage_end)
        self._say()

    def _say(self) -> None:
        if self.progress is not None:
            self.progress(self.spent / self.budget, self.text)


FILE = "calibration.toml"


def write_roles(rows: Iterable[CalibrationRow], directory: Path) -> Path:
    """Write which of these figures were fitted, and which held out, into a catalog.

    The file's entries for other figures stay; pairs of coolings are no figures of the catalog.
    Returns the file; raises UsageError if it cannot be read.
    """
    path = directory / FILE
    document = tomlkit.parse(read_catalog_text(path))
    roles = {name: row.role for row in rows if (name := listed(row)) is not None}
    for key, role in (("fitted", "fitted"), ("held_out", "held-out")):
        others = [str(name) for name in document.get(key, []) if name not in roles]
        names = tomlkit.array()
        names.extend([*(name for name in roles if roles[name] == role), *others])
        document[key] = names.multiline(bool(names))
    path.write_text(tomlkit.dumps(document), "utf-8")
    return path


def listed(row: CalibrationRow) -> str | None:
    """The id that stands for a figure in the file: its cell's, that of several places, or its own.

    None for what is no figure of the catalog, such as a pair of coolings.
    """
    known = {cell.id for cell in published().cells} | {f.id for f in published().figures}
    return next((name for name in (row.id.rpartition(".")[0], row.id) if name in known), None)
