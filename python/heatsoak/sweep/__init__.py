"""Sweeps: thousands of what-ifs over drives, places, workloads and cooling, on many processors.

What a sweep lacks is run as tasks that are long enough to be worth giving away: here, in processes
of this machine, or on a Dask cluster.
"""

import multiprocessing
import os
import signal
import statistics
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any, TypeVar

from typing_extensions import override

import heatsoak
from heatsoak import errors, system, tools
from heatsoak.output import Progress, announce
from heatsoak.sweep import store, work
from heatsoak.sweep.plan import DRAWS, Grid, SweepPlan, load_grid, plan_of
from heatsoak.sweep.summary import SUMMARY, FinishedSweep, Sweep, summary_of
from heatsoak.words import size_text

__all__ = [
    "DRAWS",
    "SUMMARY",
    "FinishedSweep",
    "Grid",
    "Sweep",
    "load_grid",
    "sweep",
    "workers",
]

_T = TypeVar("_T")
#: Empty tasks that the overhead of a task is the median of.
_TRIES = 5
_POLL_S = 0.5


@dataclass(frozen=True)
class Workers:
    """What tasks are given to.

    Attributes:
        count: how many tasks are run at once.
        overhead_s: how long a task takes that does nothing.
    """

    executor: Executor
    count: int
    overhead_s: float


@contextmanager
def workers(
    jobs: int = 1, scheduler: str | None = None, task_bytes: float = 0.0
) -> Iterator[Workers]:
    """Yield where to run tasks, which take `task_bytes` at most: `jobs` processes, or a cluster.

    Of a Dask cluster only the workers whose limit of memory is enough for a task in each thread.

    Raises UsageError for a cluster that cannot do it, and ToolError for one that does not answer.
    """
    if scheduler is not None:
        with _cluster(scheduler, task_bytes) as (executor, count):
            yield Workers(executor, count, _overhead_s(executor))
        return
    if jobs == 1:
        yield Workers(_Here(), 1, 0.0)
        return
    with _processes(jobs) as executor:
        # a pool starts a process when a task finds none idle: all of them start now, at once, deaf
        # to the terminal's Ctrl-C until they can ignore it
        with system.blocked(signal.SIGINT):
            begun = [executor.submit(work.version) for _ in range(jobs)]
        wait(begun)
        yield Workers(executor, jobs, _overhead_s(executor))


