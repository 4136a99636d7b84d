"""One command's worth of runs: which cells, on what, into which directories."""

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from heatsoak import catalog
from heatsoak.bench.conductor import conduct
from heatsoak.bench.directories import begun_in, clear, finished_in, require_empty
from heatsoak.bench.drive_settings import check_thresholds, settings_for_run
from heatsoak.bench.fleet import WORKERS, Fleet
from heatsoak.bench.live import make_view
from heatsoak.bench.observer import Observer
from heatsoak.bench.past import Past
from heatsoak.bench.places import (
    Preview,
    Run,
    preview,
    rated_speeds,
    sensors_at,
    sensors_of_tree,
    traffic_on,
)
from heatsoak.bench.plan import Plan, plan
from heatsoak.bench.progress import View
from heatsoak.errors import HeatsoakError, RunInterrupted, UsageError
from heatsoak.protocol import Conditions, Matrix, Protocol
from heatsoak.recording import META, Recording
from heatsoak.recording.layout import RAW
from heatsoak.sensor import Roots, hwmon_power
from heatsoak.target import Note, Place
from heatsoak.target.hctm import Thresholds
from heatsoak.target.lock import drives_held
from heatsoak.target.traces import is_shape

#: What the length of a bundled protocol is told for.
TYPICAL_DRIVE = "samsung-950-pro-512"


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
        sensors: Path | None = None,
        thresholds: Thresholds | None = None,
        roots: Roots | None = None,
    ) -> None:
        self.place = place
        self.sensors = sensors
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
        copies = bool(self.protocol.copies)  # what it names is only read then
        writes = self.protocol.writes and not copies
        place.refuse_unsafe(writes=writes, erase_id=erase_id, roots=self.roots)
        if copies:
            raise UsageError(
                f"{self.protocol.name} copies from one drive to another: "
                f"--on {place.text} is the source, name the destination with --to"
            )
        self.runs = _runs(self.protocol, place)
        if power_sensor is not None:
            if place.is_simulated:
                raise UsageError(
                    "--power-sensor is of real drives: a simulated one's power is modelled"
                )
            hwmon_power.named(power_sensor, self.roots)
        check_thresholds(place, self.thresholds, self.roots)
        if sensors is not None:
            if place.kind != "nbd":
                raise UsageError(
                    f"--sensors is for NBD exports: those of {place.text} are found without it"
                )
            for sensor in sensors_of_tree(sensors):
                sensor.close()

    def preview(self) -> list[Preview]:
        """Return what each run would take and write; nothing is touched."""
        return [preview(run, self.protocol, self.roots) for run in self.runs]

    def record(
        self, directory: Path, *, resume: bool = False, workers: int = WORKERS
    ) -> list[Recording]:
        """Make all recordings, in `directory` itself or one directory each below it.

        Several on simulated drives are made at once, by `workers` threads; what they hold does not
        depend on it. Where one fails, the others are kept. With `resume`, recordings that are whole
        are left as they are, and those that were cut are gone on with.
        Raises UsageError where the directory holds something already, RefusedError where another
        run has the drive, and what :func:`heatsoak.bench.conduct` raises.
        """
        purpose = f"recording into {directory.absolute()}"
        with drives_held([run.place for run in self.runs], self.roots, purpose):
            if not resume:
                require_empty(directory, ", or go on with what was begun there with --resume")
            elif len(self.runs) == 1:
                begun_in(directory)  # says what is there instead
            elif (directory / META).exists():
                raise UsageError(
                    f"{directory}: is one recording, and {self.protocol.name} makes "
                    f"{len(self.runs)} here: repeat the command as it was"
                )
            return self._record_all(directory, workers)

    def _record_all(self, directory: Path, workers: int) -> list[Recording]:
        is_alone = len(self.runs) == 1
        places = [directory if is_alone else directory / run.name for run in self.runs]
        results: list[Recording | HeatsoakError | None] = [finished_in(place) for place in places]
        todo = [index for index, result in enumerate(results) if result is None]
        previews = self.preview()
        plans = [previews[index].plan for index in todo]
        with make_view(plans, self.protocol.title or self.protocol.name) as view:
            if is_alone:
                return [
                    result
                    if isinstance(result, Recording)
                    else self._record(self.runs[0], directory, view.begin_run(plans[0], ""))
                    for result in results
                ]
            fleet = Fleet[Recording](workers if self.place.is_simulated else 1)
            makers = [
                partial(self._record_one, self.runs[index], places[index], plan, view, fleet)
                for index, plan in zip(todo, plans, strict=True)
            ]
            try:
                made = fleet.make(makers)
            except RunInterrupted:
                raise RunInterrupted(
                    f"stopped; the recordings so far are in {directory}, "
                    "and --resume goes on with them"
                ) from None
        for index, result in zip(todo, made, strict=True):
            results[index] = result
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
        begun = begun_in(directory)
        past = None if begun is None else Past(begun)
        target = run.place.target(
            self.protocol,
            erase_id=self.erase_id,
            roots=self.roots,
            raw_dir=directory / RAW,
            start_s=0.0 if past is None else past.start_s,
            file_bytes=None if past is None else past.file_bytes,
        )
        try:
            if past is not None:
                past.require_same(self.protocol, run.conditions, target.identity)
            if past is None or run.place.is_simulated:
                # a simulated drive went with its process, and the same comes again from its begin
                clear(directory)
                past = None
            notes = settings + target.open(self.protocol.writes)
            with sensors_at(
                run.place, directory, self.roots, self.power_sensor, self.sensors
            ) as found:
                sensors, more = found
                return conduct(
                    self.protocol,
                    target,
                    run.conditions,
                    directory,
                    sensors=sensors,
                    observer=observer,
                    notes=notes + more,
                    past=past,
                )
        finally:
            target.close()


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


def typical_plan(protocol: Protocol) -> Plan:
    """Return how long one recording takes and writes on a drive of the published kind."""
    drive = catalog.load_drive(TYPICAL_DRIVE)
    size_bytes = min(drive.user_bytes, protocol.file_size.of(drive.user_bytes))
    shapes = traffic_on(size_bytes)
    return plan(
        protocol,
        size_bytes,
        rated_speeds(drive),
        lambda step: shapes(step) if is_shape(step) else None,
    )
