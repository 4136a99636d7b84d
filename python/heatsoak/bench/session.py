"""One command's worth of runs: which cells, on what, into which directories."""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from heatsoak import catalog
from heatsoak.bench.conductor import conduct
from heatsoak.bench.drive_settings import check_thresholds, settings_for_run
from heatsoak.bench.fleet import WORKERS, Fleet
from heatsoak.bench.live import make_view
from heatsoak.bench.observer import Observer
from heatsoak.bench.plan import Plan, Speeds, Traffic, TrafficOf, plan
from heatsoak.bench.progress import View
from heatsoak.errors import HeatsoakError, RunInterrupted, UsageError
from heatsoak.protocol import Conditions, Matrix, Protocol, Replay
from heatsoak.recording import Recording
from heatsoak.sensor import Roots, Sensor, device_behind, discover, hwmon_power
from heatsoak.target import DeviceInfo, Note, Place
from heatsoak.target.hctm import Thresholds
from heatsoak.target.traces import count_quickly, is_shape

#: What a drive is taken to do where nothing is known of it: a fast drive of PCIe 4.0.
UNKNOWN_DRIVE = Speeds(7000, 6500, 1_000_000, 1_000_000, "assumed: a fast PCIe 4.0 drive")
#: What the length of a bundled protocol is told for.
TYPICAL_DRIVE = "samsung-950-pro-512"
#: Common for consumer drives: bytes that may be written for each byte of capacity.
TYPICAL_ENDURANCE_FULL_WRITES = 600


@dataclass(frozen=True)
class Run:
    """One recording to be made."""

    conditions: Conditions
    place: Place
    name: str


@dataclass(frozen=True)
class Preview:
    """What ``--dry-run`` tells of one run.

    `endurance_bytes` is what the drive is rated for, or typical of its size where
    `endurance_is_rated` is false.
    """

    run: Run
    plan: Plan
    size_bytes: int
    endurance_bytes: float
    endurance_is_rated: bool


