"""Times in which nothing of a load comes back: told while they last, told when they are over.

Only time that was waited is counted: how long nobody looked says nothing of the drive.
"""

import time
from collections.abc import Callable, Iterator, Sequence

from heatsoak.errors import ToolError
from heatsoak.protocol import Workload
from heatsoak.target.base import BEAT_S, Note
from heatsoak.units import format_duration

#: What is told once it is over, and what is told while it lasts.
TOLD_S = 3.0
WARNED_S = 10.0
#: Kernels give up a command after minutes and report an error; a server may never do so.
GIVEN_UP_S = 900.0

#: Options with which a load rests by itself for as long as they say.
_RESTS = frozenset({"startdelay", "thinktime", "flow", "rate_process"})


class Stalls:
    """Follows how many bytes a load has moved."""

    def __init__(
        self,
        where: str,
        rest_s: float | None,
        is_stopped: Callable[[], bool],
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin with none moved.

        `rest_s` is how long the load itself may rest between two I/Os, None where that is not
        known; `is_stopped` says whether what makes the load was stopped.
        """
        self._where = where
        self._rest_s = rest_s
        self._is_stopped = is_stopped
        self._now_s = now_s
        self._looked_s = now_s()
        self._moved = 0
        self._silent_s = 0.0
        self._has_warned = False
        self._was_stopped = False

    def look(self, moved: int) -> Iterator[Note]:
        """Say what is to be said now that `moved` bytes have been moved in all.

        Raises ToolError where nothing has come for so long that nothing will.
        """
        now_s = self._now_s()
        waited_s = min(now_s - self._looked_s, 2 * BEAT_S)
        self._looked_s = now_s
        if moved != self._moved:
            yield from self.end()
            self._moved = moved
            self._begin()
            return
        self._silent_s += waited_s
        if self._silent_s > BEAT_S:
            self._was_stopped = self._was_stopped or self._is_stopped()
        if not self._has_warned and self._silent_s > WARNED_S:
            self._has_warned = True
            yield Note(
                "warning",
                f"{self._where}: no I/O has completed for {self._silent_s:.0f} s{self._why()}; "
                "still waiting",
            )
        if self._rest_s is not None and self._silent_s > GIVEN_UP_S + 3 * self._rest_s:
            raise ToolError(
                f"{self._where}: no I/O has completed for {format_duration(self._silent_s)}"
                f"{self._why()}: given up"
            )

    def end(self) -> Iterator[Note]:
        """Say how long nothing came, now that it is over."""
        if self._rest_s is None or self._silent_s < max(TOLD_S, 3 * self._rest_s):
            return
        if self._moved == 0 and not self._has_warned:
            return  # fio takes its time to start
        yield Note(
            "warning",
            f"{self._where}: no I/O completed for {self._silent_s:.1f} s{self._why()}; then it "
            "went on",
            {"stalled_s": round(self._silent_s, 3)},
        )

    def _begin(self) -> None:
        self._silent_s = 0.0
        self._has_warned = False
        self._was_stopped = False

    def _why(self) -> str:
        return ", since fio was stopped" if self._was_stopped else ""


def longest_rest_s(workloads: Sequence[Workload]) -> float | None:
    """Return how long all of several loads may rest at most before one goes on; None if unknown."""
    rests_s = []
    for load in workloads:
        if not _RESTS.isdisjoint(load.fio):
            continue
        by_bytes = 0.0 if load.rate is None else load.bs / load.rate
        by_ios = 0.0 if load.rate_iops is None else 1 / load.rate_iops
        rests_s.append(max(by_bytes, by_ios))
    return min(rests_s, default=None)
