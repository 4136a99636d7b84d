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
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any, Literal, TypeVar

import polars as pl
from typing_extensions import override

import heatsoak
from heatsoak import errors, system, tools
from heatsoak.output import Progress, announce
from heatsoak.sweep import store, work
from heatsoak.sweep.plan import DRAWS, Grid, GridPoint, SweepPlan, load_grid, plan_of
from heatsoak.sweep.summary import SUMMARY, THROTTLES, FinishedSweep, Sweep, summary_of
from heatsoak.words import size_text

__all__ = [
    "DRAWS",
    "SAMPLE",
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
#: Points that the exact engine is run on, unless all are asked for.
SAMPLE = 20

TableKind = Literal["points", "exact"]
Kind = Literal["prepare"] | TableKind
#: Which points the exact engine is run on depends on what was predicted.
_ORDER: tuple[TableKind, ...] = ("points", "exact")
#: Points in a part: a predicted one takes 7 ms and a file 14; an exact one takes seconds.
_SIZES: dict[TableKind, tuple[int, int]] = {"points": (16, 128), "exact": (1, 16)}
#: Until it was measured: seconds of a pass, of a point, of a run of the exact engine.
_FIRST_GUESS_S: dict[Kind, float] = {"prepare": 2.0, "points": 0.02, "exact": 2.0}


@dataclass
class _Pace:
    """How long things of a kind take, and how many are left."""

    guess_s: float
    left: int = 0
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
    """What was given away: parts of one group, with what each of them lacks."""

    kind: Kind
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
    sample: int | None = SAMPLE,
    jobs: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Predict every point of a grid, into a directory, and return what they come to.

    What the directory holds of it already is not run again. On `sample` of the points, None for all
    of them, the exact engine is run too. `jobs` processes of this machine work, by default as many
    as it has processors, or those of the Dask cluster whose `scheduler` has this address.

    Raises UsageError for what is unknown or cannot be simulated, and for a directory of something
    else; ToolError where it cannot be written or a process dies; and RunInterrupted on Ctrl-C,
    which keeps what is done.
    """
    plan = plan_of(grid, seed=seed, draws=draws)
    if sample is None and not any(group.is_exact for group in plan.groups):
        raise errors.UsageError(
            "--exact: the exact engine runs drives of the catalog, not twins, and loads, not "
            "traces: the grid has none, so leave it out"
        )
    store.require_place(directory)
    before = set(store.read_parts(directory / "exact", store.EXACT)["point"])
    sweeping = _Sweeping(plan, progress)
    frames: dict[TableKind, pl.DataFrame] = {}
    try:
        with ExitStack() as until_done:
            at = None
            for kind in _ORDER:
                wanted = (
                    plan.points
                    if kind == "points"
                    else _wanted_exact(plan, sample, seed, frames["points"], before)
                )
                table = store.SweepTable(
                    directory / kind,
                    store.TABLES[kind],
                    {point.id: plan.named(point) for point in wanted},
                    {point.id: point.group for point in wanted},
                    _SIZES[kind],
                )
                sweeping.add(kind, table)
                if sweeping.left:
                    at = at or until_done.enter_context(
                        workers(jobs or plan.jobs, scheduler, plan.task_bytes)
                    )
                    sweeping.run(at)
                frames[kind] = table.finish()
    except (KeyboardInterrupt, BrokenExecutor) as error:
        # counted on disk: the signal may have come between writing a part and counting it
        kept = len(store.read_parts(directory / "points", store.POINTS))
        resume = f"points are in {directory}, and the same command goes on from there"
        if isinstance(error, KeyboardInterrupt):
            raise errors.RunInterrupted(
                f"stopped by the user: {kept:,} of {len(plan.points):,} {resume}"
            ) from None
        raise errors.ToolError(
            f"a process of the sweep died, perhaps for want of memory: {kept:,} {resume} "
            "(--jobs 1 takes least)"
        ) from error
    return summary_of(frames["points"], frames["exact"])


def _wanted_exact(
    plan: SweepPlan, sample: int | None, seed: int, points: pl.DataFrame, before: set[str]
) -> list[GridPoint]:
    """What the exact engine is run on: a sample, or all, and what it was run on before."""
    if sample is None:
        return plan.exact
    can_be = points.filter(pl.col("throttles").is_not_null())
    throttles = dict(zip(can_be["point"], can_be["throttles"] >= THROTTLES, strict=True))
    drawn = {one.id for one in plan.sampled(sample, seed, throttles)}
    return [one for one in plan.points if one.id in drawn | before]


@dataclass
class _Sweeping:
    """The work of a sweep, table by table, group by group: first its pass, then its points."""

    plan: SweepPlan
    progress: Progress | None
    tables: dict[TableKind, store.SweepTable] = field(default_factory=dict)
    _groups: deque[int] = field(default_factory=deque)
    #: Work of groups that had their pass, which is not given away yet.
    _ready: deque[_Task] = field(default_factory=deque)
    #: Kept for the exact engine where that can run it: its points are known when all are predicted.
    _cases: dict[int, bytes] = field(default_factory=dict)
    _lacking: dict[int, list[_Task]] = field(default_factory=dict)
    _of_group: dict[int, int] = field(default_factory=dict)
    _pace: dict[Kind, _Pace] = field(
        default_factory=lambda: {kind: _Pace(guess) for kind, guess in _FIRST_GUESS_S.items()}
    )

    def __post_init__(self) -> None:
        self._changes = {point.id: point.change for point in self.plan.points}

    def add(self, kind: TableKind, table: store.SweepTable) -> None:
        """Take a table whose missing points are to be run."""
        self.tables[kind] = table
        for part, lacking in table.missing():
            task = _Task(kind, part.group, [(part, lacking)])
            self._pace[kind].left += len(lacking)
            self._lacking.setdefault(part.group, []).append(task)
        self._of_group = {group: len(tasks) for group, tasks in self._lacking.items()}
        for group in sorted(self._lacking):
            if kind == "exact" and group in self._cases:
                self._ready.extend(self._lacking.pop(group))
            else:
                self._groups.append(group)
        self._pace["prepare"].left = len(self._groups)

    @property
    def left(self) -> int:
        """How many points are not there."""
        return self._pace["points"].left + self._pace["exact"].left

    @property
    def kept(self) -> int:
        """How many predicted points are there."""
        return len(self.plan.points) - self._pace["points"].left

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
        return _Task("prepare", self._groups.popleft()) if self._groups else None

    def _bundled(self, at: Workers) -> _Task:
        """The next part, with as many more of its group as make it worth a task."""
        first = self._ready.popleft()
        parts = list(first.parts)
        pace = self._pace[first.kind]
        fair = ceil(pace.left / (at.count * _SHARES))
        # one head gives tasks to all, and each waits until it has served the others
        times = max(_WORTH, at.count)
        worth = times * at.overhead_s / pace.each_s if pace.done else 0
        wanted, points = min(worth, fair), first.points
        while (
            points < wanted
            and self._ready
            and (self._ready[0].kind, self._ready[0].group) == (first.kind, first.group)
        ):
            more = self._ready.popleft()
            parts += more.parts
            points += more.points
        return _Task(first.kind, first.group, parts)

    def _submit(self, at: Workers, task: _Task) -> Future[work.Timed[Any]]:
        group = self.plan.groups[task.group]
        if task.kind == "prepare":
            return at.executor.submit(work.prepare, group)
        asked: list[work.Asked] = [
            (name, self._changes[name]) for _, lacking in task.parts for name in lacking
        ]
        case = self._cases[task.group]
        if task.kind == "exact":
            return at.executor.submit(work.simulate, group, case, asked)
        return at.executor.submit(work.predict_each, case, asked)

    def _take(self, task: _Task, timed: work.Timed[Any]) -> None:
        if task.kind == "prepare":
            self._cases[task.group] = timed.found
            self._ready.extend(self._lacking.pop(task.group))
        else:
            rows = {row["point"]: row for row in timed.found}
            for part, lacking in task.parts:
                self.tables[task.kind].add(part, [rows[name] for name in lacking])
            self._of_group[task.group] -= len(task.parts)
            if not self._of_group[task.group] and not self.plan.groups[task.group].is_exact:
                del self._cases[task.group]
        self._pace[task.kind].add(task.points or 1, timed.seconds)
        if self.progress is not None:
            done_s = sum(pace.seconds for pace in self._pace.values())
            left_s = sum(pace.left * pace.each_s for pace in self._pace.values())
            text = f"{self.kept:,} of {len(self.plan.points):,} points"
            if "exact" in self.tables:
                text = f"exact engine, {self._pace['exact'].left:,} points left"
            self.progress(done_s / (done_s + left_s) if left_s else 1.0, text)
