"""The clock of real targets: seconds on the kernel's monotonic clock."""

import time


class MonotonicClock:
    """Seconds since its creation, plus `start_s`; not affected by setting the wall clock."""

    def __init__(self, start_s: float = 0.0) -> None:
        """Start at `start_s`, for a resumed recording."""
        self._origin_s = time.monotonic() - start_s

    def now_s(self) -> float:
        """Return the time now."""
        return time.monotonic() - self._origin_s
