"""Fits the simulated 950 PRO in Puget's places to the onsets and depths that were published.

What is fitted, and within which bounds, is said in the catalog: every number there with
``fitted = true``. Each cell of the matrix runs the published order of tests, from the purge over
the filled drive to the sequential write, so that it starts as warm as five minutes of pause leave
it. An onset is when the governor first holds the load back; the earlier of sequential read and
write counts, and the deeper of their falls.

Errors are measured in tolerances: 1 is the edge of what counts as reproduced. Beside them stands
what is known beforehand: numbers lie near the middle of their bounds, and slots of one chassis
are more alike than the bounds say. That is weak enough to leave every published figure within its
tolerance, and what carries the fit to cells that it has not seen. The fit first lowers the robust
sum of all that from several starts, then ever higher powers of the errors of the best, which pulls
in the worst cells at the cost of those that have room.
"""

import math
import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from heatsoak import protocol
from heatsoak.catalog import Drive, published
from heatsoak.catalog.places import Family
from heatsoak.errors import UsageError, suggestion
from heatsoak.twin.calibration.cells import READ, WRITE, Fall, simulate
from heatsoak.twin.calibration.parameters import DRIVE_FILE, PLACES_FILE, Parameter, Tables

#: What the simulated recording loses when it is judged: kept free at the tolerances' edges.
_JUDGE_ONSET_S, _JUDGE_DEPTH_PCT = 0.3, 0.3
_SENSOR_ID = "puget.reported_temp_onset_c"
_POWERS = (2, 4, 8)
_DIGITS = 4
#: How far, as a share of its bounds, a number is thought to lie from their middle, and slots from
#: each other.
_FROM_MIDDLE, _FROM_EACH_OTHER = 20.0, 10.0
#: A place that is too hot for the drive has failed at once and wholly.
_TOO_HOT = dict.fromkeys((READ, WRITE), Fall(-10.0, 110.0, 100.0))

Vector = NDArray[np.float64]
#: Called with the part that is done, 0 to 1, and what goes on.
Progress = Callable[[float, str], None]


@dataclass(frozen=True)
class Row:
    """One published figure beside the simulated one.

    Attributes:
        id: as in ``heatsoak reproduce``.
        limits: the published range widened by its tolerance.
        role: whether the fit saw it.
    """

    id: str
    metric: Literal["onset_s", "depth_pct", "temp_c"]
    published: tuple[float, float]
    limits: tuple[float, float]
    simulated: float
    role: Literal["fitted", "held-out"]

    @property
    def ok(self) -> bool:
        """Whether it counts as reproduced."""
        return self.limits[0] <= self.simulated <= self.limits[1]

    @property
    def error(self) -> float:
        """How far off the published range it is; 0 within."""
        low, high = self.published
        return self.simulated - min(max(self.simulated, low), high)


@dataclass(frozen=True)
class Calibration:
    """What a fit found.

    Attributes:
        parameters: the fitted numbers, rounded as they are written down.
        rows: every figure, simulated with these numbers.
        seed: what the further starts were drawn with.
        simulations: how many cells were simulated.
    """

    parameters: tuple[Parameter, ...]
    rows: tuple[Row, ...]
    seed: int
    simulations: int

    @property
    def figures_fitted(self) -> int:
        """How many figures the fit saw."""
        return sum(row.role == "fitted" for row in self.rows)

    def held(self, metric: str) -> tuple[int, int]:
        """How many figures of a metric are within tolerance, and how many there are."""
        rows = [row for row in self.rows if row.metric == metric]
        return sum(row.ok for row in rows), len(rows)

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "parameters": [
                {"file": p.file, "key": p.name, "value": p.value, "bounds": list(p.bounds)}
                for p in self.parameters
            ],
            "figures_fitted": self.figures_fitted,
            "seed": self.seed,
            "rows": [
                {
                    "id": row.id,
                    "published": list(row.published),
                    "simulated": row.simulated,
                    "error": row.error,
                    "ok": row.ok,
                    "role": row.role,
                }
                for row in self.rows
            ],
        }


