"""Several simulated runs at once; real ones share a machine, and are made one by one."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Generic, TypeVar

from typing_extensions import override

from heatsoak.bench.progress import Observer
from heatsoak.bench.recorder import Latest
from heatsoak.errors import HeatsoakError, RunInterrupted, ShutDownError
from heatsoak.protocol import SingleStep, Step

#: Runs made at once. The simulator works outside Python's lock, so that threads do; more than two
#: would need more memory than small machines have, since a large drive takes a gigabyte.
WORKERS = 2
_POLL_S = 0.2

_Result = TypeVar("_Result")


class Fleet(Generic[_Result]):
    """Makes runs at once, and stops all of them where the user stops it."""

    def __init__(self, workers: int = WORKERS) -> None:
        self.workers = workers
        self._stop = threading.Event()
        self._start_no_more = threading.Event()

    def stoppable(self, observer: Observer) -> Observer:
        """Return what passes everything on to `observer`, and ends its run when the fleet stops."""
        return _Stoppable(observer, self._stop)

    def make(
        self, runs: Sequence[Callable[[], _Result]], *, tick: Callable[[int], None] | None = None
    ) -> list[_Result | HeatsoakError | None]:
        """Make `runs`, started in their order, and return what became of each, in their order.

        A drive that shuts down is its run's result, and the others are made. Any other error, such
        as a full disk, most likely ends all of them: runs in progress are finished, no further
        one is started, and what was not started is None.
        `tick` is called some times a second in the caller's thread with how many are done.
        Raises RunInterrupted when the user stops it, and what any run raises that is no
        HeatsoakError; no run is in progress by then.
        """
        results: list[_Result | HeatsoakError | None] = [None] * len(runs)
        pool = ThreadPoolExecutor(self.workers, thread_name_prefix="fleet")
        try:
            pending: dict[Future[_Result | HeatsoakError | None], int] = {
                pool.submit(self._attempt, run): index for index, run in enumerate(runs)
            }
            while pending:
                done, _ = wait(pending, timeout=_POLL_S, return_when=FIRST_COMPLETED)
                for future in done:
                    results[pending.pop(future)] = result = future.result()
                    if isinstance(result, RunInterrupted):
                        raise result
                if tick is not None:
                    tick(len(runs) - len(pending))
        except (KeyboardInterrupt, RunInterrupted):
            # the signal may also reach a worker, while it is inside of polars
            raise RunInterrupted("stopped by the user") from None
        finally:
            self._start_no_more.set()
            self._stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
        return results

    def _attempt(self, run: Callable[[], _Result]) -> _Result | HeatsoakError | None:
        if self._start_no_more.is_set():
            return None
        try:
            return run()
        except HeatsoakError as error:
            if not isinstance(error, ShutDownError):
                self._start_no_more.set()
            # anew, without the traceback: its frames would keep a whole drive in memory
            return type(error)(str(error))


class _Stoppable(Observer):
    def __init__(self, observer: Observer, stop: threading.Event) -> None:
        self._observer = observer
        self._stop = stop

    @override
    def on_warm_up(self, text: str) -> None:
        self._observer.on_warm_up(text)

    @override
    def on_step(self, index: int, step: Step, t_s: float) -> None:
        self._look()
        self._observer.on_step(index, step, t_s)

    @override
    def on_probe(self, step: Step, reason: str) -> None:
        self._observer.on_probe(step, reason)

    @override
    def on_skip(self, index: int, step: Step, reason: str) -> None:
        self._look()
        self._observer.on_skip(index, step, reason)

    @override
    def on_kept(self, index: int, step: Step) -> None:
        self._observer.on_kept(index, step)

    @override
    def on_round(self, step: SingleStep, number: int) -> None:
        self._observer.on_round(step, number)

    @override
    def on_progress(self, t_s: float, latest: Latest) -> None:
        self._look()
        self._observer.on_progress(t_s, latest)

    @override
    def on_note(self, level: str, text: str) -> None:
        self._observer.on_note(level, text)

    def _look(self) -> None:
        if self._stop.is_set():
            # as if the user had stopped this one: the conductor keeps what there is
            raise KeyboardInterrupt
