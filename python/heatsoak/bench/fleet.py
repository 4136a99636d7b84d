"""Several simulated runs at once; real ones share a machine, and are made one by one."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Generic, TypeVar

from heatsoak import errors

#: Runs made at once. The simulator works outside Python's lock, so that threads do; more than two
#: would need more memory than small machines have, since a large drive takes a gigabyte.
WORKERS = 2
_POLL_S = 0.2

_Result = TypeVar("_Result")


class Fleet(Generic[_Result]):
    """Makes runs at once, and stops all of them where the user stops it.

    Attributes:
        stop: is set where they are to end; for their observers.
    """

    def __init__(self, workers: int = WORKERS) -> None:
        self.workers = workers
        self.stop = threading.Event()
        self._start_no_more = threading.Event()

    def make(
        self, runs: Sequence[Callable[[], _Result]], *, tick: Callable[[int], None] | None = None
    ) -> list[_Result | errors.HeatsoakError | None]:
        """Make `runs`, started in their order, and return what became of each, in their order.

        A drive that shuts down is its run's result, and the others are made. Any other error, such
        as a full disk, most likely ends all of them: runs in progress are finished, no further
        one is started, and what was not started is None.
        `tick` is called some times a second in the caller's thread with how many are done.
        Raises RunInterrupted when the user stops it, and what any run raises that is no
        HeatsoakError; no run is in progress by then.
        """
        results: list[_Result | errors.HeatsoakError | None] = [None] * len(runs)
        pool = ThreadPoolExecutor(self.workers, thread_name_prefix="fleet")
        try:
            pending: dict[Future[_Result | errors.HeatsoakError | None], int] = {
                pool.submit(self._attempt, run): index for index, run in enumerate(runs)
            }
            while pending:
                done, _ = wait(pending, timeout=_POLL_S, return_when=FIRST_COMPLETED)
                for future in done:
                    results[pending.pop(future)] = result = future.result()
                    if isinstance(result, errors.RunInterrupted):
                        raise result
                if tick is not None:
                    tick(len(runs) - len(pending))
        except errors.LimitReachedError:
            raise
        except (KeyboardInterrupt, errors.RunInterrupted):
            # the signal may also reach a worker, while it is inside of polars
            raise errors.RunInterrupted("stopped by the user") from None
        finally:
            self._start_no_more.set()
            self.stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
        return results

    def _attempt(self, run: Callable[[], _Result]) -> _Result | errors.HeatsoakError | None:
        if self._start_no_more.is_set():
            return None
        try:
            return run()
        except errors.HeatsoakError as error:
            if not isinstance(error, errors.ShutDownError):
                self._start_no_more.set()
            # again, without the traceback: its frames would keep a whole drive in memory
            return type(error)(str(error))
