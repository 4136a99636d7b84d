"""Makes the recordings, two at a time, as any run is made: by the bench's conductor."""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from typing_extensions import override

from heatsoak import catalog, protocol
from heatsoak.analysis import RecordingFindings, StepFindings
from heatsoak.analysis.judge import judge
from heatsoak.analysis.view import StepView, judged_steps
from heatsoak.bench import Observer, conduct
from heatsoak.bench.latest import Latest
from heatsoak.bench.session import typical_plan
from heatsoak.errors import RunInterrupted, UsageError
from heatsoak.protocol import Step
from heatsoak.recording import Recording
from heatsoak.target.simulated import SimulatedTarget
from heatsoak.twin.reproduce.plan import Job

#: Recordings made at once. The simulator runs outside Python's lock, so that threads do; more
#: than two would need more memory than small machines have, since a large drive takes a gigabyte.
WORKERS = 2
_POLL_S = 0.2

#: Called with the part that is done, 0 to 1, and what goes on.
Progress = Callable[[float, str], None]


class NotMeasured(Exception):  # noqa: N818 -- an answer, not a fault
    """A figure could not be measured; the message says why, for the reader of the table."""


@dataclass(frozen=True)
class Run:
    """A finished recording, judged.

    The steps' series are read from disk when they are asked for, and not kept: an hour of random
    writes is large, and there are dozens.
    """

    job: Job
    recording: Recording
    findings: RecordingFindings

    def step(self, name: str) -> StepFindings:
        """Return what was found in a step; raises NotMeasured where there is none."""
        for step in self.findings.steps:
            if step.step == name:
                return step
        raise NotMeasured(f"{self.job.name}: there is no step '{name}'")

    def view(self, name: str) -> StepView:
        """Return the series of a step; raises NotMeasured where there is none."""
        for view in judged_steps(self.recording):
            if view.step.name == name:
                return view
        raise NotMeasured(f"{self.job.name}: there is no step '{name}'")

    @cached_property
    def cell(self) -> tuple[object, object]:
        """Cards and load of a place of the matrix, which comparisons between slots keep alike."""
        conditions = self.recording.meta.conditions
        return conditions.get("gpus"), conditions.get("gpu_load")


#: What became of a job: the run, or why there is none.
Outcome = Run | str


def make_recordings(
    jobs: Sequence[Job],
    directory: Path,
    *,
    seed: int = 0,
    drives: Mapping[str, catalog.Drive] | None = None,
    places: Mapping[str, catalog.Enclosure] | None = None,
    progress: Progress | None = None,
) -> dict[Job, Outcome]:
    """Make the recordings of `jobs` below `directory`, and judge them.

    `drives` and `places` stand in for those of the catalog with the same ids. A drive or place that
    the catalog does not have, or that no simulation can take, is an answer and not an error.
    Raises RunInterrupted when the user stops it, ToolError where nothing can be written.
    """
    stop = threading.Event()
    weights = {job: typical_plan(protocol.load(job.protocol)).duration_s for job in jobs}
    shares = {job: _Share(stop, weights[job]) for job in jobs}
    outcomes: dict[Job, Outcome] = {}
    # the longest first, so that no worker is left alone with one at the end
    make = partial(_make, directory=directory, seed=seed, drives=drives or {}, places=places or {})
    order = sorted(jobs, key=lambda job: -weights[job])
    pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="reproduce")
    try:
        pending: dict[Future[Outcome], Job] = {
            pool.submit(make, job, shares[job]): job for job in order
        }
        while pending:
            done, _ = wait(pending, timeout=_POLL_S, return_when=FIRST_COMPLETED)
            for future in done:
                job = pending.pop(future)
                outcomes[job] = future.result()
                shares[job].value = 1.0
            if progress is not None:
                total = sum(weights.values())
                part = sum(shares[job].value * weights[job] for job in jobs) / total
                progress(part, f"{len(outcomes)} of {len(jobs)} recordings")
    except (KeyboardInterrupt, RunInterrupted):
        # the signal may also reach a worker, while it is inside of polars
        raise RunInterrupted("stopped by the user") from None
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)
    return outcomes


def _make(
    job: Job,
    share: "_Share",
    *,
    directory: Path,
    seed: int,
    drives: Mapping[str, catalog.Drive],
    places: Mapping[str, catalog.Enclosure],
) -> Outcome:
    if job.drive not in (*drives, *catalog.drive_ids()):
        return f"the catalog has no drive '{job.drive}'"
    if job.place not in (*places, *catalog.enclosure_ids()):
        return f"the catalog has no place '{job.place}'"
    try:
        steps = protocol.load(job.protocol)
        drive = drives.get(job.drive) or catalog.load_drive(job.drive)
        place = places.get(job.place) or catalog.load_enclosure(job.place)
        target = SimulatedTarget(drive, place, seed=seed)
    except UsageError as error:
        return str(error)
    try:
        conditions = {**steps.conditions, **place.conditions, "enclosure": place.id}
        recording = conduct(
            steps, target, conditions, directory / job.name, sensors=[], observer=share
        )
    except UsageError as error:
        # the cause is without the recording's path, which may be gone when this is read
        return str(error.__cause__ or error)
    finally:
        target.close()
    return Run(job, recording, judge(recording))


class _Share(Observer):
    """How much of a job is done, as its own thread says; and the way to stop it."""

    def __init__(self, stop: threading.Event, planned_s: float) -> None:
        self.value = 0.0
        self.planned_s = planned_s
        self._stop = stop

    @override
    def on_step(self, index: int, step: Step, t_s: float) -> None:
        self._look()

    @override
    def on_progress(self, t_s: float, latest: Latest) -> None:
        self.value = min(0.99, t_s / self.planned_s)
        self._look()

    @override
    def on_note(self, level: str, text: str) -> None:
        """Notes stand in the recording."""

    def _look(self) -> None:
        if self._stop.is_set():
            # as if the user had stopped this one: the conductor keeps what there is
            raise KeyboardInterrupt
