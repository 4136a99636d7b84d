"""The first stage: the 950 PRO in Puget's places, onset and depth of every cell.

Each cell of the matrix runs the published order of tests, from the purge over the filled drive to
the sequential write, so that it starts as warm as five minutes of pause leave it. An onset is when
the governor first holds the load back; the earlier of sequential read and write counts, and the
deeper of their falls.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from pathlib import Path

from heatsoak import protocol
from heatsoak.catalog import Drive, PugetCell, published
from heatsoak.catalog.places import PlaceFamily
from heatsoak.errors import UsageError, suggestion

from heatsoak_dev.calibration.figures import CalibrationRow, Figures, FitRole
from heatsoak_dev.calibration.parameters import Tables
from heatsoak_dev.calibration.profiles import READ, WRITE, Fall, simulate

NAME = "puget"
DRIVE_FILE = "drives/samsung-950-pro-512.toml"
PLACES_FILE = "enclosures/puget.toml"
#: Parameters that only AnandTech's hours of random writes determine are not fitted here.
PATTERNS = ("!*:controller.*", "!*:energy.*", "*")
#: More would be a lookup table, not a model: there are 31 figures.
MAX_PARAMETERS = 20

#: What a recording loses when it is judged, or to a sensor's steps: kept free at the edges.
_KEPT_ONSET_S, _KEPT_DEPTH_PCT, _KEPT_C = 0.3, 0.3, 0.5
_SENSOR_ID = "puget.reported_temp_onset_c"
#: A place that is too hot for the drive counts as failing at once and completely.
_TOO_HOT = dict.fromkeys((READ, WRITE), Fall(-10.0, 110.0, 100.0))
_MAX_KNOWN = 50_000


class CellFigures(Figures):
    """Onset and depth of the cells, and the temperature that the drive reports at the onset.

    Attributes:
        cells: as published.
        hold_out: the ids of those that a fit may not use.
    """

    def __init__(self, catalog_dir: Path | None = None, hold_out: Sequence[str] = ()) -> None:
        """Read the catalog in `catalog_dir`, or heatsoak's own.

        `hold_out` names cells or has patterns for them. Raises UsageError for a name that no
        cell has, and for a catalog that cannot be read.
        """
        files = (DRIVE_FILE, PLACES_FILE)
        super().__init__(NAME, Tables(files, PATTERNS, MAX_PARAMETERS, catalog_dir))
        self.cells = published().cells
        self.hold_out = frozenset(_held_out(hold_out, [cell.id for cell in self.cells]))
        self.protocol = protocol.load("puget")
        self._known: dict[tuple[str, str], dict[str, Fall]] = {}
        self._pool = ThreadPoolExecutor(os.cpu_count() or 1)

    def rows(self, values: Sequence[float]) -> tuple[CalibrationRow, ...]:
        """Return every figure, simulated with these numbers."""
        rows: list[CalibrationRow] = []
        for cell, seen in zip(self.cells, self._simulate(values), strict=True):
            rows += self._cell_rows(cell, seen)
        return tuple(rows)

    def _cell_rows(self, cell: PugetCell, seen: dict[str, Fall]) -> list[CalibrationRow]:
        role: FitRole = "held-out" if cell.id in self.hold_out else "fitted"
        read, write = seen[READ], seen[WRITE]
        rows = [
            CalibrationRow(
                f"{cell.id}.onset_s",
                "onset_s",
                cell.onset_s,
                cell.onset_limits_s,
                min(read.onset_s, write.onset_s),
                role,
                _KEPT_ONSET_S,
            ),
            CalibrationRow(
                f"{cell.id}.depth_pct",
                "depth_pct",
                cell.depth_pct,
                cell.depth_limits_pct,
                max(read.depth_pct, write.depth_pct),
                role,
                _KEPT_DEPTH_PCT,
            ),
        ]
        sensor = published().figure(_SENSOR_ID)
        slots = sensor.conditions["slots"]
        assert isinstance(slots, list)
        if cell.slot in slots and (cell.gpus, cell.gpu_load) == (1, "idle"):
            low, high = sensor.interval
            limits = (low - sensor.tolerance, high + sensor.tolerance)
            name = f"{sensor.id}.{cell.slot}"
            rows.append(
                CalibrationRow(name, "temp_c", (low, high), limits, read.sensor_c, role, _KEPT_C)
            )
        return rows

    def _simulate(self, values: Sequence[float]) -> list[dict[str, Fall]]:
        tables = self.tables.having(values)
        drive = Drive.model_validate(tables[DRIVE_FILE])
        places = PlaceFamily.model_validate(tables[PLACES_FILE]).expand()
        drive_json = drive.core_json()
        wanted = [(drive_json, places[cell.enclosure].core_json()) for cell in self.cells]
        missing = [key for key in dict.fromkeys(wanted) if key not in self._known]
        if len(self._known) > _MAX_KNOWN:
            self._known = {key: self._known[key] for key in wanted if key in self._known}

        def one(key: tuple[str, str]) -> dict[str, Fall]:
            return self._tolerant(key[0], key[1], drive.user_bytes)

        found = self._pool.map(one, missing)
        self._known.update(zip(missing, found, strict=True))
        self.simulations += len(missing)
        return [self._known[key] for key in wanted]

    def _tolerant(self, drive_json: str, place_json: str, user_bytes: int) -> dict[str, Fall]:
        try:
            return simulate(drive_json, place_json, self.protocol, user_bytes)
        except ValueError:
            return _TOO_HOT


def _held_out(patterns: Sequence[str], known: list[str]) -> list[str]:
    """The cells that names or patterns with ``*`` stand for."""
    names: list[str] = []
    for pattern in patterns:
        # the id of a figure, or a pattern for some, means its cell
        cell = pattern.removesuffix(".onset_s").removesuffix(".depth_pct")
        found = [name for name in known if fnmatchcase(name, cell)]
        found += [name for name in known if fnmatchcase(f"{name}.onset_s", pattern)]
        if not found:
            raise UsageError(f"there is no cell '{pattern}'{suggestion(pattern, known)}")
        names += found
    return names
