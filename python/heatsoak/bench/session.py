"""One command's runs, each of them planned, claimed, taken and closed.

:func:`plan_session` checks and plans; it only reads. :meth:`Session.record` makes all runs, for
each of which :meth:`Session.claimed` has the guard look, sets what was asked for and finds the
sensors; :meth:`heatsoak.bench.conductor.Conductor.run` takes the steps and ends the recordings, and
leaving `claimed` puts everything back.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from heatsoak import errors, writing
from heatsoak.bench import by_hand, copying, directories, progress
from heatsoak.bench.conductor import Conductor
from heatsoak.bench.falls import FallOptions
from heatsoak.bench.fleet import WORKERS, Fleet
from heatsoak.bench.heating import Heaters, HeatSource
from heatsoak.bench.places import (
    PlannedRow,
    plan_of,
    planned_row,
    plans_of,
    require_thresholds,
    runs_of,
    sensors_at,
    sensors_of_tree,
    settings_for_run,
    wait_for_sanitize,
)
from heatsoak.bench.plan import PlannedRun, RunPlan
from heatsoak.bench.recorder import Side
from heatsoak.bench.resume import Past, require_same_run
from heatsoak.protocol import Conditions, Protocol
from heatsoak.recording import META, Recording
from heatsoak.recording.meta import RAW
from heatsoak.sensor import Roots, hwmon
from heatsoak.target import Place, hctm
from heatsoak.target.lock import drives_held
from heatsoak.target.place import drive_at, drives_of, found_again

#: What became of several runs: recordings, an error, or nothing where none was started.
Results = Sequence[list[Recording] | errors.HeatsoakError | None]


@dataclass(frozen=True)
class DriveOptions:
    """What the user asked of a real drive.

    Attributes:
        power_sensor: the hwmon node that measures its power.
        sensors: the directory that an export's drive has its sensors in.
        thresholds: temperatures that an NVMe drive slows at, set for each run and put back.
        falls: what is to be done when throughput falls; of any drive, simulated ones too.
    """

    power_sensor: str | None = None
    sensors: Path | None = None
    thresholds: hctm.Thresholds = field(default_factory=hctm.Thresholds)
    falls: FallOptions = field(default_factory=FallOptions)


def plan_session(
    place: Place,
    load_protocol: Callable[[], Protocol],
    *,
    copy_from: Callable[[], Place] | None = None,
    erase_id: str | None = None,
    options: DriveOptions | None = None,
    tell: Callable[[str], None] | None = None,
    warn: Callable[[str], None] = lambda _: None,
) -> "Session":
    """Return the runs of a protocol on `place`, once it is known that the place can be used.

    With `copy_from` the protocol copies from there to `place`. Nothing is touched, and no drive is
    opened for writing. Whether writing could destroy something is checked first: a refusal for
    safety comes before any other complaint, what cannot be found or read after that.
    With `tell`, a drive that sanitizes itself is waited for before it is read, and `tell` gets a
    line meanwhile. Without, the drive is asked nothing. `warn` gets a line on what is on a drive
    that the user agrees to lose.
    """
    options = options or DriveOptions()
    wait = None if tell is None else partial(wait_for_sanitize, place, tell)
    if copy_from is not None:
        protocol, run = copying.plan_copy(
            place, copy_from, load_protocol, erase_id=erase_id, before_reading=wait, warn=warn
        )
        of_one_drive = {
            "--power-sensor": options.power_sensor is not None,
            "--sensors": options.sensors is not None,
            "--stop-at": options.falls.limit is not None,
            "--on-fall": options.falls.command is not None,
            hctm.OPTIONS: options.thresholds.is_asked,
            **{key: key in run.conditions for key in hctm.SETTINGS},
        }
        for option in (name for name, is_given in of_one_drive.items() if is_given):
            raise errors.UsageError(f"{option}: applies to one drive, but a copy has two")
        session = Session(place, protocol, [run], options)
    else:
        protocol = _load_safely(place, load_protocol, erase_id, wait, warn)
        axes = [] if place.is_simulated else by_hand.axes_by_hand(protocol)
        session = Session(place, protocol, runs_of(protocol, place, axes, erase_id), options, axes)
        _check_options(place, options)
        for run in session.runs:
            require_thresholds(place, options.thresholds.in_run(run.conditions), Roots())
    if erase_id is not None and place.kind not in ("block", "nbd"):
        # nothing has to be destroyed there: it means another target
        raise errors.UsageError(
            f"--erase {erase_id}: is for whole drives (/dev/...) and NBD exports, and {place.text} "
            "is neither: leave it out, or name the drive with --on"
        )
    return session


def _load_safely(
    place: Place,
    load_protocol: Callable[[], Protocol],
    erase_id: str | None,
    wait: Callable[[], None] | None,
    warn: Callable[[str], None],
) -> Protocol:
    """Load a protocol for one drive; raise RefusedError first where the place must not be used."""
    roots = Roots()
    try:
        protocol = load_protocol()
    except errors.HeatsoakError:
        # what it would have done is not known: take it for writing, in doubt refuse
        place.refuse_unsafe(writes=True, erase_id=erase_id, roots=roots)
        raise
    writes = protocol.writes and not protocol.copies  # else the place is only read
    if place.kind == "nbd" and protocol.writes:
        with drives_held([place], roots, None):
            pass  # an export that another run loads is not looked at; of a drive the guard knows
    place.refuse_unsafe(
        writes=writes, erase_id=erase_id, roots=roots, before_reading=wait, warn=warn
    )
    if place.kind == "directory":
        place.size_bytes(protocol, roots)  # in memory, it may be refused
    if protocol.copies:
        raise errors.UsageError(
            f"{protocol.name} copies from one drive to another: "
            f"--on {place.text} is the source, name the destination with --to"
        )
    return protocol


def _check_options(place: Place, options: DriveOptions) -> None:
    """Raise UsageError for options that the place cannot have; no drive is asked."""
    if options.power_sensor is not None:
        if place.is_simulated:
            raise errors.UsageError(
                "--power-sensor only applies to real drives: a simulated one's power is modelled"
            )
        hwmon.named_power(options.power_sensor, Roots())
    if options.sensors is not None:
        if place.kind != "nbd":
            raise errors.UsageError(
                f"--sensors is for NBD exports: those of {place.text} are found without it"
            )
        for sensor in sensors_of_tree(options.sensors):
            sensor.close()


@dataclass(eq=False)
class Session:
    """Planned runs of one protocol, each in its own conditions; see :func:`plan_session`.

    Attributes:
        axes_by_hand: the axes of the matrix that only hands can change between runs.
    """

    place: Place
    protocol: Protocol
    runs: list[PlannedRun]
    options: DriveOptions
    axes_by_hand: Sequence[str] = ()
    roots: Roots = field(default_factory=Roots)
    _held_back: Callable[[], AbstractContextManager[None]] = nullcontext

    def __post_init__(self) -> None:
        self.heaters = Heaters(self.protocol, self._ask)

    def _ask(self, wanted: str) -> None:
        """Ask whoever is at the terminal, with what is shown of a run held back meanwhile."""
        with self._held_back():
            by_hand.ask(wanted)

    def preview(self) -> list[PlannedRow]:
        """Return what each run would take and write, of a copy each side; nothing is touched."""
        rows: list[PlannedRow] = []
        before: Conditions | None = None
        for run in self.runs:
            heat = [] if self.place.is_simulated else self.heaters.preview(run.conditions)
            set_up = by_hand.changed(run.conditions, before, self.axes_by_hand)
            plans = plans_of(run, self.roots)
            for part, plan in zip(run.parts, plans, strict=True):
                rows.append(planned_row(part, plan, self.roots, set_up, heat))
            before = run.conditions
        return rows

    def record(
        self,
        directory: Path,
        *,
        resume: bool = False,
        workers: int = WORKERS,
        when_held: Callable[[], None] = lambda: None,
    ) -> list[Recording]:
        """Make all recordings, in `directory` itself or one directory each below it.

        Several on simulated drives are made at once, by `workers` threads; what they hold does not
        depend on it. On a real machine they are made one after the other, and whoever is at the
        terminal is asked for what only hands can change. Where one fails, the others are kept. A
        copy is recorded into `source` and `destination`. With `resume`, recordings that are
        finished are left as they are, and those that were cut are resumed; a copy that was cut is
        kept beside `directory` and repeated. `when_held` is called once the drives are locked,
        before anything is written to them.
        Raises UsageError where the directory already holds something, where hands are needed and
        there is no terminal, and for heat that cannot be commanded here; RefusedError where another
        run has the drive, and what :class:`heatsoak.bench.conductor.Conductor` raises.
        """
        done = self._finished(directory) if resume else {}
        todo = [run for run in self.runs if run.name not in done]
        if todo:
            by_hand.require_hands(self.protocol, todo, self.axes_by_hand)
        for run in todo:
            self._heat_of(run, directory)  # what cannot be is said before anything starts
        purpose = f"recording into {directory.absolute()}"
        places = [part.place for run in todo for part in run.parts]
        with drives_held(places, self.roots, purpose):
            if not resume:
                writing.require_new(directory, ", or continue what was started there with --resume")
            if todo:
                for wanted in {self.options.thresholds.in_run(run.conditions) for run in todo}:
                    require_thresholds(self.place, wanted, self.roots, asks=True)
            when_held()
            plans = {run.name: plan_of(run, self.roots) for run in todo}
            title = self.protocol.title or self.protocol.name
            with progress.make_view(list(plans.values()), title) as view:
                self._held_back = view.held_back
                if len(self.runs) > 1:
                    results = self._record_several(todo, directory, view, plans, workers)
                else:
                    results = []
                    for run in todo:
                        shown = view.begin_run(plans[run.name], "")
                        with self.claimed(run, directory, shown) as conductor:
                            results.append(conductor.run(self._heat_of(run, directory)))
        made = dict(zip((run.name for run in todo), results, strict=True))
        return self._whole([done.get(run.name, made.get(run.name)) for run in self.runs], directory)

    @contextmanager
    def claimed(
        self, run: PlannedRun, directory: Path, observer: progress.Observer
    ) -> Iterator[Conductor]:
        """Claim a run's drives, and yield what takes its steps; what was set is put back after it.

        The guard comes first: no setting, no sensor and no earlier recording is touched before it.
        What was started in `directory` is resumed; of a copy it is set aside.
        """
        started = _started(run, directory)
        past = None if run.is_copy or started[0] is None else Past(started[0])
        with ExitStack() as stack:
            targets = []
            for part in run.parts:
                target = part.place.target(
                    part.protocol,
                    erase_id=part.erase_id,
                    roots=self.roots,
                    raw_dir=part.directory(directory) / RAW,
                    start_s=0.0 if past is None else past.start_s,
                    file_bytes=None if past is None else past.file_bytes,
                    thresholds=self.options.thresholds.in_run(run.conditions),
                )
                stack.callback(target.close)
                targets.append(target)
            for part, target, begun in zip(run.parts, targets, started, strict=True):
                if past is not None:
                    past.require_same(part.protocol, part.conditions, target.identity)
                elif begun is not None:
                    require_same_run(begun, part.protocol, part.conditions, target.identity)
            both = list(zip(run.parts, targets, strict=True))
            # a copy's destination is opened first: it is what could be refused
            opened = [target.open(part.writes) for part, target in reversed(both)][::-1]
            if run.is_copy and any(started):
                aside = directories.set_aside(directory)
                opened = [[aside, *notes] for notes in opened]
            if past is None or run.is_simulated:
                # a simulated drive went with its process, and does the same again from the start
                past = None
                for part in run.parts:
                    directories.clear(part.directory(directory))
            sides = []
            for part, notes in zip(run.parts, opened, strict=True):
                own, options = part.directory(directory), self.options
                # set what was asked for, and find the sensors; the stack puts back and closes
                wanted = options.thresholds.in_run(part.conditions)
                settings = stack.enter_context(settings_for_run(part.place, wanted, self.roots))
                sensors, more = stack.enter_context(
                    sensors_at(part.place, own, self.roots, options.power_sensor, options.sensors)
                )
                known = [*settings, *notes, *more, *part.notes]
                sides.append(
                    Side(part.protocol, part.conditions, own, sensors, known, part.part_of_copy)
                )
            yield Conductor(
                run.turns,
                drives_of(targets),
                sides,
                observer,
                past,
                self.protocol.notes,
                self.options.falls,
            )

    def _heat_of(self, run: PlannedRun, directory: Path) -> list[HeatSource]:
        """What heats a run; raises UsageError where that cannot be commanded here."""
        if run.is_simulated:  # its enclosure has the heat
            return []
        return self.heaters.of_run(run.conditions, directory)

    def _finished(self, directory: Path) -> dict[str, list[Recording]]:
        """The recordings that are finished already, by the names of their runs."""
        if len(self.runs) > 1 and (directory / META).exists():
            raise errors.UsageError(
                f"{directory}: is one recording, and {self.protocol.name} makes {len(self.runs)} "
                "here: repeat the command as it was"
            )
        found = {}
        for run in self.runs:
            own = directory if len(self.runs) == 1 else directory / run.name
            started = _started(run, own)
            finished = [one for one in started if one and one.meta.status == "finished"]
            if len(finished) == len(run.parts):
                found[run.name] = finished
        return found

    def _record_several(
        self,
        runs: Sequence[PlannedRun],
        directory: Path,
        view: progress.SessionView,
        plans: dict[str, RunPlan],
        workers: int,
    ) -> Results:
        fleet = Fleet[list[Recording]](workers)

        def make(run: PlannedRun) -> list[Recording]:
            seen = view.begin_run(plans[run.name], run.name)
            seen.stop = fleet.stop
            try:
                own = directory / run.name
                with self.claimed(run, own, seen) as conductor:
                    made = conductor.run(self._heat_of(run, own))
            except BaseException:
                seen.end(failed=True)
                raise
            seen.end()
            return made

        try:
            if self.place.is_simulated:
                return fleet.make([partial(make, run) for run in runs])
            return self._walk(runs, make)
        except errors.LimitReachedError:
            raise
        except (KeyboardInterrupt, errors.RunInterrupted):
            kept = (
                f"the recordings so far are in {directory}, and --resume continues them"
                if directory.exists()
                else "nothing was recorded"
            )
            raise errors.RunInterrupted(f"stopped; {kept}") from None

    def _walk(
        self, runs: Sequence[PlannedRun], make: Callable[[PlannedRun], list[Recording]]
    ) -> Results:
        """Make runs one after the other, asking for what only hands can change in between."""
        before = drive_at(self.place, self.roots)
        here = self.place

        def set_up(wanted: Conditions) -> None:
            nonlocal here
            self._ask(f"Set up: {by_hand.described(wanted)}")
            here = found_again(self.place, before, self.roots)

        return by_hand.walk(runs, self.axes_by_hand, set_up, lambda run: make(run.at(here)))

    def _whole(self, results: Results, directory: Path) -> list[Recording]:
        """The recordings, where all of them were made; else raise the first one's error."""
        failed = [
            (run.name, result)
            for run, result in zip(self.runs, results, strict=True)
            if isinstance(result, errors.HeatsoakError)
        ]
        whole = [result for result in results if isinstance(result, list)]
        if not failed:
            return [recording for recordings in whole for recording in recordings]
        (name, error), *others = failed
        also = f"; so did {', '.join(name for name, _ in others)}" if others else ""
        kept = f"{len(whole)} of {len(results)} recordings are complete"
        look = f": heatsoak analyze {directory}" if whole else ""
        raise type(error)(f"{name} failed: {error}{also}; {kept}{look}")


def _started(run: PlannedRun, directory: Path) -> list[Recording | None]:
    """What was recorded of a run already, for each of its drives."""
    if run.is_copy:
        directories.require_copy(directory)
    return [directories.started_in(part.directory(directory)) for part in run.parts]
