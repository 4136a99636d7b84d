"""Fits the simulated 950 PRO in Puget's places to the onsets and depths that were published.

What is fitted, and within which bounds, is said in the catalog: every number there with
``fitted = true``. Each cell of the matrix runs the published order of tests, from the purge over
the filled drive to the sequential write, so that it starts as warm as five minutes of pause leave
it. An onset is when the governor first holds the load back; the earlier of sequential read and
write counts, and the deeper of their falls.

Errors are measured in tolerances: 1 is the edge of what counts as reproduced. The fit first
lowers their robust sum from several starts, then ever higher powers of the best, which pulls in
the worst cells at the cost of those that have room.
"""

import math
import os
import tomllib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tomlkit
from numpy.typing import NDArray
from scipy.optimize import least_squares

from heatsoak import protocol
from heatsoak._core import Drive as Core
from heatsoak.catalog import Drive, published
from heatsoak.catalog.places import Family
from heatsoak.errors import UsageError, suggestion
from heatsoak.protocol import Pause, Protocol, Purge, WorkloadStep
from heatsoak.target.simulated import workload_json

DRIVE_FILE = "drives/samsung-950-pro-512.toml"
PLACES_FILE = "enclosures/puget.toml"
#: More would be a table of its own, not a model.
MOST_PARAMETERS = 24

READ, WRITE = "sequential-read", "sequential-write"
#: What the simulated recording loses when it is judged: kept free at the tolerances' edges.
_JUDGE_ONSET_S, _JUDGE_DEPTH_PCT = 0.3, 0.3
#: Length of the end of a step that its throttled level is taken from.
_TAIL_S = 60
_SENSOR_ID = "puget.reported_temp_onset_c"
_POWERS = (2, 4, 8)
_DIGITS = 4

Vector = NDArray[np.float64]
#: Called with the part that is done, 0 to 1, and what goes on.
Progress = Callable[[float, str], None]


@dataclass(frozen=True)
class Parameter:
    """A fitted number: the file and keys it stands under, and what it may be."""

    file: str
    keys: tuple[str, ...]
    value: float
    bounds: tuple[float, float]

    @property
    def name(self) -> str:
        """Its keys, joined."""
        return ".".join(self.keys)


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


def write(calibration: Calibration, directory: Path) -> list[Path]:
    """Write fitted numbers into the catalog in `directory`; all else stays as it was.

    Returns the files. Raises UsageError where they are not a catalog's.
    """
    written = []
    for name in (DRIVE_FILE, PLACES_FILE):
        path = directory / name
        document = tomlkit.parse(_read(path))
        for parameter in calibration.parameters:
            if parameter.file != name:
                continue
            table: Any = document
            for key in parameter.keys:
                if key not in table:
                    raise UsageError(f"{path}: there is no {parameter.name}")
                table = table[key]
            table["value"] = parameter.value
        path.write_text(tomlkit.dumps(document), "utf-8")
        written.append(path)
    return written


def simulate(
    drive: Drive, place_json: str, steps: Protocol
) -> dict[str, tuple[float, float, float]]:
    """Return onset, depth and the sensor at the onset of both sequential steps.

    An onset that never comes is the length of the step; its depth is 0.
    """
    core = Core(drive.core_json(), place_json)
    seen: dict[str, tuple[float, float, float]] = {}
    for step in steps.steps:
        match step:
            case Purge():
                core.purge()
                core.advance(math.ldexp(1, 30), _TAIL_S)
            case Pause():
                core.advance(step.duration_s, _TAIL_S)
            case WorkloadStep():
                core.begin(workload_json(step, core.user_bytes))
                samples = core.advance(math.ldexp(1, 30), 1.0)
                if step.name in (READ, WRITE):
                    name = "read_bw_mb_s" if step.reads else "write_bw_mb_s"
                    seen[step.name] = _fall(samples[name], core.truth())
                core.end()
        if len(seen) == 2:
            break
    return seen