def calibrate(
    *,
    seed: int = 0,
    hold_out: Sequence[str] = (),
    starts: int = 4,
    iterations: int = 40,
    progress: Progress | None = None,
    catalog_dir: Path | None = None,
) -> Calibration:
    """Fit every number of the catalog that is marked as fitted, and return what came out.

    The values that stand there now play no part: the first start is the middle of the bounds, the
    others are drawn from them with `seed`. `hold_out` names cells, such as ``puget.top.1gpu.idle``,
    that the fit may not see. `starts` and `iterations` bound the work. `catalog_dir` is a catalog
    other than heatsoak's own. Writes nothing; may be interrupted at any time.
    """
    figures = _Figures(catalog_dir, hold_out)
    report = _Report(progress, starts * iterations + len(_POWERS) * iterations)
    random = np.random.default_rng(seed)
    middle = np.full(len(figures.parameters), 0.5)
    best, best_cost = middle, math.inf
    for start in range(starts):
        begin = middle if start == 0 else random.uniform(0.1, 0.9, len(middle))
        report.begin(f"start {start + 1} of {starts}", iterations)
        found, cost = _lower(figures, begin, 1, iterations, report)
        if cost < best_cost:
            best, best_cost = found, cost
    for power in _POWERS:
        report.begin(f"worst cells, power {power}", iterations)
        best, _ = _lower(figures, best, power, iterations, report)
    values = figures.rounded(best)
    parameters = tuple(
        Parameter(p.file, p.keys, value, p.bounds)
        for p, value in zip(figures.parameters, values, strict=True)
    )
    return Calibration(parameters, figures.rows(values), seed, figures.simulations)


def check(catalog_dir: Path | None = None) -> Calibration:
    """Simulate the catalog as it stands, without fitting anything."""
    figures = _Figures(catalog_dir, ())
    values = [parameter.value for parameter in figures.parameters]
    return Calibration(tuple(figures.parameters), figures.rows(values), 0, figures.simulations)


class _Figures:
    """The figures as a function of the fitted numbers."""

    def __init__(self, catalog_dir: Path | None, hold_out: Sequence[str]) -> None:
        self.tables = Tables(catalog_dir)
        self.parameters = self.tables.parameters
        self.cells = published().cells
        self.hold_out = frozenset(_held_out(hold_out, [cell.id for cell in self.cells]))
        self.protocol = protocol.load("puget")
        self.simulations = 0
        self._alike = _alike(self.parameters)
        self._known: dict[tuple[str, str], dict[str, Fall]] = {}
        self._pool = ThreadPoolExecutor(os.cpu_count() or 1)

    def values(self, unit: Vector) -> list[float]:
        """Return the numbers at a point of the unit cube."""
        return [
            low + (high - low) * float(u)
            for u, (low, high) in zip(unit, (p.bounds for p in self.parameters), strict=True)
        ]

    def rounded(self, unit: Vector) -> list[float]:
        """Return the numbers as they are written down: few digits, and within their bounds."""
        return [
            min(max(float(f"{value:.{_DIGITS}g}"), low), high)
            for value, (low, high) in zip(
                self.values(unit), (p.bounds for p in self.parameters), strict=True
            )
        ]

    def rows(self, values: Sequence[float]) -> tuple[Row, ...]:
        """Return every figure."""
        sensor = published().figure(_SENSOR_ID)
        sensor_slots = sensor.conditions["slots"]
        assert sensor.range is not None
        assert isinstance(sensor_slots, list)
        rows: list[Row] = []
        for cell, seen in zip(self.cells, self._simulate(values), strict=True):
            role: Literal["fitted", "held-out"] = (
                "held-out" if cell.id in self.hold_out else "fitted"
            )
            read, write_ = seen[READ], seen[WRITE]
            onset_s = min(read.onset_s, write_.onset_s)
            depth_pct = max(read.depth_pct, write_.depth_pct)
            rows.append(
                Row(
                    f"{cell.id}.onset_s",
                    "onset_s",
                    cell.onset_s,
                    cell.onset_limits_s,
                    onset_s,
                    role,
                )
            )
            rows.append(
                Row(
                    f"{cell.id}.depth_pct",
                    "depth_pct",
                    cell.depth_pct,
                    cell.depth_limits_pct,
                    depth_pct,
                    role,
                )
            )
            if cell.slot in sensor_slots and (cell.gpus, cell.gpu_load) == (1, "idle"):
                low, high = sensor.range
                limits = (low - sensor.tolerance, high + sensor.tolerance)
                rows.append(
                    Row(
                        f"{sensor.id}.{cell.slot}",
                        "temp_c",
                        sensor.range,
                        limits,
                        read.sensor_c,
                        role,
                    )
                )
        return tuple(rows)

    def errors(self, unit: Vector) -> Vector:
        """Return the errors of the figures that are fitted, in tolerances."""
        errors = []
        for row in self.rows(self.values(unit)):
            if row.role == "held-out":
                continue
            low, high = row.limits
            kept = {"onset_s": _JUDGE_ONSET_S, "depth_pct": _JUDGE_DEPTH_PCT}.get(row.metric, 0.0)
            errors.append((row.simulated - (low + high) / 2) / ((high - low) / 2 - kept))
        return np.array(errors)

    def beliefs(self, unit: Vector) -> Vector:
        """Return how far the numbers lie from what is thought of them beforehand."""
        middle = (unit - 0.5) / _FROM_MIDDLE
        others = [
            (unit[index] - unit[group].mean()) / _FROM_EACH_OTHER
            for group in self._alike
            for index in group
        ]
        return np.concatenate([middle, others])

    def _simulate(self, values: Sequence[float]) -> list[dict[str, Fall]]:
        tables = self.tables.having(list(values))
        drive = Drive.model_validate(tables[DRIVE_FILE])
        places = Family.model_validate(tables[PLACES_FILE]).expand()
        drive_json = drive.core_json()
        wanted = [(drive_json, places[cell.enclosure].core_json()) for cell in self.cells]
        missing = [key for key in dict.fromkeys(wanted) if key not in self._known]
        if len(self._known) > 50_000:
            self._known = {key: self._known[key] for key in wanted if key in self._known}
        found = self._pool.map(
            lambda key: _tolerant(*key, self.protocol, drive.user_bytes), missing
        )
        self._known.update(zip(missing, found, strict=True))
        self.simulations += len(missing)
        return [self._known[key] for key in wanted]