class Session:
    """Runs of one protocol on one place, each in its own conditions.

    Opening the first target is the first thing that happens: a refusal for safety comes before
    any other complaint.
    """

    def __init__(
        self,
        place: Place,
        load_protocol: Callable[[], Protocol],
        *,
        erase_id: str | None = None,
        power_sensor: str | None = None,
        thresholds: Thresholds | None = None,
        roots: Roots | None = None,
    ) -> None:
        self.place = place
        self.power_sensor = power_sensor
        self.thresholds = thresholds or Thresholds()
        self.erase_id = erase_id
        self.roots = roots or Roots()
        try:
            self.protocol = load_protocol()
        except HeatsoakError:
            # what it would have done is not known: take it for writing, in doubt refuse
            place.refuse_unsafe(writes=True, erase_id=erase_id, roots=self.roots)
            raise
        place.refuse_unsafe(writes=self.protocol.writes, erase_id=erase_id, roots=self.roots)
        self.runs = _runs(self.protocol, place)
        if power_sensor is not None:
            if place.is_simulated:
                raise UsageError(
                    "--power-sensor is of real drives: a simulated one's power is modelled"
                )
            hwmon_power.named(power_sensor, self.roots)
        check_thresholds(place, self.thresholds, self.roots)

    def preview(self) -> list[Preview]:
        """Return what each run would take and write; nothing is touched."""
        return [self._preview(run) for run in self.runs]

    def record(self, directory: Path, *, workers: int = WORKERS) -> list[Recording]:
        """Make all recordings, in `directory` itself or one directory each below it.

        Several on simulated drives are made at once, by `workers` threads; what they hold does not
        depend on it. Where one fails, the others are kept.
        Raises UsageError where the directory holds something already, and what
        :func:`heatsoak.bench.conduct` raises.
        """
        require_empty(directory)
        plans = [preview.plan for preview in self.preview()]
        with make_view(plans, self.protocol.title or self.protocol.name) as view:
            if len(self.runs) == 1:
                return [self._record(self.runs[0], directory, view.begin_run(plans[0], ""))]
            fleet = Fleet[Recording](workers if self.place.is_simulated else 1)
            makers = [
                partial(self._record_one, run, directory / run.name, plan, view, fleet)
                for run, plan in zip(self.runs, plans, strict=True)
            ]
            try:
                results = fleet.make(makers)
            except RunInterrupted:
                raise RunInterrupted(f"stopped; the recordings so far are in {directory}") from None
        return self._whole(results, directory)

    def _whole(
        self, results: Sequence[Recording | HeatsoakError | None], directory: Path
    ) -> list[Recording]:
        """The recordings, where all of them were made; else raise the first one's error."""
        failed = [
            (run.name, result)
            for run, result in zip(self.runs, results, strict=True)
            if isinstance(result, HeatsoakError)
        ]
        whole = [result for result in results if isinstance(result, Recording)]
        if not failed:
            return whole
        (name, error), *others = failed
        also = f"; so did {', '.join(name for name, _ in others)}" if others else ""
        kept = f"{len(whole)} of {len(results)} recordings are whole"
        look = f": heatsoak analyze {directory}" if whole else ""
        raise type(error)(f"{name} failed: {error}{also}; {kept}{look}")

    def _record_one(
        self, run: Run, directory: Path, plan: Plan, view: View, fleet: Fleet[Recording]
    ) -> Recording:
        """One of several."""
        seen = view.begin_run(plan, run.name)
        try:
            return self._record(run, directory, fleet.stoppable(seen))
        finally:
            seen.end()

    def _record(self, run: Run, directory: Path, observer: Observer) -> Recording:
        with settings_for_run(run.place, self.thresholds, self.roots) as notes:
            return self._record_as_set(run, directory, observer, notes)

    def _record_as_set(
        self, run: Run, directory: Path, observer: Observer, settings: list[Note]
    ) -> Recording:
        target = run.place.target(
            self.protocol, erase_id=self.erase_id, roots=self.roots, raw_dir=directory / "raw"
        )
        sensors: list[Sensor] = []
        try:
            notes = settings + target.open(self.protocol.writes)
            behind = run.place.device_info(self.roots)
            if not run.place.is_simulated:
                name = None if behind is None else behind.name
                sensors = discover(name, self.roots, power=self.power_sensor)
                notes += _same_drive(directory, name, self.roots)
            return conduct(
                self.protocol,
                target,
                run.conditions,
                directory,
                sensors=sensors,
                observer=observer,
                notes=notes,
            )
        finally:
            target.close()
            for sensor in sensors:
                sensor.close()

    def _preview(self, run: Run) -> Preview:
        size_bytes = run.place.size_bytes(self.protocol, self.roots)
        rated = run.place.rated
        if rated is not None:
            speeds, endurance_bytes = _rated_speeds(rated), rated.endurance_bytes
        else:
            behind = run.place.device_info(self.roots)
            whole_bytes = size_bytes if behind is None else behind.size_bytes
            speeds = _greatest_speeds(behind)
            endurance_bytes = whole_bytes * TYPICAL_ENDURANCE_FULL_WRITES
        steps = plan(self.protocol, size_bytes, speeds, _traffic_on(size_bytes))
        return Preview(run, steps, size_bytes, endurance_bytes, rated is not None)


