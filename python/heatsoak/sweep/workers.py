"""Where a sweep's tasks are run: here, in processes of this machine, or on a Dask cluster."""

import multiprocessing
import os
import signal
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from typing_extensions import override

import heatsoak
from heatsoak.cluster import CONNECT_S, client_class, no_answer
from heatsoak.errors import ToolError, UsageError
from heatsoak.output import announce
from heatsoak.sweep.work import version
from heatsoak.units import format_bytes

_T = TypeVar("_T")
#: Empty tasks that the overhead of a task is the median of.
_TRIES = 5


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
        # a pool starts a process when a task finds none idle: all of them start now, at once
        wait([executor.submit(version) for _ in range(jobs)])
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
    executor.submit(version).result()  # the first waits for a process to start
    taken = []
    for _ in range(_TRIES):
        began = time.perf_counter()
        executor.submit(version).result()
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
    connect = client_class(address)
    try:
        client = connect(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise ToolError(no_answer(address, error)) from error
    try:
        found = client.scheduler_info(n_workers=-1)["workers"]
        if not found:
            raise UsageError(
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
                f"little memory, which is {format_bytes(task_bytes)} for each thread: start them "
                "with fewer --nthreads or a higher --memory-limit"
            )
            if not fit:
                raise UsageError(told)
            announce(told)
        executor = client.get_executor(pure=False, workers=[*fit])
        _require_same_version(executor, address)
        yield executor, sum(fit.values())
    finally:
        client.close()


def _require_same_version(executor: Executor, address: str) -> None:
    try:
        there = executor.submit(version).result()
    except Exception as error:
        raise UsageError(
            f"--scheduler {address}: its workers cannot run heatsoak ({type(error).__name__}: "
            f"{str(error).splitlines()[0] if str(error) else ''}): install heatsoak "
            f"{heatsoak.__version__} there"
        ) from error
    if there != heatsoak.__version__:
        raise UsageError(
            f"--scheduler {address}: its workers have heatsoak {there}, and this is "
            f"{heatsoak.__version__}: install the same on both"
        )