def _tolerant(
    drive_json: str, place_json: str, steps: protocol.Protocol, user_bytes: int
) -> dict[str, Fall]:
    try:
        return simulate(drive_json, place_json, steps, user_bytes)
    except ValueError:
        return _TOO_HOT


def _held_out(patterns: Sequence[str], known: list[str]) -> list[str]:
    """The cells that names or patterns with ``*`` stand for."""
    names: list[str] = []
    for pattern in patterns:
        # an id of a figure, or a pattern for some, stands for its cell
        cell = pattern.removesuffix(".onset_s").removesuffix(".depth_pct")
        found = [name for name in known if fnmatchcase(name, cell)]
        found += [name for name in known if fnmatchcase(f"{name}.onset_s", pattern)]
        if not found:
            raise UsageError(f"there is no cell '{pattern}'{suggestion(pattern, known)}")
        names += found
    return names


def _alike(parameters: Sequence[Parameter]) -> list[list[int]]:
    """Parameters that stand for the same thing in different slots, by their indices."""
    groups: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for index, parameter in enumerate(parameters):
        if len(parameter.keys) > 2:
            groups[parameter.file, parameter.keys[0], parameter.keys[-1]].append(index)
    return [group for group in groups.values() if len(group) > 2]


def _lower(
    figures: _Figures, begin: Vector, power: int, iterations: int, report: "_Report"
) -> tuple[Vector, float]:
    """Lower the errors to a power from a point of the unit cube."""

    # shifted by one, since the solver's difference steps are relative
    def residuals(shifted: Vector) -> Vector:
        errors = figures.errors(shifted - 1)
        powers: Vector = np.sign(errors) * np.abs(errors) ** power
        return np.concatenate([powers, figures.beliefs(shifted - 1)])

    found = least_squares(
        residuals,
        np.clip(begin, 1e-3, 1 - 1e-3) + 1,
        bounds=(1, 2),
        loss="soft_l1" if power == 1 else "linear",
        ftol=1e-4,
        max_nfev=iterations,
        jac=report.counting(residuals),
    )
    return np.asarray(found.x - 1, dtype=np.float64), float(found.cost)


class _Report:
    """Counts iterations against a budget, and says how far it is."""

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

    def counting(self, residuals: Callable[[Vector], Vector]) -> Callable[[Vector], Vector]:
        """Return the Jacobian by forward differences, each call being one iteration."""

        def jacobian(point: Vector) -> Vector:
            self.spent = min(self.spent + 1, self.stage_end)
            self._say()
            base = residuals(point)
            columns = []
            for index in range(len(point)):
                step = 5e-5 if point[index] < 1.5 else -5e-5
                moved = point.copy()
                moved[index] += step
                columns.append((residuals(moved) - base) / step)
            return np.stack(columns, axis=1)

        return jacobian

    def _say(self) -> None:
        if self.progress is not None:
            self.progress(self.spent / self.budget, self.text)
