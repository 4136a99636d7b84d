"""One command's worth of runs: which cells, on what, into which directories."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

from heatsoak.bench.cells import by_hand, require_hands, runs_of
from heatsoak.bench.conductor import conduct
from heatsoak.bench.directories import begun_in, clear, require_empty
from heatsoak.bench.drive_settings import check_thresholds, require_thresholds, settings_for_run
from heatsoak.bench.fleet import WORKERS, Fleet
from heatsoak.bench.heat_sources import HeatSources
from heatsoak.bench.heating import Heating
from heatsoak.bench.live import make_view
from heatsoak.bench.observer import Observer
from heatsoak.bench.past import Past
from heatsoak.bench.places import Preview, Run, preview, sensors_at, sensors_of_tree
from heatsoak.bench.plan import Plan
from heatsoak.bench.progress import View
from heatsoak.bench.prompt import Prompt
from heatsoak.bench.unfinished import wait_for_sanitize
from heatsoak.bench.walking import changed, described, walk
from heatsoak.errors import HeatsoakError, RunInterrupted, UsageError
from heatsoak.protocol import Conditions, Protocol
from heatsoak.recording import META, Recording
from heatsoak.recording.meta import RAW
from heatsoak.sensor import Roots, hwmon
from heatsoak.target import Place
from heatsoak.target.hctm import Thresholds
from heatsoak.target.lock import drives_held
from heatsoak.target.place import drive_at, found_again

#: What became of several runs: a recording, an error, or nothing where none was begun.
Results = Sequence[Recording | HeatsoakError | None]


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
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """Check that the place can be used; nothing is touched, and no drive is opened for writing.

        With `tell`, a drive that sanitizes itself is waited for before it is read, and `tell` is
        given a line meanwhile. Without, it is asked nothing.
        """
        self.place = place
        self.sensors = sensors
        self.power_sensor = power_sensor
        self.thresholds = thresholds or Thresholds()
        self.erase_id = erase_id
        self.roots = roots or Roots()
        self._prompt = Prompt(nullcontext)
        try:
            self.protocol = load_protocol()
        except HeatsoakError:
            # what it would have done is not known: take it for writing, in doubt refuse
            place.refuse_unsafe(writes=True, erase_id=erase_id, roots=self.roots)
            raise
        copies = bool(self.protocol.copies)  # what it names is only read then
        writes = self.protocol.writes and not copies
        place.refuse_unsafe(
            writes=writes,
            erase_id=erase_id,
            roots=self.roots,
            before_reading=None if tell is None else partial(wait_for_sanitize, place, tell, roots),
        )
        if copies:
            raise UsageError(
                f"{self.protocol.name} copies from one drive to another: "
                f"--on {place.text} is the source, name the destination with --to"
            )
        #: What only hands can change between runs.
        self.axes_by_hand = [] if place.is_simulated else by_hand(self.protocol)
        self.heat = HeatSources(self.protocol, lambda wanted: self._prompt.ask(wanted))
        self.runs = runs_of(self.protocol, place, self.axes_by_hand)
        if power_sensor is not None:
            if place.is_simulated:
                raise UsageError(
                    "--power-sensor is of real drives: a simulated one's power is modelled"
                )
            hwmon.named_power(power_sensor, self.roots)
        require_thresholds(place, self.thresholds, self.roots)
        if sensors is not None:
            if place.kind != "nbd":
                raise UsageError(
                    f"--sensors is for NBD exports: those of {place.text} are found without it"
                )
            for sensor in sensors_of_tree(sensors):
                sensor.close()

    @property
    def all_places(self) -> list[Place]:
        """What is loaded."""
        return [self.place]

    def preview(self) -> list[Preview]:
        """Return what each run would take and write; nothing is touched."""
        previews: list[Preview] = []
        before: Conditions | None = None
        for run in self.runs:
            previews.append(
                replace(
                    preview(run, self.protocol, self.roots),
                    set_up=changed(run.conditions, before, self.axes_by_hand),
                    heat=self.heat.preview(run),
                )
            )
            before = run.conditions
        return previews

    def record(
        self, directory: Path, *, resume: bool = False, workers: int = WORKERS
    ) -> list[Recording]:
        """Make all recordings, in `directory` itself or one directory each below it.

        Several on simulated drives are made at once, by `workers` threads; what they hold does not
        depend on it. On a real machine they are made one after the other, and whoever is at the
        terminal is asked for what only hands can change. Where one fails, the others are kept. With
        `resume`, recordings that are whole are left as they are, and those that were cut are gone
        on with.
        Raises UsageError where the directory holds something already, where hands are needed and
        there is no terminal, and for heat that cannot be commanded here; RefusedError where another
        run has the drive, and what :func:`heatsoak.bench.conduct` raises.
        """
        done = self._done(directory) if resume else {}
        todo = [run for run in self.runs if run.name not in done]
        if todo:
            require_hands(self.protocol, todo, self.axes_by_hand)
        for run in todo:
            self.heat.of_run(run, directory)  # what cannot be is said before anything begins
        purpose = f"recording into {directory.absolute()}"
        with drives_held([run.place for run in todo], self.roots, purpose):
            if not resume:
                require_empty(directory, ", or go on with what was begun there with --resume")
            if todo:
                check_thresholds(self.place, self.thresholds, self.roots)
            results = self._record_all(todo, directory, workers)
        made = dict(zip((run.name for run in todo), results, strict=True))
        return self._whole([done.get(run.name, made.get(run.name)) for run in self.runs], directory)

    def _done(self, directory: Path) -> dict[str, Recording]:
        """The recordings that are whole already, by the names of their runs."""
        if len(self.runs) > 1 and (directory / META).exists():
            raise UsageError(
                f"{directory}: is one recording, and {self.protocol.name} makes {len(self.runs)} "
                "here: repeat the command as it was"
            )
        found = {}
        for run in self.runs:
            begun = begun_in(self._directory_of(run, directory))
            if begun is not None and begun.meta.status == "finished":
                found[run.name] = begun
        return found

    def _directory_of(self, run: Run, directory: Path) -> Path:
        return directory if len(self.runs) == 1 else directory / run.name

    def _record_all(self, runs: Sequence[Run], directory: Path, workers: int) -> Results:
        wanted = [run.name for run in runs]
        plans = [one.plan for one in self.preview() if one.run.name in wanted]
        with make_view(plans, self.protocol.title or self.protocol.name) as view:
            self._prompt = Prompt(view.held_back)
            if len(self.runs) == 1:
                return [
                    self._record(run, directory, view.begin_run(plan, ""))
                    for run, plan in zip(runs, plans, strict=True)
                ]
            try:
                if self.place.is_simulated:
                    return self._record_at_once(runs, plans, directory, workers, view)
                return self._walk(runs, plans, directory, view)
            except (KeyboardInterrupt, RunInterrupted):
                kept = (
                    f"the recordings so far are in {directory}, and --resume goes on with them"
                    if directory.exists()
                    else "nothing was recorded"
                )
                raise RunInterrupted(f"stopped; {kept}") from None

    def _record_at_once(
        self,
        runs: Sequence[Run],
        plans: Sequence[Plan],
        directory: Path,
        workers: int,
        view: View,
    ) -> Results:
        fleet = Fleet[Recording](workers)
        return fleet.make(
            [
                partial(self._record_one, run, directory, plan, view, fleet.stoppable)
                for run, plan in zip(runs, plans, strict=True)
            ]
        )

    def _walk(
        self, runs: Sequence[Run], plans: Sequence[Plan], directory: Path, view: View
    ) -> Results:
        before = drive_at(self.place, self.roots)
        plan_of = dict(zip((run.name for run in runs), plans, strict=True))
        here = self.place

        def set_up(wanted: Conditions) -> None:
            nonlocal here
            self._prompt.ask(f"Set up: {described(wanted)}")
            here = found_again(self.place, before, self.roots)

        def make(run: Run) -> Recording:
            there = replace(run, place=here)
            return self._record_one(there, directory, plan_of[run.name], view)

        return walk(runs, self.axes_by_hand, set_up, make)

    def _whole(self, results: Results, directory: Path) -> list[Recording]:
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
        self,
        run: Run,
        directory: Path,
        plan: Plan,
        view: View,
        stoppable: Callable[[Observer], Observer] = lambda observer: observer,
    ) -> Recording:
        """One of several."""
        seen = view.begin_run(plan, run.name)
        try:
            return self._record(run, directory / run.name, stoppable(seen))
        finally:
            seen.end()

    def _record(self, run: Run, directory: Path, observer: Observer) -> Recording:
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
            notes = target.open(self.protocol.writes)  # the guard comes first
            with (
                settings_for_run(run.place, self.thresholds, self.roots) as settings,
                sensors_at(
                    run.place, directory, self.roots, self.power_sensor, self.sensors
                ) as found,
            ):
                sensors, more = found
                return conduct(
                    self.protocol,
                    target,
                    run.conditions,
                    directory,
                    sensors=sensors,
                    observer=observer,
                    notes=settings + notes + more,
                    past=past,
                    heating=Heating(self.heat.of_run(run, directory)),
                )
        finally:
            target.close()
