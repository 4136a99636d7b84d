"""The third stage: heatsinks and fans as one group, by pairs of one drive in two coolings.

A pair's first reading says what the load takes of power, or how warm the air is, so that the second
tests the cooling alone: both are followed for as long as the review did. Products of a kind differ
by a spread that is fitted as well: it widens what a reading may be off by.
"""

import csv
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import tomlkit
from heatsoak._core import Lumped
from heatsoak.catalog import Enclosure, load_drive, parse_enclosures
from heatsoak.twin.asked import work_of
from scipy.optimize import brentq
from typing_extensions import override

from heatsoak_dev.calibration.figures import CalibrationRow, Figures, FitRole
from heatsoak_dev.calibration.parameters import Tables, Vector

NAME = "heatsinks"
_BARE = ("open-bench", "fan-medium", "fan-fast", "console-slot")
_COOLED = (
    *("board-heatsink", "large-board-heatsink", "ribbed-heatsink", "ribbed-heatsink-fan"),
    *("tower-cooler", "tower-cooler-fan", "stick-on-heatsink", "console-slot-heatsink"),
)
#: Before a reading that is a bound: nothing is colder.
COLDEST_C = -273.15
FILES = tuple(f"enclosures/{place}.toml" for place in (*_BARE, *_COOLED))
MAX_PARAMETERS = 23
#: What a printed temperature may be off by, as for the catalog's figures.
_OFF_K = 3.0
#: The same of a power that a maker printed.
_OFF_W = 1.0
#: Logarithm of the factor by which the slopes of temperatures over resistances are taken.
_STEP = 0.1
_POWERS_W, _AIRS_C = (0.02, 60.0), (0.0, 65.0)


@dataclass(frozen=True)
class CoolingPair:
    """A drive in two coolings; the columns of ``heatsinks.csv``, which says what they mean."""

    id: str
    site: str
    product: str
    drive: str
    load: str
    sensor: str
    seconds: float
    power_w: float | None
    air_c: float | None
    place_a: str
    place_b: str
    a_c: float | None
    b_c: tuple[float, float]
    held: bool


@cache
def pairs() -> tuple[CoolingPair, ...]:
    """Return the published pairs."""
    text = (files("heatsoak_dev.calibration") / "heatsinks.csv").read_text("utf-8")
    lines = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return tuple(map(_pair, lines))


def _pair(line: dict[str, str]) -> CoolingPair:
    def number(key: str) -> float | None:
        return float(line[key]) if line[key] else None

    low, _, high = line["b_c"][1:].partition("-")
    low = line["b_c"][0] + low
    words = {name: line[name] for name in ("id", "site", "product", "drive", "load", "sensor")}
    return CoolingPair(
        **words,
        seconds=float(line["seconds"]),
        power_w=number("power_w"),
        air_c=number("air_c"),
        place_a=line["place_a"],
        place_b=line["place_b"],
        a_c=number("a_c"),
        b_c=(float(low), float(high or low)),
        held=bool(line["held"]),
    )


@dataclass(frozen=True)
class _Followed:
    """The second reading, and the power of a load that gives the first."""

    a_c: float
    b_c: float
    power_w: float


