"""The second stage: what AnandTech's bench shows about two drives, given the first.

The bench's two resistances are shared by both drives; what a drive adds is what its random writes
cost. Sequential workloads are simulated as in :mod:`heatsoak_dev.calibration.cells`. An hour of
random writes is taken at what the drive does at its end: the exact engine writes as much as was
published to a filled drive once, and what collection does then is measured; how far the exact
engine's hour is off that is found after a first fit, and the fit made again.
"""

import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import tomlkit
from heatsoak import protocol
from heatsoak._core import Lumped
from heatsoak.catalog import Drive, Enclosure, parse_enclosures, published
from heatsoak.protocol import WorkloadStep
from heatsoak.target.simulated import workloads_json
from typing_extensions import override

from heatsoak_dev.calibration import profiles
from heatsoak_dev.calibration.figures import CalibrationRow, Figures
from heatsoak_dev.calibration.parameters import Parameter, Tables, Vector
from heatsoak_dev.calibration.profiles import Profile, fill, profile_of_filled

NAME = "anandtech"
_PRO, _SM951 = "samsung-950-pro-512", "samsung-sm951-ahci-512"
_BENCH, _WINGS, _PLEXTOR = "anandtech-bench", "wings-px1", "plextor-adapter"
FILES = (
    *(f"enclosures/{place}.toml" for place in (_BENCH, _WINGS, _PLEXTOR)),
    *(f"drives/{drive}.toml" for drive in (_PRO, _SM951)),
)
#: For the 950 PRO, only what no sequential workload shows.
PATTERNS = (
    f"drives/{_PRO}:energy.move_uj",
    f"drives/{_PRO}:energy.write_command_uj",
    f"!drives/{_PRO}:*",
    "*",
)
#: There are 9 figures, of which two are nearly one.
MAX_PARAMETERS = 7

_PAGE_BYTES = 4096
_HOUR_S, _END_S = 3600, 400
_PAUSE_S = 300.0
#: The part of a tolerance that is kept free, since a judged recording differs a little.
_KEPT = 0.1
#: How long a fill is simulated until it throttles.
_FILL_S = 700


@dataclass(frozen=True)
class _Case:
    """A drive in a place."""

    drive_id: str
    place_id: str
    drive: Drive
    drive_json: str
    place_json: str