def _fall(rates: Vector, truth: dict[str, float]) -> tuple[float, float, float]:
    onset_s = truth["onset_s"]
    if math.isnan(onset_s):
        return float(len(rates)), 0.0, truth["sensor_c"]
    before = rates[: max(1, int(onset_s))].mean()
    depth_pct = 100 * (1 - rates[-_TAIL_S:].mean() / before)
    return onset_s, float(depth_pct), truth["onset_sensor_c"]


class _Figures:
    """The figures as a function of the fitted numbers."""

    def __init__(self, catalog_dir: Path | None, hold_out: Sequence[str]) -> None:
        root = files("heatsoak.catalog")
        self.texts = {
            name: (root / name).read_text("utf-8")
            if catalog_dir is None
            else _read(catalog_dir / name)
            for name in (DRIVE_FILE, PLACES_FILE)
        }
        self.tables = {name: tomllib.loads(text) for name, text in self.texts.items()}
        self.parameters = [
            parameter
            for name, table in self.tables.items()
            for parameter in _fitted(name, table, ())
        ]
        if len(self.parameters) > MOST_PARAMETERS:
            raise UsageError(
                f"{len(self.parameters)} numbers are marked as fitted: "
                f"{MOST_PARAMETERS} at most, or the fit explains nothing"
            )
        self.cells = published().cells
        known = [cell.id for cell in self.cells]
        for name in hold_out:
            if name not in known:
                raise UsageError(f"there is no cell '{name}'{suggestion(name, known)}")
        self.hold_out = frozenset(hold_out)
        self.protocol = protocol.load("puget")
        self.simulations = 0
        self._known: dict[tuple[str, str], dict[str, tuple[float, float, float]]] = {}
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
            onset_s, depth_pct = min(read[0], write_[0]), max(read[1], write_[1])
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
                    Row(f"{sensor.id}.{cell.slot}", "temp_c", sensor.range, limits, read[2], role)
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

    def _simulate(self, values: Sequence[float]) -> list[dict[str, tuple[float, float, float]]]:
        tables = deepcopy(self.tables)
        for parameter, value in zip(self.parameters, values, strict=True):
            table = tables[parameter.file]
            for key in parameter.keys:
                table = table[key]
            table["value"] = value
        drive = Drive.model_validate(tables[DRIVE_FILE])
        places = Family.model_validate(tables[PLACES_FILE]).expand()
        wanted = [(drive.core_json(), places[cell.enclosure].core_json()) for cell in self.cells]
        missing = [key for key in dict.fromkeys(wanted) if key not in self._known]
        if len(self._known) > 50_000:
            self._known = {key: self._known[key] for key in wanted if key in self._known}
        found = self._pool.map(lambda key: _tolerant(drive, key[1], self.protocol), missing)
        self._known.update(zip(missing, found, strict=True))
        self.simulations += len(missing)
        return [self._known[key] for key in wanted]


def _tolerant(
    drive: Drive, place_json: str, steps: Protocol
) -> dict[str, tuple[float, float, float]]:
    """Simulate; a drive that is above its limit before any load has failed at once and wholly."""
    try:
        return simulate(drive, place_json, steps)
    except ValueError:
        return dict.fromkeys((READ, WRITE), (-10.0, 110.0, drive.governor.limit_c.value))


def _lower(
    figures: _Figures, begin: Vector, power: int, iterations: int, report: "_Report"
) -> tuple[Vector, float]:
    """Lower the errors to a power from a point of the unit cube."""

    # shifted by one, since the solver's difference steps are relative
    def residuals(shifted: Vector) -> Vector:
        errors = figures.errors(shifted - 1)
        result: Vector = np.sign(errors) * np.abs(errors) ** power
        return result

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


def _fitted(name: str, table: dict[str, Any], keys: tuple[str, ...]) -> Iterator[Parameter]:
    """Every figure below `table` that is marked as fitted."""
    for key, value in table.items():
        if not isinstance(value, dict):
            continue
        here = (*keys, key)
        if value.get("fitted") is True:
            if "bounds" not in value:
                raise UsageError(f"{name}: {'.'.join(here)} is fitted and has no bounds")
            low, high = value["bounds"]
            yield Parameter(name, here, float(value["value"]), (float(low), float(high)))
        else:
            yield from _fitted(name, value, here)


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be read: {error.strerror}: name a catalog's directory"
        ) from error
