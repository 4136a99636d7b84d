"""The clock of real targets: seconds on the kernel's monotonic clock."""

import time


class MonotonicClock:
    """Seconds since it was made, plus `start_s`; never jumps when the wall clock is set."""

    def __init__(self, start_s: float = 0.0) -> None:
        """Begin to count at `start_s`, for a recording that is resumed."""
        self._origin_s = time.monotonic() - start_s

    def now_s(self) -> float:
        """Return the time now."""
        return time.monotonic() - self._origin_s