class Bench(Figures):
    """Two drives, bare and under two heatsinks."""

    def __init__(self, catalog_dir: Path | None = None, given: Sequence[Parameter] = ()) -> None:
        """Read the catalog in `catalog_dir`, or heatsoak's own, with what was found before.

        Raises UsageError for a catalog that cannot be read.
        """
        super().__init__(NAME, Tables(FILES, PATTERNS, MAX_PARAMETERS, catalog_dir, given))
        self._pool = ThreadPoolExecutor(os.cpu_count() or 1)
        self._known: dict[tuple[str, str], float] = {}
        # collection does the same whatever it costs: it is measured at the expected cost
        expected = self.tables.having(self.tables.values(self.tables.expected()))
        self._expected = {name: _drive(expected, name).core_json() for name in (_PRO, _SM951)}
        self._exact: dict[tuple[str, str], float] = {}
        self._refining = False

    def rows(self, values: Sequence[float]) -> tuple[CalibrationRow, ...]:
        """Return every figure, simulated with these numbers."""
        tables = self.tables.having(values)
        places = _places_of(tables)
        drives = {name: _drive(tables, name) for name in (_PRO, _SM951)}
        jobs = self._jobs(drives, places)
        found = dict(zip(jobs, self._pool.map(lambda job: job(), jobs.values()), strict=True))
        return tuple(_row(name, value) for name, value in found.items())

    def _jobs(
        self, drives: dict[str, Drive], places: dict[str, Enclosure]
    ) -> dict[str, Callable[[], float]]:
        def case(drive: str, place: str) -> _Case:
            drive_json, place_json = drives[drive].core_json(), places[place].core_json()
            return _Case(drive, place, drives[drive], drive_json, place_json)

        hour = self._hour_iops
        bare, cooled = case(_PRO, _BENCH), case(_PRO, _WINGS)
        sm951, sm951_cooled = case(_SM951, _BENCH), case(_SM951, _PLEXTOR)
        jobs: dict[str, Callable[[], float]] = {
            "sm951.seqwrite_peak_s": partial(_fill_onset_s, sm951),
            "sm951.seqwrite_peak_gb": partial(_fill_onset_gb, sm951),
            "sm951.randwrite_heatsink_iops": partial(
                hour, sm951_cooled, _published("sm951.randwrite_heatsink_iops")
            ),
            "sm951.randwrite_bare_iops": partial(
                hour, sm951, _published("sm951.randwrite_bare_iops")
            ),
            "px1.bare_heat_up_s": partial(_fill_onset_s, bare),
            "px1.fill_with_heatsink_min": partial(_fill_min, cooled),
            "px1.steady_bare_512_iops": partial(hour, bare, _published("px1.steady_bare_512_iops")),
            "px1.sequential_gain_x": partial(_sequential_gain_x, cooled, bare),
            "px1.mixed_random_gain_pct": partial(self._mixed_gain_pct, cooled, bare),
        }
        return {
            name: partial(self._once, name, job, json.dumps(_inputs_of(job)))
            for name, job in jobs.items()
        }

    def _once(self, name: str, job: Callable[[], float], told: str) -> float:
        key = (name, told)
        if key not in self._known:
            self._known[key] = job()
            self.simulations += 1
        return self._known[key]

    def _hour_iops(self, case: _Case, published_iops: float) -> float:
        """The mean of the last 400 s of an hour of random writes."""
        (step,) = [
            step
            for step in protocol.load("anandtech-consistency").steps
            if isinstance(step, WorkloadStep) and step.runtime_s is not None
        ]
        workloads = workloads_json(step, case.drive.user_bytes)
        spare = case.drive.raw_bytes - case.drive.user_bytes
        written = spare + int(published_iops * _PAGE_BYTES * _HOUR_S * 0.9)
        written -= written % _PAGE_BYTES
        # places do not differ in anything that affects flash or host
        still, expected = _still(case.place_json), self._expected[case.drive_id]
        profile = profiles.of_worn(expected, still, workloads, written)
        costing = _costing(profile, case.drive, expected)
        found = _lumped_iops(case.drive_json, case.place_json, costing)
        key = (case.drive_id, case.place_id)
        if self._refining:
            exact = profiles.hour_iops(case.drive_json, case.place_json, workloads, _HOUR_S, _END_S)
            self._exact[key] = exact / found
        return found * self._exact.get(key, 1.0)

    @override
    def refine(self, unit: Vector) -> bool:
        """Measure the error relative to the exact engine's hours here, and assume the same nearby.

        Blocks that are collected differ in what has to be moved, which a mean does not show.
        """
        self._known.clear()
        self._refining = True
        self.rows(self.tables.rounded(unit))
        self._refining = False
        self._known.clear()
        return True

    def _mixed_gain_pct(self, cooled: _Case, bare: _Case) -> float:
        """How much greater the mean of the mixed steps' rates is than a bare drive's."""
        scores = []
        for case in (cooled, bare):
            lumped = Lumped(case.drive_json, case.place_json)
            steps = [
                step
                for step in protocol.load("anandtech-mixed-random").steps
                if isinstance(step, WorkloadStep)
            ]
            before = workloads_json(steps[0], case.drive.user_bytes)
            means = []
            for step in steps:
                workloads = workloads_json(step, case.drive.user_bytes)
                still = _still(case.place_json)
                profile = profiles.of_after(self._expected[case.drive_id], still, before, workloads)
                if step.runtime_s is None:
                    span_mb = json.loads(workloads)[0]["io_bytes"] / 1e6
                    fill(lumped, profile, span_mb)
                else:
                    load = profile.run(lumped, round(step.runtime_s))
                    means.append(float(load["mb_s"].mean()))
            scores.append(sum(means))
        return 100 * (scores[0] / scores[1] - 1)


def _published(name: str) -> float:
    """The middle of a figure's printed range."""
    return sum(published().figure(name).interval) / 2


def _lumped_iops(drive_json: str, place_json: str, profile: Profile) -> float:
    load = profile.run(Lumped(drive_json, place_json), _HOUR_S)
    return float(np.mean(load["mb_s"][-_END_S:])) * 1e6 / _PAGE_BYTES