def _runs(protocol: Protocol, place: Place) -> list[Run]:
    cells = protocol.cells()
    matrix = protocol.matrix
    if place.is_simulated:
        if matrix is None or matrix.enclosure is None or place.enclosure is not None:
            fixed = {k: v for k, v in cells[0].items() if all(c[k] == v for c in cells)}
            here = place.in_enclosure(place.enclosure)
            assert here.enclosure is not None
            conditions = {**fixed, "enclosure": here.enclosure}
            return [Run(conditions, here, here.enclosure)]
        return [
            Run(cell, place.in_enclosure(matrix.enclosure_of(cell)), _name(cell, matrix))
            for cell in cells
        ]
    if matrix is not None:
        by_hand = {tuple(cell[name] for name in matrix.by_hand) for cell in cells}
        if len(by_hand) > 1:
            example = " ".join(f"--set {name}={cells[0][name]}" for name in matrix.axes)
            raise UsageError(
                f"{protocol.name} walks through {len(by_hand)} places that only hands can change "
                f"on a real machine: name the one that the drive is in, such as {example}"
            )
    for cell in cells:
        for heat in protocol.heat:
            if heat.source != "person" and heat.is_on(cell) and cell.get("heat") != "by-hand":
                raise UsageError(
                    f"{protocol.name} wants {heat.source} heat at {heat.load_pct:g} % here, which "
                    "heatsoak cannot command yet: make it yourself and say --set heat=by-hand"
                )
    return [Run(cell, place, _name(cell, matrix)) for cell in cells]


def _name(cell: Conditions, matrix: Matrix | None) -> str:
    """A directory's name that tells a cell from the others."""
    axes = list(cell) if matrix is None else list(matrix.axes)
    words = [f"{axis}-{cell[axis]}" for axis in axes]
    return re.sub(r"[^A-Za-z0-9._-]+", "_", "_".join(words)) or "run"


def _traffic_on(size_bytes: int) -> TrafficOf:
    """What replays move on a target of `size_bytes`, where that can be known quickly."""

    @cache
    def traffic_of(step: Replay) -> Traffic | None:
        counted = count_quickly(step, size_bytes)
        return None if counted is None else Traffic(*counted)

    return traffic_of


def _rated_speeds(drive: catalog.Drive) -> Speeds:
    return Speeds(
        drive.read_mb_s, drive.write_mb_s, drive.read_iops, drive.write_iops, f"{drive.id}, rated"
    )


def _greatest_speeds(behind: DeviceInfo | None) -> Speeds:
    """What an unknown drive could do at most: a fast one, or what its link carries."""
    ceiling_mb_s = None if behind is None else behind.link.get("ceiling_mb_s")
    if not isinstance(ceiling_mb_s, int | float) or ceiling_mb_s >= UNKNOWN_DRIVE.read_mb_s:
        return UNKNOWN_DRIVE
    return replace(
        UNKNOWN_DRIVE,
        read_mb_s=float(ceiling_mb_s),
        write_mb_s=min(float(ceiling_mb_s), UNKNOWN_DRIVE.write_mb_s),
        source=f"at most what the drive's link carries, {ceiling_mb_s:,.0f} MB/s",
    )


def _same_drive(directory: Path, behind: str | None, roots: Roots) -> list[Note]:
    existing = next(path for path in (directory, *directory.parents) if path.exists())
    if behind is None or device_behind(existing, roots) != behind:
        return []
    return [
        Note(
            "warning",
            f"the recording lies on {behind}, the drive under test: "
            "its own writing is measured too; -o on another drive avoids that",
        )
    ]


def require_empty(directory: Path) -> None:
    """Raise UsageError where `directory` holds something already."""
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise UsageError(f"{directory}: is there already: name a new directory with -o")


def typical_plan(protocol: Protocol) -> Plan:
    """Return how long one recording takes and writes on a drive of the published kind."""
    drive = catalog.load_drive(TYPICAL_DRIVE)
    size_bytes = min(drive.user_bytes, protocol.file_size.of(drive.user_bytes))
    shapes = _traffic_on(size_bytes)
    return plan(
        protocol,
        size_bytes,
        _rated_speeds(drive),
        lambda step: shapes(step) if is_shape(step) else None,
    )


def default_directory(name: str, parent: Path = Path("recordings")) -> Path:
    """Return a directory below `parent` that is not there yet, named after protocol and time."""
    stem = f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    path = parent / stem
    count = 2
    while path.exists():
        path = parent / f"{stem}-{count}"
        count += 1
    return path