class HeatsinkPairs(Figures):
    """The group's pairs, of which those of the sites `hold_out` are not used."""

    worst_first = False

    def __init__(self, catalog_dir: Path | None = None, hold_out: Sequence[str] = ()) -> None:
        """Read the catalog in `catalog_dir`, or heatsoak's own; UsageError where it cannot be."""
        super().__init__(NAME, Tables(FILES, ("*",), MAX_PARAMETERS, catalog_dir))
        self.hold_out = frozenset(hold_out)
        # readings of one product are hardly more than one
        self._of_product = Counter((one.site, one.product) for one in pairs() if not one.held)
        self._slopes_k = self._slopes(self.tables.expected())

    @override
    def rows(self, values: Sequence[float]) -> tuple[CalibrationRow, ...]:
        places = self._places(values)
        return tuple(row for pair in pairs() for row in self._rows(pair, places))

    @override
    def refine(self, unit: Vector) -> bool:
        """Take the slopes anew: how much a product's difference matters depends on its kind."""
        self._slopes_k = self._slopes(unit)
        return True

    @override
    def errors(self, unit: Vector) -> Vector:
        """Return what rows are off by in standard deviations, and those deviations' likelihood."""
        values = self.tables.values(unit)
        places = self._places(values)
        errors: list[float] = []
        for pair in pairs():
            if pair.site in self.hold_out:
                continue
            spread = places[pair.place_b].spread
            product_k = self._slopes_k[pair.id] * (0.0 if spread is None else spread.value)
            off = np.hypot(1.0, product_k / _OFF_K)
            for row in self._rows(pair, places):
                tolerance = _OFF_W if row.metric == "power_w" else _OFF_K * off
                share = 1 / max(self._of_product[pair.site, pair.product], 1)
                errors.append(row.error / tolerance * np.sqrt(share))
                # its square is twice the logarithm of the deviation, as a likelihood has it
                errors.append(np.sqrt(2 * np.log(off) * share) if not pair.held else 0.0)
        return np.array(errors)

    def _places(self, values: Sequence[float]) -> dict[str, Enclosure]:
        tables = self.tables.having(values)
        return parse_enclosures(
            {Path(name).stem: _text(json.dumps(table)) for name, table in tables.items()}
        )

    def _slopes(self, unit: Vector) -> dict[str, float]:
        """How much warmer a reading is per unit of the logarithm of its heatsink's resistance."""
        places = self._places(self.tables.values(unit))
        slopes_k = {}
        for pair in pairs():
            place_a, place_b = places[pair.place_a].core_json(), places[pair.place_b]
            worse = _followed(pair, place_a, _worse(place_b))
            slopes_k[pair.id] = (
                worse.b_c - _followed(pair, place_a, place_b.core_json()).b_c
            ) / _STEP
        return slopes_k

    def _rows(self, pair: CoolingPair, places: dict[str, Enclosure]) -> list[CalibrationRow]:
        self.simulations += 1
        found = _followed(pair, places[pair.place_a].core_json(), places[pair.place_b].core_json())
        low, high = pair.b_c
        if pair.a_c is None:
            low, high = found.a_c + low, found.a_c + high
        if pair.held:
            low = COLDEST_C
        role: FitRole = "held-out" if pair.site in self.hold_out else "fitted"
        rows = [
            CalibrationRow(
                pair.id, "temp_c", (low, high), (low - _OFF_K, high + _OFF_K), found.b_c, role
            )
        ]
        if pair.a_c is not None and pair.air_c is not None and pair.power_w is not None:
            of = (pair.power_w, pair.power_w)
            limits = (pair.power_w - _OFF_W, pair.power_w + _OFF_W)
            rows.append(
                CalibrationRow(f"{pair.id}.power", "power_w", of, limits, found.power_w, role)
            )
        return rows


@lru_cache(1 << 10)
def _text(table_json: str) -> str:
    """A file's text; of one step of a fit, most are as before."""
    return tomlkit.dumps(json.loads(table_json))


@lru_cache(1 << 13)
def _followed(pair: CoolingPair, place_a: str, place_b: str) -> _Followed:
    """Follow both coolings; what nobody printed, power or air, is such that the first comes out."""
    drive = load_drive(pair.drive)
    works = {"idle": (0.0, 0.0), "read": (1.0, 0.0), "write": (0.0, 1.0), "both": (0.5, 0.5)}
    reads, writes = (
        np.array([share * rate])
        for share, rate in zip(works[pair.load], (drive.read_mb_s, drive.write_mb_s), strict=True)
    )
    work = work_of(drive, reads, writes, np.zeros(1), np.zeros(1))
    drive_json = drive.core_json()

    def temp_c(place_json: str, power_w: float, air_c: float) -> float:
        place = {**json.loads(place_json), "air_c": air_c}
        lumped = Lumped(drive_json, json.dumps(place))
        followed = lumped.follow(
            np.array([pair.seconds]),
            work={} if pair.load == "idle" else work,
            power_w=np.array([power_w]),
            air_k=np.zeros(1),
        )
        return float(followed[f"sensor_c.{pair.sensor}"][-1])

    air_c, power_w = pair.air_c or 25.0, pair.power_w or 0.0
    if pair.a_c is None:
        pass
    elif pair.air_c is None:
        air_c = brentq(
            lambda air_c: temp_c(place_a, power_w, air_c) - pair.a_c, *_AIRS_C, xtol=1e-6
        )
    else:
        power_w = brentq(lambda w: temp_c(place_a, w, air_c) - pair.a_c, *_POWERS_W, xtol=1e-6)
    return _Followed(temp_c(place_a, power_w, air_c), temp_c(place_b, power_w, air_c), power_w)


def _worse(place: Enclosure) -> str:
    """A place whose heatsink's way to the air is worse."""
    spec: dict[str, Any] = json.loads(place.core_json())
    for link in spec["links"].values():
        if "air" in link["between"] and "board" not in link["between"]:
            link["k_per_w"] *= np.exp(_STEP)
    return json.dumps(spec)