def _costing(profile: Profile, drive: Drive, measured_json: str) -> Profile:
    """The profile of a drive whose firmware takes another time for each page that it moves.

    Steady random writes are limited by firmware, so all rates are inversely proportional to its
    time.
    """
    moved = profile.work["moved_pages"] / profile.work["host_write_pages"]
    measured = json.loads(measured_json)["controller"]
    command_us, move_us = measured["write_command_us"], measured["move_us"]
    now = drive.controller.write_command_us.value + moved * drive.controller.move_us.value
    factor = (command_us + moved * move_us) / now
    work = {
        key: value if key in ("busy_s", "active_s") else value * factor
        for key, value in profile.work.items()
    }
    return replace(profile, mb_s=profile.mb_s * factor, work=work)


def _still(place_json: str) -> str:
    """The same host in a place where nothing gets warm."""
    place = json.loads(place_json)
    kept = {key: place[key] for key in place if key.startswith(("host", "link_"))}
    link = {"between": ["board", "air"], "k_per_w": 1.0}
    return json.dumps({"air_c": 20.0, "links": {"air": link}, **kept})


def _filling(case: _Case) -> tuple[Lumped, Profile]:
    (step, *_) = [
        step for step in protocol.load("sustained-write").steps if isinstance(step, WorkloadStep)
    ]
    workloads = workloads_json(step, case.drive.user_bytes)
    profile = profile_of_filled(case.drive_json, case.place_json, workloads)
    lumped = Lumped(case.drive_json, case.place_json)
    lumped.rest(_PAUSE_S)
    return lumped, profile


def _fill_onset_s(case: _Case) -> float:
    lumped, profile = _filling(case)
    onset_s = float(profile.run(lumped, _FILL_S)["onset_s"])
    return onset_s if np.isfinite(onset_s) else float(_FILL_S)


def _fill_onset_gb(case: _Case) -> float:
    lumped, profile = _filling(case)
    load = profile.run(lumped, _FILL_S)
    end = len(load["mb_s"]) if np.isnan(load["onset_s"]) else int(load["onset_s"])
    return float(load["mb_s"][:end].sum()) / 1e3


def _fill_min(case: _Case) -> float:
    lumped, profile = _filling(case)
    served = np.cumsum(profile.run(lumped, 3 * _FILL_S)["mb_s"])
    target = case.drive.user_bytes / 1e6
    if served[-1] < target:
        return 3 * _FILL_S / 60
    second = int(np.searchsorted(served, target))
    over = served[second] - target
    step = served[second] - (served[second - 1] if second else 0.0)
    return float(second + 1 - over / step) / 60


def _sequential_gain_x(cooled: _Case, bare: _Case) -> float:
    """The largest ratio of a step's mean to the same step's of a bare drive."""
    gains = []
    for name in ("anandtech-sequential-read", "anandtech-sequential-write"):
        here, there = (_step_means(case, name) for case in (cooled, bare))
        gains += [one / other for one, other in zip(here, there, strict=True)]
    return max(gains)


def _step_means(case: _Case, name: str) -> list[float]:
    lumped = Lumped(case.drive_json, case.place_json)
    means = []
    for step in protocol.load(name).steps:
        if not isinstance(step, WorkloadStep):
            continue
        workloads = workloads_json(step, case.drive.user_bytes)
        profile = profile_of_filled(case.drive_json, case.place_json, workloads)
        if step.runtime_s is None:
            fill(lumped, profile, case.drive.user_bytes / 1e6)
        else:
            means.append(float(profile.run(lumped, round(step.runtime_s))["mb_s"].mean()))
    return means


def _places_of(tables: dict[str, dict[str, object]]) -> dict[str, Enclosure]:
    names = (_BENCH, _WINGS, _PLEXTOR)
    return parse_enclosures(
        {name: tomlkit.dumps(tables[f"enclosures/{name}.toml"]) for name in names}
    )


def _drive(tables: dict[str, dict[str, object]], name: str) -> Drive:
    return Drive.model_validate(tables[f"drives/{name}.toml"])


def _inputs_of(job: Callable[[], float]) -> list[str]:
    """The key of everything that a job depends on."""
    assert isinstance(job, partial)
    cases = [part for part in job.args if isinstance(part, _Case)]
    return [text for case in cases for text in (case.drive_json, case.place_json)]


def _row(name: str, value: float) -> CalibrationRow:
    figure = published().figure(name)
    low, high = figure.interval
    limits = (low - figure.tolerance, high + figure.tolerance)
    kept = _KEPT * figure.tolerance
    return CalibrationRow(name, figure.metric, (low, high), limits, value, "fitted", kept)