class _Here(Executor):
    """Runs each task where it is submitted."""

    @override
    def submit(self, fn: Callable[..., _T], /, *args: Any, **kwargs: Any) -> Future[_T]:
        future: Future[_T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def _overhead_s(executor: Executor) -> float:
    executor.submit(work.version).result()  # the first waits for a process to start
    taken = []
    for _ in range(_TRIES):
        began = time.perf_counter()
        executor.submit(work.version).result()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


@contextmanager
def _processes(count: int) -> Iterator[Executor]:
    before = set(multiprocessing.active_children())
    # polars and the engine have threads, which a fork does not take along
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(count, mp_context=context, initializer=_as_worker)
    try:
        yield pool
    except BaseException:
        # a pass may take minutes, and what it finds is lost anyway
        for process in set(multiprocessing.active_children()) - before:
            process.terminate()
        # waited for: the pool's thread closes pipes, which Python's own end would write to
        pool.shutdown(cancel_futures=True)
        raise
    pool.shutdown()


def _as_worker() -> None:
    """Leave Ctrl-C to the parent, and end with it however it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def follow() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


@contextmanager
def _cluster(address: str, task_bytes: float) -> Iterator[tuple[Executor, int]]:
    connect = tools.client_class(address)
    try:
        client = connect(address, timeout=tools.CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise errors.ToolError(tools.no_answer(address, error)) from error
    try:
        found = client.scheduler_info(n_workers=-1)["workers"]
        if not found:
            raise errors.UsageError(
                f"--scheduler {address}: the cluster has no workers: start some with dask worker "
                f"{address}"
            )
        fit = {
            worker: one["nthreads"]
            for worker, one in found.items()
            # a limit of 0 is none
            if not one["memory_limit"] or one["memory_limit"] >= one["nthreads"] * task_bytes
        }
        if len(fit) < len(found):
            told = (
                f"--scheduler {address}: {len(found) - len(fit)} of {len(found)} workers have too "
                f"little memory, which is {size_text(task_bytes)} for each thread: start them "
                "with fewer --nthreads or a higher --memory-limit"
            )
            if not fit:
                raise errors.UsageError(told)
            announce(told)
        executor = client.get_executor(pure=False, workers=[*fit])
        _require_same_version(executor, address)
        yield executor, sum(fit.values())
    finally:
        client.close()


def _require_same_version(executor: Executor, address: str) -> None:
    try:
        there = executor.submit(work.version).result()
    except Exception as error:
        raise errors.UsageError(
            f"--scheduler {address}: its workers cannot run heatsoak ({type(error).__name__}: "
            f"{str(error).splitlines()[0] if str(error) else ''}): install heatsoak "
            f"{heatsoak.__version__} there"
        ) from error
    if there != heatsoak.__version__:
        raise errors.UsageError(
            f"--scheduler {address}: its workers have heatsoak {there}, and this is "
            f"{heatsoak.__version__}: install the same on both"
        )


#: A task computes for at least this many times what giving it away takes: 5 % is lost.
_WORTH = 20
#: Tasks that wait for each process, so that none is idle while a result is on its way.
_WAITING = 2
#: Tasks that each process is to have at least, so that all end at about the same time.
_SHARES = 4
#: Until it was measured: seconds of a pass, and of a point.
_PASS_S, _POINT_S = 2.0, 0.02


@dataclass
class _Pace:
    """How long passes or points take, and how many are left."""

    guess_s: float
    left: int
    done: int = 0
    seconds: float = 0.0

    @property
    def each_s(self) -> float:
        return self.seconds / self.done if self.done else self.guess_s

    def add(self, count: int, seconds: float) -> None:
        self.left -= count
        self.done += count
        self.seconds += seconds


@dataclass(frozen=True)
class _Task:
    """What was given away: parts of one group with what each of them lacks, or its pass."""

    group: int
    parts: Sequence[tuple[store.StoredPart, list[str]]] = ()

    @property
    def points(self) -> int:
        return sum(len(lacking) for _, lacking in self.parts)


def sweep(
    grid: Grid,
    directory: Path,
    *,
    seed: int = 0,
    draws: int = DRAWS,
    jobs: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Predict every point of a grid, into a directory, and return what they come to.

    What the directory holds of it already is not run again. `jobs` processes of this machine work,
    by default as many as it has processors, or those of the Dask cluster whose `scheduler` has this
    address.

    Raises UsageError for what is unknown or cannot be simulated, and for a directory of something
    else; ToolError where it cannot be written or a process dies; and RunInterrupted on Ctrl-C,
    which keeps what is done.
    """
    plan = plan_of(grid, seed=seed, draws=draws)
    store.require_place(directory)
    try:
        table = store.SweepTable(
            directory / store.TABLE,
            {point.id: plan.named(point) for point in plan.points},
            {point.id: point.group for point in plan.points},
        )
        sweeping = _Sweeping(plan, table, progress)
        if sweeping.left:
            with workers(jobs or plan.jobs, scheduler, plan.task_bytes) as at:
                sweeping.run(at)
        return summary_of(table.finish())
    except (KeyboardInterrupt, BrokenExecutor) as error:
        # counted on disk: the signal may have come between writing a part and counting it
        kept = len(store.read_parts(directory / store.TABLE))
        resume = f"points are in {directory}, and the same command goes on from there"
        if isinstance(error, KeyboardInterrupt):
            raise errors.RunInterrupted(
                f"stopped by the user: {kept:,} of {len(plan.points):,} {resume}"
            ) from None
        raise errors.ToolError(
            f"a process of the sweep died, perhaps for want of memory: {kept:,} {resume} "
            "(--jobs 1 takes least)"
        ) from error


@dataclass
class _Sweeping:
    """The work of a sweep, group by group: first its pass, then its points."""

    plan: SweepPlan
    table: store.SweepTable
    progress: Progress | None
    #: Work of groups that had their pass, which is not given away yet.
    _ready: deque[_Task] = field(default_factory=deque)
    _cases: dict[int, bytes] = field(default_factory=dict)
    _lacking: dict[int, list[_Task]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._changes = {point.id: point.change for point in self.plan.points}
        for part, lacking in self.table.missing():
            task = _Task(part.group, [(part, lacking)])
            self._lacking.setdefault(part.group, []).append(task)
        self._of_group = {group: len(tasks) for group, tasks in self._lacking.items()}
        self._groups = deque(sorted(self._lacking))
        points = sum(task.points for tasks in self._lacking.values() for task in tasks)
        self._passes = _Pace(_PASS_S, len(self._groups))
        self._points = _Pace(_POINT_S, points)

    @property
    def left(self) -> int:
        """How many points are not there."""
        return self._points.left

    def run(self, at: Workers) -> None:
        """Run all that is left."""
        under_way: dict[Future[work.Timed[Any]], _Task] = {}
        while self.left:
            most = at.count * _WAITING if at.count > 1 else 1
            while len(under_way) < most and (task := self._next(at)) is not None:
                under_way[self._submit(at, task)] = task
            # with a limit, since Ctrl-C may only be seen between two waits
            done, _ = wait(under_way, timeout=_POLL_S, return_when=FIRST_COMPLETED)
            for future in done:
                self._take(under_way.pop(future), future.result())

    def _next(self, at: Workers) -> _Task | None:
        if self._ready:
            return self._bundled(at)
        return _Task(self._groups.popleft()) if self._groups else None

    def _bundled(self, at: Workers) -> _Task:
        """The next part, with as many more of its group as make it worth a task."""
        first = self._ready.popleft()
        parts = list(first.parts)
        pace = self._points
        fair = ceil(pace.left / (at.count * _SHARES))
        # one head gives tasks to all, and each waits until it has served the others
        times = max(_WORTH, at.count)
        worth = times * at.overhead_s / pace.each_s if pace.done else 0
        wanted, points = min(worth, fair), first.points
        while points < wanted and self._ready and self._ready[0].group == first.group:
            more = self._ready.popleft()
            parts += more.parts
            points += more.points
        return _Task(first.group, parts)

    def _submit(self, at: Workers, task: _Task) -> Future[work.Timed[Any]]:
        if not task.parts:
            return at.executor.submit(work.prepare, self.plan.groups[task.group])
        asked: list[work.Asked] = [
            (name, self._changes[name]) for _, lacking in task.parts for name in lacking
        ]
        return at.executor.submit(work.predict_each, self._cases[task.group], asked)

    def _take(self, task: _Task, timed: work.Timed[Any]) -> None:
        if not task.parts:
            self._cases[task.group] = timed.found
            self._ready.extend(self._lacking.pop(task.group))
            self._passes.add(1, timed.seconds)
        else:
            rows = {row["point"]: row for row in timed.found}
            for part, lacking in task.parts:
                self.table.add(part, [rows[name] for name in lacking])
            self._of_group[task.group] -= len(task.parts)
            if not self._of_group[task.group]:
                del self._cases[task.group]
            self._points.add(task.points, timed.seconds)
        if self.progress is not None:
            paces = (self._passes, self._points)
            done_s = sum(pace.seconds for pace in paces)
            left_s = sum(pace.left * pace.each_s for pace in paces)
            every = len(self.plan.points)
            text = f"{every - self.left:,} of {every:,} points"
            self.progress(done_s / (done_s + left_s) if left_s else 1.0, text)
